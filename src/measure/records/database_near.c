/* The nearest record on a miss, and what stands between it and what was asked for. */
#include <ctype.h>
#include <string.h>

#include "measure/records/database_int.h"
#include "support/vec.h"

/* Texts that differ in numbers only are workloads of one structure with other extents. */
static bool same_structure(const char *a, const char *b) {
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            while (isdigit((unsigned char)*a))
                a++;
            while (isdigit((unsigned char)*b))
                b++;
        } else if (*a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* "shape: recorded `LINE`, asked for `LINE`" with the first lines that differ. */
static const char *shape_difference(tc_arena *a, const char *recorded, const char *asked) {
    size_t i = 0, line = 0;
    for (; recorded[i] && recorded[i] == asked[i]; i++)
        if (recorded[i] == '\n')
            line = i + 1;
    return tc_arena_printf(a, "shape: recorded `%.*s`, asked for `%.*s`", (int)strcspn(recorded + line, "\n"), recorded + line,
                           (int)strcspn(asked + line, "\n"), asked + line);
}

/* A workload of the same structure that has a valid record; NULL hash text when there is none. */
static tc_status similar_workload(tc_meas_db *db, tc_arena *a, const char *text, tc_digest *hash, const char **found,
                                  tc_error *err) {
    sqlite3_stmt *st;
    int code;
    *found = NULL;
    const char *sql = tc_arena_printf(a,
                                      "SELECT hash, text FROM workloads w WHERE EXISTS(SELECT 1 FROM records r"
                                      " WHERE r.workload = w.hash AND r.error = 'ok' AND r.median IS NOT NULL"
                                      " AND %s IN ('hot', 'cold'))",
                                      tc_meas_db_column(db, "mode"));
    TC_TRY(tc_meas_db_prepare(db, sql, &st, err));
    while ((code = sqlite3_step(st)) == SQLITE_ROW && !*found) {
        const char *candidate = (const char *)sqlite3_column_text(st, 1);
        if (!candidate || !same_structure(candidate, text))
            continue;
        *hash = tc_meas_db_digest(st, 0);
        *found = tc_arena_strdup(a, candidate);
    }
    tc_status s = code == SQLITE_DONE || code == SQLITE_ROW ? TC_OK : tc_meas_db_fail(db, "reading workloads", err);
    sqlite3_finalize(st);
    return s;
}

/* Relaxes one condition after the other until a record of the same workload matches. */
static tc_status nearest_same_workload(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, bool sized, tc_meas_near *out,
                                       tc_error *err) {
    tc_meas_filter f = {.workload_hash = key->workload.hex,
                        .target_hash = key->target.hex,
                        .order = TC_MEAS_BY_RANK,
                        .verified = true,
                        .real = !sized,
                        .sized = sized};
    tc_record *r = &out->record;
    TC_TRY(tc_meas_db_first(db, a, f, r, &out->found, err));
    if (out->found && r->threads == key->threads) {
        out->kind = TC_MEAS_NEAR_TIMES;
        out->why = r->mode == TC_MEAS_SIMULATED  ? "times: they were simulated, not measured"
                   : r->mode == TC_MEAS_EMULATED ? "times: they were measured on an emulated processor"
                                                 : "sizes: no program was right at every size at which it was timed";
        return TC_OK;
    }
    if (out->found) {
        out->kind = TC_MEAS_NEAR_THREADS;
        out->why = tc_arena_printf(a, "threads: recorded with %d, asked for %d", r->threads, key->threads);
        return TC_OK;
    }
    f.verified = false, f.ok = true;
    TC_TRY(tc_meas_db_first(db, a, f, r, &out->found, err));
    if (out->found) {
        out->kind = TC_MEAS_NEAR_UNVERIFIED;
        out->why = "verified: it was measured, but its result was never checked";
        return TC_OK;
    }
    f.target_hash = NULL;
    TC_TRY(tc_meas_db_first(db, a, f, r, &out->found, err));
    if (out->found) {
        out->kind = TC_MEAS_NEAR_TARGET;
        out->why = tc_arena_printf(a, "target: recorded for `%.200s`", r->target);
        return TC_OK;
    }
    f.ok = false, f.order = TC_MEAS_BY_ID;
    TC_TRY(tc_meas_db_first(db, a, f, r, &out->found, err));
    out->kind = out->found ? TC_MEAS_NEAR_FAILED : TC_MEAS_NEAR_NONE;
    if (out->found)
        out->why = tc_arena_printf(a, "error: no candidate could be measured; the first failed with %s: %s",
                                   tc_meas_error_text(r->error), r->message);
    return TC_OK;
}

tc_status tc_meas_db_nearest(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, const char *workload_text, tc_meas_near *out,
                             tc_error *err) {
    *out = (tc_meas_near){.why = "workload: never measured; also not with other extents"};
    TC_TRY(nearest_same_workload(db, a, key, false, out, err));
    if (!out->found) /* of sizes that vary */
        TC_TRY(nearest_same_workload(db, a, key, true, out, err));
    if (out->found)
        return TC_OK;
    tc_digest similar;
    const char *text;
    TC_TRY(similar_workload(db, a, workload_text, &similar, &text, err));
    if (!text)
        return TC_OK;
    out->kind = TC_MEAS_NEAR_SHAPE;
    out->why = shape_difference(a, text, workload_text);
    return tc_meas_db_first(db, a,
                            (tc_meas_filter){.workload_hash = similar.hex, .ok = true, .real = true, .order = TC_MEAS_BY_RANK},
                            &out->record, &out->found, err);
}
