/* Storage: every buffer gets its place.
 *
 *     alloc T f32[98304] { ... }   =>   alloc T f32[98304] shared { ... }      place T 0
 *
 * Registers stay registers. A small buffer goes to the stack, unless threads share it. Other buffers go to a workspace: the
 * thread's own workspace if the buffer is allocated inside a parallel loop, otherwise the shared one. Buffers reuse workspace. A
 * buffer lives from its first to its last access; each access counts as the outermost loop around it inside the buffer's
 * allocation. Buffers may overlap if their lives do not. Needs: REGISTERS. Gives: PLACED. */
#include "tir_lower/passes/pass.h"

#include <string.h>

enum {
    MAX_STACK_TOTAL = 32768, /* bytes at one time: a worker's stack is small, and so is the L1 cache */
    ALIGN = 64
};

typedef struct life {
    const tc_buffer *buffer, *placed;
    int64_t bytes;
    int loops, parallels; /* around the allocation */
    int64_t first, last;  /* times of access */
    bool open;            /* accessed in a loop that has not ended */
    bool crosses;         /* accessed from a parallel loop inside its allocation */
    tc_buf_scope scope;
    int64_t offset;
} life;

typedef struct storage {
    tc_map at; /* buffer -> position in lives */
    TC_VEC(life) lives;
    TC_VEC(int64_t) loops; /* start times of the loops around */
    int parallels;
    int64_t now, stack;
} storage;

static void touch(storage *k, const tc_buffer *b) {
    uintptr_t *at = tc_map_get(&k->at, b->id);
    if (!at)
        return;
    life *l = &k->lives.data[*at];
    bool inner = (int)k->loops.len > l->loops;
    l->first = TC_MIN(l->first, inner ? k->loops.data[l->loops] : k->now);
    l->last = TC_MAX(l->last, k->now);
    l->open |= inner;
    l->crosses |= k->parallels > l->parallels;
}

static void touch_loads(const tc_expr *e, void *user) {
    if (e->op == TC_OP_LOAD)
        touch(user, e->u.buffer);
}

static void touch_expr(storage *k, const tc_expr *e) {
    if (e && e->nargs)
        tc_expr_walk(e, touch_loads, k);
}

static void visit(storage *k, const tc_stmt *s);

static void visit_for(storage *k, const tc_stmt *s) {
    touch_expr(k, s->u.loop.extent);
    k->now++;
    tc_push(&k->loops, k->now);
    k->parallels += s->u.loop.kind == TC_FOR_PARALLEL;
    visit(k, s->u.loop.body);
    k->parallels -= s->u.loop.kind == TC_FOR_PARALLEL;
    k->loops.len--;
    for (size_t i = 0; i < k->lives.len; i++) {
        life *l = &k->lives.data[i];
        if (!l->open || l->loops != (int)k->loops.len)
            continue;
        l->last = k->now;
        l->open = false;
    }
    k->now++;
}

static void visit_alloc(storage *k, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    if (!tc_tir_scope(b->scope)->addressed) {
        visit(k, s->u.alloc.body);
        return;
    }
    size_t me = k->lives.len;
    int64_t bytes = b->size * tc_dtype_bytes(b->dtype);
    bool small = bytes <= tc_tir_scope(TC_BUF_STACK)->most && k->stack + bytes <= MAX_STACK_TOTAL;
    tc_push(&k->lives,
            ((life){.buffer = b, .bytes = bytes, .loops = (int)k->loops.len, .parallels = k->parallels, .first = INT64_MAX}));
    tc_map_put(&k->at, b->id, me);
    k->stack += small ? bytes : 0;
    visit(k, s->u.alloc.body);
    k->stack -= small ? bytes : 0;
    life *l = &k->lives.data[me];
    l->scope = small && !l->crosses ? TC_BUF_STACK : l->parallels ? TC_BUF_THREAD : TC_BUF_SHARED;
}

static void visit_store(storage *k, const tc_stmt *s) {
    k->now++;
    touch(k, s->u.store.buffer);
    touch_expr(k, s->u.store.index);
    touch_expr(k, s->u.store.value);
    touch_expr(k, s->u.store.mask);
}

static void visit_intrin(storage *k, const tc_stmt *s) {
    k->now++;
    if (s->u.intrin.memory)
        touch(k, s->u.intrin.memory);
    touch_expr(k, s->u.intrin.index);
}

static void visit(storage *k, const tc_stmt *s) {
    const tc_stmt *inside;
    if (s->kind == TC_STMT_FOR) {
        visit_for(k, s);
    } else if (s->kind == TC_STMT_ALLOC) {
        visit_alloc(k, s);
    } else if (s->kind == TC_STMT_STORE) {
        visit_store(k, s);
    } else if (s->kind == TC_STMT_INTRIN) {
        visit_intrin(k, s);
    } else {
        if (s->kind == TC_STMT_IF)
            touch_expr(k, s->u.cond.cond);
        for (int i = 0; (inside = tc_tir_child(s, i)); i++)
            visit(k, inside);
    }
}

/* ---- offsets: largest first, each at the lowest offset that no overlapping life occupies ---- */

static int by_size(const void *a, const void *b) {
    const life *x = *(life *const *)a, *y = *(life *const *)b;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? 1 : -1;
    return x->buffer->id < y->buffer->id ? -1 : x->buffer->id > y->buffer->id;
}

static int64_t aligned(int64_t n) {
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static bool clash(const life *a, const life *b) {
    return a->scope == b->scope && a->first <= b->last && b->first <= a->last;
}

static int64_t lowest(life *const *order, size_t n, const life *l) {
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; i++) {
            const life *o = order[i];
            if (!clash(o, l) || o->offset >= at + l->bytes || at >= o->offset + o->bytes)
                continue;
            at = aligned(o->offset + o->bytes);
            moved = true;
        }
    }
    return at;
}

static void assign_offsets(tc_ctx *c, storage *k, tc_func *f) {
    life **order = TC_NEW_N(tc_ctx_arena(c), life *, k->lives.len);
    tc_placement *place = TC_NEW_N(tc_ctx_arena(c), tc_placement, k->lives.len + 1);
    size_t n = 0;
    for (size_t i = 0; i < k->lives.len; i++)
        if (tc_tir_scope(k->lives.data[i].scope)->workspace)
            order[n++] = &k->lives.data[i];
    qsort(order, n, sizeof(life *), by_size);
    for (size_t i = 0; i < n; i++) {
        life *l = order[i];
        l->offset = lowest(order, i, l);
        int64_t *total = tc_tir_scope(l->scope)->shared ? &f->shared_bytes : &f->thread_bytes;
        *total = TC_MAX(*total, aligned(l->offset + l->bytes));
        place[i] = (tc_placement){l->placed, l->offset};
    }
    f->place = place;
    f->nplace = (int)n;
}

/* Buffers are immutable: those whose scope changes are replaced throughout. */
static const tc_stmt *replace_buffers(tc_ctx *c, storage *k, const tc_stmt *body) {
    tir_copier copy = {.c = c};
    for (size_t i = 0; i < k->lives.len; i++) {
        life *l = &k->lives.data[i];
        l->placed = l->buffer;
        if (l->scope == l->buffer->scope)
            continue;
        tc_buffer *b = tc_arena_dup(tc_ctx_arena(c), l->buffer, sizeof *b);
        b->scope = l->scope;
        b->id = tc_ctx_next_id(c);
        l->placed = b;
        tc_push(&copy.bufs, ((tir_rename){l->buffer, b}));
    }
    if (copy.bufs.len)
        body = tir_copy_stmt(&copy, body);
    tir_copier_free(&copy);
    return body;
}

tc_status tir_pass_storage(tc_ctx *c, const tc_machine *m, const tc_func *in, tc_func **out, tc_error *err) {
    (void)m;
    (void)err;
    storage k = {0};
    tc_func *f = tir_with_body(c, in, in->body);
    f->shared_bytes = f->thread_bytes = 0;
    if (in->body) {
        visit(&k, in->body);
        f->body = replace_buffers(c, &k, in->body);
    }
    assign_offsets(c, &k, f);
    *out = f;
    tc_map_free(&k.at);
    tc_vec_free(&k.lives);
    tc_vec_free(&k.loops);
    return TC_OK;
}
