/* Sizes that vary from run to run, as expressions. Integers that the graph computes are i64 expressions (te/expr.h). Their
 * variables stand for numbers that are known only by a range. Equal sizes are the same expression once simplified, and the bounds
 * of an expression are the bounds of the size. */
#ifndef TC_GRAPH_IR_SIZES_H
#define TC_GRAPH_IR_SIZES_H

#include "graph/ir/graph.h"
#include "te/sizes/formula.h"

/* A size of inputs that varies: what was said of it, or what import assumes where nothing was. */
typedef struct tc_graph_size_symbol {
    const char *name; /* the model's, or "input.shape[1]" */
    int64_t least, most, multiple;
    bool assumed;
    bool settled;       /* assumed, and the model says where the range begins or ends */
    tc_ival now;        /* what is left of its sizes by what was learnt since */
    const tc_var *var;  /* how many times `multiple` it is */
    const tc_expr *own; /* multiple * var */
    const tc_expr *is;  /* what it is made of where the model relates it to others; else `own` */
} tc_graph_size_symbol;

/* What is so large in every run, and a multiple of that: sizes for which it is not are refused. */
typedef struct tc_graph_size_limit {
    const tc_expr *x;
    const tc_expr *by;             /* x is a multiple of it as well, and it is above 0; NULL: there is none */
    const tc_expr *same;           /* x is the same number; NULL: there is none */
    int64_t least, most, multiple; /* INT64_MIN, INT64_MAX: there is none */
    const char *what; /* "node 'cut' (TopK): dimension 1 of 'x'", of `same` both; NULL: the model has no room for more */
    bool relied_upon; /* by what stands before the node */
} tc_graph_size_limit;

/* Element i of v, as a number, or as a condition: what must hold for it not to be 0. */
typedef struct tc_graph_element {
    tc_graph_value *v;
    int64_t i;
    bool is_condition;
} tc_graph_element;

/* Of one graph. The symbols outlive it: where the model relates sizes, import begins again, and knows it from the start. */
typedef struct tc_graph_sizes {
    tc_ctx *ctx;
    TC_VEC(tc_graph_size_symbol) symbols;
    TC_VEC(tc_graph_size_limit) limits;
    bool again; /* more was learnt of symbols than what was made of them tells */
    /* What a branch needs, and nothing before it does; x NULL: there is none. What is behind it may. */
    tc_graph_size_limit wanted;
    /* Conditions that hold for all sizes that import assumes, so that a computed size is one number; they may hold for more. */
    TC_VEC(const tc_expr *) ends;
    /* The sizes that a condition left of those that import assumes; condition NULL: none did. If import fails with them, it begins
     * again with the others, once. */
    struct {
        const tc_expr *condition;
        size_t symbol; /* its index */
        tc_ival before;
    } choice;
    int64_t tried; /* sizes of symbols that were put into conditions and limits: there is a bound (size_symbols.c) */
    bool reconsidered;
    bool takes_other; /* import failed with the branches that it chose of those of different types: it chooses the others */
    bool guards;      /* import failed without: what only a branch needs of sizes is checked in the runs that take it */
    bool is_chosen;   /* while a second branch is imported: the first one says what is assumed */
    /* Ranges of variables; likely: and that what is not known is not negative, as sizes are, and what models compute of them. */
    tc_env *sure, *likely;
    tc_map symbol_named, symbol_of; /* name, or id of the variable -> index of the symbol */
    tc_map numbers;                 /* value and element -> its expression */
    tc_map truths;                  /* the same for bools; 0: not known as a condition of sizes */
    tc_map captured;                /* address of a variable -> the number that it is, of an input in `outer`, as in `numbers` */
    tc_map values;                  /* expression -> i64 scalar of the graph that is it */
    /* While numbers are computed of others (ops/dynamic_trace.c): how many are under way, each for the one before, and, if they
     * are too many, what is computed before them; v NULL: nothing. */
    int nested;
    tc_graph_element first;
    /* Of a body, while import adds to it: */
    tc_graph *around;    /* NULL: it is none, or import is done with it */
    bool is_branch;      /* runs may compute without it */
    const tc_expr *when; /* runs compute it only if that holds, of sizes of `when_of`, a graph around; NULL: nothing is known */
    tc_graph *when_of;
    tc_map outer; /* id of an input -> the value around it that it is */
} tc_graph_sizes;

tc_graph_sizes *tc_graph_sizes_of(tc_graph *g); /* made when first asked for */
/* Takes them from a graph that is given up, with what is known of symbols, which sizes are the same, or multiples, and nothing
 * else. NULL: it has none. */
tc_graph_sizes *tc_graph_sizes_take(tc_graph *g);
void tc_graph_sizes_free(tc_graph_sizes *s); /* NULL is fine */

/* ---- bodies ---- */
/* Import adds to the body from now on, or is done with it. */
void tc_graph_sizes_enter(tc_graph *body, tc_graph *around, bool is_branch);
void tc_graph_sizes_leave(tc_graph *body);
/* Runs compute the body only if that holds, of sizes of `of`, which is around it; NULL: nothing is known. */
void tc_graph_sizes_set_condition(tc_graph *body, tc_graph *of, const tc_expr *when);
/* The body's input `in` is that value of the graph around it. */
void tc_graph_sizes_capture(tc_graph *body, const tc_graph_value *in, tc_graph_value *outer);
/* That of `in`; NULL: it is none. */
tc_graph_value *tc_graph_sizes_outer(const tc_graph_sizes *s, const tc_graph_value *in);
/* The value around the body of which a variable of its sizes is element *i; NULL: it is no element of such. */
tc_graph_value *tc_graph_sizes_captured(const tc_graph_sizes *s, const tc_expr *var, int64_t *i);

/* Element i of the integer value v, which is what the graph says of it so far; NULL: nothing yet. */
const tc_expr *tc_graph_sizes_number(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i);
void tc_graph_sizes_set_number(tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr *x);
/* The same of a bool. False: nothing yet. *x NULL: it is no condition of sizes. */
bool tc_graph_sizes_truth(const tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr **x);
void tc_graph_sizes_set_truth(tc_graph_sizes *s, const tc_graph_value *v, int64_t i, const tc_expr *x);
/* Is x small enough for a message, and to be walked as a tree? A larger number counts as not known. */
bool tc_graph_sizes_is_small(const tc_expr *x);
/* A number of which only the range is known. */
const tc_expr *tc_graph_sizes_unknown(tc_graph_sizes *s, const char *name, tc_ival range);
/* A node needs x, which is called `what`, to be from `least` to `most`, and a multiple. Not checked is what depends on data, what
 * no run can break, and a range of what runs cannot compute (tc_formula_of). False: no run keeps to it. */
bool tc_graph_sizes_require(tc_graph_sizes *s, const char *what, const tc_expr *x, int64_t least, int64_t most, int64_t multiple);
/* The same of a multiple of `by`, a size that varies, which is above 0 then. Neither depends on data. */
bool tc_graph_sizes_require_multiple(tc_graph_sizes *s, const char *what, const tc_expr *x, const tc_expr *by);
/* It is so in every run, or runs check it already; also where nothing is checked, as x depends on data. */
bool tc_graph_sizes_keeps(tc_graph_sizes *s, const tc_expr *x, int64_t least, int64_t most, int64_t multiple);
bool tc_graph_sizes_keeps_multiple(tc_graph_sizes *s, const tc_expr *x, const tc_expr *by);
/* Nodes behind that which wanted it need what is wanted, or more: begin again, and know it before. */
void tc_graph_sizes_find_wanted(tc_graph_sizes *s);
/* In no run is x anything else: that is checked before anything is computed. */
void tc_graph_sizes_assume_multiple(const tc_graph_sizes *s, const tc_expr *x, const tc_expr *by);
/* Runs can compute x. */
bool tc_graph_sizes_is_checkable(const tc_graph_sizes *s, const tc_expr *x);
/* v, whose number x is, is a size, and at most so large. */
void tc_graph_sizes_limit(tc_graph_sizes *s, tc_graph_value *v, const tc_expr *x, int64_t most);
/* The scalar that is x; NULL: there is none yet. */
tc_graph_value *tc_graph_sizes_value(const tc_graph_sizes *s, const tc_expr *x);
void tc_graph_sizes_set_value(tc_graph_sizes *s, const tc_expr *x, tc_graph_value *v);

const tc_expr *tc_graph_sizes_simplify(tc_graph_sizes *s, const tc_expr *x);
/* The largest that it is likely to be, for a size that must have one, and that it can be, for what is left out. Never negative;
 * TC_INF: that is not known. */
int64_t tc_graph_sizes_most(const tc_graph_sizes *s, const tc_expr *x);
int64_t tc_graph_sizes_limit_of(const tc_graph_sizes *s, const tc_expr *x);

/* ---- symbols ---- */
/* That of this name; NULL: there is none. Valid until the next is added. */
tc_graph_size_symbol *tc_graph_sizes_symbol(const tc_graph_sizes *s, const char *name);
/* The same of its variable. */
tc_graph_size_symbol *tc_graph_sizes_symbol_of(const tc_graph_sizes *s, const tc_var *var);
void tc_graph_sizes_add_symbol(tc_graph_sizes *s, const tc_graph_size_symbol *symbol); /* its first five fields */
/* All sizes that it may have in a run. */
tc_ival tc_graph_sizes_range(const tc_graph_sizes *s, const tc_graph_size_symbol *symbol);
/* Other sizes leave it fewer than were given, or are assumed. */
bool tc_graph_sizes_is_narrowed(const tc_graph_size_symbol *symbol);
/* A predicate for tc_expr_any, with the sizes: a variable that is no symbol, but depends on data. */
bool tc_graph_sizes_is_other_variable(const tc_expr *x, const void *sizes);
/* How two sizes are one. */
typedef enum tc_graph_meeting {
    TC_GRAPH_SIZES_EQUAL,   /* they are, as far as anybody can know */
    TC_GRAPH_SIZES_RELATED, /* a symbol is made of others from now on, or there are fewer sizes: begin again */
    TC_GRAPH_SIZES_DIFFER   /* there are runs for which they are not */
} tc_graph_meeting;
/* Nothing that is known makes them equal. */
bool tc_graph_sizes_may_differ(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b);
tc_graph_meeting tc_graph_sizes_meet(tc_graph_sizes *s, const tc_expr *a, const tc_expr *b);
/* Of two that differ: from now on they are the same, which runs check, and have the same largest value: begin again. `what` says of
 * which node both are. False: nearly all sizes contradict that, or runs cannot compute one of them. Then give the graph up. */
bool tc_graph_sizes_equate(tc_graph_sizes *s, const char *what, const tc_expr *a, const tc_expr *b);
/* "past + sequence" */
void tc_graph_sizes_print(tc_strbuf *b, const tc_expr *x);
/* "batch=1..16, sequence=1..512": what import assumes, of the first symbols. Nothing: no symbol is assumed. */
void tc_graph_sizes_print_assumed(tc_strbuf *b, const tc_graph_sizes *s);

/* x is made of symbols whose sizes import assumes, and of nothing else. */
bool tc_graph_sizes_is_assumed(const tc_graph_sizes *s, const tc_expr *x);
/* It holds for more than half of the sizes that the one symbol in it may have. */
bool tc_graph_sizes_mostly_hold(tc_graph_sizes *s, const tc_expr *condition);
/* The bool `condition` depends on one symbol, whose sizes import assumes: from now on these are sizes for which it holds, the largest
 * that were assumed or, if it holds for none of them, larger ones. is_end: the condition also says up to which size the symbol goes.
 * True: the sizes are others now, so begin again. */
bool tc_graph_sizes_choose(tc_graph_sizes *s, const tc_expr *condition, bool is_end);

/* Import failed: where a condition chose its sizes, those for which it does not hold are next: begin again. */
void tc_graph_sizes_reconsider(tc_graph_sizes *s);
/* After the last node: sizes that import assumes go as far as the computed sizes that are one number stay so. They begin where the
 * network takes them. */
void tc_graph_sizes_find_ends(tc_graph_sizes *s);

/* ---- of a run ---- */
/* What is computed of sizes, each divided by its multiple. */
typedef struct tc_graph_size_value {
    const char *text;   /* NULL: there is none */
    tc_formula formula; /* n 0: runs cannot compute it */
    const tc_expr *of;  /* the graph's; NULL: the graph may be gone */
} tc_graph_size_value;
/* A size of inputs that varies: multiples of `multiple` from least to most. */
typedef struct tc_graph_size_rule {
    const char *name;
    int64_t least, most, multiple;
    bool assumed;           /* by import, as nobody said which sizes there are */
    bool narrowed;          /* these are fewer than were given or assumed: others leave no more */
    tc_graph_size_value is; /* what it must be, if that is known */
    const tc_var *var;      /* as `of` has it */
} tc_graph_size_rule;
/* As tc_graph_size_limit. */
typedef struct tc_graph_size_bound {
    tc_graph_size_value x, by, same; /* text NULL: there is none */
    int64_t least, most, multiple;
    const char *what;
} tc_graph_size_bound;
typedef struct tc_graph_sized_input {
    const char *name;
    int ndim, size[TC_GRAPH_MAX_DIMS]; /* which size it is, by dimension; -1: it does not vary */
} tc_graph_sized_input;
/* What the sizes of a run's inputs must be. */
typedef struct tc_graph_size_rules {
    int nin, nsize, nlimit; /* nin: without those that are sizes */
    const tc_graph_sized_input *in;
    tc_graph_size_rule *size;
    tc_graph_size_bound *limit;
    int64_t *left; /* while the largest sizes are looked for: how many rules are still evaluated; NULL: any number */
} tc_graph_size_rules;
/* Those of g, in the arena; for as long as g lives. */
void tc_graph_size_rules_of(const tc_graph *g, tc_arena *a, tc_graph_size_rules *out);
/* Whatever the sizes are within their ranges, runs can compute x without overflow. */
bool tc_graph_size_value_is_sound(const tc_graph_size_rules *r, const tc_graph_size_value *x);
/* From now on the graph may go. TC_BAD_INPUT where a rule is no formula, or one whose numbers may be too large. */
TC_NODISCARD tc_status tc_graph_size_rules_settle(tc_graph_size_rules *r, tc_error *err);
/* size[k]: of the inputs in[], one per input. TC_BAD_INPUT where one is out of its range, where two inputs disagree, or where a
 * size is not what it must be. Types, what is fixed and the number of dimensions are the caller's to check; where the last is
 * wrong, size[k] may be -1. */
TC_NODISCARD tc_status tc_graph_size_rules_bind(const tc_graph_size_rules *r, const tc_graph_tensor *in, int64_t *size,
                                                tc_error *err);
/* Without inputs: size[k] is given, or -1 and becomes what others make it, else the least that is not 0, or where sizes only fit
 * together one of the least that do. TC_BAD_INPUT as above, with what is wrong in size[]. The rules are settled. */
TC_NODISCARD tc_status tc_graph_size_rules_complete(const tc_graph_size_rules *r, int64_t *size, tc_error *err);
/* What is left of size k where it alone breaks no bound: multiples of this, from this on. */
int64_t tc_graph_size_rules_step(const tc_graph_size_rules *r, int k);
int64_t tc_graph_size_rules_first(const tc_graph_size_rules *r, int k);
/* The largest that size k can be with those that are given, size[k] or -1, and the others as above, if smaller ones can be too;
 * else -1. */
int64_t tc_graph_size_rules_most(const tc_graph_size_rules *r, const int64_t *size, int k);
/* The largest of all, or where a bound does not allow that each as large as those before it leave it. TC_BAD_INPUT where none were
 * found. */
TC_NODISCARD tc_status tc_graph_size_rules_largest(const tc_graph_size_rules *r, int64_t *size, tc_error *err);

#endif
