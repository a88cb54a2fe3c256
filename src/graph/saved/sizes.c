/* The sizes that vary of a saved model: what its metadata say of them, and what its code checks. */
#include <string.h>

#include "graph/saved/save_int.h"

/* ---- as code checks them ---- */

/* Of a sum that is divided by n, a least and a most are n times as much, and what is more by less than n is a multiple too. */
static void add_bound(const tc_graph_size_bound *l, tc_cg_size_sum *sum, int *n) {
    const tc_graph_size_sum *x = &l->sum;
    int64_t least = l->least == INT64_MIN ? l->least : l->least * x->divisor;
    int64_t most = l->most == INT64_MAX ? l->most : l->most * x->divisor + x->divisor - 1;
    if (least != INT64_MIN || most != INT64_MAX)
        sum[(*n)++] = (tc_cg_size_sum){x->constant, least, most, 0, x->times};
    if (l->multiple > 1)
        sum[(*n)++] = (tc_cg_size_sum){x->constant, 0, x->divisor - 1, l->multiple * x->divisor, x->times};
}

/* Sizes are numbers of multiples here: a rule's range is divided, and a relation is a sum that is 0. Where a size is one that is divided
 * by n, that less n times the size is 0..n-1. */
tc_cg_size_checks tc_graph_size_checks(const tc_graph_size_rules *r, tc_arena *a) {
    int64_t *multiple = TC_NEW_N(a, int64_t, r->nsize);
    tc_cg_size_sum *sum = TC_NEW_N(a, tc_cg_size_sum, 2 * (r->nsize + r->nlimit));
    tc_cg_size_checks c = {.nsize = r->nsize, .first = r->nin, .multiple = multiple, .sum = sum};
    for (int k = 0; k < r->nsize; k++) {
        const tc_graph_size_rule *s = &r->size[k];
        int64_t *one = TC_NEW_N(a, int64_t, r->nsize), *apart = TC_NEW_N(a, int64_t, r->nsize);
        multiple[k] = s->multiple;
        one[k] = 1;
        sum[c.nsum++] = (tc_cg_size_sum){0, tc_ceil_div(s->least, s->multiple), s->most / s->multiple, 0, one};
        if (!s->is.text)
            continue;
        memcpy(apart, s->is.times, (size_t)r->nsize * sizeof *apart);
        apart[k] -= s->is.divisor * s->multiple;
        sum[c.nsum++] = (tc_cg_size_sum){s->is.constant, 0, s->is.divisor - 1, 0, apart};
    }
    for (int i = 0; i < r->nlimit; i++)
        add_bound(&r->limit[i], sum, &c.nsum);
    return c;
}

/* ---- in metadata ---- */

static json_t *sum_to_json(const tc_graph_size_sum *x, int n) {
    json_t *times = json_array();
    for (int k = 0; k < n; k++)
        json_array_append_new(times, json_integer(x->times[k]));
    json_t *j = json_pack("{s:s, s:I, s:o}", "text", x->text, "constant", (json_int_t)x->constant, "times", times);
    if (x->divisor > 1)
        json_object_set_new(j, "divisor", json_integer(x->divisor));
    return j;
}

/* Of a range, the ends that there are. */
static json_t *bound_to_json(const tc_graph_size_bound *l, int n) {
    json_t *j = json_pack("{s:o}", "sum", sum_to_json(&l->sum, n));
    if (l->least != INT64_MIN)
        json_object_set_new(j, "least", json_integer(l->least));
    if (l->most != INT64_MAX)
        json_object_set_new(j, "most", json_integer(l->most));
    if (l->multiple > 1)
        json_object_set_new(j, "multiple", json_integer(l->multiple));
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
        json_t *j = json_pack("{s:s, s:I, s:I, s:I, s:b}", "name", s->name, "least", (json_int_t)s->least, "most",
                              (json_int_t)s->most, "multiple", (json_int_t)s->multiple, "assumed", s->assumed);
        if (s->is.text)
            json_object_set_new(j, "is", sum_to_json(&s->is, r->nsize));
        json_array_append_new(sizes, j);
    }
    for (int i = 0; i < r->nlimit; i++)
        json_array_append_new(limits, bound_to_json(&r->limit[i], r->nsize));
    return json_pack("{s:o, s:o, s:o}", "inputs", inputs, "sizes", sizes, "limits", limits);
}

static bool read_sum(const json_t *j, tc_arena *a, int n, tc_graph_size_sum *out) {
    const json_t *times = json_object_get(j, "times");
    const char *text = json_string_value(json_object_get(j, "text"));
    const json_t *divisor = json_object_get(j, "divisor");
    int64_t d = divisor ? json_integer_value(divisor) : 1;
    if (!text || json_array_size(times) != (size_t)n || d < 1 || d > TC_MAX_SIZE)
        return false;
    int64_t *t = TC_NEW_N(a, int64_t, n);
    for (int k = 0; k < n; k++)
        t[k] = json_integer_value(json_array_get(times, (size_t)k));
    *out = (tc_graph_size_sum){.text = tc_arena_strdup(a, text),
                               .constant = json_integer_value(json_object_get(j, "constant")),
                               .divisor = d,
                               .times = t};
    return true;
}

static int64_t number_or(const json_t *j, const char *key, int64_t none) {
    const json_t *v = json_object_get(j, key);
    return json_is_integer(v) ? json_integer_value(v) : none;
}

static bool read_bound(const json_t *j, tc_arena *a, int n, tc_graph_size_bound *out) {
    const char *what = json_string_value(json_object_get(j, "what"));
    *out = (tc_graph_size_bound){.least = number_or(j, "least", INT64_MIN),
                                 .most = number_or(j, "most", INT64_MAX),
                                 .multiple = number_or(j, "multiple", 1),
                                 .what = what ? tc_arena_strdup(a, what) : NULL};
    return out->multiple >= 1 && out->multiple <= TC_MAX_SIZE && read_sum(json_object_get(j, "sum"), a, n, &out->sum);
}

static bool read_rule(const json_t *j, tc_arena *a, int n, tc_graph_size_rule *out) {
    const json_t *is = json_object_get(j, "is");
    const char *name = json_string_value(json_object_get(j, "name"));
    *out = (tc_graph_size_rule){.name = tc_arena_strdup(a, name ? name : ""),
                                .least = json_integer_value(json_object_get(j, "least")),
                                .most = json_integer_value(json_object_get(j, "most")),
                                .multiple = json_integer_value(json_object_get(j, "multiple")),
                                .assumed = json_is_true(json_object_get(j, "assumed"))};
    return name && 0 <= out->least && out->least <= out->most && out->multiple >= 1 && (!is || read_sum(is, a, n, &out->is));
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
        ok = read_rule(json_array_get(sizes, (size_t)k), a, n, &size[k]) && ports[nin + k].dtype == TC_I64 &&
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
        ok = read_bound(json_array_get(limits, (size_t)i), a, n, &limit[i]);
    return ok;
}
