/* tctune show: shows one kernel at every stage, from workload to assembly. */
#include <string.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/work.h"
#include "support/guess.h"

typedef struct show_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_cli_accuracy_args accuracy;
    const char *kernel, *sched, *print, *dump;
    tc_cli_texts at;
    tc_cli_format format;
} show_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(show_args, source),
    TC_CLI_DB_OPTION(show_args, db.path),
    TC_CLI_UNTUNED_OPTION(show_args, db.untuned),
    TC_CLI_TARGET_OPTION(show_args, target.name),
    TC_CLI_ACCURACY_OPTIONS(show_args, accuracy),
    TC_CLI_THREADS_OPTION(show_args, target.threads),
    TC_CLI_KERNEL_OPTION(show_args, kernel),
    TC_CLI_AT_OPTION(show_args, at),
    TC_CLI_WEIGHTS_OPTION(show_args, source.weights),
    TC_CLI_SCHED_OPTION(show_args, sched),
    TC_CLI_TEXT(
        show_args, print, RESULT, "print", "PARTS",
        "which parts to print, separated by commas: workload, schedule, stages, nest, tir, ir, raw-ir, asm, or all; default "
        "schedule,nest"),
    TC_CLI_TEXT(show_args, dump, EXPERT, "dump", "PASS",
                "also print the program after this lowering pass to standard error; `all`: after each pass"),
    TC_CLI_PASS_OPTIONS(show_args, source.passes),
    TC_CLI_FORMAT_OPTIONS(show_args, format),
};

/* The stages in their order, and their names in headings. */
static const struct stage {
    const char *name, *heading;
} stages[] = {{"workload", "workload"},
              {"schedule", "schedule"},
              {"stages", "stages"},
              {"nest", "loop nest"},
              {"tir", "lowered loop nest"},
              {"ir", "LLVM IR, optimised"},
              {"raw-ir", "LLVM IR as generated"},
              {"asm", "assembly"}};

/* ---- options ---- */

static int no_part(const char *name, size_t len, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, len);
    for (size_t i = 0; i < TC_LEN(stages); i++)
        tc_guess_add(&g, stages[i].name);
    tc_guess_add(&g, "all");
    return tc_cli_usage(err, "--print: there is no part '%.*s'%s", (int)len, name, tc_guess_say(&g, "", NULL, text));
}

static int check_parts(const char *list, tc_error *err) {
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ","), i = 0;
        while (i < TC_LEN(stages) && (strlen(stages[i].name) != len || memcmp(stages[i].name, p, len) != 0))
            i++;
        if (i == TC_LEN(stages) && !(len == 3 && memcmp(p, "all", len) == 0))
            return no_part(p, len, err);
        p += len + (p[len] == ',');
    }
    return TC_CLI_DONE;
}

static int check_dump(const char *pass, tc_error *err) {
    char text[TC_GUESS_TEXT];
    const char *name;
    if (!pass || strcmp(pass, "all") == 0)
        return TC_CLI_DONE;
    tc_guess g = tc_guess_new(pass, strlen(pass));
    for (int i = 0; (name = tctune_lowering_pass(i)); i++) {
        if (strcmp(pass, name) == 0)
            return TC_CLI_DONE;
        tc_guess_add(&g, name);
    }
    return tc_cli_usage(err, "--dump: there is no lowering pass '%s'%s", pass,
                        tc_guess_say(&g, "", "--dump all prints the names", text));
}

static tctune_show_options options_of(const show_args *a) {
    return (tctune_show_options){.struct_size = sizeof(tctune_show_options),
                                 .target = a->target.name,
                                 .threads = a->target.threads,
                                 .accuracy = a->accuracy.accuracy,
                                 .precision = a->accuracy.precision,
                                 .database = tc_cli_db_to_read(&a->db),
                                 .schedule = a->sched,
                                 .at = a->at.data,
                                 .stages = a->print,
                                 .dump = a->dump,
                                 .marked = a->format != TC_CLI_JSON};
}

/* ---- choosing a kernel ---- */

static void print_list(const json_t *j, tc_cli_format format) {
    static const char *const head[] = {">#", "kernel", "nodes", ">weight", ">MFLOP", "schedule"};
    const json_t *kernels = json_object_get(j, "kernels");
    tc_cli_table table = tc_cli_table_new(format, TC_LEN(head), head);
    bool spare = false;
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        bool instead = json_is_true(json_object_get(k, "instead_of_others"));
        spare |= instead;
        tc_cli_cell(&table, "%lld", tc_cli_number(k, "index"));
        tc_cli_cell(&table, "%s", tc_cli_text(k, "name"));
        tc_cli_cell_nodes(&table, k);
        tc_cli_cell(&table, instead ? "(%g)" : "%g", tc_cli_real(k, "weight"));
        tc_cli_cell_real(&table, 2, tc_cli_real(k, "flops") / 1e6);
        tc_cli_cell(&table, "%s", tc_cli_text(k, "schedule"));
    }
    tc_cli_table_print(&table, stdout);
    tc_cli_table_free(&table);
    if (spare && tc_cli_is_prose(format))
        tc_say(stdout, "(in brackets: kernels that run in place of others where records say that this is faster)\n");
}

static int list(const show_args *a, const tctune_work *w, tc_error *err) {
    tctune_show_options o = options_of(a);
    char *text;
    if (tctune_show_tasks(w, &o, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    tc_cli_tell(text, a->format, print_list);
    return TC_CLI_DONE;
}

/* ---- the stages ---- */

static void print_stages(const json_t *j, bool usual) {
    size_t n = 0;
    for (size_t i = 0; i < TC_LEN(stages); i++)
        n += json_object_get(j, stages[i].name) != NULL;
    for (size_t i = 0; i < TC_LEN(stages); i++) {
        const char *text = json_string_value(json_object_get(j, stages[i].name));
        if (!text)
            continue;
        if (n > 1) /* a single one comes bare: it can be saved and used */
            tc_say(stdout, "# ---- %s ----\n", stages[i].heading);
        tc_say_lines(stdout, text);
        if (n > 1 || !*text || text[strlen(text) - 1] != '\n')
            tc_say(stdout, "\n");
    }
    if (usual)
        tc_say(stdout,
               "# --print all shows every stage, --print ir,asm only two of them. The stages: workload, schedule, stages, nest, "
               "tir, ir, raw-ir, asm.\n");
}

/* A kernel with symbols and several variants: which variant serves which sizes. */
static int show_variants(const show_args *a, const json_t *j, tc_error *err) {
    void *range = json_object_iter(json_object_get(j, "range"));
    if (a->print || a->dump)
        return tc_cli_usage(err, "the kernel has %zu variants for its sizes: choose one by a size, such as --at %s=%lld",
                            json_array_size(json_object_get(j, "variants")), json_object_iter_key(range),
                            (long long)json_integer_value(json_array_get(json_object_iter_value(range), 1)));
    if (a->format != TC_CLI_JSON)
        tc_cli_print_variants(j, a->format);
    return TC_CLI_DONE;
}

static int show(const show_args *a, const tctune_work *w, int kernel, tc_error *err) {
    tctune_show_options o = options_of(a);
    char *text;
    int status = tc_cli_check_at(w, kernel, &a->at, err);
    if (status != TC_CLI_DONE)
        return status;
    if (tctune_show_task(w, kernel, &o, &text, TC_CLI_SAY(err)) != TCTUNE_OK)
        return TC_CLI_FAILED;
    json_t *j = tc_cli_document(text);
    if (json_object_get(j, "variants"))
        status = show_variants(a, j, err);
    else if (a->format == TC_CLI_MARKDOWN || a->format == TC_CLI_CSV)
        status = tc_cli_usage(err, "--format markdown and csv are for tables, but the stages of a kernel are text: leave "
                                   "--format out, or give --format json");
    else if (a->format == TC_CLI_TABLE)
        print_stages(j, !a->print);
    if (status == TC_CLI_DONE && a->format == TC_CLI_JSON)
        tc_cli_json_print(json_incref(j));
    json_decref(j);
    return status;
}

static int show_library(const show_args *a, tc_error *err) {
    if (a->kernel || a->sched || a->print || a->dump || a->db.path || a->at.len || a->source.weights)
        return tc_cli_usage(err,
                            "%s is a built library, of which only the origin can be shown: give --kernel, --sched, --print, "
                            "--dump, --at, --shape-weights and --db with the model or kernel that it was built from",
                            a->source.model);
    return tc_cli_show_library(a->source.model, a->format, err);
}

static int run(const void *args, tc_error *err) {
    const show_args *a = args;
    tc_cli_source_args source = a->source;
    tctune_work *w = NULL;
    const char *path = tc_cli_work_path(&source);
    if (a->source.model && tctune_is_library(a->source.model))
        return show_library(a, err);
    source.varying = true;
    int kernel = -1, status = check_parts(a->print, err);
    tc_cli_pager pager;
    if (status == TC_CLI_DONE)
        status = check_dump(a->dump, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_check(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_target(&a->target, false, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&source, NULL, 0, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_task(w, a->kernel, &kernel, err);
    if (status == TC_CLI_DONE && kernel < 0 && a->sched)
        status = tc_cli_usage(err, "--sched needs --kernel: %s has %d kernels", path, tctune_work_num_tasks(w));
    if (status == TC_CLI_DONE && kernel < 0 && a->at.len)
        status = tc_cli_usage(err, "--at needs --kernel: it gives the sizes of one kernel");
    if (status == TC_CLI_DONE) {
        pager = tc_cli_pager_begin();
        status = kernel < 0 ? list(a, w, err) : show(a, w, kernel, err);
        tc_cli_pager_end(&pager);
    }
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_show = {
    .name = "show",
    .summary = "show a kernel: its workload, best schedule, loop nest, LLVM IR and assembly",
    .source = "MODEL.onnx|LIBRARY.so|KERNEL.te",
    .synopsis = "[--kernel NAME] [--print PARTS]",
    .details = "For a network with several kernels it lists them, unless --kernel names one. For a built library it prints what "
               "the library was built for and from; "
               "the file is read, not loaded. For a kernel whose sizes vary it prints which variant serves which sizes; --at "
               "N=17 shows the variant for this size. "
               "A single part (--print schedule) has no heading: save it, change a line, and measure it with "
               "`tctune measure KERNEL.te --sched FILE`. On a terminal the text goes through $PAGER (else less). In the assembly "
               "a bar in the margin marks the hot loop, and a summary "
               "of its instructions stands above. "
               "With --json the assembly is as LLVM wrote it, and asm_facts has the summary in numbers.",
    .examples = {{"List the kernels of a network:", "tctune show mlp.onnx"},
                 {"Print the loop nest of a kernel:", "tctune show gemm.te --print nest"}},
    TC_CLI_ARGS(show_args, options),
    .defaults = &(const show_args){.source = TC_CLI_SOURCE_DEFAULTS},
    .run = run,
};
