/* The texts of expansions.txt, and those that an import has read. */
#include <string.h>

#include "graph/ops/expand_syntax.h"

/* What stands in front of the first text is an entry of its own. */
static const tc_graph_expansion texts[] = {{
    NULL,
    0,
#include "graph/ir/expansion_texts.def"
}};
enum { TEXTS = TC_LEN(texts) - 1 };
const tc_graph_expansion *const tc_graph_expansions = texts + 1;
const size_t tc_graph_expansion_count = TEXTS;

struct tc_graph_texts {
    tc_arena *arena;
    const tc_graph_text *read[TEXTS];
    int16_t of[TC_GRAPH_OP_COUNT]; /* 1 + the number of the operator's text; 0: nobody has asked yet */
};

int tc_graph_text_find(const char *name, size_t len) {
    int i = TEXTS - 1;
    while (i >= 0 && (strncmp(tc_graph_expansions[i].name, name, len) != 0 || tc_graph_expansions[i].name[len]))
        i--;
    return i;
}

tc_graph_texts *tc_graph_texts_of(tc_graph *g) {
    if (!g->texts) {
        g->texts = TC_NEW(g->arena, tc_graph_texts);
        g->texts->arena = g->arena;
    }
    return g->texts;
}

const tc_graph_text *tc_graph_text_at(tc_graph *g, int i, tc_status *status, tc_error *err) {
    tc_graph_texts *all = tc_graph_texts_of(g);
    if (!all->read[i])
        all->read[i] = tc_graph_text_read(all->arena, &tc_graph_expansions[i], status, err);
    return all->read[i];
}

const tc_graph_text *tc_graph_text_of(tc_graph *g, tc_graph_op op, tc_status *status, tc_error *err) {
    tc_graph_texts *all = tc_graph_texts_of(g);
    const char *name = tc_graph_op_name(op);
    if (!all->of[op])
        all->of[op] = (int16_t)(1 + tc_graph_text_find(name, strlen(name)));
    return tc_graph_text_at(g, all->of[op] - 1, status, err);
}

tc_status tc_graph_expansion_check(const tc_graph_expansion *x, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_status s = TC_OK;
    tc_graph_text_read(a, x, &s, err);
    tc_arena_free(a);
    return s;
}

tc_status tc_graph_text_fail(const tc_graph_expansion *x, const char *at, tc_error *err, const char *fmt, va_list ap) {
    int row = x->row, column = 1;
    for (const char *s = x->text; s < at; s++) {
        row += *s == '\n';
        column = *s == '\n' ? 1 : column + 1;
    }
    tc_status status = tc_vfail(err, TC_BAD_INPUT, fmt, ap);
    tc_error_prefix(err, "expansions.txt:%d:%d: ", row, column);
    return status;
}
