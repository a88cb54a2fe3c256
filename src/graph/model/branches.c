/* Launches that need not wait for each other, in branches that run side by side, each on one thread. A kernel that is split among
 * threads takes from other cores what the kernel before it left there, and both wait for the other's end: the two directions of a
 * recurrent layer, with a core each, take half the time.
 *
 * Between launches that decide where a run goes on, and library kernels, which may refuse a run, a window of launches falls into
 * groups of which none reads or writes what another writes. The windows are chosen so that the sum of the estimated times is the
 * least (by dynamic programming from the last launch to the first); a fork counts as its longest branch, and as one region. */
#include <stdlib.h>
#include <string.h>

#include "cost_model/cost.h"
#include "graph/model/parts.h"

static const double WORTH = 0.85;          /* of the time without the fork: the estimates are no better */
static const double COPY_BYTES = 16;       /* in a cycle */
static const int64_t MOST_WORK = 50000000; /* looks at what launches use */
/* What a region costs. Near: between cores that share a cache, as the cost model has it. Far: a signal and its answer take 0.6 us
 * between them instead of 0.12. Small loops of lstm_tagger and decoder_q4 then take 1.7 us longer than their work (Zen 5), 7,500
 * cycles; of such loops the cost model counts four times the cycles that they take. A virtual machine may be either, from one
 * minute to the next. */
enum { NEAR, FAR, DISTANCES };
static const double FARTHER = 30000;
enum { MOST_WINDOW = 4096 };

/* What a launch of the window uses of a slot that is no piece of another. */
typedef struct use {
    int launch, next; /* next: of the same slot, -1: none */
    int64_t from, to; /* bytes */
    bool writes;
} use;

typedef struct finder {
    const tc_graph_model *m;
    const tc_graph_program *p;
    tc_graph_branches which;
    int64_t work;
    /* of the window */
    int window;        /* its number */
    int *head, *since; /* by slot: the last use, if it is of this window */
    TC_VEC(use) uses;
    int *group;  /* by launch: another of its group, or itself; the first of a group is itself */
    double *sum; /* by first launch of a group */
    int ngroup;
    double longest, all; /* of the groups; of all */
    /* of the program */
    int *end;     /* by launch: of the fork that begins there; else the next launch */
    double *best; /* by launch: from there to the end */
    tc_arena *a;
} finder;

static double alone(const finder *f, int i) {
    const tc_graph_launch *x = &f->p->launches[i];
    return x->task >= 0 ? f->m->units[x->task].alone : (double)x->bytes / COPY_BYTES;
}

static double region(int distance) {
    return tc_cost_region() + (distance == FAR ? FARTHER : 0);
}

static double together(const finder *f, int i, int distance) {
    const tc_graph_launch *x = &f->p->launches[i];
    const tc_graph_unit *u = x->task >= 0 ? &f->m->units[x->task] : NULL;
    if (!u || u->together == u->alone || f->which == TC_GRAPH_BRANCHES_ALL) /* no loop of it is parallel, or counts as such */
        return alone(f, i);
    return u->together - region(NEAR) + region(distance);
}

/* A kernel whose time can be told, or a copy. */
static bool can_be_beside(const finder *f, int i) {
    const tc_graph_launch *x = &f->p->launches[i];
    return x->kind == TC_CG_DO && !x->library && (x->task < 0 || f->m->units[x->task].alone > 0);
}

/* ---- groups of a window ---- */

static int first_of(const finder *f, int i) {
    while (f->group[i] != i)
        i = f->group[i] = f->group[f->group[i]];
    return i;
}

static void join(finder *f, int i, int j) {
    i = first_of(f, i);
    j = first_of(f, j);
    if (i == j)
        return;
    int first = TC_MIN(i, j), other = TC_MAX(i, j);
    f->group[other] = first;
    f->sum[first] += f->sum[other];
    f->longest = TC_MAX(f->longest, f->sum[first]);
    f->ngroup--;
}

/* Of a copy only the second is written; of a kernel those behind its inputs, before the values of sizes. */
static bool writes(const finder *f, const tc_graph_launch *x, int arg) {
    const tc_workload *w = x->task >= 0 ? f->p->tasks[x->task].workload : NULL;
    return w ? arg >= w->nin && arg < w->nin + w->nout : arg == 1;
}

static void add_use(finder *f, int i, int arg) {
    const tc_graph_launch *x = &f->p->launches[i];
    use u = {.launch = i, .next = -1, .writes = writes(f, x, arg)};
    int slot = tc_graph_whole_of(f->p, x->args[arg], &u.from);
    if (f->p->slots[slot].kind != TC_GRAPH_SLOT_TEMP) /* library kernels alone write to inputs */
        return;
    u.to = u.from + f->p->slots[x->args[arg]].bytes;
    if (f->since[slot] == f->window)
        u.next = f->head[slot];
    for (int k = u.next; k >= 0; k = f->uses.data[k].next, f->work++) {
        const use *y = &f->uses.data[k];
        if ((u.writes || y->writes) && y->from < u.to && u.from < y->to)
            join(f, y->launch, i);
    }
    f->since[slot] = f->window;
    f->head[slot] = (int)f->uses.len;
    tc_push(&f->uses, u);
}

static void begin_window(finder *f) {
    f->window++;
    f->uses.len = 0;
    f->ngroup = 0;
    f->longest = f->all = 0;
}

static void add_launch(finder *f, int i) {
    f->group[i] = i;
    f->sum[i] = alone(f, i);
    f->all += f->sum[i];
    f->longest = TC_MAX(f->longest, f->sum[i]);
    f->ngroup++;
    for (int k = 0; k < f->p->launches[i].nargs; k++)
        add_use(f, i, k);
    f->work++;
}

/* ---- windows ---- */

/* Whether the launches of the window, which take so long one by one, should be a fork; *time: what that takes, near. */
static bool is_worthwhile(const finder *f, const double *one_by_one, double *time) {
    double beside = TC_MAX(f->longest, f->all / f->m->threads);
    bool all = f->which == TC_GRAPH_BRANCHES_ALL;
    *time = beside + (all ? 0 : region(NEAR));
    if (f->ngroup < 2 || all)
        return f->ngroup > 1;
    return *time < WORTH * one_by_one[NEAR] && beside + region(FAR) < WORTH * one_by_one[FAR];
}

/* Chooses what begins at launch i, before the end of its segment. */
static void choose(finder *f, int i, int end) {
    double one_by_one[DISTANCES] = {0}, time;
    f->end[i] = i + 1;
    f->best[i] = f->best[i + 1] + together(f, i, NEAR);
    begin_window(f);
    for (int j = i; j < end && j < i + MOST_WINDOW && f->work < MOST_WORK; j++) {
        add_launch(f, j);
        for (int d = 0; d < DISTANCES; d++)
            one_by_one[d] += together(f, j, d);
        if (!is_worthwhile(f, one_by_one, &time))
            continue;
        if (time + f->best[j + 1] < f->best[i]) {
            f->best[i] = time + f->best[j + 1];
            f->end[i] = j + 1;
        }
    }
}

/* Runs may go on there. */
static bool *targets_of(const tc_graph_program *p, tc_arena *a) {
    bool *target = TC_NEW_N(a, bool, p->nlaunch + 1);
    for (int i = 0; i < p->nlaunch; i++)
        if (p->launches[i].kind != TC_CG_DO)
            target[p->launches[i].target] = true;
    return target;
}

/* Returns how many forks there are. */
static int choose_all(finder *f) {
    const bool *target = targets_of(f->p, f->a);
    int n = f->p->nlaunch, end = n, forks = 0;
    f->best[n] = 0;
    for (int i = n - 1; i >= 0; i--) {
        if (i + 1 < n && (target[i + 1] || !can_be_beside(f, i + 1)))
            end = i + 1;
        f->end[i] = i + 1;
        f->best[i] = f->best[i + 1];
        if (can_be_beside(f, i))
            choose(f, i, end);
    }
    for (int i = 0; i < n; i = f->end[i])
        forks += f->end[i] > i + 1;
    return forks;
}

/* ---- the launches again ---- */

typedef struct branch_group {
    int first, lane;
    double sum;
} branch_group;

static int longest_first(const void *x, const void *y) {
    const branch_group *a = x, *b = y;
    if (a->sum != b->sum)
        return a->sum < b->sum ? 1 : -1;
    return a->first - b->first;
}

typedef struct writer {
    tc_graph_launch *launches;
    int n;
    int *moved; /* by launch of the old program: its number now */
} writer;

static int emit(writer *w, tc_graph_launch x) {
    w->launches[w->n] = x;
    return w->n++;
}

/* lane[] by launch: the branch that it is in. The longest group goes first, each to the branch that has least. */
static int deal(finder *f, int from, int to, int *lane) {
    branch_group *g = TC_NEW_N(f->a, branch_group, to - from);
    double *load = TC_NEW_N(f->a, double, f->m->threads);
    int n = 0, lanes;
    begin_window(f);
    for (int i = from; i < to; i++)
        add_launch(f, i);
    for (int i = from; i < to; i++)
        if (first_of(f, i) == i)
            g[n++] = (branch_group){.first = i, .sum = f->sum[i]};
    qsort(g, (size_t)n, sizeof *g, longest_first);
    lanes = TC_MIN(n, f->m->threads);
    for (int k = 0; k < n; k++) {
        int least = 0;
        for (int l = 1; l < lanes; l++)
            least = load[l] < load[least] ? l : least;
        load[least] += g[k].sum;
        lane[g[k].first] = least;
    }
    for (int i = from; i < to; i++)
        lane[i] = lane[first_of(f, i)];
    return lanes;
}

static void emit_fork(finder *f, int from, int to, writer *w) {
    static const tc_graph_launch none = {.name = "", .covers = "", .task = -1};
    int *lane = TC_NEW_N(f->a, int, f->p->nlaunch), lanes = deal(f, from, to, lane);
    tc_graph_launch fork = none, branch = none;
    fork.kind = TC_CG_FORK;
    branch.kind = TC_CG_BRANCH;
    int at = emit(w, fork);
    for (int l = 0; l < lanes; l++) {
        int begin = emit(w, branch);
        for (int i = from; i < to; i++)
            if (lane[i] == l)
                w->moved[i] = emit(w, f->p->launches[i]);
        w->launches[begin].target = w->n;
    }
    w->launches[at].target = w->n;
    w->moved[from] = at;
}

static const tc_graph_program *rewrite(finder *f, int forks) {
    tc_arena *a = f->m->arena;
    int n = f->p->nlaunch;
    tc_graph_program *q = TC_NEW(a, tc_graph_program);
    writer w = {.launches = TC_NEW_N(a, tc_graph_launch, n + forks * (1 + f->m->threads)), .moved = TC_NEW_N(f->a, int, n + 1)};
    for (int i = 0; i < n; i = f->end[i])
        if (f->end[i] > i + 1)
            emit_fork(f, i, f->end[i], &w);
        else
            w.moved[i] = emit(&w, f->p->launches[i]);
    w.moved[n] = w.n;
    for (int i = 0; i < n; i++) {
        tc_graph_launch *x = &w.launches[w.moved[i]];
        if (f->p->launches[i].kind != TC_CG_DO)
            x->target = w.moved[f->p->launches[i].target];
    }
    *q = *f->p;
    q->launches = w.launches;
    q->nlaunch = w.n;
    return q;
}

const tc_graph_program *tc_graph_side_by_side(const tc_graph_model *m, tc_graph_branches which) {
    const tc_graph_program *p = m->program;
    if (m->threads < 2 || which == TC_GRAPH_BRANCHES_NONE)
        return p;
    tc_arena *a = tc_arena_new();
    finder f = {.m = m, .p = p, .which = which, .a = a};
    f.head = TC_NEW_N(a, int, p->nslot);
    f.since = TC_NEW_N(a, int, p->nslot);
    f.group = TC_NEW_N(a, int, p->nlaunch);
    f.sum = TC_NEW_N(a, double, p->nlaunch);
    f.end = TC_NEW_N(a, int, p->nlaunch + 1);
    f.best = TC_NEW_N(a, double, p->nlaunch + 1);
    int forks = choose_all(&f);
    p = forks ? rewrite(&f, forks) : p;
    tc_vec_free(&f.uses);
    tc_arena_free(a);
    return p;
}
