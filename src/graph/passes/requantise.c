/* Removes the division by the scale from a quantisation: the scale becomes part of a factor that is already there.
 *
 *   Q(Relu(float(sums) * m), s, z)             =>   Q(Relu(float(sums) * (m / s)), 1, z)
 *   Q(Relu(DQ(q, a, y)), s, z)                 =>   Q(Relu(DQ(q, a / s, y)), 1, z)
 *   Q(DQ(p, a, x) + DQ(q, b, y), s, z)         =>   Q(DQ(p, a / s, x) + DQ(q, b / s, y), 1, z)
 *
 * Max and Min with constants may stand between; their constants are divided too. Sums of products (the first rule) are scaled once,
 * as other runtimes do: the result differs by at most a rounding of the factor. The other two rules have 256 or 65,536 possible
 * inputs. They apply only with factors that give the defined result for every input. */
#include <math.h>
#include <stdlib.h>

#include "graph/ir/build.h"
#include "graph/ops/eval.h"
#include "graph/passes/quantised.h"

enum { MAX_PATH = 6, CASES = 256 };

/* The nodes between a QuantizeLinear and the scaled value, the last node first; x: for each node the operand on the path. */
typedef struct path {
    int n;
    const tc_graph_node *node[MAX_PATH];
    int x[MAX_PATH];
    tc_graph_value *from;
} path;

typedef struct rescaler {
    uint32_t *uses;
    size_t nuses;
} rescaler;

/* ---- paths ---- */

static bool scales_with_constant(tc_graph_op op) {
    return op == TC_GRAPH_OP_MAX || op == TC_GRAPH_OP_MIN || op == TC_GRAPH_OP_ADD;
}

/* The operand through which a positive factor on n's result moves to it and to n's constant; -1: there is none. */
static int scaled_operand(const tc_graph_node *n) {
    if (!n || n->nout != 1 || n->out[0]->dtype != TC_F32)
        return -1;
    if (n->op == TC_GRAPH_OP_RELU)
        return 0;
    if (!scales_with_constant(n->op))
        return -1;
    return n->in[1]->constant ? 0 : n->in[0]->constant ? 1 : -1;
}

static path path_to(tc_graph_value *v) {
    path p = {.from = v};
    for (int x; p.n < MAX_PATH && (x = scaled_operand(p.from->producer)) >= 0; p.n++) {
        p.node[p.n] = p.from->producer;
        p.x[p.n] = x;
        p.from = p.from->producer->in[x];
    }
    return p;
}

static bool is_read_once(const rescaler *r, const path *p, tc_graph_value *v) {
    bool once = v->id >= r->nuses || r->uses[v->id] == 1;
    for (int i = 0; i < p->n; i++) {
        const tc_graph_value *y = p->node[i]->in[p->x[i]];
        once &= y->id >= r->nuses || r->uses[y->id] == 1;
    }
    return once;
}

static tc_graph_value *divided(tc_graph *g, const tc_graph_value *c, double by, tc_error *err) {
    double *v = tc_graph_wide_f64(c->constant);
    for (int64_t i = 0, n = tc_graph_shape_count(&c->shape); i < n; i++)
        v[i] /= by;
    tc_graph_value *made = tc_graph_constant_of(g, c->name, c->dtype, &c->shape, v, err);
    free(v);
    return made;
}

/* Makes the nodes of the path again, on a source that is divided by `by`. */
static tc_graph_value *follow(tc_graph *g, const path *p, tc_graph_value *v, double by, tc_error *err) {
    for (int i = p->n; i-- > 0 && v;) {
        const tc_graph_node *n = p->node[i];
        tc_graph_value *in[2] = {v, NULL};
        if (n->nin > 1) {
            in[p->x[i]] = v;
            in[1 - p->x[i]] = divided(g, n->in[1 - p->x[i]], by, err);
            if (!in[1 - p->x[i]])
                return NULL;
        }
        v = tc_graph_place_typed(g, tc_graph_copy_node(g, n, in), tc_graph_fresh_name(g, n->out[0]->name), TC_F32,
                                 &n->out[0]->shape);
    }
    return v;
}

static tc_graph_value *scalar(tc_graph *g, const char *base, double v, tc_error *err) {
    return tc_graph_constant_of(g, base, TC_F32, &(tc_graph_shape){0}, &v, err);
}

/* Quantises v, which is in units of the scale. */
static tc_status quantise(tc_graph *g, const tc_graph_node *q, tc_graph_value *v, tc_error *err) {
    tc_graph_value *one = v ? scalar(g, "one", 1, err) : NULL;
    if (!one)
        return TC_ENV;
    tc_graph_value *in[] = {v, one, tc_graph_operand_of(q, 2)};
    tc_graph_node *n = tc_graph_copy_node(g, q, q->in);
    tc_graph_set_inputs(g, n, in, q->nin);
    tc_graph_produce(g, n, q->out[0]);
    return TC_OK;
}

/* ---- sums ---- */

/* float(sums) times a constant. */
static bool is_scaled_sum(const tc_graph_value *v) {
    const tc_graph_node *mul = tc_graph_made_by(v, TC_GRAPH_OP_MUL);
    const tc_graph_node *cast = mul && mul->in[1]->constant ? tc_graph_made_by(mul->in[0], TC_GRAPH_OP_CAST) : NULL;
    return cast && cast->in[0]->dtype == TC_I32 && v->dtype == TC_F32;
}

static tc_status rescale_sums(tc_graph *g, const tc_graph_node *q, const path *p, double scale, tc_error *err) {
    const tc_graph_node *mul = p->from->producer;
    tc_graph_value *by = divided(g, mul->in[1], scale, err);
    if (!by)
        return TC_ENV;
    tc_graph_node *n = tc_graph_copy_node(g, mul, (tc_graph_value *[]){mul->in[0], by});
    tc_graph_value *v = tc_graph_place_typed(g, n, tc_graph_fresh_name(g, mul->out[0]->name), TC_F32, &mul->out[0]->shape);
    return quantise(g, q, follow(g, p, v, scale, err), err);
}

/* ---- what has few cases ---- */

/* Dequantised bytes: one, or two that are added. */
typedef struct source {
    int n;
    const tc_graph_node *d[2];
    float scale[2];
    int64_t zero[2];
} source;

static bool add_source(source *s, const tc_graph_value *v) {
    const tc_graph_node *d = tc_graph_dequantisation_of(v);
    if (!d || tc_dtype_bytes(d->in[0]->dtype) != 1 || d->in[0]->constant ||
        !tc_graph_one_scale(d, &s->scale[s->n], &s->zero[s->n]))
        return false;
    s->d[s->n++] = d;
    return true;
}

static bool find_source(const path *p, source *s) {
    *s = (source){0};
    for (int i = 0; i < p->n; i++)
        if (p->node[i]->nin > 1 && tc_graph_shape_count(&p->node[i]->in[1 - p->x[i]]->shape) != 1)
            return false;
    if (add_source(s, p->from))
        return true;
    const tc_graph_node *add = tc_graph_made_by(p->from, TC_GRAPH_OP_ADD);
    return add && add_source(s, add->in[0]) && add_source(s, add->in[1]);
}

/* Computes the path for a value of the source, with the path's constants divided by `by`. */
static float along(const path *p, float x, float by) {
    for (int i = p->n; i-- > 0;) {
        const tc_graph_node *n = p->node[i];
        const tc_graph_value *other = n->nin > 1 ? n->in[1 - p->x[i]] : NULL;
        float c = other ? (float)((double)*(const float *)other->constant->data / (double)by) : 0;
        if (n->op == TC_GRAPH_OP_ADD)
            x += c;
        else
            x = n->op == TC_GRAPH_OP_MIN ? fminf(x, c) : fmaxf(x, c);
    }
    return x;
}

static float value_of(const source *s, int k, const float *scale, int i) {
    int64_t q = i + (s->d[k]->in[0]->dtype == TC_I8 ? INT8_MIN : 0);
    return (float)(q - s->zero[k]) * scale[k];
}

/* With these factors every input is rounded to the defined result. */
static bool agree(const source *s, const path *p, float scale, const float *factors) {
    for (int i = 0; i < CASES; i++)
        for (int j = 0; j < (s->n > 1 ? CASES : 1); j++) {
            float want = value_of(s, 0, s->scale, i), got = value_of(s, 0, factors, i);
            if (s->n > 1) {
                want += value_of(s, 1, s->scale, j);
                got += value_of(s, 1, factors, j);
            }
            if (nearbyintf(along(p, want, 1) / scale) != nearbyintf(along(p, got, scale)))
                return false;
        }
    return true;
}

/* Finds factors near the quotients of the scales with which all inputs give the defined result. */
static bool find_factors(const source *s, const path *p, float scale, float *factors) {
    enum { AROUND = 3 };
    float near[2][AROUND];
    for (int k = 0; k < s->n; k++) {
        near[k][0] = (float)((double)s->scale[k] / (double)scale);
        near[k][1] = nextafterf(near[k][0], 0);
        near[k][2] = nextafterf(near[k][0], INFINITY);
    }
    for (int i = 0; i < AROUND; i++)
        for (int j = 0; j < (s->n > 1 ? AROUND : 1); j++) {
            factors[0] = near[0][i];
            factors[1] = s->n > 1 ? near[1][j] : 0;
            if (agree(s, p, scale, factors))
                return true;
        }
    return false;
}

static tc_status rescale_bytes(tc_graph *g, const tc_graph_node *q, const path *p, const source *s, double scale,
                               const float *factors, tc_error *err) {
    tc_graph_value *v[2] = {NULL, NULL};
    for (int k = 0; k < s->n; k++) {
        tc_graph_value *by = scalar(g, "factor", (double)factors[k], err);
        if (!by)
            return TC_ENV;
        tc_graph_node *d = tc_graph_copy_node(g, s->d[k], s->d[k]->in);
        tc_graph_set_inputs(g, d, (tc_graph_value *[]){s->d[k]->in[0], by, tc_graph_operand_of(s->d[k], 2)}, s->d[k]->nin);
        v[k] = tc_graph_place_typed(g, d, tc_graph_fresh_name(g, s->d[k]->out[0]->name), TC_F32, &s->d[k]->out[0]->shape);
    }
    if (s->n > 1) {
        tc_graph_node *add = tc_graph_copy_node(g, p->from->producer, v);
        v[0] = tc_graph_place_typed(g, add, tc_graph_fresh_name(g, p->from->name), TC_F32, &p->from->shape);
    }
    return quantise(g, q, follow(g, p, v[0], scale, err), err);
}

/* ---- two factors ---- */

/* Mul(Mul(float(sums), a), b)  =>  Mul(float(sums), a * b), for constants by channel or for all. */
static bool merge_factors(tc_graph *g, const rescaler *r, const tc_graph_node *n, tc_error *err) {
    const tc_graph_value *x = n->in[0], *b = tc_graph_operand_of(n, 1);
    const tc_graph_node *mul = tc_graph_is_const(b) && is_scaled_sum(x) ? x->producer : NULL;
    const tc_graph_value *a = mul ? mul->in[1] : NULL;
    int64_t na = a ? tc_graph_shape_count(&a->shape) : 0, nb = a ? tc_graph_shape_count(&b->shape) : 0;
    bool once = x->id >= r->nuses || r->uses[x->id] == 1, same = a && tc_graph_shape_equal(&a->shape, &b->shape);
    if (!a || !once || (na != 1 && nb != 1 && !same))
        return false;
    const tc_graph_value *longer = na > 1 ? a : b;
    double *v = tc_graph_wide_f64(longer->constant), *w = tc_graph_wide_f64((longer == a ? b : a)->constant);
    for (int64_t i = 0; i < TC_MAX(na, nb); i++)
        v[i] *= w[same ? i : 0];
    tc_graph_value *by = tc_graph_constant_of(g, longer->name, TC_F32, &longer->shape, v, err);
    free(v);
    free(w);
    if (by)
        tc_graph_produce(g, tc_graph_copy_node(g, n, (tc_graph_value *[]){mul->in[0], by}), n->out[0]);
    return by;
}

/* ---- the walk ---- */

static tc_status visit(tc_graph *g, tc_graph_node *n, void *user, tc_error *err) {
    const rescaler *r = user;
    float scale, factors[2];
    int64_t zero;
    source s;
    if (n->op == TC_GRAPH_OP_QUANTIZE_LINEAR && n->in[0]->dtype == TC_F32 && tc_graph_one_scale(n, &scale, &zero) && scale != 1) {
        path p = path_to(n->in[0]);
        if (is_scaled_sum(p.from) && is_read_once(r, &p, n->in[0]))
            return rescale_sums(g, n, &p, (double)scale, err);
        if (find_source(&p, &s) && find_factors(&s, &p, scale, factors))
            return rescale_bytes(g, n, &p, &s, (double)scale, factors, err);
    }
    if (n->op != TC_GRAPH_OP_MUL || n->out[0]->dtype != TC_F32 || !merge_factors(g, r, n, err))
        tc_push(&g->nodes, n);
    return TC_OK;
}

tc_status tc_graph_pass_requantise(tc_graph *g, tc_error *err) {
    rescaler r = {tc_graph_count_uses(g), g->values.len};
    tc_status s = tc_graph_rewrite_nodes(g, visit, &r, err);
    free(r.uses);
    return s;
}
