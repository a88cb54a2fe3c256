/* The sizes that vary in a saved model: their description in the metadata, and the checks in its code. */
#include "graph/saved/save_int.h"

/* ---- as code checks them ---- */

typedef struct checks {
    tc_arena *a;
    tc_cg_size_check *check;
    int n;
} checks;

static void add_check(checks *c, tc_formula f, int64_t least, int64_t most) {
    c->check[c->n++] = (tc_cg_size_check){f, least, most};
}

/* What a size is made of, less the size, is 0. */
static void add_relation(checks *c, int k, const tc_graph_size_rule *s) {
    tc_formula own = tc_formula_join(c->a, tc_formula_size(c->a, k), tc_formula_number(c->a, s->multiple), TC_FORMULA_MUL);
    add_check(c, tc_formula_join(c->a, s->is.formula, own, TC_FORMULA_SUB), 0, 0);
}

static void add_bound(checks *c, const tc_graph_size_bound *l) {
    if (l->least != INT64_MIN || l->most != INT64_MAX)
        add_check(c, l->x.formula, l->least, l->most);
    if (l->multiple > 1)
        add_check(c, tc_formula_join(c->a, l->x.formula, tc_formula_number(c->a, l->multiple), TC_FORMULA_MOD), 0, 0);
    if (l->by.text)
        add_check(c, tc_formula_join(c->a, l->x.formula, l->by.formula, TC_FORMULA_MOD), 0, 0);
    if (l->same.text)
        add_check(c, tc_formula_join(c->a, l->x.formula, l->same.formula, TC_FORMULA_SUB), 0, 0);
}

tc_cg_size_checks tc_graph_size_checks(const tc_graph_size_rules *r, tc_arena *a) {
    checks c = {a, TC_NEW_N(a, tc_cg_size_check, r->nsize + 4 * r->nlimit), 0};
    tc_cg_size_range *range = TC_NEW_N(a, tc_cg_size_range, r->nsize);
    for (int k = 0; k < r->nsize; k++) {
        range[k] = (tc_cg_size_range){r->size[k].least, r->size[k].most, r->size[k].multiple};
        if (r->size[k].is.text)
            add_relation(&c, k, &r->size[k]);
    }
    for (int i = 0; i < r->nlimit; i++)
        add_bound(&c, &r->limit[i]);
    return (tc_cg_size_checks){.nsize = r->nsize, .first = r->nin, .range = range, .ncheck = c.n, .check = c.check};
}

/* ---- in metadata ---- */

/* [[0], 6, "*"]: six times what size 0 has of its multiples. */
static json_t *value_to_json(const tc_graph_size_value *x) {
    json_t *steps = tc_json_array();
    for (int i = 0; i < x->formula.n; i++) {
        const tc_formula_step *s = &x->formula.steps[i];
        if (s->op == TC_FORMULA_NUMBER)
            tc_json_append(steps, tc_json_integer(s->arg));
        else if (s->op == TC_FORMULA_SIZE)
            tc_json_append(steps, tc_json_pack("[I]", (json_int_t)s->arg));
        else
            tc_json_append(steps, tc_json_string(tc_formula_text(s->op)));
    }
    return tc_json_pack("{s:s, s:o}", "text", x->text, "formula", steps);
}

/* Of a range, the ends that there are. */
static json_t *bound_to_json(const tc_graph_size_bound *l) {
    json_t *j = tc_json_pack("{s:o}", "size", value_to_json(&l->x));
    if (l->least != INT64_MIN)
        tc_json_set(j, "least", tc_json_integer(l->least));
    if (l->most != INT64_MAX)
        tc_json_set(j, "most", tc_json_integer(l->most));
    if (l->multiple > 1)
        tc_json_set(j, "multiple", tc_json_integer(l->multiple));
    if (l->by.text)
        tc_json_set(j, "by", value_to_json(&l->by));
    if (l->same.text)
        tc_json_set(j, "same", value_to_json(&l->same));
    if (l->what)
        tc_json_set(j, "what", tc_json_string(l->what));
    return j;
}

json_t *tc_graph_rules_to_json(const tc_graph_size_rules *r) {
    json_t *inputs = tc_json_array(), *sizes = tc_json_array(), *limits = tc_json_array();
    for (int i = 0; i < r->nin; i++) {
        json_t *dims = tc_json_array();
        for (int d = 0; d < r->in[i].ndim; d++)
            tc_json_append(dims, tc_json_integer(r->in[i].size[d]));
        tc_json_append(inputs, dims);
    }
    for (int k = 0; k < r->nsize; k++) {
        const tc_graph_size_rule *s = &r->size[k];
        json_t *j = tc_json_pack("{s:s, s:I, s:I, s:I, s:b, s:b}", "name", s->name, "least", (json_int_t)s->least, "most",
                                 (json_int_t)s->most, "multiple", (json_int_t)s->multiple, "assumed", s->assumed, "narrowed",
                                 s->narrowed);
        if (s->is.text)
            tc_json_set(j, "is", value_to_json(&s->is));
        tc_json_append(sizes, j);
    }
    for (int i = 0; i < r->nlimit; i++)
        tc_json_append(limits, bound_to_json(&r->limit[i]));
    return tc_json_pack("{s:o, s:o, s:o}", "inputs", inputs, "sizes", sizes, "limits", limits);
}

static bool read_step(tc_graph_note *n, const json_t *j, tc_formula_step *out) {
    *out = (tc_formula_step){.op = TC_FORMULA_NUMBER};
    if (json_is_string(j))
        return tc_formula_named(json_string_value(j), &out->op) ||
               tc_graph_note_wrong(n, "a formula has an operation '%.20s', which there is not", json_string_value(j));
    if (json_array_size(j) == 1)
        out->op = TC_FORMULA_SIZE;
    return tc_graph_note_int(n, json_array_size(j) == 1 ? json_array_get(j, 0) : j, "formula", INT64_MIN, INT64_MAX, &out->arg);
}

/* As libraries of earlier versions have it: a constant, and every size so many times, divided. */
static bool read_sum(tc_graph_note *n, const json_t *j, tc_formula *f) {
    const json_t *times = json_object_get(j, "times"), *divisor = json_object_get(j, "divisor");
    int64_t v;
    if (!tc_graph_note_int(n, json_object_get(j, "constant"), "constant", INT64_MIN, INT64_MAX, &v))
        return false;
    *f = tc_formula_number(n->arena, v);
    for (size_t k = 0; k < json_array_size(times) && f->n < TC_FORMULA_STEPS; k++) {
        if (!tc_graph_note_int(n, json_array_get(times, k), "times", INT64_MIN, INT64_MAX, &v))
            return false;
        tc_formula each = tc_formula_number(n->arena, v);
        each = tc_formula_join(n->arena, tc_formula_size(n->arena, (int)k), each, TC_FORMULA_MUL);
        if (v != 0)
            *f = tc_formula_join(n->arena, *f, each, TC_FORMULA_ADD);
    }
    if (!divisor)
        return true;
    if (!tc_graph_note_int(n, divisor, "divisor", INT64_MIN, INT64_MAX, &v))
        return false;
    *f = tc_formula_join(n->arena, *f, tc_formula_number(n->arena, v), TC_FORMULA_DIV);
    return true;
}

static bool read_formula(tc_graph_note *n, const json_t *j, tc_formula *f) {
    size_t length = json_array_size(j);
    if (length < 1 || length > TC_FORMULA_STEPS)
        return tc_graph_note_wrong(n, "'formula' must be a list of 1 to %d steps", TC_FORMULA_STEPS);
    tc_formula_step *step = TC_NEW_N(n->arena, tc_formula_step, length);
    for (size_t i = 0; i < length; i++)
        if (!read_step(n, json_array_get(j, i), &step[i]))
            return false;
    *f = (tc_formula){(int)length, step};
    return true;
}

/* Whether it is sound only shows when all ranges are known. */
static bool read_value(tc_graph_note *n, const json_t *j, tc_graph_size_value *out) {
    const json_t *steps = json_object_get(j, "formula");
    bool is_sum = !steps && json_is_array(json_object_get(j, "times"));
    *out = (tc_graph_size_value){0};
    return tc_graph_note_text(n, json_object_get(j, "text"), "text", &out->text) &&
           (is_sum ? read_sum(n, j, &out->formula) : read_formula(n, steps, &out->formula));
}

/* An end of a range that may be open. */
static bool read_end(tc_graph_note *n, const json_t *j, const char *what, int64_t open, int64_t *out) {
    *out = open;
    return !j || tc_graph_note_int(n, j, what, INT64_MIN, INT64_MAX, out);
}

static bool read_bound(tc_graph_note *n, const json_t *j, tc_graph_size_bound *out) {
    const json_t *by = json_object_get(j, "by"), *same = json_object_get(j, "same"), *size = json_object_get(j, "size");
    const json_t *what = json_object_get(j, "what"), *multiple = json_object_get(j, "multiple");
    *out = (tc_graph_size_bound){.multiple = 1};
    if ((what && !tc_graph_note_text(n, what, "what", &out->what)) ||
        !read_end(n, json_object_get(j, "least"), "least", INT64_MIN, &out->least) ||
        !read_end(n, json_object_get(j, "most"), "most", INT64_MAX, &out->most) ||
        (multiple && !tc_graph_note_int(n, multiple, "multiple", 1, TC_MAX_SIZE, &out->multiple)))
        return false;
    if (out->least > out->most || (same && !what))
        return tc_graph_note_wrong(n, same && !what ? "'same' needs 'what'" : "'least' is more than 'most'");
    return read_value(n, size ? size : json_object_get(j, "sum"), &out->x) && (!by || read_value(n, by, &out->by)) &&
           (!same || read_value(n, same, &out->same));
}

static bool read_rule(tc_graph_note *n, const json_t *j, const tc_graph_port *p, tc_graph_size_rule *out) {
    const json_t *is = json_object_get(j, "is");
    *out = (tc_graph_size_rule){.assumed = json_is_true(json_object_get(j, "assumed")),
                                .narrowed = json_is_true(json_object_get(j, "narrowed"))};
    if (p->dtype != TC_I64 || p->shape.ndim != 0)
        return tc_graph_note_wrong(n, "the input of a size must be one i64");
    return tc_graph_note_text(n, json_object_get(j, "name"), "name", &out->name) &&
           tc_graph_note_int(n, json_object_get(j, "most"), "most", 0, TC_MAX_SIZE, &out->most) &&
           tc_graph_note_int(n, json_object_get(j, "least"), "least", 0, out->most, &out->least) &&
           tc_graph_note_int(n, json_object_get(j, "multiple"), "multiple", 1, TC_MAX_SIZE, &out->multiple) &&
           (!is || read_value(n, is, &out->is));
}

/* Which dimensions of an input vary. It has room for the largest size. */
static bool read_input(tc_graph_note *n, const json_t *dims, const tc_graph_port *p, const tc_graph_size_rules *r, bool *carried,
                       tc_graph_sized_input *out) {
    *out = (tc_graph_sized_input){.name = p->name, .ndim = p->shape.ndim};
    if (json_array_size(dims) != (size_t)p->shape.ndim)
        return tc_graph_note_wrong(n, "there must be a number for each of its %d dimensions", p->shape.ndim);
    for (int d = 0; d < p->shape.ndim; d++) {
        if (!tc_graph_note_index(n, json_array_get(dims, (size_t)d), "size", -1, r->nsize - 1, &out->size[d]))
            return false;
        int k = out->size[d];
        if (k >= 0 && r->size[k].most > p->shape.d[d])
            return tc_graph_note_wrong(n, "dimension %d is smaller than the largest size '%.40s'", d, r->size[k].name);
        if (k >= 0)
            carried[k] = true;
    }
    return true;
}

static bool is_sound(tc_graph_note *n, const tc_graph_size_rules *r, const tc_graph_size_value *x) {
    return !x->text || tc_graph_size_value_is_sound(r, x) ||
           tc_graph_note_wrong(n, "the formula of '%.40s' is none, or has numbers that are too large", x->text);
}

/* Nothing that a file says makes a run overflow. */
static bool are_sound(tc_graph_note *n, const tc_graph_size_rules *r) {
    for (int k = 0; k < r->nsize; k++)
        if (!is_sound(n, r, &r->size[k].is))
            return false;
    for (int i = 0; i < r->nlimit; i++) {
        const tc_graph_size_bound *l = &r->limit[i];
        if (!is_sound(n, r, &l->x) || !is_sound(n, r, &l->by) || !is_sound(n, r, &l->same))
            return false;
    }
    return true;
}

/* The lists of `varying`, whose lengths are known. ports: of the inputs. */
static bool read_lists(tc_graph_note *n, const json_t *j, const tc_graph_port *ports, tc_graph_size_rules *r,
                       tc_graph_sized_input *in) {
    const json_t *inputs = json_object_get(j, "inputs"), *sizes = json_object_get(j, "sizes"),
                 *limits = json_object_get(j, "limits");
    bool *carried = TC_NEW_N(n->arena, bool, r->nsize);
    n->list = "varying.sizes";
    for (n->item = 0; n->item < r->nsize; n->item++)
        if (!read_rule(n, json_array_get(sizes, (size_t)n->item), &ports[r->nin + n->item], &r->size[n->item]))
            return false;
    n->list = "varying.inputs";
    for (n->item = 0; n->item < r->nin; n->item++)
        if (!read_input(n, json_array_get(inputs, (size_t)n->item), &ports[n->item], r, carried, &in[n->item]))
            return false;
    n->list = "varying.sizes";
    for (n->item = 0; n->item < r->nsize; n->item++)
        if (!carried[n->item])
            return tc_graph_note_wrong(n, "no input has this size");
    n->list = "varying.limits";
    for (n->item = 0; n->item < r->nlimit; n->item++)
        if (!read_bound(n, json_array_get(limits, (size_t)n->item), &r->limit[n->item]))
            return false;
    n->list = NULL;
    return true;
}

/* Nothing varies. */
static void fix_inputs(const tc_graph_port *ports, int n, tc_graph_sized_input *in) {
    for (int i = 0; i < n; i++) {
        in[i] = (tc_graph_sized_input){.name = ports[i].name, .ndim = ports[i].shape.ndim};
        for (int d = 0; d < in[i].ndim; d++)
            in[i].size[d] = -1;
    }
}

bool tc_graph_rules_from_json(tc_graph_note *n, const json_t *j, const tc_graph_port *ports, int nports,
                              tc_graph_size_rules *out) {
    int nin, nsize, nlimit;
    if (!tc_graph_note_list(n, json_object_get(j, "inputs"), "varying.inputs", &nin) ||
        !tc_graph_note_list(n, json_object_get(j, "sizes"), "varying.sizes", &nsize) ||
        !tc_graph_note_list(n, json_object_get(j, "limits"), "varying.limits", &nlimit))
        return false;
    if (j && (!json_is_object(j) || nsize > nports || nin != nports - nsize))
        return tc_graph_note_wrong(n, "'varying' must tell of %d inputs, those of sizes last", nports);
    tc_graph_sized_input *in = TC_NEW_N(n->arena, tc_graph_sized_input, nports - nsize);
    *out = (tc_graph_size_rules){.nin = nports - nsize, .nsize = nsize, .nlimit = nlimit, .in = in};
    out->size = TC_NEW_N(n->arena, tc_graph_size_rule, nsize);
    out->limit = TC_NEW_N(n->arena, tc_graph_size_bound, nlimit);
    if (!j)
        fix_inputs(ports, nports, in);
    return !j || (read_lists(n, j, ports, out, in) && are_sound(n, out));
}
