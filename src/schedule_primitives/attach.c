/* compute_at and compute_root: where a stage is computed. Every change that could break this invariant checks it afterwards:
 *
 *   A stage D may be attached at loop l of stage Y. Each consumer of D is in Y's body, or in a stage attached at l or further in,
 *   directly or through other stages. Loop l is a leaf of Y. Neither l nor a loop around l is vectorised.
 *
 * So every stage stands before its consumers. The chain of attachments goes upwards in stage order, and has no cycle. */
#include "schedule_primitives/sch_int.h"

/* The loop of `top` inside which stage `st` is computed: its position among top's leaves, nleaf for top itself, -1 if it is
 * elsewhere. */
static int depth_in(const tc_sched *s, int top, int st) {
    while (st != top && s->stages[st].attach == TC_ATTACH_AT) {
        if (s->stages[st].at_stage == top)
            return tc_sch_leaf_pos(&s->stages[top], s->stages[st].at_loop);
        st = s->stages[st].at_stage;
    }
    return st == top ? s->stages[top].nleaf : -1;
}

static bool check_one(const tc_sched *s, int d, tc_sch_why *why) {
    const tc_stage *st = &s->stages[d], *at = &s->stages[st->at_stage];
    int pos = tc_sch_leaf_pos(at, st->at_loop);
    *why = (tc_sch_why){.kind = TC_WHY_NOT_LEAF, .stage = d};
    if (pos < 0)
        return false;
    why->kind = TC_WHY_VECTOR;
    for (int i = 0; i <= pos; i++) {
        why->loop = at->leaf[i];
        if (s->loops[at->leaf[i]].kind == TC_FOR_VECTOR)
            return false;
    }
    why->kind = TC_WHY_CONSUMER;
    for (int e = d + 1; e < s->nstage; e++) {
        why->consumer = e;
        if (s->stages[e].attach != TC_ATTACH_INLINE && tc_sch_reads_stage(s, e, d) && depth_in(s, st->at_stage, e) < pos)
            return false;
    }
    return true;
}

bool tc_sch_check_attach(const tc_sched *s, int only, tc_sch_why *why) {
    for (int i = 0; i < s->nstage; i++)
        if (s->stages[i].attach == TC_ATTACH_AT && (only < 0 || s->stages[i].at_stage == only) && !check_one(s, i, why))
            return false;
    return true;
}

tc_status tc_sch_refuse_why(const tc_sched *s, const tc_instr *in, const tc_sch_why *why, tc_error *err) {
    const tc_stage *st = &s->stages[why->stage];
    switch (why->kind) {
    case TC_WHY_NOT_LEAF:
        return REFUSE(err, in, "stage %s would be attached at a loop that no longer exists", st->name);
    case TC_WHY_VECTOR:
        return REFUSE(err, in, "stage %s would be computed inside the vectorised loop %s", st->name,
                      tc_sch_loop_text(s, why->loop));
    case TC_WHY_CONSUMER:
        return REFUSE(err, in, "consumer %s of %s is outside loop %s", s->stages[why->consumer].name, st->name,
                      tc_sch_loop_text(s, st->at_loop));
    case TC_WHY_OK:
        break;
    }
    return TC_OK;
}

/* Moves a stage and checks the whole schedule: stages that it reads may be attached where they no longer reach it. It stays moved
 * if the answer is no, because the message names where it was to go; the caller puts it back. */
static bool try_move(tc_sched *s, int d, tc_attach attach, int at_stage, tc_loop loop, tc_sch_why *why) {
    tc_stage *st = &s->stages[d];
    st->attach = attach;
    st->at_stage = at_stage;
    st->at_loop = loop;
    return tc_sch_check_attach(s, -1, why);
}

bool tc_sch_can_attach(tc_sched *s, int stage, int at_stage, tc_loop loop, tc_sch_why *why) {
    if (s->stages[stage].is_output || at_stage <= stage || s->stages[at_stage].attach == TC_ATTACH_INLINE)
        return false;
    tc_stage before = s->stages[stage];
    bool ok = try_move(s, stage, TC_ATTACH_AT, at_stage, loop, why);
    s->stages[stage] = before;
    return ok;
}

bool tc_sch_can_root(tc_sched *s, int stage) {
    tc_stage before = s->stages[stage];
    tc_sch_why why;
    bool ok = try_move(s, stage, TC_ATTACH_ROOT, -1, -1, &why);
    s->stages[stage] = before;
    return ok;
}

/* Is `st` attached inside `top`, at any depth? */
static bool is_inside(const tc_sched *s, int top, int st) {
    return st != top && depth_in(s, top, st) >= 0;
}

static tc_status attach_at(tc_sched *s, const tc_instr *in, int d, tc_loop loop, tc_error *err) {
    tc_stage *st = &s->stages[d];
    int y = s->loops[loop].stage;
    if (st->is_output)
        return REFUSE(err, in, "stage %s is an output of the workload and must be computed whole", st->name);
    if (y == d)
        return REFUSE(err, in, "a stage cannot be attached at its own loop");
    if (is_inside(s, d, y))
        return REFUSE(err, in, "stage %s is itself computed inside %s", s->stages[y].name, st->name);
    tc_stage before = *st;
    tc_sch_why why;
    if (try_move(s, d, TC_ATTACH_AT, y, loop, &why))
        return TC_OK;
    tc_status status = tc_sch_refuse_why(s, in, &why, err);
    *st = before;
    return status;
}

static tc_status attach_root(tc_sched *s, const tc_instr *in, int d, tc_error *err) {
    tc_stage before = s->stages[d];
    tc_sch_why why;
    if (try_move(s, d, TC_ATTACH_ROOT, -1, -1, &why))
        return TC_OK;
    tc_status status = tc_sch_refuse_why(s, in, &why, err);
    s->stages[d] = before;
    return status;
}

/* The place may be a location decision: "root", "inline" or a loop. */
static tc_status attach_decided(tc_sched *s, const tc_instr *in, int d, tc_error *err) {
    const char *name = in->names[1];
    const tc_sch_decision *dec = tc_sch_find_decision(s, name, strlen(name));
    if (!dec || !dec->loc)
        return BAD(err, in, "`%s` is neither a loop such as Y.i nor a sampled location", name);
    if (strcmp(dec->loc, "root") == 0)
        return attach_root(s, in, d, err);
    if (strcmp(dec->loc, "inline") == 0) {
        TC_TRY(tc_sch_can_inline(s, d, in, err));
        tc_sch_inline(s, d);
        return TC_OK;
    }
    tc_loop loop;
    tc_instr at = *in;
    at.names = (const char *const[]){in->names[0], dec->loc};
    TC_TRY(tc_sch_leaf_operand(s, &at, 1, &loop, err));
    return attach_at(s, in, d, loop, err);
}

tc_status tc_sch_do_compute_at(tc_sched *s, const tc_instr *in, tc_error *err) {
    int d;
    tc_loop loop;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &d, err));
    if (!strchr(in->names[1], '.'))
        return attach_decided(s, in, d, err);
    TC_TRY(tc_sch_leaf_operand(s, in, 1, &loop, err));
    return attach_at(s, in, d, loop, err);
}

tc_status tc_sch_do_compute_root(tc_sched *s, const tc_instr *in, tc_error *err) {
    int d;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &d, err));
    return attach_root(s, in, d, err);
}

/* ---- candidates ---- */

/* The stage in whose nest all consumers of d are, as deep as possible: candidates are its loops and those of the stages around
 * it. -1: none. */
static int common_host(const tc_sched *s, int d) {
    for (int y = d + 1; y < s->nstage; y++) {
        bool all = s->stages[y].attach != TC_ATTACH_INLINE, any = false;
        for (int e = d + 1; e < s->nstage && all; e++) {
            if (s->stages[e].attach == TC_ATTACH_INLINE || !tc_sch_reads_stage(s, e, d))
                continue;
            any = true;
            all = depth_in(s, y, e) >= 0;
        }
        if (all && any)
            return y;
    }
    return -1;
}

static void add_location(const char **out, int cap, int *n, const char *name) {
    if (*n < cap)
        out[*n] = name;
    (*n)++;
}

/* Loops of the stages around `y` first. */
static void add_loops(tc_sched *s, int d, int y, const char **out, int cap, int *n) {
    if (s->stages[y].attach == TC_ATTACH_AT)
        add_loops(s, d, s->stages[y].at_stage, out, cap, n);
    tc_sch_why why;
    for (int i = 0; i < s->stages[y].nleaf; i++) {
        tc_loop l = s->stages[y].leaf[i];
        if (tc_sch_can_attach(s, d, y, l, &why))
            add_location(out, cap, n, *n < cap ? tc_sch_loop_text(s, l) : NULL);
    }
}

int tc_sch_locations(const tc_sched *cs, int stage, const char **out, int cap) {
    tc_sched *s = &tc_sch_impl_of(cs)->pub; /* stages are moved to try, and put back */
    tc_instr probe = {.prim = TC_PRIM_COMPUTE_AT};
    int n = 0;
    if (s->stages[stage].attach == TC_ATTACH_INLINE)
        return 0;
    if (tc_sch_can_root(s, stage))
        add_location(out, cap, &n, "root");
    if (tc_sch_can_inline(s, stage, &probe, NULL) == TC_OK)
        add_location(out, cap, &n, "inline");
    int host = s->stages[stage].is_output ? -1 : common_host(s, stage);
    if (host >= 0)
        add_loops(s, stage, host, out, cap, &n);
    return n;
}
