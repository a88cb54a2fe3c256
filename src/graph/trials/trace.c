/* Records a run: the recorder replaces the function that runs parallel loops. A first run finds how much memory the recording
 * needs. In later runs nothing is allocated between the steps, and each thread writes to memory of its own. */
#include "graph/trials/trace.h"

#include <string.h>

#include "codegen/artefacts/runtime.h"
#include "graph/model/parts.h"
#include "support/log.h"

enum { WARMUP = 5, RUNS = 10, MOST_RUNS = 100, LINE = 64 };

/* Of one thread, on lines of its own. */
typedef struct lane {
    _Alignas(LINE) tc_graph_traced_part *parts;
    int n, room;
} lane;

typedef struct recorder {
    const tc_graph_model *m;
    tc_rt rt, inner; /* what the model's kernels are given, whose impl is this; and what runs their loops */
    tc_graph_traced_step *steps;
    tc_graph_traced_loop *loops;
    int nstep, step_room, nloop, loop_room;
    lane *lanes; /* by thread */
    double since;
} recorder;

/* ---- while it runs ---- */

typedef struct body {
    recorder *r;
    int loop;
    tc_rt_body *run;
    void *closure;
} body;

/* Parts of a loop that a thread runs one after the other are one, where their items are. */
static void note_part(lane *l, const tc_graph_traced_part *p) {
    tc_graph_traced_part *last = l->n > 0 && l->n <= l->room ? &l->parts[l->n - 1] : NULL;
    if (last && last->loop == p->loop && last->to == p->from) {
        last->to = p->to;
        last->end = p->end;
        return;
    }
    if (l->n < l->room)
        l->parts[l->n] = *p;
    l->n++;
}

static void run_part(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const body *b = closure;
    double from = tc_now();
    b->run(begin, end, thread, b->closure);
    note_part(&b->r->lanes[thread],
              &(tc_graph_traced_part){.loop = b->loop, .from = begin, .to = end, .begin = from, .end = tc_now()});
}

/* Kernels fork from one thread, one loop at a time. */
static int32_t run_loop(const tc_rt *rt, int64_t n, tc_rt_body *run, void *closure) {
    recorder *r = rt->impl;
    body b = {.r = r, .loop = r->nloop++, .run = run, .closure = closure};
    double from = tc_now();
    int32_t status = r->inner.parallel_for(&r->inner, n, run_part, &b);
    if (b.loop < r->loop_room)
        r->loops[b.loop] = (tc_graph_traced_loop){.step = r->nstep, .items = n, .begin = from, .end = tc_now()};
    return status;
}

static void end_step(void *user, int step, double begin, double end) {
    recorder *r = user;
    const tc_graph_step *s = &r->m->steps[step];
    if (r->m->program && s->kind != TC_CG_DO)
        return;
    bool launched = r->m->program && (s->task >= 0 || s->library);
    const tc_graph_origin *from = launched ? &r->m->program->launches[s->launch].origin : NULL;
    if (r->nstep < r->step_room)
        r->steps[r->nstep] = (tc_graph_traced_step){.task = s->task,
                                                    .other = s->task < 0 ? s->other : 0,
                                                    .nnode = from ? from->n : 0,
                                                    .nodes = from ? from->name : NULL,
                                                    .begin = begin,
                                                    .end = end};
    r->nstep++;
}

/* ---- around it ---- */

static tc_status run_once(recorder *r, tc_graph_context *c, const tc_graph_pointers *p, double *seconds, tc_error *err) {
    tc_graph_watch w = {.step = end_step, .user = r, .rt = &r->rt};
    r->nstep = r->nloop = 0;
    for (int i = 0; i < r->m->threads; i++)
        r->lanes[i].n = 0;
    r->since = tc_now();
    tc_status s = tc_graph_run_once(c, p->in, p->out, &w, err);
    *seconds = tc_now() - r->since;
    return s;
}

/* How many parts of a loop a thread runs differs from run to run. */
static void make_room(recorder *r) {
    r->step_room = r->nstep;
    r->loop_room = r->nloop;
    r->steps = tc_xcalloc((size_t)r->nstep + 1, sizeof *r->steps);
    r->loops = tc_xcalloc((size_t)r->nloop + 1, sizeof *r->loops);
    for (int i = 0; i < r->m->threads; i++) {
        r->lanes[i].room = 2 * r->lanes[i].n + r->nloop;
        r->lanes[i].parts = tc_xcalloc((size_t)r->lanes[i].room + 1, sizeof *r->lanes[i].parts);
    }
}

static bool fits(const recorder *r) {
    bool fits = true;
    for (int i = 0; i < r->m->threads; i++)
        fits &= r->lanes[i].n <= r->lanes[i].room;
    return fits;
}

static void drop(recorder *r) {
    free(r->steps);
    free(r->loops);
    r->steps = NULL;
    r->loops = NULL;
    for (int t = 0; t < r->m->threads; t++) {
        free(r->lanes[t].parts);
        r->lanes[t].parts = NULL;
    }
}

/* What was written down becomes *out, in place of what that was. */
static void hand_over(recorder *r, double seconds, tc_graph_trace *out) {
    tc_graph_trace_free(out);
    *out = (tc_graph_trace){.threads = r->m->threads,
                            .seconds = seconds,
                            .nstep = r->nstep,
                            .nloop = r->nloop,
                            .steps = r->steps,
                            .loops = r->loops,
                            .npart = tc_xcalloc((size_t)r->m->threads, sizeof *out->npart),
                            .parts = tc_xcalloc((size_t)r->m->threads, sizeof *out->parts)};
    for (int i = 0; i < r->nstep; i++) {
        r->steps[i].begin -= r->since;
        r->steps[i].end -= r->since;
    }
    for (int i = 0; i < r->nloop; i++) {
        r->loops[i].begin -= r->since;
        r->loops[i].end -= r->since;
    }
    r->steps = NULL;
    r->loops = NULL;
    for (int t = 0; t < r->m->threads; t++) {
        out->npart[t] = r->lanes[t].n;
        out->parts[t] = r->lanes[t].parts;
        r->lanes[t].parts = NULL;
        for (int i = 0; i < r->lanes[t].n; i++) {
            out->parts[t][i].begin -= r->since;
            out->parts[t][i].end -= r->since;
        }
    }
}

/* The fastest run: what disturbs one, on any machine that others use too, is no part of the model's course. */
static tc_status record(recorder *r, tc_graph_context *c, const tc_graph_pointers *p, tc_graph_trace *out, tc_error *err) {
    double seconds;
    int kept = 0;
    for (int i = 0; i < WARMUP; i++)
        TC_TRY(run_once(r, c, p, &seconds, err));
    for (int i = 0; kept < RUNS && i < MOST_RUNS; i++) {
        make_room(r);
        TC_TRY(run_once(r, c, p, &seconds, err));
        if (r->nstep != r->step_room || r->nloop != r->loop_room)
            return tc_fail(err, TC_ENV,
                           "two runs on the same inputs took different ways through the model's loops; they cannot be traced");
        if (fits(r) && (kept++ == 0 || seconds < out->seconds))
            hand_over(r, seconds, out);
        else
            drop(r);
    }
    return kept ? TC_OK
                : tc_fail(err, TC_ENV, "the threads share their loops so differently in each run that none could be traced");
}

tc_status tc_graph_model_trace(tc_graph_model *m, const tc_graph_tensor *in, tc_graph_trace *out, tc_error *err) {
    tc_graph_context *c;
    tc_graph_pointers p;
    *out = (tc_graph_trace){0};
    if (m->library.handle && !m->library.watched)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: an earlier version of tctune built it, without the names of its loops; build it again", m->path);
    TC_TRY(tc_graph_model_own(m, &c, err));
    TC_TRY(tc_graph_open_run(c, in, NULL, &p, err));
    recorder r = {.m = m, .rt = tc_cg_runtime(m->threads), .inner = tc_cg_measuring_runtime(m->threads)};
    r.lanes = tc_graph_aligned_alloc((int64_t)m->threads * (int64_t)sizeof *r.lanes, err);
    r.rt.parallel_for = run_loop;
    r.rt.impl = &r;
    tc_status s = r.lanes ? record(&r, c, &p, out, err) : TC_ENV;
    if (r.lanes)
        drop(&r);
    free(r.lanes);
    tc_graph_close_run(m, &p, false);
    return s;
}

void tc_graph_trace_free(tc_graph_trace *t) {
    for (int i = 0; i < t->threads; i++)
        free(t->parts[i]);
    free(t->parts);
    free(t->npart);
    free(t->steps);
    free(t->loops);
    *t = (tc_graph_trace){0};
}
