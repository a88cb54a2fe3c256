/* What rerun.h describes. */
#include "measure/rerun.h"

#include <string.h>

#include "measure/measure.h"
#include "support/system/stop.h"

typedef struct reruns {
    tc_meas_db *db;
    const tc_meas_rerun *o;
    tc_meas *m; /* for the target, threads and mode of */
    const tc_meas_summary *of;
    int64_t *unmarked;
} reruns;

static bool stopped(const reruns *x) {
    return tc_is_raised(x->o->stop);
}

static tc_status measurer(reruns *x, const tc_meas_summary *s, tc_error *err) {
    if (x->m && strcmp(x->of->target_hash.hex, s->target_hash.hex) == 0 && x->of->threads == s->threads && x->of->mode == s->mode)
        return TC_OK;
    tc_meas_free(x->m);
    x->m = NULL;
    x->of = s;
    tc_meas_options o = {.target = s->target,
                         .threads = s->threads,
                         .mode = s->mode,
                         .builders = 1,
                         .exe = x->o->exe,
                         .worker_arg = x->o->worker_arg,
                         .stop = x->o->stop};
    return tc_meas_new(&o, &x->m, err);
}

static tc_status rerun_one(reruns *x, const tc_meas_summary *s, tc_arena *a, tc_error *err) {
    enum { SAMPLES = 15 };
    tc_error why = {0};
    tc_meas_records r;
    tc_record now;
    const char *why_not = s->sizes > 0                   ? "its times come from a contest over several sizes"
                          : s->best_id == 0              ? "it has no verified record"
                          : s->mode == TC_MEAS_SIMULATED ? "its times are simulated"
                          : s->mode == TC_MEAS_EMULATED  ? "its times come from an emulated processor"
                          : s->mode == TC_MEAS_IN_GRAPH  ? "its times come from a whole network"
                          : s->mode == TC_MEAS_BESIDE    ? "its times come from a comparison with other kernels"
                                                         : NULL;
    if (why_not) {
        x->o->skipped(x->o->user, s, why_not);
        return TC_OK;
    }
    if (measurer(x, s, &why) != TC_OK) {
        x->o->skipped(x->o->user, s, why.msg);
        return TC_OK;
    }
    TC_TRY(tc_meas_db_select(x->db, a, &(tc_meas_filter){.after_id = s->best_id - 1, .limit = 1}, &r, err));
    if (r.len == 0 || r.data[0].id != s->best_id) {
        x->o->skipped(x->o->user, s, "another process has removed its best record");
        return TC_OK;
    }
    tc_meas_input in = {.workload = s->workload, .workload_hash = s->workload_hash, .trace = r.data[0].trace};
    TC_TRY(tc_meas_kernel_time(x->m, &in, SAMPLES, a, &now, err));
    if (now.error == TC_MEAS_INTERRUPTED)
        return TC_OK;
    TC_TRY(tc_meas_db_note_failure(x->db, s->best_id, &now, err));
    *x->unmarked += tc_meas_disproves(now.error);
    x->o->done(x->o->user, s, &r.data[0], &now);
    return TC_OK;
}

tc_status tc_meas_db_rerun(tc_meas_db *db, const tc_meas_rerun *o, int64_t *unmarked, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_meas_summaries all;
    reruns x = {.db = db, .o = o, .unmarked = unmarked};
    *unmarked = 0;
    tc_status s = tc_meas_db_summaries(db, a, &all, err);
    for (size_t i = 0; s == TC_OK && i < all.len && !stopped(&x); i++)
        s = rerun_one(&x, &all.data[i], a, err);
    tc_meas_free(x.m);
    tc_arena_free(a);
    return s;
}
