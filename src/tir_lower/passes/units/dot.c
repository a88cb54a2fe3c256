/* Dot products: neighbouring steps of a reduction over narrow types become one instruction of the matrix kind (VNNI's vpdpbusd,
 * AVX512-BF16's vdpbf16ps).
 *
 *     C[lane] = C + i32(X[k])     * i32(W[4 * lane])
 *     C[lane] = C + i32(X[k + 1]) * i32(W[4 * lane + 1])        =>   C[lane] = dot(C, X[k .. k + 3], W[0 .. 4 * lanes])
 *     C[lane] = C + i32(X[k + 2]) * i32(W[4 * lane + 2])
 *     C[lane] = C + i32(X[k + 3]) * i32(W[4 * lane + 3])
 *
 * The schedule lays W out so that the steps' values are neighbours (k % 4 behind the lanes), and unrolls the steps. Code without
 * this form stays unchanged. In the last columns, W is loaded under a mask: lanes before n become elements before 4 * n. W may
 * also hold numbers of a few bits inside bytes: W[..] >> 4 & 15 in place of W[..], with the same operations in all steps.
 * Integers: the same result. bf16: the two products are added without rounding in between, as for fma. Needs: REGISTERS, so that
 * no code between the steps can change their operands; PLAIN_SUMS; the machine has the instruction. */
#include "tir_lower/passes/pass.h"

typedef struct dotter {
    tc_ctx *c;
    const tc_machine *m;
    tc_env *env;
} dotter;

/* One step: buffer[index] += a[from] * bits(b[to + group * lane]). */
typedef struct step {
    int group;
    const tc_buffer *a, *b;
    tc_affine from, to;
    const tc_expr *bits; /* of b's load: itself, or operations on it */
    const tc_expr *mask; /* of b's load in the instruction; NULL: all elements */
} step;

static bool takes_bits(const tc_expr *e) {
    bool ints = e->op == TC_OP_BAND || e->op == TC_OP_BOR || e->op == TC_OP_BXOR || e->op == TC_OP_SHL || e->op == TC_OP_SHR;
    return ints && tc_dtype_is_int(e->dtype) && e->args[1]->op == TC_OP_BCAST;
}

/* The load under operations on its bits, from memory that no register store changes. */
static const tc_expr *load_under(const tc_expr *e) {
    while (takes_bits(e))
        e = e->args[0];
    return e->op == TC_OP_LOAD && e->u.buffer->scope != TC_BUF_REG ? e : NULL;
}

/* Lanes from + lane < n, for `group` elements a lane; NULL: not of that form. */
static const tc_expr *mask_elements(tc_ctx *c, const tc_expr *mask, int group) {
    const tc_expr *lane = mask->op == TC_OP_LT ? mask->args[0] : NULL, *n = lane ? mask->args[1] : NULL;
    if (!lane || lane->op != TC_OP_RAMP || !tc_is_int(lane->args[1], 1) || n->op != TC_OP_BCAST)
        return NULL;
    const tc_expr *times = tc_imm(c, lane->args[0]->dtype, group);
    int lanes = mask->lanes * group;
    return tc_bin(c, TC_OP_LT, tc_ramp(c, tc_mul(c, lane->args[0], times), lane->args[1], lanes),
                  tc_bcast(c, tc_mul(c, n->args[0], times), lanes));
}

/* The same operations on other elements, as many as `load` has lanes. */
static const tc_expr *bits_of(tc_ctx *c, const tc_expr *e, const tc_expr *load) {
    if (!takes_bits(e))
        return load;
    return tc_bin(c, e->op, bits_of(c, e->args[0], load), tc_bcast(c, e->args[1]->args[0], load->lanes));
}

/* x * y, of which x stands in every lane, added to acc. */
static bool match_product(const dotter *k, tc_dtype acc, const tc_expr *x, const tc_expr *y, step *s) {
    const tc_expr *narrow = x->op == TC_OP_BCAST && x->args[0]->op == TC_OP_CAST ? x->args[0]->args[0] : NULL;
    const tc_expr *a = narrow && narrow->op == TC_OP_LOAD && narrow->nargs == 1 ? load_under(narrow) : NULL;
    const tc_expr *b = y->op == TC_OP_CAST ? load_under(y->args[0]) : NULL;
    if (!a || !b || b->args[0]->op != TC_OP_RAMP)
        return false;
    s->bits = y->args[0];
    const tc_intrinsic *row = tc_intrinsic_of(k->m->intrinsics, acc, a->dtype, b->dtype);
    if (!row || !tc_is_int(b->args[0]->args[1], row->group))
        return false;
    s->mask = b->nargs > 1 ? mask_elements(k->c, b->args[1], row->group) : NULL;
    if (b->nargs > 1 && !s->mask)
        return false;
    s->group = row->group;
    s->a = a->u.buffer;
    s->b = b->u.buffer;
    return tc_te_affine(k->c, a->args[0], k->env, &s->from) && tc_te_affine(k->c, b->args[0]->args[0], k->env, &s->to);
}

static bool match(const dotter *k, const tc_stmt *s, step *out) {
    if (s->kind != TC_STMT_STORE || s->u.store.mask || s->u.store.buffer->scope != TC_BUF_REG)
        return false;
    const tc_expr *v = s->u.store.value;
    if (v->lanes == 1 || v->op != TC_OP_ADD || v->args[1]->op != TC_OP_MUL)
        return false;
    const tc_expr *acc = v->args[0], *x = v->args[1]->args[0], *y = v->args[1]->args[1];
    if (acc->op != TC_OP_LOAD || acc->u.buffer != s->u.store.buffer || acc->args[0] != s->u.store.index)
        return false;
    return match_product(k, v->dtype, x, y, out) || match_product(k, v->dtype, y, x, out);
}

/* Steps q of one group. */
static bool follows(const dotter *k, const step *first, const step *s, int q) {
    return bits_of(k->c, first->bits, load_under(s->bits)) == s->bits && s->a == first->a && s->b == first->b &&
           s->mask == first->mask && s->from.c == first->from.c + q && s->to.c == first->to.c + q &&
           tc_affine_same_terms(&s->from, &first->from) && tc_affine_same_terms(&s->to, &first->to);
}

static bool same_place(const tc_stmt *a, const tc_stmt *b) {
    return a->u.store.buffer == b->u.store.buffer && a->u.store.index == b->u.store.index;
}

static const tc_stmt *fuse(const dotter *k, const tc_stmt *s, const step *first) {
    const tc_expr *v = s->u.store.value;
    int group = first->group;
    const tc_expr *from = tc_te_from_affine(k->c, &first->from), *to = tc_te_from_affine(k->c, &first->to),
                  *one = tc_i64(k->c, 1);
    const tc_expr *a = tc_load(k->c, first->a, first->a->dtype, tc_ramp(k->c, from, one, group), NULL);
    const tc_expr *b = tc_load(k->c, first->b, first->b->dtype, tc_ramp(k->c, to, one, group * v->lanes), first->mask);
    return tc_tir_store(k->c, s->u.store.buffer, s->u.store.index, tc_dot(k->c, v->args[0], a, bits_of(k->c, first->bits, b)),
                        NULL);
}

/* Replaces s[i] and the steps that belong to it, which become NULL, if all are there with only register stores in between. */
static void gather(const dotter *k, const tc_stmt **s, int n, int i) {
    enum { MAX_GROUP = 4 };
    step first, next;
    int at[MAX_GROUP], have = 1;
    if (!s[i] || !match(k, s[i], &first))
        return;
    for (int j = i + 1; j < n && have < first.group; j++) {
        if (!s[j])
            continue;
        if (s[j]->kind != TC_STMT_STORE || s[j]->u.store.buffer->scope != TC_BUF_REG)
            return;
        if (!same_place(s[i], s[j]))
            continue;
        if (!match(k, s[j], &next) || !follows(k, &first, &next, have))
            return;
        at[have++] = j;
    }
    if (have < first.group)
        return;
    s[i] = fuse(k, s[i], &first);
    for (int q = 1; q < first.group; q++)
        s[at[q]] = NULL;
}

static const tc_stmt *dot_seq(tc_ctx *c, const tc_stmt *s, void *user);
static const tc_stmt *dot_for(tc_ctx *c, const tc_stmt *s, void *user);
static const tir_rules DOT = {{[TC_STMT_SEQ] = dot_seq, [TC_STMT_FOR] = dot_for}};

static const tc_stmt *dot_for(tc_ctx *c, const tc_stmt *s, void *user) {
    dotter *k = user;
    size_t mark = tir_enter_loop(c, k->env, s->u.loop.var, s->u.loop.extent);
    s = tir_rewrite_inside(c, &DOT, s, user);
    tc_env_undo(k->env, mark);
    return s;
}

static const tc_stmt *dot_seq(tc_ctx *c, const tc_stmt *s, void *user) {
    const tc_stmt **out = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, s->u.seq.n);
    for (int i = 0; i < s->u.seq.n; i++)
        out[i] = tir_rewrite(c, &DOT, s->u.seq.s[i], user);
    for (int i = 0; i < s->u.seq.n; i++)
        gather(user, out, s->u.seq.n, i);
    return tc_tir_seq(c, s->u.seq.n, out);
}

tc_status tir_pass_dot(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)err;
    dotter k = {c, m, tc_env_new()};
    *out = tir_with_body(c, in, m->intrinsics ? tir_rewrite(c, &DOT, in->body, &k) : in->body);
    tc_env_free(k.env);
    return TC_OK;
}
