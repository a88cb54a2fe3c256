/* Runs the passes of passes.def, and has the functions for rewriting that they share. */
#include "graph/passes/pass.h"

#include <stdlib.h>
#include <string.h>

#include "graph/ir/build.h"
#include "graph/ops/ops.h"
#include "graph/passes/origins_int.h"
#include "support/guess.h"
#include "support/log.h"
#include "support/say.h"

typedef struct pass {
    const char *name;
    int level;
    tc_status (*run)(tc_graph *g, tc_error *err);
} pass;

static const pass passes[] = {
#define PASS(name, level, summary) {#name, level, tc_graph_pass_##name},
#include "graph/passes/passes.def"
#undef PASS
};

/* ---- options ---- */

static bool is_pass(const char *name) {
    for (size_t i = 0; i < TC_LEN(passes); i++)
        if (strcmp(passes[i].name, name) == 0)
            return true;
    return false;
}

static tc_status unknown(const char *option, const char *name, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (size_t i = 0; i < TC_LEN(passes); i++)
        tc_guess_add(&g, passes[i].name);
    return tc_fail(err, TC_BAD_INPUT, "%s: there is no graph pass '%s'%s", option, name,
                   tc_guess_say(&g, "", "--print-pass-times prints their names", text));
}

tc_status tc_graph_passes_check(const tc_graph_pass_options *o, tc_error *err) {
    for (size_t i = 0; i < o->ndisabled; i++)
        if (!is_pass(o->disabled[i]))
            return unknown("--disable-pass", o->disabled[i], err);
    if (o->dump && strcmp(o->dump, "all") != 0 && !is_pass(o->dump))
        return unknown("--dump-graph", o->dump, err);
    return TC_OK;
}

static bool wanted(const tc_graph_pass_options *o, const pass *p) {
    for (size_t i = 0; i < o->ndisabled; i++)
        if (strcmp(o->disabled[i], p->name) == 0)
            return false;
    return p->level <= o->level;
}

/* ---- the run ---- */

static char *text_of(const tc_graph *g) {
    tc_strbuf b = {0};
    tc_graph_print(g, &b);
    char *s = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

static tc_status run_pass(tc_graph *g, const pass *p, tc_error *err) {
    tc_graph_ancestors before = tc_graph_ancestors_of(g);
    tc_status s = p->run(g, err);
    if (s == TC_OK) {
        tc_graph_drop_dead(g);
        tc_graph_inherit(g, &before);
        tc_graph_release_constants(g); /* frees weights without readers: else old and new weights both use memory */
        s = tc_graph_verify(g, err);
    }
    tc_graph_ancestors_free(&before);
    if (s != TC_OK)
        tc_error_prefix(err, "%s: graph pass %s: ", g->file ? g->file : "graph", p->name);
    return s;
}

static tc_status run_shown(tc_graph *g, const tc_graph_pass_options *o, const pass *p, tc_error *err) {
    FILE *log = o->log ? o->log : stderr;
    bool dump = o->dump && (strcmp(o->dump, "all") == 0 || strcmp(o->dump, p->name) == 0);
    char *before = dump ? text_of(g) : NULL;
    double start = tc_now();
    size_t nodes = g->nodes.len;
    tc_status s = run_pass(g, p, err);
    if (o->times)
        tc_say(log, "pass %-16s %9.3f ms  %5zu -> %zu nodes\n", p->name, (tc_now() - start) * 1e3, nodes, g->nodes.len);
    if (dump && s == TC_OK) {
        char *after = text_of(g);
        bool same = strcmp(before, after) == 0;
        tc_say(log, "# before pass %s\n", p->name);
        tc_say_lines(log, before);
        tc_say(log, "# after pass %s%s\n", p->name, same ? " (unchanged)" : "");
        tc_say_lines(log, same ? "" : after);
        free(after);
    }
    free(before);
    return s;
}

tc_status tc_graph_passes(tc_graph *g, const tc_graph_pass_options *o, tc_error *err) {
    static const tc_graph_pass_options usual = {.level = TC_GRAPH_OPT_DEFAULT};
    o = o ? o : &usual;
    TC_TRY(tc_graph_passes_check(o, err));
    for (size_t i = 0; i < g->nodes.len; i++)
        for (int k = 0; k < 2 && g->nodes.data[i]->body[k]; k++)
            TC_TRY(tc_graph_passes(g->nodes.data[i]->body[k], o, err));
    for (size_t i = 0; i < TC_LEN(passes); i++)
        if (wanted(o, &passes[i]))
            TC_TRY(run_shown(g, o, &passes[i], err));
    return TC_OK;
}

/* ---- rewriting ---- */

void tc_graph_produce(tc_graph *g, tc_graph_node *n, tc_graph_value *v) {
    n->nout = 1;
    n->out = TC_NEW(g->arena, tc_graph_value *);
    n->out[0] = v;
    v->producer = n;
    tc_push(&g->nodes, n);
}

tc_graph_value *tc_graph_place_typed(tc_graph *g, tc_graph_node *n, const char *base, tc_dtype dtype, const tc_graph_shape *s) {
    tc_graph_value *v = tc_graph_add_value(g, base, dtype, s);
    tc_graph_produce(g, n, v);
    return v;
}

tc_graph_node *tc_graph_copy_node(tc_graph *g, const tc_graph_node *n, tc_graph_value *const *in) {
    tc_graph_node *copy = tc_graph_new_node(g, n->op, n->name, in, n->nin);
    copy->attrs = tc_arena_dup(g->arena, n->attrs, n->nattrs * sizeof *n->attrs);
    copy->nattrs = copy->cap_attrs = n->nattrs;
    copy->origin = n->origin;
    return copy;
}

/* Evaluates a node whose inputs are constants. */
static tc_graph_value *evaluated(tc_graph *g, tc_graph_node *n, const char *base, const tc_graph_shape *s) {
    tc_graph_value out = {.dtype = n->in[0]->dtype, .shape = *s}, *p = &out;
    const tc_graph_tensor *in = n->in[0]->constant;
    tc_graph_tensor t;
    tc_error err = {0};
    n->nout = 1;
    n->out = &p;
    tc_status status = tc_graph_eval_node(n, &in, &t, &err);
    n->out = NULL;
    n->nout = 0;
    return status == TC_OK ? tc_graph_add_constant(g, tc_graph_fresh_name(g, base), &t) : NULL;
}

static tc_graph_value *place_or_fold(tc_graph *g, tc_graph_node *n, const char *base, const tc_graph_shape *s) {
    tc_graph_value *v = n->in[0]->constant ? evaluated(g, n, base, s) : NULL;
    return v ? v : tc_graph_place_typed(g, n, tc_graph_fresh_name(g, base), n->in[0]->dtype, s);
}

tc_graph_value *tc_graph_reshaped(tc_graph *g, tc_graph_value *v, const tc_graph_shape *s) {
    if (tc_graph_shape_equal(&v->shape, s))
        return v;
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_RESHAPE, "", &v, 1);
    tc_graph_set_shape(g, n, s->d, (size_t)s->ndim);
    return place_or_fold(g, n, tc_arena_printf(g->arena, "%s.reshaped", v->name), s);
}

tc_graph_value *tc_graph_transposed(tc_graph *g, tc_graph_value *v, const int64_t *perm) {
    tc_graph_shape s = {.ndim = v->shape.ndim};
    bool moves = false;
    int64_t last = -1;
    for (int d = 0; d < s.ndim; d++) {
        s.d[d] = v->shape.d[perm[d]];
        if (s.d[d] == 1)
            continue;
        moves |= perm[d] < last;
        last = perm[d];
    }
    if (!moves)
        return tc_graph_reshaped(g, v, &s);
    tc_graph_node *n = tc_graph_new_node(g, TC_GRAPH_OP_TRANSPOSE, "", &v, 1);
    tc_graph_set_perm(g, n, perm, (size_t)s.ndim);
    return place_or_fold(g, n, tc_arena_printf(g->arena, "%s.transposed", v->name), &s);
}

tc_status tc_graph_pass_simplify(tc_graph *g, tc_error *err) {
    (void)err;
    tc_graph_simplify(g);
    return TC_OK;
}
