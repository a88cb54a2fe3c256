/* What changes.h describes: what is common to all changes. */
#include "search_space/changes/changes_int.h"

#include <string.h>

static const char *const texts[] = {
#define CHANGE(id, text) [TC_CHANGE_##id] = text,
#include "search_space/changes/kinds.def"
#undef CHANGE
};

const char *tc_space_change_text(tc_space_change_kind k) {
    return texts[k];
}

void space_add_change(collector *c, const tc_space_change *x) {
    if (!x->trace || c->n == c->cap || tc_trace_equal(x->trace, c->t))
        return;
    for (int i = 0; i < c->n; i++)
        if (tc_trace_equal(c->out[i].trace, x->trace))
            return;
    c->out[c->n++] = *x;
}

tc_trace *space_spliced(const collector *c, int at, int gone, const char *text) {
    tc_trace *more;
    if (tc_trace_parse(c->a, "change", text, &more, NULL) != TC_OK)
        return NULL;
    tc_trace *x = tc_trace_copy(c->a, c->t);
    tc_instr *steps = TC_NEW_N(c->a, tc_instr, (size_t)(c->t->n + more->n));
    memcpy(steps, x->steps, (size_t)at * sizeof *steps);
    memcpy(steps + at, more->steps, (size_t)more->n * sizeof *steps);
    memcpy(steps + at + more->n, x->steps + at + gone, (size_t)(c->t->n - at - gone) * sizeof *steps);
    x->steps = steps;
    x->n = c->t->n - gone + more->n;
    x->id = 0; /* its steps are others */
    return x;
}

tc_status tc_space_changes(const tc_workload *w, const tc_machine *m, const tc_trace *t, tc_arena *a, tc_space_change *out,
                           int cap, int *n, tc_error *err) {
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    tc_sched *s;
    collector c = {.w = w, .m = m, .t = t, .a = a, .out = out, .cap = cap};
    tc_status st = tc_sch_replay(ctx, w, t, NULL, &s, err);
    if (st == TC_OK) {
        c.s = s;
        space_change_loops(&c);
        space_change_steps(&c);
    }
    *n = c.n;
    tc_ctx_free(ctx);
    return st;
}
