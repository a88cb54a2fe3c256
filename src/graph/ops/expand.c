/* The interpreter of expansions.txt, which states the language. It evaluates a text while it reads it. What is not `live` (a branch
 * that is not taken, or a text that is only checked) is read, and its names are looked up, but nothing is computed. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/expand.h"
#include "graph/ops/functions.h"

enum { MAX_LOCALS = 64, MAX_ARGS = 16, MAX_OUT = 8, MAX_LEVEL = 16, MAX_LIST = 32 };

typedef tc_graph_term term;

typedef struct word {
    const char *s;
    size_t len;
} word;

typedef struct frame {
    tc_graph_emitter *e; /* NULL: the text is only checked */
    const tc_graph_expansion *x;
    const char *at;
    bool live, inside;  /* inside: of brackets, where a new line ends no statement */
    int wanted;         /* values that the next call is to give */
    int level, nlocals; /* level: of calls */
    word name[MAX_LOCALS];
    term local[MAX_LOCALS];
    int nout;
    word out[MAX_OUT];
    tc_status *status;
    tc_error *err;
} frame;

/* What stands in front of the first text is an entry of its own. */
static const tc_graph_expansion texts[] = {{
    NULL,
    0,
#include "graph/ir/expansion_texts.def"
}};
const tc_graph_expansion *const tc_graph_expansions = texts + 1;
const size_t tc_graph_expansion_count = TC_LEN(texts) - 1;

static const term nothing = {.kind = TC_GRAPH_NOTHING};

static term text_of(const char *s) {
    return (term){.kind = TC_GRAPH_TEXT, .text = s};
}

static term float_of(double v) {
    return (term){.kind = TC_GRAPH_FLOAT, .f = v};
}

bool tc_graph_term_holds(const term *a) {
    switch (a->kind) {
    case TC_GRAPH_NOTHING:
        return false;
    case TC_GRAPH_INT:
        return a->i != 0;
    case TC_GRAPH_FLOAT:
        return a->f != 0;
    case TC_GRAPH_TEXT:
        return *a->text;
    case TC_GRAPH_LIST:
        return a->n > 0;
    case TC_GRAPH_VALUE:
    case TC_GRAPH_DTYPE:
        return true;
    }
    return false;
}

/* A mistake of the text; the first one stays, and reading ends. */
static term mistake(frame *f, const char *fmt, ...) TC_PRINTF(2, 3);
static term mistake(frame *f, const char *fmt, ...) {
    int row = f->x->row, column = 1;
    va_list ap;
    for (const char *s = f->x->text; s < f->at && *f->status == TC_OK; s++) {
        row += *s == '\n';
        column = *s == '\n' ? 1 : column + 1;
    }
    va_start(ap, fmt);
    if (*f->status == TC_OK) {
        *f->status = tc_vfail(f->err, TC_BAD_INPUT, fmt, ap);
        tc_error_prefix(f->err, "expansions.txt:%d:%d: ", row, column);
    }
    va_end(ap);
    f->live = false;
    f->at = "";
    return nothing;
}

/* ---- words ---- */

static void skip_space(frame *f) {
    while (*f->at == ' ' || *f->at == '#' || (f->inside && *f->at == '\n'))
        if (*f->at++ == '#')
            f->at += strcspn(f->at, "\n");
}

static void skip_lines(frame *f) {
    bool was = f->inside;
    f->inside = true;
    skip_space(f);
    f->inside = was;
}

/* Goes past s where it comes next. */
static bool take(frame *f, const char *s) {
    skip_space(f);
    if (*f->at != *s)
        return false;
    size_t len = strlen(s);
    if (strncmp(f->at, s, len) != 0 || (isalpha((unsigned char)*s) && (isalnum((unsigned char)f->at[len]) || f->at[len] == '_')))
        return false;
    f->at += len;
    return true;
}

static void want(frame *f, const char *s) {
    if (!take(f, s))
        mistake(f, "'%s' is expected", s);
}

static word take_word(frame *f) {
    skip_space(f);
    word w = {f->at, 0};
    while (isalnum((unsigned char)w.s[w.len]) || w.s[w.len] == '_' ||
           (w.s[w.len] == '.' && isalpha((unsigned char)w.s[w.len + 1])))
        w.len++;
    if (w.len == 0 || isdigit((unsigned char)*w.s)) {
        mistake(f, "a name is expected");
        return (word){"", 0};
    }
    f->at += w.len;
    return w;
}

static bool is(word w, const char *s) {
    return strncmp(w.s, s, w.len) == 0 && s[w.len] == 0;
}

/* The word as a string of its own, in `out`. */
static const char *text_in(char *out, word w) {
    memcpy(out, w.s, w.len);
    out[w.len] = 0;
    return out;
}

static term *find(frame *f, word w) {
    for (int i = f->nlocals; i-- > 0;)
        if (f->name[i].len == w.len && memcmp(f->name[i].s, w.s, w.len) == 0)
            return &f->local[i];
    return NULL;
}

static void set(frame *f, word w, term v) {
    term *old = find(f, w);
    if (!old && f->nlocals == MAX_LOCALS) {
        mistake(f, "there are more than %d names", MAX_LOCALS);
        return;
    }
    if (!old) {
        f->name[f->nlocals] = w;
        old = &f->local[f->nlocals++];
        *old = nothing;
    }
    if (f->live)
        *old = v;
}

/* ---- arithmetic ---- */

static term expression(frame *f);

static bool is_number(const term *a) {
    return a->kind == TC_GRAPH_INT || a->kind == TC_GRAPH_FLOAT;
}

static term pair(frame *f, tc_graph_op op, term a, term b) {
    tc_graph_value *like = a.kind == TC_GRAPH_VALUE ? a.v : b.v;
    if ((a.kind != TC_GRAPH_VALUE && !is_number(&a)) || (b.kind != TC_GRAPH_VALUE && !is_number(&b)))
        return mistake(f, "an operand is neither a value nor a number");
    if (is_number(&a))
        a.v = tc_graph_em_scalar(f->e, like->dtype, tc_graph_term_number(&a));
    if (is_number(&b))
        b.v = tc_graph_em_scalar(f->e, like->dtype, tc_graph_term_number(&b));
    return tc_graph_term_value(tc_graph_em_op(f->e, op, a.v, b.v));
}

static term joined(frame *f, term a, term b) {
    term r = {.kind = TC_GRAPH_LIST, .n = a.n + b.n, .list = TC_NEW_N(f->e->c->g->arena, term, a.n + b.n + 1)};
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = i < a.n ? a.list[i] : b.list[i - a.n];
    return r;
}

/* The numbers may be the model's. */
static term of_integers(frame *f, char op, int64_t a, int64_t b) {
    int64_t r = 0;
    bool fits = op == '+'   ? !__builtin_add_overflow(a, b, &r)
                : op == '-' ? !__builtin_sub_overflow(a, b, &r)
                : op == '*' ? !__builtin_mul_overflow(a, b, &r)
                            : b != 0 && !(b == -1 && a == INT64_MIN);
    if (!fits) {
        *f->status = tc_graph_node_fail(f->e->c, "%" PRId64 " %c %" PRId64 " is no integer of 64 bits", a, op, b);
        return mistake(f, "it fails");
    }
    return tc_graph_term_int(op == '/' ? a / b : op == '%' ? a % b : r);
}

static term arithmetic(frame *f, char op, tc_graph_op of_values, term a, term b) {
    if (a.kind == TC_GRAPH_VALUE || b.kind == TC_GRAPH_VALUE)
        return pair(f, of_values, a, b);
    if (op == '+' && a.kind == TC_GRAPH_LIST && b.kind == TC_GRAPH_LIST)
        return joined(f, a, b);
    if (!is_number(&a) || !is_number(&b))
        return mistake(f, "an operand is no number");
    double x = tc_graph_term_number(&a), y = tc_graph_term_number(&b);
    if (a.kind == TC_GRAPH_FLOAT || b.kind == TC_GRAPH_FLOAT)
        return float_of(op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y);
    return of_integers(f, op, a.i, b.i);
}

static bool same(const term *a, const term *b) {
    if (is_number(a) && is_number(b))
        return a->kind == TC_GRAPH_INT && b->kind == TC_GRAPH_INT ? a->i == b->i
                                                                  : tc_graph_term_number(a) == tc_graph_term_number(b);
    if (a->kind != b->kind)
        return false;
    bool equal = a->n == b->n;
    for (int64_t i = 0; a->kind == TC_GRAPH_LIST && equal && i < a->n; i++)
        equal = same(&a->list[i], &b->list[i]);
    return a->kind == TC_GRAPH_TEXT    ? strcmp(a->text, b->text) == 0
           : a->kind == TC_GRAPH_DTYPE ? a->dtype == b->dtype
           : a->kind == TC_GRAPH_VALUE ? a->v == b->v
                                       : equal;
}

/* ---- calls ---- */

/* How firmly what stands between two expressions binds them. */
enum { ANY = 1, ALL, COMPARED, SUM, PRODUCT };
static term chain(frame *f, int least);

/* The expressions up to a bracket, behind one that is taken already; at most `most`. */
static int take_terms(frame *f, const char *end, term *out, int most) {
    bool was = f->inside;
    int n = 0;
    f->inside = true;
    if (!take(f, end)) {
        do {
            if (n == most)
                mistake(f, "there are more than %d of them", most);
            else
                out[n++] = expression(f);
        } while (take(f, ","));
        want(f, end);
    }
    f->inside = was;
    return n;
}

static term list_of(frame *f, const term *v, int n) {
    term r = {.kind = TC_GRAPH_LIST, .n = n};
    if (f->live)
        r.list = tc_arena_dup(f->e->c->g->arena, v, (size_t)(n + 1) * sizeof *v);
    return r;
}

/* What a call says in <>. */
typedef struct attributes {
    int n;
    bool window, nowhere; /* nowhere: along an empty list of axes */
    tc_graph_attr_id id[TC_GRAPH_MAX_ATTRS];
    term v[TC_GRAPH_MAX_ATTRS];
} attributes;

static tc_graph_attr_id take_attribute(frame *f, word *w) {
    tc_graph_attr_id id = TC_ATTR_none;
    *w = take_word(f);
    if (*f->status == TC_OK && !tc_graph_attr_by_word(w->s, w->len, &id)) {
        f->at = w->s;
        mistake(f, "there is no attribute '%.*s'", (int)w->len, w->s);
    }
    return id;
}

static void take_attributes(frame *f, attributes *a) {
    bool was = f->inside;
    f->inside = true;
    do {
        word w;
        if (take(f, "window")) {
            a->window = true;
            continue;
        }
        tc_graph_attr_id id = take_attribute(f, &w);
        term *own = find(f, w);
        if (a->n == TC_GRAPH_MAX_ATTRS || (!take(f, "=") && !own)) {
            mistake(f, a->n == TC_GRAPH_MAX_ATTRS ? "there are too many attributes" : "'=' is expected");
            break;
        }
        a->id[a->n] = id;
        a->v[a->n] = f->at[-1] == '=' ? chain(f, SUM) : *own;
        a->nowhere |= id == TC_ATTR_axes && f->live && a->v[a->n].n == 0;
        a->n++;
    } while (take(f, ","));
    want(f, ">");
    f->inside = was;
}

static void set_attribute(frame *f, tc_graph_node *n, tc_graph_attr_id id, term v) {
    tc_graph *g = f->e->c->g;
    tc_graph_attr_kind kind = tc_graph_attr_kind_of(id);
    if (kind == TC_GRAPH_ATTR_INT && v.kind == TC_GRAPH_INT)
        tc_graph_set_int(g, n, id, v.i);
    else if (kind == TC_GRAPH_ATTR_INT && v.kind == TC_GRAPH_DTYPE)
        tc_graph_set_int(g, n, id, tc_graph_dtype_to_onnx(v.dtype));
    else if (kind == TC_GRAPH_ATTR_FLOAT && is_number(&v))
        tc_graph_set_float(g, n, id, tc_graph_term_number(&v));
    else if (kind == TC_GRAPH_ATTR_STRING && v.kind == TC_GRAPH_TEXT)
        tc_graph_set_str(g, n, id, v.text);
    else if (kind == TC_GRAPH_ATTR_INTS && v.kind == TC_GRAPH_LIST)
        tc_graph_set_ints(g, n, id, tc_graph_term_ints(f->e, &v), (size_t)v.n);
    else if (v.kind != TC_GRAPH_NOTHING)
        mistake(f, "attribute %s is not %s", tc_graph_attr_name(id), tc_graph_attr_kind_name(kind));
}

/* A node; numbers among its operands have the type of the first value that is not bool. */
static term call_operator(frame *f, tc_graph_op op, const attributes *a, const term *arg, int n, int wanted) {
    tc_graph_value *in[MAX_ARGS], *out[MAX_OUT], *like = NULL;
    term made[MAX_OUT];
    for (int k = 0; k < n && !like; k++)
        like = arg[k].kind == TC_GRAPH_VALUE && arg[k].v->dtype != TC_BOOL ? arg[k].v : NULL;
    for (int k = 0; k < n; k++) {
        if (!is_number(&arg[k]) && arg[k].kind != TC_GRAPH_VALUE && arg[k].kind != TC_GRAPH_NOTHING)
            return mistake(f, "operand %d is no value", k);
        in[k] = !is_number(&arg[k]) ? arg[k].v
                : like              ? tc_graph_em_scalar(f->e, like->dtype, tc_graph_term_number(&arg[k]))
                                    : NULL;
    }
    if (a->nowhere)
        return arg[0];
    tc_graph_node *node = tc_graph_em_node(f->e, op, in, n);
    if (a->window)
        tc_graph_em_copy_window(f->e, node);
    for (int i = 0; i < a->n; i++)
        set_attribute(f, node, a->id[i], a->v[i]);
    if (wanted == 1)
        return tc_graph_term_value(tc_graph_em_place(f->e, node));
    tc_graph_em_place_all(f->e, node, out, wanted);
    for (int k = 0; k < wanted; k++)
        made[k] = tc_graph_term_value(out[k]);
    return list_of(f, made, wanted);
}

static bool fits(char takes, const term *a) {
    switch (takes) {
    case 'v':
        return a->kind == TC_GRAPH_VALUE;
    case 'o':
        return a->kind == TC_GRAPH_VALUE || a->kind == TC_GRAPH_NOTHING;
    case 'i':
        return a->kind == TC_GRAPH_INT;
    case 'n':
        return is_number(a);
    case 'l':
        return a->kind == TC_GRAPH_LIST;
    case 'd':
        return a->kind == TC_GRAPH_DTYPE;
    case 't':
        return a->kind == TC_GRAPH_TEXT;
    default:
        return true;
    }
}

static term call_function(frame *f, const tc_graph_expansion_call *call, term *arg, int n) {
    size_t least = strcspn(call->takes, "|"), most = strlen(call->takes) - (call->takes[least] == '|');
    if ((size_t)n < least || (size_t)n > most)
        return mistake(f, "%s takes %zu arguments, not %d", call->name, least, n);
    for (size_t k = 0; k < most && f->live; k++) {
        if (k >= (size_t)n)
            arg[k] = nothing;
        else if (!fits(call->takes[k < least ? k : k + 1], &arg[k]))
            return mistake(f, "argument %zu of %s is of another kind", k + 1, call->name);
    }
    return f->live ? call->run(f->e, arg) : nothing;
}

static const tc_graph_expansion *find_text(word w) {
    for (size_t i = 0; i < tc_graph_expansion_count; i++)
        if (is(w, tc_graph_expansions[i].name))
            return &tc_graph_expansions[i];
    return NULL;
}

static void read_text(frame *f, const term *arg, int n);

/* The outputs of a text of its own; a list where it has several. */
static term call_text(frame *f, const tc_graph_expansion *x, const term *arg, int n) {
    term out[MAX_OUT];
    if (f->level == MAX_LEVEL)
        return mistake(f, "calls are nested too deeply");
    if (!f->live)
        return nothing;
    frame *own = TC_NEW(f->e->c->g->arena, frame);
    *own = (frame){.e = f->e, .x = x, .at = x->text, .live = true, .level = f->level + 1, .status = f->status, .err = f->err};
    read_text(own, arg, n);
    for (int k = 0; k < own->nout && *f->status == TC_OK; k++)
        out[k] = *find(own, own->out[k]);
    if (*f->status != TC_OK)
        return nothing;
    return own->nout == 1 ? out[0] : list_of(f, out, own->nout);
}

/* asked(mean): somebody reads this output. */
static term call_asked(frame *f) {
    int k = 0;
    want(f, "(");
    word w = take_word(f);
    want(f, ")");
    while (k < f->nout && (f->out[k].len != w.len || memcmp(f->out[k].s, w.s, w.len) != 0))
        k++;
    if (k == f->nout)
        return mistake(f, "'%.*s' is no output", (int)w.len, w.s);
    return f->live ? tc_graph_term_int(k < f->e->c->nout && f->e->c->names[k]) : nothing;
}

static term call(frame *f, word w) {
    attributes a = {0};
    term arg[MAX_ARGS];
    tc_graph_op op;
    int wanted = f->wanted;
    bool is_operator = isupper((unsigned char)*w.s);
    if (is(w, "asked"))
        return call_asked(f);
    f->wanted = 1;
    if (is_operator && take(f, "<"))
        take_attributes(f, &a);
    want(f, "(");
    int n = take_terms(f, ")", arg, MAX_ARGS);
    const tc_graph_expansion_call *own = tc_graph_expansion_call_of(w.s, w.len);
    const tc_graph_expansion *x = own || is_operator ? NULL : find_text(w);
    char copy[64] = "";
    if (*f->status != TC_OK)
        return nothing;
    if (own)
        return call_function(f, own, arg, n);
    if (x)
        return call_text(f, x, arg, n);
    if (!is_operator || w.len >= sizeof copy || !tc_graph_op_find(text_in(copy, w), &op)) {
        f->at = w.s;
        return mistake(f, "there is no %s '%.*s'", is_operator ? "operator" : "function", (int)w.len, w.s);
    }
    return f->live ? call_operator(f, op, &a, arg, n, wanted) : nothing;
}

/* ---- expressions ---- */

static term number(frame *f) {
    char *end;
    size_t digits = strspn(f->at, "0123456789");
    if (f->at[digits] != '.' && f->at[digits] != 'e') {
        int64_t i = strtoll(f->at, &end, 10);
        f->at = end;
        return tc_graph_term_int(i);
    }
    double v = strtod(f->at, &end);
    if (*end == 'f') {
        v = (double)(float)v;
        end++;
    }
    f->at = end;
    return float_of(v);
}

static term text(frame *f) {
    const char *from = ++f->at;
    f->at += strcspn(from, "\"\n");
    if (*f->at != '"')
        return mistake(f, "'\"' is expected");
    f->at++;
    return text_of(f->e ? tc_arena_printf(f->e->c->g->arena, "%.*s", (int)(f->at - 1 - from), from) : "");
}

static term name(frame *f) {
    char copy[16];
    word w = take_word(f);
    term *own = find(f, w);
    tc_dtype t;
    if (*f->at == '(' || (*f->at == '<' && isupper((unsigned char)*w.s)))
        return call(f, w);
    if (own)
        return *own;
    if (is(w, "none"))
        return nothing;
    if (is(w, "inf"))
        return float_of(INFINITY);
    if (is(w, "opset"))
        return tc_graph_term_int(f->e ? f->e->c->opset : 0);
    if (w.len < sizeof copy && tc_dtype_parse(text_in(copy, w), &t))
        return (term){.kind = TC_GRAPH_DTYPE, .dtype = t};
    f->at = w.len ? w.s : f->at;
    return mistake(f, "there is no name '%.*s'", (int)w.len, w.s);
}

static term primary(frame *f) {
    term v[MAX_LIST];
    bool was = f->inside;
    skip_space(f);
    if (isdigit((unsigned char)*f->at))
        return number(f);
    if (*f->at == '"')
        return text(f);
    if (take(f, "[")) {
        int n = take_terms(f, "]", v, MAX_LIST);
        return list_of(f, v, n);
    }
    if (!take(f, "("))
        return name(f);
    f->inside = true;
    term r = expression(f);
    want(f, ")");
    f->inside = was;
    return r;
}

/* list[1], list[-1], list[2:], list[:-1] */
static term element(frame *f, term list) {
    bool was = f->inside, part = false;
    term at[2] = {nothing, nothing};
    f->inside = true;
    if (!take(f, ":"))
        at[0] = expression(f);
    else
        part = true;
    if (!part)
        part = take(f, ":");
    if (part && !take(f, "]"))
        at[1] = expression(f);
    else if (part)
        f->at--;
    want(f, "]");
    f->inside = was;
    if (!f->live)
        return nothing;
    int64_t i[2] = {at[0].kind == TC_GRAPH_INT ? at[0].i : 0, at[1].kind == TC_GRAPH_INT ? at[1].i : list.n};
    for (int k = 0; k < 2; k++)
        i[k] += i[k] < 0 ? list.n : 0;
    if (list.kind != TC_GRAPH_LIST || i[0] < 0 || (part ? i[0] > i[1] || i[1] > list.n : i[0] >= list.n))
        return mistake(f, "the list has no such element");
    return part ? list_of(f, list.list + i[0], (int)(i[1] - i[0])) : list.list[i[0]];
}

static term unary(frame *f) {
    if (take(f, "-")) {
        term v = unary(f);
        return f->live ? arithmetic(f, '-', TC_GRAPH_OP_SUB, tc_graph_term_int(0), v) : nothing;
    }
    if (take(f, "not")) {
        term v = unary(f);
        return tc_graph_term_int(!tc_graph_term_holds(&v));
    }
    term v = primary(f);
    while (*f->at == '[') {
        f->at++;
        v = element(f, v);
    }
    return v;
}

/* What stands between two expressions. */
static const struct sign {
    const char *text;
    int binds;
    tc_graph_op op; /* of values */
} signs[] = {
    {"or", ANY, 0},
    {"and", ALL, 0},
    {"==", COMPARED, 0},
    {"!=", COMPARED, 0},
    {"<=", COMPARED, 0},
    {">=", COMPARED, 0},
    {"<", COMPARED, 0},
    {">", COMPARED, 0},
    {"+", SUM, TC_GRAPH_OP_ADD},
    {"-", SUM, TC_GRAPH_OP_SUB},
    {"*", PRODUCT, TC_GRAPH_OP_MUL},
    {"/", PRODUCT, TC_GRAPH_OP_DIV},
    {"%", PRODUCT, TC_GRAPH_OP_MOD},
};

static const struct sign *take_sign(frame *f, int least) {
    skip_space(f);
    for (size_t i = 0; i < TC_LEN(signs); i++)
        if (*f->at == *signs[i].text && signs[i].binds >= least && take(f, signs[i].text))
            return &signs[i];
    return NULL;
}

static term compared(frame *f, const char *sign, const term *a, const term *b) {
    if (sign[1] == '=' && (*sign == '=' || *sign == '!'))
        return tc_graph_term_int(same(a, b) == (*sign == '='));
    if (!is_number(a) || !is_number(b))
        return mistake(f, "numbers are compared; of values, Less and Equal are");
    double x = tc_graph_term_number(a), y = tc_graph_term_number(b);
    return tc_graph_term_int((*sign == '<' ? x < y : x > y) || (sign[1] == '=' && x == y));
}

/* Expressions with signs between them that bind at least so firmly. */
static term chain(frame *f, int least) {
    term a = unary(f);
    for (const struct sign *s; (s = take_sign(f, least));) {
        bool was = f->live, counts = s->binds > ALL || tc_graph_term_holds(&a) == (s->binds == ALL);
        f->live = was && counts;
        term b = chain(f, s->binds + 1);
        f->live = was && *f->status == TC_OK;
        if (!f->live)
            a = nothing;
        else if (s->binds <= ALL)
            a = counts ? b : a;
        else
            a = s->binds == COMPARED ? compared(f, s->text, &a, &b) : arithmetic(f, *s->text, s->op, a, b);
    }
    return a;
}

/* What is read by the function counts only where it is to be live. */
static term only_if(frame *f, bool live, term (*read)(frame *)) {
    bool was = f->live;
    f->live = was && live;
    term v = read(f);
    f->live = was && *f->status == TC_OK;
    return v;
}

static term expression(frame *f) {
    term condition = chain(f, ANY);
    if (!take(f, "?"))
        return condition;
    bool yes = tc_graph_term_holds(&condition);
    term a = only_if(f, yes, expression);
    want(f, ":");
    term b = only_if(f, !yes, expression);
    return yes ? a : b;
}

/* ---- statements ---- */

static void print(tc_strbuf *out, const term *v) {
    switch (v->kind) {
    case TC_GRAPH_NOTHING:
        tc_sb_add(out, "none");
        break;
    case TC_GRAPH_VALUE:
        tc_sb_printf(out, "'%s'", v->v->name);
        break;
    case TC_GRAPH_INT:
        tc_sb_printf(out, "%" PRId64, v->i);
        break;
    case TC_GRAPH_FLOAT:
        tc_sb_printf(out, "%g", v->f);
        break;
    case TC_GRAPH_TEXT:
        tc_sb_add(out, v->text);
        break;
    case TC_GRAPH_DTYPE:
        tc_sb_add(out, tc_dtype_name(v->dtype));
        break;
    case TC_GRAPH_LIST:
        for (int64_t i = 0; i < v->n; i++) {
            tc_sb_add(out, i ? ", " : "");
            print(out, &v->list[i]);
        }
    }
}

/* "... {expression} ...", at its first quotation mark */
static void take_message(frame *f, tc_strbuf *out) {
    skip_lines(f);
    want(f, "\"");
    while (*f->status == TC_OK && *f->at != '"') {
        size_t plain = strcspn(f->at, "\"{\n");
        tc_sb_printf(out, "%.*s", (int)plain, f->at);
        f->at += plain;
        if (*f->at == '{') {
            f->at++;
            term v = expression(f);
            if (f->live)
                print(out, &v);
            want(f, "}");
        } else if (*f->at != '"') {
            mistake(f, "'\"' is expected");
        }
    }
    want(f, "\"");
}

/* expect condition : "message" */
static void expectation(frame *f, tc_error_code code) {
    term v = chain(f, ANY);
    bool fails = f->live && !tc_graph_term_holds(&v);
    tc_strbuf out = {0};
    want(f, ":");
    bool was = f->live;
    f->live = fails;
    take_message(f, &out);
    f->live = was && *f->status == TC_OK;
    if (fails && *f->status == TC_OK) {
        *f->status = code == TC_ERROR_PLAIN ? tc_graph_node_fail(f->e->c, "%s", tc_sb_str(&out))
                                            : tc_graph_node_refuse(f->e->c, code, "%s", tc_sb_str(&out));
        mistake(f, "it fails");
    }
    tc_strbuf_free(&out);
}

static void block(frame *f);

static term braces(frame *f) {
    want(f, "{");
    block(f);
    return nothing;
}

/* if condition { .. } else if condition { .. } else { .. } */
static term conditional(frame *f) {
    term condition = expression(f);
    bool yes = tc_graph_term_holds(&condition);
    only_if(f, yes, braces);
    if (take(f, "else"))
        only_if(f, !yes, take(f, "if") ? conditional : braces);
    return nothing;
}

/* for x in list { .. } */
static void loop(frame *f) {
    word w = take_word(f);
    want(f, "in");
    term list = expression(f);
    const char *from = f->at;
    if (f->live && list.kind != TC_GRAPH_LIST)
        mistake(f, "it is no list");
    set(f, w, nothing);
    for (int64_t i = 0; i < list.n && f->live; i++) {
        f->at = from;
        set(f, w, list.list[i]);
        braces(f);
    }
    if (f->at == from)
        only_if(f, false, braces);
}

/* y = .., a, b = .. */
static void assignment(frame *f) {
    word w[MAX_OUT];
    int n = 0;
    do {
        word next = take_word(f);
        if (n == MAX_OUT)
            mistake(f, "there are more than %d names", MAX_OUT);
        else
            w[n++] = next;
    } while (take(f, ","));
    want(f, "=");
    f->wanted = n;
    term v = expression(f);
    f->wanted = 1;
    if (n == 1)
        set(f, w[0], v);
    else if (f->live && (v.kind != TC_GRAPH_LIST || v.n < n))
        mistake(f, "it gives no %d values", n);
    for (int k = 0; k < n && n > 1; k++)
        set(f, w[k], f->live ? v.list[k] : nothing);
}

static bool is_assignment(const frame *f) {
    const char *s = f->at;
    while (isalnum((unsigned char)*s) || *s == '_' || *s == ',' || *s == ' ')
        s++;
    return s[0] == '=' && s[1] != '=';
}

static void statement(frame *f) {
    if (take(f, "if"))
        conditional(f);
    else if (take(f, "for"))
        loop(f);
    else if (take(f, "expect"))
        expectation(f, TC_ERROR_PLAIN);
    else if (take(f, "support"))
        expectation(f, TC_ERROR_UNSUPPORTED);
    else if (is_assignment(f))
        assignment(f);
    else
        expression(f);
}

/* Behind a bracket. */
static void block(frame *f) {
    bool was = f->inside;
    f->inside = false;
    for (skip_lines(f); *f->status == TC_OK && !take(f, "}"); skip_lines(f)) {
        statement(f);
        skip_space(f);
        if (*f->at != '\n' && *f->at != '}')
            mistake(f, "the end of the line is expected");
    }
    f->inside = was;
}

/* ---- texts ---- */

static term attribute_of(frame *f, const tc_graph_attr *a) {
    term r = {.kind = TC_GRAPH_LIST, .n = (int64_t)a->len};
    switch (tc_graph_attr_kind_of(a->id)) {
    case TC_GRAPH_ATTR_INT:
        return tc_graph_term_int(a->i);
    case TC_GRAPH_ATTR_FLOAT:
        return float_of(a->f);
    case TC_GRAPH_ATTR_STRING:
        return text_of(a->s);
    case TC_GRAPH_ATTR_TENSOR:
        return nothing;
    case TC_GRAPH_ATTR_INTS:
    case TC_GRAPH_ATTR_FLOATS:
        break;
    }
    if (!a->ints && !a->floats)
        return nothing;
    r.list = TC_NEW_N(f->e->c->g->arena, term, r.n + 1);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = a->ints ? tc_graph_term_int(a->ints[i]) : float_of((double)a->floats[i]);
    return r;
}

/* <axis = -1, epsilon>: what a model may say; values that are called so. */
static void bind_attributes(frame *f) {
    do {
        word w;
        tc_graph_attr_id id = take_attribute(f, &w);
        const tc_graph_attr *own = f->e ? tc_graph_attr_find(f->e->c->n, id) : NULL;
        bool was = f->live;
        f->live = was && !own;
        term v = take(f, "=") ? chain(f, SUM) : f->live ? attribute_of(f, tc_graph_attr_otherwise(id)) : nothing;
        f->live = was && *f->status == TC_OK;
        set(f, w, own ? attribute_of(f, own) : v);
    } while (take(f, ","));
    want(f, ">");
}

static void want_type(frame *f, int k, int first) {
    tc_graph_infer_ctx *c = f->live ? f->e->c : NULL;
    if (take(f, "like")) {
        term *other = find(f, take_word(f));
        if (!other)
            mistake(f, "there is no such input");
        else if (c)
            *f->status = tc_graph_want_same_type(c, (int)(other - f->local) - first, k);
    } else if (take(f, "float")) {
        *f->status = c ? tc_graph_want_float(c, k) : TC_OK;
    } else if (take(f, "byte")) {
        const tc_graph_value *v = c ? tc_graph_in(c, k) : NULL;
        if (v && v->dtype != TC_U8 && v->dtype != TC_I8)
            *f->status =
                tc_graph_node_fail(c, "input %d ('%s') must be u8 or i8, but is %s", k, v->name, tc_dtype_name(v->dtype));
    } else {
        mistake(f, "float, byte or like is expected");
    }
}

/* (x: float, weight?: like x, rest...) */
static void bind_inputs(frame *f, const term *arg, int n, bool of_node) {
    int first = f->nlocals, k = 0;
    want(f, "(");
    for (bool more = !take(f, ")"); more && *f->status == TC_OK; k++) {
        word w = take_word(f);
        bool optional = take(f, "?");
        if (take(f, "...")) {
            set(f, w, f->live ? list_of(f, arg + k, TC_MAX(n - k, 0)) : nothing);
            n = k;
        } else {
            set(f, w, k < n ? arg[k] : nothing);
            if (f->live && !optional && of_node)
                *f->status = tc_graph_want_input(f->e->c, k);
            else if (f->live && !optional && k >= n)
                mistake(f, "argument %d is missing", k);
        }
        if (*f->status == TC_OK && take(f, ":"))
            want_type(f, k, first);
        more = take(f, ",");
        if (!more)
            want(f, ")");
    }
    if (n > k)
        mistake(f, "there are %d arguments too many", n - k);
}

static void bind_outputs(frame *f) {
    want(f, "(");
    for (bool more = !take(f, ")"); more && *f->status == TC_OK;) {
        word w = take_word(f);
        take(f, "?");
        if (f->nout == MAX_OUT)
            mistake(f, "there are more than %d outputs", MAX_OUT);
        else
            f->out[f->nout++] = w;
        more = take(f, ",");
        if (!more)
            want(f, ")");
    }
}

/* The whole text, of inputs or arguments. */
static void read_text(frame *f, const term *arg, int n) {
    f->inside = true;
    f->wanted = 1;
    bool is_operator = take(f, "op");
    if (!is_operator)
        want(f, "def");
    take_word(f);
    if (is_operator) {
        number(f);
        if (take(f, "sizes"))
            take_word(f);
        if (take(f, "<"))
            bind_attributes(f);
    }
    f->inside = true;
    bind_inputs(f, arg, n, is_operator);
    want(f, "=>");
    bind_outputs(f);
    want(f, "{");
    block(f);
    for (int k = 0; k < f->nout && *f->status == TC_OK; k++)
        if (find(f, f->out[k]))
            continue;
        else if (k == 0)
            mistake(f, "output '%.*s' is never set", (int)f->out[k].len, f->out[k].s);
        else
            set(f, f->out[k], nothing);
}

tc_status tc_graph_infer_expansion(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    const char *op = tc_graph_op_name(c->n->op);
    const tc_graph_expansion *x = find_text((word){op, strlen(op)});
    term *in = TC_NEW_N(c->g->arena, term, c->n->nin + 1);
    for (int k = 0; k < c->n->nin; k++)
        in[k] = tc_graph_term_value(c->n->in[k]);
    frame *f = TC_NEW(c->g->arena, frame);
    *f = (frame){.e = &e, .x = x, .at = x->text, .live = true, .status = &e.status, .err = c->err};
    read_text(f, in, c->n->nin);
    for (int k = 1; k < f->nout && e.status == TC_OK; k++) {
        const term *v = find(f, f->out[k]);
        if (v->kind == TC_GRAPH_VALUE)
            tc_graph_em_output(&e, k, v->v);
    }
    TC_TRY(e.status);
    return tc_graph_em_finish(&e, find(f, f->out[0])->v);
}

tc_status tc_graph_expansion_check(const tc_graph_expansion *x, tc_error *err) {
    tc_status s = TC_OK;
    frame f = {.x = x, .at = x->text, .status = &s, .err = err};
    read_text(&f, NULL, 0);
    return s;
}
