/* Statements in C. A vector's store is a loop over its lanes. */
#include <inttypes.h>
#include <stdio.h>

#include "codegen/c_source/c_source_int.h"

int64_t tc_cgc_round64(int64_t n) {
    return (n + 63) / 64 * 64;
}

typedef struct other_reads {
    const tc_buffer *buffer;
    const tc_expr *index;
    bool found;
} other_reads;

static void find_reads(const tc_expr *e, void *user) {
    other_reads *o = user;
    if (e->op == TC_OP_LOAD && e->u.buffer == o->buffer && e->args[0] != o->index)
        o->found = true;
}

static void put(tc_cgc_writer *w, const tc_stmt *s, const char *value) {
    const char *lane = s->u.store.index->lanes > 1 ? "l" : "0";
    const tc_buffer *b = s->u.store.buffer;
    tc_cgc_line(w, "%s", "");
    if (s->u.store.mask) {
        tc_cgc_text(w, "if (0 != ");
        tc_cgc_expr(w, s->u.store.mask, lane);
        tc_cgc_text(w, ") ");
    }
    tc_cgc_buffer(w, b);
    tc_cgc_text(w, "[");
    tc_cgc_expr(w, s->u.store.index, lane);
    tc_cgc_text(w, "] = ");
    if (tc_cgc_is_narrow(b->dtype))
        tc_cgc_text(w, "tc_to_%s", tc_dtype_name(b->dtype));
    tc_cgc_text(w, "(");
    if (b->dtype == TC_BOOL)
        tc_cgc_text(w, "0 != ");
    if (value)
        tc_cgc_text(w, "%s", value);
    else
        tc_cgc_expr(w, s->u.store.value, lane);
    tc_cgc_text(w, ");\n");
}

static void open_lanes(tc_cgc_writer *w, int lanes) {
    if (lanes > 1)
        tc_cgc_line(w, "for (int64_t l = 0; l < %d; l++) {\n", lanes);
    else
        tc_cgc_line(w, "{\n");
    w->indent++;
}

static void close_lanes(tc_cgc_writer *w) {
    w->indent--;
    tc_cgc_line(w, "}\n");
    tc_cgc_forget(w);
}

/* A vector that is made of other places of the buffer it goes to is complete before any of it is stored. */
static void store(tc_cgc_writer *w, const tc_stmt *s) {
    int lanes = s->u.store.index->lanes;
    bool masked = s->u.store.mask != NULL;
    const char *lane = lanes > 1 ? "l" : "0";
    other_reads o = {s->u.store.buffer, s->u.store.index, false};
    tc_expr_walk(s->u.store.value, find_reads, &o);
    bool apart = o.found && lanes > 1;
    if (masked)
        tc_cgc_note(w, s->u.store.mask, true);
    tc_cgc_note(w, s->u.store.value, !masked);
    if (!apart)
        tc_cgc_note(w, s->u.store.index, !masked);
    if (apart) {
        tc_cgc_line(w, "{\n");
        w->indent++;
        tc_cgc_line(w, "%s all[%d];\n", tc_cgc_value_type(s->u.store.buffer->dtype), lanes);
        w->stack += tc_cgc_round64(8 * (int64_t)lanes);
    }
    open_lanes(w, lanes);
    tc_cgc_name_values(w, lane);
    if (apart) {
        tc_cgc_line(w, "all[l] = ");
        if (masked) {
            tc_cgc_expr(w, s->u.store.mask, lane);
            tc_cgc_text(w, " ? ");
        }
        tc_cgc_expr(w, s->u.store.value, lane);
        tc_cgc_text(w, masked ? " : 0;\n" : ";\n");
        close_lanes(w);
        open_lanes(w, lanes);
    }
    put(w, s, apart ? "all[l]" : NULL);
    close_lanes(w);
    if (apart) {
        w->indent--;
        tc_cgc_line(w, "}\n");
    }
}

static void scalar(tc_cgc_writer *w, const tc_expr *e) {
    tc_cgc_forget(w);
    tc_cgc_expr(w, e, "0");
}

/* Each thread of a team flushes for itself, and shares the loop that follows. Returns the team's number, 0: there is none. */
static int open_team(tc_cgc_writer *w, bool parallel) {
    if (!parallel || w->nthreads <= 1)
        return 0;
    int team = ++w->teams;
    tc_cgc_text(w, "#ifdef _OPENMP\n#pragma omp parallel num_threads(tc_team(%d))\n#endif\n", w->nthreads);
    tc_cgc_line(w, "{\n");
    w->indent++;
    tc_cgc_line(w, "const unsigned before%d = tc_begin_flush();\n", team);
    tc_cgc_text(w, "#ifdef _OPENMP\n#pragma omp for schedule(static)\n#endif\n");
    return team;
}

static void close_team(tc_cgc_writer *w, int team) {
    if (!team)
        return;
    tc_cgc_line(w, "tc_end_flush(before%d);\n", team);
    w->indent--;
    tc_cgc_line(w, "}\n");
}

static void loop(tc_cgc_writer *w, const tc_stmt *s) {
    const tc_var *v = s->u.loop.var;
    const char *outer = w->thread;
    char inner[32];
    bool parallel = s->u.loop.kind == TC_FOR_PARALLEL;
    if (s->u.loop.kind != TC_FOR_SERIAL && !parallel) {
        tc_cgc_fail(w, "a loop that has not been unrolled");
        return;
    }
    int team = open_team(w, parallel);
    tc_cgc_line(w, "for (int64_t ");
    tc_cgc_name(w, v->name, v->id);
    tc_cgc_text(w, " = 0; ");
    tc_cgc_name(w, v->name, v->id);
    tc_cgc_text(w, " < ");
    scalar(w, s->u.loop.extent);
    tc_ival n = tc_te_bounds(s->u.loop.extent, w->env);
    tc_env_set(w->env, v, (tc_ival){0, n.hi == TC_INF ? TC_INF : TC_MAX(n.hi - 1, 0)});
    tc_cgc_text(w, "; ");
    tc_cgc_name(w, v->name, v->id);
    tc_cgc_text(w, "++) {\n");
    w->indent++;
    if (parallel) {
        snprintf(inner, sizeof inner, "thread%d", ++w->regions);
        tc_cgc_line(w, "uint8_t *const %s = thread0 + (int64_t)TC_THREAD * %" PRId64 ";\n", inner,
                    w->nthreads > 1 ? tc_cgc_round64(w->f->thread_bytes) : (int64_t)0);
        tc_cgc_line(w, "(void)%s;\n", inner);
        w->thread = inner;
    }
    tc_cgc_stmt(w, s->u.loop.body);
    w->thread = outer;
    w->indent--;
    tc_cgc_line(w, "}\n");
    close_team(w, team);
}

static void alloc(tc_cgc_writer *w, const tc_stmt *s) {
    const tc_buffer *b = s->u.alloc.buffer;
    int64_t at = -1;
    for (int i = 0; i < w->f->nplace; i++)
        if (w->f->place[i].buffer == b)
            at = w->f->place[i].offset;
    tc_cgc_line(w, "{\n");
    w->indent++;
    if (!tc_tir_scope(b->scope)->workspace) {
        tc_cgc_line(w, "_Alignas(64) tc_%s ", tc_dtype_name(b->dtype));
        tc_cgc_buffer(w, b);
        tc_cgc_text(w, "[%" PRId64 "];\n", b->size);
        tc_cgc_line(w, "(void)"); /* a body for some sizes may only write it, of which compilers warn */
        tc_cgc_buffer(w, b);
        tc_cgc_text(w, ";\n");
        w->stack += tc_cgc_round64(b->size * tc_dtype_bytes(b->dtype));
    } else if (at < 0) {
        tc_cgc_fail(w, "a buffer that has no place in the workspace");
    } else {
        tc_cgc_line(w, "tc_%s *const ", tc_dtype_name(b->dtype));
        tc_cgc_buffer(w, b);
        tc_cgc_text(w, " = (tc_%s *)(void *)(%s + %" PRId64 ");\n", tc_dtype_name(b->dtype),
                    b->scope == TC_BUF_SHARED ? "shared" : w->thread, at);
    }
    tc_cgc_stmt(w, s->u.alloc.body);
    w->indent--;
    tc_cgc_line(w, "}\n");
}

static void branch(tc_cgc_writer *w, const tc_stmt *s) {
    tc_cgc_line(w, "if (0 != ");
    scalar(w, s->u.cond.cond);
    tc_cgc_text(w, ") {\n");
    w->indent++;
    if (s->u.cond.then)
        tc_cgc_stmt(w, s->u.cond.then);
    w->indent--;
    if (s->u.cond.otherwise) {
        tc_cgc_line(w, "} else {\n");
        w->indent++;
        tc_cgc_stmt(w, s->u.cond.otherwise);
        w->indent--;
    }
    tc_cgc_line(w, "}\n");
}

void tc_cgc_stmt(tc_cgc_writer *w, const tc_stmt *s) {
    if (w->status != TC_OK)
        return;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            tc_cgc_stmt(w, s->u.seq.s[i]);
        return;
    case TC_STMT_FOR:
        loop(w, s);
        return;
    case TC_STMT_IF:
        branch(w, s);
        return;
    case TC_STMT_STORE:
        store(w, s);
        return;
    case TC_STMT_ALLOC:
        alloc(w, s);
        return;
    case TC_STMT_INTRIN:
        tc_cgc_tile(w, &s->u.intrin);
        return;
    case TC_STMT_PREFETCH: /* a hint only */
    case TC_NSTMTS:
        return;
    }
}
