/* tctune build: takes the best record of each kernel of a network and builds one shared library from them. */
#include <string.h>

#include "cli/commands.h"
#include "cli/print.h"
#include "cli/work.h"
#include "support/system/fs.h"

typedef struct build_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *out, *name, *inputs, *team; /* team NULL: not given */
    int top_k;                              /* 0: not given */
    double budget;                          /* negative: not given */
    bool print_plan, debug;
    tc_cli_format format;
} build_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(build_args, model.source),
    TC_CLI_WEIGHTS_OPTION(build_args, model.source.weights),
    TC_CLI_DB_OPTION(build_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(build_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(build_args, model.target.name),
    TC_CLI_ACCURACY_OPTIONS(build_args, model.accuracy),
    TC_CLI_BUDGET_OPTION(build_args, budget),
    TC_CLI_THREADS_OPTION(build_args, model.target.threads),
    TC_CLI_SEED_OPTION(build_args, model.seed),
    TC_CLI_LIBRARY_OPTION(build_args, out,
                          "the file to write: M.so, a shared library with the header M.h beside it; M.o, an object; or M.c, C "
                          "source with an entry point that allocates no memory"),
    TC_CLI_NAME_OPTION(build_args, name),
    TC_CLI_COMPLETE_OPTION(build_args, model.require_complete),
    TC_CLI_CHOICE(build_args, team, MACHINE, "team", "own|openmp",
                  "whose threads run the library: own (default): the library's own. openmp: those of OpenMP's runtime, for "
                  "programs that have OpenMP loops themselves, so that both share one team. C source always has OpenMP's loops"),
    TC_CLI_COUNT(build_args, top_k, EXPERT, "top-k-in-graph", "K",
                 "run the network with the K best records of each kernel in turns, and use the fastest of these records. Each "
                 "record first runs in a process of its own, where its result is checked; records that fail are left out"),
    TC_CLI_FLAG(build_args, debug, RESULT, "debug-info",
                "for debuggers and profilers: also write the lowered programs to M.tir beside the library, and name their lines "
                "in the library. The code stays the same"),
    TC_CLI_FLAG(build_args, print_plan, RESULT, "print-memory-plan",
                "print where each intermediate value lies in memory, and how long it is needed"),
    TC_CLI_INPUTS_OPTION(build_args, inputs),
    TC_CLI_PASS_OPTIONS(build_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(build_args),
    TC_CLI_PROGRESS_OPTIONS(build_args, model.progress),
    TC_CLI_FORMAT_OPTIONS(build_args, format),
};

static int print_plan(const tctune_model *m, tc_error *err) {
    char *text;
    int status = tc_cli_status(tctune_model_plan(m, &text, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        tc_say_lines(stdout, text);
    tctune_text_free(text);
    return status;
}

/* Between two tables that nothing else parts. */
static void part(tc_cli_format format) {
    if (!tc_cli_is_prose(format))
        tc_say(stdout, "\n");
}

static void print_choices(const build_args *a, const json_t *j) {
    if (a->budget >= 0) {
        tc_cli_print_precision(json_object_get(j, "precision"), a->budget, a->inputs, a->format);
        part(a->format);
    }
    if (json_object_get(j, "in_graph")) {
        tc_cli_print_contest(j, a->format);
        part(a->format);
    }
    tc_cli_print_kernels(json_object_get(j, "kernels"), a->format);
}

static void print_result(const build_args *a, const json_t *j) {
    char arena[24], plain[24], constants[24];
    long long nbf16 = tc_cli_number(j, "bf16_intermediates");
    tc_say(stdout, "memory: %s for intermediates (%s without reuse), %s of constants\n",
           tc_text_bytes(arena, (double)tc_cli_number(j, "arena_bytes")),
           tc_text_bytes(plain, (double)tc_cli_number(j, "arena_bytes_without_reuse")),
           tc_text_bytes(constants, (double)tc_cli_number(j, "constant_bytes")));
    if (nbf16)
        tc_say(stdout, "%lld of the intermediates are stored in bf16, which saves %s: all their readers round them\n", nbf16,
               tc_text_bytes(arena, (double)tc_cli_number(j, "bytes_saved_by_bf16")));
    tc_say(stdout, "%s is built for %s, %lld threads\n", a->out, tc_cli_text(j, "target"), tc_cli_number(j, "threads"));
}

static void warn_of_constants(const build_args *a, const json_t *j) {
    const json_t *drawn = json_object_get(j, "drawn_constants");
    for (size_t i = 0; i < json_array_size(drawn); i++)
        tc_say(stderr, "%s%s", i ? ", " : "warning: random numbers stand for the constants ",
               json_string_value(json_array_get(drawn, i)));
    if (json_array_size(drawn))
        tc_say(stderr, " of %s: give their values with --inputs FILE.npz\n", a->model.source.te);
}

static int report(const build_args *a, const tctune_model *m, tc_error *err) {
    char *text;
    int status = tc_cli_status(tctune_model_report(m, &text, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    json_t *told = tc_cli_document(text);
    tc_cli_warn_of(told);
    warn_of_constants(a, told);
    if (a->format == TC_CLI_JSON) {
        json_t *j = tc_json_pack("{s:s}", "out", a->out);
        tc_json_update(j, json_incref(told));
        tc_cli_json_print(j);
    } else {
        print_choices(a, told);
        if (a->print_plan)
            status = print_plan(m, err);
        if (tc_cli_is_prose(a->format))
            print_result(a, told);
    }
    json_decref(told);
    return status;
}

static bool ends(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

/* "M.tir" beside M.so or M.o */
static const char *listing_of(const char *path, tc_arena *a) {
    size_t n = strlen(path) - (ends(path, ".so") ? 3 : ends(path, ".o") ? 2 : 0);
    return tc_arena_printf(a, "%.*s.tir", (int)n, path);
}

/* With --error-budget or --top-k-in-graph, the records are first measured in the network itself. */
static int build(const build_args *a, tctune_work *w, tc_error *err) {
    tc_arena *arena = tc_arena_new();
    tctune_model *m;
    tctune_build_options o = tc_cli_build_options(&a->model);
    o.only_to_save = 1;
    o.top_k_in_graph = a->top_k;
    o.team = a->team;
    o.error_budget = tc_cli_error_budget(a->budget);
    o.inputs = a->budget >= 0 ? a->inputs : NULL;
    if (a->debug)
        o.listing = listing_of(a->out, arena);
    int status = tc_cli_status(tctune_build(w, &o, &m, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        status = tc_cli_status(tctune_model_save(m, a->out, a->name, TC_CLI_SAY(err)));
    if (status == TC_CLI_DONE)
        status = report(a, m, err);
    tctune_model_free(m);
    tc_arena_free(arena);
    return status;
}

static int check(const build_args *a, tc_error *err) {
    if (a->inputs && !a->model.source.te && a->budget < 0)
        return tc_cli_usage(
            err, "--inputs goes with --te or with --error-budget: the file of a model already has the values of its constants");
    if (a->debug && ends(a->out, ".c"))
        return tc_cli_usage(err, "--debug-info goes with libraries and objects: for C source, give your C compiler -g");
    if (a->team && strcmp(a->team, "own") == 0 && ends(a->out, ".c"))
        return tc_cli_usage(err, "--team own goes with libraries and objects: C source has OpenMP's loops");
    return a->budget >= 0 ? tc_cli_check_error_budget(&a->model, a->top_k > 1, err) : TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    const build_args *a = args;
    tctune_work *w = NULL;
    int status = tc_cli_work_check(&a->model.source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_progress(&a->model.progress, err);
    if (status == TC_CLI_DONE)
        status = check(a, err);
    tc_cli_catch_signals();
    if (status == TC_CLI_DONE)
        status = tc_cli_check_target(&a->model.target, a->budget >= 0, err);
    if (status == TC_CLI_DONE && tc_fs_check_replaceable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = tc_cli_work_open(&a->model.source, a->model.source.te ? a->inputs : NULL, a->model.seed, &w, err);
    if (status == TC_CLI_DONE)
        status = build(a, w, err);
    tctune_work_free(w);
    return status;
}

const tc_cli_command tc_cli_build = {
    .name = "build",
    .summary = "build a shared library, with a C header, from a network and the best records of a database",
    .source = "MODEL.onnx|KERNEL.te",
    .synopsis = "-o FILE [--db FILE.db] [--threads N]",
    .details = "A table names the record that each kernel uses. For a kernel without a record it names the nearest record, and "
               "how that differs. Only verified "
               "records are used. The library needs only the C library. "
               "For a single kernel, --inputs gives the values of its constants by name; without it they are random.",
    .examples = {{"Build a library from the records of tctune.db:", "tctune build mlp.onnx -o mlp.so"},
                 {"Write C source instead, for a program with 2 threads:", "tctune build mlp.onnx --threads 2 -o mlp.c"}},
    TC_CLI_ARGS(build_args, options),
    .defaults = &(const build_args){.model = TC_CLI_MODEL_DEFAULTS, .budget = -1},
    .required = "out",
    .run = run,
};
