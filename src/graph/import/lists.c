/* Lists of which only the data know how many elements they have. Equal elements lie in one tensor, whose first dimension is as
 * large as there may be elements and has their number as its size (dynamic.h), and operators on the list are operators on that:
 *
 *     SequenceAt(list, i)  =>  Gather(rows, i)                 SequenceInsert(list, x)  =>  Concat(rows, x[1, ..])
 *
 * What is appended stays apart from the rows until somebody asks for all of them: a loop whose trips append and never look gives
 * each trip's own elements as a result (run_time.c). */
#include <string.h>

#include "graph/import/lists.h"

tc_graph_value *tc_graph_import_list(tc_graph *g, tc_graph_sequence s) {
    tc_graph_sequence *own = TC_NEW(g->arena, tc_graph_sequence);
    s.v = tc_arena_dup(g->arena, s.v, s.n * sizeof *s.v);
    *own = s;
    tc_graph_value *list = tc_graph_add_value(g, tc_graph_fresh_name(g, "sequence"), TC_F32, &(tc_graph_shape){0});
    list->sequence = own;
    return list;
}

static tc_graph_value *number(tc_graph_emitter *e, int64_t v) {
    return tc_graph_em_ints(e, TC_I64, &(tc_graph_shape){0}, &v);
}

/* x[v], a list of one. */
static tc_graph_value *alone(tc_graph_emitter *e, tc_graph_value *v) {
    return tc_graph_em_one(e, TC_GRAPH_OP_UNSQUEEZE, v, 0);
}

static tc_status check_element(tc_graph_emitter *e, const tc_graph_value *v, size_t k, tc_dtype t, const tc_graph_shape *s) {
    tc_arena *a = e->c->g->arena;
    const char *why = "the number of elements, or which of them is used, depends on data";
    if (v->sequence || tc_graph_is_dynamic(v) || v->shape.ndim >= TC_GRAPH_MAX_DIMS)
        return tc_refuse(e->c->err, TC_ERROR_NOT_CONSTANT,
                         "element %zu of the list is itself a list, has a size that depends on data, or has too many dimensions "
                         "(%s); %s, so they must be tensors of one shape",
                         k, tc_graph_type_str(a, v->dtype, &v->shape), why);
    if (v->dtype != t || !tc_graph_shape_equal(&v->shape, s))
        return tc_refuse(e->c->err, TC_ERROR_NOT_CONSTANT,
                         "element %zu of the list is %s, but others are %s; %s, so they must be tensors of one shape", k,
                         tc_graph_type_str(a, v->dtype, &v->shape), tc_graph_type_str(a, t, s), why);
    return TC_OK;
}

bool tc_graph_import_element_type(const tc_graph_sequence *s, tc_graph_type *out) {
    const tc_graph_value *v = s->rows ? s->rows : s->n ? s->v[0] : NULL;
    if (!v)
        return false;
    *out = (tc_graph_type){.dtype = v->dtype, .shape = v->shape};
    if (s->rows)
        memmove(out->shape.d, out->shape.d + 1, sizeof out->shape.d[0] * (size_t)--out->shape.ndim);
    return true;
}

tc_status tc_graph_import_check_elements(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type) {
    tc_graph_type own;
    if (!tc_graph_import_element_type(s, &own))
        return TC_OK;
    if (s->rows && (own.dtype != type->dtype || !tc_graph_shape_equal(&own.shape, &type->shape)))
        return check_element(e, s->rows, 0, type->dtype, &type->shape);
    for (size_t k = 0; k < s->n; k++)
        TC_TRY(check_element(e, s->v[k], k, type->dtype, &type->shape));
    return TC_OK;
}

tc_status tc_graph_import_rows(tc_graph_emitter *e, const tc_graph_sequence *s, const tc_graph_type *type, tc_graph_value **out) {
    TC_TRY(tc_graph_import_check_elements(e, s, type));
    tc_graph_value **parts = TC_NEW_N(e->c->g->arena, tc_graph_value *, s->n + 1), *both[2] = {s->rows};
    for (size_t k = 0; k < s->n; k++)
        parts[k] = alone(e, s->v[k]);
    both[1] = s->n ? tc_graph_em_concat(e, 0, parts, (int)s->n) : NULL;
    *out = !both[1] ? both[0] : !both[0] ? both[1] : tc_graph_em_concat(e, 0, both, 2);
    if (!*out) {
        tc_graph_shape none = {.ndim = type->shape.ndim + 1};
        memcpy(none.d + 1, type->shape.d, sizeof none.d[0] * (size_t)type->shape.ndim);
        *out = tc_graph_em_ints(e, type->dtype, &none, NULL);
    }
    return e->status;
}

static tc_status rows_of(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value **out) {
    tc_graph_type type;
    if (!tc_graph_import_element_type(s, &type))
        return tc_fail(e->c->err, TC_BAD_INPUT, "the list has no elements");
    return tc_graph_import_rows(e, s, &type, out);
}

tc_graph_value *tc_graph_import_count(tc_graph_emitter *e, const tc_graph_sequence *s) {
    tc_graph_value *n = number(e, (int64_t)s->n);
    return s->rows ? em_add(e, tc_graph_em_size(e, s->rows, 0), n) : n;
}

/* A position, which counts from the end where it is negative. */
static tc_graph_value *position(tc_graph_emitter *e, tc_graph_value *at, tc_graph_value *count) {
    at = tc_graph_em_cast(e, tc_graph_em_reshape(e, at, &(tc_graph_shape){0}), TC_I64);
    return tc_graph_em_where(e, em_less(e, at, number(e, 0)), em_add(e, at, count), at);
}

tc_status tc_graph_import_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at, tc_graph_value **out) {
    tc_graph_value *rows;
    TC_TRY(rows_of(e, s, &rows));
    *out = tc_graph_em_pick(e, rows, 0, position(e, at, tc_graph_em_size(e, rows, 0)));
    return e->status;
}

static tc_status list_of(tc_graph_emitter *e, tc_graph_value *rows, tc_graph_value *count, tc_graph_value **out) {
    rows = tc_graph_em_sized(e, rows, 0, count);
    *out = tc_graph_import_list(e->c->g, (tc_graph_sequence){.rows = rows});
    return e->status;
}

/* Row i of the result is that of x[rows, v] before the place, v there, and the one before it after. */
tc_status tc_graph_import_insert_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *v, tc_graph_value *at,
                                    tc_graph_value **out) {
    tc_graph_sequence one = {.n = 1, .v = &v};
    tc_graph_value *rows, *last;
    TC_TRY(tc_graph_import_element_type(s, &(tc_graph_type){0}) ? rows_of(e, s, &rows) : rows_of(e, &one, &rows));
    if (!tc_graph_import_element_type(s, &(tc_graph_type){0}))
        return list_of(e, rows, number(e, 1), out);
    TC_TRY(rows_of(e, &one, &last));
    int64_t most = rows->shape.d[0];
    tc_graph_value *count = tc_graph_em_size(e, rows, 0), *i = tc_graph_em_iota(e, most + 1, 0, 1);
    tc_graph_value *all = tc_graph_em_concat(e, 0, (tc_graph_value *[]){tc_graph_em_blind(e, rows), last}, 2);
    at = position(e, at, count);
    tc_graph_value *after = tc_graph_em_where(e, em_equal(e, i, at), number(e, most), em_sub(e, i, number(e, 1)));
    all = tc_graph_em_pick(e, all, 0, tc_graph_em_where(e, em_less(e, i, at), i, after));
    return list_of(e, all, em_add(e, count, number(e, 1)), out);
}

tc_status tc_graph_import_erase_at(tc_graph_emitter *e, const tc_graph_sequence *s, tc_graph_value *at, tc_graph_value **out) {
    tc_graph_value *rows;
    TC_TRY(rows_of(e, s, &rows));
    int64_t most = rows->shape.d[0];
    if (most == 0)
        return tc_fail(e->c->err, TC_BAD_INPUT, "the list has no elements");
    tc_graph_value *count = tc_graph_em_size(e, rows, 0), *i = tc_graph_em_iota(e, most - 1, 0, 1);
    at = position(e, at ? at : number(e, -1), count);
    tc_graph_value *next = tc_graph_em_where(e, em_less(e, i, at), i, em_add(e, i, number(e, 1)));
    count = em_max(e, em_sub(e, count, number(e, 1)), number(e, 0));
    return list_of(e, tc_graph_em_pick(e, rows, 0, next), count, out);
}

/* The number of elements comes before dimension `axis` of one; along it without a dimension of its own, elements follow each
 * other. */
tc_status tc_graph_import_concat_rows(tc_graph_emitter *e, const tc_graph_sequence *s, int axis, bool fresh,
                                      tc_graph_value **out) {
    int64_t perm[TC_GRAPH_MAX_DIMS];
    tc_graph_value *rows;
    TC_TRY(rows_of(e, s, &rows));
    int ndim = rows->shape.ndim;
    for (int d = 0, from = 1; d < ndim; d++)
        perm[d] = d == axis ? 0 : from++;
    *out = tc_graph_em_transpose(e, rows, perm);
    *out = fresh ? *out : tc_graph_em_merged(e, *out, axis, axis + 2);
    return e->status;
}

/* x's parts of one element along the axis, whose size depends on data. */
tc_status tc_graph_import_split_rows(tc_graph_emitter *e, tc_graph_value *x, int axis, bool keep, tc_graph_value **out) {
    int64_t perm[TC_GRAPH_MAX_DIMS] = {axis};
    for (int d = 0, to = 1; d < x->shape.ndim; d++)
        if (d != axis)
            perm[to++] = d;
    tc_graph_value *rows = tc_graph_em_transpose(e, x, perm);
    rows = keep ? tc_graph_em_one(e, TC_GRAPH_OP_UNSQUEEZE, rows, axis + 1) : rows;
    *out = tc_graph_import_list(e->c->g, (tc_graph_sequence){.rows = rows});
    return e->status;
}
