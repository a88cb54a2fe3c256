/* tctune build: the best records of a network's kernels become one shared library. */
#include <string.h>

#include "cli/cli.h"
#include "support/fs.h"

static void print_plan(const tc_graph_model *m) {
    tc_strbuf b = {0};
    tc_graph_model_print_plan(m, &b);
    fputs(tc_sb_str(&b), stdout);
    tc_strbuf_free(&b);
}

static void print_model(const tc_cli_args *a, const tc_graph_model *m, const tc_graph_admission *admitted,
                        const tc_graph_contest *c, const tc_target *t) {
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
        json_object_set_new(j, "kernels", tc_cli_kernels_json(k, n));
        if (c->k) {
            json_object_set_new(j, "in_graph", tc_cli_contest_json(c));
            json_object_set_new(j, "left_out", tc_cli_refusals_json(admitted));
        }
        tc_cli_json_print(j);
        return;
    }
    char arena[24], plain[24], constants[24];
    if (c->k)
        tc_cli_report_contest(stdout, c, k);
    tc_cli_report_kernels(stdout, k, n);
    if (a->print_plan)
        print_plan(m);
    printf("memory: %s for intermediates (%s without reuse), %s of constants\n", tc_cli_bytes(arena, (double)mem.arena),
           tc_cli_bytes(plain, (double)mem.arena_without_reuse), tc_cli_bytes(constants, (double)mem.constants));
    printf("%s is built for %s, %d threads\n", a->out, t->text, tc_graph_model_threads(m));
}

/* With --top-k-in-graph, what the network itself says of the records comes first. */
static int build(const tc_cli_args *a, tc_cli_source *s, const tc_target *t, tc_error *err) {
    tc_graph_model *m = NULL;
    tc_graph_admission admitted = {0};
    tc_graph_contest c = {0};
    tc_arena *arena = tc_arena_new();
    int status = TC_CLI_DONE;
    if (a->top_k > 1)
        status = tc_cli_contest(a, s, t, arena, &admitted, &c, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_model_build(a, s, t, true, c.choices, &m, err);
    if (status == TC_CLI_DONE && tc_graph_model_save(m, a->out, a->name, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        print_model(a, m, &admitted, &c, t);
    tc_graph_model_free(m);
    tc_arena_free(arena);
    return status;
}

static int run(const tc_cli_args *a, tc_error *err) {
    tc_cli_source s = {0};
    tc_target *t = NULL;
    int status = tc_cli_check_source(a, err);
    if (status == TC_CLI_DONE && a->inputs && !a->te)
        status = tc_cli_usage(err, "--inputs goes with --te: a model's file has the values of its constants");
    tc_cli_catch_signals();
    if (status == TC_CLI_DONE)
        status = tc_cli_target(a, false, &t, err);
    if (status == TC_CLI_DONE && tc_fs_check_writable(a->out, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = tc_cli_source_open(a, &s, err);
    s.constants = a->inputs;
    if (status == TC_CLI_DONE)
        status = build(a, &s, t, err);
    tc_cli_source_free(&s);
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
    .options = TC_CLI_BIT(NO_CACHE) | TC_CLI_BIT(MODEL) | TC_CLI_BIT(TE) | TC_CLI_BIT(SHAPE) | TC_CLI_BIT(DB) |
               TC_CLI_BIT(UNTUNED) | TC_CLI_BIT(TARGET) | TC_CLI_BIT(ACCURACY) | TC_CLI_BIT(THREADS) | TC_CLI_BIT(SEED) |
               TC_CLI_BIT(INPUTS) | TC_CLI_BIT(OUT) | TC_CLI_BIT(NAME) | TC_CLI_BIT(REQUIRE_COMPLETE) | TC_CLI_BIT(TOP_K) |
               TC_CLI_BIT(PRINT_PLAN) | TC_CLI_BIT(JSON) | TC_CLI_PASS_BITS,
    .required = TC_CLI_BIT(OUT),
    .run = run,
};
