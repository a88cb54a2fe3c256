/* Reads the text form of TIR that print.c writes; print.c has the grammar. All checks happen before a constructor is called. So
 * a wrong file gives a message with line and column, never an assertion. The text does not contain the workload: f->workload is
 * NULL. */
#include <string.h>

#include "support/inputs.h"
#include "support/lex.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/text/text.h"
#include "tir_lower/tir.h"

typedef struct parser {
    tc_ctx *c;
    tc_lex l;
    tc_error *err;
    TC_VEC(const tc_var *) vars;       /* in scope */
    TC_VEC(const tc_buffer *) buffers; /* all declared so far; allocs go out of scope only in verification */
    TC_VEC(tc_param) params;
    TC_VEC(tc_placement) place;
    TC_VEC(const char *) place_names;
    int nesting;   /* open blocks */
    int64_t terms; /* that expressions may still have */
} parser;

static tc_status parse_block(parser *p, const tc_stmt **out);

static tc_status expect(parser *p, const char *text) {
    return tc_lex_expect(&p->l, text, p->err);
}

static tc_status accept(parser *p, const char *text, bool *took) {
    return tc_lex_accept(&p->l, text, took, p->err);
}

static tc_status parse_int(parser *p, int64_t lo, int64_t hi, int64_t *out, const char *what) {
    tc_lex at = p->l;
    TC_TRY(tc_lex_int(&p->l, out, what, p->err));
    if (*out < lo || *out > hi)
        return tc_lex_fail(&at, p->err, "%s must be in %lld..%lld", what, (long long)lo, (long long)hi);
    return TC_OK;
}

static const tc_buffer *find_buffer(const parser *p, const char *name) {
    for (size_t i = p->buffers.len; i-- > 0;)
        if (strcmp(p->buffers.data[i]->name, name) == 0)
            return p->buffers.data[i];
    return NULL;
}

static const tc_var *find_var(const parser *p, const char *name) {
    for (size_t i = p->vars.len; i-- > 0;)
        if (strcmp(p->vars.data[i]->name, name) == 0)
            return p->vars.data[i];
    return NULL;
}

/* ---- expressions ---- */

/* Names of variables; B[index] of buffers. */
static const tc_expr *resolve(void *user, const char *name, int nidx, const tc_expr *const *idx) {
    parser *p = user;
    if (!idx) {
        const tc_var *v = find_var(p, name);
        return v ? tc_varx(p->c, v) : NULL;
    }
    const tc_buffer *b = find_buffer(p, name);
    return b && nidx == 1 ? tc_load(p->c, b, b->dtype, idx[0], NULL) : NULL;
}

/* `literal`: the dtype of a literal that stands alone; NULL: its own. */
static tc_status parse_expr_as(parser *p, const tc_dtype *literal, const tc_expr **out) {
    const tc_te_scope scope = {.dialect = TC_DIALECT_TIR, .resolve = resolve, .user = p, .literal = literal, .terms = &p->terms};
    return tc_te_parse_expr(p->c, &p->l, &scope, out, p->err);
}

static tc_status parse_expr(parser *p, const tc_expr **out) {
    return parse_expr_as(p, NULL, out);
}

static tc_status check_index(parser *p, const tc_lex *at, const tc_expr *index, const tc_expr *mask) {
    if (index->dtype != TC_I64)
        return tc_lex_fail(at, p->err, "the index is %s, expected i64", tc_dtype_name(index->dtype));
    if (mask && (mask->dtype != TC_BOOL || mask->lanes != index->lanes))
        return tc_lex_fail(at, p->err, "the mask must be bool with %d lanes", index->lanes);
    return TC_OK;
}

static tc_status parse_scalar(parser *p, tc_dtype t, const tc_expr **out) {
    tc_lex at = p->l;
    TC_TRY(parse_expr(p, out));
    if ((*out)->dtype != t || (*out)->lanes != 1)
        return tc_lex_fail(&at, p->err, "expected a scalar %s", tc_dtype_name(t));
    return TC_OK;
}

/* ---- buffers ---- */

/* NAME dtype[size] */
static tc_status parse_buffer(parser *p, tc_buffer **out) {
    tc_lex at = p->l;
    const char *name, *type;
    tc_dtype t;
    int64_t size;
    TC_TRY(tc_lex_ident(&p->l, &name, "a buffer name", p->err));
    at = p->l;
    TC_TRY(tc_lex_ident(&p->l, &type, "an element type", p->err));
    if (!tc_dtype_parse(type, &t))
        return tc_lex_fail(&at, p->err, "unknown element type '%s'", type);
    TC_TRY(expect(p, "["));
    TC_TRY(parse_int(p, 1, INT64_MAX / 16, &size, "a buffer size"));
    TC_TRY(expect(p, "]"));
    *out = (tc_buffer *)tc_tir_buffer(p->c, name, t, size, TC_BUF_PARAM, NULL);
    return TC_OK;
}

/* Copies of a loop body allocate the same buffer again: one object, as long as the declarations agree. */
static tc_status declare(parser *p, const tc_lex *at, tc_buffer *b, const tc_buffer **out) {
    const tc_buffer *old = find_buffer(p, b->name);
    *out = old ? old : b;
    if (!old)
        tc_push(&p->buffers, b);
    else if (old->dtype != b->dtype || old->size != b->size || old->scope != b->scope || old->align != b->align ||
             old->reg_lanes != b->reg_lanes || old->local != b->local || b->scope == TC_BUF_PARAM)
        return tc_lex_fail(at, p->err, "buffer '%s' is already declared, but differently", b->name);
    return TC_OK;
}

static tc_status parse_facts(parser *p, tc_buffer *b, const tc_buffer **out) {
    tc_lex at = p->l;
    int64_t v;
    bool took;
    TC_TRY(expect(p, "align"));
    TC_TRY(parse_int(p, 1, 4096, &v, "an alignment"));
    b->align = (int)v;
    TC_TRY(accept(p, "lanes", &took));
    if (took) {
        TC_TRY(parse_int(p, 1, 4096, &v, "a lane count"));
        b->reg_lanes = (int)v;
    }
    TC_TRY(accept(p, "local", &b->local));
    return declare(p, &at, b, out);
}

static tc_status parse_layout(parser *p, const tc_layout **out) {
    tc_layout *l = TC_NEW(tc_ctx_arena(p->c), tc_layout);
    size_t scope = p->vars.len;
    bool more = true;
    TC_TRY(expect(p, "("));
    while (more) {
        const char *name;
        if (l->nin == TC_MAX_DIMS)
            return tc_lex_fail(&p->l, p->err, "a layout has at most %d dimensions", TC_MAX_DIMS);
        TC_TRY(tc_lex_ident(&p->l, &name, "a dimension name", p->err));
        l->var[l->nin] = tc_var_new(p->c, name);
        tc_push(&p->vars, l->var[l->nin++]);
        TC_TRY(accept(p, ",", &more));
    }
    TC_TRY(expect(p, ")"));
    TC_TRY(expect(p, "->"));
    TC_TRY(expect(p, "("));
    for (more = true; more;) {
        if (l->nout == TC_MAX_DIMS)
            return tc_lex_fail(&p->l, p->err, "a layout has at most %d dimensions", TC_MAX_DIMS);
        TC_TRY(parse_scalar(p, TC_I64, &l->to[l->nout++]));
        TC_TRY(accept(p, ",", &more));
    }
    p->vars.len = scope;
    *out = l;
    return expect(p, ")");
}

static tc_status parse_symbol(parser *p) {
    const char *name;
    int64_t least, most;
    TC_TRY(tc_lex_ident(&p->l, &name, "a symbol's name", p->err));
    TC_TRY(parse_int(p, 0, TC_MAX_SIZE, &least, "a symbol's least value"));
    TC_TRY(expect(p, ".."));
    TC_TRY(parse_int(p, TC_MAX(least, 1), TC_MAX_SIZE, &most, "a symbol's largest value"));
    tc_push(&p->vars, tc_symbol_new(p->c, name, least, most));
    return TC_OK;
}

/* One of (N, P + S, (N - 1) / 2 + 1, 768): a symbol, what defines one, or a number. */
static tc_status parse_dim(parser *p, int64_t *shape, const tc_var **symbol) {
    tc_lex at = p->l;
    const tc_expr *size;
    *symbol = NULL;
    TC_TRY(parse_scalar(p, TC_I64, &size));
    if (size->op == TC_OP_INT && (*shape = size->u.i) >= 1)
        return TC_OK;
    const char *why = tc_symbol_problem(size);
    if (why)
        return tc_lex_fail(&at, p->err, "this expression cannot be a size: %s", why);
    *symbol = size->op == TC_OP_VAR ? size->u.var : tc_symbol_defined(p->c, "size", size);
    *shape = (*symbol)->most;
    return TC_OK;
}

/* The dimensions of an argument that varies. */
static tc_status parse_dims(parser *p, tc_buffer *b) {
    int64_t shape[TC_MAX_DIMS];
    const tc_var *symbol[TC_MAX_DIMS];
    int n = 0;
    tc_lex at = p->l;
    TC_TRY(expect(p, "("));
    for (bool more = true; more;) {
        if (n == TC_MAX_DIMS)
            return tc_lex_fail(&p->l, p->err, "a tensor has at most %d dimensions", TC_MAX_DIMS);
        TC_TRY(parse_dim(p, &shape[n], &symbol[n]));
        n++;
        TC_TRY(accept(p, ",", &more));
    }
    b->tensor = tc_te_varying_placeholder(p->c, b->name, b->dtype, n, shape, symbol, false);
    if (tc_tensor_size(b->tensor) != b->size)
        return tc_lex_fail(&at, p->err, "these dimensions have %lld elements at most, but %s has %lld",
                           (long long)tc_tensor_size(b->tensor), b->name, (long long)b->size);
    return expect(p, ")");
}

static tc_status parse_param(parser *p) {
    tc_param a = {0};
    tc_buffer *b;
    const char *kind;
    int64_t index;
    bool ahead = false, varies;
    TC_TRY(parse_buffer(p, &b));
    TC_TRY(accept(p, "of", &varies));
    if (varies)
        TC_TRY(parse_dims(p, b));
    tc_lex at = p->l;
    TC_TRY(tc_lex_ident(&p->l, &kind, "in, packed or out", p->err));
    if (strcmp(kind, "in") == 0)
        a.kind = TC_PARAM_IN;
    else if (strcmp(kind, "packed") == 0)
        a.kind = TC_PARAM_PACKED;
    else if (strcmp(kind, "out") == 0)
        a.kind = TC_PARAM_OUT;
    else
        return tc_lex_fail(&at, p->err, "expected in, packed or out, found '%s'", kind);
    TC_TRY(parse_int(p, 0, 1 << 20, &index, "an argument position"));
    a.index = (int)index;
    if (a.kind == TC_PARAM_PACKED)
        TC_TRY(parse_layout(p, &a.layout));
    if (a.kind == TC_PARAM_PACKED)
        TC_TRY(accept(p, "ahead", &ahead));
    if (ahead)
        TC_TRY(parse_int(p, 1, 1 << 20, &a.ahead, "a distance in bytes"));
    TC_TRY(parse_facts(p, b, &a.buffer));
    TC_TRY(accept(p, "overlaps", &a.overlaps));
    b->param = (int)p->params.len;
    tc_push(&p->params, a);
    return TC_OK;
}

/* ---- statements ---- */

static tc_status parse_unit(parser *p, const tc_intrinsic **out) {
    tc_lex at = p->l;
    const char *name;
    TC_TRY(tc_lex_ident(&p->l, &name, "the name of a unit", p->err));
    *out = tc_intrinsic_named(name);
    return *out ? TC_OK : tc_lex_fail(&at, p->err, "there is no unit '%s'", name);
}

static tc_status parse_for(parser *p, tc_for_kind kind, const tc_stmt **out) {
    const char *name;
    const tc_expr *extent;
    bool reduce, has_unit;
    const tc_stmt *body;
    TC_TRY(tc_lex_ident(&p->l, &name, "a loop variable", p->err));
    TC_TRY(expect(p, "in"));
    TC_TRY(parse_scalar(p, TC_I64, &extent));
    TC_TRY(accept(p, "reduce", &reduce));
    tc_stmt like = {.kind = TC_STMT_FOR, .u.loop = {.kind = kind, .reduce = reduce}};
    TC_TRY(accept(p, "unit", &has_unit));
    if (has_unit)
        TC_TRY(parse_unit(p, &like.u.loop.unit));
    const tc_var *v = tc_var_new(p->c, name);
    tc_push(&p->vars, v);
    TC_TRY(parse_block(p, &body));
    p->vars.len--;
    *out = tc_tir_for_like(p->c, &like, v, extent, body);
    return TC_OK;
}

static tc_status parse_if(parser *p, const tc_stmt **out) {
    bool guard, took;
    const tc_expr *cond;
    const tc_stmt *then, *otherwise = NULL;
    TC_TRY(accept(p, "guard", &guard));
    TC_TRY(parse_scalar(p, TC_BOOL, &cond));
    TC_TRY(parse_block(p, &then));
    TC_TRY(accept(p, "else", &took));
    if (took)
        TC_TRY(parse_block(p, &otherwise));
    *out = tc_tir_if(p->c, cond, guard, then, otherwise);
    return TC_OK;
}

static tc_status parse_alloc(parser *p, const tc_stmt **out) {
    tc_buffer *b;
    const char *scope;
    const tc_stmt *body;
    TC_TRY(parse_buffer(p, &b));
    tc_lex at = p->l;
    TC_TRY(tc_lex_ident(&p->l, &scope, "a scope", p->err));
    int k = TC_BUF_SHARED;
    while (k < TC_NSCOPES && strcmp(scope, tc_tir_scope((tc_buf_scope)k)->text) != 0)
        k++;
    if (k == TC_NSCOPES)
        return tc_lex_fail(&at, p->err, "expected shared, thread, stack, reg or tile, found '%s'", scope);
    b->scope = (tc_buf_scope)k;
    const tc_buffer *declared;
    TC_TRY(parse_facts(p, b, &declared));
    TC_TRY(parse_block(p, &body));
    *out = tc_tir_alloc(p->c, declared, body);
    return TC_OK;
}

static tc_status parse_store(parser *p, const char *name, const tc_lex *at, const tc_stmt **out) {
    const tc_buffer *b = find_buffer(p, name);
    const tc_expr *index, *value, *mask = NULL;
    bool took;
    if (!b)
        return tc_lex_fail(at, p->err, "unknown buffer '%s'", name);
    TC_TRY(expect(p, "["));
    TC_TRY(parse_expr(p, &index));
    TC_TRY(expect(p, "]"));
    TC_TRY(accept(p, "if", &took));
    if (took)
        TC_TRY(parse_expr(p, &mask));
    TC_TRY(check_index(p, at, index, mask));
    TC_TRY(expect(p, "="));
    TC_TRY(parse_expr_as(p, &b->dtype, &value));
    if (value->dtype != b->dtype || value->lanes != index->lanes)
        return tc_lex_fail(at, p->err, "storing %s x %d to %s: expected %s x %d", tc_dtype_name(value->dtype), value->lanes, name,
                           tc_dtype_name(b->dtype), index->lanes);
    *out = tc_tir_store(p->c, b, index, value, mask);
    return TC_OK;
}

static tc_status parse_prefetch(parser *p, const tc_stmt **out) {
    tc_lex at = p->l;
    const char *name;
    const tc_expr *index;
    TC_TRY(tc_lex_ident(&p->l, &name, "a buffer", p->err));
    const tc_buffer *b = find_buffer(p, name);
    if (!b)
        return tc_lex_fail(&at, p->err, "unknown buffer '%s'", name);
    TC_TRY(expect(p, "["));
    TC_TRY(parse_expr(p, &index));
    TC_TRY(expect(p, "]"));
    TC_TRY(check_index(p, &at, index, NULL));
    if (index->lanes != 1)
        return tc_lex_fail(&at, p->err, "the index of a prefetch must be a scalar");
    *out = tc_tir_prefetch(p->c, b, index);
    return TC_OK;
}

static tc_status parse_tile_operand(parser *p, const tc_buffer **out) {
    tc_lex at = p->l;
    const char *name;
    TC_TRY(tc_lex_ident(&p->l, &name, "a tile", p->err));
    *out = find_buffer(p, name);
    return *out && (*out)->scope == TC_BUF_TILE ? TC_OK : tc_lex_fail(&at, p->err, "'%s' is no tile", name);
}

static tc_status parse_tile_memory(parser *p, tc_tile_stmt *t) {
    tc_lex at = p->l;
    const char *name;
    TC_TRY(tc_lex_ident(&p->l, &name, "a buffer", p->err));
    t->memory = find_buffer(p, name);
    if (!t->memory)
        return tc_lex_fail(&at, p->err, "unknown buffer '%s'", name);
    TC_TRY(expect(p, "["));
    TC_TRY(parse_scalar(p, TC_I64, &t->index));
    TC_TRY(expect(p, "]"));
    TC_TRY(expect(p, "by"));
    return parse_int(p, 0, (int64_t)1 << 40, &t->stride, "a distance between rows");
}

static tc_status parse_intrin(parser *p, const tc_stmt **out) {
    static const char *const OPS[] = {[TC_TILE_ZERO] = "zero", [TC_TILE_LOAD] = "load", [TC_TILE_STORE] = "store"};
    tc_tile_stmt t = {.op = TC_TILE_MULTIPLY};
    for (int i = 0; i < TC_TILE_MULTIPLY; i++)
        if (tc_lex_is(&p->l, OPS[i]))
            t.op = (tc_tile_op)i;
    if (t.op == TC_TILE_MULTIPLY)
        TC_TRY(parse_unit(p, &t.unit));
    else
        TC_TRY(expect(p, OPS[t.op]));
    for (int i = 0; i < (t.op == TC_TILE_MULTIPLY ? 3 : 1); i++)
        TC_TRY(parse_tile_operand(p, &t.tile[i]));
    if (t.op == TC_TILE_LOAD || t.op == TC_TILE_STORE)
        TC_TRY(parse_tile_memory(p, &t));
    *out = tc_tir_tile(p->c, &t);
    return TC_OK;
}

static tc_status parse_stmt(parser *p, const tc_stmt **out) {
    tc_lex at = p->l;
    const char *word;
    TC_TRY(tc_lex_ident(&p->l, &word, "a statement", p->err));
    if (!tc_lex_is(&p->l, "[")) {
        for (int k = 0; k < TC_NFORS; k++)
            if (strcmp(word, tc_for_info_of((tc_for_kind)k)->text) == 0)
                return parse_for(p, (tc_for_kind)k, out);
        if (strcmp(word, "if") == 0)
            return parse_if(p, out);
        if (strcmp(word, "alloc") == 0)
            return parse_alloc(p, out);
        if (strcmp(word, "prefetch") == 0)
            return parse_prefetch(p, out);
        if (strcmp(word, "tile") == 0)
            return parse_intrin(p, out);
    }
    return parse_store(p, word, &at, out);
}

/* Statements up to `close`, or to the end of the text. */
static tc_status parse_stmts(parser *p, const char *close, const tc_stmt **out) {
    TC_VEC(const tc_stmt *) list = {0};
    tc_status s = TC_OK;
    while (s == TC_OK && p->l.tok.kind != TC_TOK_EOF && !(close && tc_lex_is(&p->l, close))) {
        const tc_stmt *one = NULL;
        s = parse_stmt(p, &one);
        tc_push(&list, one);
    }
    if (s == TC_OK)
        *out = tc_tir_seq(p->c, (int)list.len, list.data);
    tc_vec_free(&list);
    return s;
}

static tc_status parse_block(parser *p, const tc_stmt **out) {
    if (p->nesting == TC_DEPTH_TIR)
        return tc_lex_fail(&p->l, p->err, "blocks are nested too deeply (more than %d levels)", TC_DEPTH_TIR);
    TC_TRY(expect(p, "{"));
    p->nesting++;
    TC_TRY(parse_stmts(p, "}", out));
    p->nesting--;
    return expect(p, "}");
}

/* ---- function ---- */

static tc_status parse_placement(parser *p, tc_func *f) {
    bool took;
    TC_TRY(accept(p, "workspace", &took));
    if (!took)
        return TC_OK;
    f->place = TC_NEW_N(tc_ctx_arena(p->c), tc_placement, 1);
    TC_TRY(expect(p, "shared"));
    TC_TRY(parse_int(p, 0, INT64_MAX, &f->shared_bytes, "a size in bytes"));
    TC_TRY(expect(p, "thread"));
    TC_TRY(parse_int(p, 0, INT64_MAX, &f->thread_bytes, "a size in bytes"));
    for (;;) {
        const char *name;
        tc_placement at = {0};
        TC_TRY(accept(p, "place", &took));
        if (!took)
            return TC_OK;
        TC_TRY(tc_lex_ident(&p->l, &name, "a buffer name", p->err));
        TC_TRY(parse_int(p, 0, INT64_MAX, &at.offset, "an offset in bytes"));
        tc_push(&p->place_names, name);
        tc_push(&p->place, at);
    }
}

typedef struct sought {
    const tc_buffer *buffer;
    bool found;
} sought;

static void look_at(const tc_stmt *s, void *user) {
    sought *x = user;
    x->found |= s->kind == TC_STMT_ALLOC && s->u.alloc.buffer == x->buffer;
}

static bool is_allocated(const tc_func *f, const tc_buffer *b) {
    sought x = {.buffer = b};
    tc_tir_walk(f->body, look_at, &x);
    return x.found;
}

/* Buffers of what is never run, of which nothing is made, have no place. */
static tc_status resolve_placement(parser *p, tc_func *f) {
    size_t n = 0;
    for (size_t i = 0; i < p->place.len; i++) {
        tc_placement at = {find_buffer(p, p->place_names.data[i]), p->place.data[i].offset};
        if (!at.buffer)
            return tc_fail(p->err, TC_BAD_INPUT, "%s: place of unknown buffer '%s'", p->l.file, p->place_names.data[i]);
        if (is_allocated(f, at.buffer))
            p->place.data[n++] = at;
    }
    if (n)
        f->place = tc_arena_dup(tc_ctx_arena(p->c), p->place.data, sizeof *p->place.data * n);
    f->nplace = (int)n;
    return TC_OK;
}

static tc_status parse_func(parser *p, tc_func *f) {
    TC_TRY(expect(p, "func"));
    TC_TRY(tc_lex_ident(&p->l, &f->name, "a function name", p->err));
    f->name = tc_arena_strdup(tc_ctx_arena(p->c), f->name);
    for (bool took;;) {
        TC_TRY(accept(p, "symbol", &took));
        if (!took)
            break;
        TC_TRY(parse_symbol(p));
    }
    f->nsymbol = (int)p->vars.len;
    f->symbols = tc_arena_dup(tc_ctx_arena(p->c), p->vars.data, sizeof *p->vars.data * p->vars.len);
    for (bool took;;) {
        TC_TRY(accept(p, "param", &took));
        if (!took)
            break;
        TC_TRY(parse_param(p));
    }
    f->nparam = (int)p->params.len;
    if (f->nparam)
        f->params = tc_arena_dup(tc_ctx_arena(p->c), p->params.data, sizeof *p->params.data * p->params.len);
    TC_TRY(parse_placement(p, f));
    TC_TRY(expect(p, "body"));
    TC_TRY(parse_stmts(p, NULL, &f->body));
    return resolve_placement(p, f);
}

tc_status tc_tir_parse(tc_ctx *c, const char *file, const char *text, tc_func **out, tc_error *err) {
    parser p = {.c = c, .err = err, .terms = TC_WORK_TIR};
    tc_func *f = TC_NEW(tc_ctx_arena(c), tc_func);
    tc_status s = tc_input_check(TC_INPUT_TIR, file, text, err);
    if (s == TC_OK)
        s = tc_lex_open(&p.l, tc_ctx_arena(c), file, text, false, err);
    if (s == TC_OK)
        s = parse_func(&p, f);
    tc_vec_free(&p.vars);
    tc_vec_free(&p.buffers);
    tc_vec_free(&p.params);
    tc_vec_free(&p.place);
    tc_vec_free(&p.place_names);
    if (s == TC_OK)
        *out = f;
    return s;
}
