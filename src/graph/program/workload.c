/* Makes a program from a single workload. */
#include "graph/program/maker_int.h"

#include <string.h>

typedef tc_graph_maker maker;

static tc_graph_shape shape_of(const tc_tensor *t) {
    tc_graph_shape s = {.ndim = t->ndim};
    memcpy(s.d, t->shape, sizeof s.d[0] * (size_t)t->ndim);
    return s;
}

/* The content of const placeholder i: given by name, or seeded. It belongs to the program. */
static tc_status constant_of(tc_graph_program *p, const tc_workload *w, int i, const tc_graph_named *named, size_t n,
                             uint64_t seed, tc_error *err) {
    const tc_tensor *t = w->in[i];
    tc_graph_shape shape = shape_of(t);
    tc_graph_tensor c;
    TC_TRY(tc_graph_tensor_alloc(&c, t->dtype, &shape, err));
    tc_push(&p->owned, c);
    for (size_t k = 0; k < n; k++) {
        const tc_graph_tensor *v = &named[k].t;
        if (strcmp(named[k].name, t->name) != 0)
            continue;
        if (v->dtype != t->dtype || !tc_graph_shape_equal(&v->shape, &shape))
            return tc_fail(err, TC_BAD_INPUT, "constant '%s': given as %s, but the workload declares %s", t->name,
                           tc_graph_type_str(p->arena, v->dtype, &v->shape), tc_graph_type_str(p->arena, t->dtype, &shape));
        memcpy(c.data, v->data, tc_graph_tensor_bytes(&c));
        return TC_OK;
    }
    tc_push(&p->drawn, tc_arena_strdup(p->arena, t->name));
    tc_rng rng = tc_rng_seed(seed + (uint64_t)i);
    tc_te_random_fill(t->dtype, c.data, tc_tensor_size(t), &rng, tc_te_index_limit(w, i));
    return TC_OK;
}

static int number_of(const tc_workload *w, const tc_var *symbol) {
    int k = 0;
    while (w->symbols[k] != symbol)
        k++;
    return k;
}

static int64_t bytes_of(const tc_tensor *t) {
    return tc_tensor_size(t) * tc_dtype_bytes(t->dtype);
}

static tc_status input_slots(maker *m, const tc_workload *w, const tc_graph_named *named, size_t n, uint64_t seed, int *args,
                             tc_error *err) {
    tc_graph_program *p = m->p;
    p->in = TC_NEW_N(p->arena, tc_graph_port, w->nin + w->nsymbol);
    for (int i = 0; i < w->nin; i++)
        if (w->in[i]->is_const)
            TC_TRY(constant_of(p, w, i, named, n, seed, err));
    for (int i = 0, c = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        const char *name = tc_arena_strdup(p->arena, t->name);
        tc_graph_slot s = {.kind = TC_GRAPH_SLOT_INPUT, .name = name, .bytes = bytes_of(t)};
        if (t->is_const) {
            s.kind = TC_GRAPH_SLOT_CONST;
            s.constant = &p->owned.data[c++];
        } else {
            s.input = p->nin;
            p->in[p->nin++] = (tc_graph_port){.name = name, .dtype = t->dtype, .shape = shape_of(t)};
        }
        args[i] = tc_graph_maker_add_slot(m, s);
    }
    return TC_OK;
}

/* Which dimensions of inputs are sizes. TC_BAD_INPUT where no input has one. */
static tc_status find_rules(tc_graph_program *p, const tc_workload *w, tc_error *err) {
    tc_graph_sized_input *in = TC_NEW_N(p->arena, tc_graph_sized_input, p->nin);
    tc_graph_size_rule *size = TC_NEW_N(p->arena, tc_graph_size_rule, w->nsymbol);
    bool *carried = TC_NEW_N(p->arena, bool, w->nsymbol);
    p->rules = (tc_graph_size_rules){.nin = p->nin, .nsize = w->nsymbol, .in = in, .size = size};
    for (int i = 0, k = 0; i < w->nin; i++) {
        const tc_tensor *t = w->in[i];
        if (t->is_const)
            continue;
        in[k].name = p->in[k].name;
        in[k].ndim = t->ndim;
        for (int d = 0; d < t->ndim; d++) {
            in[k].size[d] = t->symbol[d] ? number_of(w, t->symbol[d]) : -1;
            p->in[k].extent[d] = t->symbol[d] ? p->rules.nin + in[k].size[d] : 0;
            if (t->symbol[d])
                carried[in[k].size[d]] = true;
        }
        k++;
    }
    for (int k = 0; k < w->nsymbol; k++) {
        const tc_var *v = w->symbols[k];
        size[k] =
            (tc_graph_size_rule){.name = tc_arena_strdup(p->arena, v->name), .least = v->least, .most = v->most, .multiple = 1};
        if (!carried[k])
            return tc_fail(err, TC_BAD_INPUT,
                           "no input has the size %s, so its value in a run is not known; give it a value (--shape)", v->name);
    }
    return TC_OK;
}

static tc_status check_sizes(const tc_tensor *t, tc_error *err) {
    for (int d = 0; d < t->ndim; d++)
        if (t->symbol[d] && t->symbol[d]->value)
            return tc_fail(err, TC_BAD_INPUT,
                           "%s has the size %s, which is computed from other sizes: a single kernel needs sizes that its own "
                           "inputs have; give numbers with --shape",
                           t->name, t->symbol[d]->name);
    return TC_OK;
}

/* Sizes that are made of others are no inputs, and nothing computes them. */
static tc_status check_tensors(const tc_workload *w, tc_error *err) {
    for (int i = 0; i < w->nin; i++)
        TC_TRY(check_sizes(w->in[i], err));
    for (int i = 0; i < w->nout; i++)
        TC_TRY(check_sizes(w->out[i], err));
    return TC_OK;
}

/* Inputs of their own, behind the others. The first one's slot is returned. */
static int size_slots(maker *m, const tc_workload *w) {
    tc_graph_program *p = m->p;
    int first = (int)m->slots.len;
    for (int k = 0; k < w->nsymbol; k++) {
        const char *name = p->rules.size[k].name;
        (void)tc_graph_maker_add_slot(m, (tc_graph_slot){.kind = TC_GRAPH_SLOT_INPUT, .name = name, .bytes = 8, .input = p->nin});
        p->in[p->nin++] = (tc_graph_port){.name = name, .dtype = TC_I64};
    }
    return first;
}

/* Outputs, and the sizes of them as outputs behind them. */
static void output_slots(maker *m, const tc_workload *w, int sizes, int *args) {
    tc_graph_program *p = m->p;
    p->nshown = w->nout;
    p->nout = w->nout + w->nsymbol;
    p->out = TC_NEW_N(p->arena, tc_graph_port, p->nout);
    p->out_slot = TC_NEW_N(p->arena, int, p->nout);
    for (int i = 0; i < w->nout; i++) {
        const tc_tensor *t = w->out[i];
        const char *name = tc_arena_strdup(p->arena, t->name);
        p->out[i] = (tc_graph_port){.name = name, .dtype = t->dtype, .shape = shape_of(t), .is_dense = w->nsymbol > 0};
        for (int d = 0; d < t->ndim; d++)
            p->out[i].extent[d] = t->symbol[d] ? w->nout + number_of(w, t->symbol[d]) : 0;
        p->out_slot[i] = args[w->nin + i] =
            tc_graph_maker_add_slot(m, (tc_graph_slot){.kind = TC_GRAPH_SLOT_TEMP, .name = name, .bytes = bytes_of(t)});
    }
    for (int k = 0; k < w->nsymbol; k++) {
        p->out[w->nout + k] = (tc_graph_port){.name = p->rules.size[k].name, .dtype = TC_I64};
        p->out_slot[w->nout + k] = sizes + k;
    }
}

static tc_status make(maker *m, const tc_workload *w, const tc_graph_named *named, size_t n, uint64_t seed, tc_error *err) {
    tc_graph_program *p = m->p;
    int *args = TC_NEW_N(p->arena, int, w->nin + w->nout + 1), *all = TC_NEW_N(p->arena, int, w->nsymbol);
    TC_TRY(input_slots(m, w, named, n, seed, args, err));
    TC_TRY(check_tensors(w, err));
    TC_TRY(find_rules(p, w, err));
    int sizes = size_slots(m, w);
    output_slots(m, w, sizes, args);
    for (int k = 0; k < w->nsymbol; k++)
        all[k] = sizes + k;
    tc_graph_launch x = {.name = p->name, .covers = p->name, .nargs = w->nin + w->nout, .args = args};
    x.task = tc_graph_maker_task(m, w, p->name, 1);
    if (w->nsymbol)
        args[x.nargs++] = tc_graph_maker_gather(m, w->nsymbol, all, "sizes");
    tc_push(&m->launches, x);
    tc_graph_maker_deliver(m);
    tc_graph_find_ranges(p);
    return TC_OK;
}

tc_status tc_graph_program_of_workload(const tc_workload *w, const char *name, const tc_graph_named *constants, size_t nconstants,
                                       uint64_t seed, tc_graph_program **out, tc_error *err) {
    tc_graph_program *p = tc_graph_new_program(name);
    maker m = {.p = p, .times = 1};
    tc_status s = make(&m, w, constants, nconstants, seed, err);
    tc_graph_maker_release(&m);
    if (s != TC_OK) {
        tc_graph_program_free(p);
        return s;
    }
    *out = p;
    return TC_OK;
}
