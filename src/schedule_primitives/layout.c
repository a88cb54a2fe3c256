/* transform_layout: where the elements of a buffer lie. A layout maps logical coordinates to physical coordinates:
 *
 *   (k, j) -> (j / 64, k, j % 64)      each part a sum of digits of the coordinates times constants
 *
 * A digit of v is v, v / c, v % c or (v / a) % b. Two elements must not share a place. The check derives this and never tries
 * places. First, each part can be read back as its digits (mixed radix). Second, the digits of each coordinate determine the
 * coordinate: their ranges are contiguous from 1 to its extent. The check refuses every layout that it cannot prove. A constant
 * is packed at build time, and this file rewrites its reads. For a stage, lowering applies the layout to stores and loads. */
#include <limits.h>

#include "schedule_primitives/sch_int.h"
#include "te/index/affine.h"

/* (v / div) % mod, mod == 0 standing for no modulo. */
typedef struct digit {
    int var;
    int64_t div, mod;
} digit;

enum { MAX_DIGITS = 16 };
/* Of an array, so that sizes can be computed: a tensor's 2^50 (te/te_int.h), padded by what any schedule pads. */
static const int64_t MOST_BYTES = (int64_t)1 << 62;

/* c + sum(coef[i] * digit[i]) */
typedef struct linear {
    int n;
    int64_t c, coef[MAX_DIGITS];
    digit d[MAX_DIGITS];
} linear;

static int64_t digit_extent(const digit *d, int64_t extent) {
    int64_t n = (extent - 1) / d->div + 1;
    return d->mod && d->mod < n ? d->mod : n;
}

/* ---- reading expressions ---- */

static int var_index(const tc_layout *l, const tc_var *v) {
    for (int i = 0; i < l->nin; i++)
        if (l->var[i] == v)
            return i;
    return -1;
}

static bool to_digit(const tc_layout *l, const tc_expr *e, digit *d) {
    if (e->op == TC_OP_VAR) {
        *d = (digit){.var = var_index(l, e->u.var), .div = 1};
        return d->var >= 0;
    }
    if ((e->op != TC_OP_DIV && e->op != TC_OP_MOD) || e->args[1]->op != TC_OP_INT || !to_digit(l, e->args[0], d))
        return false;
    int64_t c = e->args[1]->u.i;
    if (c < 1 || d->div > INT64_MAX / c)
        return false;
    if (e->op == TC_OP_DIV) {
        if (d->mod && d->mod % c)
            return false;
        d->div *= c;
        d->mod /= c;
        return true;
    }
    if (d->mod && d->mod % c && c % d->mod)
        return false;
    d->mod = d->mod && d->mod < c ? d->mod : c;
    return true;
}

static bool add_scaled(const tc_layout *l, const tc_expr *e, int64_t k, linear *out) {
    digit d;
    int64_t c;
    if (e->op == TC_OP_INT)
        return !__builtin_mul_overflow(k, e->u.i, &c) && !__builtin_add_overflow(out->c, c, &out->c);
    if (e->op == TC_OP_ADD || e->op == TC_OP_SUB)
        return add_scaled(l, e->args[0], k, out) && add_scaled(l, e->args[1], e->op == TC_OP_ADD ? k : -k, out);
    if (e->op == TC_OP_MUL) {
        if (e->args[1]->op != TC_OP_INT || tc_magnitude(e->args[1]->u.i) > INT_MAX || tc_magnitude(k) > INT_MAX)
            return false;
        return add_scaled(l, e->args[0], k * e->args[1]->u.i, out);
    }
    if (out->n == MAX_DIGITS || !to_digit(l, e, &d))
        return false;
    out->coef[out->n] = k;
    out->d[out->n++] = d;
    return true;
}

/* ---- ranges and injectivity ---- */

static bool linear_range(const linear *x, const int64_t *extent, int64_t *lo, int64_t *hi) {
    *lo = *hi = x->c;
    for (int i = 0; i < x->n; i++) {
        int64_t span;
        if (__builtin_mul_overflow(x->coef[i], digit_extent(&x->d[i], extent[x->d[i].var]) - 1, &span))
            return false;
        if (__builtin_add_overflow(span < 0 ? *lo : *hi, span, span < 0 ? lo : hi))
            return false;
    }
    return true;
}

/* Digits are recoverable from their sum when each coefficient exceeds all that the smaller ones can add up to. */
static bool is_radix(linear *x, const int64_t *extent) {
    for (int i = 1; i < x->n; i++) { /* insertion sort by |coefficient| */
        for (int k = i; k > 0 && llabs(x->coef[k]) < llabs(x->coef[k - 1]); k--) {
            int64_t c = x->coef[k];
            digit d = x->d[k];
            x->coef[k] = x->coef[k - 1];
            x->d[k] = x->d[k - 1];
            x->coef[k - 1] = c;
            x->d[k - 1] = d;
        }
    }
    int64_t reach = 0;
    for (int i = 0; i < x->n; i++) {
        int64_t n = digit_extent(&x->d[i], extent[x->d[i].var]);
        if (n == 1)
            continue;
        if (llabs(x->coef[i]) <= reach)
            return false;
        reach += llabs(x->coef[i]) * (n - 1);
    }
    return true;
}

/* Do the digits in all parts determine coordinate v? Grows the known range v % known from 1 upwards. */
static bool determines(const linear *parts, int n, int v, int64_t extent) {
    int64_t known = 1;
    for (bool more = true; more && known < extent;) {
        more = false;
        for (int p = 0; p < n; p++) {
            for (int i = 0; i < parts[p].n; i++) {
                const digit *d = &parts[p].d[i];
                if (d->var != v || known % d->div)
                    continue;
                if (!d->mod || d->mod > extent / d->div)
                    return true;
                if (d->div * d->mod > known && (d->div * d->mod) % known == 0) {
                    known = d->div * d->mod;
                    more = true;
                }
            }
        }
    }
    return known >= extent;
}

static bool read_parts(const tc_layout *l, linear *parts, int *bad) {
    for (int p = 0; p < l->nout; p++) {
        parts[p] = (linear){0};
        *bad = p;
        if (!add_scaled(l, l->to[p], 1, &parts[p]))
            return false;
    }
    return true;
}

bool tc_sch_layout_shape(const tc_layout *l, const int64_t *logical, int64_t *physical) {
    linear parts[TC_MAX_DIMS];
    int64_t lo;
    int bad;
    if (!read_parts(l, parts, &bad))
        return false;
    for (int p = 0; p < l->nout; p++) {
        if (!linear_range(&parts[p], logical, &lo, &physical[p]) || lo < 0)
            return false;
        physical[p]++;
    }
    return true;
}

/* ---- the primitive ---- */

static tc_status check_layout(const tc_instr *in, const tc_layout *l, const tc_tensor *t, int64_t *shape, tc_error *err) {
    linear parts[TC_MAX_DIMS];
    int64_t lo, hi, size = 1;
    int bad;
    if (l->nin != t->ndim)
        return REFUSE(err, in, "%s has %d dimensions, the layout has %d coordinates", t->name, t->ndim, l->nin);
    if (!read_parts(l, parts, &bad))
        return REFUSE(err, in, "part %d of the layout is not a sum of v, v / c, v %% c or (v / a) %% b times constants", bad + 1);
    for (int p = 0; p < l->nout; p++) {
        if (!linear_range(&parts[p], t->shape, &lo, &hi) || lo < 0)
            return REFUSE(err, in, "part %d of the layout can be negative", p + 1);
        if (__builtin_mul_overflow(size, hi + 1, &size) || size > MOST_BYTES / tc_dtype_bytes(t->dtype))
            return REFUSE(err, in, "the physical array would have more than 2^62 bytes");
        shape[p] = hi + 1;
        if (!is_radix(&parts[p], t->shape))
            return REFUSE(err, in, "the layout is not injective: part %d gives the same sum for different coordinates", p + 1);
    }
    for (int v = 0; v < l->nin; v++)
        if (!determines(parts, l->nout, v, t->shape[v]))
            return REFUSE(err, in, "the layout is not injective: its parts do not determine coordinate %s", l->var[v]->name);
    return TC_OK;
}

static const tc_expr *pack_read(tc_ctx *c, const tc_expr *e, void *user) {
    const tc_packed *p = user;
    if (e->op != TC_OP_READ || e->u.tensor != p->original)
        return e;
    const tc_expr *idx[TC_MAX_DIMS];
    for (int i = 0; i < p->layout->nout; i++)
        idx[i] = tc_expr_subst(c, p->layout->to[i], p->layout->nin, p->layout->var, e->args);
    return tc_read(c, p->packed, p->layout->nout, idx);
}

/* Stage i's compute, reading the packed constant. NULL: the stage does not read the constant. */
static tc_status packed_op(tc_sched *s, const tc_instr *in, int i, tc_packed *p, const tc_compute **out, tc_error *err) {
    const tc_compute *op = s->stages[i].op;
    const tc_expr *body[TC_MAX_OUTS];
    *out = NULL;
    if (!tc_sch_reads_tensor(s, i, p->original))
        return TC_OK;
    for (int o = 0; o < op->nout; o++)
        body[o] = tc_expr_map(s->ctx, op->body[o], pack_read, p);
    *out = tc_sch_with_body(s, op, body);
    return tc_sch_check_bodies(in, s->stages[i].name, *out, err);
}

static tc_status pack(tc_sched *s, const tc_instr *in, const tc_tensor *t, const tc_layout *l, const int64_t *shape,
                      tc_error *err) {
    tc_arena *a = tc_ctx_arena(s->ctx);
    tc_packed *packed = TC_NEW_N(a, tc_packed, s->npacked + 1), *p = &packed[s->npacked];
    const tc_compute **op = TC_NEW_N(a, const tc_compute *, s->nstage);
    const char *name = tc_arena_printf(a, "%s_packed", t->name);
    *p = (tc_packed){.original = t, .layout = l, .packed = tc_te_placeholder(s->ctx, name, t->dtype, l->nout, shape, true)};
    for (int i = 0; i < s->nstage; i++)
        TC_TRY(packed_op(s, in, i, p, &op[i], err));
    if (s->npacked)
        memcpy(packed, s->packed, sizeof *packed * (size_t)s->npacked);
    s->packed = packed;
    s->npacked++;
    for (int i = 0; i < s->nstage; i++)
        if (op[i])
            tc_sch_set_op(s, i, op[i]);
    return TC_OK;
}

static tc_status transform_stage(tc_sched *s, const tc_instr *in, int stage, const tc_layout *l, tc_error *err) {
    tc_stage *st = &s->stages[stage];
    if (st->attach == TC_ATTACH_INLINE)
        return REFUSE(err, in, "stage %s is inlined and has no buffer", st->name);
    if (st->is_output)
        return REFUSE(err, in, "stage %s is an output: the caller's array is row-major", st->name);
    if (st->align_dim >= 0)
        return REFUSE(err, in, "stage %s has an aligned dimension; put the padding into the layout instead", st->name);
    st->layout = l;
    return TC_OK;
}

tc_status tc_sch_do_transform_layout(tc_sched *s, const tc_instr *in, tc_error *err) {
    const tc_tensor *t;
    const tc_layout *l;
    int64_t shape[TC_MAX_DIMS];
    TC_TRY(tc_sch_tensor_operand(s, in, 0, &t, err));
    for (int i = 0; i < s->npacked; i++)
        if (s->packed[i].packed == t)
            return REFUSE(err, in, "%s has a layout already", s->packed[i].original->name);
    int stage = tc_sch_stage_of(s, t);
    if (stage < 0 && !t->is_const)
        return REFUSE(
            err, in,
            "%s is an input that is not constant: its layout is the caller's; cache_read makes a copy whose layout can be chosen",
            t->name);
    TC_TRY(tc_sch_parse_layout(s, in, &l, err));
    TC_TRY(check_layout(in, l, t, shape, err));
    if (stage >= 0)
        return transform_stage(s, in, stage, l, err);
    return pack(s, in, t, l, shape, err);
}

tc_status tc_sch_do_prefetch(tc_sched *s, const tc_instr *in, tc_error *err) {
    enum { MOST = 1 << 20 };
    const tc_tensor *t;
    int64_t ahead;
    TC_TRY(tc_sch_tensor_operand(s, in, 0, &t, err));
    TC_TRY(tc_sch_int_operand(s, in, 0, &ahead, err));
    if (ahead < 0 || ahead > MOST)
        return REFUSE(err, in, "the distance must be 0 to %d bytes, not %lld", MOST, (long long)ahead);
    for (int i = 0; i < s->npacked; i++)
        if (s->packed[i].packed == t) {
            s->packed[i].ahead = ahead;
            return TC_OK;
        }
    return REFUSE(err, in,
                  "%s is not a constant with a layout (transform_layout): only loops over a laid-out constant can prefetch",
                  in->names[0]);
}
