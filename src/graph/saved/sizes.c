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
    json_t *steps = json_array();
    for (int i = 0; i < x->formula.n; i++) {
        const tc_formula_step *s = &x->formula.steps[i];
        if (s->op == TC_FORMULA_NUMBER)
            json_array_append_new(steps, json_integer(s->arg));
        else if (s->op == TC_FORMULA_SIZE)
            json_array_append_new(steps, json_pack("[I]", (json_int_t)s->arg));
        else
            json_array_append_new(steps, json_string(tc_formula_text(s->op)));
    }
    return json_pack("{s:s, s:o}", "text", x->text, "formula", steps);
}

/* Of a range, the ends that there are. */
static json_t *bound_to_json(const tc_graph_size_bound *l) {
    json_t *j = json_pack("{s:o}", "size", value_to_json(&l->x));
    if (l->least != INT64_MIN)
        json_object_set_new(j, "least", json_integer(l->least));
    if (l->most != INT64_MAX)
        json_object_set_new(j, "most", json_integer(l->most));
    if (l->multiple > 1)
        json_object_set_new(j, "multiple", json_integer(l->multiple));
    if (l->by.text)
        json_object_set_new(j, "by", value_to_json(&l->by));
    if (l->same.text)
        json_object_set_new(j, "same", value_to_json(&l->same));
    if (l->what)
        json_object_set_new(j, "what", json_string(l->what));
    return j;
}

json_t *tc_graph_rules_to_json(const tc_graph_size_rules *r) {
    json_t *inputs = json_array(), *sizes = json_array(), *limits = json_array();
    for (int i = 0; i < r->nin; i++) {
        json_t *dims = json_array();
        for (int d = 0; d < r->in[i].ndim; d++)
            json_array_append_new(dims, json_integer(r->in[i].size[d]));
        json_array_append_new(inputs, dims);
    }
    for (int k = 0; k < r->nsize; k++) {
        const tc_graph_size_rule *s = &r->size[k];
        json_t *j =
            json_pack("{s:s, s:I, s:I, s:I, s:b, s:b}", "name", s->name, "least", (json_int_t)s->least, "most",
                      (json_int_t)s->most, "multiple", (json_int_t)s->multiple, "assumed", s->assumed, "narrowed", s->narrowed);
        if (s->is.text)
            json_object_set_new(j, "is", value_to_json(&s->is));
        json_array_append_new(sizes, j);
    }
    for (int i = 0; i < r->nlimit; i++)
        json_array_append_new(limits, bound_to_json(&r->limit[i]));
    return json_pack("{s:o, s:o, s:o}", "inputs", inputs, "sizes", sizes, "limits", limits);
}

static bool read_step(const json_t *j, tc_formula_step *out) {
    const json_t *size = json_array_get(j, 0);
    bool is_size = json_array_size(j) == 1 && json_is_integer(size), is_number = json_is_integer(j);
    *out = (tc_formula_step){is_size ? TC_FORMULA_SIZE : TC_FORMULA_NUMBER, json_integer_value(is_size ? size : j)};
    return is_size || is_number || (json_is_string(j) && tc_formula_named(json_string_value(j), &out->op));
}

/* As libraries of earlier versions have it: a constant, and every size so many times, divided. */
static bool read_sum(const json_t *j, tc_arena *a, const char *text, tc_graph_size_value *out) {
    const json_t *times = json_object_get(j, "times"), *divisor = json_object_get(j, "divisor");
    tc_formula f = tc_formula_number(a, json_integer_value(json_object_get(j, "constant")));
    for (size_t k = 0; k < json_array_size(times) && f.n < TC_FORMULA_STEPS; k++) {
        tc_formula each = tc_formula_number(a, json_integer_value(json_array_get(times, k)));
        each = tc_formula_join(a, tc_formula_size(a, (int)k), each, TC_FORMULA_MUL);
        if (json_integer_value(json_array_get(times, k)) != 0)
            f = tc_formula_join(a, f, each, TC_FORMULA_ADD);
    }
    if (divisor)
        f = tc_formula_join(a, f, tc_formula_number(a, json_integer_value(divisor)), TC_FORMULA_DIV);
    *out = (tc_graph_size_value){.text = tc_arena_strdup(a, text), .formula = f};
    return true;
}

/* Whether it is sound only shows when all ranges are known. */
static bool read_value(const json_t *j, tc_arena *a, tc_graph_size_value *out) {
    const json_t *steps = json_object_get(j, "formula");
    const char *text = json_string_value(json_object_get(j, "text"));
    size_t n = json_array_size(steps);
    if (text && !steps && json_is_array(json_object_get(j, "times")))
        return read_sum(j, a, text, out);
    if (!text || n < 1 || n > TC_FORMULA_STEPS)
        return false;
    tc_formula_step *step = TC_NEW_N(a, tc_formula_step, n);
    for (size_t i = 0; i < n; i++)
        if (!read_step(json_array_get(steps, i), &step[i]))
            return false;
    *out = (tc_graph_size_value){.text = tc_arena_strdup(a, text), .formula = {(int)n, step}};
    return true;
}

static int64_t number_or(const json_t *j, const char *key, int64_t none) {
    const json_t *v = json_object_get(j, key);
    return json_is_integer(v) ? json_integer_value(v) : none;
}

static bool read_bound(const json_t *j, tc_arena *a, tc_graph_size_bound *out) {
    const json_t *by = json_object_get(j, "by"), *same = json_object_get(j, "same"), *size = json_object_get(j, "size");
    const char *what = json_string_value(json_object_get(j, "what"));
    *out = (tc_graph_size_bound){.least = number_or(j, "least", INT64_MIN),
                                 .most = number_or(j, "most", INT64_MAX),
                                 .multiple = number_or(j, "multiple", 1),
                                 .what = what ? tc_arena_strdup(a, what) : NULL};
    return out->multiple >= 1 && out->multiple <= TC_MAX_SIZE && (!same || what) &&
           read_value(size ? size : json_object_get(j, "sum"), a, &out->x) && (!by || read_value(by, a, &out->by)) &&
           (!same || read_value(same, a, &out->same));
}

static bool read_rule(const json_t *j, tc_arena *a, tc_graph_size_rule *out) {
    const json_t *is = json_object_get(j, "is");
    const char *name = json_string_value(json_object_get(j, "name"));
    *out = (tc_graph_size_rule){.name = tc_arena_strdup(a, name ? name : ""),
                                .least = json_integer_value(json_object_get(j, "least")),
                                .most = json_integer_value(json_object_get(j, "most")),
                                .multiple = json_integer_value(json_object_get(j, "multiple")),
                                .assumed = json_is_true(json_object_get(j, "assumed")),
                                .narrowed = json_is_true(json_object_get(j, "narrowed"))};
    return name && 0 <= out->least && out->least <= out->most && out->multiple >= 1 && (!is || read_value(is, a, &out->is));
}

/* Which dimensions of input i vary; none where the list says nothing of it. */
static bool read_input(const json_t *dims, const tc_graph_port *p, const tc_graph_size_rules *r, tc_graph_sized_input *out) {
    *out = (tc_graph_sized_input){.name = p->name, .ndim = p->shape.ndim};
    if (dims && json_array_size(dims) != (size_t)p->shape.ndim)
        return false;
    for (int d = 0; d < p->shape.ndim; d++) {
        int64_t k = dims ? json_integer_value(json_array_get(dims, (size_t)d)) : -1;
        if (k < -1 || k >= r->nsize || (k >= 0 && r->size[k].most > p->shape.d[d]))
            return false;
        out->size[d] = (int)k;
    }
    return true;
}

/* Nothing that a file says makes a run overflow. */
static bool are_sound(const tc_graph_size_rules *r) {
    for (int k = 0; k < r->nsize; k++)
        if (r->size[k].is.text && !tc_graph_size_value_is_sound(r, &r->size[k].is))
            return false;
    for (int i = 0; i < r->nlimit; i++) {
        const tc_graph_size_bound *l = &r->limit[i];
        if (!tc_graph_size_value_is_sound(r, &l->x) || (l->by.text && !tc_graph_size_value_is_sound(r, &l->by)) ||
            (l->same.text && !tc_graph_size_value_is_sound(r, &l->same)))
            return false;
    }
    return true;
}

bool tc_graph_rules_from_json(const json_t *j, tc_arena *a, const tc_graph_port *ports, int nports, tc_graph_size_rules *out) {
    const json_t *inputs = json_object_get(j, "inputs"), *sizes = json_object_get(j, "sizes"),
                 *limits = json_object_get(j, "limits");
    int n = (int)json_array_size(sizes), nlimit = (int)json_array_size(limits), nin = nports - n;
    if (nin < 0 || (j && json_array_size(inputs) != (size_t)nin))
        return false;
    tc_graph_size_rule *size = TC_NEW_N(a, tc_graph_size_rule, n);
    tc_graph_size_bound *limit = TC_NEW_N(a, tc_graph_size_bound, nlimit);
    tc_graph_sized_input *in = TC_NEW_N(a, tc_graph_sized_input, nin);
    bool *carried = TC_NEW_N(a, bool, n);
    *out = (tc_graph_size_rules){.nin = nin, .nsize = n, .nlimit = nlimit, .in = in, .size = size, .limit = limit};
    bool ok = true;
    for (int k = 0; ok && k < n; k++)
        ok = read_rule(json_array_get(sizes, (size_t)k), a, &size[k]) && ports[nin + k].dtype == TC_I64 &&
             ports[nin + k].shape.ndim == 0;
    for (int i = 0; ok && i < nin; i++) {
        ok = read_input(json_array_get(inputs, (size_t)i), &ports[i], out, &in[i]);
        for (int d = 0; ok && d < in[i].ndim; d++)
            if (in[i].size[d] >= 0)
                carried[in[i].size[d]] = true;
    }
    for (int k = 0; k < n; k++)
        ok = ok && carried[k];
    for (int i = 0; ok && i < nlimit; i++)
        ok = read_bound(json_array_get(limits, (size_t)i), a, &limit[i]);
    return ok && are_sound(out);
}
