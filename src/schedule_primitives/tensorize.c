/* tensorize: the innermost loops of a stage become one instruction of the table intrinsics.def.
 *
 *   for i_i < 16 { for j_i < 16 { for k_i < 64 { D += i32(A[i, k]) * i32(B[k, j]) } } }   =>   tensorize D.i_i amx_u8s8
 *
 * The loops stand for the unit's rows (if it has more than one), columns and products, outermost first. This file checks their
 * number, kinds and extents. It also checks the stage's body: a sum of products of the unit's types, in which one factor moves
 * with the rows and the other factor with the columns. Lowering checks how the operands lie in memory and what the target has,
 * since only lowering knows both. The loops of a dot product become vectorised and unrolled loops. The loops of a unit with
 * tiles have a kind of their own. */
#include "schedule_primitives/sch_int.h"
#include "support/guess.h"
#include "te/intrinsic.h"

enum { ROWS, COLUMNS, PRODUCTS, ROLES };

static const char *const ROLE[ROLES] = {"rows", "columns", "products"};

static const char *unit_list(const tc_sched *s, tc_dtype acc) {
    const char *text = "";
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)i);
        if (r->acc == acc)
            text = tc_arena_printf(tc_ctx_arena(s->ctx), "%s%s%s", text, *text ? ", " : "", r->text);
    }
    return text;
}

/* What a name that no unit has may have meant. */
static const char *guess_unit(const tc_sched *s, const char *name) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < TC_NINTRINSICS; i++)
        tc_guess_add(&g, tc_intrinsic_row((tc_intrinsic_id)i)->text);
    return tc_arena_strdup(tc_ctx_arena(s->ctx), tc_guess_say(&g, "", "`man tctune-sched` describes all units", text));
}

/* Axes of the stage that loop l is made of: a bit per root loop. */
static uint64_t axes_of(const tc_stage *st, tc_loop l) {
    for (int i = 0; i < st->nroot; i++)
        if (st->root[i] == l)
            return (uint64_t)1 << i;
    uint64_t all = 0;
    for (int i = 0; i < st->nrel; i++) {
        const tc_rel *r = &st->rel[i];
        for (int p = 0; p < r->n; p++)
            if (r->kind == TC_REL_SPLIT && r->parts[p] == l)
                return axes_of(st, r->whole);
            else if (r->kind == TC_REL_FUSE && r->whole == l)
                all |= axes_of(st, r->parts[p]);
    }
    return all;
}

static bool moves(const tc_stage *st, const tc_expr *read, tc_loop l) {
    uint64_t axes = axes_of(st, l);
    for (int i = 0; i < st->nroot; i++) {
        const tc_var *v = i < st->op->naxis ? st->op->axes[i].var : st->op->raxes[i - st->op->naxis].var;
        for (int d = 0; (axes >> i & 1) && d < read->nargs; d++)
            if (tc_expr_uses_var(read->args[d], v))
                return true;
    }
    return false;
}

/* A factor as it is stored, under a conversion to the type of the sum. */
static const tc_expr *stored(const tc_expr *e) {
    const tc_expr *x = e->op == TC_OP_CAST ? e->args[0] : e;
    return x->op == TC_OP_READ ? x : NULL;
}

/* The loops from `first` inwards; loops[ROWS] is -1 for a unit of one row. */
static tc_status read_loops(const tc_sched *s, const tc_instr *in, const tc_intrinsic *u, tc_loop first, tc_loop *loops,
                            tc_error *err) {
    const tc_stage *st = &s->stages[s->loops[first].stage];
    int role = u->m > 1 ? ROWS : COLUMNS, pos = tc_sch_leaf_pos(st, first), want = ROLES - role;
    const int most[ROLES] = {u->m, u->n, u->k};
    loops[ROWS] = -1;
    if (st->nleaf - pos != want)
        return REFUSE(err, in, "%s is the outermost of %d loops, but unit %s takes %d: its %s%s", in->names[0], st->nleaf - pos,
                      u->text, want, u->m > 1 ? "rows, " : "", "columns and products");
    for (; role < ROLES; role++, pos++) {
        tc_loop l = loops[role] = st->leaf[pos];
        const tc_loop_info *info = &s->loops[l];
        if (info->reduce != (role == PRODUCTS))
            return REFUSE(err, in, "%s stands for the unit's %s, but is %sa reduction loop", tc_sch_loop_text(s, l), ROLE[role],
                          info->reduce ? "" : "not ");
        if (info->kind != TC_FOR_SERIAL)
            return REFUSE(err, in, "%s is %s already", tc_sch_loop_text(s, l), tc_for_info_of(info->kind)->is);
        bool wide = role == COLUMNS && u->place == TC_UNIT_VECTOR; /* several registers side by side */
        if (info->extent > most[role] && !wide)
            return REFUSE(err, in, "%s has %lld iterations, but unit %s takes at most %d %s", tc_sch_loop_text(s, l),
                          (long long)info->extent, u->text, most[role], ROLE[role]);
        int d = tc_sch_attached_in(s, info->stage, l);
        if (d >= 0)
            return REFUSE(err, in, "stage %s is attached at %s", s->stages[d].name, tc_sch_loop_text(s, l));
    }
    int64_t k = s->loops[loops[PRODUCTS]].extent;
    if (k % u->group || (u->place == TC_UNIT_VECTOR && k != u->k))
        return REFUSE(err, in, "%s has %lld iterations, but unit %s takes %d products at a time",
                      tc_sch_loop_text(s, loops[PRODUCTS]), (long long)k, u->text, u->group);
    return TC_OK;
}

/* Which of two factors is the unit's a; the other one is b. */
static const tc_expr *left_factor(const tc_stage *st, const tc_intrinsic *u, const tc_loop *loops, const tc_expr *x,
                                  const tc_expr *y) {
    bool fits = u->m == 1 ? (x->dtype == u->a && y->dtype == u->b) || (x->dtype == u->b && y->dtype == u->a)
                          : x->dtype == u->a && y->dtype == u->b;
    bool walked = moves(st, x, loops[PRODUCTS]) && moves(st, y, loops[PRODUCTS]) && !moves(st, x, loops[COLUMNS]) &&
                  (u->m == 1 || !moves(st, y, loops[ROWS]));
    return fits && walked ? x : NULL;
}

static tc_status check_body(const tc_sched *s, const tc_instr *in, const tc_intrinsic *u, int stage, const tc_loop *loops,
                            tc_error *err) {
    const tc_stage *st = &s->stages[stage];
    const tc_expr *e = st->op->body[0];
    if (st->op->reducer != TC_RED_SUM || e->op != TC_OP_MUL || !stored(e->args[0]) || !stored(e->args[1]))
        return REFUSE(err, in, "stage %s is not a sum of products of two tensors", st->name);
    if (e->dtype != u->acc)
        return REFUSE(err, in, "stage %s adds up in %s, but unit %s adds up in %s; units that add up in %s are %s", st->name,
                      tc_dtype_name(e->dtype), u->text, tc_dtype_name(u->acc), tc_dtype_name(e->dtype),
                      unit_list(s, (tc_dtype)e->dtype));
    const tc_expr *x = stored(e->args[0]), *y = stored(e->args[1]);
    if (left_factor(st, u, loops, x, y) || left_factor(st, u, loops, y, x))
        return TC_OK;
    return REFUSE(err, in,
                  "unit %s multiplies a tensor of %s indexed by %s and %s by a tensor of %s indexed by %s and %s; stage %s "
                  "multiplies %s (%s) by %s (%s)",
                  u->text, tc_dtype_name(u->a), u->m > 1 ? tc_sch_loop_text(s, loops[ROWS]) : "outer loops",
                  tc_sch_loop_text(s, loops[PRODUCTS]), tc_dtype_name(u->b), tc_sch_loop_text(s, loops[COLUMNS]),
                  tc_sch_loop_text(s, loops[PRODUCTS]), st->name, x->u.tensor->name, tc_dtype_name(x->dtype), y->u.tensor->name,
                  tc_dtype_name(y->dtype));
}

tc_status tc_sch_do_tensorize(tc_sched *s, const tc_instr *in, tc_error *err) {
    tc_loop first, loops[ROLES];
    TC_TRY(tc_sch_leaf_operand(s, in, 0, &first, err));
    const tc_intrinsic *u = tc_intrinsic_named(in->text);
    if (!u)
        return BAD(err, in, "there is no unit `%s`%s", in->text, guess_unit(s, in->text));
    TC_TRY(read_loops(s, in, u, first, loops, err));
    TC_TRY(check_body(s, in, u, s->loops[first].stage, loops, err));
    for (int r = u->m > 1 ? ROWS : COLUMNS; r < ROLES; r++)
        s->loops[loops[r]].kind = u->place != TC_UNIT_VECTOR ? TC_FOR_TENSOR : r == PRODUCTS ? TC_FOR_UNROLL : TC_FOR_VECTOR;
    s->loops[first].unit = u;
    return TC_OK;
}
