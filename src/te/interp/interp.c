/* The reference interpreter: it defines the meaning of a workload. It evaluates every compute at each requested element without
 * optimisation, in blocks of lanes (interp_int.h). It has two entries. One computes all elements, producers first. The other
 * computes some points of one output: an element of an intermediate tensor is computed at its first read, and kept.
 *
 * Sums and products of floats accumulate in double and are rounded once. */
#include "te/interp/interp_int.h"

#include <math.h>
#include <stdlib.h>

#include "support/map.h"

enum { MAX_CHAIN = 1000 }; /* computes that wait for each other in demand-driven mode: bounds the stack */

typedef struct storage {
    void *data;
    bool owned;
    const tc_tensor *tensor;
    int producer; /* index of its compute, -1: an input */
} storage;

typedef struct machine {
    const tc_workload *w;
    program *programs;
    storage *tensors;
    tc_map index;    /* tensor id -> index into tensors */
    uint8_t **known; /* per compute, a byte per element: computed or about to be; NULL: everything is computed in order */
    double cost, max_cost;
    int chain;
    tc_error *err;
} machine;

static storage *find(const machine *m, const tc_tensor *t) {
    return &m->tensors[*tc_map_get(&m->index, t->id)];
}

/* ---- reads ---- */

static tc_status fail_index(machine *m, const program *p, const insn *k, int lane) {
    tc_strbuf text = {0};
    tc_expr_print(&text, k->read);
    int d = 0;
    const tc_tensor *t = k->read->u.tensor;
    while (d < t->ndim - 1 && (uint64_t)p->reg[k->idx[d]][lane].i < (uint64_t)t->shape[d])
        d++;
    tc_status s = tc_fail(m->err, TC_BAD_INPUT, "compute %s: index %d of %s is %lld, outside of [0, %lld)", p->op->name, d,
                          tc_sb_str(&text), (long long)p->reg[k->idx[d]][lane].i, (long long)t->shape[d]);
    tc_strbuf_free(&text);
    return s;
}

/* Row-major offsets; lanes in which the read does not happen get 0. */
static tc_status offsets_of(machine *m, const program *p, const insn *k, int n, int64_t *offset) {
    const tc_tensor *t = k->read->u.tensor;
    uint64_t bad = 0, stride = 1;
    memset(offset, 0, (size_t)n * sizeof *offset);
    for (int d = t->ndim - 1; d >= 0; d--) {
        const cell *x = p->reg[k->idx[d]];
        uint64_t extent = (uint64_t)t->shape[d];
        for (int l = 0; l < n; l++)
            bad |= (uint64_t)x[l].i >= extent;
        if (stride == 1)
            for (int l = 0; l < n; l++)
                offset[l] = (int64_t)((uint64_t)offset[l] + (uint64_t)x[l].i);
        else
            for (int l = 0; l < n; l++)
                offset[l] = (int64_t)((uint64_t)offset[l] + stride * (uint64_t)x[l].i);
        stride *= extent;
    }
    if (!bad)
        return TC_OK;
    const cell *mask = k->mask >= 0 ? p->reg[k->mask] : NULL;
    for (int l = 0; l < n; l++) {
        bool out = false;
        for (int d = 0; d < t->ndim; d++)
            out |= (uint64_t)p->reg[k->idx[d]][l].i >= (uint64_t)t->shape[d];
        if (out && (!mask || mask[l].i))
            return fail_index(m, p, k, l);
        offset[l] = out ? 0 : offset[l];
    }
    return TC_OK;
}

static tc_status eval(machine *m, int compute, int n, const int64_t *offset);

/* Computes what is read but not known yet. Lanes without the read ask for nothing. */
static tc_status demand(machine *m, const program *p, const insn *k, const storage *s, int n, const int64_t *offset) {
    uint8_t *known = m->known[s->producer];
    int64_t missing[LANES];
    int count = 0;
    const cell *mask = k->mask >= 0 ? p->reg[k->mask] : NULL;
    for (int l = 0; l < n; l++)
        if (!known[offset[l]] && (!mask || mask[l].i)) {
            known[offset[l]] = 1;
            missing[count++] = offset[l];
        }
    return count ? eval(m, s->producer, count, missing) : TC_OK;
}

static tc_status run_read(machine *m, const program *p, const insn *k, int n) {
    int64_t offset[LANES];
    const storage *s = find(m, k->read->u.tensor);
    TC_TRY(offsets_of(m, p, k, n, offset));
    if (tc_tensor_size(s->tensor) == 0) { /* none of the lanes reads, and there is no element 0 for them */
        memset(p->reg[k->dst], 0, (size_t)n * sizeof *p->reg[k->dst]);
        return TC_OK;
    }
    if (m->known && s->producer >= 0)
        TC_TRY(demand(m, p, k, s, n, offset));
    te_gather(s->tensor->dtype, s->data, offset, p->reg[k->dst], n);
    return TC_OK;
}

static tc_status run_code(machine *m, const program *p, int from, int to, int n) {
    for (int i = from; i < to; i++) {
        const insn *k = &p->code[i];
        if (k->op == TC_OP_READ)
            TC_TRY(run_read(m, p, k, n));
        else
            te_insn_run(k, p->reg, n);
    }
    m->cost += (double)(to - from) * n;
    if (m->max_cost > 0 && m->cost > m->max_cost)
        return tc_fail(m->err, TC_ENV, "compute %s: evaluating the points takes more than %.3g operations", p->op->name,
                       m->max_cost);
    return TC_OK;
}

/* ---- reducing ---- */

static void start(const tc_compute *op, cell *acc0, cell *acc1, int n) {
    cell *const acc[] = {acc0, acc1};
    for (int o = 0; o < op->nout; o++) {
        tc_dtype t = op->out[o]->dtype;
        te_number v = te_reducer_start(op->reducer, o, t);
        cell first = tc_dtype_is_float(t) ? (cell){.f = v.f} : (cell){.i = v.i};
        for (int l = 0; l < n; l++)
            acc[o][l] = first;
    }
}

/* acc[0] (+)= x, one element. */
static void reduce_one(const tc_compute *op, cell *a0, cell *a1, cell x0, cell x1) {
    const te_reducer *row = te_reducer_of(op->reducer);
    tc_dtype t = op->out[0]->dtype;
    bool is_float = tc_dtype_is_float(t);
    if (row->nout == 1) {
        if (is_float)
            a0->f = tc_eval_f(row->op, TC_F64, a0->f, x0.f);
        else
            a0->i = tc_eval_i(row->op, t, a0->i, x0.i);
        return;
    }
    bool wins, ties;
    if (is_float) {
        bool is_nan = isnan(x0.f), was_nan = isnan(a0->f);
        wins = tc_eval_compare_f(row->op, x0.f, a0->f) || (is_nan && !was_nan);
        ties = x0.f == a0->f || (is_nan && was_nan);
    } else {
        wins = tc_eval_i(row->op, t, x0.i, a0->i);
        ties = x0.i == a0->i;
    }
    if (wins || (ties && tc_eval_i(TC_OP_LT, op->out[1]->dtype, x1.i, a1->i))) {
        *a0 = x0;
        *a1 = x1;
    }
}

static void reduce(const tc_compute *op, cell *restrict acc0, cell *restrict acc1, const cell *x0, const cell *x1, int n) {
    if (op->reducer == TC_RED_SUM && tc_dtype_is_float(op->out[0]->dtype)) {
        for (int l = 0; l < n; l++)
            acc0[l].f += x0[l].f;
        return;
    }
    for (int l = 0; l < n; l++)
        reduce_one(op, &acc0[l], acc1 ? &acc1[l] : NULL, x0[l], x1 ? x1[l] : x0[l]);
}

/* ---- a block of outputs ---- */

static void set_all(const program *p, int reg, int64_t v, int n) {
    for (int l = 0; l < n && reg >= 0; l++)
        p->reg[reg][l].i = v;
}

/* Axis registers of lane l for the output element at `offset`. */
static void set_axes(const program *p, int l, int count, int64_t offset) {
    for (int d = p->op->naxis - 1; d >= 0; d--) {
        int64_t extent = p->op->axes[d].extent, i = offset % extent;
        offset /= extent;
        for (int k = l; k < l + count && p->axis[d] >= 0; k++)
            p->reg[p->axis[d]][k].i = i;
    }
}

/* The same for n lanes, of which each has an element of its own. Most often the next element: the last index is counted up. */
static void set_lanes(const program *p, int n, const int64_t *offset) {
    int last = p->op->naxis - 1, reg = last >= 0 ? p->axis[last] : -1;
    for (int l = 0; l < n && last >= 0;) {
        int64_t first = offset[l] % p->op->axes[last].extent, room = p->op->axes[last].extent - first;
        int run = 1;
        while (l + run < n && run < room && offset[l + run] == offset[l] + run)
            run++;
        set_axes(p, l, run, offset[l]);
        for (int k = 1; k < run && reg >= 0; k++)
            p->reg[reg][l + k].i = first + k;
        l += run;
    }
}

/* Steps the reduction indices like an odometer, last axis fastest; false at the end. */
static bool step(const tc_compute *op, int64_t *at) {
    for (int d = op->nraxis - 1; d >= 0; d--) {
        if (++at[d] < op->raxes[d].extent)
            return true;
        at[d] = 0;
    }
    return false;
}

static int64_t reduction_size(const tc_compute *op) {
    int64_t n = 1;
    for (int d = 0; d < op->nraxis; d++)
        n *= op->raxes[d].extent;
    return n;
}

/* Lanes are outputs; the reduction runs step by step. */
static tc_status eval_outputs(machine *m, const program *p, int n, const int64_t *offset, cell acc[2][LANES]) {
    int64_t at[2 * TC_MAX_DIMS] = {0};
    bool two = p->op->nout == 2;
    set_lanes(p, n, offset);
    TC_TRY(run_code(m, p, 0, p->nonce, n));
    if (p->op->reducer == TC_RED_NONE) {
        memcpy(acc[0], p->reg[p->body[0]], sizeof acc[0]);
        return TC_OK;
    }
    start(p->op, acc[0], two ? acc[1] : NULL, n);
    for (bool more = reduction_size(p->op) > 0; more; more = step(p->op, at)) {
        for (int d = 0; d < p->op->nraxis; d++)
            set_all(p, p->raxis[d], at[d], n);
        TC_TRY(run_code(m, p, p->nonce, p->ncode, n));
        reduce(p->op, acc[0], two ? acc[1] : NULL, p->reg[p->body[0]], two ? p->reg[p->body[1]] : NULL, n);
    }
    return TC_OK;
}

/* Lanes are points of the reduction of one output. */
static tc_status eval_reduction(machine *m, const program *p, int64_t offset, cell *acc0, cell *acc1) {
    int64_t at[2 * TC_MAX_DIMS] = {0};
    bool more = true;
    set_axes(p, 0, LANES, offset);
    TC_TRY(run_code(m, p, 0, p->nonce, LANES));
    start(p->op, acc0, acc1, 1);
    while (more) {
        int n = 0;
        for (; n < LANES && more; n++) {
            for (int d = 0; d < p->op->nraxis; d++)
                if (p->raxis[d] >= 0)
                    p->reg[p->raxis[d]][n].i = at[d];
            more = step(p->op, at);
        }
        TC_TRY(run_code(m, p, p->nonce, p->ncode, n));
        for (int l = 0; l < n; l++)
            reduce_one(p->op, acc0, acc1, p->reg[p->body[0]][l], p->reg[p->body[acc1 ? 1 : 0]][l]);
    }
    return TC_OK;
}

static tc_status eval_block(machine *m, const program *p, int n, const int64_t *offset, cell acc[2][LANES]) {
    if (p->op->reducer == TC_RED_NONE || n >= 16 || reduction_size(p->op) < 2 * n)
        return eval_outputs(m, p, n, offset, acc);
    for (int l = 0; l < n; l++)
        TC_TRY(eval_reduction(m, p, offset[l], &acc[0][l], p->op->nout == 2 ? &acc[1][l] : NULL));
    return TC_OK;
}

/* Computes n <= LANES elements of a compute's outputs and stores them. */
static tc_status eval(machine *m, int compute, int n, const int64_t *offset) {
    program *p = &m->programs[compute];
    cell acc[2][LANES];
    if (!p->reg)
        te_program_compile(p, m->w->computes[compute]);
    if (++m->chain > MAX_CHAIN)
        return tc_fail(m->err, TC_ENV, "compute %s: more than %d computes depend on each other", p->op->name, MAX_CHAIN);
    TC_TRY(eval_block(m, p, n, offset, acc));
    for (int o = 0; o < p->op->nout; o++) {
        const tc_tensor *t = p->op->out[o];
        te_scatter(t->dtype, find(m, t)->data, offset, acc[o], n);
    }
    m->chain--;
    return TC_OK;
}

static tc_status eval_all(machine *m, int compute) {
    int64_t size = tc_tensor_size(m->w->computes[compute]->out[0]), offset[LANES];
    for (int64_t from = 0; from < size; from += LANES) {
        int n = (int)TC_MIN(size - from, LANES);
        for (int l = 0; l < n; l++)
            offset[l] = from + l;
        TC_TRY(eval(m, compute, n, offset));
    }
    return TC_OK;
}

/* ---- set-up ---- */

static void add_storage(machine *m, const tc_tensor *t, int producer, const void *data) {
    size_t i = m->index.len;
    m->tensors[i] = (storage){.data = (void *)data, .tensor = t, .producer = producer};
    tc_map_put(&m->index, t->id, i);
}

/* Memory for a tensor that the caller does not provide. It may be too much for the machine: not a bug. */
static tc_status own(machine *m, storage *s) {
    int64_t bytes = tc_tensor_size(s->tensor) * tc_dtype_bytes(s->tensor->dtype);
    s->data = calloc((size_t)TC_MAX(bytes, 1), 1);
    s->owned = true;
    return s->data ? TC_OK
                   : tc_fail(m->err, TC_ENV, "tensor %s: no memory for its %lld bytes", s->tensor->name, (long long)bytes);
}

static tc_status open_machine(machine *m, const tc_workload *w, const void *const *in, void *const *out, tc_error *err) {
    *m = (machine){.w = w, .err = err};
    m->programs = tc_xcalloc((size_t)w->ncompute, sizeof *m->programs);
    m->tensors = tc_xcalloc((size_t)(w->nin + TC_MAX_OUTS * w->ncompute), sizeof *m->tensors);
    for (int i = 0; i < w->nin; i++)
        add_storage(m, w->in[i], -1, in[i]);
    for (int i = 0; i < w->ncompute; i++)
        for (int o = 0; o < w->computes[i]->nout; o++)
            add_storage(m, w->computes[i]->out[o], i, NULL);
    for (int i = 0; i < w->nout && out; i++)
        find(m, w->out[i])->data = out[i];
    for (size_t i = 0; i < m->index.len; i++)
        if (!m->tensors[i].data && m->tensors[i].producer >= 0)
            TC_TRY(own(m, &m->tensors[i]));
    return TC_OK;
}

static void close_machine(machine *m) {
    for (int i = 0; i < m->w->ncompute; i++) {
        te_program_free(&m->programs[i]);
        if (m->known)
            free(m->known[i]);
    }
    for (size_t i = 0; i < m->index.len; i++)
        if (m->tensors[i].owned)
            free(m->tensors[i].data);
    free(m->known);
    free(m->programs);
    free(m->tensors);
    tc_map_free(&m->index);
}

static tc_status check_fixed(const tc_workload *w, tc_error *err) {
    return !w->nsymbol
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "the size of symbol %s is not known: choose a size first", w->symbols[0]->name);
}

tc_status tc_te_interp(const tc_workload *w, const void *const *in, void *const *out, tc_error *err) {
    TC_TRY(check_fixed(w, err));
    machine m;
    tc_status s = open_machine(&m, w, in, out, err);
    for (int i = 0; i < w->ncompute && s == TC_OK; i++)
        s = eval_all(&m, i);
    close_machine(&m);
    return s;
}

static tc_status prepare_demand(machine *m) {
    m->known = tc_xcalloc((size_t)m->w->ncompute, sizeof *m->known);
    for (int i = 0; i < m->w->ncompute; i++) {
        m->known[i] = calloc((size_t)TC_MAX(tc_tensor_size(m->w->computes[i]->out[0]), 1), 1);
        if (!m->known[i])
            return tc_fail(m->err, TC_ENV, "compute %s: no memory for its elements", m->w->computes[i]->name);
    }
    return TC_OK;
}

static tc_status point_offset(const tc_tensor *t, const int64_t *coord, int64_t *out, tc_error *err) {
    *out = 0;
    for (int d = 0; d < t->ndim; d++) {
        if (coord[d] < 0 || coord[d] >= t->shape[d])
            return tc_fail(err, TC_BAD_INPUT, "coordinate %lld of dimension %d is outside of %s", (long long)coord[d], d,
                           t->name);
        *out = *out * t->shape[d] + coord[d];
    }
    return TC_OK;
}

tc_scalar tc_scalar_at(tc_dtype t, const void *base, int64_t i) {
    return tc_dtype_is_float(t) ? (tc_scalar){.f = tc_load_f(t, base, i)} : (tc_scalar){.i = tc_load_i(t, base, i)};
}

static tc_status eval_points(machine *m, const tc_tensor *t, size_t n, const int64_t *coords, tc_scalar *results) {
    storage *s = find(m, t);
    for (size_t from = 0; from < n; from += LANES) {
        int count = (int)TC_MIN(n - from, (size_t)LANES);
        int64_t offset[LANES];
        for (int l = 0; l < count; l++)
            TC_TRY(point_offset(t, coords + (from + (size_t)l) * (size_t)t->ndim, &offset[l], m->err));
        TC_TRY(eval(m, s->producer, count, offset));
        for (int l = 0; l < count; l++)
            results[from + (size_t)l] = tc_scalar_at(t->dtype, s->data, offset[l]);
    }
    return TC_OK;
}

tc_status tc_te_interp_points(const tc_workload *w, const void *const *in, int o, size_t n, const int64_t *coords,
                              tc_scalar *results, double max_cost, double *cost, tc_error *err) {
    if (cost)
        *cost = 0;
    TC_TRY(check_fixed(w, err));
    machine m;
    tc_status s = open_machine(&m, w, in, NULL, err);
    m.max_cost = max_cost;
    if (s == TC_OK)
        s = prepare_demand(&m);
    if (s == TC_OK)
        s = eval_points(&m, w->out[o], n, coords, results);
    if (cost)
        *cost = m.cost;
    close_machine(&m);
    return s;
}
