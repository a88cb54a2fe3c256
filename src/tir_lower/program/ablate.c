/* Implements ablate.h: the table of parts, and the checks that all parts share. The parts are in ablate_nest.c, ablate_value.c,
 * ablate_stores.c and ablate_memory.c. */
#include "tir_lower/program/ablate.h"

#include <string.h>

#include "tir_lower/passes/pass.h"
#include "tir_lower/program/ablate_int.h"
#include "tir_lower/verify/verify.h"

typedef enum stage { NEST, LOWERED } stage;

typedef struct part {
    const char *text;
    stage stage;
    ablate_part *run;
    const char *what, *lacks;
} part;

static const part PARTS[TC_TIR_NPARTS] = {
#define PART(id, text, stage, run, what, lacks) {text, stage, ablate_##run, what, lacks},
#include "tir_lower/program/ablate.def"
#undef PART
};

const char *tc_tir_part_text(tc_tir_part p) {
    return PARTS[p].text;
}

const char *tc_tir_part_left(tc_tir_part p) {
    return PARTS[p].what;
}

bool tc_tir_part_parse(const char *text, tc_tir_part *out) {
    for (int i = 0; i < TC_TIR_NPARTS; i++)
        if (strcmp(PARTS[i].text, text) == 0) {
            *out = (tc_tir_part)i;
            return true;
        }
    return false;
}

/* ---- what is known of a program ---- */

static void note_loops(ablation *k, const tc_stmt *s, int depth, bool of_unit) {
    const tc_stmt *inside;
    if (s->kind == TC_STMT_FOR) {
        of_unit |= s->u.loop.unit != NULL;
        tc_map_put(&k->loop_at, s->u.loop.var->id, k->loops.len);
        tc_push(&k->loops, ((ablate_loop){s, depth, of_unit}));
        tc_env_set(k->env, s->u.loop.var, tir_loop_range(s->u.loop.extent, k->env));
        depth++;
    }
    for (int i = 0; (inside = tc_tir_child(s, i)); i++)
        note_loops(k, inside, depth, of_unit);
}

static void fix_load(const tc_expr *e, void *user) {
    ablation *k = user;
    if (e->op == TC_OP_LOAD)
        tc_map_put(&k->fixed, e->u.buffer->id, 1);
}

/* What indices and masks of loads are made of. */
static void fix_addresses(const tc_expr *e, void *user) {
    if (e->op == TC_OP_LOAD)
        for (int i = 0; i < e->nargs; i++)
            tc_expr_walk(e->args[i], fix_load, user);
}

static void fix_what_decides(const tc_stmt *s, void *user) {
    const tc_expr *own[TC_TIR_MAX_EXPRS];
    int n = tc_tir_exprs(s, own);
    for (int i = 0; i < n; i++) {
        if (s->kind == TC_STMT_STORE && own[i] == s->u.store.value)
            tc_expr_walk(own[i], fix_addresses, user);
        else
            tc_expr_walk(own[i], fix_load, user);
    }
}

/* A tile instruction joins what it touches. */
static void fix_tiles(ablation *k, const tc_tile_stmt *t) {
    bool any = t->memory && ablate_is_fixed(k, t->memory);
    for (int i = 0; i < 3 && t->tile[i]; i++)
        any |= ablate_is_fixed(k, t->tile[i]);
    for (int i = 0; any && i < 3 && t->tile[i]; i++)
        tc_map_put(&k->fixed, t->tile[i]->id, 1);
    if (any && t->memory)
        tc_map_put(&k->fixed, t->memory->id, 1);
}

static void fix_sources(const tc_stmt *s, void *user) {
    ablation *k = user;
    if (s->kind == TC_STMT_INTRIN)
        fix_tiles(k, &s->u.intrin);
    else if (s->kind == TC_STMT_STORE && ablate_is_fixed(k, s->u.store.buffer))
        tc_expr_walk(s->u.store.value, fix_load, k);
}

void ablate_open(ablation *k, tc_ctx *c, const tc_machine *m, const tc_func *f) {
    *k = (ablation){.c = c, .m = m, .f = f, .env = tc_env_new()};
    if (!f->body)
        return;
    note_loops(k, f->body, 0, false);
    tc_tir_walk(f->body, fix_what_decides, k);
    for (size_t before = SIZE_MAX; before != k->fixed.len;) {
        before = k->fixed.len;
        tc_tir_walk(f->body, fix_sources, k);
    }
}

void ablate_close(ablation *k) {
    tc_env_free(k->env);
    tc_vec_free(&k->loops);
    tc_map_free(&k->loop_at);
    tc_map_free(&k->fixed);
}

tc_func *ablate_with_body(const ablation *k, const tc_stmt *body) {
    return body == k->f->body ? (tc_func *)(uintptr_t)k->f : tir_with_body(k->c, k->f, body);
}

const ablate_loop *ablate_loop_of(const ablation *k, const tc_var *v) {
    const uintptr_t *at = tc_map_get(&k->loop_at, v->id);
    return at ? &k->loops.data[*at] : NULL;
}

bool ablate_is_fixed(const ablation *k, const tc_buffer *b) {
    return tc_map_get(&k->fixed, b->id) != NULL;
}

bool ablate_within(const ablation *k, const tc_buffer *b, const tc_expr *index) {
    if (tc_expr_touches_memory(index))
        return false;
    tc_ival r = tc_te_bounds(index, k->env);
    return tc_ival_bounded(r) && r.lo >= 0 && r.hi < (tc_tir_varies(b) ? tc_tir_least_size(b) : b->size);
}

typedef struct own {
    const tc_buffer *buffer;
    const tc_expr *index;
} own;

static bool loads_own(const tc_expr *e, const void *user) {
    const own *o = user;
    return e->op == TC_OP_LOAD && e->u.buffer == o->buffer && e->args[0] == o->index;
}

bool ablate_accumulates(const tc_stmt *s) {
    return tc_expr_any(s->u.store.value, loads_own, &(own){s->u.store.buffer, s->u.store.index});
}

const tc_buffer *ablate_stored(const tc_stmt *s) {
    if (s->kind == TC_STMT_STORE)
        return s->u.store.buffer;
    return s->kind == TC_STMT_INTRIN && s->u.intrin.op == TC_TILE_STORE ? s->u.intrin.memory : NULL;
}

int64_t ablate_tile_span(const tc_tile_stmt *t) {
    return (tc_tir_tile_rows(t->tile[0]) - 1) * t->stride + t->tile[0]->reg_lanes - 1;
}

/* ---- leaving parts out ---- */

static tc_status without_part(tc_ctx *c, const tc_machine *m, const part *p, tc_func **f, tc_error *err) {
    ablation k;
    ablate_open(&k, c, m, *f);
    tc_func *r = (*f)->body ? p->run(&k) : *f;
    ablate_close(&k);
    if (r == *f)
        return tc_fail(err, TC_ILLEGAL, "the program has no %s to leave out: %s", p->text, p->lacks);
    if (!r->body)
        return tc_fail(err, TC_ILLEGAL, "without %s nothing is left of the program", p->text);
    *f = r;
    return TC_OK;
}

static tc_status ablate(tc_ctx *c, const tc_machine *m, const tc_func *f, stage of, unsigned without, tc_func **out,
                        tc_error *err) {
    tc_func *r = (tc_func *)(uintptr_t)f;
    for (int i = 0; i < TC_TIR_NPARTS; i++)
        if (PARTS[i].stage == of && (without & TC_TIR_WITHOUT(i)))
            TC_TRY(without_part(c, m, &PARTS[i], &r, err));
    *out = r;
    tc_status s = r == f ? TC_OK : tc_tir_verify(c, r, err);
    if (s != TC_OK)
        tc_error_prefix(err, "the rest of the program may reach outside its buffers: ");
    return s;
}

tc_status tc_tir_ablate_nest(tc_ctx *c, const tc_machine *machine, const tc_func *nest, unsigned without, tc_func **out,
                             tc_error *err) {
    return ablate(c, machine, nest, NEST, without, out, err);
}

tc_status tc_tir_ablate(tc_ctx *c, const tc_machine *machine, const tc_func *lowered, unsigned without, tc_func **out,
                        tc_error *err) {
    return ablate(c, machine, lowered, LOWERED, without, out, err);
}

tc_status tc_tir_program_without(tc_ctx *c, const tc_tir_origin *from, unsigned without, tc_tir_program *p, tc_error *err) {
    tc_func *nest;
    if (without & ~TC_TIR_ALL_PARTS)
        return tc_fail(err, TC_BAD_INPUT, "unknown parts to leave out: %#x; the known parts are %#x", without, TC_TIR_ALL_PARTS);
    TC_TRY(tc_tir_program_make(c, from, TC_TIR_HASH | (without ? 0 : TC_TIR_LOWERED), p, err));
    if (!without)
        return TC_OK;
    TC_TRY(tc_tir_ablate_nest(c, from->machine, p->nest, without, &nest, err));
    TC_TRY(tc_tir_lower(c, from->machine, nest, from->dump, &p->lowered, err));
    return tc_tir_ablate(c, from->machine, p->lowered, without, &p->lowered, err);
}
