/* tctune build: the best records of a network's kernels become one shared library. */
#include <string.h>

#include "cli/cli.h"
#include "graph/saved/saved.h"
#include "support/system/fs.h"

typedef struct build_args {
    tc_cli_common common;
    tc_cli_model_args model;
    const char *out, *name, *inputs;
    int top_k;     /* 0: not given */
    double budget; /* negative: not given */
    bool print_plan, debug, json;
} build_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(build_args, model.source),
    TC_CLI_WEIGHTS_OPTION(build_args, model.source.weights),
    TC_CLI_DB_OPTION(build_args, model.db.path),
    TC_CLI_UNTUNED_OPTION(build_args, model.db.untuned),
    TC_CLI_TARGET_OPTION(build_args, model.target.name),
    TC_CLI_ACCURACY_OPTION(build_args, model.accuracy),
    TC_CLI_PRECISION_OPTION(build_args, model.accuracy),
    TC_CLI_BUDGET_OPTION(build_args, budget),
    TC_CLI_THREADS_OPTION(build_args, model.target.threads),
    TC_CLI_SEED_OPTION(build_args, model.seed),
    TC_CLI_OUT_OPTION(build_args, out),
    TC_CLI_NAME_OPTION(build_args, name),
    TC_CLI_COMPLETE_OPTION(build_args, model.require_complete),
    TC_CLI_COUNT(
        build_args, top_k, "top-k-in-graph", "K",
        "run the network with the K best records of each kernel in turns, and use whichever is fastest there beyond doubt. "
        "Each is first run in a process of its own and its result checked; what fails is left out"),
    TC_CLI_FLAG(build_args, debug, "debug-info",
                "for debuggers and profilers: write the programs that kernels were lowered to beside the library, as M.tir, and "
                "say in the library which of its lines code is from. The code is the same"),
    TC_CLI_FLAG(build_args, print_plan, "print-memory-plan", "print where every intermediate lies and how long it lives"),
    TC_CLI_INPUTS_OPTION(build_args, inputs),
    TC_CLI_PASS_OPTIONS(build_args, model.source.passes),
    TC_CLI_NO_CACHE_OPTION(build_args),
    TC_CLI_JSON_OPTION(build_args, json),
};

static void print_plan(const tc_graph_model *m) {
    tc_strbuf b = {0};
    tc_graph_model_print_plan(m, &b);
    fputs(tc_sb_str(&b), stdout);
    tc_strbuf_free(&b);
}

/* What was built, and how it was chosen. */
typedef struct chosen {
    tc_graph_admission admitted;
    tc_graph_contest contest;
    tc_graph_precision precision;
} chosen;

static void print_model(const build_args *a, const tc_graph_model *m, const chosen *x, const tc_target *t) {
    const tc_graph_admission *admitted = &x->admitted;
    const tc_graph_contest *c = &x->contest;
    const tc_graph_kernel *k;
    int n = tc_graph_model_kernels(m, &k);
    tc_graph_memory mem = tc_graph_model_memory(m);
    if (a->json) {
        json_t *j = json_object();
        json_object_set_new(j, "out", json_string(a->out));
        json_object_set_new(j, "target", json_string(t->text));
        json_object_set_new(j, "threads", json_integer(tc_graph_model_threads(m)));
        json_object_set_new(j, "flops", json_real(tc_graph_model_flops(m)));
        json_object_set_new(j, "arena_bytes", json_integer(mem.arena));
        json_object_set_new(j, "arena_bytes_without_reuse", json_integer(mem.arena_without_reuse));
        json_object_set_new(j, "constant_bytes", json_integer(mem.constants));
        json_object_set_new(j, "bf16_intermediates", json_integer(mem.nbf16));
        json_object_set_new(j, "kernels", tc_cli_kernels_json(k, n));
        if (c->k) {
            json_object_set_new(j, "in_graph", tc_cli_contest_json(c));
            json_object_set_new(j, "left_out", tc_cli_refusals_json(admitted));
        }
        if (a->budget >= 0)
            json_object_set_new(j, "precision", tc_cli_precision_json(&x->precision));
        tc_cli_json_print(j);
        return;
    }
    char arena[24], plain[24], constants[24];
    if (a->budget >= 0)
        tc_cli_report_precision(stdout, &x->precision, a->budget, a->inputs);
    if (c->k)
        tc_cli_report_contest(stdout, c, k);
    tc_cli_report_kernels(stdout, k, n);
    if (a->print_plan)
        print_plan(m);
    printf("memory: %s for intermediates (%s without reuse), %s of constants\n", tc_cli_bytes(arena, (double)mem.arena),
           tc_cli_bytes(plain, (double)mem.arena_without_reuse), tc_cli_bytes(constants, (double)mem.constants));
    if (mem.nbf16)
        printf("%d of the intermediates are kept in bf16, in %s less: all their readers round them\n", mem.nbf16,
               tc_cli_bytes(arena, (double)mem.saved_by_bf16));
    printf("%s is built for %s, %d threads\n", a->out, t->text, tc_graph_model_threads(m));
}

/* With --error-budget or --top-k-in-graph, what the network itself says of the records comes first. */
static int build(const build_args *a, tc_graph_work *w, const tc_target *t, tc_error *err) {
    tc_graph_model *m = NULL;
    chosen x = {0};
    tc_arena *arena = tc_arena_new();
    int status = TC_CLI_DONE;
    if (a->budget >= 0)
        status = tc_cli_precision(&a->model, w, t, a->inputs, a->budget, arena, &x.precision, err);
    else if (a->top_k > 1)
        status = tc_cli_contest(&a->model, w, t, a->top_k, arena, &x.admitted, &x.contest, err);
    tc_cli_model_args model = a->model;
    if (a->debug)
        model.listing = tc_graph_path_beside(arena, a->out, ".tir");
    if (status == TC_CLI_DONE)
        status = tc_cli_model_build(&model, w, t, true, x.contest.choices, x.precision.accuracy, &m, err);
    if (status == TC_CLI_DONE && tc_graph_model_save(m, a->out, a->name, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        print_model(a, m, &x, t);
    tc_graph_model_free(m);
    tc_arena_free(arena);
    return status;
}

static int check(const build_args *a, tc_error *err) {
    if (a->inputs && !a->model.source.te && a->budget < 0)
        return tc_cli_usage(err,
                            "--inputs goes with --te: a model's file has the values of its constants; or with --error-budget");
    if (a->debug && tc_graph_path_ends(a->out, ".c"))
        return tc_cli_usage(err, "--debug-info goes with libraries and objects: C source is debugged as it is compiled (-g)");
    return a->budget >= 0 ? tc_cli_check_budget(&a->model, a->top_k > 1, err) : TC_CLI_DONE;
}

static int run(const void *args, tc_error *err) {
    const build_args *a = args;
    tc_graph_work *w = NULL;
    tc_target *t = NULL;
    int status = tc_cli_check_source(&a->model.source, err);
    if (status == TC_CLI_DONE)
        status = check(a, err);
    tc_cli_catch_signals();
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->model.target, a->budget >= 0, &t, err);
    if (status == TC_CLI_DONE && tc_fs_check_writable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = tc_cli_open(&a->model, a->inputs, &w, err);
    if (status == TC_CLI_DONE)
        status = build(a, w, t, err);
    tc_graph_work_free(w);
    tc_target_free(t);
    return status;
}

const tc_cli_command tc_cli_build = {
    .name = "build",
    .summary = "build a shared library, with a C header, from a network and the best records of a database",
    .details = "Says for every kernel which record it uses; for one without a record, the nearest record and what differs. Only "
               "verified "
               "records are used. The library needs the C library and OpenMP's runtime only. "
               "-o M.o writes one relocatable object instead, -o M.c C source with a static-memory entry point. "
               "With --te, the file of --inputs gives the values of the kernel's constants by name; without it they are random.",
    TC_CLI_ARGS(build_args, options),
    .defaults = &(const build_args){.model = TC_CLI_MODEL_DEFAULTS, .budget = -1},
    .required = "out",
    .run = run,
};
