/* Operators that are text: expansions.txt says in terms of which operators they are written, and the language. */
#ifndef TC_GRAPH_OPS_EXPAND_H
#define TC_GRAPH_OPS_EXPAND_H

#include "graph/ops/dynamic.h"

typedef struct tc_graph_expansion {
    const char *name; /* of the operator or function */
    int row;          /* of expansions.txt, in which the text begins */
    const char *text;
} tc_graph_expansion;

extern const tc_graph_expansion *const tc_graph_expansions;
extern const size_t tc_graph_expansion_count;

/* Reads a text, also what no node takes. Fails with row and column of the first mistake. */
TC_NODISCARD tc_status tc_graph_expansion_check(const tc_graph_expansion *x, tc_error *err);

/* The texts that the import of g has read (expand_texts.c). A body whose `texts` are those of the graph around it shares them. */
typedef struct tc_graph_texts tc_graph_texts;
tc_graph_texts *tc_graph_texts_of(tc_graph *g);

/* ---- the interpreter (expand.c) and its functions (expand_calls.c) ---- */
typedef enum tc_graph_term_kind {
    TC_GRAPH_NOTHING, /* `none`: an input or attribute that is left out */
    TC_GRAPH_VALUE,
    TC_GRAPH_INT,
    TC_GRAPH_FLOAT,
    TC_GRAPH_TEXT,
    TC_GRAPH_DTYPE,
    TC_GRAPH_LIST
} tc_graph_term_kind;

/* What an expression of the language is. */
typedef struct tc_graph_term {
    tc_graph_term_kind kind;
    int64_t n;            /* of the list */
    tc_graph_value *size; /* an integer that varies: the i64 scalar that it is in a run. `i` is its largest */
    union {
        tc_graph_value *v;
        int64_t i;
        double f;
        const char *text;
        tc_dtype dtype;
        struct tc_graph_term *list;
    };
} tc_graph_term;

static inline tc_graph_term tc_graph_term_int(int64_t i) {
    return (tc_graph_term){.kind = TC_GRAPH_INT, .i = i};
}
static inline tc_graph_term tc_graph_term_float(double f) {
    return (tc_graph_term){.kind = TC_GRAPH_FLOAT, .f = f};
}
static inline tc_graph_term tc_graph_term_text(const char *text) {
    return (tc_graph_term){.kind = TC_GRAPH_TEXT, .text = text};
}
static inline tc_graph_term tc_graph_term_value(tc_graph_value *v) {
    return (tc_graph_term){.kind = v ? TC_GRAPH_VALUE : TC_GRAPH_NOTHING, .v = v};
}
/* The integer as an i64 scalar. */
static inline tc_graph_value *tc_graph_term_size(tc_graph_emitter *e, const tc_graph_term *a) {
    return a->size ? a->size : tc_graph_em_number(e, a->i);
}
static inline double tc_graph_term_number(const tc_graph_term *a) {
    return a->kind == TC_GRAPH_FLOAT ? a->f : (double)a->i;
}
bool tc_graph_term_holds(const tc_graph_term *a);
/* The number as a constant of the type, or as what it is in a run. */
tc_graph_value *tc_graph_term_scalar(tc_graph_emitter *e, tc_dtype t, const tc_graph_term *a);
/* The failure for a number that varies where it must not. */
tc_status tc_graph_term_refuse(tc_graph_emitter *e);
/* a and b, integers, with the sign + - * / %, < (the smaller) or > (the larger), which is `op` for values. */
tc_graph_term tc_graph_term_arithmetic(tc_graph_emitter *e, char sign, tc_graph_op op, const tc_graph_term *a,
                                       const tc_graph_term *b);

/* A function of the language. takes: a letter for each argument: v(alue), i(nteger), n(umber), l(ist), d(type), t(ext), o(ptional
 * value), a(nything); those behind | may be missing, and are then `none`. A failure is in e->status. */
typedef struct tc_graph_expansion_call {
    const char *name, *takes;
    tc_graph_term (*run)(tc_graph_emitter *e, const tc_graph_term *a);
} tc_graph_expansion_call;

/* ---- expand_scan.c ---- */
typedef struct tc_graph_scan {
    tc_graph_emitter *e;
    tc_graph_term count; /* of steps: an integer, or a value */
    bool backward;       /* from the last step to the first */
    int nstate, nmore;
    const tc_graph_term *state, *more; /* a state may be `none`; more: arguments of all steps */
    /* Of the number of a step, the states and the others: [nstate + 1], the next states and a row, unless *e fails. */
    tc_graph_term (*step)(void *of, tc_graph_emitter *e, const tc_graph_term *arg);
    void *of;
} tc_graph_scan;
/* The last states, and the rows of all steps in their order as one value, as large as it can be. */
tc_graph_term tc_graph_scan_run(const tc_graph_scan *s);

/* NULL: there is none of this name. */
const tc_graph_expansion_call *tc_graph_expansion_call_of(const char *name, size_t len);
/* The list as integers, at most TC_GRAPH_MAX_DIMS of them as a shape. */
const int64_t *tc_graph_term_ints(tc_graph_emitter *e, const tc_graph_term *list);

#endif
