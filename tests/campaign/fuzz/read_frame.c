/* The worker protocol. The bytes are what a worker answers, and then what it is asked. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "measure/process/process.h"
#include "measure/worker/worker_int.h"
#include "support/system/fs.h"
#include "targets.h"
#include "te/text.h"

/* ---- as answers ---- */

static void check_number(double v, const char *what) {
    if (!(v >= 0 && isfinite(v)))
        fuzz_wrong("an answer with %s of %g is taken", what, v);
}

static void check_ran(const tc_meas_ran *r) {
    if (r->error == TC_MEAS_NONE && r->ntimes == 0)
        fuzz_wrong("an answer without times is taken");
    for (size_t i = 0; i < r->ntimes; i++)
        if (!(r->times[i] > 0 && isfinite(r->times[i])))
            fuzz_wrong("an answer with a time of %g is taken", r->times[i]);
    check_number(r->max_error, "a deviation");
    check_number(r->seconds, "a duration");
    check_number(r->reference, "a reference");
    const double shares[] = {r->shares.work, r->shares.fork, r->shares.wait, r->shares.alone};
    for (int i = 0; i < 4; i++)
        check_number(shares[i] > 1 ? -shares[i] : shares[i], "a share");
    check_number(r->shares.loops, "a number of loops");
    for (int i = 0; i < TC_MEAS_NCOUNTERS; i++)
        check_number(r->counts.missing[i] < 0 ? -1 : r->counts.of_call[i], "a count");
}

static void take(const tc_meas_proc *p) {
    tc_arena *a = tc_arena_new();
    tc_meas_built built;
    tc_meas_ran ran;
    tc_meas_error e;
    const char *message;
    if (tc_meas_get_built(p->reply, p->reply_size, a, &built))
        check_number(built.seconds, "a duration");
    if (tc_meas_get_ran(p->reply, p->reply_size, a, &ran))
        check_ran(&ran);
    (void)tc_meas_get_prepared(p->reply, p->reply_size, a, &e, &message);
    tc_arena_free(a);
}

/* By a process that is none: nobody is behind the socket. */
static void read_answers(const char *data, size_t size) {
    int pair[2], room = 1 << 18;
    tc_meas_proc p;
    tc_meas_proc *const procs[] = {&p};
    tc_meas_event ev = TC_MEAS_EV_REPLY;
    tc_meas_proc_init(&p, &(tc_meas_proc_options){0});
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0 ||
        setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof room) != 0 || !tc_fs_write_all(pair[1], data, size))
        fuzz_wrong("no socket");
    p.fd = pair[0];
    while (ev == TC_MEAS_EV_REPLY) {
        p.busy = true; /* with a request whose time is up */
        tc_meas_proc_wait(procs, 1, NULL, &ev);
        if (ev == TC_MEAS_EV_REPLY)
            take(&p);
    }
    tc_meas_proc_close(&p);
    close(pair[0]);
    close(pair[1]);
}

/* ---- as requests ---- */

/* Code that is to be run is trusted, and large data are allowed: these are left out. */
static bool harmless(const tc_meas_frame *f, const char *payload) {
    if (f->type != TC_MEAS_MSG_BUILD && f->type != TC_MEAS_MSG_PREPARE)
        return f->type != TC_MEAS_MSG_RUN;
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w;
    tc_meas_reader r = tc_meas_reader_of(payload, f->size);
    size_t n;
    const char *bytes = tc_meas_get_bytes(&r, &n);
    char *text = fuzz_text(bytes, n);
    bool ok = tc_te_parse(c, "workload", text, &w, NULL) != TC_OK || fuzz_small_workload(w);
    free(text);
    tc_ctx_free(c);
    return ok;
}

static void read_requests(const char *data, size_t size) {
    tc_strbuf kept = {0};
    tc_meas_frame f;
    while (size >= sizeof f) {
        memcpy(&f, data, sizeof f);
        size_t whole = sizeof f + (size_t)f.size;
        if (tc_meas_check_frame(&f, false, NULL) != TC_OK || whole > size)
            break;
        if (harmless(&f, data + sizeof f))
            tc_sb_addn(&kept, data, whole);
        data += whole;
        size -= whole;
    }
    tc_sb_addn(&kept, data, size);
    fuzz_file in = fuzz_file_open(kept.data, kept.len), out = fuzz_file_open("", 0);
    tc_error err = {0};
    lseek(in.fd, 0, SEEK_SET);
    (void)fuzz_good(tc_meas_worker_answer(in.fd, out.fd, &err), &err);
    fuzz_file_close(&in);
    fuzz_file_close(&out);
    tc_strbuf_free(&kept);
}

void fuzz_read_frame(const char *data, size_t size) {
    read_answers(data, size);
    read_requests(data, size);
}
