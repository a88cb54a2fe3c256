/* What check.h describes. */
#include "measure/records/check.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "support/inputs.h"
#include "support/vec.h"
#include "te/text.h"
#include "te/unit_gain.h"

/* Of a stored median beside the times': both were computed from the same numbers, in one order or another. */
static const double rounding = 1e-9;

static tc_status refuse(tc_error *err, const char *what) {
    return tc_fail(err, TC_BAD_INPUT, "%s; the record was edited or damaged", what);
}

static tc_status check_times(const tc_record *r, tc_error *err) {
    bool ok = r->error == TC_MEAS_NONE;
    if (ok != (r->ntimes > 0))
        return refuse(err, ok ? "it was measured without an error, but has no times" : "it failed, but has times");
    for (size_t i = 0; i < r->ntimes; i++)
        if (!isfinite(r->times[i]) || r->times[i] <= 0)
            return tc_fail(err, TC_BAD_INPUT, "its time number %zu is %g s; the record was edited or damaged", i + 1,
                           r->times[i]);
    return TC_OK;
}

static tc_status check_median(tc_record *r, tc_error *err) {
    double stored = r->median;
    r->median = tc_meas_median(r->times, r->ntimes);
    if (stored == INFINITY || (r->ntimes && fabs(stored - r->median) <= rounding * r->median))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its median is %g s, but the median of its times is %g s; the record was edited or damaged",
                   stored, r->median);
}

static tc_status check_sizes_text(const tc_record *r, tc_error *err) {
    enum { MOST = 64 }; /* symbols of a workload: each is a dimension of something */
    int64_t sizes[MOST];
    int n = tc_meas_sizes_count(r->sizes);
    if (n <= MOST && tc_meas_sizes_parse(r->sizes, sizes, n))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its sizes are '%.40s'; the record was edited or damaged", r->sizes);
}

/* What others call a job or a phase is a word of no more. */
static tc_status check_word(const char *name, const char *word, tc_error *err) {
    enum { MOST = 64 };
    size_t n = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_");
    if (!word[n] && n <= MOST)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "its %s is '%.40s'; the record was edited or damaged", name, word);
}

tc_status tc_meas_check_numbers(tc_record *r, tc_error *err) {
    const struct {
        const char *name;
        double value, most;
    } from_zero[] = {{"build_seconds", r->build_seconds, DBL_MAX},
                     {"run_seconds", r->run_seconds, DBL_MAX},
                     {"max_error", r->max_error, DBL_MAX},
                     {"signal", r->signal, INT32_MAX},
                     {"rounds", r->rounds, INT32_MAX},
                     {"when_ms", (double)r->when_ms, (double)TC_MEAS_LAST_MS}};
    for (size_t i = 0; i < TC_LEN(from_zero); i++)
        if (!(from_zero[i].value >= 0 && from_zero[i].value <= from_zero[i].most))
            return tc_fail(err, TC_BAD_INPUT, "its %s is %g; the record was edited or damaged", from_zero[i].name,
                           from_zero[i].value);
    if (isinf(r->predicted))
        return refuse(err, "its predicted is infinite");
    if (r->threads < 1)
        return tc_fail(err, TC_BAD_INPUT, "it was measured with %d threads; the record was edited or damaged", r->threads);
    if (r->verified && r->error != TC_MEAS_NONE)
        return refuse(err, "it failed, but is verified");
    TC_TRY(check_times(r, err));
    TC_TRY(check_sizes_text(r, err));
    TC_TRY(check_word("job", r->job, err));
    TC_TRY(check_word("phase", r->phase, err));
    return check_median(r, err);
}

/* ---- texts ---- */

static tc_status check_hash(const char *what, tc_digest stored, tc_digest hash, tc_error *err) {
    if (strcmp(stored.hex, hash.hex) == 0)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "the hash of %s does not match its text; the record was edited or damaged", what);
}

tc_status tc_meas_check_texts(const tc_record *r, tc_error *err) {
    TC_TRY(check_hash("target", r->target_hash, tc_meas_text_hash(r->target), err));
    return check_hash("trace", r->trace_hash, tc_meas_text_hash(r->trace), err);
}

tc_status tc_meas_check_sizes(const tc_workload *w, const char *text, int64_t *sizes, tc_error *err) {
    if (!w->nsymbol && *text)
        return tc_fail(err, TC_BAD_INPUT, "it was timed at the sizes %s, but its workload has no symbols", text);
    if (w->nsymbol && !*text)
        return tc_fail(err, TC_BAD_INPUT,
                       "symbol %s of its workload varies, but the record does not say at which size it was timed",
                       w->symbols[0]->name);
    if (!tc_meas_sizes_parse(text, sizes, w->nsymbol))
        return tc_fail(err, TC_BAD_INPUT, "its sizes are '%.40s', but the number of symbols in its workload is %d", text,
                       w->nsymbol);
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_var *v = w->symbols[i];
        if (sizes[i] < v->least || sizes[i] > v->most)
            return tc_fail(err, TC_BAD_INPUT, "it was timed at %s = %lld, but %s runs from %lld to %lld", v->name,
                           (long long)sizes[i], v->name, (long long)v->least, (long long)v->most);
    }
    return TC_OK;
}

static tc_status check_workload(const tc_record *r, double *work, tc_error *err) {
    tc_ctx *ctx = tc_ctx_new();
    const tc_workload *w;
    tc_status s = tc_te_parse(ctx, "workload", r->workload, &w, err);
    if (s == TC_OK)
        s = tc_meas_check_sizes(w, r->sizes, TC_NEW_N(tc_ctx_arena(ctx), int64_t, w->nsymbol), err);
    if (s == TC_OK)
        s = check_hash("workload", r->workload_hash, tc_te_hash(w), err);
    *work = s == TC_OK ? tc_meas_work(w) : 0;
    tc_ctx_free(ctx);
    return s;
}

/* ---- times ---- */

double tc_meas_work(const tc_workload *w) {
    return tc_te_products(w) / tc_te_unit_gain(w, ~(tc_intrinsic_set)0);
}

tc_status tc_meas_check_time(const tc_record *r, double work, tc_error *err) {
    const double lanes = 128 / sizeof(float), rate = 2 * lanes * 6e9 * r->threads;
    bool timed = r->mode == TC_MEAS_HOT || r->mode == TC_MEAS_COLD || r->mode == TC_MEAS_BESIDE;
    if (!timed || !tc_record_ok(r) || work <= rate * r->median)
        return TC_OK;
    return tc_refuse(err, TC_ERROR_IMPOSSIBLE,
                     "its time of %.3g s is impossible: %.3g operations would need %.0f GFLOP/s, and %d threads of no processor "
                     "do more than %.0f. The machine was disturbed when it was measured; measure the kernel again",
                     r->median, work, work / r->median / 1e9, r->threads, rate / 1e9);
}

/* *work: of its workload. */
static tc_status check_known(const tc_record *r, tc_map *known, double *work, tc_error *err) {
    const char *const parts[] = {r->workload_hash.hex, " ", r->sizes, " ", r->workload};
    tc_strbuf key = {0};
    for (size_t i = 0; i < TC_LEN(parts); i++)
        tc_sb_add(&key, parts[i]);
    const uintptr_t *had = tc_map_gets(known, tc_sb_str(&key));
    tc_status s = had ? TC_OK : check_workload(r, work, err);
    if (had)
        *work = (double)*had;
    else if (s == TC_OK)
        tc_map_puts(known, tc_sb_str(&key), (uintptr_t)fmin(*work, (double)(UINTPTR_MAX / 2)));
    tc_strbuf_free(&key);
    return s;
}

tc_status tc_meas_check_workload(const tc_record *r, tc_map *known, tc_error *err) {
    double work = 0;
    TC_TRY(check_known(r, known, &work, err));
    return tc_meas_check_time(r, work, err);
}

/* ---- traces ---- */

tc_status tc_meas_replay(tc_ctx *ctx, const tc_record *r, const tc_workload *w, const tc_target *target, tc_tir_program *out,
                         bool *made, tc_error *err) {
    tc_trace *t;
    TC_TRY(tc_trace_parse(tc_ctx_arena(ctx), "trace", r->trace, &t, err));
    *made = r->program != 0 && !tc_meas_error_is(r->error, TC_MEAS_REFUSED);
    if (!*made)
        return TC_OK;
    tc_tir_origin from = {.workload = w, .machine = target ? &target->machine : NULL, .trace = t};
    return tc_tir_program_make(ctx, &from, target ? TC_TIR_HASH : 0, out, err);
}

/* Whether a line can hold a layout that is too long or too deep. The kept text of a layout has a blank at most before each
 * character. Each level takes an operator or a bracket. */
static bool is_odd_line(const char *line, size_t n) {
    enum { FEW = TC_DEPTH_LAYOUT / 2 /* what folds may make of an operator is not relied upon */ };
    int operators = 0;
    if (n <= TC_DEPTH_LAYOUT)
        return false;
    for (size_t i = 0; i < n; i++)
        operators += line[i] == '(' || line[i] == '*' || line[i] == '+' || line[i] == '-' || line[i] == '/' || line[i] == '%';
    return operators > FEW || n > TC_BYTES_LAYOUT / 2;
}

/* What a glance at the text shows, since a replay takes a millisecond: false only of traces within all bounds. Each step is a line
 * of its own, and makes a stage at most. */
static bool may_be_beyond(const char *trace) {
    int lines = 0;
    for (const char *line = trace, *end; *line; line = end + (*end == '\n'), lines++) {
        end = strchrnul(line, '\n');
        if (is_odd_line(line, (size_t)(end - line)))
            return true;
    }
    return lines > TC_WORK_SCHEDULE - TC_MAX_COMPUTES || strlen(trace) > TC_BYTES_SCHEDULE;
}

static bool is_beyond(tc_ctx *ctx, const tc_record *r, tc_target *target, tc_error *why) {
    const tc_workload *w;
    tc_tir_program p;
    bool made;
    if (target)
        target->machine.cores = r->threads;
    return tc_te_parse(ctx, "workload", r->workload, &w, why) == TC_OK &&
           tc_meas_replay(ctx, r, w, target, &p, &made, why) != TC_OK && why->code == TC_ERROR_BEYOND;
}

tc_status tc_meas_check_bounds(const tc_record *r, tc_error *err) {
    tc_target *target = NULL;
    tc_error why = {0};
    if (!may_be_beyond(r->trace))
        return TC_OK;
    tc_ctx *ctx = tc_ctx_new();
    if (tc_target_parse(r->target, &target, NULL) != TC_OK)
        target = NULL;
    bool beyond = is_beyond(ctx, r, target, &why);
    tc_target_free(target);
    tc_ctx_free(ctx);
    return beyond ? tc_refuse(err, TC_ERROR_BEYOND, "%s", why.msg) : TC_OK;
}

/* ---- records that are left out ---- */

bool tc_meas_is_left_out(tc_status s, const tc_error *why) {
    return s == TC_BAD_INPUT && (why->code == TC_ERROR_BEYOND || why->code == TC_ERROR_IMPOSSIBLE);
}

void tc_meas_leave_out(tc_meas_left_out *l, const char *where, const tc_error *why) {
    enum { NAMED = 12 };
    if (l->n == 0)
        l->first = *why;
    if (l->n <= NAMED)
        tc_sb_printf(&l->where, "%s%s", l->n ? ", " : "", l->n < NAMED ? where : "..");
    l->n++;
}

tc_status tc_meas_tell_left_out(tc_meas_left_out *l, const char *what, size_t added, const char *remedy, tc_error *err) {
    tc_status s = TC_OK;
    if (l->n)
        s = tc_refuse(err, TC_ERROR_BEYOND,
                      "%s. Records that are larger than tctune reads, or have impossible times, were left out: %zu (%s %s). All "
                      "other new records were added: "
                      "%zu. %s, and this message is gone",
                      l->first.msg, l->n, what, tc_sb_str(&l->where), added, remedy);
    tc_strbuf_free(&l->where);
    return s;
}
