/* Reads definitions of pointwise operators. A formula is read each time it is applied: the types of the operands and the attributes
 * decide what its literals and tests are. */
#include "graph/ops/formula.h"

#include <string.h>

#include "graph/ops/lower.h"

/* ---- up to the formula ---- */

static const tc_graph_types *find_types(const char *name) {
    static const tc_graph_types all[] = {
        {"float", "floating point", "f", true}, {"number", "of numbers", "iuf", true}, {"integer", "an integer", "iu", true},
        {"signed", "signed", "if", true},       {"bool", "bool", "b", true},           {"any", "of any type", "biuf", false}};
    for (size_t i = 0; i < TC_LEN(all); i++)
        if (strcmp(all[i].name, name) == 0)
            return &all[i];
    return NULL;
}

bool tc_graph_types_have(const tc_graph_types *types, tc_dtype t) {
    return strchr(types->classes, tc_dtype_class(t)) != NULL;
}

static tc_status read_operand(tc_lex *lex, const char *name, tc_graph_definition *d, tc_error *err) {
    bool has_types;
    if (d->nin == TC_GRAPH_MAX_OPERANDS)
        return tc_lex_fail(lex, err, "more than %d operands", TC_GRAPH_MAX_OPERANDS);
    d->in[d->nin].name = name;
    TC_TRY(tc_lex_accept(lex, ":", &has_types, err));
    if (!has_types)
        return d->nin++ ? TC_OK : tc_lex_fail(lex, err, "the first operand needs types: '%s: number'", name);
    d->in[d->nin].types = find_types(lex->tok.text);
    if (!d->in[d->nin++].types)
        return tc_lex_fail(lex, err, "'%s' is no class of types", lex->tok.text);
    return tc_lex_next(lex, err);
}

int tc_graph_find_word(const tc_graph_parameter *p, const char *word) {
    int k = p->nwords - 1;
    while (k >= 0 && strcmp(p->word[k], word) != 0)
        k--;
    return k;
}

static tc_status read_words(tc_lex *lex, tc_graph_parameter *p, tc_error *err) {
    for (bool more = true; more;) {
        if (p->nwords == TC_GRAPH_MAX_WORDS)
            return tc_lex_fail(lex, err, "more than %d words", TC_GRAPH_MAX_WORDS);
        TC_TRY(tc_lex_ident(lex, &p->word[p->nwords++], "a word", err));
        TC_TRY(tc_lex_accept(lex, "|", &more, err));
    }
    return TC_OK;
}

/* Floats are f32, as in models. */
static tc_status read_default(tc_lex *lex, tc_graph_parameter *p, tc_error *err) {
    bool is_int = tc_graph_attr_kind_of(p->id) == TC_GRAPH_ATTR_INT;
    if (lex->tok.kind != (is_int ? TC_TOK_INT : TC_TOK_FLOAT))
        return tc_lex_fail(lex, err, "expected a number %s a point, found '%s'", is_int ? "without" : "with", lex->tok.text);
    p->otherwise = (double)(float)lex->tok.f;
    return tc_lex_next(lex, err);
}

static tc_status read_attribute(tc_lex *lex, const char *name, tc_graph_attr_id id, tc_graph_definition *d, tc_error *err) {
    bool is_string = tc_graph_attr_kind_of(id) == TC_GRAPH_ATTR_STRING;
    if (d->nattrs == TC_GRAPH_MAX_PARAMETERS)
        return tc_lex_fail(lex, err, "more than %d attributes", TC_GRAPH_MAX_PARAMETERS);
    tc_graph_parameter *p = &d->attr[d->nattrs++];
    *p = (tc_graph_parameter){.name = name, .id = id, .required = is_string && tc_lex_is(lex, ":")};
    TC_TRY(tc_lex_expect(lex, p->required ? ":" : "=", err));
    return is_string ? read_words(lex, p, err) : read_default(lex, p, err);
}

static tc_status read_parameters(tc_lex *lex, tc_graph_op op, tc_graph_definition *d, tc_error *err) {
    TC_TRY(tc_lex_expect(lex, "(", err));
    for (bool more = true; more;) {
        const char *name;
        tc_graph_attr_id id;
        TC_TRY(tc_lex_ident(lex, &name, "the name of an operand or an attribute", err));
        TC_TRY(tc_graph_attr_allowed(op, name, &id) ? read_attribute(lex, name, id, d, err) : read_operand(lex, name, d, err));
        TC_TRY(tc_lex_accept(lex, ",", &more, err));
    }
    return tc_lex_expect(lex, ")", err);
}

static tc_status read_result(tc_lex *lex, tc_graph_definition *d, tc_error *err) {
    bool is_said;
    TC_TRY(tc_lex_accept(lex, "->", &is_said, err));
    if (!is_said)
        return TC_OK;
    d->result = tc_lex_is(lex, "bool") ? -1 : d->nin - 1;
    while (d->result >= 0 && !tc_lex_is(lex, d->in[d->result].name))
        if (d->result-- == 0)
            return tc_lex_fail(lex, err, "expected bool or an operand, found '%s'", lex->tok.text);
    return tc_lex_next(lex, err);
}

tc_status tc_graph_read_definition(tc_arena *a, tc_graph_op op, const char *text, tc_graph_definition *d, tc_error *err) {
    tc_lex *lex = &d->lexer;
    *d = (tc_graph_definition){0};
    TC_TRY(tc_lex_open(lex, a, tc_graph_op_name(op), text, false, err));
    TC_TRY(read_parameters(lex, op, d, err));
    TC_TRY(read_result(lex, d, err));
    return lex->tok.kind == TC_TOK_EOF ? TC_OK : tc_lex_expect(lex, ":", err);
}

/* ---- the formula ---- */

enum { MAX_NAMES = 8 };

typedef struct formula {
    const tc_graph_definition *d;
    const tc_graph_node *n;
    tc_dtype t; /* of the first operand */
    int nnames; /* operands, then what the formula names */
    struct {
        const char *name;
        const tc_expr *is;
    } names[MAX_NAMES];
} formula;

static const tc_graph_parameter *parameter(const formula *f, const char *name) {
    for (int k = 0; k < f->d->nattrs; k++)
        if (strcmp(f->d->attr[k].name, name) == 0)
            return &f->d->attr[k];
    return NULL;
}

static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    const formula *f = user;
    (void)nidx;
    for (int k = f->nnames - 1; k >= 0 && !idx; k--)
        if (strcmp(f->names[k].name, name) == 0)
            return f->names[k].is;
    return NULL;
}

static bool number(void *user, const char *name, tc_te_literal *out) {
    const formula *f = user;
    const tc_graph_parameter *p = parameter(f, name);
    int width = 8 * tc_dtype_bytes(f->t);
    if (strcmp(name, "bits") == 0) {
        *out = (tc_te_literal){.i = width};
    } else if (strcmp(name, "ones") == 0) {
        bool is_signed = tc_dtype_is_signed(f->t) || width == 64;
        *out = (tc_te_literal){.i = is_signed ? -1 : ((int64_t)1 << width) - 1};
    } else if (p && tc_graph_attr_kind_of(p->id) == TC_GRAPH_ATTR_INT) {
        *out = (tc_te_literal){.i = tc_graph_attr_int(f->n, p->id, (int64_t)p->otherwise)};
    } else if (p && tc_graph_attr_kind_of(p->id) == TC_GRAPH_ATTR_FLOAT) {
        *out = (tc_te_literal){.real = true, .f = tc_graph_attr_float(f->n, p->id, p->otherwise)};
    } else {
        return false;
    }
    return true;
}

/* if TEST : */
static tc_status read_test(const formula *f, tc_lex *lex, bool *holds, tc_error *err) {
    const char *name, *word;
    tc_te_literal v;
    TC_TRY(tc_lex_next(lex, err));
    TC_TRY(tc_lex_ident(lex, &name, "a test", err));
    const tc_graph_types *types = find_types(name);
    const tc_graph_parameter *p = parameter(f, name);
    if (types) {
        *holds = tc_graph_types_have(types, f->t);
    } else if (p && p->nwords) {
        TC_TRY(tc_lex_expect(lex, "is", err));
        TC_TRY(tc_lex_ident(lex, &word, "a word", err));
        if (tc_graph_find_word(p, word) < 0)
            return tc_lex_fail(lex, err, "'%s' is never '%s'", name, word);
        *holds = strcmp(tc_graph_attr_str(f->n, p->id, p->word[0]), word) == 0;
    } else if (p && number((void *)(uintptr_t)f, name, &v) && !v.real) {
        *holds = v.i != 0;
    } else {
        return tc_lex_fail(lex, err, "'%s' is no test: neither a class of types nor an integer or string attribute", name);
    }
    return tc_lex_expect(lex, ":", err);
}

/* NAME = , and not NAME == */
static bool is_naming(const tc_lex *lex) {
    const char *next = lex->p + strspn(lex->p, " ");
    return lex->tok.kind == TC_TOK_IDENT && next[0] == '=' && next[1] != '=';
}

/* One statement. *result is set if the statement gives it. */
static tc_status read_statement(tc_ctx *c, formula *f, tc_lex *lex, const tc_expr **result, tc_error *err) {
    static const tc_te_function functions[] = {{"divided", tc_graph_divided}, {NULL, NULL}};
    const tc_te_scope scope = {.dialect = TC_DIALECT_TE, .resolve = resolve, .number = number, .functions = functions, .user = f};
    bool holds = true, has_test = tc_lex_is(lex, "if");
    if (has_test)
        TC_TRY(read_test(f, lex, &holds, err));
    while (!holds && lex->tok.kind != TC_TOK_EOF && !tc_lex_is(lex, ";"))
        TC_TRY(tc_lex_next(lex, err));
    bool names = holds && is_naming(lex);
    if (names) {
        if (f->nnames == MAX_NAMES)
            return tc_lex_fail(lex, err, "more than %d names", MAX_NAMES);
        f->names[f->nnames].name = lex->tok.text;
        TC_TRY(tc_lex_next(lex, err));
        TC_TRY(tc_lex_next(lex, err));
    }
    if (holds)
        TC_TRY(tc_te_parse_expr(c, lex, &scope, names ? &f->names[f->nnames].is : result, err));
    f->nnames += names;
    if (names || has_test)
        return tc_lex_expect(lex, ";", err);
    return lex->tok.kind == TC_TOK_EOF ? TC_OK : tc_lex_fail(lex, err, "expected the end of the text, found '%s'", lex->tok.text);
}

tc_status tc_graph_apply_formula(tc_ctx *c, const tc_graph_definition *d, const tc_graph_node *n, const tc_expr *const *x,
                                 const tc_expr **out, tc_error *err) {
    formula f = {.d = d, .n = n, .t = x[0]->dtype, .nnames = d->nin};
    tc_lex lex = d->lexer;
    for (int k = 0; k < d->nin; k++) {
        f.names[k].name = d->in[k].name;
        f.names[k].is = x[k];
    }
    for (*out = NULL; !*out;)
        TC_TRY(read_statement(c, &f, &lex, out, err));
    return TC_OK;
}
