/* reorder, the annotations of loops, and small properties of a stage: scope, alignment, pragmas. */
#include "schedule_primitives/sch_int.h"

/* The listed loops keep the set of places they occupy and fill it in the listed order; the others stay where they are.
 * Any order computes the same: a reduction's initial value is stored before the outermost of its reduction loops. */
static tc_status reorder_operands(const tc_sched *s, const tc_instr *in, tc_loop *listed, tc_error *err) {
    for (int i = 0; i < in->nnames; i++) {
        TC_TRY(tc_sch_leaf_operand(s, in, i, &listed[i], err));
        if (s->loops[listed[i]].stage != s->loops[listed[0]].stage)
            return REFUSE(err, in, "%s and %s belong to different stages", in->names[0], in->names[i]);
        for (int k = 0; k < i; k++)
            if (listed[k] == listed[i])
                return BAD(err, in, "%s is listed twice", in->names[i]);
    }
    return TC_OK;
}

static bool is_listed(const tc_loop *listed, int n, tc_loop l) {
    for (int i = 0; i < n; i++)
        if (listed[i] == l)
            return true;
    return false;
}

tc_status tc_sch_do_reorder(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_loop listed[TC_SCH_MAX_NAMES];
    TC_TRY(reorder_operands(s, in, listed, err));
    int stage = s->loops[listed[0]].stage;
    tc_stage *st = &s->stages[stage];
    tc_loop *before = st->leaf;
    st->leaf = tc_arena_dup(tc_ctx_arena(s->ctx), before, sizeof *before * (size_t)st->nleaf);
    for (int i = 0, k = 0; i < st->nleaf; i++)
        if (is_listed(listed, in->nnames, before[i]))
            st->leaf[i] = listed[k++];
    tc_sch_why why;
    if (tc_sch_check_attach(s, stage, &why))
        return TC_OK;
    st->leaf = before;
    return tc_sch_refuse_why(s, in, &why, err);
}

static tc_status check_vectorize(const tc_sched *s, const tc_instr *in, tc_loop l, tc_error *err) {
    const tc_loop_info *info = &s->loops[l];
    const tc_stage *st = &s->stages[info->stage];
    if (info->reduce)
        return REFUSE(err, in, "%s is a reduction loop; rfactor makes a loop that can be vectorised", in->names[0]);
    int pos = tc_sch_leaf_pos(st, l);
    for (int i = 0; i < st->nleaf; i++) {
        if (s->loops[st->leaf[i]].kind == TC_FOR_VECTOR)
            return REFUSE(err, in, "stage %s has a vectorised loop already: %s", st->name, s->loops[st->leaf[i]].name);
        int d = i < pos ? -1 : tc_sch_attached_in(s, info->stage, st->leaf[i]);
        if (d >= 0)
            return REFUSE(err, in, "stage %s is attached at or inside %s, and a stage cannot be computed lane by lane",
                          s->stages[d].name, in->names[0]);
    }
    return TC_OK;
}

static tc_status check_parallel(const tc_sched *s, const tc_instr *in, tc_loop l, tc_error *err) {
    const tc_loop_info *info = &s->loops[l];
    const tc_stage *st = &s->stages[info->stage];
    if (info->reduce)
        return REFUSE(err, in,
                      "%s is a reduction loop: its iterations write the same elements; rfactor makes a loop that can be parallel",
                      in->names[0]);
    for (int i = 0; i < st->nleaf; i++)
        if (s->loops[st->leaf[i]].kind == TC_FOR_PARALLEL)
            return REFUSE(err, in, "stage %s has a parallel loop already: %s; fuse the two loops first", st->name,
                          s->loops[st->leaf[i]].name);
    return TC_OK;
}

tc_status tc_sch_do_annotate(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_loop l;
    TC_TRY(tc_sch_leaf_operand(s, in, 0, &l, err));
    if (s->loops[l].kind != TC_FOR_SERIAL)
        return REFUSE(err, in, "%s is %s already", in->names[0], tc_for_info_of(s->loops[l].kind)->is);
    if (in->prim == TC_PRIM_VECTORIZE)
        TC_TRY(check_vectorize(s, in, l, err));
    if (in->prim == TC_PRIM_PARALLEL)
        TC_TRY(check_parallel(s, in, l, err));
    for (int k = 0; k < TC_NFORS; k++)
        if (tc_for_info_of((tc_for_kind)k)->made_by == in->prim)
            s->loops[l].kind = (tc_for_kind)k;
    return TC_OK;
}

tc_status tc_sch_do_set_scope(tc_sched *s, const tc_instr *in, tc_error *err) {
    int st;
    tc_scope scope;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &st, err));
    TC_TRY(tc_sch_scope_operand(in, &scope, err));
    if (s->stages[st].is_output && scope != TC_SCOPE_GLOBAL)
        return REFUSE(err, in, "stage %s is an output, which the caller owns", s->stages[st].name);
    s->stages[st].scope = scope;
    return TC_OK;
}

tc_status tc_sch_do_storage_align(tc_sched *s, const tc_instr *in, tc_error *err) {
    int st;
    int64_t dim, factor;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &st, err));
    TC_TRY(tc_sch_int_operand(s, in, 0, &dim, err));
    TC_TRY(tc_sch_int_operand(s, in, 1, &factor, err));
    tc_stage *stage = &s->stages[st];
    int naxis = stage->op->naxis;
    if (stage->is_output)
        return REFUSE(err, in, "stage %s is an output: the caller's array is dense", stage->name);
    if (stage->layout)
        return REFUSE(err, in, "stage %s has a layout of its own; put the padding there", stage->name);
    if (dim < 0 || dim >= naxis - 1)
        return REFUSE(err, in, "dimension %lld of %s: only dimensions 0 to %d have a stride to pad", (long long)dim, stage->name,
                      naxis - 2);
    if (factor < 1 || factor > 65536)
        return REFUSE(err, in, "the factor must be 1 to 65536, not %lld", (long long)factor);
    stage->align_dim = (int)dim;
    stage->align_factor = factor;
    return TC_OK;
}

tc_status tc_sch_do_pragma(tc_sched *s, const tc_instr *in, tc_error *err) {
    int st;
    int64_t value;
    TC_TRY(tc_sch_stage_operand(s, in, 0, &st, err));
    TC_TRY(tc_sch_int_operand(s, in, 0, &value, err));
    if (strcmp(in->text, TC_SCH_AUTO_UNROLL) != 0)
        return REFUSE(err, in, "there is no pragma `%s`; there is " TC_SCH_AUTO_UNROLL, in->text);
    if (value < 0)
        return REFUSE(err, in, "the value of " TC_SCH_AUTO_UNROLL " must not be negative, but is %lld", (long long)value);
    tc_stage *stage = &s->stages[st];
    int n = stage->npragma;
    tc_pragma *p = TC_NEW_N(tc_ctx_arena(s->ctx), tc_pragma, n + 1);
    if (n)
        memcpy(p, stage->pragma, sizeof *p * (size_t)n);
    stage->pragma = p;
    for (int i = 0; i < n; i++) {
        if (strcmp(p[i].key, in->text) == 0) {
            p[i].value = value;
            return TC_OK;
        }
    }
    p[stage->npragma++] = (tc_pragma){.key = in->text, .value = value};
    return TC_OK;
}
