/* Keeps values between kernels in bf16. If bf16 was requested and every kernel that reads an intermediate rounds all of it first,
 * its producer rounds it instead. The results are the same bit for bit, and the value takes half the memory and half the traffic.
 * All launches of a kernel share its code, so all of them have to agree.
 *
 * A value that some readers need unrounded stays f32 for all readers. To store it in both types would write 6 bytes an element in
 * place of 4. Each of the r readers that round would read 2 bytes less. So 2 (r - 1) bytes an element are saved: nothing when one
 * reader rounds. BERT-base, ResNet-50, MobileNet-v2 and a small BERT have 50 such values. Each of these has exactly one reader that
 * rounds. */
#include "graph/model/parts.h"
#include "tir_lower/program/program.h"

typedef struct narrower {
    tc_graph_model *m;
    const tc_graph_program *p;
    bool *slot;  /* may be kept in bf16 */
    bool **args; /* by task and argument: its code can take it, or leave it, so */
} narrower;

/* Nobody but kernels knows the value, and they know all of it. */
static void find_slots(narrower *n) {
    for (int s = 0; s < n->p->nslot; s++)
        n->slot[s] = n->p->slots[s].kind == TC_GRAPH_SLOT_TEMP && n->p->slots[s].within < 0;
    for (int s = 0; s < n->p->nslot; s++)
        if (n->p->slots[s].within >= 0)
            n->slot[n->p->slots[s].within] = false;
    for (int o = 0; o < n->p->nout; o++)
        n->slot[n->p->out_slot[o]] = false;
}

static void find_args(narrower *n, tc_arena *a) {
    for (int t = 0; t < n->m->nkernel; t++) {
        tc_graph_unit *u = &n->m->units[t];
        n->args[t] = TC_NEW_N(a, bool, u->func->nparam + 1); /* sizes are behind them */
        for (int k = 0; k < u->func->nparam; k++)
            n->args[t][k] = tc_tir_narrowed(u->ctx, u->func, k) != NULL;
    }
}

/* Says of one launch's argument what is known of its slot, and the other way round; true: that was new. */
static bool agree(narrower *n, const tc_graph_launch *x, int k) {
    int s = x->args[k];
    bool fits = x->task >= 0 && n->args[x->task][k] && n->slot[s] &&
                n->m->units[x->task].func->params[k].buffer->size * tc_dtype_bytes(TC_F32) == n->p->slots[s].bytes;
    bool changed = n->slot[s] != fits || (x->task >= 0 && n->args[x->task][k] != fits);
    n->slot[s] = fits;
    if (x->task >= 0)
        n->args[x->task][k] = fits;
    return changed;
}

static void narrow_code(narrower *n) {
    for (int t = 0; t < n->m->nkernel; t++) {
        tc_graph_unit *u = &n->m->units[t];
        for (int k = 0; k < u->func->nparam; k++)
            if (n->args[t][k])
                u->func = tc_tir_narrowed(u->ctx, u->func, k);
    }
}

void tc_graph_narrow(tc_graph_model *m) {
    const tc_graph_program *p = m->program;
    narrower n = {.m = m, .p = p, .slot = TC_NEW_N(m->arena, bool, p->nslot), .args = TC_NEW_N(m->arena, bool *, m->nkernel)};
    bool *used = TC_NEW_N(m->arena, bool, p->nslot);
    find_slots(&n);
    find_args(&n, m->arena);
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < p->nlaunch; i++)
            for (int k = 0; k < p->launches[i].nargs; k++) {
                changed |= agree(&n, &p->launches[i], k);
                used[p->launches[i].args[k]] = true;
            }
    }
    narrow_code(&n);
    for (int s = 0; s < p->nslot; s++)
        n.slot[s] = n.slot[s] && used[s];
    m->narrow = n.slot;
}
