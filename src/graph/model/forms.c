/* The forms of a kernel: the task's own workload, and the alternatives that the requested accuracy admits
 * (search_space/alternatives/alternatives.h). Inputs and outputs are at the same positions in all forms. An alternative may read a
 * constant in another layout or type. Then its prologue computes that from the model's constant while the model is built, and only
 * the result is kept. */
#include <string.h>

#include "graph/model/parts.h"

void tc_graph_list_forms(const tc_graph_program *p, int task, tc_accuracy accuracy, tc_graph_unit *u) {
    const tc_workload *own = p->tasks[task].workload;
    u->forms = tc_ctx_child(p->ctx);
    tc_space_alternative_list l = tc_space_alternatives(u->forms, own, accuracy);
    tc_graph_form *f = TC_NEW_N(tc_ctx_arena(u->forms), tc_graph_form, 1 + l.n);
    f[0] = (tc_graph_form){.name = "direct", .workload = own, .hash = p->hashes[task]};
    for (int i = 0; i < l.n; i++) {
        const tc_workload *w = tc_te_canonical(u->forms, l.data[i].workload);
        f[1 + i] = (tc_graph_form){.name = l.data[i].name, .workload = w, .hash = tc_te_hash(w), .alternative = &l.data[i]};
    }
    u->nform = 1 + l.n;
    u->form = f;
    u->used = f;
    u->ctx = tc_ctx_child(u->forms); /* `forms` does not grow any more */
}

const tc_graph_form *tc_graph_form_of(const tc_graph_unit *u, const tc_record *r) {
    for (int f = 0; f < u->nform; f++)
        if (strcmp(u->form[f].hash.hex, r->workload_hash.hex) == 0)
            return &u->form[f];
    return NULL;
}

const tc_space_prologue *tc_graph_prologue(const tc_graph_unit *u, int arg) {
    const tc_space_alternative *x = u->used->alternative;
    if (!x || arg >= u->used->workload->nin || x->source[arg] >= 0)
        return NULL;
    return &x->prologue[-1 - x->source[arg]];
}

static tc_graph_tensor view_of(const tc_tensor *t, const void *data) {
    tc_graph_shape s = {.ndim = t->ndim};
    memcpy(s.d, t->shape, sizeof s.d[0] * (size_t)t->ndim);
    return tc_graph_tensor_view(t->dtype, &s, (void *)(uintptr_t)data); /* is only read */
}

/* A prologue is a small model: its constants are given, it has no inputs. It runs here, whatever the model is built for, on one
 * thread: others are made beside it. */
static tc_status run(const tc_space_prologue *q, const tc_graph_named *constants, tc_graph_tensor *out, tc_error *err) {
    tc_graph_program *p = NULL;
    tc_graph_model *m = NULL;
    tc_target *t = NULL;
    tc_status s = tc_target_parse("native", &t, err);
    if (s == TC_OK)
        s = tc_graph_program_of_workload(q->workload, "prologue", constants, (size_t)q->nfrom, 0, &p, err);
    if (s == TC_OK)
        s = tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, err);
    if (s == TC_OK)
        s = tc_graph_model_run(m, NULL, out, err);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_target_free(t);
    return s;
}

tc_status tc_graph_run_prologue(const tc_graph_model *m, const tc_space_prologue *q, const tc_graph_launch *x,
                                tc_graph_tensor *out, tc_error *err) {
    tc_graph_named *constants = tc_xcalloc((size_t)q->nfrom, sizeof *constants);
    for (int i = 0; i < q->nfrom; i++) {
        const tc_tensor *t = q->workload->in[i];
        const tc_graph_slot *from = &m->program->slots[x->args[q->from[i]]];
        constants[i] = (tc_graph_named){(char *)(uintptr_t)t->name, view_of(t, from->constant->data)};
    }
    tc_status s = run(q, constants, out, err);
    free(constants);
    if (s != TC_OK)
        tc_error_prefix(err, "kernel '%s': its constants in the form of %s: ", m->kernels[x->task].name,
                        m->units[x->task].used->name);
    return s;
}
