/* Describes the assembly of a kernel. */
#include "report/report.h"

static json_t *loop(const tc_cg_asm_loop *l) {
    return tc_json_pack("{s:s,s:i,s:i,s:i}", "name", l->name, "first_line", l->first + 1, "last_line", l->last + 1, "depth",
                        l->depth);
}

json_t *tc_report_assembly(const tc_cg_asm_facts *f) {
    const tc_cg_mix *m = &f->mix;
    json_t *j = tc_json_object();
    const struct {
        const char *name;
        int value;
    } counts[] = {{"instructions", m->instructions},
                  {"fma", m->fma},
                  {"arithmetic", m->arithmetic},
                  {"loads", m->loads},
                  {"broadcasts", m->broadcasts},
                  {"stores", m->stores},
                  {"moves", m->moves},
                  {"scalar", m->scalar},
                  {"prefetches", m->prefetches},
                  {"other", m->other},
                  {"folded", m->folded},
                  {"spills", m->spills},
                  {"masked", m->masked},
                  {"accumulators", m->accumulators},
                  {"vector_bits", m->vector_bits},
                  {"tails", f->tails},
                  {"tails_masked", f->tails_masked},
                  {"tails_scalar", f->tails_scalar},
                  {"loops", f->nloop}};
    tc_strbuf text = {0};
    tc_json_set(j, "known", json_boolean(f->known));
    json_t *loops = tc_json_array();
    for (int i = 0; i < f->nloop; i++)
        tc_json_append(loops, loop(&f->loops[i]));
    tc_json_set(j, "each_loop", loops);
    tc_json_set(j, "hot_loop", f->hot >= 0 ? loop(&f->loops[f->hot]) : json_null());
    for (size_t i = 0; i < TC_LEN(counts); i++)
        tc_json_set(j, counts[i].name, tc_json_integer(counts[i].value));
    tc_json_set(j, "fma_share", tc_json_real(tc_cg_fma_share(m)));
    tc_json_set(j, "fma_purity", tc_json_real(tc_cg_fma_purity(m)));
    tc_cg_asm_facts_print(f, "", &text);
    tc_json_set(j, "text", tc_json_string(tc_sb_str(&text)));
    tc_strbuf_free(&text);
    return j;
}
