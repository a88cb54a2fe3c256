/* tctune zoo: writes ready-made networks to files. */
#include <string.h>

#include "cli/commands.h"
#include "support/guess.h"

typedef struct zoo_args {
    tc_cli_common common;
    const char *out;
} zoo_args;

static const tc_cli_option options[] = {TC_CLI_OUT_OPTION(zoo_args, out, "FILE.onnx", "the file to write; default NAME.onnx")};

static bool is_there(const char *name) {
    const char *const *n = tctune_zoo_names();
    while (*n && strcmp(*n, name) != 0)
        n++;
    return *n != NULL;
}

static int no_such(const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (const char *const *n = tctune_zoo_names(); *n; n++)
        tc_guess_add(&g, *n);
    return tc_cli_usage(err, "there is no network '%s'%s", name, tc_guess_say(&g, "", "`tctune zoo` lists them", text));
}

static int list(void) {
    for (const char *const *n = tctune_zoo_names(); *n; n++)
        tc_say(stdout, "%s\n", *n);
    return TC_CLI_DONE;
}

static int write_one(const char *name, const char *out, tc_error *err) {
    tc_strbuf path = {0};
    if (out)
        tc_sb_add(&path, out);
    else
        tc_sb_printf(&path, "%s.onnx", name);
    int status = tc_cli_status(tctune_zoo(name, tc_sb_str(&path), TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_say(stdout, "%s\n", tc_sb_str(&path));
    tc_strbuf_free(&path);
    return status;
}

static int run(const void *args, tc_error *err) {
    const zoo_args *a = args;
    if (a->common.operands.len == 0)
        return list();
    if (a->out && a->common.operands.len > 1)
        return tc_cli_usage(err, "--out names one file, but %zu networks are asked for; without it each gets NAME.onnx",
                            a->common.operands.len);
    for (size_t i = 0; i < a->common.operands.len; i++)
        if (!is_there(a->common.operands.data[i]))
            return no_such(a->common.operands.data[i], err);
    for (size_t i = 0; i < a->common.operands.len; i++) {
        int status = write_one(a->common.operands.data[i], a->out, err);
        if (status != TC_CLI_DONE)
            return status;
    }
    return TC_CLI_DONE;
}

const tc_cli_command tc_cli_zoo = {
    .name = "zoo",
    .summary = "write ready-made networks (BERT, ResNet-50, MobileNet-v2, a small CNN, an MLP) as ONNX files with random weights",
    .operands = "[NAME...]",
    .synopsis = "[-o FILE.onnx]",
    .details = "Without a name it lists the networks. The same name gives the same file on every machine.",
    .examples = {{"List the networks:", "tctune zoo"}, {"Write mlp.onnx:", "tctune zoo mlp"}},
    TC_CLI_ARGS(zoo_args, options),
    .run = run,
};
