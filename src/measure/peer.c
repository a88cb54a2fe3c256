/* The other end of gemm_peers: a line to it, a line of JSON back. Every wait is bounded. */
#include "measure/peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/records/record.h"
#include "support/json/json.h"
#include "support/log.h"
#include "support/system/child.h"
#include "support/system/place.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum { SAMPLES = 15 };                 /* calls per turn */
static const double answer_limit = 60; /* seconds: preparing may lay out large constants and check the result */

extern char **environ;

struct tc_meas_peer {
    const char *name;
    char program[PATH_MAX], version[64];
    pid_t pid;
    int in, out; /* its standard input and output */
    const volatile sig_atomic_t *stop;
    tc_strbuf said;
};

const char *const *tc_meas_peer_names(void) {
    static const char *const names[] = {"onednn", "openblas", NULL};
    return names;
}

/* ---- what they can do ---- */

static bool reads(const tc_expr *e, const tc_var *row, const tc_var *col) {
    return e->op == TC_OP_READ && e->dtype == TC_F32 && e->nargs == 2 && !e->u.tensor->op && e->args[0]->op == TC_OP_VAR &&
           e->args[0]->u.var == row && e->args[1]->op == TC_OP_VAR && e->args[1]->u.var == col;
}

tc_status tc_meas_gemm_of(const tc_workload *w, tc_meas_gemm *out, tc_error *err) {
    const tc_compute *c = w->computes[0];
    bool form = w->ncompute == 1 && w->nin == 2 && c->reducer == TC_RED_SUM && c->naxis == 2 && c->nraxis == 1 &&
                c->body[0]->op == TC_OP_MUL;
    if (form) {
        const tc_var *i = c->axes[0].var, *j = c->axes[1].var, *k = c->raxes[0].var;
        const tc_expr *x = c->body[0]->args[0], *y = c->body[0]->args[1];
        form = (reads(x, i, k) && reads(y, k, j)) || (reads(y, i, k) && reads(x, k, j));
    }
    if (!form)
        return tc_fail(err, TC_BAD_INPUT,
                       "this kernel is not the plain matmul Y[i, j] = sum(k) X[i, k] * W[k, j] in f32, and libraries are "
                       "compared on it alone; benchmarks/ops/run compares other operators");
    *out = (tc_meas_gemm){c->axes[0].extent, c->axes[1].extent, c->raxes[0].extent};
    return TC_OK;
}

/* ---- the program ---- */

static void find_program(char out[PATH_MAX]) {
    static const char *const beside[] = {"gemm_peers"};
    const char *env = getenv("TCTUNE_PEERS");
    if ((env && *env) || !tc_place_find(beside, 1, out))
        snprintf(out, PATH_MAX, "%s", env && *env ? env : "gemm_peers");
}

/* Ends in an end of file for the child when either side closes; neither end leaks into other children. */
static bool make_pipes(int to[2], int from[2]) {
    if (pipe2(to, O_CLOEXEC) != 0)
        return false;
    if (pipe2(from, O_CLOEXEC) == 0)
        return true;
    close(to[0]);
    close(to[1]);
    return false;
}

static tc_status start(tc_meas_peer *p, const tc_meas_gemm *g, int threads, tc_error *err) {
    char m[24], n[24], k[24], t[24];
    int to[2], from[2];
    snprintf(m, sizeof m, "%lld", (long long)g->m);
    snprintf(n, sizeof n, "%lld", (long long)g->n);
    snprintf(k, sizeof k, "%lld", (long long)g->k);
    snprintf(t, sizeof t, "%d", threads);
    char name[32];
    snprintf(name, sizeof name, "%s", p->name);
    char *argv[] = {p->program, name, m, n, k, t, NULL};
    if (!make_pipes(to, from))
        return tc_fail(err, TC_ENV, "cannot make a pipe to %s: %s", p->program, strerror(errno));
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, to[0], 0);
    posix_spawn_file_actions_adddup2(&fa, from[1], 1);
    int e = posix_spawnp(&p->pid, p->program, &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(to[0]);
    close(from[1]);
    p->in = to[1];
    p->out = from[0];
    if (e) {
        p->pid = 0;
        return tc_fail(err, TC_ENV,
                       "cannot compare with %s: its program %s cannot be run: %s. Install the libraries (scripts/install-deps.sh "
                       "--benchmarks), configure with -DTCTUNE_BENCHMARKS=ON, build, and name the program in TCTUNE_PEERS",
                       p->name, p->program, strerror(e));
    }
    return TC_OK;
}

static tc_status ended(tc_meas_peer *p, tc_error *err) {
    return tc_fail(err, TC_ENV, "cannot compare with %s: %s ended without an answer%s", p->name, p->program,
                   p->version[0] ? ""
                                 : "; its standard error says what is missing. Run it without arguments to list its libraries");
}

/* Appends what has come; false at the end of the file. */
static bool receive(tc_meas_peer *p) {
    char buf[4096];
    ssize_t n = read(p->out, buf, sizeof buf);
    if (n > 0)
        tc_sb_addn(&p->said, buf, (size_t)n);
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* The next line as JSON. */
static tc_status answer(tc_meas_peer *p, json_t **out, tc_error *err) {
    double end = tc_now() + answer_limit;
    struct pollfd f = {.fd = p->out, .events = POLLIN};
    tc_sb_clear(&p->said);
    while (!strchr(tc_sb_str(&p->said), '\n')) {
        if (tc_is_raised(p->stop))
            return tc_fail(err, TC_ENV, "stopped while %s was running", p->name);
        if (tc_now() > end)
            return tc_fail(err, TC_ENV, "%s gave no answer within %g s", p->program, answer_limit);
        if (poll(&f, 1, 100) > 0 && !receive(p))
            return ended(p, err);
        if (p->said.len > TC_BYTES_DOCUMENT)
            return tc_fail(err, TC_ENV, "%s answered more than %d bytes, the most that are read", p->program, TC_BYTES_DOCUMENT);
    }
    json_error_t why;
    *out = tc_json_read(tc_sb_str(&p->said), TC_INPUT_DOCUMENT, 0, &why);
    if (!*out)
        return tc_fail(err, TC_ENV, "%s answered what is not JSON (%s): %.200s", p->program, why.text, tc_sb_str(&p->said));
    return TC_OK;
}

tc_status tc_meas_peer_open(const char *name, const tc_meas_gemm *g, int threads, const volatile sig_atomic_t *stop,
                            tc_meas_peer **out, tc_error *err) {
    tc_meas_peer *p = tc_xcalloc(1, sizeof *p);
    json_t *ready;
    *p = (tc_meas_peer){.name = name, .in = -1, .out = -1, .stop = stop};
    find_program(p->program);
    tc_status s = start(p, g, threads, err);
    if (s == TC_OK)
        s = answer(p, &ready, err);
    if (s == TC_OK) {
        const char *version = json_string_value(json_object_get(ready, "version"));
        snprintf(p->version, sizeof p->version, "%s", version ? version : "");
        json_decref(ready);
        *out = p;
        return TC_OK;
    }
    tc_meas_peer_close(p);
    *out = NULL;
    return s;
}

tc_status tc_meas_peer_turn(void *peer, double *seconds, tc_error *err) {
    tc_meas_peer *p = peer;
    char line[32];
    int n = snprintf(line, sizeof line, "run %d\n", SAMPLES);
    json_t *j;
    if (write(p->in, line, (size_t)n) != n)
        return ended(p, err);
    TC_TRY(answer(p, &j, err));
    const json_t *times = json_object_get(j, "times_ms");
    double v[SAMPLES];
    size_t k = 0;
    for (size_t i = 0; i < json_array_size(times) && k < SAMPLES; i++)
        v[k++] = json_number_value(json_array_get(times, i)) / 1e3;
    json_decref(j);
    *seconds = tc_meas_median(v, k);
    return k > 0 && *seconds > 0 ? TC_OK : tc_fail(err, TC_ENV, "%s gave no times: %.200s", p->program, tc_sb_str(&p->said));
}

const char *tc_meas_peer_version(const tc_meas_peer *p) {
    return p->version;
}

void tc_meas_peer_close(tc_meas_peer *p) {
    if (!p)
        return;
    if (p->in >= 0)
        close(p->in);
    if (p->out >= 0)
        close(p->out);
    if (p->pid > 0) {
        int ignored;
        kill(p->pid, SIGKILL); /* it has nothing to save */
        (void)tc_child_wait(p->pid, &ignored);
    }
    tc_strbuf_free(&p->said);
    free(p);
}
