/* Builders: processes that turn texts into code. All of them build before anything runs. Then as many go on beside the runner
 * as disturb nothing (overlap.c). */
#include <poll.h>
#include <string.h>

#include "measure/processes_int.h"
#include "support/log.h"

void tc_meas_pace(double *pace, double seconds) {
    const double weight = 0.1;
    *pace = *pace > 0 ? (1 - weight) * *pace + weight * seconds : seconds;
}

/* What a job is built to, by whomever. */
static void take_made(tc_meas *m, tc_meas_job *j, tc_arena *a, const tc_meas_made *made) {
    j->r->program = made->program;
    j->r->build_seconds = made->seconds;
    j->workspace = made->workspace;
    if (made->error != TC_MEAS_NONE) {
        tc_meas_end_with(j->r, a, made->error, made->message);
        j->r->signal = made->signal;
        return;
    }
    m->stats.built++;
    if (!tc_meas_is_new(m, j, a))
        return;
    j->object = tc_try_malloc(made->size + 1);
    if (!j->object) /* the call is ending */
        return;
    j->size = made->size;
    memcpy(j->object, made->object, j->size);
    j->ready = true;
}

static void take_built(const tc_meas_jobs *b, tc_meas_job *j, tc_meas_proc *p) {
    tc_meas_built built;
    if (p->reply_type != TC_MEAS_MSG_BUILT || !tc_meas_get_built(p->reply, p->reply_size, b->a, &built)) {
        tc_meas_end_with(j->r, b->a, TC_MEAS_BUILD_CRASH, "the builder's answer is malformed");
        tc_meas_proc_kill(p);
        return;
    }
    tc_meas_pace(&tc_meas_processes_of(b->m)->pace.build, built.seconds);
    take_made(b->m, j, b->a,
              &(tc_meas_made){.error = built.error,
                              .message = built.message,
                              .program = built.program,
                              .workspace = built.workspace,
                              .seconds = built.seconds,
                              .object = built.object,
                              .size = built.size});
}

static tc_status send_build(const tc_meas *m, tc_meas_proc *p, const tc_meas_job *j, tc_error *err) {
    tc_strbuf b = {0};
    tc_meas_put_text(&b, j->in->workload);
    tc_meas_put_text(&b, j->in->trace);
    tc_meas_put_text(&b, m->o.target);
    tc_meas_put_u64(&b, (uint64_t)m->o.threads);
    tc_meas_put_u64(&b, j->in->without);
    tc_status s = tc_meas_proc_send(p, TC_MEAS_MSG_BUILD, b.data, b.len, m->o.build_limit, err);
    tc_meas_tell_lacks(p);
    tc_strbuf_free(&b);
    return s;
}

/* One that the machine was too busy for is built once more by the same builder. */
static bool build_again(tc_meas_processes_state *x, int builder, tc_meas_job *j) {
    tc_error why;
    if (j->r->error != TC_MEAS_BUILD_LATE || j->put_off || tc_meas_stopped(x->m) ||
        send_build(x->m, &x->process[builder], j, &why) != TC_OK)
        return false;
    j->put_off = true;
    x->at[builder] = j;
    return true;
}

static void finish_build(tc_meas_processes_state *x, int builder, tc_meas_job *j, tc_meas_event ev) {
    const tc_meas_jobs *b = x->builds.b;
    tc_meas_proc *p = &x->process[builder];
    if (ev == TC_MEAS_EV_REPLY)
        take_built(b, j, p);
    else if (ev == TC_MEAS_EV_TIMEOUT)
        tc_meas_record_timeout(b, j, p, false);
    else
        tc_meas_record_death(j, b->a, p, false);
    if (!j->ready && !build_again(x, builder, j))
        tc_meas_report(b, j);
}

tc_status tc_meas_feed_builders(tc_meas_processes_state *x, tc_error *err) {
    tc_meas_builds *w = &x->builds;
    for (int i = 0; i < w->working && w->next < w->end && !tc_meas_stopped(x->m); i++) {
        if (x->at[i])
            continue;
        TC_TRY(send_build(x->m, &x->process[i], &w->jobs[w->next], err));
        x->at[i] = &w->jobs[w->next++];
    }
    return TC_OK;
}

bool tc_meas_next_answer(tc_meas_processes_state *x, bool *runner, tc_meas_event *ev) {
    int i = tc_meas_proc_wait(x->all, (size_t)x->nbuilder + 1, x->m->o.stop, ev);
    *runner = i == x->nbuilder;
    if (i < 0 || *runner)
        return i >= 0;
    tc_meas_job *j = x->at[i];
    x->at[i] = NULL;
    finish_build(x, i, j, *ev);
    return true;
}

/* Hands out jobs and takes them in until none is on its way, or `until` is not any more. */
static tc_status work(tc_meas_processes_state *x, const tc_meas_job *until, tc_error *err) {
    for (bool more = true; more;) {
        bool runner, waits = !until;
        tc_meas_event ev;
        TC_TRY(tc_meas_feed_builders(x, err));
        for (int i = 0; i < x->nbuilder && !waits; i++)
            waits = x->at[i] == until;
        more = waits && tc_meas_next_answer(x, &runner, &ev);
    }
    return TC_OK;
}

tc_status tc_meas_finish_builds(tc_meas_processes_state *x, tc_error *err) {
    return work(x, NULL, err);
}

bool tc_meas_builders_work(const tc_meas_processes_state *x) {
    for (int i = 0; i < x->builds.working; i++) {
        struct pollfd answer = {.fd = x->process[i].fd, .events = POLLIN};
        if (!x->at[i] || poll(&answer, 1, 0) != 0)
            return false;
    }
    return true;
}

/* By whom the options name. */
static tc_status have_built(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, tc_error *err) {
    const tc_meas_options *o = &b->m->o;
    tc_meas_made *made = TC_NEW_N(b->a, tc_meas_made, n);
    const tc_meas_input **in = TC_NEW_N(b->a, const tc_meas_input *, n);
    for (size_t i = 0; i < n; i++)
        in[i] = jobs[i].in;
    TC_TRY(o->supplier->supply(o->supplied_by, o, in, n, b->a, made, err));
    for (size_t i = 0; i < n; i++) {
        if (made[i].error == TC_MEAS_INTERRUPTED)
            continue;
        take_made(b->m, &jobs[i], b->a, &made[i]);
        if (!jobs[i].ready)
            tc_meas_report(b, &jobs[i]);
    }
    return TC_OK;
}

static tc_status build_here(const tc_meas_jobs *b, bool in_order, tc_error *err) {
    tc_meas_processes_state *x = tc_meas_processes_of(b->m);
    tc_meas_builds *w = &x->builds;
    tc_status s = in_order ? tc_meas_try_overlap(x, err) : TC_OK;
    bool beside = in_order && x->beside > 0 && !tc_meas_drift_state(&b->m->drift).disturbed;
    w->working = x->nbuilder;
    w->end = beside ? TC_MAX(tc_meas_build_first(&x->pace, w->n, x->beside), w->next) : w->n;
    if (s == TC_OK)
        s = tc_meas_finish_builds(x, err);
    w->end = w->n;
    w->working = beside ? x->beside : x->nbuilder;
    if (s != TC_OK || tc_meas_stopped(b->m))
        tc_meas_processes_settle(b);
    return s;
}

tc_status tc_meas_processes_build(const tc_meas_jobs *b, tc_meas_job *jobs, size_t n, bool in_order, tc_error *err) {
    tc_meas_processes_state *x = tc_meas_processes_of(b->m);
    bool elsewhere = b->m->o.supplier != NULL;
    double start = tc_now();
    x->builds = (tc_meas_builds){.b = b, .jobs = jobs, .n = n, .next = elsewhere ? n : 0};
    tc_status s = elsewhere ? have_built(b, jobs, n, err) : build_here(b, in_order, err);
    b->m->stats.build_seconds += tc_now() - start;
    return s;
}

tc_status tc_meas_processes_await(const tc_meas_jobs *b, const tc_meas_job *j, tc_error *err) {
    tc_meas_processes_state *x = tc_meas_processes_of(b->m);
    TC_TRY(tc_meas_feed_builders(x, err));
    while (j >= &x->builds.jobs[x->builds.next] && !tc_meas_stopped(b->m))
        TC_TRY(work(x, &x->builds.jobs[x->builds.next - 1], err));
    return work(x, j, err);
}

/* One that was stopped in the middle would answer at the wrong time. */
void tc_meas_processes_settle(const tc_meas_jobs *b) {
    tc_meas_processes_state *x = tc_meas_processes_of(b->m);
    for (int i = 0; i < x->nbuilder; i++) {
        if (x->at[i])
            tc_meas_proc_kill(&x->process[i]);
        x->at[i] = NULL;
    }
    x->builds.next = x->builds.end = x->builds.n;
}
