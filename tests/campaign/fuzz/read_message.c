/* Messages of a fleet: whatever a server gives to a worker, a tuner or a builder. A text is read as a document of each kind. A
 * document that is taken is written, and read again as the same document. */
#include <stdlib.h>
#include <string.h>

#include "fleet/build.h"
#include "fleet/message.h"
#include "fleet/orders.h"
#include "targets.h"

enum { MOST_RECORDS = 4 /* that a result is asked for */ };

/* A document of one kind, read and then written; false: it is refused. */
typedef bool takes(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err);

static bool take_job(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_job j;
    if (!fuzz_good(tc_fleet_job_read(text, a, &j, err), err))
        return false;
    if (!tc_fleet_is_word(j.id) || !tc_fleet_is_word(j.tuner))
        fuzz_wrong("a job of '%s' with the id '%s' is taken", j.tuner, j.id);
    (void)tc_fleet_job_id(a, &j, 1);
    (void)tc_fleet_key(a, j.measure.target, j.measure.threads, tc_fleet_build(a));
    tc_fleet_job_write(&j, out);
    return true;
}

/* The tuner knows how many records a result is to have. */
static bool take_result(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_result r;
    bool taken = false;
    for (size_t n = 0; n <= MOST_RECORDS && !taken; n++)
        taken = fuzz_good(tc_fleet_result_read(text, n, a, &r, err), err);
    if (taken)
        tc_fleet_result_write(&r, out);
    return taken;
}

static bool take_entry(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_entry e;
    if (!fuzz_good(tc_fleet_entry_read(text, a, &e, err), err))
        return false;
    (void)tc_fleet_is_of_key(&e.record, "znver4-2t-1f0c3a5577e0b2d4");
    if (tc_fleet_news_of(&e.record, &e.record) != TC_FLEET_NO_NEWS)
        fuzz_wrong("a record says something new of itself: %s", text);
    tc_fleet_entry_write(&e, out);
    return true;
}

static bool take_worker(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_worker w;
    if (!fuzz_good(tc_fleet_worker_read(text, a, &w, err), err))
        return false;
    tc_fleet_worker_write(&w, out);
    return true;
}

static bool take_tuner(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_tuner t;
    if (!fuzz_good(tc_fleet_tuner_read(text, a, &t, err), err))
        return false;
    tc_fleet_tuner_write(&t, out);
    return true;
}

static bool take_build(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_build_job j;
    if (!fuzz_good(tc_fleet_build_job_read(text, a, &j, err), err))
        return false;
    for (size_t i = 0; i < j.n; i++)
        if (!tc_fleet_is_word(tc_fleet_build_id(a, &j, i)))
            fuzz_wrong("the id of a candidate to build is no word: %s", text);
    tc_fleet_build_job_write(&j, out);
    return true;
}

static bool take_built(const char *text, tc_arena *a, tc_strbuf *out, tc_error *err) {
    tc_fleet_built b;
    if (!fuzz_good(tc_fleet_built_read(text, a, &b, err), err))
        return false;
    if (b.made.size > TC_FLEET_OBJECT || b.nchunk > TC_FLEET_CHUNKS)
        fuzz_wrong("an object of %zu bytes in %zu chunks is taken", b.made.size, b.nchunk);
    tc_fleet_built_write(&b, out);
    return true;
}

/* What stands for a worker is written by orders alone, so it is only read. */
static void read_told(const char *text, tc_arena *a) {
    tc_fleet_told t;
    tc_error err = {0};
    if (fuzz_good(tc_fleet_told_read(text, a, &t, &err), &err))
        (void)tc_fleet_told_kick(&t);
}

static void read_by(takes *take, const char *text) {
    tc_arena *a = tc_arena_new();
    tc_strbuf once = {0}, twice = {0};
    tc_error err = {0};
    if (take(text, a, &once, &err)) {
        if (!take(tc_sb_str(&once), a, &twice, &err))
            fuzz_wrong("written, it is refused: %s\n%s", err.msg, tc_sb_str(&once));
        if (strcmp(tc_sb_str(&once), tc_sb_str(&twice)) != 0)
            fuzz_wrong("read back, it is another one: %s\n%s", tc_sb_str(&once), tc_sb_str(&twice));
    }
    tc_strbuf_free(&once);
    tc_strbuf_free(&twice);
    tc_arena_free(a);
}

void fuzz_read_message(const char *data, size_t size) {
    static takes *const kinds[] = {take_job, take_result, take_entry, take_worker, take_tuner, take_build, take_built};
    char *text = fuzz_text(data, size);
    tc_arena *a = tc_arena_new();
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        read_by(kinds[i], text);
    read_told(text, a);
    tc_arena_free(a);
    free(text);
}
