/* tctune show: one kernel through every stage, from workload to assembly. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "graph/saved/saved.h"
#include "te/te.h"
#include "tir_lower/passes/passes.h"
#include "tune/kernel/stages.h"

typedef struct show_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_accuracy accuracy;
    const char *kernel, *sched, *print, *dump;
    tc_cli_texts at;
    bool json;
} show_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(show_args, source),
    TC_CLI_DB_OPTION(show_args, db.path),
    TC_CLI_UNTUNED_OPTION(show_args, db.untuned),
    TC_CLI_TARGET_OPTION(show_args, target.name),
    TC_CLI_ACCURACY_OPTION(show_args, accuracy),
    TC_CLI_PRECISION_OPTION(show_args, accuracy),
    TC_CLI_THREADS_OPTION(show_args, target.threads),
    TC_CLI_KERNEL_OPTION(show_args, kernel),
    TC_CLI_AT_OPTION(show_args, at),
    TC_CLI_WEIGHTS_OPTION(show_args, source.weights),
    TC_CLI_SCHED_OPTION(show_args, sched),
    TC_CLI_TEXT(show_args, print, "print", "PARTS",
                "what to show, separated by commas: workload, schedule, stages, nest, tir, ir, raw-ir, asm; default "
                "workload,schedule,nest,ir,asm"),
    TC_CLI_TEXT(show_args, dump, "dump", "PASS",
                "also print the program after this lowering pass, or after all of them (to standard error)"),
    TC_CLI_PASS_OPTIONS(show_args, source.passes),
    TC_CLI_JSON_OPTION(show_args, json),
};

static const unsigned default_parts = TC_TUNE_STAGE_BIT(WORKLOAD) | TC_TUNE_STAGE_BIT(SCHEDULE) | TC_TUNE_STAGE_BIT(NEST) |
                                      TC_TUNE_STAGE_BIT(IR) | TC_TUNE_STAGE_BIT(ASM);

/* ---- options ---- */

static int read_parts(const char *list, unsigned *out, tc_error *err) {
    *out = list ? 0 : default_parts;
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");
        tc_tune_stage i = tc_tune_stage_find(p, len);
        if (i == TC_TUNE_NSTAGES)
            return tc_cli_usage(
                err, "--print: there is no part '%.*s'; there are workload, schedule, stages, nest, tir, ir, raw-ir, asm",
                (int)len, p);
        *out |= 1U << i;
        p += len + (p[len] == ',');
    }
    return TC_CLI_DONE;
}

static int check_dump(const char *pass, tc_error *err) {
    tc_strbuf known = {0};
    bool ok = !pass || strcmp(pass, "all") == 0;
    for (int i = 0; i < tc_tir_npasses; i++) {
        ok |= pass && strcmp(pass, tc_tir_passes[i].name) == 0;
        tc_sb_printf(&known, ", %s", tc_tir_passes[i].name);
    }
    int status = ok ? TC_CLI_DONE : tc_cli_usage(err, "--dump: there is no pass '%s'; there are all%s", pass, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return status;
}

/* ---- choosing a kernel ---- */

static int list(const show_args *a, const tc_graph_work *w, const tc_target *t, tc_meas_db *db, tc_error *err) {
    static const char *const head[] = {">#", "kernel", ">weight", ">MFLOP", "schedule"};
    const tc_tune_task *tasks;
    int n = tc_graph_work_tasks(w, &tasks);
    tc_cli_table table = tc_cli_table_new(TC_LEN(head), head);
    json_t *kernels = json_array();
    tc_arena *arena = tc_arena_new();
    tc_status st = TC_OK;
    bool spare = false;
    for (int i = 0; i < n && st == TC_OK; i++) {
        tc_tune_query q = {.workload = tasks[i].workload, .target = t, .accuracy = a->accuracy, .db = db};
        tc_tune_schedule k;
        st = tc_tune_schedule_find(&q, arena, &k, err);
        if (st != TC_OK)
            break;
        const char *origin = tc_cli_origin(&k, arena);
        tc_tune_variants v = {0};
        if (tasks[i].workload->nsymbol)
            st = tc_tune_variants_find(&q, tasks[i].sizes, arena, &v, err);
        if (v.n)
            origin = tc_arena_printf(arena, "%d variants (%s), of %d programs at %d sizes", v.n, v.form, v.nprogram, v.npoint);
        double flops = tc_te_flops(tasks[i].workload);
        tc_cli_cell(&table, "%d", i);
        tc_cli_cell(&table, "%s", tasks[i].name);
        tc_cli_cell(&table, tasks[i].ninstead ? "(%g)" : "%g", tasks[i].weight);
        spare |= tasks[i].ninstead > 0;
        tc_cli_cell(&table, "%.2f", flops / 1e6);
        tc_cli_cell(&table, "%s", origin);
        json_array_append_new(kernels, json_pack("{s:i,s:s,s:f,s:b,s:f,s:s,s:s,s:s}", "index", i, "name", tasks[i].name, "weight",
                                                 tasks[i].weight, "instead_of_others", tasks[i].ninstead > 0, "flops", flops,
                                                 "hash", k.hash.hex, "form", v.n ? v.form : k.form, "schedule", origin));
    }
    if (st == TC_OK && a->json)
        tc_cli_json_print(json_pack("{s:s,s:O}", "model", tc_graph_work_path(w), "kernels", kernels));
    else if (st == TC_OK)
        tc_cli_table_print(&table, stdout);
    if (st == TC_OK && !a->json && spare)
        puts("(in brackets: kernels that run in place of others where records say that this is faster)");
    json_decref(kernels);
    tc_cli_table_free(&table);
    tc_arena_free(arena);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* ---- the stages ---- */

/* A schedule says where it comes from. For people, facts stand above the assembly, and its hot loop is marked. */
static void annotate(tc_tune_stages *s, unsigned parts, const char *origin, const tc_target *t, bool json) {
    tc_strbuf *schedule = &s->text[TC_TUNE_STAGE_SCHEDULE], *code = &s->text[TC_TUNE_STAGE_ASM], with = {0}, marked = {0};
    tc_sb_printf(&with, "# %s\n%s", origin, tc_sb_str(schedule));
    tc_strbuf_free(schedule);
    *schedule = with;
    if (json || !(parts & TC_TUNE_STAGE_BIT(ASM)))
        return;
    tc_cg_asm_mark(t, tc_sb_str(code), &s->facts, &marked);
    tc_strbuf_free(code);
    *code = marked;
}

static void print_json(const char *name, const tc_tune_schedule *k, const char *origin, const tc_tune_stages *s, unsigned parts) {
    json_t *j = json_pack("{s:s,s:s,s:s,s:s}", "kernel", name, "hash", k->hash.hex, "form", k->form, "origin", origin);
    for (int i = 0; i < TC_TUNE_NSTAGES; i++)
        if (parts >> i & 1)
            json_object_set_new(j, tc_tune_stage_of((tc_tune_stage)i)->name, json_string(tc_sb_str(&s->text[i])));
    if (parts & TC_TUNE_STAGE_BIT(ASM))
        json_object_set_new(j, "asm_facts", tc_cli_asm_json(&s->facts));
    tc_cli_json_print(j);
}

static void print_text(const tc_tune_stages *s, unsigned parts) {
    bool one = (parts & (parts - 1)) == 0; /* a single part comes bare: it can be saved and used */
    for (int i = 0; i < TC_TUNE_NSTAGES; i++) {
        const char *text = tc_sb_str(&s->text[i]);
        if (!(parts >> i & 1))
            continue;
        if (!one)
            printf("# ---- %s ----\n", tc_tune_stage_of((tc_tune_stage)i)->heading);
        fputs(text, stdout);
        if (!one || !s->text[i].len || text[s->text[i].len - 1] != '\n')
            putchar('\n');
    }
}

/* A kernel with symbols that has several variants: which serves what. */
static int show_variants(const show_args *a, const tc_tune_task *task, const tc_tune_variants *v, tc_error *err) {
    const tc_var *s = task->workload->symbols[0];
    if (a->print || a->dump)
        return tc_cli_usage(err, "the kernel has %d variants for its sizes: say with --at %s=%lld which is meant", v->n, s->name,
                            (long long)s->most);
    if (a->json)
        tc_cli_json_print(tc_cli_variants_json(task->name, task->workload, v));
    else
        tc_cli_report_variants(stdout, task->name, task->workload, v);
    return TC_CLI_DONE;
}

/* The schedule to show; *several: there are variants, and no sizes were given. */
static int find(const show_args *a, const tc_tune_task *task, const tc_tune_query *q, tc_arena *arena, tc_tune_schedule *k,
                tc_tune_variants *several, tc_error *err) {
    const int64_t *sizes;
    int status = tc_cli_at(&a->at, task->workload, arena, &sizes, err);
    *several = (tc_tune_variants){0};
    if (status != TC_CLI_DONE)
        return status;
    tc_status st = TC_OK;
    if (!sizes && task->workload->nsymbol)
        st = tc_tune_variants_find(q, task->sizes, arena, several, err);
    if (st == TC_OK && several->n == 1) {
        int64_t *most = TC_NEW_N(arena, int64_t, task->workload->nsymbol);
        for (int i = 0; i < task->workload->nsymbol; i++)
            most[i] = task->workload->symbols[i]->most;
        sizes = most;
    }
    if (st == TC_OK && several->n < 2)
        st = sizes ? tc_tune_schedule_at(q, task->sizes, sizes, arena, k, err) : tc_tune_schedule_find(q, arena, k, err);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int show(const show_args *a, const tc_tune_task *task, const tc_target *t, tc_meas_db *db, unsigned parts, tc_error *err) {
    tc_arena *arena = tc_arena_new();
    tc_tune_query q = {.workload = task->workload, .target = t, .accuracy = a->accuracy, .file = a->sched, .db = db};
    tc_tune_schedule k;
    tc_tune_stages s = {0};
    tc_tune_variants several;
    int status = find(a, task, &q, arena, &k, &several, err);
    if (status == TC_CLI_DONE && several.n > 1)
        status = show_variants(a, task, &several, err);
    else if (status == TC_CLI_DONE && tc_tune_stages_make(t, &k, parts, a->dump, &s, err) != TC_OK)
        status = TC_CLI_FAILED;
    else if (status == TC_CLI_DONE) {
        const char *origin = tc_cli_origin(&k, arena);
        annotate(&s, parts, origin, t, a->json);
        if (a->json)
            print_json(task->name, &k, origin, &s, parts);
        else
            print_text(&s, parts);
    }
    tc_tune_stages_free(&s);
    tc_arena_free(arena);
    return status;
}

static int show_library(const show_args *a, tc_error *err) {
    if (a->kernel || a->sched || a->print || a->dump || a->db.path || a->at.len || a->source.weights)
        return tc_cli_usage(
            err,
            "%s is a built library, which tells where its kernels are from: --kernel, --sched, --print, --dump, --at, "
            "--shape-weights and --db go with what it was built from",
            a->source.model);
    return tc_cli_show_library(a->source.model, a->json, err);
}

static int run(const void *args, tc_error *err) {
    const show_args *a = args;
    tc_cli_source_args source = a->source;
    tc_graph_work *w = NULL;
    const tc_tune_task *tasks = NULL;
    tc_target *t = NULL;
    tc_meas_db *db = NULL;
    unsigned parts;
    if (a->source.model && tc_graph_is_library(a->source.model))
        return show_library(a, err);
    source.varying = true;
    int kernel = -1, status = read_parts(a->print, &parts, err);
    if (status == TC_CLI_DONE)
        status = check_dump(a->dump, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_source(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, false, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_open_source(&source, &w, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_pick(w, a->kernel, &kernel, err);
    if (status == TC_CLI_DONE && kernel < 0 && a->sched)
        status =
            tc_cli_usage(err, "--sched needs --kernel: %s has %d kernels", tc_graph_work_path(w), tc_graph_work_tasks(w, &tasks));
    if (status == TC_CLI_DONE && kernel < 0 && a->at.len)
        status = tc_cli_usage(err, "--at needs --kernel: it is of the sizes of one");
    if (status == TC_CLI_DONE && tc_cli_db_read(&a->db, &db, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        tc_graph_work_tasks(w, &tasks);
    if (status == TC_CLI_DONE)
        status = kernel < 0 ? list(a, w, t, db, err) : show(a, &tasks[kernel], t, db, parts, err);
    tc_meas_db_close(db);
    tc_graph_work_free(w);
    tc_target_free(t);
    return status;
}

const tc_cli_command tc_cli_show = {
    .name = "show",
    .summary = "show a kernel: its workload, best schedule, loop nest, LLVM IR and assembly",
    .details =
        "Of a built library (--model M.so) it says what it was built for and from, which is read from the file without loading "
        "it. "
        "A network with several kernels is listed unless --kernel chooses one. Of a kernel whose sizes vary and that has several "
        "variants it says which serves which "
        "sizes; --at N=17 shows the one that serves these. A single part (--print schedule) comes without a "
        "heading: save it, change a line, and measure it with `tctune measure --te FILE --sched FILE`. In the assembly the hot "
        "loop "
        "has a bar in the margin, and what it consists of stands above; with --json the assembly is as LLVM wrote it, and "
        "asm_facts tells the same in numbers.",
    TC_CLI_ARGS(show_args, options),
    .defaults = &(const show_args){.source = TC_CLI_SOURCE_DEFAULTS, .accuracy = TC_ACCURACY_FAST},
    .run = run,
};
