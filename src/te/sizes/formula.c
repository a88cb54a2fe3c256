/* Formulas of sizes: see formula.h. */
#include "te/sizes/formula.h"

#include <string.h>

static const int64_t BEYOND = (int64_t)1 << 62;

const char *tc_formula_text(tc_formula_op op) {
    switch (op) {
    case TC_FORMULA_NUMBER:
    case TC_FORMULA_SIZE:
        return NULL;
#define X(id, text)                                                                                                              \
    case TC_FORMULA_##id:                                                                                                        \
        return text;
        TC_FORMULA_OPERATIONS(X)
#undef X
    }
    return NULL;
}

bool tc_formula_named(const char *text, tc_formula_op *op) {
#define X(id, name)                                                                                                              \
    if (strcmp(text, name) == 0) {                                                                                               \
        *op = TC_FORMULA_##id;                                                                                                   \
        return true;                                                                                                             \
    }
    TC_FORMULA_OPERATIONS(X)
#undef X
    return false;
}

/* ---- making ---- */

typedef struct maker {
    int n, nsize;
    const tc_var *const *sizes;
    tc_formula_step steps[TC_FORMULA_STEPS];
} maker;

static bool push(maker *m, tc_formula_op op, int64_t arg) {
    if (m->n == TC_FORMULA_STEPS)
        return false;
    m->steps[m->n++] = (tc_formula_step){op, arg};
    return true;
}

static bool operation_of(tc_op op, tc_formula_op *out) {
    static const struct {
        tc_op op;
        tc_formula_op is;
    } same[] = {{TC_OP_ADD, TC_FORMULA_ADD}, {TC_OP_SUB, TC_FORMULA_SUB}, {TC_OP_MUL, TC_FORMULA_MUL},
                {TC_OP_DIV, TC_FORMULA_DIV}, {TC_OP_MOD, TC_FORMULA_MOD}, {TC_OP_MIN, TC_FORMULA_MIN},
                {TC_OP_MAX, TC_FORMULA_MAX}};
    for (size_t i = 0; i < TC_LEN(same); i++)
        if (same[i].op == op) {
            *out = same[i].is;
            return true;
        }
    return false;
}

static bool add(maker *m, const tc_expr *x) {
    tc_formula_op op;
    if (x->dtype != TC_I64 || x->lanes != 1)
        return false;
    if (x->op == TC_OP_INT)
        return push(m, TC_FORMULA_NUMBER, x->u.i);
    for (int k = 0; k < m->nsize && x->op == TC_OP_VAR; k++)
        if (m->sizes[k] == x->u.var)
            return push(m, TC_FORMULA_SIZE, k);
    return operation_of(x->op, &op) && add(m, x->args[0]) && add(m, x->args[1]) && push(m, op, 0);
}

bool tc_formula_of(const tc_expr *x, int nsize, const tc_var *const *sizes, tc_arena *a, tc_formula *out) {
    maker m;
    m.n = 0;
    m.nsize = nsize;
    m.sizes = sizes;
    if (!add(&m, x))
        return false;
    *out = (tc_formula){m.n, tc_arena_dup(a, m.steps, (size_t)m.n * sizeof *m.steps)};
    return true;
}

tc_formula tc_formula_join(tc_arena *a, tc_formula x, tc_formula y, tc_formula_op op) {
    tc_formula_step *steps = TC_NEW_N(a, tc_formula_step, x.n + y.n + 1);
    memcpy(steps, x.steps, (size_t)x.n * sizeof *steps);
    memcpy(steps + x.n, y.steps, (size_t)y.n * sizeof *steps);
    steps[x.n + y.n] = (tc_formula_step){op, 0};
    return (tc_formula){x.n + y.n + 1, steps};
}

static tc_formula single(tc_arena *a, tc_formula_op op, int64_t arg) {
    tc_formula_step step = {op, arg};
    return (tc_formula){1, tc_arena_dup(a, &step, sizeof step)};
}

tc_formula tc_formula_number(tc_arena *a, int64_t v) {
    return single(a, TC_FORMULA_NUMBER, v);
}

tc_formula tc_formula_size(tc_arena *a, int k) {
    return single(a, TC_FORMULA_SIZE, k);
}

/* ---- one operation ---- */

/* False: no value. */
static bool apply(tc_formula_op op, int64_t a, int64_t b, int64_t *r) {
    switch (op) {
    case TC_FORMULA_NUMBER:
    case TC_FORMULA_SIZE:
        return false;
    case TC_FORMULA_ADD:
        return !__builtin_add_overflow(a, b, r);
    case TC_FORMULA_SUB:
        return !__builtin_sub_overflow(a, b, r);
    case TC_FORMULA_MUL:
        return !__builtin_mul_overflow(a, b, r);
    case TC_FORMULA_DIV:
        *r = b > 0 ? tc_floor_div(a, b) : 0;
        return b > 0;
    case TC_FORMULA_MOD:
        *r = b > 0 ? a - tc_floor_div(a, b) * b : 0;
        return b > 0;
    case TC_FORMULA_MIN:
        *r = TC_MIN(a, b);
        return true;
    case TC_FORMULA_MAX:
        *r = TC_MAX(a, b);
        return true;
    }
    return false;
}

/* From the least to the largest of op at the four corners, which bound what is monotonic in both. */
static bool corners(tc_formula_op op, tc_ival a, tc_ival b, tc_ival *r) {
    const int64_t x[] = {a.lo, a.hi}, y[] = {b.lo, b.hi};
    *r = (tc_ival){INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t v;
        if (!apply(op, x[i / 2], y[i % 2], &v))
            return false;
        *r = (tc_ival){TC_MIN(r->lo, v), TC_MAX(r->hi, v)};
    }
    return true;
}

static bool within(tc_ival r) {
    return -BEYOND <= r.lo && r.lo <= r.hi && r.hi <= BEYOND;
}

/* Divisors that are not above 0 have no results. False: there are no others, or results are too large. */
static bool apply_range(tc_formula_op op, tc_ival a, tc_ival b, tc_ival *r) {
    bool divides = op == TC_FORMULA_DIV || op == TC_FORMULA_MOD;
    if (divides && b.hi < 1)
        return false;
    if (divides)
        b.lo = TC_MAX(b.lo, 1);
    if (op != TC_FORMULA_MOD)
        return corners(op, a, b, r) && within(*r);
    *r = (tc_ival){0, b.hi - 1};
    return true;
}

/* ---- whole formulas ---- */

bool tc_formula_is_sound(const tc_formula *f, int nsize, const tc_ival *ranges) {
    tc_ival stack[TC_FORMULA_STACK];
    int top = 0;
    if (f->n < 1 || f->n > TC_FORMULA_STEPS)
        return false;
    for (int i = 0; i < f->n; i++) {
        const tc_formula_step *s = &f->steps[i];
        if (s->op == TC_FORMULA_NUMBER || s->op == TC_FORMULA_SIZE) {
            bool is_size = s->op == TC_FORMULA_SIZE;
            if (top == TC_FORMULA_STACK || (is_size && (s->arg < 0 || s->arg >= nsize)))
                return false;
            stack[top++] = is_size ? ranges[s->arg] : (tc_ival){s->arg, s->arg};
            if (!within(stack[top - 1]))
                return false;
            continue;
        }
        if (top < 2 || !apply_range(s->op, stack[top - 2], stack[top - 1], &stack[top - 2]))
            return false;
        top--;
    }
    return top == 1;
}

bool tc_formula_value(const tc_formula *f, const int64_t *sizes, int64_t *value) {
    int64_t stack[TC_FORMULA_STACK + 1] = {0};
    int top = 0;
    for (int i = 0; i < f->n; i++) {
        const tc_formula_step *s = &f->steps[i];
        if (s->op == TC_FORMULA_NUMBER || s->op == TC_FORMULA_SIZE) {
            stack[top++] = s->op == TC_FORMULA_SIZE ? sizes[s->arg] : s->arg;
            continue;
        }
        top--;
        if (!apply(s->op, stack[top - 1], stack[top], &stack[top - 1]))
            return false;
    }
    *value = stack[0];
    return true;
}

bool tc_formula_has(const tc_formula *f, int k) {
    for (int i = 0; i < f->n; i++)
        if (f->steps[i].op == TC_FORMULA_SIZE && f->steps[i].arg == k)
            return true;
    return false;
}

/* c + t * size; is: it is that. */
typedef struct line {
    bool is;
    int64_t c, t;
} line;

static line line_of(tc_formula_op op, line a, line b) {
    line r = {.is = a.is && b.is};
    if (op == TC_FORMULA_ADD || op == TC_FORMULA_SUB)
        r.is = r.is && apply(op, a.c, b.c, &r.c) && apply(op, a.t, b.t, &r.t);
    else if (op == TC_FORMULA_MUL && (!a.t || !b.t))
        r.is = r.is && apply(op, a.c, b.c, &r.c) && (a.t ? apply(op, a.t, b.c, &r.t) : apply(op, a.c, b.t, &r.t));
    else
        r.is = r.is && !a.t && !b.t && apply(op, a.c, b.c, &r.c);
    return r;
}

bool tc_formula_line(const tc_formula *f, int k, int64_t *constant, int64_t *times) {
    line stack[TC_FORMULA_STACK + 1] = {{0}};
    int top = 0;
    for (int i = 0; i < f->n; i++) {
        const tc_formula_step *s = &f->steps[i];
        if (s->op == TC_FORMULA_NUMBER)
            stack[top++] = (line){true, s->arg, 0};
        else if (s->op == TC_FORMULA_SIZE)
            stack[top++] = (line){s->arg == k, 0, 1};
        else
            top--, stack[top - 1] = line_of(s->op, stack[top - 1], stack[top]);
    }
    *constant = stack[0].c;
    *times = stack[0].t;
    return stack[0].is && f->n > 0;
}
