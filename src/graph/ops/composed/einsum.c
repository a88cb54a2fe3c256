/* Inference of Einsum: any equation becomes transposes, sums and matrix products.
 *
 * Labels are letters, and the dimensions of an ellipsis get numbers. First each operand loses its repeated labels (its diagonal
 * is taken), then the labels that nothing else needs (they are summed); then operands are multiplied from left to right:
 *
 *     bij, bjk -> bik     batch b: in both and needed later; j: in both and not; i, k: in one
 *     [b, i, j] x [b, j, k]  =>  MatMul  =>  [b, i, k] */
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "graph/ops/functions.h"

enum { FIRST_DOTS = 128, LABELS = FIRST_DOTS + TC_GRAPH_MAX_DIMS };

/* A value and the label of each of its dimensions. */
typedef struct term {
    tc_graph_value *v;
    int n;
    uint8_t label[TC_GRAPH_MAX_DIMS];
} term;

typedef struct einsum {
    tc_graph_emitter e;
    int64_t size[LABELS];
    int dots; /* dimensions that the ellipses stand for */
    term out;
} einsum;

/* ---- the equation ---- */

static tc_status bad_equation(einsum *s, const char *why) {
    return tc_graph_node_fail(s->e.c, "attribute equation '%s': %s", tc_graph_attr_equation(s->e.c->n), why);
}

/* One side's labels up to the comma, arrow or end; an ellipsis stands for `dots` dimensions, the last ones of s->dots. */
static tc_status read_labels(einsum *s, const char **p, int dots, term *t) {
    bool ellipsis = false;
    t->n = 0;
    for (; **p && **p != ',' && **p != '-'; (*p)++) {
        int add = isalpha((unsigned char)**p) ? 1 : 0;
        if (**p == ' ')
            continue;
        if (strncmp(*p, "...", 3) == 0 && !ellipsis) {
            ellipsis = true;
            add = dots;
            *p += 2;
        } else if (!add) {
            return bad_equation(s, "letters, an ellipsis, commas and -> are expected");
        }
        if (t->n + add > TC_GRAPH_MAX_DIMS)
            return bad_equation(s, "a term has too many dimensions");
        for (int i = 0; i < add; i++)
            t->label[t->n++] = (uint8_t)(**p == '.' ? FIRST_DOTS + s->dots - dots + i : **p);
    }
    return TC_OK;
}

/* Dimensions that the term's ellipsis stands for when the value has ndim. */
static int dots_of(const char *p, int ndim) {
    int letters = 0;
    bool ellipsis = false;
    for (; *p && *p != ',' && *p != '-'; p++) {
        letters += isalpha((unsigned char)*p) != 0;
        ellipsis |= *p == '.';
    }
    return ellipsis && ndim > letters ? ndim - letters : 0;
}

static const char *next_term(const char *p) {
    while (*p && *p != ',' && *p != '-')
        p++;
    return *p == ',' ? p + 1 : p;
}

/* Without an arrow: the ellipsis, then the labels that occur once, in alphabetical order. */
static void implied_output(einsum *s, const uint8_t *count) {
    for (int i = 0; i < s->dots; i++)
        s->out.label[s->out.n++] = (uint8_t)(FIRST_DOTS + i);
    for (int l = 0; l < FIRST_DOTS; l++)
        if (count[l] == 1 && s->out.n < TC_GRAPH_MAX_DIMS)
            s->out.label[s->out.n++] = (uint8_t)l;
}

static tc_status note_sizes(einsum *s, const term *t, uint8_t *count) {
    if (t->n != t->v->shape.ndim)
        return tc_graph_node_fail(s->e.c, "'%s' has %d dimensions, but its term in the equation names %d", t->v->name,
                                  t->v->shape.ndim, t->n);
    for (int d = 0; d < t->n; d++) {
        int64_t *size = &s->size[t->label[d]], n = t->v->shape.d[d];
        count[t->label[d]]++;
        if (*size > 1 && n != *size && n != 1)
            return tc_graph_node_fail(s->e.c, "dimension %d of '%s' is %" PRId64 ", but its label stands for %" PRId64, d,
                                      t->v->name, n, *size);
        if (*size < 0 || *size == 1)
            *size = n;
    }
    return TC_OK;
}

static tc_status read_equation(einsum *s, term *terms) {
    const tc_graph_node *n = s->e.c->n;
    const char *equation = tc_graph_attr_equation(n), *p = equation;
    uint8_t count[LABELS] = {0};
    for (int k = 0; k < n->nin; k++, p = next_term(p))
        s->dots = TC_MAX(s->dots, dots_of(p, n->in[k]->shape.ndim));
    p = equation;
    for (int k = 0; k < n->nin; k++) {
        terms[k].v = n->in[k];
        TC_TRY(read_labels(s, &p, dots_of(p, n->in[k]->shape.ndim), &terms[k]));
        TC_TRY(note_sizes(s, &terms[k], count));
        if ((*p == ',') != (k + 1 < n->nin))
            return bad_equation(s, "it has another number of terms than the node has inputs");
        p += *p == ',';
    }
    if (!*p) {
        implied_output(s, count);
        return TC_OK;
    }
    if (strncmp(p, "->", 2) != 0)
        return bad_equation(s, "-> is expected");
    p += 2;
    TC_TRY(read_labels(s, &p, s->dots, &s->out));
    if (*p)
        return bad_equation(s, "the result is one term");
    for (int d = 0; d < s->out.n; d++)
        if (!count[s->out.label[d]] || memchr(s->out.label, s->out.label[d], (size_t)d))
            return bad_equation(s, "a label of the result is repeated or occurs in no input");
    return TC_OK;
}

/* ---- one term ---- */

static int place_of(const term *t, uint8_t label) {
    const uint8_t *at = memchr(t->label, label, (size_t)t->n);
    return at ? (int)(at - t->label) : -1;
}

static void remove_label(term *t, int d) {
    memmove(&t->label[d], &t->label[d + 1], (size_t)(t->n - d - 1));
    t->n--;
}

static void transpose_to(einsum *s, term *t, const uint8_t *order) {
    int64_t perm[TC_GRAPH_MAX_DIMS];
    for (int d = 0; d < t->n; d++)
        perm[d] = place_of(t, order[d]);
    t->v = tc_graph_em_transpose(&s->e, t->v, perm);
    memcpy(t->label, order, (size_t)t->n);
}

/* The diagonal of dimensions a < b, which becomes the last one: [.., n, n]  =>  [.., n * n], every (n + 1)-th. */
static void take_diagonal(einsum *s, term *t, int a, int b) {
    int64_t perm[TC_GRAPH_MAX_DIMS], n = t->v->shape.d[a];
    uint8_t label = t->label[a];
    int m = 0;
    for (int d = 0; d < t->n; d++)
        if (d != a && d != b)
            perm[m++] = d;
    perm[m] = a;
    perm[m + 1] = b;
    t->v = tc_graph_em_transpose(&s->e, t->v, perm);
    tc_graph_shape flat = t->v->shape;
    flat.ndim--;
    flat.d[m] = n * n;
    t->v = tc_graph_em_reshape(&s->e, t->v, &flat);
    t->v = tc_graph_em_slice(&s->e, t->v, m, 0, n * n, n + 1);
    remove_label(t, b);
    remove_label(t, a);
    t->label[t->n++] = label;
}

static tc_status take_diagonals(einsum *s, term *t) {
    for (int a = 0; a < t->n; a++)
        for (int b = a + 1; b < t->n; b++)
            if (t->label[a] == t->label[b]) {
                if (t->v->shape.d[a] != t->v->shape.d[b])
                    return bad_equation(s, "the dimensions of a repeated label differ");
                take_diagonal(s, t, a, b);
                a = -1;
                break;
            }
    return TC_OK;
}

static bool needed(const einsum *s, uint8_t label, const term *rest, int nrest) {
    if (place_of(&s->out, label) >= 0)
        return true;
    for (int k = 0; k < nrest; k++)
        if (place_of(&rest[k], label) >= 0)
            return true;
    return false;
}

/* Sums the dimensions whose label nothing else has. */
static void sum_alone(einsum *s, term *t, const term *other, const term *rest, int nrest) {
    int64_t axes[TC_GRAPH_MAX_DIMS] = {0};
    size_t n = 0;
    for (int d = 0; d < t->n; d++)
        if (!needed(s, t->label[d], rest, nrest) && (!other || place_of(other, t->label[d]) < 0))
            axes[n++] = d;
    t->v = tc_graph_em_reduce(&s->e, TC_GRAPH_OP_REDUCE_SUM, t->v, axes, n, false);
    while (n)
        remove_label(t, (int)axes[--n]);
}

/* Dimensions of 1 that stand for a larger label. */
static void broadcast(einsum *s, term *t) {
    tc_graph_shape full = t->v->shape;
    for (int d = 0; d < t->n; d++)
        full.d[d] = s->size[t->label[d]];
    t->v = tc_graph_em_expand(&s->e, t->v, &full);
}

/* ---- two terms ---- */

typedef struct labels {
    int n;
    int64_t count; /* elements */
    uint8_t label[2 * TC_GRAPH_MAX_DIMS];
} labels;

static void add_label(const einsum *s, labels *l, uint8_t label) {
    l->label[l->n++] = label;
    l->count *= s->size[label];
}

/* The term as [batch, rows, columns], each a run of labels. */
static tc_graph_value *as_matrices(einsum *s, term *t, const labels *batch, const labels *rows, const labels *columns) {
    uint8_t order[3 * TC_GRAPH_MAX_DIMS];
    memcpy(order, batch->label, (size_t)batch->n);
    memcpy(order + batch->n, rows->label, (size_t)rows->n);
    memcpy(order + batch->n + rows->n, columns->label, (size_t)columns->n);
    transpose_to(s, t, order);
    return tc_graph_em_reshape(&s->e, t->v, &(tc_graph_shape){3, {batch->count, rows->count, columns->count}});
}

static tc_status multiply(einsum *s, term *a, term *b, const term *rest, int nrest) {
    labels batch = {.count = 1}, shared = {.count = 1}, mine = {.count = 1}, theirs = {.count = 1};
    sum_alone(s, a, b, rest, nrest);
    sum_alone(s, b, a, rest, nrest);
    broadcast(s, a);
    broadcast(s, b);
    for (int d = 0; d < a->n; d++)
        add_label(s, place_of(b, a->label[d]) < 0 ? &mine : needed(s, a->label[d], rest, nrest) ? &batch : &shared, a->label[d]);
    for (int d = 0; d < b->n; d++)
        if (place_of(a, b->label[d]) < 0)
            add_label(s, &theirs, b->label[d]);
    if (batch.n + mine.n + theirs.n > TC_GRAPH_MAX_DIMS)
        return bad_equation(s, "an intermediate product has too many dimensions");
    tc_graph_value *x = as_matrices(s, a, &batch, &mine, &shared), *y = as_matrices(s, b, &batch, &shared, &theirs);
    a->v = tc_graph_em_op(&s->e, shared.n ? TC_GRAPH_OP_MATMUL : TC_GRAPH_OP_MUL, x, y);
    a->n = 0;
    tc_graph_shape split = {0};
    const labels *const runs[] = {&batch, &mine, &theirs};
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < runs[r]->n; i++) {
            a->label[a->n++] = runs[r]->label[i];
            split.d[split.ndim++] = s->size[runs[r]->label[i]];
        }
    a->v = tc_graph_em_reshape(&s->e, a->v, &split);
    return s->e.status;
}

tc_status tc_graph_infer_einsum(tc_graph_infer_ctx *c) {
    einsum s = {.e = {c, TC_OK}};
    int n = c->n->nin;
    term *terms = TC_NEW_N(c->g->arena, term, n);
    for (int l = 0; l < LABELS; l++)
        s.size[l] = -1;
    TC_TRY(read_equation(&s, terms));
    for (int k = 0; k < n; k++) {
        TC_TRY(tc_graph_want_same_type(c, 0, k));
        TC_TRY(take_diagonals(&s, &terms[k]));
    }
    for (int k = 1; k < n; k++)
        TC_TRY(multiply(&s, &terms[0], &terms[k], terms + k + 1, n - k - 1));
    sum_alone(&s, &terms[0], NULL, NULL, 0);
    transpose_to(&s, &terms[0], s.out.label);
    return tc_graph_em_finish(&s.e, terms[0].v);
}
