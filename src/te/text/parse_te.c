/* Parses the `.te` form (text.h). A line holds one statement. A statement may use only names that are defined above it. */
#include "te/te_int.h"

#include <stdlib.h>

#include "support/guess.h"
#include "support/map.h"

/* Where a compute was defined, for what is only found out when the workload is whole. */
typedef struct definition {
    const tc_compute *op;
    int line, col;
} definition;

typedef struct declaration {
    const tc_var *symbol;
    int line, col;
} declaration;

typedef struct te_parser {
    tc_ctx *c;
    tc_lex lex;
    tc_error *err;
    const char *file;
    tc_map tensors; /* name -> tc_tensor */
    tc_map symbols; /* name -> tc_var */
    TC_VEC(const tc_tensor *) in, out;
    TC_VEC(definition) computes;
    TC_VEC(declaration) declared;
    /* the compute being parsed */
    int naxis, nraxis;
    tc_axis axes[TC_MAX_DIMS], raxes[TC_MAX_DIMS];
    const char *why;
    int64_t terms; /* that bodies may still have */
} te_parser;

/* ---- names ---- */

static const tc_var *find_axis(const te_parser *p, const char *name) {
    for (int i = 0; i < p->nraxis; i++)
        if (strcmp(p->raxes[i].var->name, name) == 0)
            return p->raxes[i].var;
    for (int i = 0; i < p->naxis; i++)
        if (strcmp(p->axes[i].var->name, name) == 0)
            return p->axes[i].var;
    return NULL;
}

static void guess_from(tc_guess *g, const tc_map *names) {
    for (size_t i = 0; i < names->len; i++)
        tc_guess_add(g, names->entries[i].str);
}

/* What stands behind "unknown name": tensors where there is an index; else axes and symbols. */
static const char *guess_name(const te_parser *p, const char *name, bool indexed, char text[TC_GUESS_TEXT]) {
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < p->naxis + p->nraxis && !indexed; i++)
        tc_guess_add(&g, (i < p->naxis ? p->axes[i] : p->raxes[i - p->naxis]).var->name);
    guess_from(&g, indexed ? &p->tensors : &p->symbols);
    return tc_guess_say(&g, "", NULL, text);
}

static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    te_parser *p = user;
    const tc_var *axis = find_axis(p, name);
    if (axis && !idx)
        return tc_varx(p->c, axis);
    const uintptr_t *symbol = tc_map_gets(&p->symbols, name);
    if (symbol && !idx)
        return tc_varx(p->c, (const tc_var *)*symbol);
    const uintptr_t *known = tc_map_gets(&p->tensors, name);
    if (!known) {
        char text[TC_GUESS_TEXT];
        if (axis || symbol)
            p->why = tc_arena_printf(tc_ctx_arena(p->c), "'%s' is %s, not a tensor; it cannot be indexed", name,
                                     axis ? "an axis" : "a symbol");
        else
            p->why = tc_arena_printf(tc_ctx_arena(p->c), "unknown name '%s'%s", name, guess_name(p, name, idx != NULL, text));
        return NULL;
    }
    const tc_tensor *t = (const tc_tensor *)*known;
    if (nidx != t->ndim) {
        p->why = tc_arena_printf(tc_ctx_arena(p->c), "%s has %d dimension%s, but %d %s given", name, t->ndim,
                                 t->ndim == 1 ? "" : "s", nidx, nidx == 1 ? "index is" : "indices are");
        return NULL;
    }
    return tc_read(p->c, t, nidx, idx);
}

static tc_status define(te_parser *p, const char *name, const tc_tensor *t, const tc_lex *at) {
    if (tc_map_gets(&p->symbols, name) || !tc_map_puts(&p->tensors, name, (uintptr_t)t))
        return tc_lex_fail(at, p->err, "%s is defined twice", name);
    if (tc_tensor_size(t) > TE_MAX_BYTES / tc_dtype_bytes(t->dtype))
        return tc_lex_fail(at, p->err, "%s has more elements than any machine can hold; check its extents", name);
    return TC_OK;
}

static tc_status parse_name(te_parser *p, const char **name, const char *what) {
    if (p->lex.tok.kind == TC_TOK_IDENT && te_reserved(p->lex.tok.text))
        return tc_lex_fail(&p->lex, p->err, "'%s' is a reserved word; choose another name", p->lex.tok.text);
    return tc_lex_ident(&p->lex, name, what, p->err);
}

/* ---- symbol ---- */

/* "did you mean ...?" where a symbol is close; else the hint. */
static const char *guess_symbol(const te_parser *p, const char *name, const char *hint, char text[TC_GUESS_TEXT]) {
    tc_guess g = tc_guess_new(name, strlen(name));
    guess_from(&g, &p->symbols);
    return g.nclose ? tc_guess_say(&g, "", NULL, text) : hint;
}

static const tc_expr *resolve_symbol(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    te_parser *p = user;
    char text[TC_GUESS_TEXT];
    (void)nidx;
    const uintptr_t *symbol = idx ? NULL : tc_map_gets(&p->symbols, name);
    if (!symbol)
        p->why = tc_arena_printf(tc_ctx_arena(p->c), "'%s' is not a symbol defined above%s", name,
                                 guess_symbol(p, name, "; a symbol is computed from symbols and integers only", text));
    return symbol ? tc_varx(p->c, (const tc_var *)*symbol) : NULL;
}

/* N 1..512 */
static tc_status parse_range(te_parser *p, const char *name, const tc_var **v) {
    int64_t least, most;
    tc_lex range_at = p->lex;
    TC_TRY(tc_lex_int(&p->lex, &least, "the least size, as in 1..512", p->err));
    TC_TRY(tc_lex_expect(&p->lex, "..", p->err));
    TC_TRY(tc_lex_int(&p->lex, &most, "the largest size, as in 1..512", p->err));
    if (least < 0 || most < TC_MAX(least, 1) || most > TC_MAX_SIZE)
        return tc_lex_fail(&range_at, p->err,
                           "expected a range FIRST..LAST with 0 <= FIRST <= LAST and 1 <= LAST <= %d, found %lld..%lld",
                           TC_MAX_SIZE, (long long)least, (long long)most);
    *v = tc_symbol_new(p->c, name, least, most);
    return TC_OK;
}

/* T = P + S */
static tc_status parse_definition(te_parser *p, const char *name, const tc_var **v) {
    tc_lex at = p->lex;
    const tc_expr *value;
    const tc_te_scope scope = {.dialect = TC_DIALECT_TE, .resolve = resolve_symbol, .user = p, .why = &p->why};
    TC_TRY(tc_te_parse_expr(p->c, &p->lex, &scope, &value, p->err));
    const char *why = tc_symbol_problem(value);
    if (why) {
        tc_status s = tc_lex_fail(&at, p->err, "this expression cannot define symbol %s: %s", name, why);
        return tc_symbol_is_too_large(value) ? tc_beyond(p->err, s) : s;
    }
    *v = tc_symbol_defined(p->c, name, value);
    return TC_OK;
}

/* symbol N 1..512, or symbol T = P + S */
static tc_status parse_symbol(te_parser *p) {
    const char *name;
    const tc_var *v = NULL;
    bool defined;
    tc_lex at = p->lex;
    TC_TRY(parse_name(p, &name, "the symbol's name"));
    TC_TRY(tc_lex_accept(&p->lex, "=", &defined, p->err));
    TC_TRY(defined ? parse_definition(p, name, &v) : parse_range(p, name, &v));
    if (tc_map_gets(&p->tensors, name) || !tc_map_puts(&p->symbols, name, (uintptr_t)v))
        return tc_lex_fail(&at, p->err, "%s is defined twice", name);
    tc_push(&p->declared, ((declaration){v, at.tok.line, at.tok.col}));
    return TC_OK;
}

/* ---- tensor ---- */

/* An integer, or a symbol, which is left in *symbol (else NULL). */
static tc_status parse_extent(te_parser *p, int64_t *out, const tc_var **symbol) {
    tc_lex at = p->lex;
    const char *name;
    *symbol = NULL;
    if (p->lex.tok.kind == TC_TOK_IDENT) {
        TC_TRY(tc_lex_ident(&p->lex, &name, "an extent", p->err));
        const uintptr_t *known = tc_map_gets(&p->symbols, name);
        if (!known) {
            char text[TC_GUESS_TEXT];
            const char *hint =
                tc_arena_printf(tc_ctx_arena(p->c), "; a size that varies needs a line such as `symbol %s 1..512` above", name);
            return tc_lex_fail(&at, p->err, "%s is not a symbol%s", name, guess_symbol(p, name, hint, text));
        }
        *symbol = (const tc_var *)*known;
        *out = (*symbol)->most;
        return TC_OK;
    }
    TC_TRY(tc_lex_int(&p->lex, out, "an extent (an integer of at least 1)", p->err));
    return *out >= 1 ? TC_OK : tc_lex_fail(&at, p->err, "an extent must be at least 1, not %lld", (long long)*out);
}

static tc_status parse_shape(te_parser *p, int *ndim, int64_t *shape, const tc_var **symbol) {
    bool more;
    *ndim = 0;
    TC_TRY(tc_lex_accept(&p->lex, "[", &more, p->err));
    if (!more)
        return TC_OK;
    TC_TRY(tc_lex_accept(&p->lex, "]", &more, p->err));
    for (more = !more; more;) {
        if (*ndim == TC_MAX_DIMS)
            return tc_lex_fail(&p->lex, p->err, "a tensor has at most %d dimensions", TC_MAX_DIMS);
        TC_TRY(parse_extent(p, &shape[*ndim], &symbol[*ndim]));
        ++*ndim;
        TC_TRY(tc_lex_accept(&p->lex, ",", &more, p->err));
        if (!more)
            return tc_lex_expect(&p->lex, "]", p->err);
    }
    return TC_OK;
}

static tc_status parse_tensor(te_parser *p) {
    const char *name, *type;
    int ndim;
    int64_t shape[TC_MAX_DIMS];
    const tc_var *symbol[TC_MAX_DIMS];
    tc_dtype t;
    bool is_const;
    tc_lex at = p->lex;
    TC_TRY(parse_name(p, &name, "the tensor's name"));
    TC_TRY(parse_shape(p, &ndim, shape, symbol));
    tc_lex type_at = p->lex;
    TC_TRY(tc_lex_ident(&p->lex, &type, "a dtype such as f32", p->err));
    if (!tc_dtype_parse(type, &t))
        return tc_lex_fail(&type_at, p->err,
                           "unknown dtype '%s'; known are bool, i8, u8, i16, u16, i32, u32, i64, u64, f16, bf16, f32, f64, "
                           "f8e4m3fn, f8e4m3fnuz, f8e5m2, f8e5m2fnuz, i4, u4, f4e2m1, f8e8m0",
                           type);
    TC_TRY(tc_lex_accept(&p->lex, "const", &is_const, p->err));
    const tc_tensor *x = tc_te_varying_placeholder(p->c, name, t, ndim, shape, symbol, is_const);
    tc_push(&p->in, x);
    return define(p, name, x, &at);
}

/* ---- compute ---- */

/* name:extent, ... up to the closing bracket, which is consumed. */
static tc_status parse_axes(te_parser *p, const char *close, tc_axis *axes, int *n) {
    bool more;
    TC_TRY(tc_lex_accept(&p->lex, close, &more, p->err));
    for (more = !more; more;) {
        const char *name;
        int64_t extent;
        const tc_var *symbol;
        if (*n == TC_MAX_DIMS)
            return tc_lex_fail(&p->lex, p->err, "a compute has at most %d axes and %d reduction axes", TC_MAX_DIMS, TC_MAX_DIMS);
        tc_lex at = p->lex;
        TC_TRY(parse_name(p, &name, "an axis, as name:extent"));
        if (find_axis(p, name))
            return tc_lex_fail(&at, p->err, "two axes of this compute are named %s", name);
        if (tc_map_gets(&p->symbols, name))
            return tc_lex_fail(&at, p->err, "%s is a symbol; choose another name for the axis", name);
        TC_TRY(tc_lex_expect(&p->lex, ":", p->err));
        TC_TRY(parse_extent(p, &extent, &symbol));
        axes[(*n)++] = symbol ? tc_te_varying_axis(p->c, name, symbol) : tc_te_axis(p->c, name, extent);
        TC_TRY(tc_lex_accept(&p->lex, ",", &more, p->err));
        if (!more)
            return tc_lex_expect(&p->lex, close, p->err);
    }
    return TC_OK;
}

/* A reducer is told from a function by the axis in its parentheses: max(k:64) against max(a, b). */
static tc_reducer find_reducer(const te_parser *p) {
    if (p->lex.tok.kind != TC_TOK_IDENT || !te_peek_is(&p->lex, "("))
        return TC_RED_NONE;
    tc_lex ahead = p->lex;
    tc_error ignored = {0};
    for (int i = 0; i < 2; i++)
        if (tc_lex_next(&ahead, &ignored) != TC_OK)
            return TC_RED_NONE;
    if (ahead.tok.kind != TC_TOK_IDENT || !te_peek_is(&ahead, ":"))
        return TC_RED_NONE;
    for (int r = TC_RED_NONE + 1; r < TC_NREDUCERS; r++)
        if (strcmp(tc_reducer_name((tc_reducer)r), p->lex.tok.text) == 0)
            return (tc_reducer)r;
    return TC_NREDUCERS;
}

static tc_status unknown_reducer(const te_parser *p) {
    tc_strbuf known = {0};
    for (int r = TC_RED_NONE + 1; r < TC_NREDUCERS; r++)
        tc_sb_printf(&known, "%s%s", known.len ? ", " : "", tc_reducer_name((tc_reducer)r));
    tc_status s = tc_lex_fail(&p->lex, p->err, "unknown reducer '%s'; known are %s", p->lex.tok.text, tc_sb_str(&known));
    tc_strbuf_free(&known);
    return s;
}

static tc_status parse_reducer(te_parser *p, tc_reducer *r) {
    *r = find_reducer(p);
    if (*r == TC_RED_NONE)
        return TC_OK;
    if (*r == TC_NREDUCERS)
        return unknown_reducer(p);
    TC_TRY(tc_lex_next(&p->lex, p->err));
    TC_TRY(tc_lex_next(&p->lex, p->err));
    return parse_axes(p, ")", p->raxes, &p->nraxis);
}

static tc_status parse_body(te_parser *p, int nout, const tc_expr **body) {
    if (nout > 1)
        TC_TRY(tc_lex_expect(&p->lex, "(", p->err));
    const tc_te_scope scope = {.dialect = TC_DIALECT_TE, .resolve = resolve, .user = p, .why = &p->why, .terms = &p->terms};
    for (int o = 0; o < nout; o++) {
        if (o)
            TC_TRY(tc_lex_expect(&p->lex, ",", p->err));
        TC_TRY(tc_te_parse_expr(p->c, &p->lex, &scope, &body[o], p->err));
    }
    return nout > 1 ? tc_lex_expect(&p->lex, ")", p->err) : TC_OK;
}

static tc_status check_body(te_parser *p, tc_reducer r, const tc_expr *const *body, const tc_lex *at) {
    tc_dtype t = body[0]->dtype;
    if (r != TC_RED_NONE && !te_reducer_chooses(r) && t == TC_BOOL)
        return tc_lex_fail(at, p->err, "%s over bool; cast it, e.g. i32(x)", tc_reducer_name(r));
    if (r != TC_RED_NONE && tc_dtype_is_stored(t))
        return tc_lex_fail(at, p->err, "%s over %s; cast it, e.g. f32(x)", tc_reducer_name(r), tc_dtype_name(t));
    if (te_reducer_of(r)->nout == 2 && !tc_dtype_is_int(body[1]->dtype))
        return tc_lex_fail(at, p->err, "%s reduces (value, index); the index must be an integer, not %s", tc_reducer_name(r),
                           tc_dtype_name(body[1]->dtype));
    return TC_OK;
}

static tc_status parse_compute_head(te_parser *p, const char **names, int *nout) {
    bool more = true;
    for (*nout = 0; more; ++*nout) {
        if (*nout == TC_MAX_OUTS)
            return tc_lex_fail(&p->lex, p->err, "a compute has at most %d outputs", TC_MAX_OUTS);
        TC_TRY(parse_name(p, &names[*nout], "the compute's name"));
        TC_TRY(tc_lex_accept(&p->lex, ",", &more, p->err));
    }
    TC_TRY(tc_lex_accept(&p->lex, "[", &more, p->err));
    return more ? parse_axes(p, "]", p->axes, &p->naxis) : TC_OK;
}

static tc_status parse_compute(te_parser *p) {
    const char *names[TC_MAX_OUTS];
    const tc_expr *body[TC_MAX_OUTS];
    int nout;
    tc_reducer r;
    tc_lex at = p->lex;
    p->naxis = p->nraxis = 0;
    TC_TRY(parse_compute_head(p, names, &nout));
    TC_TRY(tc_lex_expect(&p->lex, "=", p->err));
    tc_lex body_at = p->lex;
    TC_TRY(parse_reducer(p, &r));
    int want = te_reducer_of(r)->nout;
    if (nout != want)
        return tc_lex_fail(&at, p->err, "%s has %d output%s, but %d %s named",
                           r == TC_RED_NONE ? "a compute" : tc_reducer_name(r), want, want == 1 ? "" : "s (value and index)",
                           nout, nout == 1 ? "is" : "are");
    TC_TRY(parse_body(p, nout, body));
    TC_TRY(check_body(p, r, body, &body_at));
    const tc_compute *op = tc_te_compute(p->c, names[0], p->naxis, p->axes, r, p->nraxis, p->raxes, nout, body);
    tc_push(&p->computes, ((definition){op, at.tok.line, at.tok.col}));
    for (int o = 0; o < nout; o++) {
        te_name_output(op, o, names[o]);
        TC_TRY(define(p, names[o], op->out[o], &at));
    }
    return TC_OK;
}

/* ---- output, statements ---- */

static tc_status undefined_output(const te_parser *p, const tc_lex *at, const char *name) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (size_t i = 0; i < p->computes.len; i++)
        for (int o = 0; o < p->computes.data[i].op->nout; o++)
            tc_guess_add(&g, p->computes.data[i].op->out[o]->name);
    return tc_lex_fail(at, p->err, "output %s is not defined%s", name, tc_guess_say(&g, "", "a compute must produce it", text));
}

static tc_status parse_output(te_parser *p) {
    bool more = true;
    while (more) {
        const char *name;
        tc_lex at = p->lex;
        TC_TRY(tc_lex_ident(&p->lex, &name, "the name of an output", p->err));
        const uintptr_t *t = tc_map_gets(&p->tensors, name);
        if (!t)
            return undefined_output(p, &at, name);
        if (!((const tc_tensor *)*t)->op)
            return tc_lex_fail(&at, p->err, "output %s is an input; an output must be produced by a compute", name);
        for (size_t i = 0; i < p->out.len; i++)
            if (p->out.data[i] == (const tc_tensor *)*t)
                return tc_lex_fail(&at, p->err, "%s is listed as an output twice", name);
        tc_push(&p->out, (const tc_tensor *)*t);
        TC_TRY(tc_lex_accept(&p->lex, ",", &more, p->err));
    }
    return TC_OK;
}

static tc_status parse_statement(te_parser *p) {
    static const struct {
        const char *word;
        tc_status (*parse)(te_parser *p);
    } STATEMENTS[] = {{"symbol", parse_symbol}, {"tensor", parse_tensor}, {"compute", parse_compute}, {"output", parse_output}};
    for (size_t i = 0; i < TC_LEN(STATEMENTS); i++) {
        bool took;
        TC_TRY(tc_lex_accept(&p->lex, STATEMENTS[i].word, &took, p->err));
        if (took)
            return STATEMENTS[i].parse(p);
    }
    return tc_lex_fail(&p->lex, p->err, "expected a line that starts with symbol, tensor, compute or output, found '%s'",
                       p->lex.tok.text);
}

static tc_status parse_file(te_parser *p, const char *text) {
    TC_TRY(tc_input_check(TC_INPUT_TE, p->file, text, p->err));
    TC_TRY(tc_lex_open(&p->lex, tc_ctx_arena(p->c), p->file, text, true, p->err));
    while (p->lex.tok.kind != TC_TOK_EOF) {
        if (p->lex.tok.kind != TC_TOK_NEWLINE) {
            TC_TRY(parse_statement(p));
            if (p->lex.tok.kind != TC_TOK_NEWLINE && p->lex.tok.kind != TC_TOK_EOF)
                return tc_lex_fail(&p->lex, p->err, "expected the end of the line, found '%s'", p->lex.tok.text);
        }
        if (p->lex.tok.kind == TC_TOK_NEWLINE)
            TC_TRY(tc_lex_next(&p->lex, p->err));
    }
    if (!p->out.len)
        return tc_lex_fail(&p->lex, p->err, "the workload has no output; end it with a line such as `output Y`");
    return TC_OK;
}

/* A size that nothing has is a mistake, and the kernel would have no such argument. */
static tc_status check_declared(const te_parser *p, const tc_workload *w) {
    for (size_t i = 0; i < p->declared.len; i++) {
        const declaration *d = &p->declared.data[i];
        bool used = false;
        for (int k = 0; k < w->nsymbol; k++)
            used |= w->symbols[k] == d->symbol;
        for (int k = 0; k < w->ndefined; k++)
            used |= te_same_size(w->defined[k], d->symbol);
        if (!used)
            return tc_fail(p->err, TC_BAD_INPUT, "%s:%d:%d: no dimension has the size %s; use the symbol or remove it", p->file,
                           d->line, d->col, d->symbol->name);
    }
    return TC_OK;
}

static tc_status make_workload(te_parser *p, tc_workload **w) {
    const tc_compute *culprit = NULL;
    tc_status s = te_workload(p->c, (int)p->in.len, p->in.data, (int)p->out.len, p->out.data, w, &culprit, p->err);
    for (size_t i = 0; i < p->computes.len && s != TC_OK; i++)
        if (p->computes.data[i].op == culprit) {
            tc_error_prefix(p->err, "%s:%d:%d: ", p->file, p->computes.data[i].line, p->computes.data[i].col);
            return s;
        }
    if (s != TC_OK)
        tc_error_prefix(p->err, "%s: ", p->file);
    return s;
}

tc_status tc_te_parse(tc_ctx *c, const char *file, const char *text, const tc_workload **out, tc_error *err) {
    te_parser p = {.c = c, .file = file, .err = err, .terms = TC_MAX_TREE};
    tc_workload *w = NULL;
    tc_status s = parse_file(&p, text);
    if (s == TC_OK)
        s = make_workload(&p, &w);
    if (s == TC_OK)
        s = check_declared(&p, w);
    if (s == TC_OK)
        *out = w;
    tc_map_free(&p.tensors);
    tc_map_free(&p.symbols);
    tc_vec_free(&p.declared);
    tc_vec_free(&p.in);
    tc_vec_free(&p.out);
    tc_vec_free(&p.computes);
    return s;
}
