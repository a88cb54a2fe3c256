/* The TIR interpreter: the counterpart of the oracle. It executes a function literally and trusts nothing. It checks every
 * access against its buffer. It checks every read against the writes since the buffer's alloc. In a placed workspace it does so
 * by byte, which finds two live buffers that overlap. It checks every element of shared memory against the accesses of other
 * iterations of the same parallel loop. */
#include "tir_lower/interp/interp.h"
#include "tir_lower/interp/interp_int.h"

#include <stdarg.h>
#include <string.h>

/* Statements compiled: the same tree, with programs in place of expressions. */
typedef struct xstmt xstmt;
struct xstmt {
    const tc_stmt *s;
    program p[3]; /* FOR: extent. IF: cond. STORE: index, mask, value. INTRIN: index */
    bool masked;
    int32_t var;
    mem *m;       /* INTRIN: memory, or NULL */
    mem *tile[3]; /* INTRIN */
    int n;
    xstmt **kids; /* SEQ: all. IF: then, otherwise. others: body */
};

bool interp_fail(interp *x, const char *fmt, ...) {
    if (!x->err)
        return false;
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(x->err, TC_BAD_INPUT, fmt, ap);
    va_end(ap);
    tc_strbuf b = {0};
    for (size_t i = 0; i < x->stack.len && b.len < 300; i++) {
        const tc_var *v = x->stack.data[i]->u.loop.var;
        tc_sb_printf(&b, "%s%s = %lld", i ? ", " : " at ", v->name, (long long)slot_at(x, interp_var_slot(x, v))->i);
    }
    size_t n = strlen(x->err->msg);
    tc_strbuf both = {0};
    tc_sb_addn(&both, x->err->msg, n);
    tc_sb_add(&both, tc_sb_str(&b));
    tc_fail(x->err, TC_BAD_INPUT, "%s", tc_sb_str(&both));
    tc_strbuf_free(&b);
    tc_strbuf_free(&both);
    return false;
}

/* ---- memory ---- */

static mem *find_mem(const interp *x, const tc_buffer *b) {
    for (size_t i = x->mems.len; i-- > 0;)
        if (x->mems.data[i]->buf == b)
            return x->mems.data[i];
    return NULL;
}

static mem *add_mem(interp *x, const tc_buffer *b) {
    mem *m = tc_xcalloc(1, sizeof *m);
    m->buf = b;
    m->size = b->size;
    m->per = 1;
    tc_push(&x->mems, m);
    m->me = (uint32_t)x->mems.len;
    return m;
}

static void own_memory(mem *m, bool data) {
    m->own_owner = true;
    m->owner = tc_xcalloc((size_t)m->size, sizeof *m->owner);
    if (tc_tir_scope(m->buf->scope)->shared) {
        m->stamp = tc_xcalloc((size_t)m->size, sizeof *m->stamp);
        m->reader = tc_xcalloc((size_t)m->size, sizeof *m->reader);
    }
    m->own_data = data;
    if (data)
        m->data = tc_xcalloc((size_t)m->size, (size_t)tc_dtype_bytes(m->buf->dtype));
}

mem *interp_mem(interp *x, const tc_buffer *b) {
    mem *m = find_mem(x, b);
    if (m)
        return m;
    m = add_mem(x, b);
    own_memory(m, true);
    return m;
}

/* The workspaces come first in mems: index 0 shared, 1 per thread. Their own `buf` is made here. */
typedef struct workspace {
    tc_buffer buf;
} workspace;

static void add_workspace(interp *x, workspace *w, tc_buf_scope scope, int64_t bytes) {
    w->buf = (tc_buffer){.name = "workspace", .dtype = TC_U8, .size = bytes, .scope = scope};
    own_memory(add_mem(x, &w->buf), true);
}

static bool place_mem(interp *x, const tc_placement *p) {
    const tc_buffer *b = p->buffer;
    mem *w = x->mems.data[tc_tir_scope(b->scope)->shared ? 0 : 1];
    int bytes = tc_dtype_bytes(b->dtype);
    if (p->offset % b->align || p->offset < 0 || p->offset + b->size * bytes > w->buf->size)
        return interp_fail(x, "%s is placed at byte %lld of a workspace of %lld, misaligned or outside", b->name,
                           (long long)p->offset, (long long)w->buf->size);
    mem *m = add_mem(x, b);
    m->per = bytes;
    m->data = w->data + p->offset;
    m->owner = w->owner + p->offset;
    if (w->stamp) {
        m->stamp = w->stamp + p->offset;
        m->reader = w->reader + p->offset;
    }
    return true;
}

static bool make_memory(interp *x, workspace w[2], void *const *args) {
    const tc_func *f = x->f;
    add_workspace(x, &w[0], TC_BUF_SHARED, f->shared_bytes);
    add_workspace(x, &w[1], TC_BUF_THREAD, f->thread_bytes);
    for (int i = 0; i < f->nparam; i++) {
        mem *m = add_mem(x, f->params[i].buffer);
        m->data = args[i];
        m->size = tc_tir_size_at(f, m->buf, f->nsymbol ? args[f->nparam] : NULL);
        if (f->params[i].kind == TC_PARAM_OUT)
            own_memory(m, false);
    }
    for (int i = 0; i < f->nplace; i++)
        if (!place_mem(x, &f->place[i]))
            return false;
    return true;
}

static bool in_bounds(interp *x, const mem *m, int64_t i, const char *what) {
    if (i >= 0 && i < m->size)
        return true;
    return interp_fail(x, "%s %s[%lld]: outside of its %lld elements", what, m->buf->name, (long long)i, (long long)m->size);
}

static bool race(interp *x, const mem *m, int64_t i, const char *what) {
    return interp_fail(x, "%s %s[%lld]: another iteration of the parallel loop %s it", what, m->buf->name, (long long)i,
                       strcmp(what, "load of") == 0 ? "wrote" : "touched");
}

/* Is `stamp` an iteration of the loop at hand other than this one? */
static bool foreign(const interp *x, uint32_t stamp) {
    return x->iteration && stamp >= x->first_iteration && stamp != x->iteration; /* smaller ones are of earlier loops */
}

bool interp_check_load(interp *x, mem *m, int64_t i) {
    if (!in_bounds(x, m, i, "load of"))
        return false;
    if (!m->owner)
        return true;
    int64_t at = i * m->per;
    if (!x->in_part && (m->owner[at] != m->me || m->owner[at + m->per - 1] != m->me))
        return interp_fail(x, "load of %s[%lld]: never written%s", m->buf->name, (long long)i,
                           m->owner[at] ? ", or overwritten by another buffer" : "");
    if (m->stamp && foreign(x, m->stamp[at]))
        return race(x, m, i, "load of");
    if (m->reader && x->iteration) {
        if (m->reader[at].first < x->first_iteration)
            m->reader[at].first = x->iteration;
        m->reader[at].last = x->iteration;
    }
    return true;
}

static bool check_store(interp *x, mem *m, int64_t i) {
    if (!in_bounds(x, m, i, "store to"))
        return false;
    if (!m->owner)
        return interp_fail(x, "store to %s[%lld]: an input", m->buf->name, (long long)i);
    int64_t at = i * m->per;
    if (m->stamp && (foreign(x, m->stamp[at]) || foreign(x, m->reader[at].first) || foreign(x, m->reader[at].last)))
        return race(x, m, i, "store to");
    for (int k = 0; k < m->per; k++)
        m->owner[at + k] = m->me;
    if (m->stamp)
        m->stamp[at] = x->iteration;
    return true;
}

/* A buffer's life begins: nothing in it is written. */
static void forget(mem *m) {
    int64_t n = m->size * m->per;
    for (int64_t i = 0; i < n; i++)
        if (m->owner[i] == m->me) {
            m->owner[i] = 0;
            if (m->stamp)
                m->stamp[i] = m->reader[i].first = m->reader[i].last = 0;
        }
}

/* ---- compiling ---- */

static void compile_intrin(interp *x, xstmt *r) {
    const tc_tile_stmt *t = &r->s->u.intrin;
    if (t->memory) {
        r->p[0] = interp_compile(x, t->index);
        r->m = interp_mem(x, t->memory);
    }
    for (int i = 0; i < 3 && t->tile[i]; i++)
        r->tile[i] = interp_mem(x, t->tile[i]);
}

static xstmt *compile(interp *x, tc_arena *a, const tc_stmt *s) {
    if (!s)
        return NULL;
    xstmt *r = TC_NEW(a, xstmt);
    r->s = s;
    const tc_stmt *body[2] = {NULL, NULL};
    const tc_stmt *const *kids = body;
    interp_begin(x);
    switch (s->kind) {
    case TC_STMT_SEQ:
        r->n = s->u.seq.n;
        kids = s->u.seq.s;
        break;
    case TC_STMT_FOR:
        r->p[0] = interp_compile(x, s->u.loop.extent);
        r->var = interp_var_slot(x, s->u.loop.var);
        body[0] = s->u.loop.body;
        r->n = 1;
        break;
    case TC_STMT_IF:
        r->p[0] = interp_compile(x, s->u.cond.cond);
        body[0] = s->u.cond.then;
        body[1] = s->u.cond.otherwise;
        r->n = 2;
        break;
    case TC_STMT_STORE:
        r->p[0] = interp_compile(x, s->u.store.index);
        r->masked = s->u.store.mask != NULL;
        if (r->masked)
            r->p[1] = interp_compile(x, s->u.store.mask);
        r->p[2] = interp_compile(x, s->u.store.value);
        r->m = interp_mem(x, s->u.store.buffer);
        break;
    case TC_STMT_ALLOC:
        r->m = interp_mem(x, s->u.alloc.buffer);
        body[0] = s->u.alloc.body;
        r->n = 1;
        break;
    case TC_STMT_INTRIN:
        compile_intrin(x, r);
        break;
    case TC_STMT_PREFETCH:
    case TC_NSTMTS:
        break;
    }
    r->kids = TC_NEW_N(a, xstmt *, r->n);
    for (int i = 0; i < r->n; i++)
        r->kids[i] = compile(x, a, kids[i]);
    return r;
}

/* ---- running ---- */

static bool run(interp *x, const xstmt *s);

static void set_symbols(interp *x, void *const *args) {
    const tc_func *f = x->f;
    for (int i = 0; i < f->nsymbol; i++)
        slot_at(x, interp_var_slot(x, f->symbols[i]))->i = ((const int64_t *)args[f->nparam])[i];
}

static void shuffle(interp *x, int64_t *order, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t i = n - 1; x->shuffle && i > 0; i--) {
        int64_t k = tc_rng_below(&x->rng, i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
}

static bool run_parallel(interp *x, const xstmt *s, int64_t extent) {
    if (x->iteration)
        return interp_fail(x, "parallel loop %s runs inside another one", s->s->u.loop.var->name);
    int64_t *order = tc_xmalloc(sizeof *order * (size_t)TC_MAX(extent, 1));
    shuffle(x, order, extent);
    x->first_iteration = x->next_iteration;
    bool ok = true;
    for (int64_t i = 0; i < extent && ok; i++) {
        x->iteration = x->next_iteration++;
        slot_at(x, s->var)->i = order[i];
        ok = run(x, s->kids[0]);
    }
    x->iteration = 0;
    free(order);
    return ok;
}

static bool run_for(interp *x, const xstmt *s) {
    if (!interp_exec(x, s->p[0]))
        return false;
    int64_t extent = slot_at(x, s->p[0].slot)->i;
    bool ok = true;
    tc_push(&x->stack, s->s);
    if (s->s->u.loop.kind == TC_FOR_PARALLEL) {
        ok = run_parallel(x, s, extent);
    } else {
        for (int64_t i = 0; i < extent && ok; i++) {
            slot_at(x, s->var)->i = i;
            ok = run(x, s->kids[0]);
        }
    }
    x->stack.len--;
    return ok;
}

static bool run_store(interp *x, const xstmt *s) {
    for (int k = 0; k < 3; k++)
        if ((k != 1 || s->masked) && !interp_exec(x, s->p[k]))
            return false;
    const val *index = slot_at(x, s->p[0].slot), *mask = s->masked ? slot_at(x, s->p[1].slot) : NULL,
              *value = slot_at(x, s->p[2].slot);
    tc_dtype t = s->m->buf->dtype;
    for (int k = 0; k < s->s->u.store.index->lanes; k++) {
        if (mask && !mask[k].i)
            continue;
        if (!check_store(x, s->m, index[k].i))
            return false;
        if (tc_dtype_is_float(t))
            tc_store_f(t, s->m->data, index[k].i, value[k].f);
        else
            tc_store_i(t, s->m->data, index[k].i, value[k].i);
    }
    return true;
}

/* One element from or to memory, bit for bit. */
static bool move_element(interp *x, bool loads, mem *tile, int64_t at, mem *memory, int64_t index) {
    size_t bytes = (size_t)tc_dtype_bytes(memory->buf->dtype);
    unsigned char *t = tile->data + (size_t)at * bytes, *m = memory->data + index * (int64_t)bytes;
    if (loads ? !interp_check_load(x, memory, index) : !interp_check_load(x, tile, at) || !check_store(x, memory, index))
        return false;
    memcpy(loads ? t : m, loads ? m : t, bytes);
    return !loads || check_store(x, tile, at);
}

static bool move_tile(interp *x, const xstmt *s) {
    const tc_tile_stmt *t = &s->s->u.intrin;
    if (!interp_exec(x, s->p[0]))
        return false;
    int64_t base = slot_at(x, s->p[0].slot)->i, cols = t->tile[0]->reg_lanes;
    for (int64_t k = 0; k < t->tile[0]->size; k++)
        if (!move_element(x, t->op == TC_TILE_LOAD, s->tile[0], k, s->m, base + k / cols * t->stride + k % cols))
            return false;
    return true;
}

static bool run_intrin(interp *x, const xstmt *s) {
    const tc_tile_stmt *t = &s->s->u.intrin;
    if (t->memory)
        return move_tile(x, s);
    for (int i = t->op == TC_TILE_ZERO; i < 3 && t->tile[i]; i++)
        for (int64_t k = 0; k < t->tile[i]->size; k++)
            if (!interp_check_load(x, s->tile[i], k))
                return false;
    for (int64_t k = 0; k < t->tile[0]->size; k++)
        if (!check_store(x, s->tile[0], k))
            return false;
    if (t->op == TC_TILE_ZERO) {
        memset(s->tile[0]->data, 0, (size_t)(t->tile[0]->size * tc_dtype_bytes(t->tile[0]->dtype)));
        return true;
    }
    tc_unit_call c = {.m = tc_tir_tile_rows(t->tile[0]),
                      .n = t->tile[0]->reg_lanes,
                      .k = t->tile[1]->reg_lanes,
                      .acc = s->tile[0]->data,
                      .a = s->tile[1]->data,
                      .b = s->tile[2]->data,
                      .acc_stride = t->tile[0]->reg_lanes,
                      .a_stride = t->tile[1]->reg_lanes,
                      .b_stride = t->tile[2]->reg_lanes};
    tc_intrinsic_run(t->unit, &c);
    return true;
}

static bool run(interp *x, const xstmt *s) {
    if (!s)
        return true;
    switch (s->s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->n; i++)
            if (!run(x, s->kids[i]))
                return false;
        return true;
    case TC_STMT_FOR:
        return run_for(x, s);
    case TC_STMT_IF:
        return interp_exec(x, s->p[0]) && run(x, s->kids[slot_at(x, s->p[0].slot)->i ? 0 : 1]);
    case TC_STMT_STORE:
        return run_store(x, s);
    case TC_STMT_ALLOC:
        forget(s->m);
        return run(x, s->kids[0]);
    case TC_STMT_INTRIN:
        return run_intrin(x, s);
    case TC_STMT_PREFETCH:
    case TC_NSTMTS:
        break;
    }
    return true;
}

static bool check_outputs(interp *x) {
    for (int i = 0; i < x->f->nparam; i++) {
        const mem *m = x->mems.data[2 + i];
        for (int64_t k = 0; m->owner && k < m->size; k++)
            if (m->owner[k] != m->me)
                return interp_fail(x, "element %lld of the output %s was never written", (long long)k, m->buf->name);
    }
    return true;
}

static void release(interp *x) {
    for (size_t i = 0; i < x->mems.len; i++) {
        mem *m = x->mems.data[i];
        if (m->own_data)
            free(m->data);
        if (m->own_owner) {
            free(m->owner);
            free(m->stamp);
            free(m->reader);
        }
        free(m);
    }
    tc_vec_free(&x->mems);
    tc_vec_free(&x->code);
    tc_vec_free(&x->perm);
    tc_vec_free(&x->memo);
    tc_vec_free(&x->stack);
    tc_map_free(&x->perm_slot);
    free(x->temp);
}

static tc_status interpret(const tc_func *f, void *const *args, uint64_t shuffle_seed, bool in_part, tc_error *err) {
    tc_error mine = {0};
    interp x = {.f = f,
                .err = err ? err : &mine,
                .rng = tc_rng_seed(shuffle_seed),
                .shuffle = shuffle_seed != 0,
                .in_part = in_part,
                .next_iteration = 1};
    workspace w[2];
    tc_arena *a = tc_arena_new();
    bool ok = make_memory(&x, w, args);
    if (ok) {
        xstmt *body = compile(&x, a, f->body);
        set_symbols(&x, args);
        x.temp = tc_xcalloc((size_t)x.max_temp + 1, sizeof *x.temp);
        ok = run(&x, body) && (in_part || check_outputs(&x));
    }
    release(&x);
    tc_arena_free(a);
    return ok ? TC_OK : TC_BAD_INPUT;
}

tc_status tc_tir_interp_shuffled(const tc_func *f, void *const *args, uint64_t shuffle_seed, tc_error *err) {
    return interpret(f, args, shuffle_seed, false, err);
}

tc_status tc_tir_interp_in_part(const tc_func *f, void *const *args, uint64_t shuffle_seed, tc_error *err) {
    return interpret(f, args, shuffle_seed, true, err);
}

tc_status tc_tir_interp(const tc_func *f, void *const *args, tc_error *err) {
    return tc_tir_interp_shuffled(f, args, 0, err);
}
