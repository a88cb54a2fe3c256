/* Records that the session did not measure: those in the database when it began, and those that other tuners of the same
 * database store while it runs. Both become part of what the session knows, and count as trials. */
#include <string.h>

#include "tune/propose.h"

/* Records of form f of task i become part of its state. */
static void take(tc_tune *t, int i, int f, tc_record *r, size_t n, tc_arena *a) {
    form *k = &t->task[i].form[f];
    bool *added = TC_NEW_N(a, bool, n);
    tc_tune_add_samples(t, i, f, r, n, added);
    for (size_t j = 0; j < n; j++) {
        double before = t->state[i].best;
        if (r[j].program && !tc_meas_error_is(r[j].error, TC_MEAS_UNSETTLED)) /* else it may be tried again */
            tc_tune_remember(k, r[j].program);
        if (!added[j])
            r[j].verified = false; /* what does not replay any more cannot be used */
        tc_map_put(&t->known, (uint64_t)r[j].id, 1);
        tc_tune_count(t, i, f, &r[j]);
        tc_tune_settle(t, i, before, 1);
    }
}

/* ---- of earlier sessions ---- */

static tc_status recall_form(tc_tune *t, int i, int f, tc_error *err) {
    tc_arena *a = tc_arena_new();
    const tc_tune_form *s = &t->state[i].form[f];
    tc_meas_filter filter = {.workload_hash = s->hash.hex,
                             .target_hash = t->target_hash.hex,
                             .threads = t->o.threads,
                             .mode = tc_meas_mode_text(t->state[i].mode)};
    tc_meas_records r;
    tc_status st = tc_meas_db_select(t->db, a, &filter, &r, err);
    if (st == TC_OK)
        take(t, i, f, r.data, r.len, a);
    t->task[i].form[f].rounds = s->valid > 0;
    tc_arena_free(a);
    return st;
}

static tc_status recall_task(tc_tune *t, int i, tc_error *err) {
    for (int f = 0; f < t->task[i].nform; f++) {
        TC_TRY(recall_form(t, i, f, err));
        t->task[i].rounds += t->task[i].form[f].rounds;
    }
    if (t->state[i].valid)
        tc_push(&t->task[i].history, t->state[i].best);
    t->task[i].recalled = t->task[i].contested = t->state[i].trials;
    return TC_OK;
}

/* What is stored while this reads is looked at again by tc_tune_share. */
tc_status tc_tune_recall(tc_tune *t, tc_error *err) {
    TC_TRY(tc_meas_db_last_id(t->db, &t->last_id, err));
    for (int i = 0; i < t->n; i++)
        TC_TRY(recall_task(t, i, err));
    return TC_OK;
}

/* ---- of others, at the same time ---- */

static bool is_of(const tc_tune *t, int i, int f, const tc_record *r) {
    return r->mode == t->state[i].mode && strcmp(r->workload_hash.hex, t->state[i].form[f].hash.hex) == 0;
}

/* Those of form f of task i that are new. */
static void take_news(tc_tune *t, int i, int f, const tc_meas_records *all, tc_arena *a) {
    tc_record *r = TC_NEW_N(a, tc_record, all->len);
    size_t n = 0;
    for (size_t j = 0; j < all->len; j++)
        if (is_of(t, i, f, &all->data[j]) && !tc_map_get(&t->known, (uint64_t)all->data[j].id))
            r[n++] = all->data[j];
    take(t, i, f, r, n, a);
    t->report.shared += (int)n;
}

tc_status tc_tune_share(tc_tune *t, tc_error *err) {
    bool wrote;
    TC_TRY(tc_meas_db_others_wrote(t->db, &wrote, err));
    if (!wrote)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_meas_records all;
    tc_meas_filter filter = {.target_hash = t->target_hash.hex, .threads = t->o.threads, .after_id = t->last_id};
    tc_status st = tc_meas_db_select(t->db, a, &filter, &all, err);
    for (int i = 0; i < t->n && st == TC_OK && all.len; i++)
        for (int f = 0; f < t->task[i].nform; f++)
            take_news(t, i, f, &all, a);
    if (st == TC_OK && all.len)
        t->last_id = all.data[all.len - 1].id;
    tc_arena_free(a);
    return st;
}
