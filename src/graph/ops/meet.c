/* Where the sizes of two operands must be the same. What the model says with that of its symbols is kept (graph/ir/sizes.h). */
#include "graph/ops/functions.h"

#include "graph/ir/sizes.h"

/* ---- in bodies ---- */

/* x, of the body g, in sizes of the graph around it; NULL: it depends on what only the body knows. */
static const tc_expr *around(tc_graph *g, const tc_expr *x) {
    tc_graph_sizes *from = g->sizes, *to = tc_graph_sizes_of(from->around);
    const tc_expr *arg[3];
    if (x->op == TC_OP_INT)
        return tc_int(to->ctx, x->dtype, x->u.i);
    if (x->op == TC_OP_VAR) {
        int64_t i;
        tc_graph_value *outer = tc_graph_sizes_captured(from, x, &i);
        return outer ? tc_graph_number_of(from->around, outer, i) : NULL;
    }
    for (int k = 0; k < x->nargs && x->nargs <= 3; k++) {
        arg[k] = around(g, x->args[k]);
        if (!arg[k])
            return NULL;
    }
    if (x->op == TC_OP_SELECT)
        return tc_select(to->ctx, arg[0], arg[1], arg[2]);
    if (x->op == TC_OP_NOT)
        return tc_un(to->ctx, x->op, arg[0]);
    return x->nargs == 2 ? tc_bin(to->ctx, x->op, arg[0], arg[1]) : NULL;
}

static void keep_condition(tc_graph_sizes_outside *out, const tc_expr *when) {
    if (when && out->nwhen < TC_GRAPH_MAX_CONDITIONS)
        out->when[out->nwhen++] = tc_graph_sizes_simplify(out->s, when);
}

/* Those of the body g, for the graph around it, and what is known there of bodies from `first` out to g. */
static void translate_conditions(tc_graph *first, tc_graph *g, tc_graph_sizes_outside *out) {
    int n = out->nwhen;
    tc_graph *up = g->sizes->around;
    out->nwhen = 0;
    for (int i = 0; i < n; i++)
        keep_condition(out, around(g, out->when[i]));
    for (tc_graph *body = first; body != up; body = body->sizes->around)
        if (body->sizes->when_of == up)
            keep_condition(out, body->sizes->when);
}

bool tc_graph_find_outside(tc_graph *g, const tc_expr *x, const tc_expr *y, tc_graph_sizes_outside *out) {
    tc_graph *first = g;
    *out = (tc_graph_sizes_outside){.s = tc_graph_sizes_of(g), .x = x, .y = y, .certain = true};
    while (out->s->around) {
        tc_graph *up = out->s->around;
        out->certain &= !out->s->is_branch;
        out->x = around(g, out->x);
        out->y = around(g, out->y);
        if (!out->x || !out->y)
            return false;
        out->s = tc_graph_sizes_of(up);
        translate_conditions(first, g, out);
        g = up;
        out->x = tc_graph_sizes_simplify(out->s, out->x);
        out->y = tc_graph_sizes_simplify(out->s, out->y);
    }
    return true;
}

/* Until that is undone: what holds where the node computes anything. */
static size_t assume_conditions(const tc_graph_sizes_outside *o) {
    size_t mark = tc_env_mark(o->s->sure);
    for (int i = 0; i < o->nwhen; i++)
        tc_env_assume(o->s->sure, o->when[i]);
    return mark;
}

int tc_graph_decide(tc_graph *g, const tc_expr *condition) {
    tc_graph_sizes_outside o;
    int known = tc_te_decide(tc_graph_sizes_simplify(g->sizes, condition), g->sizes->sure);
    if (known >= 0 || !tc_graph_find_outside(g, condition, condition, &o))
        return known;
    size_t mark = assume_conditions(&o);
    known = tc_te_decide(tc_graph_sizes_simplify(o.s, o.x), o.s->sure);
    tc_env_undo(o.s->sure, mark);
    return known;
}

/* Runs compute what is added to the body g from now on only if that holds, of sizes of the graph around all bodies. */
static void note_condition(tc_graph *g, const tc_expr *holds) {
    tc_graph *root = g;
    while (root->sizes->around)
        root = root->sizes->around;
    const tc_expr *when = g->sizes->when;
    if (when && g->sizes->when_of != root)
        return;
    when = when ? tc_bin(root->sizes->ctx, TC_OP_AND, when, holds) : holds;
    if (tc_graph_sizes_is_small(when)) /* else less is known: thousands of checks may stand in a branch */
        tc_graph_sizes_set_condition(g, root, when);
}

void tc_graph_rely_on(tc_graph *g, tc_graph_value *condition, bool holds) {
    tc_graph_sizes_outside o;
    tc_graph *of = g;
    const tc_expr *x = tc_graph_condition_of(&of, condition);
    if (x && tc_graph_sizes_of(g)->around && tc_graph_find_outside(of, x, x, &o))
        note_condition(g, holds ? o.x : tc_un(o.s->ctx, TC_OP_NOT, o.x));
}

void tc_graph_note_end(tc_graph *g, const tc_expr *condition) {
    for (; condition && g->sizes->around; g = g->sizes->around)
        condition = around(g, condition);
    tc_graph_sizes *s = g->sizes;
    if (!condition || !tc_graph_sizes_is_assumed(s, condition))
        return;
    for (size_t i = 0; i < s->ends.len; i++)
        if (s->ends.data[i] == condition)
            return;
    tc_push(&s->ends, condition);
}

bool tc_graph_choose(tc_graph *g, const tc_expr *condition) {
    tc_graph_sizes_outside o;
    if (!tc_graph_find_outside(g, condition, condition, &o) || o.x->dtype != TC_BOOL)
        return false;
    bool holds = tc_graph_sizes_mostly_hold(o.s, o.x);
    return tc_graph_sizes_choose(o.s, holds ? o.x : tc_un(o.s->ctx, TC_OP_NOT, o.x), true);
}

int tc_graph_decide_at_largest(tc_graph *g, const tc_expr *condition) {
    tc_graph_sizes_outside o;
    if (!tc_graph_find_outside(g, condition, condition, &o))
        return -1;
    tc_env *largest = tc_env_new();
    for (size_t i = 0; i < o.s->symbols.len; i++) {
        int64_t most = o.s->symbols.data[i].now.hi / o.s->symbols.data[i].multiple;
        tc_env_set(largest, o.s->symbols.data[i].var, (tc_ival){most, most});
    }
    int known = tc_te_decide(o.x, largest);
    tc_env_free(largest);
    return known;
}

/* ---- what runs check at a node ---- */

static const char *needed_by(const tc_graph_emitter *e, const char *what) {
    const tc_graph_node *n = e->c->n;
    tc_arena *a = e->c->g->arena;
    const char *node = e->c->g->importing;
    node = node ? node : tc_arena_printf(a, "node '%s' (%s)", n->name, tc_graph_op_name(n->op));
    return tc_arena_printf(a, "%s: %s", node, what);
}

/* The scalar of e's graph that is x; NULL: it cannot be computed there. */
static tc_graph_value *computed(tc_graph_emitter *e, const tc_expr *x) {
    tc_graph_value *known = tc_graph_sizes_value(tc_graph_sizes_of(e->c->g), x), *a, *b;
    if (known || x->op == TC_OP_INT)
        return known ? known : tc_graph_em_number(e, x->u.i);
    if (x->nargs != 2 || !(a = computed(e, x->args[0])) || !(b = computed(e, x->args[1])))
        return NULL;
    switch (x->op) {
    case TC_OP_ADD:
        return em_add(e, a, b);
    case TC_OP_SUB:
        return em_sub(e, a, b);
    case TC_OP_MUL:
        return em_mul(e, a, b);
    case TC_OP_MIN:
        return em_min(e, a, b);
    case TC_OP_MAX:
        return em_max(e, a, b);
    default: /* a quotient of negative numbers rounds in another direction than the graph's */
        return NULL;
    }
}

/* Refuses runs that come here with `holds` false, which is what `says` means. What follows in e's graph relies on it. Nothing is
 * added if the same check stands before. */
static tc_status place_check(tc_graph_emitter *e, const tc_expr *says, tc_graph_value *holds, const char *refusal) {
    tc_graph *g = e->c->g;
    TC_TRY(e->status);
    if (tc_graph_sizes_value(tc_graph_sizes_of(g), says))
        return TC_OK;
    tc_graph_sizes_set_value(g->sizes, says, holds);
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_REQUIRE, e->c->n->name, &holds, 1);
    n->nout = 1;
    n->out = TC_NEW_N(g->arena, tc_graph_value *, 1);
    n->out[0] =
        tc_graph_add_value(g, tc_graph_fresh_name(g, tc_arena_printf(g->arena, "%s.fits", n->name)), TC_BOOL, &holds->shape);
    n->out[0]->producer = n;
    tc_graph_set_expected(g, n, 1);
    tc_graph_set_refusal(g, n, refusal);
    tc_push(&g->nodes, n);
    return TC_OK;
}

/* ---- meeting ---- */

static void print_size(tc_strbuf *b, const tc_graph_sizes *s, const char *what, const tc_expr *x) {
    tc_sb_printf(b, "%s (", what);
    tc_graph_sizes_print(b, x);
    if (x->op != TC_OP_INT)
        tc_sb_printf(b, ", at most %lld", (long long)tc_graph_sizes_most(s, x));
    tc_sb_add(b, ")");
}

static tc_status differ(tc_graph_emitter *e, const char *a, const char *b, const tc_graph_sizes_outside *both, const char *why) {
    tc_strbuf text = {0};
    print_size(&text, both->s, a, both->x);
    tc_sb_add(&text, " and ");
    print_size(&text, both->s, b, both->y);
    tc_status s = tc_graph_node_fail(e->c, "%s must be equal, but %s", tc_sb_str(&text), why);
    tc_strbuf_free(&text);
    return s;
}

/* With the same largest value, as what is computed of them is made for that. */
static bool are_equal_there(const tc_graph_sizes_outside *both) {
    size_t mark = assume_conditions(both);
    bool equal = tc_te_decide(tc_bin(both->s->ctx, TC_OP_EQ, both->x, both->y), both->s->sure) == 1;
    tc_env_undo(both->s->sure, mark);
    return equal && tc_graph_sizes_most(both->s, both->x) == tc_graph_sizes_most(both->s, both->y);
}

tc_status tc_graph_meet_certainly(tc_graph_emitter *e, const char *a, const char *b, const tc_graph_sizes_outside *both,
                                  bool *learns) {
    bool chosen = tc_graph_sizes_is_assumed(both->s, tc_bin(both->s->ctx, TC_OP_SUB, both->x, both->y));
    *learns = both->certain || chosen || !tc_graph_sizes_may_differ(both->s, both->x, both->y);
    if (*learns || are_equal_there(both))
        return TC_OK;
    both->s->wanted = (tc_graph_size_limit){.x = both->x, .same = both->y};
    return differ(e, a, b, both,
                  "runs that do not take this branch of an If may have other sizes; give single sizes with --shape, or let the "
                  "model's inputs share one symbol");
}

/* They depend on data, or on what the trips of a loop carry: runs check it just before the node. */
static tc_status check_equal(tc_graph_emitter *e, const char *both, const tc_expr *x, const tc_expr *y) {
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    tc_graph_value *v, *w;
    if (tc_is_int(tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_SUB, x, y)), 0) || !(v = computed(e, x)) ||
        !(w = computed(e, y)))
        return e->status;
    return place_check(e, tc_bin(s->ctx, TC_OP_EQ, x, y), em_equal(e, v, w),
                       tc_arena_printf(e->c->g->arena,
                                       "the run is refused: %s depend on data, and must be equal, but differ in this run (a size "
                                       "that varies is not broadcast). Give the run other data",
                                       needed_by(e, both)));
}

tc_status tc_graph_meet_numbers(tc_graph_emitter *e, const char *a, const tc_expr *x, const char *b, const tc_expr *y) {
    TC_TRY(e->status);
    const char *both = tc_arena_printf(e->c->g->arena, "%s and %s", a, b);
    tc_graph_sizes_outside o;
    bool learns;
    if (!tc_graph_find_outside(e->c->g, x, y, &o) || tc_expr_any(o.x, tc_graph_sizes_is_other_variable, o.s) ||
        tc_expr_any(o.y, tc_graph_sizes_is_other_variable, o.s))
        return check_equal(e, both, x, y);
    TC_TRY(tc_graph_meet_certainly(e, a, b, &o, &learns));
    if (!learns)
        return TC_OK;
    switch (tc_graph_sizes_meet(o.s, o.x, o.y)) {
    case TC_GRAPH_SIZES_EQUAL:
        return TC_OK;
    case TC_GRAPH_SIZES_RELATED:
        break;
    case TC_GRAPH_SIZES_DIFFER:
        if (!tc_graph_sizes_equate(o.s, needed_by(e, both), o.x, o.y))
            return differ(e, a, b, &o,
                          "some sizes of the inputs make them different (a size that varies is not broadcast); give sizes with "
                          "--shape that make them equal, or single sizes");
    }
    return tc_graph_node_fail(e->c, "the sizes of %s are related", both);
}

const tc_expr *tc_graph_size_number(tc_graph_emitter *e, const tc_graph_value *v, int d) {
    tc_graph_value *size = tc_graph_extent(v, d);
    return size ? tc_graph_em_known(e, size).x : tc_i64(tc_graph_sizes_of(e->c->g)->ctx, v->shape.d[d]);
}

static const char *dimension(const tc_graph_emitter *e, const tc_graph_value *v, int d) {
    return tc_arena_printf(e->c->g->arena, "dimension %d of '%s'", d, tc_graph_as_in_model(e->c->g, v, d)->name);
}

/* ---- what one node needs ---- */

/* "at least 5" */
static void print_need(tc_strbuf *b, int64_t least, int64_t most, int64_t multiple) {
    if (multiple > 1)
        tc_sb_printf(b, "a multiple of %lld", (long long)multiple);
    else if (least == most)
        tc_sb_printf(b, "%lld", (long long)most);
    else if (most == INT64_MAX)
        tc_sb_printf(b, "at least %lld", (long long)least);
    else
        tc_sb_printf(b, "from %lld to %lld", (long long)least, (long long)most);
}

/* In a branch: o->x, which is called `what`, is not known to be what the node needs. */
static tc_status uncertain(tc_graph_emitter *e, const tc_graph_sizes_outside *o, const char *what, const char *need) {
    tc_strbuf x = {0};
    tc_ival range = tc_te_bounds(o->x, o->s->sure);
    tc_graph_sizes_print(&x, o->x);
    if (tc_ival_bounded(range))
        tc_sb_printf(&x, ", from %lld to %lld", (long long)range.lo, (long long)range.hi);
    tc_status s = tc_graph_node_fail(e->c,
                                     "%s (%s) must be %s, but runs that do not take this branch of an If may have other sizes; "
                                     "give fitting sizes with --shape, or let the If compare the sizes",
                                     what, tc_sb_str(&x), need);
    tc_strbuf_free(&x);
    return s;
}

/* ---- what a branch needs of its runs ---- */

/* The number of e's graph that is v is within l. */
static tc_graph_value *is_within(tc_graph_emitter *e, tc_graph_value *v, const tc_graph_size_limit *l) {
    if (l->multiple > 1) {
        tc_graph_value *rest = tc_graph_em_op(e, TC_GRAPH_OP_MOD, v, tc_graph_em_number(e, l->multiple));
        return tc_graph_em_op(e, TC_GRAPH_OP_EQUAL, rest, tc_graph_em_number(e, 0));
    }
    tc_graph_value *within = em_max(e, em_min(e, v, tc_graph_em_number(e, l->most)), tc_graph_em_number(e, l->least));
    return tc_graph_em_op(e, TC_GRAPH_OP_EQUAL, v, within);
}

/* The same as a condition of x. */
static const tc_expr *within(tc_ctx *c, const tc_expr *x, const tc_graph_size_limit *l) {
    if (l->multiple > 1)
        return tc_bin(c, TC_OP_EQ, tc_bin(c, TC_OP_MOD, x, tc_i64(c, l->multiple)), tc_i64(c, 0));
    return tc_bin(c, TC_OP_AND, tc_bin(c, TC_OP_GE, x, tc_i64(c, l->least)), tc_bin(c, TC_OP_LE, x, tc_i64(c, l->most)));
}

/* x, which o->x is outside, is within l wherever the branch goes on; *done: runs check that there. */
static tc_status guard_size(tc_graph_emitter *e, const tc_graph_sizes_outside *o, const char *what, const tc_expr *x,
                            const tc_graph_size_limit *l, bool *done) {
    tc_strbuf need = {0};
    tc_graph_value *v = o->s->guards ? computed(e, x) : NULL;
    *done = v != NULL;
    if (!v)
        return e->status;
    print_need(&need, l->least, l->most, l->multiple);
    tc_status s = place_check(
        e, within(tc_graph_sizes_of(e->c->g)->ctx, x, l), is_within(e, v, l),
        tc_arena_printf(e->c->g->arena,
                        "the run is refused, as it takes a branch of an If that does not fit its sizes: node '%s' (%s): %s must "
                        "be %s. Give fitting sizes, or inputs with which the If takes the other branch",
                        e->c->n->name, tc_graph_op_name(e->c->n->op), what, tc_sb_str(&need)));
    tc_strbuf_free(&need);
    if (s == TC_OK)
        note_condition(e->c->g, within(o->s->ctx, o->x, l));
    return s;
}

static bool is_multiple(tc_graph_sizes *s, const tc_expr *x, int64_t by) {
    return tc_is_int(tc_graph_sizes_simplify(s, tc_bin(s->ctx, TC_OP_MOD, x, tc_i64(s->ctx, by))), 0);
}

/* x, of e's graph, depends on data, or on what the trips of a loop carry: runs check it just before the node. What is no sum or
 * product of sizes is not checked. */
static tc_status check_data(tc_graph_emitter *e, const char *what, const tc_expr *x, const tc_graph_size_limit *l) {
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    tc_ival range = tc_te_bounds(x, s->sure);
    tc_graph_value *v;
    if ((range.lo >= l->least && range.hi <= l->most && is_multiple(s, x, l->multiple)) || !(v = computed(e, x)))
        return e->status;
    tc_strbuf need = {0};
    print_need(&need, l->least, l->most, l->multiple);
    tc_status st = place_check(e, within(s->ctx, x, l), is_within(e, v, l),
                               tc_arena_printf(e->c->g->arena,
                                               "the run is refused: %s depends on data, and must be %s, but is not in this run. "
                                               "Give the run other data",
                                               needed_by(e, what), tc_sb_str(&need)));
    tc_strbuf_free(&need);
    return st;
}

/* Sizes that import assumes become those which the node needs: in a branch all of them, elsewhere if the largest is too large, or all
 * are too small. Runs check the rest. */
static bool choose_sizes(const tc_graph_sizes_outside *o, int64_t least, int64_t most, int64_t multiple) {
    tc_ctx *c = o->s->ctx;
    tc_ival range = tc_te_bounds(o->x, o->s->sure);
    if (multiple > 1 || (o->certain && range.hi >= least && range.hi <= most))
        return false;
    const tc_expr *above = tc_bin(c, TC_OP_GE, o->x, tc_i64(c, least)), *below = tc_bin(c, TC_OP_LE, o->x, tc_i64(c, most));
    return tc_graph_sizes_choose(o->s, tc_bin(c, TC_OP_AND, above, below), false);
}

/* x: as e's graph has it; NULL: it is not known there. */
static tc_status require(tc_graph_emitter *e, const tc_graph_sizes_outside *o, const char *what, const tc_expr *x, int64_t least,
                         int64_t most, int64_t multiple) {
    bool guarded = false;
    const tc_graph_size_limit limit = {.x = o->x, .least = least, .most = most, .multiple = multiple};
    TC_TRY(e->status);
    if (x && tc_expr_any(o->x, tc_graph_sizes_is_other_variable, o->s))
        return check_data(e, what, x, &limit);
    size_t mark = assume_conditions(o);
    bool keeps = tc_graph_sizes_keeps(o->s, o->x, least, most, multiple);
    tc_env_undo(o->s->sure, mark);
    if (keeps)
        return TC_OK;
    if (choose_sizes(o, least, most, multiple))
        return tc_graph_node_fail(e->c, "the sizes of %s are chosen", what);
    bool branch = !o->certain && (multiple > 1 || tc_graph_sizes_is_checkable(o->s, o->x));
    if (branch && x)
        TC_TRY(guard_size(e, o, what, x, &limit, &guarded));
    if (guarded)
        return TC_OK;
    tc_strbuf need = {0};
    tc_status s = TC_OK;
    print_need(&need, least, most, multiple);
    if (branch) {
        o->s->wanted = limit;
        s = uncertain(e, o, what, tc_sb_str(&need));
    } else if (o->certain && !tc_graph_sizes_require(o->s, needed_by(e, what), o->x, least, most, multiple)) {
        s = tc_graph_node_fail(e->c, "there is no run in which %s is %s", what, tc_sb_str(&need));
    }
    tc_strbuf_free(&need);
    return s;
}

tc_status tc_graph_require_outside(tc_graph_emitter *e, const tc_graph_sizes_outside *o, const char *what, int64_t least,
                                   int64_t most, int64_t multiple) {
    return require(e, o, what, NULL, least, most, multiple);
}

/* From now on the body relies on it as well, where it is one. */
static void assume_here(tc_graph *g, const tc_graph_sizes_outside *o, const tc_expr *x, const tc_expr *by) {
    if (tc_graph_sizes_of(g) != o->s)
        tc_graph_sizes_assume_multiple(g->sizes, x, by);
}

tc_status tc_graph_require(tc_graph_emitter *e, const char *what, const tc_expr *x, int64_t least, int64_t most,
                           int64_t multiple) {
    tc_graph *g = e->c->g;
    tc_graph_sizes_outside o;
    TC_TRY(e->status);
    if (!tc_graph_find_outside(g, x, x, &o))
        return check_data(e, what, x, &(tc_graph_size_limit){.x = x, .least = least, .most = most, .multiple = multiple});
    TC_TRY(require(e, &o, what, x, least, most, multiple));
    if (multiple > 1 && !tc_expr_any(o.x, tc_graph_sizes_is_other_variable, o.s))
        assume_here(g, &o, x, tc_i64(tc_graph_sizes_of(g)->ctx, multiple));
    return TC_OK;
}

tc_status tc_graph_require_multiple(tc_graph_emitter *e, const char *what, const tc_expr *x, const tc_expr *by) {
    tc_strbuf of = {0};
    tc_graph_sizes_outside o;
    TC_TRY(e->status);
    if (!tc_graph_find_outside(e->c->g, x, by, &o))
        return TC_OK;
    size_t mark = assume_conditions(&o);
    bool keeps = tc_graph_sizes_keeps_multiple(o.s, o.x, o.y);
    tc_env_undo(o.s->sure, mark);
    tc_graph_sizes_print(&of, o.y);
    tc_status s = TC_OK;
    if (!keeps && !o.certain) {
        o.s->wanted = (tc_graph_size_limit){.x = o.x, .by = o.y};
        s = uncertain(e, &o, what, tc_arena_printf(e->c->g->arena, "a multiple of %s", tc_sb_str(&of)));
    } else if (!keeps && !tc_graph_sizes_require_multiple(o.s, needed_by(e, what), o.x, o.y)) {
        s = tc_graph_node_fail(e->c, "%s cannot be a multiple of %s, which is 0", what, tc_sb_str(&of));
    } else {
        assume_here(e->c->g, &o, x, by);
    }
    tc_strbuf_free(&of);
    return s;
}

bool tc_graph_divides(tc_graph_emitter *e, const tc_graph_value *v, int d, int64_t by) {
    tc_graph_sizes_outside o;
    const tc_expr *size = tc_graph_size_number(e, v, d);
    return is_multiple(tc_graph_sizes_of(e->c->g), size, by) ||
           (tc_graph_find_outside(e->c->g, size, size, &o) && is_multiple(o.s, o.x, by));
}

tc_status tc_graph_require_size(tc_graph_emitter *e, const tc_graph_value *v, int d, int64_t least) {
    if (!tc_graph_extent(v, d))
        return e->status;
    const tc_expr *x = tc_graph_size_number(e, v, d);
    return tc_graph_require(e, dimension(e, v, d), x, least, INT64_MAX, 1);
}

tc_graph_value *tc_graph_em_exactly(tc_graph_emitter *e, tc_graph_value *v, int d, int64_t n, const char *whose) {
    const tc_expr *x = tc_graph_size_number(e, v, d);
    tc_graph_sizes_outside o;
    if (e->status != TC_OK || !tc_graph_extent(v, d))
        return v;
    bool is_known = tc_graph_find_outside(e->c->g, x, x, &o);
    if (is_known && o.certain && tc_graph_sizes_is_assumed(o.s, o.x))
        e->status = tc_graph_meet_numbers(e, dimension(e, v, d), x, whose, tc_i64(o.s->ctx, n));
    else
        e->status = tc_graph_require(e, dimension(e, v, d), x, n, n, 1);
    tc_graph_value *cut = tc_graph_em_sized(e, tc_graph_em_blind(e, v), d, tc_graph_em_number(e, n));
    return tc_graph_em_with_sizes(e, cut, v, d, NULL);
}

tc_status tc_graph_require_not_one(tc_graph_emitter *e, const tc_graph_value *v, int d) {
    const tc_expr *x = tc_graph_size_number(e, v, d);
    tc_graph_sizes *s = tc_graph_sizes_of(e->c->g);
    tc_ival range = tc_te_bounds(x, s->sure);
    if (!tc_graph_extent(v, d) || range.lo > 1 || range.hi < 1)
        return e->status;
    if (range.lo == 1)
        return tc_graph_require(e,
                                tc_arena_printf(e->c->g->arena,
                                                "%s (Squeeze without axes drops a dimension of 1, but the number of dimensions "
                                                "of a result cannot vary)",
                                                dimension(e, v, d)),
                                x, 2, INT64_MAX, 1);
    tc_graph_value *is_one = em_equal(e, tc_graph_extent(v, d), tc_graph_em_number(e, 1));
    const tc_expr *is = tc_bin(s->ctx, TC_OP_EQ, x, tc_i64(s->ctx, 1));
    return place_check(e, tc_un(s->ctx, TC_OP_NOT, is), em_unary(e, TC_GRAPH_OP_NOT, is_one),
                       tc_arena_printf(e->c->g->arena,
                                       "the run is refused: %s is 1. Squeeze without axes drops a dimension of 1, but the number "
                                       "of dimensions of a result cannot vary. Give the run other sizes or data, or export the "
                                       "model with axes",
                                       needed_by(e, dimension(e, v, d))));
}

tc_graph_value *tc_graph_em_multiple(tc_graph_emitter *e, tc_graph_value *v, int d, int64_t by) {
    if (e->status != TC_OK || !tc_graph_extent(v, d))
        return v;
    int64_t most = v->shape.d[d] / by * by;
    if (!tc_graph_divides(e, v, d, by))
        e->status = tc_graph_require(e, dimension(e, v, d), tc_graph_size_number(e, v, d), INT64_MIN, INT64_MAX, by);
    if (most == v->shape.d[d])
        return v;
    tc_graph_value *cut = tc_graph_em_slice(e, tc_graph_em_blind(e, v), d, 0, most, 1);
    return tc_graph_em_with_sizes(e, cut, v, -1, NULL);
}

tc_status tc_graph_meet(tc_graph_emitter *e, const tc_graph_value *a, int d, const tc_graph_value *b, int m, bool broadcasts) {
    if (!tc_graph_extent(a, d) && !tc_graph_extent(b, m))
        return TC_OK;
    const tc_expr *x = tc_graph_size_number(e, a, d), *y = tc_graph_size_number(e, b, m);
    if (x == y || (broadcasts && ((x->op == TC_OP_INT && x->u.i == 1) || (y->op == TC_OP_INT && y->u.i == 1))))
        return e->status;
    return tc_graph_meet_numbers(e, dimension(e, a, d), x, dimension(e, b, m), y);
}

tc_status tc_graph_meet_broadcast(tc_graph_emitter *e, tc_graph_value *a, tc_graph_value *b, int but) {
    for (int i = 1 + but; i <= a->shape.ndim && i <= b->shape.ndim; i++)
        TC_TRY(tc_graph_meet(e, a, a->shape.ndim - i, b, b->shape.ndim - i, true));
    return TC_OK;
}

/* Of very many operands not every two are compared: in each dimension each with the first that does not broadcast there. */
static tc_status meet_first(tc_graph_emitter *e) {
    const tc_graph_node *n = e->c->n;
    const tc_graph_value *first[TC_GRAPH_MAX_DIMS + 1] = {NULL}; /* by the place from the end */
    for (int k = 0; k < n->nin; k++)
        for (int i = 1; n->in[k] && i <= n->in[k]->shape.ndim; i++) {
            const tc_graph_value *v = n->in[k];
            int d = v->shape.ndim - i;
            if (first[i])
                TC_TRY(tc_graph_meet(e, first[i], first[i]->shape.ndim - i, v, d, true));
            else if (!tc_is_int(tc_graph_size_number(e, v, d), 1))
                first[i] = v;
        }
    return e->status;
}

tc_status tc_graph_rewrite_broadcast(tc_graph_emitter *e) {
    enum { FEW = 8 };
    const tc_graph_node *n = e->c->n;
    int at;
    TC_TRY(tc_graph_old_place(e->c, &at));
    for (int d = 0; at >= 0 && d < n->in[1]->shape.ndim; d++)
        if (at + d < n->in[0]->shape.ndim)
            TC_TRY(tc_graph_meet(e, n->in[0], at + d, n->in[1], d, true));
    if (at < 0 && n->nin > FEW)
        return meet_first(e);
    for (int k = 0; k < n->nin && at < 0; k++)
        for (int l = 0; l < k; l++)
            if (n->in[k] && n->in[l])
                TC_TRY(tc_graph_meet_broadcast(e, n->in[l], n->in[k], 0));
    return TC_OK;
}
