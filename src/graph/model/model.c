/* Answers questions about a model, and frees it. */
#include "codegen/team/team.h"
#include "graph/model/parts.h"

#include <dlfcn.h>

int tc_graph_model_inputs(const tc_graph_model *m, const tc_graph_port **ports) {
    *ports = m->in;
    return m->rules.nin;
}

const tc_graph_bundle *tc_graph_model_fixed(const tc_graph_model *m) {
    static const tc_graph_bundle none;
    return m->program ? tc_graph_program_fixed(m->program) : &none;
}

int tc_graph_model_outputs(const tc_graph_model *m, const tc_graph_port **ports) {
    *ports = m->out;
    return m->nshown;
}

const tc_graph_size_rules *tc_graph_model_sizes(const tc_graph_model *m) {
    return &m->rules;
}

int tc_graph_model_kernels(const tc_graph_model *m, const tc_graph_kernel **kernels) {
    *kernels = m->kernels;
    return m->nkernel;
}

int tc_graph_model_others(const tc_graph_model *m, const tc_graph_other **others) {
    *others = m->others;
    return m->nother;
}

int tc_graph_model_threads(const tc_graph_model *m) {
    return m->threads;
}

double tc_graph_model_flops(const tc_graph_model *m) {
    if (m->program)
        return tc_graph_program_flops(m->program);
    double sum = 0;
    for (int i = 0; i < m->nkernel; i++)
        sum += m->kernels[i].count * m->kernels[i].flops;
    return sum;
}

tc_graph_memory tc_graph_model_memory(const tc_graph_model *m) {
    tc_graph_memory r = {m->arena_bytes, m->arena_bytes - m->plan.bytes + m->plan.naive, m->blob_bytes, 0, 0};
    for (int s = 0; m->narrow && s < m->program->nslot; s++) {
        r.saved_by_bf16 += m->program->slots[s].bytes - tc_graph_slot_bytes(m->program, m->narrow, s);
        r.nbf16 += m->narrow[s];
    }
    return r;
}

void tc_graph_model_print_plan(const tc_graph_model *m, tc_strbuf *out) {
    if (!m->program)
        return;
    tc_graph_plan_print(&m->plan, m->program, m->narrow, out);
    tc_sb_printf(out, "%lld bytes of intermediates in %lld, %lld of workspace, %lld of constants\n", (long long)m->plan.naive,
                 (long long)m->plan.bytes, (long long)(m->arena_bytes - m->workspace_at), (long long)m->blob_bytes);
}

void tc_graph_model_free(tc_graph_model *m) {
    if (!m)
        return;
    for (int i = 0; i < m->nkernel && m->units; i++) {
        tc_cg_module_free(m->units[i].module);
        free(m->units[i].obj);
        tc_ctx_free(m->units[i].ctx);
        tc_ctx_free(m->units[i].forms);
    }
    tc_team_forget();
    tc_graph_context_free(m->own);
    tc_graph_free_constants(m);
    tc_target_free(m->target);
    if (m->library.handle)
        dlclose(m->library.handle);
    tc_arena_free(m->arena);
}
