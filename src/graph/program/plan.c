/* Memory plan: every intermediate gets a place in one arena for its lifetime. The largest intermediate is placed first. Each gets
 * the lowest place where it overlaps no other intermediate that is alive at the same time. Networks are mostly chains; for these
 * the plan is within a few percent of the best (Pisarchyk and Lee, 2020). A result that is written over an operand shares its
 * place, and both count as one. A concatenation and the pieces that are written into it live together, from the first write of a
 * piece to the last read. */
#include "graph/program/plan.h"
#include "support/say.h"

typedef struct life {
    int slot;
    int64_t bytes;
    int first, last;  /* launches */
    int fork, branch; /* where one branch alone uses it: one past the launches that begin the fork and the branch; else 0 */
} life;

/* A slot that a launch makes and the model returns lives in the caller's memory from the start. The first output gets it; others
 * get copies. */
static void name_outputs(const tc_graph_program *p, tc_graph_plan *plan) {
    for (int s = 0; s < p->nslot; s++)
        plan->output[s] = -1;
    for (int o = p->nout - 1; o >= 0; o--)
        if (p->slots[p->out_slot[o]].kind == TC_GRAPH_SLOT_TEMP)
            plan->output[p->out_slot[o]] = o;
}

/* The launches from head to end run over and over: what is used in there and also outside lives through all trips. */
static void live_through(life *l, int n, int head, int end) {
    for (int s = 0; s < n; s++) {
        bool inside = l[s].first <= end && l[s].last >= head;
        if (inside && (l[s].first < head || l[s].last > end)) {
            l[s].first = TC_MIN(l[s].first, head);
            l[s].last = TC_MAX(l[s].last, end);
        }
    }
}

static int whole_of(const tc_graph_program *p, int slot) {
    int64_t at;
    return tc_graph_whole_of(p, slot, &at);
}

/* What is used in the fork at launch `fork`, but not by one branch alone, lives through all of it, and until the launch behind it
 * begins. */
static void live_through_fork(const tc_graph_program *p, life *l, int fork) {
    int end = p->launches[fork].target, from = 0, to = 0;
    for (int i = fork + 1; i < end; i++) {
        const tc_graph_launch *x = &p->launches[i];
        from = x->kind == TC_CG_BRANCH ? i : from;
        to = x->kind == TC_CG_BRANCH ? x->target : to;
        for (int k = 0; k < x->nargs; k++) {
            life *y = &l[whole_of(p, x->args[k])];
            bool own = y->first >= from && y->last < to;
            y->fork = own ? fork + 1 : 0;
            y->branch = own ? from + 1 : 0;
            y->first = own ? y->first : TC_MIN(y->first, fork);
            y->last = own ? y->last : TC_MAX(y->last, end);
        }
    }
}

int64_t tc_graph_slot_bytes(const tc_graph_program *p, const bool *narrow, int slot) {
    return narrow && narrow[slot] ? p->slots[slot].bytes / 2 : p->slots[slot].bytes;
}

static life *lives_of(const tc_graph_program *p, const bool *narrow) {
    life *l = tc_xcalloc((size_t)p->nslot + 1, sizeof *l);
    for (int s = 0; s < p->nslot; s++)
        l[s] = (life){.slot = s, .bytes = tc_graph_aligned(tc_graph_slot_bytes(p, narrow, s)), .first = p->nlaunch, .last = -1};
    for (int i = 0; i < p->nlaunch; i++)
        for (int k = 0; k < p->launches[i].nargs; k++) {
            life *x = &l[whole_of(p, p->launches[i].args[k])];
            x->first = TC_MIN(x->first, i);
            x->last = i;
        }
    for (int i = 0; i < p->nlaunch; i++)
        if (p->launches[i].kind == TC_CG_FORK)
            live_through_fork(p, l, i);
    for (int i = 0; i < p->nlaunch; i++) /* inner loops end first */
        if (p->launches[i].kind == TC_CG_AGAIN)
            live_through(l, p->nslot, p->launches[i].target, i);
    for (int s = 0; s < p->nslot; s++) {
        const life *whole = &l[whole_of(p, s)];
        l[s].first = whole->first;
        l[s].last = whole->last;
    }
    return l;
}

static int by_size(const void *x, const void *y) {
    const life *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    return a->slot - b->slot;
}

/* Threads that run branches of one fork do not wait for each other. */
static bool live_together(const life *x, const life *y) {
    return (y->first <= x->last && x->first <= y->last) || (x->fork && x->fork == y->fork && x->branch != y->branch);
}

/* Lowest offset at which x meets none of the n placed lives. They are tried at 0 and behind each other. */
static int64_t lowest_place(const tc_graph_plan *plan, const life *placed, int n, const life *x) {
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int i = 0; i < n; i++) {
            const life *y = &placed[i];
            int64_t from = plan->offset[y->slot];
            if (live_together(x, y) && at < from + y->bytes && from < at + x->bytes) {
                at = from + y->bytes;
                moved = true;
            }
        }
    }
    return at;
}

/* ---- results in place ---- */

/* In the arena, and no piece of something else. */
static bool has_place(const tc_graph_program *p, const tc_graph_plan *plan, int slot) {
    return p->slots[slot].kind == TC_GRAPH_SLOT_TEMP && p->slots[slot].within < 0 && plan->output[slot] < 0;
}

/* Of the slot and its pieces. */
static int count_uses(const tc_graph_program *p, const tc_graph_launch *x, int slot) {
    int n = 0;
    for (int k = 0; k < x->nargs; k++)
        n += whole_of(p, x->args[k]) == slot;
    return n;
}

/* Launch i makes `out` and is the last that reads `in`, which is large enough and nobody else's. */
static bool could_overwrite(const tc_graph_program *p, const tc_graph_plan *plan, const life *l, int i, int out, int in) {
    const tc_graph_launch *x = &p->launches[i];
    return out != in && has_place(p, plan, out) && has_place(p, plan, in) && l[out].first == i && l[in].last == i &&
           l[in].first < i && l[out].bytes <= l[in].bytes && count_uses(p, x, in) == 1 && count_uses(p, x, out) == 1;
}

static void choose_in_place(const tc_graph_program *p, tc_graph_may_overwrite *may, void *user, const life *l,
                            tc_graph_plan *plan) {
    bool *taken = tc_xcalloc((size_t)p->nslot + 1, sizeof *taken);
    for (int i = 0; i < p->nlaunch; i++) {
        const tc_graph_launch *x = &p->launches[i];
        const tc_workload *w = x->task >= 0 ? p->tasks[x->task].workload : NULL;
        for (int o = 0; w && o < w->nin + w->nout; o++)
            for (int k = 0; k < o; k++) {
                int out = x->args[o], in = x->args[k];
                if (plan->over[out] >= 0 || taken[in] || !could_overwrite(p, plan, l, i, out, in) || !may(user, x, o, k))
                    continue;
                plan->over[out] = in;
                taken[in] = true;
            }
    }
    free(taken);
}

/* The slot at the beginning of a chain of results in place: all of it has its memory. */
static int owner(const tc_graph_plan *plan, int slot) {
    while (plan->over[slot] >= 0)
        slot = plan->over[slot];
    return slot;
}

/* ---- the plan ---- */

static void place(const tc_graph_program *p, const life *lives, tc_graph_plan *plan) {
    life *l = tc_xcalloc((size_t)p->nslot + 1, sizeof *l), *merged = tc_xcalloc((size_t)p->nslot + 1, sizeof *merged);
    int n = 0;
    for (int s = 0; s < p->nslot; s++)
        merged[s] = lives[s];
    for (int s = 0; s < p->nslot; s++)
        merged[owner(plan, s)].last = TC_MAX(merged[owner(plan, s)].last, lives[s].last);
    plan->bytes = plan->naive = 0;
    for (int s = 0; s < p->nslot; s++) {
        plan->offset[s] = -1;
        if (!has_place(p, plan, s) || lives[s].last < 0)
            continue;
        plan->naive += lives[s].bytes;
        if (plan->over[s] < 0)
            l[n++] = merged[s];
    }
    qsort(l, (size_t)n, sizeof *l, by_size);
    for (int i = 0; i < n; i++) {
        int64_t at = lowest_place(plan, l, i, &l[i]);
        plan->offset[l[i].slot] = at;
        plan->bytes = TC_MAX(plan->bytes, at + l[i].bytes);
    }
    for (int s = 0; s < p->nslot; s++)
        if (plan->over[s] >= 0)
            plan->offset[s] = plan->offset[owner(plan, s)];
    for (int s = 0; s < p->nslot; s++) {
        int64_t at;
        int whole = tc_graph_whole_of(p, s, &at);
        if (whole != s && plan->offset[whole] >= 0)
            plan->offset[s] = plan->offset[whole] + at;
    }
    free(merged);
    free(l);
}

static tc_graph_plan new_plan(const tc_graph_program *p, tc_arena *a) {
    tc_graph_plan plan = {
        .offset = TC_NEW_N(a, int64_t, p->nslot), .output = TC_NEW_N(a, int, p->nslot), .over = TC_NEW_N(a, int, p->nslot)};
    for (int s = 0; s < p->nslot; s++)
        plan.over[s] = -1;
    name_outputs(p, &plan);
    return plan;
}

void tc_graph_plan_memory(const tc_graph_program *p, const bool *narrow, tc_graph_may_overwrite *may, void *user, tc_arena *a,
                          tc_graph_plan *plan) {
    life *l = lives_of(p, narrow);
    *plan = new_plan(p, a);
    place(p, l, plan);
    if (may) {
        tc_graph_plan in_place = new_plan(p, a);
        choose_in_place(p, may, user, l, &in_place);
        place(p, l, &in_place);
        if (in_place.bytes <= plan->bytes) /* where it is not smaller, it still touches fewer lines */
            *plan = in_place;
    }
    free(l);
}

/* ---- printing ---- */

typedef struct line {
    int64_t at;
    life l;
} line;

static int by_place(const void *x, const void *y) {
    const line *a = x, *b = y;
    if (a->at != b->at)
        return a->at < b->at ? -1 : 1;
    return a->l.first != b->l.first ? a->l.first - b->l.first : a->l.slot - b->l.slot;
}

void tc_graph_plan_print(const tc_graph_plan *plan, const tc_graph_program *p, const bool *narrow, tc_strbuf *out) {
    life *lives = lives_of(p, narrow);
    line *lines = tc_xcalloc((size_t)p->nslot + 1, sizeof *lines);
    int n = 0;
    for (int s = 0; s < p->nslot; s++)
        if (plan->offset[s] >= 0)
            lines[n++] = (line){plan->offset[s], lives[s]};
    qsort(lines, (size_t)n, sizeof *lines, by_place);
    for (int i = 0; i < n; i++) {
        int over = plan->over[lines[i].l.slot], within = p->slots[lines[i].l.slot].within;
        tc_sb_say(out, "%12lld %12lld  launches %d to %d  %%%s", (long long)lines[i].at, (long long)lines[i].l.bytes,
                  lines[i].l.first, lines[i].l.last, p->slots[lines[i].l.slot].name);
        if (over >= 0)
            tc_sb_say(out, " in place of %%%s", p->slots[over].name);
        if (within >= 0)
            tc_sb_say(out, " in %%%s", p->slots[within].name);
        tc_sb_addc(out, '\n');
    }
    free(lines);
    free(lives);
}

static const tc_graph_slot *largest_intermediate(const tc_graph_program *p) {
    const tc_graph_slot *most = NULL;
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].kind == TC_GRAPH_SLOT_TEMP && (!most || p->slots[i].bytes > most->bytes))
            most = &p->slots[i];
    return most;
}

void tc_graph_name_intermediates(const tc_graph_program *p, tc_error *err) {
    const tc_graph_slot *most = largest_intermediate(p);
    if (most)
        tc_error_prefix(err, "intermediate values and workspace (the largest value is '%s', %lld bytes): ", most->name,
                        (long long)most->bytes);
}
