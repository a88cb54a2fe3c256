/* Reads the text of a layout, `(k, j) -> (j / 64, k, j % 64)`, with the decisions of its schedule: here `ti.2` is a number.
 * layout.c checks whether the layout is legal. */
#include "schedule_primitives/sch_int.h"

/* Of brackets and of operations. A part that layout.c accepts has 16 digits at most, each of three operations, and a constant. */
enum { MAX_DEPTH = TC_DEPTH_LAYOUT, MOST = 100 /* characters of its text in messages */ };

typedef struct layout_text {
    const tc_sched *s;
    const tc_instr *in;
    tc_error *err;
    const char *p;
    tc_layout *l;
    int depth;
} layout_text;

static tc_status parse_sum(layout_text *t, const tc_expr **out);

static void skip(layout_text *t) {
    t->p += strspn(t->p, " \t");
}

static tc_status expected(layout_text *t, const char *what) {
    return BAD(t->err, t->in, "expected %s before `%.*s` in the layout `%.*s`", what, MOST, *t->p ? t->p : "(end of line)", MOST,
               t->in->text);
}

static tc_status expect(layout_text *t, const char *token) {
    skip(t);
    size_t n = strlen(token);
    if (strncmp(t->p, token, n) != 0)
        return BAD(t->err, t->in, "expected `%s` before `%.*s` in the layout `%.*s`", token, MOST, *t->p ? t->p : "(end of line)",
                   MOST, t->in->text);
    t->p += n;
    return TC_OK;
}

static bool accept(layout_text *t, char c) {
    skip(t);
    if (*t->p != c)
        return false;
    t->p++;
    return true;
}

static size_t name_length(const char *p) {
    size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    return *p >= '0' && *p <= '9' ? 0 : n;
}

static tc_status parse_number(layout_text *t, int64_t *v) {
    *v = 0;
    for (; *t->p >= '0' && *t->p <= '9'; t->p++) {
        if (*v > ((int64_t)1 << 40))
            return BAD(t->err, t->in, "a number in the layout is too large");
        *v = 10 * *v + (*t->p - '0');
    }
    return TC_OK;
}

/* A coordinate, or the value of a decision: NAME or NAME.PART. */
static tc_status parse_layout_name(layout_text *t, size_t n, const tc_expr **out) {
    for (int i = 0; i < t->l->nin; i++) {
        if (strncmp(t->l->var[i]->name, t->p, n) == 0 && !t->l->var[i]->name[n]) {
            t->p += n;
            *out = tc_varx(t->s->ctx, t->l->var[i]);
            return TC_OK;
        }
    }
    tc_int_arg ref = {.kind = TC_ARG_REF, .part = -1};
    const tc_sch_decision *d = tc_sch_find_decision(t->s, t->p, n);
    if (!d)
        return BAD(t->err, t->in, "`%.*s` in the layout is neither a coordinate nor a decision", (int)n, t->p);
    ref.ref = d->name;
    t->p += n;
    int64_t v;
    if (accept(t, '.')) {
        skip(t);
        TC_TRY(parse_number(t, &v));
        ref.part = v < TC_MAX_PARTS ? (int)v : TC_MAX_PARTS;
    }
    tc_instr use = *t->in;
    use.ints = &ref;
    use.nints = 1;
    TC_TRY(tc_sch_int_operand(t->s, &use, 0, &v, t->err));
    *out = tc_i64(t->s->ctx, v);
    return TC_OK;
}

/* As it grows: neither may a sum be long, since each of its terms is a level. */
static tc_status check_depth(const layout_text *t, const tc_expr *e) {
    if (e->depth <= MAX_DEPTH)
        return TC_OK;
    return tc_beyond(t->err, BAD(t->err, t->in,
                                 "part %d of the layout has more than %d operations, one inside of the other; write it shorter",
                                 t->l->nout, MAX_DEPTH));
}

static tc_status parse_atom(layout_text *t, const tc_expr **out) {
    if (t->depth > MAX_DEPTH)
        return tc_beyond(t->err, BAD(t->err, t->in, "part %d of the layout has more than %d brackets, one inside of the other",
                                     t->l->nout, MAX_DEPTH));
    if (accept(t, '(')) {
        t->depth++;
        TC_TRY(parse_sum(t, out));
        t->depth--;
        return expect(t, ")");
    }
    size_t n = name_length(t->p);
    if (n)
        return parse_layout_name(t, n, out);
    if (*t->p < '0' || *t->p > '9')
        return expected(t, "a coordinate or a number");
    int64_t v;
    TC_TRY(parse_number(t, &v));
    *out = tc_i64(t->s->ctx, v);
    return TC_OK;
}

static tc_status parse_product(layout_text *t, const tc_expr **out) {
    static const tc_op OPS[] = {TC_OP_MUL, TC_OP_DIV, TC_OP_MOD};
    TC_TRY(parse_atom(t, out));
    for (skip(t); *t->p && strchr("*/%", *t->p); skip(t)) {
        tc_op op = OPS[strchr("*/%", *t->p++) - "*/%"];
        const tc_expr *right;
        TC_TRY(parse_atom(t, &right));
        if (op != TC_OP_MUL && (right->op != TC_OP_INT || right->u.i < 1))
            return REFUSE(t->err, t->in, "in the layout `%.*s` a divisor is not a positive constant", MOST, t->in->text);
        *out = tc_bin(t->s->ctx, op, *out, right);
        TC_TRY(check_depth(t, *out));
    }
    return TC_OK;
}

static tc_status parse_sum(layout_text *t, const tc_expr **out) {
    TC_TRY(parse_product(t, out));
    for (skip(t); (*t->p == '-' && t->p[1] != '>') || *t->p == '+'; skip(t)) {
        tc_op op = *t->p++ == '+' ? TC_OP_ADD : TC_OP_SUB;
        const tc_expr *right;
        TC_TRY(parse_product(t, &right));
        *out = tc_bin(t->s->ctx, op, *out, right);
        TC_TRY(check_depth(t, *out));
    }
    return TC_OK;
}

static tc_status parse_coordinates(layout_text *t) {
    TC_TRY(expect(t, "("));
    do {
        skip(t);
        size_t n = name_length(t->p);
        if (!n)
            return expected(t, "the name of a coordinate");
        if (t->l->nin == TC_MAX_DIMS)
            return BAD(t->err, t->in, "a layout has at most %d coordinates", TC_MAX_DIMS);
        const char *name = tc_arena_strndup(tc_ctx_arena(t->s->ctx), t->p, n);
        for (int i = 0; i < t->l->nin; i++)
            if (strcmp(t->l->var[i]->name, name) == 0)
                return BAD(t->err, t->in, "the layout has two coordinates `%s`", name);
        t->l->var[t->l->nin++] = tc_var_new(t->s->ctx, name);
        t->p += n;
    } while (accept(t, ','));
    return expect(t, ")");
}

static tc_status parse_parts(layout_text *t) {
    TC_TRY(expect(t, "("));
    do {
        if (t->l->nout == TC_MAX_DIMS)
            return BAD(t->err, t->in, "a layout has at most %d parts", TC_MAX_DIMS);
        TC_TRY(parse_sum(t, &t->l->to[t->l->nout++]));
    } while (accept(t, ','));
    TC_TRY(expect(t, ")"));
    skip(t);
    return *t->p ? expected(t, "the end") : TC_OK;
}

tc_status tc_sch_parse_layout(const tc_sched *s, const tc_instr *in, const tc_layout **out, tc_error *err) {
    tc_layout *l = TC_NEW(tc_ctx_arena(s->ctx), tc_layout);
    layout_text t = {.s = s, .in = in, .err = err, .p = in->text ? in->text : "", .l = l};
    TC_TRY(parse_coordinates(&t));
    TC_TRY(expect(&t, "->"));
    TC_TRY(parse_parts(&t));
    *out = l;
    return TC_OK;
}
