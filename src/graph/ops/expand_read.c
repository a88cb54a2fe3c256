/* Reads the texts of expansions.txt, which states the language. Names of a text become numbers, and names of operators, functions,
 * attributes and types what they are: all mistakes that a text can have without a node are found here. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/ops/expand_syntax.h"
#include "support/numbers.h"

enum { MAX_LOCALS = 96 };

typedef tc_graph_term term;
typedef tc_graph_syntax syntax;

typedef struct word {
    const char *s;
    size_t len;
} word;

typedef struct reader {
    tc_arena *arena;
    const char *at;
    bool inside; /* of brackets, where a new line ends no statement */
    word name[MAX_LOCALS], out[TC_GRAPH_MAX_RESULTS];
    tc_graph_text *t;
    tc_status status;
    tc_error *err;
} reader;

/* ---- parts ---- */

static syntax *made(reader *r, tc_graph_syntax_kind kind, const char *at) {
    syntax *s = TC_NEW(r->arena, syntax);
    s->kind = kind;
    s->at = at;
    return s;
}

static syntax *with_parts(reader *r, syntax *s, const syntax *const *part, int n) {
    s->part = n ? tc_arena_dup(r->arena, part, (size_t)n * sizeof *part) : NULL;
    s->n = n;
    return s;
}

static syntax *of_term(reader *r, const char *at, term v) {
    syntax *s = made(r, TC_GRAPH_SYNTAX_TERM, at);
    s->term = v;
    return s;
}

static syntax *of_number(reader *r, tc_graph_syntax_kind kind, const char *at, int i) {
    syntax *s = made(r, kind, at);
    s->i = i;
    return s;
}

/* The first mistake stays, and reading ends. */
static syntax *mistake(reader *r, const char *fmt, ...) TC_PRINTF(2, 3);
static syntax *mistake(reader *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (r->status == TC_OK)
        r->status = tc_graph_text_fail(r->t->x, r->at, r->err, fmt, ap);
    va_end(ap);
    r->at = "";
    return made(r, TC_GRAPH_SYNTAX_TERM, r->at);
}

/* ---- words ---- */

static void skip_space(reader *r) {
    while (*r->at == ' ' || *r->at == '#' || (r->inside && *r->at == '\n'))
        if (*r->at++ == '#')
            r->at += strcspn(r->at, "\n");
}

static void skip_lines(reader *r) {
    bool was = r->inside;
    r->inside = true;
    skip_space(r);
    r->inside = was;
}

/* Goes past s where it comes next. */
static bool take(reader *r, const char *s) {
    skip_space(r);
    if (*r->at != *s)
        return false;
    size_t len = strlen(s);
    if (strncmp(r->at, s, len) != 0 || (isalpha((unsigned char)*s) && (isalnum((unsigned char)r->at[len]) || r->at[len] == '_')))
        return false;
    r->at += len;
    return true;
}

static void want(reader *r, const char *s) {
    if (!take(r, s))
        mistake(r, "'%s' is expected", s);
}

static word take_word(reader *r) {
    skip_space(r);
    word w = {r->at, 0};
    while (isalnum((unsigned char)w.s[w.len]) || w.s[w.len] == '_' ||
           (w.s[w.len] == '.' && isalpha((unsigned char)w.s[w.len + 1])))
        w.len++;
    if (w.len == 0 || isdigit((unsigned char)*w.s)) {
        mistake(r, "a name is expected");
        return (word){"", 0};
    }
    r->at += w.len;
    return w;
}

static bool is(word w, const char *s) {
    return strncmp(w.s, s, w.len) == 0 && s[w.len] == 0;
}

static bool are_same(word a, word b) {
    return a.len == b.len && memcmp(a.s, b.s, a.len) == 0;
}

/* The word as a string of its own, in `out`. */
static const char *text_in(char *out, word w) {
    memcpy(out, w.s, w.len);
    out[w.len] = 0;
    return out;
}

/* The number of the name; -1: there is none. */
static int find(const reader *r, word w) {
    int i = r->t->nlocals - 1;
    while (i >= 0 && !are_same(r->name[i], w))
        i--;
    return i;
}

/* The same; from now on there is one. */
static int name_of(reader *r, word w) {
    int i = find(r, w);
    if (i >= 0)
        return i;
    if (r->t->nlocals == MAX_LOCALS) {
        mistake(r, "there are more than %d names", MAX_LOCALS);
        return 0;
    }
    r->name[r->t->nlocals] = w;
    return r->t->nlocals++;
}

/* ---- calls ---- */

static syntax *expression(reader *r);
static syntax *chain(reader *r, tc_graph_binds least);

/* Expressions up to a bracket, behind one that is taken already, become the parts of s. */
static syntax *take_parts(reader *r, const char *end, syntax *s) {
    const syntax *part[TC_GRAPH_MAX_PARTS];
    bool was = r->inside;
    int n = 0;
    r->inside = true;
    if (!take(r, end)) {
        do {
            if (n == TC_GRAPH_MAX_PARTS)
                mistake(r, "there are more than %d of them", TC_GRAPH_MAX_PARTS);
            else
                part[n++] = expression(r);
        } while (take(r, ","));
        want(r, end);
    }
    r->inside = was;
    return with_parts(r, s, part, n);
}

static tc_graph_attr_id take_attribute(reader *r, word *w) {
    tc_graph_attr_id id = TC_ATTR_none;
    *w = take_word(r);
    if (r->status == TC_OK && !tc_graph_attr_by_word(w->s, w->len, &id)) {
        r->at = w->s;
        mistake(r, "there is no attribute '%.*s'", (int)w->len, w->s);
    }
    return id;
}

static const tc_graph_syntax_attributes *take_attributes(reader *r) {
    tc_graph_syntax_attributes *a = TC_NEW(r->arena, tc_graph_syntax_attributes);
    bool was = r->inside;
    r->inside = true;
    do {
        word w;
        if (take(r, "window")) {
            a->window = true;
            continue;
        }
        tc_graph_attr_id id = take_attribute(r, &w);
        int own = find(r, w);
        bool given = take(r, "=");
        if (a->n == TC_GRAPH_MAX_ATTRS || (!given && own < 0)) {
            mistake(r, a->n == TC_GRAPH_MAX_ATTRS ? "there are too many attributes" : "'=' is expected");
            break;
        }
        a->id[a->n] = id;
        a->v[a->n++] = given ? chain(r, TC_GRAPH_SUM) : of_number(r, TC_GRAPH_SYNTAX_LOCAL, w.s, own);
    } while (take(r, ","));
    want(r, ">");
    r->inside = was;
    return a;
}

/* asked(mean): somebody reads this output. */
static syntax *asked(reader *r) {
    const char *at = r->at;
    int k = 0;
    want(r, "(");
    word w = take_word(r);
    want(r, ")");
    while (k < r->t->nout && !are_same(r->out[k], w))
        k++;
    return k < r->t->nout ? of_number(r, TC_GRAPH_SYNTAX_ASKED, at, k) : mistake(r, "'%.*s' is no output", (int)w.len, w.s);
}

/* Of a function of the language. */
static syntax *call_function(reader *r, syntax *s, const tc_graph_expansion_call *call) {
    size_t least = strcspn(call->takes, "|"), most = strlen(call->takes) - (call->takes[least] == '|');
    s->kind = TC_GRAPH_SYNTAX_FUNCTION;
    s->function = call;
    if ((size_t)s->n < least || (size_t)s->n > most)
        return mistake(r, "%s takes %zu arguments, not %d", call->name, least, s->n);
    return s;
}

static syntax *call(reader *r, word w) {
    bool is_operator = isupper((unsigned char)*w.s);
    char copy[64] = "";
    if (is(w, "asked"))
        return asked(r);
    const tc_graph_syntax_attributes *a = is_operator && take(r, "<") ? take_attributes(r) : NULL;
    want(r, "(");
    syntax *s = take_parts(r, ")", made(r, TC_GRAPH_SYNTAX_OPERATOR, w.s));
    const tc_graph_expansion_call *own = a ? NULL : tc_graph_expansion_call_of(w.s, w.len);
    if (r->status != TC_OK)
        return s;
    if (own)
        return call_function(r, s, own);
    s->i = is_operator ? 1 : tc_graph_text_find(w.s, w.len);
    if (!is_operator && s->i >= 0) {
        s->kind = TC_GRAPH_SYNTAX_TEXT;
    } else if (is(w, "Node")) {
        s->op = TC_GRAPH_OP_COUNT;
    } else if (!is_operator || w.len >= sizeof copy || !tc_graph_op_find(text_in(copy, w), &s->op)) {
        r->at = w.s;
        return mistake(r, "there is no %s '%.*s'", is_operator ? "operator" : "function", (int)w.len, w.s);
    }
    s->attributes = is_operator ? a : NULL;
    return s;
}

/* scan step(count, backward, [state, ..], more, ..), behind the first word */
static syntax *scan(reader *r) {
    word w = take_word(r);
    syntax *s = call(r, w);
    if (r->status == TC_OK && (s->kind != TC_GRAPH_SYNTAX_TEXT || s->n < 3)) {
        r->at = w.s;
        return mistake(r, "a function with a number of steps, a direction and a list of states is expected");
    }
    s->kind = TC_GRAPH_SYNTAX_SCAN;
    return s;
}

/* ---- expressions ---- */

static syntax *number(reader *r) {
    const char *at = r->at;
    char *end;
    size_t digits = strspn(at, "0123456789");
    if (at[digits] != '.' && at[digits] != 'e') {
        int64_t i = strtoll(at, &end, 10);
        r->at = end;
        return of_term(r, at, tc_graph_term_int(i));
    }
    double v = tc_strtod(at, &end);
    r->at = end + (*end == 'f');
    return of_term(r, at, tc_graph_term_float(*end == 'f' ? (double)(float)v : v));
}

/* "... {expression} ..." */
static syntax *text(reader *r) {
    const syntax *part[TC_GRAPH_MAX_PARTS];
    const char *at = r->at;
    int n = 0;
    want(r, "\"");
    while (r->status == TC_OK && *r->at != '"') {
        size_t plain = strcspn(r->at, "\"{\n");
        if (n + 2 > TC_GRAPH_MAX_PARTS)
            return mistake(r, "the message has too many parts");
        part[n++] = of_term(r, r->at, tc_graph_term_text(tc_arena_strndup(r->arena, r->at, plain)));
        r->at += plain;
        if (take(r, "{")) {
            part[n++] = expression(r);
            want(r, "}");
        } else if (*r->at != '"') {
            mistake(r, "'\"' is expected");
        }
    }
    want(r, "\"");
    return n == 1 ? of_term(r, at, part[0]->term) : with_parts(r, made(r, TC_GRAPH_SYNTAX_MESSAGE, at), part, n);
}

static syntax *name(reader *r) {
    char copy[16];
    word w = take_word(r);
    int own = find(r, w);
    tc_dtype t;
    if (is(w, "scan") && *r->at == ' ')
        return scan(r);
    if (*r->at == '(' || (*r->at == '<' && isupper((unsigned char)*w.s)))
        return call(r, w);
    if (own >= 0)
        return of_number(r, TC_GRAPH_SYNTAX_LOCAL, w.s, own);
    if (is(w, "none"))
        return of_term(r, w.s, (term){.kind = TC_GRAPH_NOTHING});
    if (is(w, "inf"))
        return of_term(r, w.s, tc_graph_term_float(INFINITY));
    if (is(w, "opset"))
        return made(r, TC_GRAPH_SYNTAX_OPSET, w.s);
    if (w.len < sizeof copy && tc_dtype_parse(text_in(copy, w), &t))
        return of_term(r, w.s, (term){.kind = TC_GRAPH_DTYPE, .dtype = t});
    r->at = w.len ? w.s : r->at;
    return mistake(r, "there is no name '%.*s'", (int)w.len, w.s);
}

static syntax *primary(reader *r) {
    bool was = r->inside;
    skip_space(r);
    if (isdigit((unsigned char)*r->at))
        return number(r);
    if (*r->at == '"')
        return text(r);
    if (take(r, "["))
        return take_parts(r, "]", made(r, TC_GRAPH_SYNTAX_LIST, r->at - 1));
    if (!take(r, "("))
        return name(r);
    r->inside = true;
    syntax *s = expression(r);
    want(r, ")");
    r->inside = was;
    return s;
}

/* list[1], list[-1], list[2:], list[:-1], behind the bracket */
static syntax *element(reader *r, syntax *list) {
    const syntax *part[] = {list, NULL, NULL};
    bool was = r->inside;
    const char *at = r->at;
    r->inside = true;
    bool range = take(r, ":");
    if (!range) {
        part[1] = expression(r);
        range = take(r, ":");
    }
    if (!range || !take(r, "]")) {
        if (range)
            part[2] = expression(r);
        want(r, "]");
    }
    r->inside = was;
    return with_parts(r, made(r, range ? TC_GRAPH_SYNTAX_RANGE : TC_GRAPH_SYNTAX_ELEMENT, at), part, range ? 3 : 2);
}

static syntax *unary(reader *r) {
    const syntax *part;
    const char *at = r->at;
    bool minus = take(r, "-");
    if (minus || take(r, "not")) {
        part = unary(r);
        return with_parts(r, made(r, minus ? TC_GRAPH_SYNTAX_MINUS : TC_GRAPH_SYNTAX_NOT, at), &part, 1);
    }
    syntax *s = primary(r);
    while (*r->at == '[') {
        r->at++;
        s = element(r, s);
    }
    return s;
}

/* What stands between two expressions. */
static const tc_graph_sign signs[] = {
    {"or", TC_GRAPH_ANY, 0},
    {"and", TC_GRAPH_ALL, 0},
    {"==", TC_GRAPH_COMPARED, 0},
    {"!=", TC_GRAPH_COMPARED, 0},
    {"<=", TC_GRAPH_COMPARED, 0},
    {">=", TC_GRAPH_COMPARED, 0},
    {"<", TC_GRAPH_COMPARED, 0},
    {">", TC_GRAPH_COMPARED, 0},
    {"+", TC_GRAPH_SUM, TC_GRAPH_OP_ADD},
    {"-", TC_GRAPH_SUM, TC_GRAPH_OP_SUB},
    {"*", TC_GRAPH_PRODUCT, TC_GRAPH_OP_MUL},
    {"/", TC_GRAPH_PRODUCT, TC_GRAPH_OP_DIV},
    {"%", TC_GRAPH_PRODUCT, TC_GRAPH_OP_MOD},
};

static const tc_graph_sign *take_sign(reader *r, tc_graph_binds least) {
    skip_space(r);
    for (size_t i = 0; i < TC_LEN(signs); i++)
        if (*r->at == *signs[i].text && signs[i].binds >= least && take(r, signs[i].text))
            return &signs[i];
    return NULL;
}

/* Expressions with signs between them that bind at least so firmly. */
static syntax *chain(reader *r, tc_graph_binds least) {
    syntax *a = unary(r);
    const char *at = r->at;
    for (const tc_graph_sign *sign; (sign = take_sign(r, least)); at = r->at) {
        const syntax *part[] = {a, chain(r, sign->binds + 1)};
        a = with_parts(r, made(r, TC_GRAPH_SYNTAX_SIGN, at), part, 2);
        a->sign = sign;
    }
    return a;
}

static syntax *expression(reader *r) {
    const syntax *part[3];
    const char *at = r->at;
    syntax *condition = chain(r, TC_GRAPH_ANY);
    if (!take(r, "?"))
        return condition;
    part[0] = condition;
    part[1] = expression(r);
    want(r, ":");
    part[2] = expression(r);
    return with_parts(r, made(r, TC_GRAPH_SYNTAX_CHOICE, at), part, 3);
}

/* ---- statements ---- */

/* expect condition : "message" */
static syntax *expectation(reader *r, tc_error_code code) {
    const syntax *part[2];
    syntax *s = made(r, TC_GRAPH_SYNTAX_EXPECT, r->at);
    s->code = code;
    part[0] = chain(r, TC_GRAPH_ANY);
    want(r, ":");
    skip_lines(r);
    part[1] = text(r);
    return with_parts(r, s, part, 2);
}

static syntax *block(reader *r);

/* if condition { .. } else if condition { .. } else { .. } */
static syntax *conditional(reader *r) {
    const syntax *part[3] = {NULL};
    syntax *s = made(r, TC_GRAPH_SYNTAX_CHOICE, r->at);
    part[0] = expression(r);
    part[1] = block(r);
    if (take(r, "else"))
        part[2] = take(r, "if") ? conditional(r) : block(r);
    return with_parts(r, s, part, 3);
}

/* for x in list { .. } */
static syntax *loop(reader *r) {
    const syntax *part[2];
    syntax *s = made(r, TC_GRAPH_SYNTAX_EACH, r->at);
    word w = take_word(r);
    want(r, "in");
    part[0] = expression(r);
    s->i = name_of(r, w);
    part[1] = block(r);
    return with_parts(r, s, part, 2);
}

/* y = .., a, b = .. */
static syntax *assignment(reader *r) {
    word w[TC_GRAPH_MAX_RESULTS];
    syntax *s = made(r, TC_GRAPH_SYNTAX_SET, r->at);
    int n = 0;
    do {
        word next = take_word(r);
        if (n == TC_GRAPH_MAX_RESULTS)
            mistake(r, "there are more than %d names", TC_GRAPH_MAX_RESULTS);
        else
            w[n++] = next;
    } while (take(r, ","));
    want(r, "=");
    syntax *v = expression(r);
    if (n > 1 && v->kind == TC_GRAPH_SYNTAX_OPERATOR)
        v->i = n;
    int *set = TC_NEW_N(r->arena, int, n);
    for (int k = 0; k < n; k++)
        set[k] = name_of(r, w[k]);
    s->set = set;
    s->nset = n;
    return with_parts(r, s, (const syntax *[]){v}, 1);
}

static bool is_assignment(const reader *r) {
    const char *s = r->at;
    while (isalnum((unsigned char)*s) || *s == '_' || *s == ',' || *s == ' ')
        s++;
    return s[0] == '=' && s[1] != '=';
}

static syntax *statement(reader *r) {
    if (take(r, "if"))
        return conditional(r);
    if (take(r, "for"))
        return loop(r);
    if (take(r, "expect"))
        return expectation(r, TC_ERROR_PLAIN);
    if (take(r, "support"))
        return expectation(r, TC_ERROR_UNSUPPORTED);
    if (take(r, "decide"))
        return expectation(r, TC_ERROR_DATA_DEPENDENT);
    return is_assignment(r) ? assignment(r) : expression(r);
}

/* { .. }, a statement in each line */
static syntax *block(reader *r) {
    TC_VEC(const syntax *) all = {0};
    bool was = r->inside;
    syntax *s = made(r, TC_GRAPH_SYNTAX_BLOCK, r->at);
    want(r, "{");
    r->inside = false;
    for (skip_lines(r); r->status == TC_OK && !take(r, "}"); skip_lines(r)) {
        tc_push(&all, statement(r));
        skip_space(r);
        if (*r->at != '\n' && *r->at != '}')
            mistake(r, "the end of the line is expected");
    }
    r->inside = was;
    with_parts(r, s, all.data, (int)all.len);
    tc_vec_free(&all);
    return s;
}

/* ---- texts ---- */

/* <axis = -1, epsilon>: what a model may say; names of values. */
static void read_attributes(reader *r) {
    do {
        word w;
        tc_graph_attr_id id = take_attribute(r, &w);
        if (r->t->nattrs == TC_GRAPH_MAX_ATTRS) {
            mistake(r, "there are too many attributes");
            return;
        }
        r->t->attr[r->t->nattrs].id = id;
        r->t->attr[r->t->nattrs++].otherwise = take(r, "=") ? chain(r, TC_GRAPH_SUM) : NULL;
        name_of(r, w);
    } while (take(r, ","));
    want(r, ">");
}

static void read_type(reader *r, int k) {
    if (take(r, "like")) {
        int other = find(r, take_word(r)) - r->t->nattrs;
        if (other < 0)
            mistake(r, "there is no such input");
        r->t->in[k].type = TC_GRAPH_LIKE_TYPE;
        r->t->in[k].like = other;
    } else if (take(r, "float")) {
        r->t->in[k].type = TC_GRAPH_FLOAT_TYPE;
    } else if (take(r, "byte")) {
        r->t->in[k].type = TC_GRAPH_BYTE_TYPE;
    } else {
        mistake(r, "float, byte or like is expected");
    }
}

/* (x: float, weight?: like x, rest...) */
static void read_inputs(reader *r) {
    want(r, "(");
    for (bool more = !take(r, ")"); more && r->status == TC_OK;) {
        int k = r->t->nin;
        word w = take_word(r);
        if (k == TC_GRAPH_MAX_PARTS || find(r, w) >= 0) {
            mistake(r, k == TC_GRAPH_MAX_PARTS ? "there are too many inputs" : "two are called '%.*s'", (int)w.len, w.s);
            return;
        }
        name_of(r, w);
        r->t->in[k].optional = take(r, "?");
        r->t->in[k].rest = take(r, "...");
        r->t->nin++;
        if (take(r, ":"))
            read_type(r, k);
        more = take(r, ",");
        if (!more)
            want(r, ")");
    }
}

static void read_outputs(reader *r) {
    want(r, "(");
    for (bool more = !take(r, ")"); more && r->status == TC_OK;) {
        word w = take_word(r);
        if (!take(r, "?"))
            take(r, "...");
        if (r->t->nout == TC_GRAPH_MAX_RESULTS)
            mistake(r, "there are more than %d outputs", TC_GRAPH_MAX_RESULTS);
        else
            r->out[r->t->nout++] = w;
        more = take(r, ",");
        if (!more)
            want(r, ")");
    }
}

const tc_graph_text *tc_graph_text_read(tc_arena *a, const tc_graph_expansion *x, tc_status *status, tc_error *err) {
    tc_graph_text *t = TC_NEW(a, tc_graph_text);
    reader r = {.arena = a, .at = x->text, .inside = true, .t = t, .err = err};
    t->x = x;
    bool is_op = take(&r, "op");
    t->is_operator = is_op || take(&r, "sizes") || take(&r, "always");
    if (!t->is_operator)
        want(&r, "def");
    take_word(&r);
    if (is_op) {
        skip_space(&r);
        number(&r);
        take(&r, "numbers");
        if (take(&r, "sizes"))
            take_word(&r);
    }
    if (t->is_operator && take(&r, "<"))
        read_attributes(&r);
    read_inputs(&r);
    want(&r, "=>");
    read_outputs(&r);
    t->body = block(&r);
    for (int k = 0; k < t->nout && r.status == TC_OK; k++) {
        if (k == 0 && find(&r, r.out[k]) < 0)
            mistake(&r, "output '%.*s' is never set", (int)r.out[k].len, r.out[k].s);
        t->out[k] = name_of(&r, r.out[k]);
    }
    *status = r.status;
    return r.status == TC_OK ? t : NULL;
}
