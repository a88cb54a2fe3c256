/* Which values of a statement get a name: those that are used twice and may be computed ahead. */
#include <inttypes.h>
#include <string.h>

#include "codegen/c_source/c_source_int.h"

enum { SEEN = 1, TWICE = 2, ALWAYS = 4 }; /* how a statement uses a node */

/* Of e from those of its operands. */
static void find_loads(const tc_expr *e, void *user) {
    tc_cgc_writer *w = user;
    uintptr_t loads = e->op == TC_OP_LOAD;
    for (int i = 0; i < e->nargs; i++)
        loads |= *tc_map_get(&w->loads, e->args[i]->id);
    tc_map_put(&w->loads, e->id, loads);
}

static bool loads(tc_cgc_writer *w, const tc_expr *e) {
    if (!tc_map_get(&w->loads, e->id))
        tc_expr_walk(e, find_loads, w);
    return *tc_map_get(&w->loads, e->id);
}

static bool has_name(tc_cgc_writer *w, const tc_expr *e) {
    const uintptr_t *u = tc_map_get(&w->use, e->id);
    return u && (*u & TWICE) && ((*u & ALWAYS) || !loads(w, e)) && e->op != TC_OP_BCAST && e->op != TC_OP_RAMP;
}

void tc_cgc_expr(tc_cgc_writer *w, const tc_expr *e, const char *lane) {
    bool here = e->lanes == 1 || strcmp(lane, "l") == 0; /* of others there is one value per lane */
    if (e->nargs && here && has_name(w, e))
        tc_cgc_text(w, "t%" PRIu32, e->id);
    else
        tc_cgc_node(w, e, lane);
}

/* Notes what a statement computes. always: whether it does so for every lane, so that it may be computed ahead. */
void tc_cgc_note(tc_cgc_writer *w, const tc_expr *e, bool always) {
    if (!e->nargs)
        return;
    uintptr_t *known = tc_map_get(&w->use, e->id), now = SEEN | (always ? ALWAYS : 0u);
    if (known) {
        bool more = always && !(*known & ALWAYS);
        *known |= TWICE | now;
        if (!more)
            return;
    } else {
        tc_map_put(&w->use, e->id, now);
    }
    int n = e->op == TC_OP_DOT ? 1 : e->nargs; /* its other operands are read at other lanes */
    for (int i = 0; i < n; i++)
        tc_cgc_note(w, e->args[i],
                    always && !(e->op == TC_OP_SELECT && i > 0) && !(e->op == TC_OP_LOAD && e->nargs > 1 && i == 0));
    if (!known)
        tc_push(&w->order, e);
}

void tc_cgc_name_values(tc_cgc_writer *w, const char *lane) {
    for (size_t i = 0; i < w->order.len; i++) {
        const tc_expr *e = w->order.data[i];
        if (!has_name(w, e))
            continue;
        w->stack += 8;
        tc_cgc_line(w, "const %s t%" PRIu32 " = ", tc_cgc_value_type((tc_dtype)e->dtype), e->id);
        tc_cgc_node(w, e, e->lanes > 1 ? lane : "0");
        tc_cgc_text(w, ";\n");
    }
}

void tc_cgc_forget(tc_cgc_writer *w) {
    tc_map_free(&w->use);
    w->use = (tc_map){0};
    w->order.len = 0;
}
