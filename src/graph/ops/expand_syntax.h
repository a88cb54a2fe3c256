/* A text of expansions.txt after reading: expand_read.c makes this form, expand.c runs it. */
#ifndef TC_GRAPH_OPS_EXPAND_SYNTAX_H
#define TC_GRAPH_OPS_EXPAND_SYNTAX_H

#include "graph/ops/expand.h"

enum { TC_GRAPH_MAX_RESULTS = 8, TC_GRAPH_MAX_PARTS = 32 };

typedef enum tc_graph_syntax_kind {
    /* expressions */
    TC_GRAPH_SYNTAX_TERM,     /* `term` */
    TC_GRAPH_SYNTAX_LOCAL,    /* name `i` of the text */
    TC_GRAPH_SYNTAX_OPSET,    /* opset */
    TC_GRAPH_SYNTAX_ASKED,    /* asked(output i) */
    TC_GRAPH_SYNTAX_LIST,     /* [part, ..] */
    TC_GRAPH_SYNTAX_MESSAGE,  /* "part part .." */
    TC_GRAPH_SYNTAX_OPERATOR, /* op<attribute, ..>(part, ..), of `i` outputs; TC_GRAPH_OP_COUNT: Node */
    TC_GRAPH_SYNTAX_FUNCTION, /* function(part, ..) */
    TC_GRAPH_SYNTAX_TEXT,     /* text i(part, ..) */
    TC_GRAPH_SYNTAX_SCAN,     /* scan text i(part, ..) */
    TC_GRAPH_SYNTAX_ELEMENT,  /* part 0[part 1] */
    TC_GRAPH_SYNTAX_RANGE,    /* part 0[part 1:part 2] */
    TC_GRAPH_SYNTAX_MINUS,    /* -part 0 */
    TC_GRAPH_SYNTAX_NOT,      /* not part 0 */
    TC_GRAPH_SYNTAX_SIGN,     /* part 0 sign part 1 */
    TC_GRAPH_SYNTAX_CHOICE,   /* part 0 ? part 1 : part 2, and if part 0 { part 1 } else { part 2 } */
    /* statements */
    TC_GRAPH_SYNTAX_SET,    /* name i = part 0, or the `nset` names `set` = part 0 */
    TC_GRAPH_SYNTAX_EACH,   /* for name i in part 0 { part 1 } */
    TC_GRAPH_SYNTAX_EXPECT, /* expect part 0 : part 1; `code` */
    TC_GRAPH_SYNTAX_BLOCK   /* parts */
} tc_graph_syntax_kind;

/* How firmly a sign binds what stands at its sides. */
typedef enum tc_graph_binds { TC_GRAPH_ANY = 1, TC_GRAPH_ALL, TC_GRAPH_COMPARED, TC_GRAPH_SUM, TC_GRAPH_PRODUCT } tc_graph_binds;

typedef struct tc_graph_sign {
    const char *text;
    tc_graph_binds binds;
    tc_graph_op op; /* of values */
} tc_graph_sign;

struct tc_graph_syntax;

/* What a call says in <>. */
typedef struct tc_graph_syntax_attributes {
    int n;
    bool window;
    tc_graph_attr_id id[TC_GRAPH_MAX_ATTRS];
    const struct tc_graph_syntax *v[TC_GRAPH_MAX_ATTRS];
} tc_graph_syntax_attributes;

typedef struct tc_graph_syntax {
    tc_graph_syntax_kind kind;
    int n, i;
    const char *at;                            /* where it stands */
    const struct tc_graph_syntax *const *part; /* [n]; NULL for a part that is left out */
    union {
        tc_graph_term term;
        struct {
            tc_graph_op op;
            const tc_graph_syntax_attributes *attributes;
        };
        const tc_graph_expansion_call *function;
        const tc_graph_sign *sign;
        struct {
            int nset;
            const int *set;
        };
        tc_error_code code;
    };
} tc_graph_syntax;

typedef enum tc_graph_text_type {
    TC_GRAPH_ANY_TYPE,
    TC_GRAPH_FLOAT_TYPE,
    TC_GRAPH_BYTE_TYPE,
    TC_GRAPH_LIKE_TYPE
} tc_graph_text_type;

/* Names of a text are numbered: first its attributes, then its inputs. */
typedef struct tc_graph_text {
    const tc_graph_expansion *x;
    bool is_operator; /* or what becomes of an operator where sizes vary */
    int nattrs, nin, nout, nlocals;
    struct {
        tc_graph_attr_id id;
        const tc_graph_syntax *otherwise; /* NULL: what attrs.def says */
    } attr[TC_GRAPH_MAX_ATTRS];
    struct {
        bool optional, rest; /* rest: all others */
        tc_graph_text_type type;
        int like; /* an input */
    } in[TC_GRAPH_MAX_PARTS];
    int out[TC_GRAPH_MAX_RESULTS]; /* names */
    const tc_graph_syntax *body;
} tc_graph_text;

/* Reads a text (expand_read.c). NULL where it has a mistake, which becomes *status. */
const tc_graph_text *tc_graph_text_read(tc_arena *a, const tc_graph_expansion *x, tc_status *status, tc_error *err);

/* ---- expand_texts.c ---- */
/* The number of the text that is called so; -1: there is none. */
int tc_graph_text_find(const char *name, size_t len);
/* Text i as g's import has read it, once. NULL as above. */
const tc_graph_text *tc_graph_text_at(tc_graph *g, int i, tc_status *status, tc_error *err);
/* The same of the text of an operator. */
const tc_graph_text *tc_graph_text_of(tc_graph *g, tc_graph_op op, tc_status *status, tc_error *err);
/* The text is wrong at a place in it. */
tc_status tc_graph_text_fail(const tc_graph_expansion *x, const char *at, tc_error *err, const char *fmt, va_list ap);

#endif
