/* tctune show: one kernel through every stage, from workload to assembly. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "codegen/code/code.h"
#include "te/text.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program.h"

typedef struct show_args {
    tc_cli_common common;
    tc_cli_source_args source;
    tc_cli_db_args db;
    tc_cli_target_args target;
    tc_accuracy accuracy;
    const char *kernel, *sched, *print, *dump;
    bool json;
} show_args;

static const tc_cli_option options[] = {
    TC_CLI_SOURCE_OPTIONS(show_args, source),
    TC_CLI_DB_OPTION(show_args, db.path),
    TC_CLI_UNTUNED_OPTION(show_args, db.untuned),
    TC_CLI_TARGET_OPTION(show_args, target.name),
    TC_CLI_ACCURACY_OPTION(show_args, accuracy),
    TC_CLI_THREADS_OPTION(show_args, target.threads),
    TC_CLI_KERNEL_OPTION(show_args, kernel),
    TC_CLI_SCHED_OPTION(show_args, sched),
    TC_CLI_TEXT(show_args, print, "print", "PARTS",
                "what to show, separated by commas: workload, schedule, stages, nest, tir, ir, raw-ir, asm; default "
                "workload,schedule,nest,ir,asm"),
    TC_CLI_TEXT(show_args, dump, "dump", "PASS",
                "also print the program after this lowering pass, or after all of them (to standard error)"),
    TC_CLI_PASS_OPTIONS(show_args, source.passes),
    TC_CLI_JSON_OPTION(show_args, json),
};

/* PART(id, name, heading) */
#define PARTS(PART)                                                                                                              \
    PART(WORKLOAD, "workload", "workload")                                                                                       \
    PART(SCHEDULE, "schedule", "schedule")                                                                                       \
    PART(STAGES, "stages", "stages")                                                                                             \
    PART(NEST, "nest", "loop nest")                                                                                              \
    PART(TIR, "tir", "lowered loop nest")                                                                                        \
    PART(IR, "ir", "LLVM IR, optimised")                                                                                         \
    PART(RAW_IR, "raw-ir", "LLVM IR as generated")                                                                               \
    PART(ASM, "asm", "assembly")

typedef enum part {
#define PART(id, name, heading) PART_##id,
    PARTS(PART)
#undef PART
        NPARTS
} part;

static const char *const part_names[] = {
#define PART(id, name, heading) name,
    PARTS(PART)
#undef PART
};
static const char *const part_headings[] = {
#define PART(id, name, heading) heading,
    PARTS(PART)
#undef PART
};

static const unsigned default_parts =
    1U << PART_WORKLOAD | 1U << PART_SCHEDULE | 1U << PART_NEST | 1U << PART_IR | 1U << PART_ASM;

/* ---- options ---- */

static int find_part(const char *name, size_t len) {
    for (int i = 0; i < NPARTS; i++)
        if (strlen(part_names[i]) == len && memcmp(part_names[i], name, len) == 0)
            return i;
    return -1;
}

static int read_parts(const char *list, unsigned *out, tc_error *err) {
    *out = list ? 0 : default_parts;
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");
        int i = find_part(p, len);
        if (i < 0)
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

static int list(const show_args *a, const tc_cli_source *s, const tc_target *t, tc_meas_db *db, tc_error *err) {
    static const char *const head[] = {">#", "kernel", ">weight", ">MFLOP", "schedule"};
    tc_cli_table table = tc_cli_table_new(TC_LEN(head), head);
    json_t *kernels = json_array();
    tc_arena *arena = tc_arena_new();
    tc_status st = TC_OK;
    for (int i = 0; i < s->ntask && st == TC_OK; i++) {
        tc_tune_query q = {.workload = s->tasks[i].workload, .target = t, .accuracy = a->accuracy, .db = db};
        tc_tune_schedule k;
        st = tc_tune_schedule_find(&q, arena, &k, err);
        if (st != TC_OK)
            break;
        const char *origin = tc_cli_origin(&k, arena);
        double flops = tc_te_flops(s->tasks[i].workload);
        tc_cli_cell(&table, "%d", i);
        tc_cli_cell(&table, "%s", s->tasks[i].name);
        tc_cli_cell(&table, "%g", s->tasks[i].weight);
        tc_cli_cell(&table, "%.2f", flops / 1e6);
        tc_cli_cell(&table, "%s", origin);
        json_array_append_new(kernels, json_pack("{s:i,s:s,s:f,s:f,s:s,s:s,s:s}", "index", i, "name", s->tasks[i].name, "weight",
                                                 s->tasks[i].weight, "flops", flops, "hash", k.hash.hex, "form", k.form,
                                                 "schedule", origin));
    }
    if (st == TC_OK && a->json)
        tc_cli_json_print(json_pack("{s:s,s:O}", "model", s->path, "kernels", kernels));
    else if (st == TC_OK)
        tc_cli_table_print(&table, stdout);
    json_decref(kernels);
    tc_cli_table_free(&table);
    tc_arena_free(arena);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

/* ---- the stages ---- */

typedef struct stages {
    unsigned want;
    tc_strbuf text[NPARTS];
    tc_cg_asm_facts facts; /* of PART_ASM */
} stages;

static bool wants(const stages *s, part p) {
    return s->want >> p & 1;
}

static tc_status emit(stages *s, part p, const tc_target *t, const tc_func *f, tc_cg_stage stage, tc_error *err) {
    if (!wants(s, p))
        return TC_OK;
    return tc_cg_emit_text(t, &f, NULL, 1, NULL, stage, &s->text[p], err);
}

static tc_status lower(stages *s, tc_ctx *ctx, const tc_target *t, const tc_tune_schedule *k, const char *origin,
                       const char *dump, tc_error *err) {
    const tc_workload *w;
    tc_tir_program p;
    tc_rng rng = tc_rng_seed(0);
    const unsigned unlowered = 1U << PART_WORKLOAD | 1U << PART_SCHEDULE | 1U << PART_STAGES | 1U << PART_NEST;
    bool lowers = dump || (s->want & ~unlowered);
    TC_TRY(tc_te_parse(ctx, "workload", k->workload, &w, err));
    tc_tir_origin from = {.workload = w, .machine = &t->machine, .text = k->trace, .name = "schedule", .rng = &rng, .dump = dump};
    TC_TRY(tc_tir_program_make(ctx, &from, lowers ? TC_TIR_LOWERED : TC_TIR_NEST, &p, err));
    tc_sb_add(&s->text[PART_WORKLOAD], k->workload);
    tc_sb_printf(&s->text[PART_SCHEDULE], "# %s\n%s", origin, k->trace);
    tc_sch_print(&s->text[PART_STAGES], p.sched);
    tc_tir_print(&s->text[PART_NEST], p.nest);
    if (!lowers)
        return TC_OK;
    tc_tir_print(&s->text[PART_TIR], p.lowered);
    TC_TRY(emit(s, PART_RAW_IR, t, p.lowered, TC_CG_IR, err));
    TC_TRY(emit(s, PART_IR, t, p.lowered, TC_CG_OPT_IR, err));
    TC_TRY(emit(s, PART_ASM, t, p.lowered, TC_CG_ASM, err));
    tc_cg_asm_facts_read(t, tc_sb_str(&s->text[PART_ASM]), &s->facts);
    return TC_OK;
}

/* For people: the facts, and the hot loop marked. */
static void mark_asm(stages *s, const tc_target *t) {
    tc_strbuf marked = {0};
    if (!wants(s, PART_ASM))
        return;
    tc_cg_asm_mark(t, tc_sb_str(&s->text[PART_ASM]), &s->facts, &marked);
    tc_strbuf_free(&s->text[PART_ASM]);
    s->text[PART_ASM] = marked;
}

static void print_parts(const show_args *a, const char *name, const tc_tune_schedule *k, const char *origin, const stages *s) {
    if (a->json) {
        json_t *j = json_pack("{s:s,s:s,s:s,s:s}", "kernel", name, "hash", k->hash.hex, "form", k->form, "origin", origin);
        for (int i = 0; i < NPARTS; i++)
            if (wants(s, (part)i))
                json_object_set_new(j, part_names[i], json_string(tc_sb_str(&s->text[i])));
        if (wants(s, PART_ASM))
            json_object_set_new(j, "asm_facts", tc_cli_asm_json(&s->facts));
        tc_cli_json_print(j);
        return;
    }
    bool one = (s->want & (s->want - 1)) == 0; /* a single part comes bare: it can be saved and used */
    for (int i = 0; i < NPARTS; i++) {
        if (!wants(s, (part)i))
            continue;
        const char *text = tc_sb_str(&s->text[i]);
        if (!one)
            printf("# ---- %s ----\n", part_headings[i]);
        fputs(text, stdout);
        if (!one || !s->text[i].len || text[s->text[i].len - 1] != '\n')
            putchar('\n');
    }
}

static int show(const show_args *a, const tc_tune_task *task, const tc_target *t, tc_meas_db *db, unsigned parts, tc_error *err) {
    tc_arena *arena = tc_arena_new();
    tc_ctx *ctx = tc_ctx_new();
    tc_tune_query q = {.workload = task->workload, .target = t, .accuracy = a->accuracy, .file = a->sched, .db = db};
    tc_tune_schedule k;
    stages s = {.want = parts};
    const char *origin = NULL;
    tc_status st = tc_tune_schedule_find(&q, arena, &k, err);
    if (st == TC_OK) {
        origin = tc_cli_origin(&k, arena);
        st = lower(&s, ctx, t, &k, origin, a->dump, err);
    }
    if (st == TC_OK && !a->json)
        mark_asm(&s, t);
    if (st == TC_OK)
        print_parts(a, task->name, &k, origin, &s);
    for (int i = 0; i < NPARTS; i++)
        tc_strbuf_free(&s.text[i]);
    tc_cg_asm_facts_free(&s.facts);
    tc_ctx_free(ctx);
    tc_arena_free(arena);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}

static int run(const void *args, tc_error *err) {
    const show_args *a = args;
    tc_cli_source s = {0};
    tc_target *t = NULL;
    tc_meas_db *db = NULL;
    unsigned parts;
    int kernel = -1, status = read_parts(a->print, &parts, err);
    if (status == TC_CLI_DONE)
        status = check_dump(a->dump, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_check_source(&a->source, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_target(&a->target, false, &t, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_source_open(&a->source, &s, err);
    if (status == TC_CLI_DONE)
        status = tc_cli_pick(&s, a->kernel, &kernel, err);
    if (status == TC_CLI_DONE && kernel < 0 && a->sched)
        status = tc_cli_usage(err, "--sched needs --kernel: %s has %d kernels", s.path, s.ntask);
    if (status == TC_CLI_DONE && tc_cli_db_read(&a->db, &db, err) != TC_OK)
        status = TC_CLI_FAILED;
    if (status == TC_CLI_DONE)
        status = kernel < 0 ? list(a, &s, t, db, err) : show(a, &s.tasks[kernel], t, db, parts, err);
    tc_meas_db_close(db);
    tc_cli_source_free(&s);
    tc_target_free(t);
    return status;
}

const tc_cli_command tc_cli_show = {
    .name = "show",
    .summary = "show a kernel: its workload, best schedule, loop nest, LLVM IR and assembly",
    .details =
        "A network with several kernels is listed unless --kernel chooses one. A single part (--print schedule) comes without a "
        "heading: save it, change a line, and measure it with `tctune measure --te FILE --sched FILE`. In the assembly the hot "
        "loop "
        "has a bar in the margin, and what it consists of stands above; with --json the assembly is as LLVM wrote it, and "
        "asm_facts tells the same in numbers.",
    TC_CLI_ARGS(show_args, options),
    .defaults = &(const show_args){.source = TC_CLI_SOURCE_DEFAULTS, .accuracy = TC_ACCURACY_FAST},
    .run = run,
};
