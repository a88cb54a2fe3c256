/* What rounding to bf16 within a budget of error chose, for people and as JSON. */
#include "cli/cli.h"

json_t *tc_cli_precision_json(const tc_graph_precision *p) {
    json_t *all = json_array();
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        json_array_append_new(all,
                              json_pack("{s:s,s:i,s:f,s:f,s:o,s:b}", "name", k->name, "count", k->count, "f32_ms", k->f32 * 1e3,
                                        "bf16_ms", k->bf16 * 1e3, "error", tc_cli_json_real(k->error), "used", k->used));
    }
    return json_pack("{s:o,s:o}", "error", tc_cli_json_real(p->error), "kernels", all);
}

void tc_cli_report_precision(FILE *out, const tc_graph_precision *p, double budget, const char *inputs) {
    char f32[24], bf16[24];
    tc_cli_table t = tc_cli_table_new(6, (const char *const[]){"kernel", ">times", ">f32", ">bf16", ">error alone", "in use"});
    for (int i = 0; i < p->n; i++) {
        const tc_graph_rounding *k = &p->kernels[i];
        tc_cli_cell(&t, "%s", k->name);
        tc_cli_cell(&t, "%d", k->count);
        tc_cli_cell(&t, "%s", tc_cli_time(f32, k->f32));
        tc_cli_cell(&t, "%s", tc_cli_time(bf16, k->bf16));
        tc_cli_cell(&t, "%.2e", k->error);
        tc_cli_cell(&t, "%s", k->used ? "bf16" : "f32");
    }
    tc_cli_table_print(&t, out);
    tc_cli_table_free(&t);
    fprintf(out, "%d of %d kernels that bf16 makes faster round: error of the outputs %.2e, budget %g, on %s\n\n", p->nused, p->n,
            p->error, budget, inputs ? inputs : "drawn inputs");
}
