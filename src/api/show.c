/* Shows kernels at their stages (include/tctune/show.h). */
#include <string.h>

#include "api/api_int.h"
#include "support/guess.h"
#include "support/say.h"
#include "te/text.h"
#include "tir_lower/passes/passes.h"
#include "tune/kernel/stages.h"

/* What is asked for, as it is wanted inside. */
typedef struct request {
    tctune_show_options o;
    const tc_tune_task *tasks;
    tc_target *target;
    tc_accuracy accuracy;
    tc_meas_db *db; /* NULL: none */
    tc_arena *arena;
} request;

/* Closed by end() in any case. */
static tc_status begin(const tctune_work *w, const tctune_show_options *options, request *r, tc_error *err) {
    *r = (request){.arena = tc_arena_new()};
    tc_graph_work_tasks(w->w, &r->tasks);
    TC_TRY(API_OPTIONS(r->o, options, err));
    TC_TRY(api_accuracy(r->o.accuracy, r->o.precision, &r->accuracy, err));
    TC_TRY(api_target(r->o.target, r->o.threads, &r->target, err));
    return r->o.database ? tc_meas_db_open(r->o.database, TC_MEAS_DB_READ, &r->db, err) : TC_OK;
}

static void end(request *r) {
    tc_meas_db_close(r->db);
    tc_target_free(r->target);
    tc_arena_free(r->arena);
}

static tc_tune_query query_of(const request *r, const tc_tune_task *task) {
    return (tc_tune_query){.workload = task->workload, .target = r->target, .accuracy = r->accuracy, .db = r->db};
}

/* ---- all tasks ---- */

/* a: for this task alone, as schedules are large. */
static tc_status list_task(const request *r, int i, tc_arena *a, json_t *kernels, tc_error *err) {
    const tc_tune_task *t = &r->tasks[i];
    tc_tune_query q = query_of(r, t);
    tc_tune_schedule k;
    tc_tune_variants v = {0};
    TC_TRY(tc_tune_schedule_find(&q, a, &k, err));
    if (t->workload->nsymbol)
        TC_TRY(tc_tune_variants_find(&q, t->sizes, a, &v, err));
    const char *origin =
        v.n ? tc_arena_printf(a, "%d variants (%s), of %d programs at %d sizes", v.n, v.form, v.nprogram, v.npoint)
            : tc_report_origin(&k, a);
    tc_json_append(kernels, tc_json_pack("{s:i,s:s,s:o,s:f,s:b,s:f,s:s,s:s,s:s}", "index", i, "name", t->name, "nodes",
                                         tc_report_names(t->nnode, t->nodes), "weight", t->weight, "instead_of_others",
                                         t->ninstead > 0, "flops", tc_te_flops(t->workload), "hash", k.hash.hex, "form",
                                         v.n ? v.form : k.form, "schedule", origin));
    return TC_OK;
}

static tc_status show_tasks(const tctune_work *w, const tctune_show_options *options, char **json, tc_error *err) {
    request r;
    tc_status st = begin(w, options, &r, err);
    json_t *kernels = tc_json_array();
    for (int i = 0; st == TC_OK && i < tctune_work_num_tasks(w); i++) {
        tc_arena *a = tc_arena_new();
        st = list_task(&r, i, a, kernels, err);
        tc_arena_free(a);
    }
    if (st == TC_OK)
        st = tc_report_text(tc_json_pack("{s:s,s:O}", "model", tc_graph_work_path(w->w), "kernels", kernels), json, err);
    json_decref(kernels);
    end(&r);
    return st;
}

tctune_status tctune_show_tasks(const tctune_work *w, const tctune_show_options *options, char **json, char *error,
                                size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, show_tasks(w, options, json, &err));
}

/* ---- one ---- */

static tc_status read_stages(const char *list, unsigned *out, tc_error *err) {
    *out = list ? 0 : TC_TUNE_STAGE_BIT(SCHEDULE) | TC_TUNE_STAGE_BIT(NEST);
    for (const char *p = list; p && *p;) {
        size_t len = strcspn(p, ",");
        tc_tune_stage i = tc_tune_stage_find(p, len);
        bool all = len == 3 && memcmp(p, "all", len) == 0;
        if (i == TC_TUNE_NSTAGES && !all)
            return tc_fail(err, TC_BAD_INPUT,
                           "there is no stage '%.*s': the stages are workload, schedule, stages, nest, tir, ir, raw-ir and asm; "
                           "all means every stage",
                           (int)len, p);
        *out |= all ? (1U << TC_TUNE_NSTAGES) - 1 : 1U << i;
        p += len + (p[len] == ',');
    }
    return TC_OK;
}

static tc_status check_dump(const char *pass, tc_error *err) {
    char text[TC_GUESS_TEXT];
    if (!pass || strcmp(pass, "all") == 0)
        return TC_OK;
    tc_guess g = tc_guess_new(pass, strlen(pass));
    for (int i = 0; i < tc_tir_npasses; i++) {
        if (strcmp(pass, tc_tir_passes[i].name) == 0)
            return TC_OK;
        tc_guess_add(&g, tc_tir_passes[i].name);
    }
    return tc_fail(err, TC_BAD_INPUT, "dump: there is no lowering pass '%s'%s", pass,
                   tc_guess_say(&g, "", "all names each of them", text));
}

/* Its schedule, or several variants. */
static tc_status find(const request *r, const tc_tune_task *task, tc_tune_schedule *k, tc_tune_variants *several, tc_error *err) {
    tc_tune_query q = query_of(r, task);
    const int64_t *sizes;
    *several = (tc_tune_variants){0};
    q.file = r->o.schedule;
    TC_TRY(api_task_sizes(r->o.at, task->workload, r->arena, &sizes, err));
    if (!sizes && task->workload->nsymbol)
        TC_TRY(tc_tune_variants_find(&q, task->sizes, r->arena, several, err));
    if (several->n > 1)
        return TC_OK;
    if (several->n == 1) {
        int64_t *most = TC_NEW_N(r->arena, int64_t, task->workload->nsymbol);
        for (int i = 0; i < task->workload->nsymbol; i++)
            most[i] = task->workload->symbols[i]->most;
        sizes = most;
    }
    return sizes ? tc_tune_schedule_at(&q, task->sizes, sizes, r->arena, k, err) : tc_tune_schedule_find(&q, r->arena, k, err);
}

/* A schedule says where it comes from, in one line: a message of a record may hold newlines, and would go on as steps. */
static void annotate(const request *r, tc_tune_stages *s, unsigned parts, const char *origin) {
    tc_strbuf *schedule = &s->text[TC_TUNE_STAGE_SCHEDULE], *code = &s->text[TC_TUNE_STAGE_ASM], with = {0}, marked = {0};
    tc_sb_say(&with, "# %s\n", origin);
    tc_sb_add(&with, tc_sb_str(schedule));
    tc_strbuf_free(schedule);
    *schedule = with;
    if (!r->o.marked || !(parts & TC_TUNE_STAGE_BIT(ASM)))
        return;
    tc_cg_asm_mark(r->target, tc_sb_str(code), &s->facts, &marked);
    tc_strbuf_free(code);
    *code = marked;
}

static json_t *stages_json(const tc_tune_task *task, const tc_tune_schedule *k, const char *origin, const tc_tune_stages *s,
                           unsigned parts) {
    json_t *j = tc_json_pack("{s:s,s:o,s:s,s:s,s:s}", "kernel", task->name, "nodes", tc_report_names(task->nnode, task->nodes),
                             "hash", k->hash.hex, "form", k->form, "origin", origin);
    for (int i = 0; i < TC_TUNE_NSTAGES; i++)
        if (parts >> i & 1)
            tc_json_set(j, tc_tune_stage_of((tc_tune_stage)i)->name, tc_json_string(tc_sb_str(&s->text[i])));
    if (parts & TC_TUNE_STAGE_BIT(ASM))
        tc_json_set(j, "asm_facts", tc_report_assembly(&s->facts));
    return j;
}

static tc_status make_stages(const request *r, const tc_tune_task *task, const tc_tune_schedule *k, unsigned parts, char **json,
                             tc_error *err) {
    tc_tune_stages s = {0};
    tc_status st = tc_tune_stages_make(r->target, k, parts, r->o.dump, &s, err);
    if (st == TC_OK) {
        const char *origin = tc_report_origin(k, r->arena);
        annotate(r, &s, parts, origin);
        st = tc_report_text(stages_json(task, k, origin, &s, parts), json, err);
    }
    tc_tune_stages_free(&s);
    return st;
}

static json_t *variants_json(const tc_tune_task *task, const tc_tune_variants *v) {
    json_t *j = tc_report_variants(task->name, task->workload, v);
    tc_json_set(j, "nodes", tc_report_names(task->nnode, task->nodes));
    return j;
}

static tc_status show_one(const request *r, const tc_tune_task *task, char **json, tc_error *err) {
    unsigned parts;
    tc_tune_schedule k;
    tc_tune_variants several;
    TC_TRY(read_stages(r->o.stages, &parts, err));
    TC_TRY(check_dump(r->o.dump, err));
    TC_TRY(find(r, task, &k, &several, err));
    return several.n > 1 ? tc_report_text(variants_json(task, &several), json, err) : make_stages(r, task, &k, parts, json, err);
}

static tc_status show_task(const tctune_work *w, int task, const tctune_show_options *options, char **json, tc_error *err) {
    request r;
    TC_TRY(api_check_task(w, task, err));
    tc_status st = begin(w, options, &r, err);
    if (st == TC_OK)
        st = show_one(&r, &r.tasks[task], json, err);
    end(&r);
    return st;
}

tctune_status tctune_show_task(const tctune_work *w, int task, const tctune_show_options *options, char **json, char *error,
                               size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, show_task(w, task, options, json, &err));
}

const char *tctune_lowering_pass(int i) {
    return i >= 0 && i < tc_tir_npasses ? tc_tir_passes[i].name : NULL;
}
