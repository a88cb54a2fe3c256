/* The sampled steps of a trace. Each step makes one decision, checks it, and binds it to a name for later steps. If the step
 * already has a decision, the decision is checked against the step's candidates here. So a mutated trace cannot contain a
 * decision that no draw makes. */
#include "schedule_primitives/sch_int.h"

enum { MAX_LOCATIONS = 128 };

tc_status tc_sch_decide_tile(tc_sched *s, tc_instr *in, tc_rng *rng, tc_sch_decision *d, tc_error *err) {
    tc_loop l;
    int64_t parts, max_inner;
    TC_TRY(tc_sch_leaf_operand(s, in, 0, &l, err));
    TC_TRY(tc_sch_int_operand(s, in, 0, &parts, err));
    TC_TRY(tc_sch_int_operand(s, in, 1, &max_inner, err));
    if (parts < 2 || parts > TC_MAX_PARTS)
        return BAD(err, in, "a tile has 2 to %d parts, not %lld", TC_MAX_PARTS, (long long)parts);
    if (max_inner < 1)
        return BAD(err, in, "max_inner must be positive, not %lld", (long long)max_inner);
    int n = (int)parts - 1;
    int64_t extent = s->loops[l].extent, whole = 1;
    if (in->ndec == 0) {
        tc_sch_draw_tile(extent, (int)parts, max_inner, rng, in->dec);
        in->ndec = n;
    }
    if (in->ndec != n)
        return REFUSE(err, in, "the decision has %d factors, but a tile of %lld parts needs %d", in->ndec, (long long)parts, n);
    if (!tc_sch_tile_legal(extent, (int)parts, max_inner, in->dec))
        return REFUSE(err, in,
                      "the decision is not a tile of %s: factors must be positive, the innermost at most %lld, and their product "
                      "at most about %lld",
                      in->names[0], (long long)max_inner, (long long)extent);
    for (int i = 0; i < n; i++) {
        d->part[i + 1] = in->dec[i];
        whole *= in->dec[i];
    }
    d->part[0] = tc_ceil_div(extent, whole);
    d->n = (int)parts;
    return TC_OK;
}

tc_status tc_sch_decide_category(tc_sched *s, tc_instr *in, tc_rng *rng, tc_sch_decision *d, tc_error *err) {
    int64_t v;
    if (in->ndec == 0) {
        TC_TRY(tc_sch_int_operand(s, in, (int)tc_rng_below(rng, in->nints), &in->dec[0], err));
        in->ndec = 1;
    }
    d->part[0] = in->dec[0];
    d->n = 1;
    for (int i = 0; i < in->nints; i++) {
        TC_TRY(tc_sch_int_operand(s, in, i, &v, err));
        if (v == in->dec[0])
            return TC_OK;
    }
    return REFUSE(err, in, "%lld is not one of the step's values", (long long)in->dec[0]);
}

/* The same answer as looking it up among tc_sch_locations, without making the list: replay checks, only draws need them all. */
static bool is_location(tc_sched *s, int stage, const char *name) {
    const tc_instr probe = {.prim = TC_PRIM_COMPUTE_AT};
    tc_sch_why why;
    if (strcmp(name, "root") == 0)
        return tc_sch_can_root(s, stage);
    if (strcmp(name, "inline") == 0)
        return tc_sch_can_inline(s, stage, &probe, NULL) == TC_OK;
    tc_loop l = tc_sch_find_loop(s, name);
    return l >= 0 && tc_sch_can_attach(s, stage, s->loops[l].stage, l, &why);
}

tc_status tc_sch_decide_location(tc_sched *s, tc_instr *in, tc_rng *rng, tc_sch_decision *d, tc_error *err) {
    int stage;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &stage, err));
    if (in->ndec == 0) {
        const char *locations[MAX_LOCATIONS];
        int n = TC_MIN(tc_sch_locations(s, stage, locations, MAX_LOCATIONS), MAX_LOCATIONS);
        if (n == 0)
            return REFUSE(err, in, "there is no place where stage %s could be computed", s->stages[stage].name);
        in->dec_loc = locations[tc_rng_below(rng, n)];
        in->ndec = 1;
    } else if (!is_location(s, stage, in->dec_loc)) {
        return REFUSE(err, in, "stage %s cannot be computed at `%s`", s->stages[stage].name, in->dec_loc);
    }
    d->loc = in->dec_loc;
    d->n = 1;
    return TC_OK;
}

static void bind(tc_sched *s, const tc_sch_decision *d) {
    tc_sch_impl *m = tc_sch_impl_of(s);
    if (m->ndecision == m->cap_decision) {
        m->cap_decision = m->cap_decision ? 2 * m->cap_decision : 16;
        tc_sch_decision *bigger = TC_NEW_N(tc_ctx_arena(s->ctx), tc_sch_decision, m->cap_decision);
        if (m->ndecision)
            memcpy(bigger, m->decisions, sizeof *bigger * (size_t)m->ndecision);
        m->decisions = bigger;
    }
    m->decisions[m->ndecision++] = *d;
}

tc_status tc_sch_do_sampled(tc_sched *s, tc_instr *in, tc_rng *rng, tc_error *err) {
    tc_sch_decision d = {.name = in->outs[0], .prim = in->prim};
    if (tc_sch_find_decision(s, d.name, strlen(d.name)))
        return REFUSE(err, in, "there is a decision `%s` already; choose another name", d.name);
    if (strchr(d.name, '.') || strcmp(d.name, "_") == 0)
        return BAD(err, in, "`%s` cannot be a decision's name", d.name);
    if (in->ndec == 0 && !rng)
        return BAD(err, in, "`%s` has no decision, and this replay draws none; write a decision after `~`", d.name);
    TC_TRY(tc_sch_form_of(in->prim)->decide(s, in, rng, &d, err));
    bind(s, &d);
    return TC_OK;
}
