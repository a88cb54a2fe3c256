/* Records: as lines, and as a database. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/records/check.h"
#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "rows.h"
#include "support/system/fs.h"
#include "targets.h"

/* ---- lines ---- */

static const char *json_of(tc_arena *a, const tc_record *r) {
    tc_strbuf b = {0};
    tc_meas_record_to_json(r, &b);
    const char *text = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}

static void check_record(tc_arena *a, const tc_record *r) {
    tc_record again;
    tc_error err = {0};
    tc_map known = {0};
    const char *once = json_of(a, r);
    if (tc_meas_record_from_json(a, "printed", once, &again, &err) != TC_OK)
        fuzz_wrong("written, it is refused: %s\n%s", err.msg, once);
    if (strcmp(once, json_of(a, &again)) != 0)
        fuzz_wrong("read back, it is another one: %s\n%s", once, json_of(a, &again));
    if (r->ntimes > 0 && !(r->median > 0 && isfinite(r->median)))
        fuzz_wrong("a median that no times have: %s", once);
    (void)fuzz_good(tc_meas_check_workload(r, &known, &err), &err);
    tc_map_free(&known);
}

void fuzz_read_record(const char *data, size_t size) {
    char *text = fuzz_text(data, size), *save = NULL;
    tc_arena *a = tc_arena_new();
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        tc_record r = tc_meas_record_empty();
        tc_error err = {0};
        if (fuzz_good(tc_meas_record_from_json(a, "input.jsonl", line, &r, &err), &err))
            check_record(a, &r);
    }
    tc_arena_free(a);
    free(text);
}

/* ---- databases ---- */

static void ignore(void *user, const char *text) {
    (void)user;
    (void)text;
}

void fuzz_query_database(tc_meas_db *db, tc_arena *a) {
    tc_error err = {0};
    tc_meas_records r = {0};
    tc_meas_summaries all;
    tc_meas_db_stats stats;
    tc_meas_counts n;
    tc_meas_audit found;
    tc_meas_filter ranked = {.ok = true, .verified = true, .order = TC_MEAS_BY_RANK};
    (void)fuzz_good(tc_meas_db_stat(db, &stats, &err), &err);
    (void)fuzz_good(tc_meas_db_count(db, &(tc_meas_filter){0}, &n, &err), &err);
    (void)fuzz_good(tc_meas_db_summaries(db, a, &all, &err), &err);
    (void)fuzz_good(tc_meas_db_select(db, a, &ranked, &r, &err), &err);
    for (size_t i = 0; i < r.len; i++)
        if (!(r.data[i].median > 0 && isfinite(r.data[i].median)))
            fuzz_wrong("record %lld ranks with a median of %g", (long long)r.data[i].id, r.data[i].median);
    if (fuzz_good(tc_meas_db_select(db, a, &(tc_meas_filter){.limit = 4}, &r, &err), &err))
        for (size_t i = 0; i < r.len; i++) {
            tc_meas_key key = {r.data[i].workload_hash, r.data[i].target_hash, r.data[i].threads, 0};
            tc_meas_records some;
            tc_meas_near near;
            (void)fuzz_good(tc_meas_db_ranked(db, a, &key, 1, 4, &some, &err), &err);
            key.threads = key.threads == 1 ? 2 : 1;
            (void)fuzz_good(tc_meas_db_nearest(db, a, &key, r.data[i].workload, &near, &err), &err);
        }
    (void)fuzz_good(tc_meas_db_audit(db, ignore, NULL, &found, &err), &err);
}

int64_t fuzz_merge_database(const char *path, tc_arena *a) {
    tc_meas_db *into = NULL;
    tc_meas_records r;
    tc_error err = {0};
    size_t added, known;
    if (tc_meas_db_open_memory(&into, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    bool good = fuzz_good(tc_meas_db_merge(into, path, &added, &known, &err), &err);
    if (good && fuzz_good(tc_meas_db_select(into, a, &(tc_meas_filter){0}, &r, &err), &err)) {
        if (r.len != added)
            fuzz_wrong("%zu records were merged, and there are %zu", added, r.len);
        for (size_t i = 0; i < r.len; i++)
            check_record(a, &r.data[i]);
    }
    tc_meas_db_close(into);
    return good ? (int64_t)(added + known) : -1;
}

/* Changes the file: last. */
static void prune(const char *path) {
    tc_meas_db *db = NULL;
    tc_meas_pruned gone;
    tc_error err = {0};
    if (fuzz_good(tc_meas_db_open(path, TC_MEAS_DB_CHANGE, &db, &err), &err))
        (void)fuzz_good(tc_meas_db_prune(db, &(tc_meas_prune){.keep = 1, .drop_failures = true}, &gone, &err), &err);
    tc_meas_db_close(db);
}

void fuzz_read_database(const char *data, size_t size) {
    tc_error err = {0};
    tc_meas_db *db = NULL;
    char *dir = NULL;
    if (tc_fs_temp_dir(&dir, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    tc_arena *a = tc_arena_new();
    const char *path = tc_arena_printf(a, "%s/t.db", dir);
    if (tc_fs_write_scratch(path, data, size, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    if (fuzz_good(tc_meas_db_open(path, TC_MEAS_DB_READ, &db, &err), &err))
        fuzz_query_database(db, a);
    tc_meas_db_close(db);
    (void)fuzz_merge_database(path, a);
    prune(path);
    tc_fs_remove_tree(dir);
    tc_arena_free(a);
    free(dir);
}
