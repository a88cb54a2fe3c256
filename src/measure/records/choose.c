/* Which record of a kernel is used: the fastest in the network that the kernel was last compared in, where that is known (of the
 * default schedule, where nothing was faster there); else the first by tc_record_better. Forms of a kernel may read more or less of
 * constants that come from memory. A hot time leaves that out, so the call is taken to last at least as long as the reading.
 *
 * A network's comparison counts only while the record that would be used without it took part in it. A record that a later
 * search found was not compared there, and may be faster than all that were. */
#include <stdlib.h>
#include <string.h>

#include "measure/records/database_int.h"
#include "support/vec.h"

typedef TC_VEC(tc_record) records;

static tc_status gather(tc_meas_db *db, tc_arena *a, const tc_meas_key *keys, int n, bool in_graph, size_t limit, records *out,
                        tc_error *err) {
    for (int i = 0; i < n; i++) {
        tc_meas_filter f = {.workload_hash = keys[i].workload.hex,
                            .target_hash = keys[i].target.hex,
                            .threads = keys[i].threads,
                            .mode = in_graph ? tc_meas_mode_text(TC_MEAS_IN_GRAPH) : NULL,
                            .real = !in_graph,
                            .verified = true,
                            .limit = in_graph ? 0 : limit,
                            .order = TC_MEAS_BY_RANK};
        tc_meas_records r;
        TC_TRY(tc_meas_db_select(db, a, &f, &r, err));
        for (size_t j = 0; j < r.len; j++) {
            r.data[j].reading = r.data[j].mode == TC_MEAS_HOT ? keys[i].reading : 0;
            tc_push(out, r.data[j]);
        }
    }
    return TC_OK;
}

static int by_rank(const void *a, const void *b) {
    const tc_record *x = a, *y = b;
    return tc_record_better(x, y) ? -1 : tc_record_better(y, x) ? 1 : (x->id > y->id) - (x->id < y->id);
}

static bool same_schedule(const tc_record *x, const tc_record *y) {
    return strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0 && strcmp(x->trace, y->trace) == 0;
}

static bool has(const records *v, const tc_record *r) {
    for (size_t i = 0; i < v->len; i++)
        if (same_schedule(&v->data[i], r))
            return true;
    return false;
}

/* Those of the last comparison: they were stored together. */
static void keep_last(records *v) {
    int64_t last = 0;
    size_t n = 0;
    for (size_t i = 0; i < v->len; i++)
        last = TC_MAX(last, v->data[i].when_ms);
    for (size_t i = 0; i < v->len; i++)
        if (v->data[i].when_ms == last)
            v->data[n++] = v->data[i];
    v->len = n;
}

/* Puts what was compared in front of the others. */
static void join(records *all, records *compared) {
    keep_last(compared);
    if (compared->len == 0 || (all->len > 0 && !has(compared, &all->data[0])))
        return;
    size_t n = compared->len;
    for (size_t i = 0; i < all->len; i++)
        if (!has(compared, &all->data[i]))
            tc_push(compared, all->data[i]);
    qsort(compared->data, n, sizeof *compared->data, by_rank);
    records others = *all;
    *all = *compared;
    *compared = others;
}

tc_status tc_meas_db_ranked(tc_meas_db *db, tc_arena *a, const tc_meas_key *keys, int n, size_t limit, tc_meas_records *out,
                            tc_error *err) {
    records all = {0}, compared = {0};
    *out = (tc_meas_records){0};
    tc_status s = gather(db, a, keys, n, false, limit, &all, err);
    if (s == TC_OK)
        s = gather(db, a, keys, n, true, 0, &compared, err);
    if (s == TC_OK) {
        if (all.len)
            qsort(all.data, all.len, sizeof *all.data, by_rank);
        join(&all, &compared);
        out->len = TC_MIN(all.len, limit);
        out->data = tc_arena_dup(a, all.data, out->len * sizeof *out->data);
    }
    tc_vec_free(&all);
    tc_vec_free(&compared);
    return s;
}

tc_status tc_meas_db_best(tc_meas_db *db, tc_arena *a, const tc_meas_key *key, tc_record *out, bool *found, tc_error *err) {
    tc_meas_records r;
    TC_TRY(tc_meas_db_ranked(db, a, key, 1, 1, &r, err));
    *found = r.len > 0;
    if (*found)
        *out = r.data[0];
    return TC_OK;
}
