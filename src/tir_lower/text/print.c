/* Text form of TIR. parse.c reads it back exactly: parse(print(f)) prints the same.
 *
 *     func main
 *     symbol N 1..128                           # sizes that vary; arrays that have them say all of theirs
 *     param X f32[98304] in 0 align 64
 *     param Z f32[98304] of (N, 768) in 1 align 64
 *     param Wp f32[2359296] packed 1 (k, j) -> (j / 64, k, j % 64) align 64
 *     param Y f32[393216] out 0 align 64
 *     workspace shared 0 thread 1536            # after storage assignment only, as is `place`
 *     place acc 0
 *     body
 *     parallel t in 352 {
 *       alloc acc f32[384] thread align 64 local {
 *         for k in 768 reduce {
 *           if guard 6 * io + ii < 128 {
 *             acc[64 * ii + ji] = acc[64 * ii + ji] + X[768 * ii + k] * Wp[ji]
 *           }
 *         }
 *         Y[ramp(64 * t, 1, 16)] if bcast(t < 3, 16) = acc[ramp(0, 1, 16)]
 *       }
 *     }
 *
 * A unit's loops are `tensor i in 16 unit amx_u8s8 {`; only the outermost loop has the unit's name. Statements of tiles are
 * `tile zero T`, `tile load T X[index] by 768`, `tile store T Y[index] by 32`, `tile amx_u8s8 T A B`. Expressions are those of
 * te/text.h. A masked load is B[index, mask: m]. A name is unique among the names in scope; a second `i` within a loop `i` is
 * printed as i_1. */
#include "tir_lower/text/text.h"
#include "tir_lower/tir.h"

#include <stdio.h>
#include <string.h>

#include "support/vec.h"

typedef struct scoped {
    const tc_var *var;
    const char *name;
    char own[96]; /* storage of a name that had to be made */
} scoped;

typedef struct printer {
    tc_strbuf *b;
    TC_VEC(scoped *) scope;
    tc_map *lines;  /* of statements, by address; NULL: nobody asked */
    int line;       /* that `counted` lies on */
    size_t counted; /* bytes of b */
} printer;

static const char *var_name(const printer *p, const tc_var *v) {
    for (size_t i = p->scope.len; i-- > 0;)
        if (p->scope.data[i]->var == v)
            return p->scope.data[i]->name;
    return v->name;
}

static bool name_taken(const printer *p, const char *name) {
    static const char *const WORDS[] = {"true", "false", "inf", "nan"};
    for (size_t i = 0; i < TC_LEN(WORDS); i++)
        if (strcmp(name, WORDS[i]) == 0)
            return true;
    for (size_t i = 0; i < p->scope.len; i++)
        if (strcmp(p->scope.data[i]->name, name) == 0)
            return true;
    return false;
}

static void enter(printer *p, const tc_var *v) {
    scoped *s = tc_xcalloc(1, sizeof *s);
    s->var = v;
    s->name = v->name;
    for (int i = 1; name_taken(p, s->name); i++) {
        snprintf(s->own, sizeof s->own, "%.80s_%d", v->name, i);
        s->name = s->own;
    }
    tc_push(&p->scope, s);
}

static void leave(printer *p) {
    free(p->scope.data[--p->scope.len]);
}

static const char *node_name(void *user, const tc_expr *e) {
    if (e->op == TC_OP_VAR)
        return var_name(user, e->u.var);
    return e->op == TC_OP_READ ? e->u.tensor->name : e->u.buffer->name;
}

static void expr(printer *p, const tc_expr *e) {
    tc_expr_print_named(p->b, e, node_name, p);
}

static void buffer(tc_strbuf *b, const tc_buffer *f) {
    tc_sb_printf(b, "%s %s[%lld]", f->name, tc_dtype_name(f->dtype), (long long)f->size);
}

static void buffer_facts(tc_strbuf *b, const tc_buffer *f) {
    tc_sb_printf(b, " align %d", f->align);
    if (f->reg_lanes != 1)
        tc_sb_printf(b, " lanes %d", f->reg_lanes);
    if (f->local)
        tc_sb_add(b, " local");
}

static void stmt(printer *p, const tc_stmt *s, int indent);

static void block(printer *p, const tc_stmt *s, int indent) {
    tc_sb_add(p->b, " {\n");
    if (s)
        stmt(p, s, indent + 2);
    tc_sb_indent(p->b, indent);
    tc_sb_addc(p->b, '}');
}

static void for_stmt(printer *p, const tc_stmt *s, int indent) {
    tc_strbuf *b = p->b;
    tc_strbuf extent = {0};
    p->b = &extent; /* the extent is read outside of the loop's scope */
    expr(p, s->u.loop.extent);
    p->b = b;
    enter(p, s->u.loop.var);
    tc_sb_printf(b, "%s %s in %s%s", tc_for_info_of(s->u.loop.kind)->text, var_name(p, s->u.loop.var), tc_sb_str(&extent),
                 s->u.loop.reduce ? " reduce" : "");
    if (s->u.loop.unit)
        tc_sb_printf(b, " unit %s", s->u.loop.unit->text);
    tc_strbuf_free(&extent);
    block(p, s->u.loop.body, indent);
    tc_sb_addc(b, '\n');
    leave(p);
}

static void if_stmt(printer *p, const tc_stmt *s, int indent) {
    tc_sb_add(p->b, s->u.cond.guard ? "if guard " : "if ");
    expr(p, s->u.cond.cond);
    block(p, s->u.cond.then, indent);
    if (s->u.cond.otherwise) {
        tc_sb_add(p->b, " else");
        block(p, s->u.cond.otherwise, indent);
    }
    tc_sb_addc(p->b, '\n');
}

static void store_stmt(printer *p, const tc_stmt *s) {
    tc_sb_printf(p->b, "%s[", s->u.store.buffer->name);
    expr(p, s->u.store.index);
    tc_sb_addc(p->b, ']');
    if (s->u.store.mask) {
        tc_sb_add(p->b, " if ");
        expr(p, s->u.store.mask);
    }
    tc_sb_add(p->b, " = ");
    expr(p, s->u.store.value);
    tc_sb_addc(p->b, '\n');
}

static void alloc_stmt(printer *p, const tc_stmt *s, int indent) {
    const tc_buffer *f = s->u.alloc.buffer;
    tc_sb_add(p->b, "alloc ");
    buffer(p->b, f);
    tc_sb_printf(p->b, " %s", tc_tir_scope(f->scope)->text);
    buffer_facts(p->b, f);
    block(p, s->u.alloc.body, indent);
    tc_sb_addc(p->b, '\n');
}

static void prefetch_stmt(printer *p, const tc_stmt *s) {
    tc_sb_printf(p->b, "prefetch %s[", s->u.prefetch.buffer->name);
    expr(p, s->u.prefetch.index);
    tc_sb_add(p->b, "]\n");
}

static void intrin_stmt(printer *p, const tc_tile_stmt *t) {
    static const char *const OPS[] = {[TC_TILE_ZERO] = "zero", [TC_TILE_LOAD] = "load", [TC_TILE_STORE] = "store"};
    tc_sb_printf(p->b, "tile %s", t->unit ? t->unit->text : OPS[t->op]);
    for (int i = 0; i < 3 && t->tile[i]; i++)
        tc_sb_printf(p->b, " %s", t->tile[i]->name);
    if (t->memory) {
        tc_sb_printf(p->b, " %s[", t->memory->name);
        expr(p, t->index);
        tc_sb_printf(p->b, "] by %lld", (long long)t->stride);
    }
    tc_sb_addc(p->b, '\n');
}

static void note_line(printer *p, const tc_stmt *s) {
    for (; p->counted < p->b->len; p->counted++)
        p->line += p->b->data[p->counted] == '\n';
    if (!tc_map_get(p->lines, (uintptr_t)s))
        tc_map_put(p->lines, (uintptr_t)s, (uintptr_t)p->line);
}

static void stmt(printer *p, const tc_stmt *s, int indent) {
    if (s->kind == TC_STMT_SEQ) {
        for (int i = 0; i < s->u.seq.n; i++)
            stmt(p, s->u.seq.s[i], indent);
        return;
    }
    if (p->lines)
        note_line(p, s);
    tc_sb_indent(p->b, indent);
    switch (s->kind) {
    case TC_STMT_FOR:
        for_stmt(p, s, indent);
        return;
    case TC_STMT_IF:
        if_stmt(p, s, indent);
        return;
    case TC_STMT_STORE:
        store_stmt(p, s);
        return;
    case TC_STMT_ALLOC:
        alloc_stmt(p, s, indent);
        return;
    case TC_STMT_PREFETCH:
        prefetch_stmt(p, s);
        return;
    case TC_STMT_INTRIN:
        intrin_stmt(p, &s->u.intrin);
        return;
    case TC_STMT_SEQ:
    case TC_NSTMTS:
        return;
    }
}

static void print_layout(printer *p, const tc_layout *l) {
    tc_sb_add(p->b, " (");
    for (int i = 0; i < l->nin; i++)
        tc_sb_printf(p->b, "%s%s", i ? ", " : "", l->var[i]->name);
    tc_sb_add(p->b, ") -> (");
    for (int i = 0; i < l->nout; i++) {
        if (i)
            tc_sb_add(p->b, ", ");
        expr(p, l->to[i]);
    }
    tc_sb_addc(p->b, ')');
}

static void print_dims(printer *p, const tc_buffer *f) {
    for (int d = 0; d < f->tensor->ndim; d++) {
        tc_sb_add(p->b, d ? ", " : " of (");
        if (f->tensor->symbol[d] && f->tensor->symbol[d]->value)
            expr(p, f->tensor->symbol[d]->value);
        else if (f->tensor->symbol[d])
            tc_sb_add(p->b, var_name(p, f->tensor->symbol[d]));
        else
            tc_sb_printf(p->b, "%lld", (long long)f->tensor->shape[d]);
    }
    tc_sb_addc(p->b, ')');
}

static void print_param(printer *p, const tc_param *a) {
    static const char *const KIND[] = {[TC_PARAM_IN] = "in", [TC_PARAM_PACKED] = "packed", [TC_PARAM_OUT] = "out"};
    tc_sb_add(p->b, "param ");
    buffer(p->b, a->buffer);
    if (tc_tir_varies(a->buffer))
        print_dims(p, a->buffer);
    tc_sb_printf(p->b, " %s %d", KIND[a->kind], a->index);
    if (a->kind == TC_PARAM_PACKED)
        print_layout(p, a->layout);
    if (a->ahead)
        tc_sb_printf(p->b, " ahead %lld", (long long)a->ahead);
    buffer_facts(p->b, a->buffer);
    tc_sb_add(p->b, a->overlaps ? " overlaps\n" : "\n");
}

void tc_tir_print_lines(tc_strbuf *b, const tc_func *f, int first, tc_map *lines) {
    printer p = {.b = b, .lines = lines, .line = first, .counted = b->len};
    tc_sb_printf(b, "func %s\n", f->name);
    for (int i = 0; i < f->nsymbol; i++) {
        enter(&p, f->symbols[i]);
        tc_sb_printf(b, "symbol %s %lld..%lld\n", var_name(&p, f->symbols[i]), (long long)f->symbols[i]->least,
                     (long long)f->symbols[i]->most);
    }
    for (int i = 0; i < f->nparam; i++)
        print_param(&p, &f->params[i]);
    if (f->place) {
        tc_sb_printf(b, "workspace shared %lld thread %lld\n", (long long)f->shared_bytes, (long long)f->thread_bytes);
        for (int i = 0; i < f->nplace; i++)
            tc_sb_printf(b, "place %s %lld\n", f->place[i].buffer->name, (long long)f->place[i].offset);
    }
    tc_sb_add(b, "body\n");
    if (f->body)
        stmt(&p, f->body, 0);
    while (p.scope.len)
        leave(&p);
    tc_vec_free(&p.scope);
}

void tc_tir_print(tc_strbuf *b, const tc_func *f) {
    tc_tir_print_lines(b, f, 1, NULL);
}

void tc_tir_print_stmt(tc_strbuf *b, const tc_stmt *s, int indent) {
    printer p = {.b = b};
    if (s)
        stmt(&p, s, indent);
    tc_vec_free(&p.scope);
}
