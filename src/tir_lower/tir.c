/* Constructors of TIR nodes. Statements are immutable and live in the context's arena. Constructors canonicalise only the
 * trivial. A statement around nothing (NULL) is nothing, decided conditions vanish, and nested sequences are flat. */
#include "tir_lower/tir.h"

#include <assert.h>
#include <string.h>

const tc_scope_info *tc_tir_scope(tc_buf_scope scope) {
    static const tc_scope_info SCOPES[TC_NSCOPES] = {
#define SCOPE(id, text, shared, addressed, workspace, most) [TC_BUF_##id] = {text, shared, addressed, workspace, most},
#include "tir_lower/scopes.def"
#undef SCOPE
    };
    return &SCOPES[scope];
}

enum { BUFFER_ALIGN = 64 }; /* bytes: a cache line, and the widest vector of any CPU we generate code for */

/* ---- sizes ---- */

static const tc_var *symbol_of(const tc_buffer *b, int d) {
    return b->scope == TC_BUF_PARAM && b->tensor ? b->tensor->symbol[d] : NULL;
}

bool tc_tir_varies(const tc_buffer *b) {
    for (int d = 0; b->tensor && d < b->tensor->ndim; d++)
        if (symbol_of(b, d))
            return true;
    return false;
}

const tc_expr *tir_symbol(tc_ctx *c, const tc_var *v) {
    return v->least == v->most ? tc_i64(c, v->most) : tc_varx(c, v);
}

const tc_expr *tir_scaled(tc_ctx *c, const tc_expr *x, const tc_expr *scale) {
    return scale ? tc_mul(c, x, scale) : x;
}

const tc_expr *tc_tir_size(tc_ctx *c, const tc_buffer *b) {
    int64_t fixed = 1;
    const tc_expr *size = NULL;
    if (!tc_tir_varies(b))
        return tc_i64(c, b->size);
    for (int d = b->tensor->ndim - 1; d >= 0; d--) {
        const tc_var *v = symbol_of(b, d);
        if (v)
            size = tir_scaled(c, tir_symbol(c, v), size);
        else
            fixed *= b->tensor->shape[d];
    }
    return tc_mul(c, size, tc_i64(c, fixed));
}

int64_t tc_tir_size_at(const tc_func *f, const tc_buffer *b, const int64_t *sizes) {
    int64_t n = 1;
    if (!tc_tir_varies(b))
        return b->size;
    for (int d = 0; d < b->tensor->ndim; d++)
        n *= symbol_of(b, d) ? tc_symbol_at(symbol_of(b, d), f->nsymbol, f->symbols, sizes) : b->tensor->shape[d];
    return n;
}

int64_t tc_tir_least_size(const tc_buffer *b) {
    int64_t n = 1;
    if (!tc_tir_varies(b))
        return b->size;
    for (int d = 0; d < b->tensor->ndim; d++)
        n *= tc_tensor_least(b->tensor, d);
    return n;
}

/* ---- building ---- */

const tc_buffer *tc_tir_buffer(tc_ctx *c, const char *name, tc_dtype t, int64_t size, tc_buf_scope scope,
                               const tc_tensor *tensor) {
    tc_buffer *b = TC_NEW(tc_ctx_arena(c), tc_buffer);
    b->name = tc_arena_strdup(tc_ctx_arena(c), name);
    b->id = tc_ctx_next_id(c);
    b->dtype = t;
    b->size = size;
    b->scope = scope;
    b->align = BUFFER_ALIGN;
    b->param = -1;
    b->reg_lanes = 1;
    b->tensor = tensor;
    return b;
}

static tc_stmt *new_stmt(tc_ctx *c, tc_stmt_kind kind) {
    tc_stmt *s = TC_NEW(tc_ctx_arena(c), tc_stmt);
    s->kind = kind;
    return s;
}

const tc_stmt *tc_tir_seq(tc_ctx *c, int n, const tc_stmt *const *s) {
    int total = 0;
    const tc_stmt *only = NULL;
    for (int i = 0; i < n; i++) {
        if (!s[i])
            continue;
        total += s[i]->kind == TC_STMT_SEQ ? s[i]->u.seq.n : 1;
        only = s[i];
    }
    if (total <= 1)
        return total == 0 ? NULL : only->kind == TC_STMT_SEQ ? only->u.seq.s[0] : only;
    const tc_stmt **flat = TC_NEW_N(tc_ctx_arena(c), const tc_stmt *, total);
    int k = 0;
    for (int i = 0; i < n; i++) {
        if (!s[i])
            continue;
        if (s[i]->kind != TC_STMT_SEQ) {
            flat[k++] = s[i];
            continue;
        }
        memcpy(flat + k, s[i]->u.seq.s, sizeof *flat * (size_t)s[i]->u.seq.n);
        k += s[i]->u.seq.n;
    }
    tc_stmt *r = new_stmt(c, TC_STMT_SEQ);
    r->u.seq.n = total;
    r->u.seq.s = flat;
    return r;
}

const tc_stmt *tc_tir_for(tc_ctx *c, const tc_var *v, const tc_expr *extent, tc_for_kind kind, bool reduce, const tc_stmt *body) {
    assert(extent->dtype == TC_I64 && extent->lanes == 1);
    if (!body || (extent->op == TC_OP_INT && extent->u.i <= 0))
        return NULL;
    tc_stmt *r = new_stmt(c, TC_STMT_FOR);
    r->u.loop.var = v;
    r->u.loop.extent = extent;
    r->u.loop.kind = kind;
    r->u.loop.reduce = reduce;
    r->u.loop.body = body;
    return r;
}

const tc_stmt *tc_tir_for_like(tc_ctx *c, const tc_stmt *like, const tc_var *v, const tc_expr *extent, const tc_stmt *body) {
    tc_stmt *r = (tc_stmt *)tc_tir_for(c, v, extent, like->u.loop.kind, like->u.loop.reduce, body);
    if (r)
        r->u.loop.unit = like->u.loop.unit;
    return r;
}

const tc_stmt *tc_tir_if(tc_ctx *c, const tc_expr *cond, bool guard, const tc_stmt *then, const tc_stmt *otherwise) {
    assert(cond->dtype == TC_BOOL && cond->lanes == 1);
    if (cond->op == TC_OP_INT)
        return cond->u.i ? then : otherwise;
    if (!then && !otherwise)
        return NULL;
    if (!then) {
        cond = tc_un(c, TC_OP_NOT, cond);
        then = otherwise;
        otherwise = NULL;
        guard = false;
    }
    tc_stmt *r = new_stmt(c, TC_STMT_IF);
    r->u.cond.cond = cond;
    r->u.cond.guard = guard;
    r->u.cond.then = then;
    r->u.cond.otherwise = otherwise;
    return r;
}

static bool is_true(const tc_expr *e) {
    if (e->op == TC_OP_BCAST)
        e = e->args[0];
    return e->op == TC_OP_INT && e->dtype == TC_BOOL && e->u.i;
}

const tc_stmt *tc_tir_store(tc_ctx *c, const tc_buffer *b, const tc_expr *index, const tc_expr *value, const tc_expr *mask) {
    assert(index->dtype == TC_I64 && value->dtype == b->dtype && index->lanes == value->lanes);
    assert(!mask || (mask->dtype == TC_BOOL && mask->lanes == index->lanes));
    tc_stmt *r = new_stmt(c, TC_STMT_STORE);
    r->u.store.buffer = b;
    r->u.store.index = index;
    r->u.store.value = value;
    r->u.store.mask = mask && is_true(mask) ? NULL : mask;
    return r;
}

const tc_stmt *tc_tir_alloc(tc_ctx *c, const tc_buffer *b, const tc_stmt *body) {
    if (!body)
        return NULL;
    tc_stmt *r = new_stmt(c, TC_STMT_ALLOC);
    r->u.alloc.buffer = b;
    r->u.alloc.body = body;
    return r;
}

const tc_stmt *tc_tir_prefetch(tc_ctx *c, const tc_buffer *b, const tc_expr *index) {
    assert(index->dtype == TC_I64 && index->lanes == 1);
    tc_stmt *r = new_stmt(c, TC_STMT_PREFETCH);
    r->u.prefetch.buffer = b;
    r->u.prefetch.index = index;
    return r;
}

const tc_stmt *tc_tir_tile(tc_ctx *c, const tc_tile_stmt *t) {
    assert(t->tile[0] && !t->memory == !t->index && !t->unit == (t->op != TC_TILE_MULTIPLY));
    tc_stmt *r = new_stmt(c, TC_STMT_INTRIN);
    r->u.intrin = *t;
    return r;
}

int tc_tir_tile_rows(const tc_buffer *tile) {
    return (int)(tile->size / tile->reg_lanes);
}
