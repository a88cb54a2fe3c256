/* The builder of sketches: handles to steps of a trace, and the names of what they make. */
#include "search_space/build_int.h"
#include "support/strbuf.h"

#include <assert.h>
#include <string.h>

/* ---- lists ---- */

void tc_space_list(loop_list *l, loop_ref x) {
    assert(l->n < MAX_LOOPS);
    l->at[l->n++] = x;
}

void tc_space_list_all(loop_list *l, const loop_list *more) {
    for (int i = 0; i < more->n; i++)
        tc_space_list(l, more->at[i]);
}

void tc_space_list_axes(loop_list *l, stage_ref s, const tc_axis *axes, int n) {
    for (int i = 0; i < n; i++)
        tc_space_list(l, loop_of(s, &axes[i]));
}

/* ---- steps ---- */

static const char *loop_text(builder *b, loop_ref l) {
    return tc_arena_printf(b->arena, "%s.%s", l.stage.name, l.name);
}

/* `names` are what the step is about, `out` what it makes (NULL: nothing). */
static tc_instr *add(builder *b, tc_prim p, int n, const char *const *names, const char *out) {
    tc_instr step = {.prim = p, .nouts = out != NULL, .nnames = n};
    if (out)
        step.outs = tc_arena_dup(b->arena, &out, sizeof out);
    step.names = tc_arena_dup(b->arena, names, sizeof *names * (size_t)n);
    tc_push(&b->steps, step);
    return &b->steps.data[b->steps.len - 1];
}

static tc_instr *add_on_loop(builder *b, tc_prim p, loop_ref l, const char *out) {
    return add(b, p, 1, (const char *[]){loop_text(b, l)}, out);
}

static tc_instr *add_on_loops(builder *b, tc_prim p, const loop_list *l, const char *out) {
    const char *names[MAX_LOOPS];
    for (int i = 0; i < l->n; i++)
        names[i] = loop_text(b, l->at[i]);
    return add(b, p, l->n, names, out);
}

static tc_instr *add_on_stage(builder *b, tc_prim p, const char *stage, const char *out) {
    return add(b, p, 1, (const char *[]){tc_arena_strdup(b->arena, stage)}, out);
}

static void set_ints(builder *b, tc_instr *step, int n, const tc_int_arg *ints) {
    step->nints = n;
    step->ints = tc_arena_dup(b->arena, ints, sizeof *ints * (size_t)n);
}

static const char *decision_name(const builder *b, decision_ref d) {
    return b->steps.data[b->dec.data[d.id].step].outs[0];
}

static tc_int_arg number(int64_t value) {
    return (tc_int_arg){.kind = TC_ARG_LITERAL, .value = value, .part = -1};
}

static tc_int_arg number_of(const builder *b, factor f) {
    if (f.decision.id < 0)
        return number(f.value);
    return (tc_int_arg){.kind = TC_ARG_REF, .ref = decision_name(b, f.decision), .part = f.part};
}

void tc_space_continue(builder *b, const builder *from) {
    for (size_t i = 0; i < from->steps.len; i++)
        tc_push(&b->steps, from->steps.data[i]);
}

tc_trace tc_space_built(const builder *b) {
    return (tc_trace){.arena = b->arena, .n = (int)b->steps.len, .steps = b->steps.data};
}

void tc_space_builder_free(builder *b) {
    tc_vec_free(&b->steps);
    tc_vec_free(&b->dec);
}

/* ---- decisions ---- */

/* The next step makes it. */
static decision_ref new_decision(builder *b, role r, int anchor, int64_t extent, const char **name) {
    static const char *const letters[] = {
#define ROLE(id, text) [ROLE_##id] = text,
#include "search_space/roles.def"
#undef ROLE
    };
    *name = tc_arena_printf(b->arena, "%s%d", letters[r], b->unique++);
    tc_push(&b->dec, ((decision){.step = (int)b->steps.len, .role = r, .anchor = anchor, .extent = extent, .phase = 1}));
    return (decision_ref){(int)b->dec.len - 1};
}

decision_ref tc_space_sample_tile(builder *b, role r, int anchor, loop_ref l, int parts, int64_t max_inner, int64_t extent) {
    const char *name;
    decision_ref d = new_decision(b, r, anchor, extent, &name);
    set_ints(b, add_on_loop(b, TC_PRIM_SAMPLE_TILE, l, name), 2, (tc_int_arg[]){number(parts), number(max_inner)});
    return d;
}

decision_ref tc_space_sample_choice(builder *b, role r, int anchor, int n, const int64_t *values, int64_t extent) {
    const char *name;
    decision_ref d = new_decision(b, r, anchor, extent, &name);
    tc_int_arg *ints = TC_NEW_N(b->arena, tc_int_arg, n);
    for (int i = 0; i < n; i++)
        ints[i] = number(values[i]);
    tc_instr *step = add(b, TC_PRIM_SAMPLE_CATEGORICAL, 0, NULL, name);
    step->nints = n;
    step->ints = ints;
    return d;
}

decision *tc_space_decision(builder *b, decision_ref d) {
    return &b->dec.data[d.id];
}

/* ---- loops ---- */

void tc_space_split(builder *b, loop_ref l, const char *parts, const factor *inner, loop_ref *out) {
    int n = (int)strlen(parts);
    const char *names[TC_MAX_PARTS];
    tc_int_arg ints[TC_MAX_PARTS] = {{.kind = TC_ARG_INFER, .part = -1}};
    for (int i = 0; i < n; i++) {
        names[i] = tc_arena_printf(b->arena, "%s_%c", l.root, parts[i]);
        out[i] = (loop_ref){l.stage, names[i], l.root};
        if (i > 0)
            ints[i] = number_of(b, inner[i - 1]);
    }
    tc_instr *step = add_on_loop(b, TC_PRIM_SPLIT, l, NULL);
    step->nouts = n;
    step->outs = tc_arena_dup(b->arena, names, sizeof *names * (size_t)n);
    set_ints(b, step, n, ints);
}

loop_ref tc_space_fuse(builder *b, const loop_list *l, const char *name) {
    name = tc_arena_strdup(b->arena, name);
    add_on_loops(b, TC_PRIM_FUSE, l, name);
    return (loop_ref){l->at[0].stage, name, name};
}

void tc_space_reorder(builder *b, const loop_list *l) {
    add_on_loops(b, TC_PRIM_REORDER, l, NULL);
}

void tc_space_vectorize(builder *b, loop_ref l) {
    add_on_loop(b, TC_PRIM_VECTORIZE, l, NULL);
}

void tc_space_unroll(builder *b, loop_ref l) {
    add_on_loop(b, TC_PRIM_UNROLL, l, NULL);
}

void tc_space_unroll_all(builder *b, const loop_list *l) {
    for (int i = 0; i < l->n; i++)
        tc_space_unroll(b, l->at[i]);
}

void tc_space_parallel(builder *b, loop_ref l) {
    add_on_loop(b, TC_PRIM_PARALLEL, l, NULL);
}

void tc_space_tensorize(builder *b, loop_ref l, const char *unit) {
    add_on_loop(b, TC_PRIM_TENSORIZE, l, NULL)->text = unit;
}

/* ---- stages ---- */

void tc_space_inline(builder *b, stage_ref s) {
    add_on_stage(b, TC_PRIM_COMPUTE_INLINE, s.name, NULL);
}

void tc_space_compute_at(builder *b, stage_ref s, loop_ref l) {
    add(b, TC_PRIM_COMPUTE_AT, 2, (const char *[]){tc_arena_strdup(b->arena, s.name), loop_text(b, l)}, NULL);
}

void tc_space_keep_local(builder *b, stage_ref s) {
    add_on_stage(b, TC_PRIM_SET_SCOPE, s.name, NULL)->text = "local";
}

stage_ref tc_space_cache_write(builder *b, stage_ref s) {
    stage_ref made = {tc_arena_printf(b->arena, "%s_acc", s.name), s.root};
    add_on_stage(b, TC_PRIM_CACHE_WRITE, s.name, made.name)->text = "local";
    return made;
}

stage_ref tc_space_cache_read(builder *b, const char *tensor, stage_ref reader) {
    const char *names[] = {tc_arena_strdup(b->arena, tensor), tc_arena_strdup(b->arena, reader.name)};
    const char *copy = tc_arena_printf(b->arena, "%s_pk%d", tensor, b->unique++);
    add(b, TC_PRIM_CACHE_READ, 2, names, copy)->text = "global";
    return stage_called(copy);
}

stage_ref tc_space_cache_part(builder *b, const char *tensor, stage_ref reader, int place) {
    const char *names[] = {tc_arena_strdup(b->arena, tensor), tc_arena_strdup(b->arena, reader.name)};
    const char *copy = tc_arena_printf(b->arena, "%s_pk%d", tensor, b->unique++);
    tc_instr *step = add(b, TC_PRIM_CACHE_PART, 2, names, copy);
    step->text = "global";
    set_ints(b, step, 1, (tc_int_arg[]){number(place)});
    return stage_called(copy);
}

stage_ref tc_space_rfactor(builder *b, loop_ref l, const char *what) {
    stage_ref made = {tc_arena_printf(b->arena, "%s_%s", l.stage.root, what), l.stage.root};
    add_on_loop(b, TC_PRIM_RFACTOR, l, made.name);
    return made;
}

/* ---- layouts ---- */

layout tc_space_layout(int ndim) {
    return (layout){.nin = ndim};
}

void tc_space_lay(layout *l, int dim) {
    l->to[l->n].what = LAYOUT_WHOLE;
    l->to[l->n++].dim = dim;
}

void tc_space_lay_blocks(layout *l, int dim, factor block) {
    l->to[l->n].what = LAYOUT_BLOCKS;
    l->to[l->n].block = block;
    l->to[l->n++].dim = dim;
}

void tc_space_lay_places(layout *l, int dim, factor block) {
    l->to[l->n].what = LAYOUT_PLACES;
    l->to[l->n].block = block;
    l->to[l->n++].dim = dim;
}

static void print_factor(tc_strbuf *t, const builder *b, factor f) {
    if (f.decision.id < 0)
        tc_sb_printf(t, "%lld", (long long)f.value);
    else
        tc_sb_add(t, decision_name(b, f.decision));
}

/* "(x0, x1) -> (x1 / v0, x0, x1 % v0)" */
void tc_space_transform_layout(builder *b, const char *name, const layout *l) {
    static const char *const sign[] = {[LAYOUT_WHOLE] = "", [LAYOUT_BLOCKS] = " / ", [LAYOUT_PLACES] = " % "};
    tc_strbuf t = {0};
    for (int d = 0; d < l->nin; d++)
        tc_sb_printf(&t, "%sx%d", d ? ", " : "(", d);
    for (int d = 0; d < l->n; d++) {
        tc_sb_printf(&t, "%sx%d%s", d ? ", " : ") -> (", l->to[d].dim, sign[l->to[d].what]);
        if (l->to[d].what != LAYOUT_WHOLE)
            print_factor(&t, b, l->to[d].block);
    }
    tc_sb_addc(&t, ')');
    add_on_stage(b, TC_PRIM_TRANSFORM_LAYOUT, name, NULL)->text = tc_arena_strdup(b->arena, tc_sb_str(&t));
    tc_strbuf_free(&t);
}

void tc_space_prefetch(builder *b, const char *name, factor ahead) {
    tc_int_arg bytes = number_of(b, ahead);
    set_ints(b, add_on_stage(b, TC_PRIM_PREFETCH, name, NULL), 1, &bytes);
}
