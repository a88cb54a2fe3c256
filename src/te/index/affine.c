/* Linear forms: a constant plus integer multiples of atoms, ordered by atom id. Coefficients wrap as i64 arithmetic does, so the
 * conversion of sums to forms and back is exact. Code that divides or compares forms (simplify.c) first asks whether they may
 * wrap. */
#include "te/te_int.h"

static int64_t wrap_mul(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t wrap_add(int64_t a, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

int64_t tc_gcd(int64_t a, int64_t b) {
    uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
    while (y) {
        uint64_t r = x % y;
        x = y;
        y = r;
    }
    return (int64_t)x;
}

void tc_affine_drop(tc_affine *a, int term) {
    memmove(&a->term[term], &a->term[term + 1], sizeof *a->term * (size_t)(--a->n - term));
}

bool tc_affine_same_terms(const tc_affine *a, const tc_affine *b) {
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->term[i].atom != b->term[i].atom || a->term[i].coef != b->term[i].coef)
            return false;
    return true;
}

bool tc_affine_term(tc_affine *a, const tc_expr *atom, int64_t coef) {
    if (coef == 0)
        return true;
    int i = a->n;
    while (i > 0 && a->term[i - 1].atom->id > atom->id)
        i--;
    if (i > 0 && a->term[i - 1].atom == atom) {
        tc_term *t = &a->term[i - 1];
        t->coef = wrap_add(t->coef, coef);
        if (t->coef == 0)
            tc_affine_drop(a, i - 1);
        return t->coef != INT64_MIN;
    }
    if (a->n == TC_MAX_TERMS || coef == INT64_MIN)
        return false;
    memmove(&a->term[i + 1], &a->term[i], (size_t)(a->n - i) * sizeof a->term[0]);
    a->term[i] = (tc_term){atom, coef};
    a->n++;
    return true;
}

bool tc_affine_add(tc_affine *a, const tc_affine *b, int64_t scale) {
    a->c = wrap_add(a->c, wrap_mul(b->c, scale));
    for (int i = 0; i < b->n; i++)
        if (!tc_affine_term(a, b->term[i].atom, wrap_mul(b->term[i].coef, scale)))
            return false;
    return true;
}

bool tc_affine_linear(tc_affine *a, const tc_expr *e, int64_t scale) {
    if (e->op == TC_OP_INT) {
        a->c = wrap_add(a->c, wrap_mul(e->u.i, scale));
        return true;
    }
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return tc_affine_linear(a, e->args[0], scale) &&
               tc_affine_linear(a, e->args[1], e->op == TC_OP_SUB ? wrap_mul(scale, -1) : scale);
    if (e->op == TC_OP_MUL && e->args[1]->op == TC_OP_INT)
        return tc_affine_linear(a, e->args[0], wrap_mul(scale, e->args[1]->u.i));
    return tc_affine_term(a, e, scale);
}

int64_t tc_affine_coef(const tc_affine *a, const tc_expr *atom) {
    for (int i = 0; i < a->n && a->term[i].atom->id <= atom->id; i++)
        if (a->term[i].atom == atom)
            return a->term[i].coef;
    return 0;
}

static uint64_t magnitude(int64_t v) {
    return v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
}

/* Outer loops tend to have the larger strides: `i * 768 + k - j`. Ties keep the order in which a candidate's construction first
 * made the atoms. Its context begins with the workload alone, so that is decided by workload and trace; the numbers themselves
 * are not looked at. No order by names, by variables or by form is that one: `task / 160 + i1_1` begins with the younger
 * variable, `r_o + r_i / 3` with the older. */
static bool before(const tc_term *a, const tc_term *b) {
    if ((a->coef > 0) != (b->coef > 0))
        return a->coef > 0;
    if (a->coef != b->coef)
        return magnitude(a->coef) > magnitude(b->coef);
    return a->atom->id < b->atom->id;
}

void tc_affine_order(const tc_affine *a, const tc_term *order[TC_MAX_TERMS]) {
    for (int i = 0; i < a->n; i++) {
        int k = i;
        for (; k > 0 && before(&a->term[i], order[k - 1]); k--)
            order[k] = order[k - 1];
        order[k] = &a->term[i];
    }
}

const tc_expr *tc_te_from_affine(tc_ctx *c, const tc_affine *a) {
    const tc_term *order[TC_MAX_TERMS];
    tc_affine_order(a, order);
    const tc_expr *sum = NULL;
    int64_t rest = a->c;
    if (a->n && order[0]->coef < 0 && rest != 0) { /* 5 - x */
        sum = tc_i64(c, rest);
        rest = 0;
    }
    for (int i = 0; i < a->n; i++) {
        int64_t k = order[i]->coef;
        bool minus = sum && k < 0;
        k = minus ? -k : k;
        const tc_expr *t = k == 1 ? order[i]->atom : tc_mul(c, order[i]->atom, tc_i64(c, k));
        sum = !sum ? t : tc_bin(c, minus ? TC_OP_SUB : TC_OP_ADD, sum, t);
    }
    return !sum ? tc_i64(c, rest) : rest ? tc_add(c, sum, tc_i64(c, rest)) : sum;
}
