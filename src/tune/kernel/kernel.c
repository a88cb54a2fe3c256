/* What kernel.h describes. */
#include "tune/kernel/kernel.h"

#include <math.h>
#include <string.h>

#include "measure/machine/unit_peak.h"
#include "measure/measure.h"
#include "measure/records/admission.h"
#include "measure/records/maintain.h"
#include "support/clock/clock.h"
#include "support/log.h"
#include "support/system/stop.h"
#include "te/text.h"
#include "te/unit_gain.h"

static const double peak_seconds = 0.5, unit_seconds = 0.3, sampling_seconds = 2.5; /* as tc_meas_kernel_time has it */

const char tc_tune_vanished[] = "the workers that had this job vanished, so no other worker gets it: `tctune fleet log` shows "
                                "their last jobs. Keep kernels that end machines away from the fleet";

static bool vanished(const tc_tune_kernel_options *o, const tc_record *r) {
    return r->error == TC_MEAS_INTERRUPTED && o->carrier && !tc_is_raised(o->stop);
}

static tc_status time_kernel(const tc_tune_schedule *s, const tc_tune_kernel_options *o, tc_meas_mode mode, tc_arena *a,
                             tc_record *out, tc_error *err) {
    tc_meas_options mo = {
        .target = o->target->text, .threads = o->target->machine.cores, .mode = mode, .seed = o->seed, .stop = o->stop};
    mo.carrier = o->carrier;
    mo.carried_by = o->carried_by;
    tc_meas_input in = {.workload = s->workload, .trace = s->trace, .workload_hash = s->hash, .sizes = s->sizes};
    tc_meas *m;
    TC_TRY(tc_meas_new(&mo, &m, err));
    tc_status st = tc_meas_kernel_time(m, &in, o->repeats ? o->repeats : TC_TUNE_REPEATS, a, out, err);
    tc_meas_free(m);
    if (st == TC_OK && vanished(o, out))
        return tc_fail(err, TC_ENV, "%s", tc_tune_vanished);
    if (st == TC_OK && out->error == TC_MEAS_INTERRUPTED)
        return tc_fail(err, TC_ENV, "stopped before anything was measured");
    return st;
}

/* ---- for reports ---- */

static tc_meas_mode tuning_mode(const tc_workload *w, const tc_tune_kernel_options *o) {
    tc_machine m = tc_tune_machine(o->target, o->target->machine.cores, tc_te_constant_bytes_read(w));
    return tc_tune_mode(o->timing, w, o->network, &m);
}

static tc_meas_mode mode_of(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o) {
    bool cold = o->timing == TC_TUNE_AUTO && s->record && s->record->mode == TC_MEAS_COLD;
    return cold ? TC_MEAS_COLD : tuning_mode(w, o);
}

tc_status tc_tune_kernel_time(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o, tc_arena *a,
                              tc_record *out, tc_error *err) {
    TC_TRY(tc_clock_check(TC_CLOCK_SAMPLES, err));
    return time_kernel(s, o, mode_of(w, s, o), a, out, err);
}

/* What a kernel reads and writes: intermediate values may never meet memory. */
static int64_t footprint(const tc_workload *w) {
    int64_t bytes = 0;
    for (int i = 0; i < w->nin; i++)
        bytes += tc_tensor_size(w->in[i]) * tc_dtype_bytes(w->in[i]->dtype);
    for (int i = 0; i < w->nout; i++)
        bytes += tc_tensor_size(w->out[i]) * tc_dtype_bytes(w->out[i]->dtype);
    return bytes;
}

/* What is known of the form that is timed. */
static tc_status describe_form(const tc_tune_schedule *s, const tc_machine *m, tc_tune_kernel_bench *out, tc_error *err) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_status st = tc_te_parse(c, "workload", s->workload, &w, err);
    if (st == TC_OK) {
        out->constants = tc_te_constant_bytes_read(w);
        out->unit = tc_te_unit(w, m->intrinsics);
    }
    tc_ctx_free(c);
    return st;
}

static void raise_peaks(tc_tune_kernel_bench *b, const tc_target *t) {
    tc_meas_unrest_look(&b->unrest, t->machine.cores);
    tc_meas_peak_raise(&b->peak, t->machine.cores, peak_seconds);
    tc_meas_peak_raise_unit(&b->peak, t, b->unit, unit_seconds);
}

tc_status tc_tune_kernel_measure(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o, tc_arena *a,
                                 tc_tune_kernel_bench *out, tc_error *err) {
    const tc_machine *machine = &o->target->machine;
    *out = (tc_tune_kernel_bench){0};
    TC_TRY(tc_clock_check(TC_CLOCK_SAMPLES, err));
    TC_TRY(describe_form(s, machine, out, err));
    raise_peaks(out, o->target);
    TC_TRY(time_kernel(s, o, mode_of(w, s, o), a, &out->record, err));
    if (!tc_record_ok(&out->record))
        return TC_OK;
    raise_peaks(out, o->target);
    out->stream = tc_meas_measure_stream(machine->cores, footprint(w), 0);
    if (out->record.mode != TC_MEAS_COLD)
        out->constants = 0;
    return TC_OK;
}

static bool is_cold(const tc_tune_timed *k, const tc_tune_kernel_options *o) {
    return mode_of(k->workload, k->schedule, o) == TC_MEAS_COLD;
}

static bool all_ended(const tc_record *r, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (r[i].error == TC_MEAS_INTERRUPTED)
            return false;
    return true;
}

static tc_status time_all(const tc_tune_timed *k, size_t n, const tc_tune_kernel_options *o, tc_arena *a, tc_record *r,
                          tc_error *err) {
    tc_meas_options mo = {.target = o->target->text,
                          .threads = o->target->machine.cores,
                          .budget = sampling_seconds,
                          .seed = o->seed,
                          .stop = o->stop,
                          .carrier = o->carrier,
                          .carried_by = o->carried_by};
    tc_meas_input *in = TC_NEW_N(a, tc_meas_input, n);
    tc_meas *m;
    for (size_t i = 0; i < n; i++) {
        const tc_tune_schedule *s = k[i].schedule;
        in[i] = (tc_meas_input){.workload = s->workload,
                                .trace = s->trace,
                                .workload_hash = s->hash,
                                .sizes = s->sizes,
                                .again = true,
                                .cold = is_cold(&k[i], o),
                                .samples = o->repeats ? o->repeats : TC_TUNE_REPEATS};
    }
    TC_TRY(tc_meas_new(&mo, &m, err));
    tc_status st = tc_meas_batch(m, in, n, a, r, NULL, NULL, err);
    tc_meas_free(m);
    return st;
}

tc_status tc_tune_kernels_measure(const tc_tune_timed *k, size_t n, const tc_tune_kernel_options *o, tc_arena *a,
                                  tc_tune_kernel_bench *out, tc_error *err) {
    tc_record *r = TC_NEW_N(a, tc_record, n);
    TC_TRY(time_all(k, n, o, a, r, err));
    if (tc_is_raised(o->stop) && !all_ended(r, n))
        return tc_fail(err, TC_ENV, "stopped before everything was measured");
    for (size_t i = 0; i < n; i++) {
        out[i] = (tc_tune_kernel_bench){.record = r[i], .stream = {.bytes = footprint(k[i].workload)}};
        if (vanished(o, &r[i])) { /* nobody's, so it names none */
            out[i].record.message = tc_tune_vanished;
            out[i].record.host = "";
        }
        TC_TRY(describe_form(k[i].schedule, &o->target->machine, &out[i], err));
        if (!is_cold(&k[i], o)) /* emulated ones have one mode */
            out[i].constants = 0;
    }
    return TC_OK;
}

/* ---- to record ---- */

/* The same as time_kernel; a warning, if the machine is busy before and after. */
static tc_status time_watched(const tc_tune_schedule *s, const tc_tune_kernel_options *o, tc_meas_mode mode, tc_arena *a,
                              tc_record *out, tc_error *err) {
    tc_meas_unrest u = {0};
    tc_strbuf text = {0};
    if (!o->carrier)
        tc_meas_unrest_look(&u, o->target->machine.cores);
    TC_TRY(time_kernel(s, o, mode, a, out, err));
    if (!o->carrier)
        tc_meas_unrest_look(&u, o->target->machine.cores);
    tc_meas_unrest_text(&u, &text);
    if (tc_meas_is_restless(&u))
        tc_log(TC_LOG_WARN, "%s; times are longer than on a quiet machine", tc_sb_str(&text));
    tc_strbuf_free(&text);
    return TC_OK;
}

tc_status tc_tune_kernel_record(const tc_workload *w, const tc_tune_schedule *s, const tc_tune_kernel_options *o, tc_meas_db *db,
                                tc_arena *a, tc_record *out, double *best, tc_error *err) {
    tc_digest target = tc_meas_text_hash(o->target->text);
    tc_meas_mode mode = tuning_mode(w, o);
    tc_meas_filter same = {.workload_hash = s->hash.hex,
                           .target_hash = target.hex,
                           .threads = o->target->machine.cores,
                           .mode = tc_meas_mode_text(mode),
                           .verified = true,
                           .limit = 1,
                           .order = TC_MEAS_BY_RANK};
    tc_meas_records before;
    TC_TRY(tc_meas_db_select(db, a, &same, &before, err));
    *best = before.len ? before.data[0].median : INFINITY;
    TC_TRY(time_watched(s, o, mode, a, out, err));
    if (!tc_record_ok(out) || !out->verified)
        return tc_fail(err, TC_ENV, "%s: %s: %s. Nothing was recorded", s->file, tc_meas_error_meaning(out->error), out->message);
    return tc_meas_db_insert_measured(db, out, 1, err);
}

/* ---- failures ---- */

const char *tc_tune_note_failure(const char *db, const tc_record *record, const tc_record *now, tc_arena *a) {
    tc_meas_db *file = NULL;
    tc_error why = {0};
    long long id = record->id;
    if (!tc_meas_disproves(now->error))
        return "";
    if (strcmp(record->target_hash.hex, now->target_hash.hex) != 0 || record->threads != now->threads)
        return "the record is of another target or number of threads, and stays as it is";
    tc_status s = tc_meas_db_open(db, TC_MEAS_DB_WRITE, &file, &why);
    if (s == TC_OK)
        s = tc_meas_db_note_failure(file, record->id, now, &why);
    tc_meas_db_close(file);
    return s == TC_OK ? tc_arena_printf(a, "record %lld of %s is marked as failed, and no longer used", id, db)
                      : tc_arena_printf(a, "record %lld of %s could not be marked as failed: %s", id, db, why.msg);
}
