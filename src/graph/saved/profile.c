/* Names the steps in a library's profile: kernels by name and schedule, then the other steps. */
#include "graph/saved/save_int.h"
#include "support/say.h"

#include <string.h>

static const char *schedule_of(tc_arena *a, const tc_graph_kernel *k) {
    bool direct = strcmp(k->form, "direct") == 0;
    const char *form = direct ? "" : k->form, *comma = direct ? "" : ", ";
    if (k->source == TC_GRAPH_FROM_RECORD)
        return tc_arena_printf(a, "%s%srecord %lld", form, comma, (long long)k->record);
    return tc_arena_printf(a, "%s%sdefault schedule", form, comma);
}

/* The library prints its names as they stand here. */
static const char *plain(tc_arena *a, const char *name) {
    tc_strbuf b = {0};
    tc_sb_say(&b, "%s", name);
    return tc_sb_keep(&b, a);
}

const tc_cg_profile *tc_graph_profile_of(const tc_graph_model *m, const char *name, tc_arena *a) {
    tc_cg_profile *p = TC_NEW(a, tc_cg_profile);
    tc_cg_profile_row *rows = TC_NEW_N(a, tc_cg_profile_row, m->nkernel + m->nother);
    bool varies = m->rules.nsize > 0; /* operations are counted at the largest sizes: of others nothing is said */
    int32_t *row_of = TC_NEW_N(a, int32_t, m->nstep);
    for (int i = 0; i < m->nkernel; i++)
        rows[i] =
            (tc_cg_profile_row){plain(a, m->kernels[i].name), schedule_of(a, &m->kernels[i]), varies ? 0 : m->kernels[i].flops};
    for (int i = 0; i < m->nother; i++)
        rows[m->nkernel + i] = (tc_cg_profile_row){plain(a, m->others[i].name), "library", 0};
    for (int i = 0; i < m->nstep; i++)
        row_of[i] = tc_graph_row_of(&m->steps[i], m->nkernel);
    *p = (tc_cg_profile){.name = name, .nrow = m->nkernel + m->nother, .nstep = m->nstep, .rows = rows, .row_of = row_of};
    return p;
}
