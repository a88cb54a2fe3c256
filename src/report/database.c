/* Describes the contents of a database. */
#include <math.h>

#include "report/report.h"

static json_t *failures(const tc_meas_counts *c) {
    json_t *j = tc_json_object();
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        if (e != TC_MEAS_NONE && c->by_error[e])
            tc_json_set(j, tc_meas_error_text((tc_meas_error)e), tc_json_integer(c->by_error[e]));
    return j;
}

static double rate(const tc_meas_summary *s) {
    double flops = tc_meas_summary_flops(s);
    return s->best_id && flops > 0 ? flops / s->best / 1e9 : NAN;
}

static json_t *summary(const tc_meas_summary *s) {
    tc_strbuf operands = {0};
    json_t *j = tc_json_pack(
        "{s:s,s:s,s:s,s:i,s:s,s:I,s:I,s:I,s:o,s:I,s:o,s:i,s:I,s:I}", "hash", s->workload_hash.hex, "workload", s->workload,
        "target", s->target, "threads", s->threads, "mode", tc_meas_mode_text(s->mode), "records", (json_int_t)s->counts.total,
        "valid", (json_int_t)s->counts.by_error[TC_MEAS_NONE], "verified", (json_int_t)s->counts.verified, "failures",
        failures(&s->counts), "best", (json_int_t)s->best_id, "best_ms", tc_json_real(s->best * 1e3), "best_rounds",
        s->best_rounds, "first_ms", (json_int_t)s->first_ms, "last_ms", (json_int_t)s->last_ms);
    if (s->sizes)
        tc_json_set(j, "sizes", tc_json_integer(s->sizes));
    tc_meas_summary_operands(&operands, s);
    tc_json_set(j, "target_hash", tc_json_string(s->target_hash.hex));
    tc_json_set(j, "gflops", tc_json_real(rate(s)));
    tc_json_set(j, "operands", tc_json_string(tc_sb_str(&operands)));
    tc_strbuf_free(&operands);
    return j;
}

json_t *tc_report_database(const char *path, const tc_meas_db_stats *whole, const tc_meas_summaries *all) {
    json_t *list = tc_json_array();
    for (size_t i = 0; i < all->len; i++)
        tc_json_append(list, summary(&all->data[i]));
    return tc_json_pack("{s:s,s:i,s:I,s:I,s:I,s:I,s:I,s:o}", "db", path, "schema", whole->schema, "workloads",
                        (json_int_t)whole->workloads, "targets", (json_int_t)whole->targets, "records",
                        (json_int_t)whole->records, "models", (json_int_t)whole->models, "bytes", (json_int_t)whole->bytes,
                        "summaries", list);
}
