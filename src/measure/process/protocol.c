/* Frames and payloads between the tuner and its workers. */
#include "measure/process/protocol.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/system/memory.h"
#include "support/vec.h"

const char *tc_meas_msg_text(tc_meas_msg m) {
    static const char *const text[] = {
#define MSG(id, text, most) text,
        TC_MEAS_MESSAGES(MSG)
#undef MSG
    };
    return m < TC_MEAS_NMSGS ? text[m] : "unknown";
}

/* ---- payloads ---- */

void tc_meas_put_u64(tc_strbuf *b, uint64_t v) {
    tc_sb_addn(b, (const char *)&v, sizeof v);
}

void tc_meas_put_f64(tc_strbuf *b, double v) {
    tc_sb_addn(b, (const char *)&v, sizeof v);
}

void tc_meas_put_bytes(tc_strbuf *b, const void *p, size_t n) {
    tc_meas_put_u64(b, n);
    tc_sb_addn(b, n ? p : "", n);
}

void tc_meas_put_text(tc_strbuf *b, const char *s) {
    tc_meas_put_bytes(b, s, strlen(s));
}

tc_meas_reader tc_meas_reader_of(const void *payload, size_t n) {
    const char *p = n ? payload : "";
    return (tc_meas_reader){p, p + n, false};
}

static void take(tc_meas_reader *r, void *out, size_t n) {
    if (r->bad || (size_t)(r->end - r->p) < n) {
        r->bad = true;
        memset(out, 0, n);
        return;
    }
    memcpy(out, r->p, n);
    r->p += n;
}

uint64_t tc_meas_get_u64(tc_meas_reader *r) {
    uint64_t v;
    take(r, &v, sizeof v);
    return v;
}

double tc_meas_get_f64(tc_meas_reader *r) {
    double v;
    take(r, &v, sizeof v);
    return v;
}

const void *tc_meas_get_bytes(tc_meas_reader *r, size_t *n) {
    uint64_t size = tc_meas_get_u64(r);
    const char *p = r->p;
    *n = 0;
    if (r->bad || (uint64_t)(r->end - p) < size) {
        r->bad = true;
        return p;
    }
    *n = (size_t)size;
    r->p += size;
    return p;
}

const char *tc_meas_get_text(tc_meas_reader *r, tc_arena *a) {
    size_t n;
    const char *p = tc_meas_get_bytes(r, &n);
    if (memchr(p, 0, n))
        r->bad = true;
    return r->bad ? "" : tc_arena_strndup(a, p, n);
}

bool tc_meas_reader_done(const tc_meas_reader *r) {
    return !r->bad && r->p == r->end;
}

void tc_meas_put_timing(tc_strbuf *b, const tc_meas_timing *t) {
    tc_meas_put_u64(b, (uint64_t)t->threads);
    tc_meas_put_u64(b, (uint64_t)t->samples);
    tc_meas_put_f64(b, t->min_sample);
    tc_meas_put_f64(b, t->budget);
    tc_meas_put_f64(b, t->best);
    tc_meas_put_f64(b, t->early_stop);
    tc_meas_put_f64(b, t->doubt);
    tc_meas_put_u64(b, t->mode);
    tc_meas_put_u64(b, t->verify);
    tc_meas_put_u64(b, t->shares);
    tc_meas_put_u64(b, t->counts);
}

tc_meas_timing tc_meas_get_timing(tc_meas_reader *r) {
    tc_meas_timing t;
    t.threads = (int)tc_meas_get_u64(r);
    t.samples = (int)tc_meas_get_u64(r);
    t.min_sample = tc_meas_get_f64(r);
    t.budget = tc_meas_get_f64(r);
    t.best = tc_meas_get_f64(r);
    t.early_stop = tc_meas_get_f64(r);
    t.doubt = tc_meas_get_f64(r);
    t.mode = (tc_meas_mode)tc_meas_get_u64(r);
    t.verify = tc_meas_get_u64(r) != 0;
    t.shares = tc_meas_get_u64(r) != 0;
    t.counts = tc_meas_get_u64(r) != 0;
    return t;
}

void tc_meas_put_shares(tc_strbuf *b, const tc_meas_shares *s) {
    tc_meas_put_f64(b, s->work);
    tc_meas_put_f64(b, s->fork);
    tc_meas_put_f64(b, s->wait);
    tc_meas_put_f64(b, s->alone);
    tc_meas_put_f64(b, s->loops);
}

void tc_meas_put_counts(tc_strbuf *b, const tc_meas_counted *c) {
    tc_meas_put_u64(b, c->asked);
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        tc_meas_put_f64(b, c->of_call[i]);
        tc_meas_put_u64(b, (uint64_t)c->missing[i]);
    }
}

/* ---- answers ---- */

/* A line that can be shown and stored. */
static const char *received_text(tc_meas_reader *r, tc_arena *a) {
    enum { MOST = 4000 };
    size_t n;
    const char *said = tc_meas_get_bytes(r, &n);
    char *line = tc_arena_strndup(a, said, TC_MIN(n, (size_t)MOST));
    for (char *c = line; *c; c++)
        if (((unsigned char)*c < ' ' && *c != '\n') || (unsigned char)*c >= 0x7f)
            *c = '?';
    return line;
}

static tc_meas_error received_kind(tc_meas_reader *r, tc_meas_error otherwise) {
    uint64_t v = tc_meas_get_u64(r);
    return v < TC_MEAS_NERRORS && v != TC_MEAS_INTERRUPTED ? (tc_meas_error)v : otherwise;
}

/* Seconds, or a deviation. */
static double received_number(tc_meas_reader *r) {
    double v = tc_meas_get_f64(r);
    if (!(v >= 0 && isfinite(v)))
        r->bad = true;
    return v;
}

/* What calls took: none where there is an error. */
static const double *received_times(tc_meas_reader *r, tc_arena *a, bool some, size_t *n) {
    size_t bytes;
    const void *p = tc_meas_get_bytes(r, &bytes);
    *n = bytes / sizeof(double);
    if (r->bad || bytes % sizeof(double) != 0 || (some && bytes == 0)) {
        r->bad = true;
        return NULL;
    }
    const double *times = tc_arena_dup(a, p, bytes);
    for (size_t i = 0; i < *n; i++)
        if (!(times[i] > 0 && isfinite(times[i])))
            r->bad = true;
    return times;
}

static double received_share(tc_meas_reader *r) {
    double v = received_number(r);
    if (v > 1)
        r->bad = true;
    return v;
}

static tc_meas_shares received_shares(tc_meas_reader *r) {
    tc_meas_shares s = {.work = received_share(r)};
    s.fork = received_share(r);
    s.wait = received_share(r);
    s.alone = received_share(r);
    s.loops = received_number(r);
    return s;
}

static tc_meas_counted received_counts(tc_meas_reader *r) {
    enum { MOST_ERRNO = 4095 };
    tc_meas_counted c = {.asked = tc_meas_get_u64(r) != 0};
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++) {
        c.of_call[i] = received_number(r);
        uint64_t missing = tc_meas_get_u64(r);
        if (missing > MOST_ERRNO)
            r->bad = true;
        c.missing[i] = (int)TC_MIN(missing, (uint64_t)MOST_ERRNO);
    }
    return c;
}

bool tc_meas_get_built(const void *payload, size_t n, tc_arena *a, tc_meas_built *out) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    *out = (tc_meas_built){.error = received_kind(&r, TC_MEAS_BUILD_FAILED)};
    out->message = received_text(&r, a);
    out->program = tc_meas_get_u64(&r);
    out->seconds = received_number(&r);
    out->workspace = tc_meas_get_u64(&r);
    out->object = tc_meas_get_bytes(&r, &out->size);
    return tc_meas_reader_done(&r);
}

bool tc_meas_get_prepared(const void *payload, size_t n, tc_arena *a, tc_meas_error *error, const char **message) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    *error = received_kind(&r, TC_MEAS_RUN_FAILED);
    *message = received_text(&r, a);
    return tc_meas_reader_done(&r);
}

bool tc_meas_get_ran(const void *payload, size_t n, tc_arena *a, tc_meas_ran *out) {
    tc_meas_reader r = tc_meas_reader_of(payload, n);
    *out = (tc_meas_ran){.error = received_kind(&r, TC_MEAS_RUN_FAILED)};
    out->message = received_text(&r, a);
    out->times = received_times(&r, a, out->error == TC_MEAS_NONE, &out->ntimes);
    out->verified = tc_meas_get_u64(&r) != 0;
    out->max_error = received_number(&r);
    out->stopped_early = tc_meas_get_u64(&r) != 0;
    out->seconds = received_number(&r);
    out->reference = received_number(&r);
    out->shares = received_shares(&r);
    out->counts = received_counts(&r);
    return tc_meas_reader_done(&r);
}

/* ---- frames ---- */

tc_status tc_meas_check_frame(const tc_meas_frame *f, bool answer, tc_error *err) {
    static const uint64_t most[TC_MEAS_NMSGS] = {
#define MSG(id, text, most) most,
        TC_MEAS_MESSAGES(MSG)
#undef MSG
    };
    bool known = f->magic == TC_MEAS_FRAME_MAGIC && f->type < TC_MEAS_NMSGS;
    if (!known || f->size > (answer ? most[f->type] : TC_MEAS_MAX_PAYLOAD) || (answer && most[f->type] == 0))
        return tc_fail(err, TC_ENV, "a message of type %u and %llu bytes is not of the worker protocol", f->type,
                       (unsigned long long)f->size);
    return TC_OK;
}

static tc_status write_all(int fd, const void *p, size_t n, tc_error *err) {
    for (const char *c = p; n > 0;) {
        ssize_t k = write(fd, c, n);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tc_fail(err, TC_ENV, "cannot answer the tuner: %s", strerror(errno));
        c += k;
        n -= (size_t)k;
    }
    return TC_OK;
}

/* *got < n only at the end of the stream. */
static tc_status read_all(int fd, void *p, size_t n, size_t *got, tc_error *err) {
    for (*got = 0; *got < n;) {
        ssize_t k = read(fd, (char *)p + *got, n - *got);
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return tc_fail(err, TC_ENV, "cannot read from the tuner: %s", strerror(errno));
        if (k == 0)
            return TC_OK;
        *got += (size_t)k;
    }
    return TC_OK;
}

tc_status tc_meas_write_frame(int fd, tc_meas_msg type, const void *payload, size_t n, tc_error *err) {
    tc_meas_frame f = {TC_MEAS_FRAME_MAGIC, type, n};
    TC_TRY(write_all(fd, &f, sizeof f, err));
    return write_all(fd, payload, n, err);
}

tc_status tc_meas_read_frame(int fd, tc_meas_msg *type, char **payload, size_t *n, bool *eof, tc_error *err) {
    tc_meas_frame f = {0};
    size_t got;
    *payload = NULL;
    *eof = false;
    TC_TRY(read_all(fd, &f, sizeof f, &got, err));
    if (got == 0) {
        *eof = true;
        return TC_OK;
    }
    if (got < sizeof f)
        return tc_fail(err, TC_ENV, "the tuner's message was cut short in its header");
    TC_TRY(tc_meas_check_frame(&f, false, err));
    *type = (tc_meas_msg)f.type;
    *n = (size_t)f.size;
    *payload = malloc(*n + 1);
    if (!*payload)
        return tc_memory_lacking(*n, err);
    (*payload)[*n] = 0;
    tc_status s = read_all(fd, *payload, *n, &got, err);
    if (s == TC_OK && got < *n)
        s = tc_fail(err, TC_ENV, "the tuner's message was cut short: %zu of %zu bytes", got, *n);
    if (s != TC_OK) {
        free(*payload);
        *payload = NULL;
    }
    return s;
}
