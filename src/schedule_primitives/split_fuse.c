/* split, tile and fuse: new loops from old loops. The stage records the relation; lowering inverts it.
 *
 *   split:  for i < n { S }  =>  for o < ceil(n / f) { for t < f { if o * f + t < n { S[i := o * f + t] } } }
 *   fuse:   for a < m { for b < n { S } }  =>  for t < m * n { S[a := t / n, b := t % n] }
 *
 * This file keeps static extents. The outermost part of a split is always the inferred part: the extent of an attached stage's
 * axis is known only when the region that its consumer needs is known. */
#include "schedule_primitives/sch_int.h"
#include "support/vec.h"

/* A schedule whose loops iterate more often than this is a mistake, and its index arithmetic could overflow. */
static const int64_t MAX_EXTENT = (int64_t)1 << 40;

/* Inner factors f[1 .. n) and their product. */
static tc_status check_factors(const tc_instr *in, int n, const int64_t *f, int64_t *product, tc_error *err) {
    *product = 1;
    for (int i = 1; i < n; i++) {
        if (f[i] < 1)
            return REFUSE(err, in, "factor %lld is not positive", (long long)f[i]);
        if (f[i] > MAX_EXTENT / *product)
            return REFUSE(err, in, "the factors' product exceeds 2^40");
        *product *= f[i];
    }
    return TC_OK;
}

/* The first factor may be `_`, part 0 of a tile decision (which is inferred too), or the number that would be inferred. */
static tc_status read_factors(const tc_sched *s, const tc_instr *in, tc_loop l, int64_t *f, tc_error *err) {
    int n = in->nints;
    for (int i = 1; i < n; i++)
        TC_TRY(tc_sch_int_operand(s, in, i, &f[i], err));
    int64_t product;
    TC_TRY(check_factors(in, n, f, &product, err));
    f[0] = tc_ceil_div(s->loops[l].extent, product);
    if (in->ints[0].kind == TC_ARG_INFER || (in->ints[0].kind == TC_ARG_REF && in->ints[0].part == 0))
        return TC_OK;
    int64_t given;
    TC_TRY(tc_sch_int_operand(s, in, 0, &given, err));
    if (given != f[0])
        return REFUSE(err, in, "the outermost part of %s is inferred to be %lld, not %lld; write `_`", in->names[0],
                      (long long)f[0], (long long)given);
    return TC_OK;
}

/* A loop that carries an annotation or an attached stage stays as it is. */
static tc_status check_plain(const tc_sched *s, const tc_instr *in, const char *name, tc_loop l, tc_error *err) {
    const tc_loop_info *info = &s->loops[l];
    if (info->kind != TC_FOR_SERIAL)
        return REFUSE(err, in, "%s is %s already; annotate loops after they have been shaped", name,
                      tc_for_info_of(info->kind)->is);
    int d = tc_sch_attached_in(s, info->stage, l);
    if (d >= 0)
        return REFUSE(err, in, "stage %s is attached at %s; split or fuse a loop before attaching a stage to it",
                      s->stages[d].name, name);
    return TC_OK;
}

static void split_loop(tc_sched *s, tc_loop l, int n, const char *const *names, const int64_t *f, tc_loop *parts) {
    int stage = s->loops[l].stage;
    tc_rel rel = {.kind = TC_REL_SPLIT, .whole = l, .n = n};
    for (int i = 0; i < n; i++) {
        parts[i] = rel.parts[i] = tc_sch_new_loop(s, stage, names[i], s->loops[l].reduce, f[i]);
        rel.factor[i] = f[i];
    }
    tc_sch_add_rel(s, stage, &rel);
    tc_sch_splice_leaf(s, stage, tc_sch_leaf_pos(&s->stages[stage], l), 1, parts, n);
}

tc_status tc_sch_do_split(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_loop l, parts[TC_MAX_PARTS];
    int64_t f[TC_MAX_PARTS];
    if (in->nints != in->nouts)
        return BAD(err, in, "%d names for %d factors", in->nouts, in->nints);
    TC_TRY(tc_sch_leaf_operand(s, in, 0, &l, err));
    TC_TRY(read_factors(s, in, l, f, err));
    TC_TRY(check_plain(s, in, in->names[0], l, err));
    TC_TRY(tc_sch_new_loop_names(s, in, s->loops[l].stage, in->nouts, in->outs, err));
    split_loop(s, l, in->nints, in->outs, f, parts);
    return TC_OK;
}

/* tile x y fx fy: both are split in two, and the four take the places in the order xo, yo, xi, yi. */
static void place_tiles(tc_sched *s, int stage, const tc_loop *x, const tc_loop *y) {
    const tc_loop order[] = {x[0], y[0], x[1], y[1]};
    tc_stage *st = &s->stages[stage];
    for (int i = 0, k = 0; i < st->nleaf; i++) {
        tc_loop l = st->leaf[i];
        if (l == x[0] || l == x[1] || l == y[0] || l == y[1])
            st->leaf[i] = order[k++];
    }
}

tc_status tc_sch_do_tile(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_loop l[2], parts[2][TC_MAX_PARTS];
    int64_t f[2][2], product;
    for (int i = 0; i < 2; i++) {
        TC_TRY(tc_sch_leaf_operand(s, in, i, &l[i], err));
        TC_TRY(tc_sch_int_operand(s, in, i, &f[i][1], err));
        TC_TRY(check_factors(in, 2, f[i], &product, err));
        TC_TRY(check_plain(s, in, in->names[i], l[i], err));
        f[i][0] = tc_ceil_div(s->loops[l[i]].extent, product);
    }
    int stage = s->loops[l[0]].stage;
    if (l[0] == l[1] || s->loops[l[1]].stage != stage)
        return REFUSE(err, in, "%s and %s must be two loops of one stage", in->names[0], in->names[1]);
    int at = tc_sch_attached_in(s, stage, -1);
    if (at >= 0)
        return REFUSE(err, in, "stage %s is attached inside %s; tile the loops before attaching a stage", s->stages[at].name,
                      s->stages[stage].name);
    TC_TRY(tc_sch_new_loop_names(s, in, stage, 4, in->outs, err));
    for (int i = 0; i < 2; i++)
        split_loop(s, l[i], 2, (const char *const[]){in->outs[i], in->outs[i + 2]}, f[i], parts[i]);
    place_tiles(s, stage, parts[0], parts[1]);
    return TC_OK;
}

/* The loops to fuse, checked: adjacent leaves of one stage and kind, outer first. An attach point may only sit at the innermost
 * of them: inside the fused loop it is where it was. */
static tc_status fuse_operands(const tc_sched *s, const tc_instr *in, tc_rel *rel, tc_error *err) {
    for (int i = 0; i < in->nnames; i++)
        TC_TRY(tc_sch_leaf_operand(s, in, i, &rel->parts[i], err));
    const tc_loop_info *first = &s->loops[rel->parts[0]];
    const tc_stage *st = &s->stages[first->stage];
    int64_t extent = first->extent;
    for (int i = 0; i < in->nnames; i++) {
        const tc_loop_info *info = &s->loops[rel->parts[i]];
        if (info->stage != first->stage)
            return REFUSE(err, in, "%s and %s belong to different stages", in->names[0], in->names[i]);
        if (i && tc_sch_leaf_pos(st, rel->parts[i]) != tc_sch_leaf_pos(st, rel->parts[i - 1]) + 1)
            return REFUSE(err, in, "%s is not directly inside %s; reorder first", in->names[i], in->names[i - 1]);
        if (info->reduce != first->reduce)
            return REFUSE(err, in, "%s and %s cannot be fused: one is a reduction loop, the other is not", in->names[0],
                          in->names[i]);
        if (i < in->nnames - 1 || info->kind != TC_FOR_SERIAL)
            TC_TRY(check_plain(s, in, in->names[i], rel->parts[i], err));
        if (i && extent && info->extent > MAX_EXTENT / extent)
            return REFUSE(err, in, "the fused extent exceeds 2^40");
        extent = i ? extent * info->extent : extent;
    }
    rel->n = in->nnames;
    return TC_OK;
}

tc_status tc_sch_do_fuse(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_rel rel = {.kind = TC_REL_FUSE};
    TC_TRY(fuse_operands(s, in, &rel, err));
    int stage = s->loops[rel.parts[0]].stage;
    TC_TRY(tc_sch_new_loop_names(s, in, stage, 1, in->outs, err));
    int64_t extent = 1;
    for (int i = 0; i < rel.n; i++)
        extent *= s->loops[rel.parts[i]].extent;
    tc_loop inner = rel.parts[rel.n - 1];
    rel.whole = tc_sch_new_loop(s, stage, in->outs[0], s->loops[inner].reduce, extent);
    tc_sch_add_rel(s, stage, &rel);
    tc_sch_splice_leaf(s, stage, tc_sch_leaf_pos(&s->stages[stage], rel.parts[0]), rel.n, &rel.whole, 1);
    for (int i = 0; i < s->nstage; i++)
        if (s->stages[i].attach == TC_ATTACH_AT && s->stages[i].at_loop == inner)
            s->stages[i].at_loop = rel.whole;
    return TC_OK;
}
