/* Records: construction, and the JSON line form. One table lists the plain fields, so that writer and reader cannot disagree. */
#include "measure/records/record.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "measure/records/check.h"
#include "support/json/json.h"
#include "support/status.h"
#include "support/vec.h"

enum {
    REFUSED = TC_MEAS_REFUSED,
    ITS_OWN = TC_MEAS_ITS_OWN,
    DISPROVES = TC_MEAS_DISPROVES,
    RAN = TC_MEAS_RAN,
    MUTE = TC_MEAS_MUTE,
    UNRELIABLE = TC_MEAS_UNRELIABLE,
    UNSETTLED = TC_MEAS_UNSETTLED
};
static const struct {
    const char *text, *meaning;
    unsigned traits;
} error_table[TC_MEAS_NERRORS] = {
#define ERR(id, text, meaning, traits) {text, meaning, traits},
#include "measure/records/errors.def"
#undef ERR
};

const char *tc_meas_error_text(tc_meas_error e) {
    return error_table[e].text;
}

const char *tc_meas_error_meaning(tc_meas_error e) {
    return error_table[e].meaning;
}

bool tc_meas_error_is(tc_meas_error e, enum tc_meas_error_trait trait) {
    return (error_table[e].traits & (unsigned)trait) != 0;
}

bool tc_meas_error_parse(const char *text, tc_meas_error *out) {
    for (int i = 0; i < TC_MEAS_NERRORS; i++)
        if (strcmp(error_table[i].text, text) == 0) {
            *out = (tc_meas_error)i;
            return true;
        }
    return false;
}

static const char *const mode_text[TC_MEAS_NMODES] = {
#define MODE(id, text) text,
#include "measure/records/modes.def"
#undef MODE
};

const char *tc_meas_mode_text(tc_meas_mode m) {
    return mode_text[m];
}

bool tc_meas_mode_parse(const char *text, tc_meas_mode *out) {
    for (int i = 0; i < TC_MEAS_NMODES; i++)
        if (strcmp(mode_text[i], text) == 0) {
            *out = (tc_meas_mode)i;
            return true;
        }
    return false;
}

bool tc_meas_mode_is_apart(tc_meas_mode m) {
    switch (m) {
    case TC_MEAS_SIMULATED:
    case TC_MEAS_EMULATED:
        return true;
    case TC_MEAS_HOT:
    case TC_MEAS_COLD:
    case TC_MEAS_IN_GRAPH:
    case TC_MEAS_BESIDE:
    case TC_MEAS_NMODES:
        break;
    }
    return false;
}

tc_record tc_meas_record_empty(void) {
    return (tc_record){.workload = "",
                       .target = "",
                       .trace = "",
                       .message = "",
                       .tctune_version = "",
                       .llvm_version = "",
                       .host = "",
                       .sizes = "",
                       .job = "",
                       .phase = "",
                       .predicted = NAN,
                       .median = INFINITY};
}

tc_digest tc_meas_text_hash(const char *text) {
    return tc_digest_of(text, strlen(text));
}

void tc_meas_record_identify(tc_arena *a, tc_record *r, const char *workload, tc_digest workload_hash, const char *target,
                             const char *trace) {
    r->workload = tc_arena_strdup(a, workload);
    r->target = tc_arena_strdup(a, target);
    r->trace = tc_arena_strdup(a, trace);
    r->workload_hash = workload_hash;
    r->target_hash = tc_meas_text_hash(target);
    r->trace_hash = tc_meas_text_hash(trace);
}

tc_record tc_meas_record_copy(tc_arena *a, const tc_record *r) {
    tc_record c = *r;
    c.workload = tc_arena_strdup(a, r->workload);
    c.target = tc_arena_strdup(a, r->target);
    c.trace = tc_arena_strdup(a, r->trace);
    c.message = tc_arena_strdup(a, r->message);
    c.tctune_version = tc_arena_strdup(a, r->tctune_version);
    c.llvm_version = tc_arena_strdup(a, r->llvm_version);
    c.host = tc_arena_strdup(a, r->host);
    c.sizes = tc_arena_strdup(a, r->sizes);
    c.job = tc_arena_strdup(a, r->job);
    c.phase = tc_arena_strdup(a, r->phase);
    c.times = tc_arena_dup(a, r->times, r->ntimes * sizeof *r->times);
    return c;
}

const char *tc_meas_counter_text(tc_meas_counter c) {
    static const char *const text[] = {
#define COUNTER(id, text) text,
        TC_MEAS_COUNTERS(COUNTER)
#undef COUNTER
    };
    return text[c];
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double *sorted(const double *t, size_t n) {
    double *s = tc_xmalloc(n * sizeof *s);
    memcpy(s, t, n * sizeof *s);
    qsort(s, n, sizeof *s, by_value);
    return s;
}

double tc_meas_median(const double *t, size_t n) {
    if (n == 0)
        return INFINITY;
    double *s = sorted(t, n), m = n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
    free(s);
    return m;
}

double tc_meas_smallest(const double *t, size_t n, size_t k) {
    double *s = sorted(t, n), x = s[k];
    free(s);
    return x;
}

int64_t tc_meas_now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return TC_MIN(TC_MAX((int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000, 0), TC_MEAS_LAST_MS);
}

/* ---- sizes ---- */

const char *tc_meas_sizes_text(tc_arena *a, const int64_t *sizes, int n) {
    tc_strbuf b = {0};
    for (int i = 0; i < n; i++)
        tc_sb_printf(&b, "%s%lld", i ? "," : "", (long long)sizes[i]);
    const char *text = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}

int tc_meas_sizes_count(const char *text) {
    int n = *text != 0;
    for (const char *p = text; *p; p++)
        n += *p == ',';
    return n;
}

bool tc_meas_sizes_parse(const char *text, int64_t *sizes, int n) {
    const char *p = text;
    for (int i = 0; i < n; i++) {
        char *end;
        errno = 0;
        sizes[i] = strtoll(p, &end, 10);
        /* One number has one text. */
        if (errno || *p < '0' || *p > '9' || (*p == '0' && end != p + 1) || *end != (i + 1 < n ? ',' : 0))
            return false;
        p = end + 1;
    }
    return n > 0 || !*text;
}

/* ---- JSON ---- */

/* FIELD(key, member): the fields of each JSON type. */
#define TEXT_FIELDS(FIELD)                                                                                                       \
    FIELD("workload", workload)                                                                                                  \
    FIELD("target", target)                                                                                                      \
    FIELD("trace", trace)                                                                                                        \
    FIELD("message", message)                                                                                                    \
    FIELD("tctune_version", tctune_version)                                                                                      \
    FIELD("llvm_version", llvm_version)                                                                                          \
    FIELD("host", host)
#define REAL_FIELDS(FIELD)                                                                                                       \
    FIELD("build_seconds", build_seconds)                                                                                        \
    FIELD("run_seconds", run_seconds)                                                                                            \
    FIELD("max_error", max_error)
#define INT_FIELDS(FIELD)                                                                                                        \
    FIELD("signal", signal)                                                                                                      \
    FIELD("threads", threads)                                                                                                    \
    FIELD("when_ms", when_ms)
#define BOOL_FIELDS(FIELD)                                                                                                       \
    FIELD("verified", verified)                                                                                                  \
    FIELD("stopped_early", stopped_early)
#define HASH_FIELDS(FIELD)                                                                                                       \
    FIELD("workload_hash", workload_hash)                                                                                        \
    FIELD("target_hash", target_hash)                                                                                            \
    FIELD("trace_hash", trace_hash)

/* JSON has no infinities: the largest number stands for them. (A median that is not finite is left out and comes back as
 * INFINITY.) */
static void put_real(json_t *o, const char *key, double v) {
    tc_json_set(o, key, tc_json_real(isfinite(v) ? v : DBL_MAX));
}

/* Fields that most records lack, or that came later. */
static void put_others(json_t *o, const tc_record *r) {
    if (*r->sizes)
        tc_json_set(o, "sizes", tc_json_string(r->sizes));
    if (*r->job)
        tc_json_set(o, "job", tc_json_string(r->job));
    if (*r->phase)
        tc_json_set(o, "phase", tc_json_string(r->phase));
    if (isfinite(r->predicted))
        tc_json_set(o, "predicted", tc_json_real(r->predicted));
}

static json_t *to_object(const tc_record *r) {
    json_t *o = tc_json_object(), *times = tc_json_array();
    tc_json_set(o, "error", tc_json_string(tc_meas_error_text(r->error)));
    if (isfinite(r->median))
        put_real(o, "median", r->median);
    for (size_t i = 0; i < r->ntimes; i++)
        tc_json_append(times, tc_json_real(r->times[i]));
    tc_json_set(o, "times", times);
    tc_json_set(o, "mode", tc_json_string(tc_meas_mode_text(r->mode)));
    tc_json_set(o, "rounds", tc_json_integer(r->rounds));
    put_others(o, r);
#define FIELD(key, member) tc_json_set(o, key, tc_json_string(r->member.hex));
    HASH_FIELDS(FIELD)
#undef FIELD
    char program[17];
    snprintf(program, sizeof program, "%016llx", (unsigned long long)r->program);
    tc_json_set(o, "program", tc_json_string(program));
#define FIELD(key, member) put_real(o, key, r->member);
    REAL_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member) tc_json_set(o, key, tc_json_integer(r->member));
    INT_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member) tc_json_set(o, key, json_boolean(r->member));
    BOOL_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member) tc_json_set(o, key, tc_json_string(r->member));
    TEXT_FIELDS(FIELD)
#undef FIELD
    return o;
}

void tc_meas_record_to_json(const tc_record *r, tc_strbuf *b) {
    json_t *o = to_object(r);
    char *text = tc_json_text(o, JSON_COMPACT | JSON_REAL_PRECISION(17));
    tc_sb_add(b, text ? text : "{}");
    free(text);
    json_decref(o);
}

static tc_status missing(tc_error *err, const char *where, const char *key, const char *what) {
    return tc_fail(err, TC_BAD_INPUT, "%s: not a tuning record: field \"%s\" is missing or is not %s", where, key, what);
}

static const char hex_digits[] = "0123456789abcdef";

static tc_status read_texts(tc_arena *a, const char *where, const json_t *o, tc_record *r, tc_error *err) {
    const json_t *v;
#define FIELD(key, member)                                                                                                       \
    if (!json_is_string(v = json_object_get(o, key)))                                                                            \
        return missing(err, where, key, "a text");                                                                               \
    r->member = tc_arena_strdup(a, json_string_value(v));
    TEXT_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member)                                                                                                       \
    if (!json_is_string(v = json_object_get(o, key)) || strlen(json_string_value(v)) != sizeof r->member.hex - 1 ||              \
        strspn(json_string_value(v), hex_digits) != sizeof r->member.hex - 1)                                                    \
        return missing(err, where, key, "a hash of 32 digits");                                                                  \
    memcpy(r->member.hex, json_string_value(v), sizeof r->member.hex);
    HASH_FIELDS(FIELD)
#undef FIELD
    const char *program = json_string_value(json_object_get(o, "program"));
    if (!program || strlen(program) != 16 || strspn(program, hex_digits) != 16)
        return missing(err, where, "program", "a hash of 16 digits");
    r->program = strtoull(program, NULL, 16);
    return TC_OK;
}

static tc_status read_numbers(const char *where, const json_t *o, tc_record *r, tc_error *err) {
    const json_t *v;
#define FIELD(key, member)                                                                                                       \
    if (!json_is_number(v = json_object_get(o, key)))                                                                            \
        return missing(err, where, key, "a number");                                                                             \
    r->member = json_number_value(v);
    REAL_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member)                                                                                                       \
    if (!json_is_integer(v = json_object_get(o, key)) || json_integer_value(v) != (__typeof__(r->member))json_integer_value(v))  \
        return missing(err, where, key, "an integer in its range");                                                              \
    r->member = (__typeof__(r->member))json_integer_value(v);
    INT_FIELDS(FIELD)
#undef FIELD
#define FIELD(key, member)                                                                                                       \
    if (!json_is_boolean(v = json_object_get(o, key)))                                                                           \
        return missing(err, where, key, "true or false");                                                                        \
    r->member = json_is_true(v);
    BOOL_FIELDS(FIELD)
#undef FIELD
    return TC_OK;
}

static tc_status read_times(tc_arena *a, const char *where, const json_t *o, tc_record *r, tc_error *err) {
    const json_t *v = json_object_get(o, "times");
    if (!json_is_array(v))
        return missing(err, where, "times", "an array of seconds");
    r->ntimes = json_array_size(v);
    double *t = TC_NEW_N(a, double, r->ntimes);
    for (size_t i = 0; i < r->ntimes; i++) {
        const json_t *e = json_array_get(v, i);
        if (!json_is_number(e))
            return missing(err, where, "times", "an array of seconds");
        t[i] = json_number_value(e);
    }
    r->times = t;
    const json_t *median = json_object_get(o, "median");
    if (median && !json_is_number(median))
        return missing(err, where, "median", "a number");
    r->median = median ? json_number_value(median) : INFINITY;
    return TC_OK;
}

/* Fields that came later: records without them are of a time when there was one way to measure. */
static tc_status read_mode(const char *where, const json_t *o, tc_record *r, tc_error *err) {
    const json_t *mode = json_object_get(o, "mode"), *rounds = json_object_get(o, "rounds");
    if (rounds && (!json_is_integer(rounds) || json_integer_value(rounds) != (int)json_integer_value(rounds)))
        return missing(err, where, "rounds", "an integer in its range");
    r->rounds = (int)json_integer_value(rounds);
    if (mode && (!json_is_string(mode) || !tc_meas_mode_parse(json_string_value(mode), &r->mode)))
        return missing(err, where, "mode", "hot, cold, in-graph, beside, simulated or emulated");
    return TC_OK;
}

static tc_status read_others(tc_arena *a, const char *where, const json_t *o, tc_record *r, tc_error *err) {
    const struct { const char *key, **to; } texts[] = {{"sizes", &r->sizes}, {"job", &r->job}, {"phase", &r->phase}};
    for (size_t i = 0; i < TC_LEN(texts); i++) {
        const json_t *v = json_object_get(o, texts[i].key);
        if (v && !json_is_string(v))
            return missing(err, where, texts[i].key, "a text");
        *texts[i].to = v ? tc_arena_strdup(a, json_string_value(v)) : "";
    }
    const json_t *predicted = json_object_get(o, "predicted");
    if (predicted && !json_is_number(predicted))
        return missing(err, where, "predicted", "a number");
    r->predicted = predicted ? json_number_value(predicted) : NAN;
    return TC_OK;
}

static tc_status read_object(tc_arena *a, const char *where, const json_t *o, tc_record *r, tc_error *err) {
    *r = tc_meas_record_empty();
    TC_TRY(read_texts(a, where, o, r, err));
    TC_TRY(read_numbers(where, o, r, err));
    TC_TRY(read_times(a, where, o, r, err));
    TC_TRY(read_mode(where, o, r, err));
    TC_TRY(read_others(a, where, o, r, err));
    const json_t *e = json_object_get(o, "error");
    if (!json_is_string(e))
        return missing(err, where, "error", "a text");
    if (!tc_meas_error_parse(json_string_value(e), &r->error))
        return tc_fail(err, TC_BAD_INPUT, "%s: unknown error kind \"%s\"; the record was written by a newer tctune", where,
                       json_string_value(e));
    tc_status s = tc_meas_check_texts(r, err);
    if (s == TC_OK)
        s = tc_meas_check_numbers(r, err);
    if (s != TC_OK)
        tc_error_prefix(err, "%s: ", where);
    return s;
}

tc_status tc_meas_record_from_json(tc_arena *a, const char *where, const char *line, tc_record *r, tc_error *err) {
    json_error_t e;
    json_t *o = tc_json_read(line, TC_INPUT_RECORDS, JSON_REJECT_DUPLICATES, &e);
    if (!o)
        return tc_fail(err, TC_BAD_INPUT, "%s: not JSON: %s (column %d)", where, e.text, e.column);
    tc_status s = json_is_object(o) ? read_object(a, where, o, r, err) : missing(err, where, "workload", "a text");
    json_decref(o);
    return s;
}
