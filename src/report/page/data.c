/* The document with the data of a page. It says whose records the page shows. It holds the limits of the machine, the kernels, the
 * records, and results from other documents. */
#include <string.h>

#include "report/page/page_int.h"
#include "report/report.h"
#include "support/system/fs.h"

/* ---- whose records ---- */

typedef struct owner {
    const tc_meas_summary *s;
    int64_t records;
} owner;

static bool may_be(const page *p, const tc_meas_summary *s, const char *wanted) {
    return (!wanted || strcmp(s->target, wanted) == 0) && (!p->o->threads || s->threads == p->o->threads);
}

/* The target and number of threads with the most records, among those that are allowed. */
static owner most(const page *p, const tc_meas_summaries *all, const char *wanted) {
    owner best = {0};
    for (size_t i = 0; i < all->len; i++) {
        owner o = {.s = &all->data[i]};
        if (!may_be(p, o.s, wanted))
            continue;
        for (size_t k = 0; k < all->len; k++)
            if (strcmp(all->data[k].target, o.s->target) == 0 && all->data[k].threads == o.s->threads)
                o.records += all->data[k].counts.total;
        if (o.records > best.records)
            best = o;
    }
    return best;
}

static tc_status named_target(const char *name, tc_arena *a, const char **text, tc_error *err) {
    tc_target *t;
    TC_TRY(tc_target_parse(name, &t, err));
    *text = tc_arena_printf(a, "%s", t->text);
    tc_target_free(t);
    return TC_OK;
}

static tc_status no_such_records(const page *p, tc_error *err) {
    const tc_page_options *o = p->o;
    if (o->threads)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s has no records with %d threads%s%s: `tctune db stats` lists the records that it has", o->database,
                       o->threads, o->target ? " for " : "", o->target ? o->target : "");
    return tc_fail(err, TC_BAD_INPUT, "%s has no records for %s: `tctune db stats` lists the records that it has", o->database,
                   o->target);
}

static tc_status find_owner(page *p, tc_error *err) {
    tc_meas_summaries all;
    const char *wanted;
    TC_TRY(tc_meas_db_summaries(p->db, p->arena, &all, err));
    TC_TRY(named_target(p->o->target ? p->o->target : "native", p->arena, &wanted, err));
    owner o = most(p, &all, wanted);
    if (!o.s && !p->o->target)
        o = most(p, &all, NULL);
    if (!o.s && (p->o->target || p->o->threads))
        return no_such_records(p, err);
    p->target_text = o.s ? o.s->target : "";
    p->target_hash = o.s ? o.s->target_hash : (tc_digest){0};
    p->threads = o.s ? o.s->threads : 0;
    return TC_OK;
}

/* A target that this build does not know is shown without the facts that depend on it. */
static void read_target(page *p) {
    tc_error why = {0};
    if (!*p->target_text)
        p->target_why = "the database has no records";
    else if (tc_target_parse(p->target_text, &p->target, &why) != TC_OK)
        p->target_why = tc_arena_printf(p->arena, "%s", why.msg);
    else
        p->target->machine.cores = p->threads;
}

/* ---- documents ---- */

/* A document that bench printed: of a network, of a kernel, or over a range. */
static bool is_run(const json_t *j) {
    return json_is_array(json_object_get(j, "curves")) ||
           (json_is_number(json_object_get(j, "median_ms")) && json_is_array(json_object_get(j, "kernels")));
}

static bool all_have(const json_t *list, const char *text, const char *number) {
    size_t i;
    json_t *x;
    json_array_foreach(list, i, x) if (!json_is_object(x) || !json_is_string(json_object_get(x, text)) ||
                                       (number && !json_is_number(json_object_get(x, number)))) return false;
    return json_is_array(list);
}

static bool is_explanation(const json_t *j) {
    return json_is_string(json_object_get(j, "answer")) && json_is_string(json_object_get(j, "hash")) &&
           all_have(json_object_get(j, "trials"), "what", NULL);
}

/* What others take for the same network. */
static bool is_peers(const json_t *j) {
    return all_have(json_object_get(j, "peers"), "name", "median_ms");
}

static tc_status read_document(page *p, const char *file, tc_error *err) {
    json_error_t why;
    char *text;
    TC_TRY(tc_fs_read_text_most(file, TC_BYTES_DOCUMENT, &text, err));
    json_t *j = tc_json_read(text, TC_INPUT_DOCUMENT, JSON_REJECT_DUPLICATES, &why);
    free(text);
    if (!j)
        return tc_fail(err, TC_BAD_INPUT, "%s:%d: %s; a report takes JSON documents", file, why.line, why.text);
    if (!is_run(j) && !is_explanation(j) && !is_peers(j)) {
        json_decref(j);
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: this is not a document for a report: a report takes documents that `tctune bench --json` and `tctune "
                       "explain --json` printed, and lists of peers ({\"peers\": [{\"name\": ..., \"median_ms\": ...}]})",
                       file);
    }
    tc_json_append(p->documents, tc_json_pack("{s:o,s:o}", "file", tc_json_string(file), "document", j));
    return TC_OK;
}

static tc_status read_documents(page *p, tc_error *err) {
    for (const char *const *d = p->o->documents; d && *d; d++)
        TC_TRY(read_document(p, *d, err));
    return TC_OK;
}

/* ---- all ---- */

static tc_status tell_database(tc_meas_db *db, json_t **out, tc_error *err) {
    tc_meas_db_stats s;
    TC_TRY(tc_meas_db_stat(db, &s, err));
    *out = tc_json_pack("{s:o,s:i,s:I,s:I,s:I,s:I}", "file", tc_json_string(tc_meas_db_path(db)), "schema", s.schema, "records",
                        (json_int_t)s.records, "workloads", (json_int_t)s.workloads, "targets", (json_int_t)s.targets, "bytes",
                        (json_int_t)s.bytes);
    return TC_OK;
}

static json_t *tell_machine(const page *p) {
    const tc_meas_peak none = {0};
    json_t *j = tc_json_pack("{s:o,s:i,s:b}", "target", tc_json_string(p->target_text), "threads", p->threads, "here",
                             p->target && p->target->native);
    tc_json_set(j, "about", p->target ? tc_report_machine(p->target, &none) : json_null());
    tc_json_set(j, "why", tc_json_string(p->target_why));
    tc_json_set(j, "roofs", page_tell_roofs(&p->roofs));
    return j;
}

static tc_status tell(page *p, json_t *j, tc_error *err) {
    json_t *part;
    TC_TRY(tell_database(p->db, &part, err));
    tc_json_set(j, "database", part);
    part = json_null();
    if (p->base)
        TC_TRY(tell_database(p->base, &part, err));
    tc_json_set(j, "baseline", part);
    TC_TRY(find_owner(p, err));
    read_target(p);
    TC_TRY(read_documents(p, err));
    TC_TRY(page_find_kernels(p, err));
    page_find_roofs(p);
    TC_TRY(page_tell_records(p, &part, err));
    tc_json_set(j, "machine", tell_machine(p));
    tc_json_set(j, "records", part);
    tc_json_set(j, "kernels", page_tell_kernels(p));
    tc_json_set(j, "commands", page_tell_commands(p));
    tc_json_set(j, "documents", json_incref(p->documents));
    return TC_OK;
}

static tc_status open_databases(page *p, tc_error *err) {
    TC_TRY(tc_meas_db_open(p->o->database, TC_MEAS_DB_READ, &p->db, err));
    return p->o->baseline ? tc_meas_db_open(p->o->baseline, TC_MEAS_DB_READ, &p->base, err) : TC_OK;
}

tc_status tc_page_data(const tc_page_options *o, json_t **out, tc_error *err) {
    page p = {.o = o, .arena = tc_arena_new(), .ctx = tc_ctx_new(), .documents = tc_json_array()};
    *out = tc_json_pack("{s:i,s:o,s:o,s:I}", "format", 1, "model", tc_json_string(o->model), "command",
                        tc_json_string(o->command), "made_ms", (json_int_t)tc_meas_now_ms());
    tc_status s = open_databases(&p, err);
    if (s == TC_OK)
        s = tell(&p, *out, err);
    if (s != TC_OK) {
        json_decref(*out);
        *out = NULL;
    }
    json_decref(p.documents);
    tc_meas_db_close(p.db);
    tc_meas_db_close(p.base);
    tc_target_free(p.target);
    tc_ctx_free(p.ctx);
    tc_arena_free(p.arena);
    return s;
}
