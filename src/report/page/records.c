/* The records of a page as columns of numbers, in the order in which the records were stored. */
#include <math.h>

#include "report/page/page_int.h"
#include "report/report.h"
#include "support/map.h"

/* COLUMN(name) */
#define COLUMNS(COLUMN)                                                                                                          \
    COLUMN(id)                                                                                                                   \
    COLUMN(kernel)                                                                                                               \
    COLUMN(form)                                                                                                                 \
    COLUMN(mode)                                                                                                                 \
    COLUMN(median_ms)                                                                                                            \
    COLUMN(rounds)                                                                                                               \
    COLUMN(outcome)                                                                                                              \
    COLUMN(message)                                                                                                              \
    COLUMN(verified) COLUMN(when_ms) COLUMN(measuring_seconds) COLUMN(sizes) COLUMN(phase) COLUMN(predicted) COLUMN(decisions)

typedef enum column {
#define COLUMN(name) AT_##name,
    COLUMNS(COLUMN)
#undef COLUMN
        NCOLUMN
} column;

static const char *const column_name[] = {
#define COLUMN(name) #name,
    COLUMNS(COLUMN)
#undef COLUMN
};

/* Texts that many records share, by number. */
typedef struct texts {
    tc_map number;
    json_t *list;
} texts;

static json_t *number_of(texts *t, const char *text) {
    uintptr_t *known = tc_map_gets(&t->number, text);
    if (known)
        return tc_json_integer((json_int_t)*known);
    tc_map_puts(&t->number, text, json_array_size(t->list));
    tc_json_append(t->list, tc_json_string(text));
    return tc_json_integer((json_int_t)json_array_size(t->list) - 1);
}

typedef struct taking {
    page *p;
    json_t *column[NCOLUMN];
    texts messages, sizes, phases, hosts, versions;
    page_decisions *decisions;
    int64_t first_ms, others; /* others: records of kernels that are not shown */
} taking;

/* ---- the best of each mode ---- */

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The middle half of its times. */
static void spread(const tc_record *r, page_best *b) {
    double *t = tc_xmalloc(r->ntimes * sizeof *t);
    for (size_t i = 0; i < r->ntimes; i++)
        t[i] = r->times[i];
    qsort(t, r->ntimes, sizeof *t, by_value);
    b->low = t[(r->ntimes - 1) / 4];
    b->high = t[r->ntimes - 1 - (r->ntimes - 1) / 4];
    free(t);
}

static void consider(page *p, page_kernel *k, const tc_record *r) {
    page_best *b = &k->best[r->mode];
    if (!tc_record_ok(r) || !r->verified || *r->sizes || (b->id && b->median <= r->median))
        return;
    *b = (page_best){.id = r->id, .median = r->median, .times = r->ntimes, .rounds = r->rounds};
    spread(r, b);
    if (r->mode == TC_MEAS_SIMULATED) {
        k->trace = tc_arena_printf(p->arena, "%s", r->trace);
        k->traced = tc_arena_printf(p->arena, "%s", r->workload);
        k->traced_hash = r->workload_hash;
    }
}

/* ---- taking in ---- */

static void put(taking *t, column c, json_t *value) {
    tc_json_append(t->column[c], value);
}

static tc_status take(void *user, const tc_record *r, tc_error *err) {
    (void)err;
    taking *t = user;
    int kernel, form;
    if (!page_form_of(t->p, &r->workload_hash, &kernel, &form)) {
        t->others++;
        return TC_OK;
    }
    page_kernel *k = &t->p->kernels[kernel];
    k->records++;
    k->valid += tc_record_ok(r);
    consider(t->p, k, r);
    if (!t->first_ms)
        t->first_ms = r->when_ms;
    put(t, AT_id, tc_json_integer(r->id));
    put(t, AT_kernel, tc_json_integer(kernel));
    put(t, AT_form, tc_json_integer(form));
    put(t, AT_mode, tc_json_integer(r->mode));
    put(t, AT_median_ms, tc_json_real(r->median * 1e3));
    put(t, AT_rounds, tc_json_integer(r->rounds));
    put(t, AT_outcome, tc_json_integer(r->error));
    put(t, AT_message, number_of(&t->messages, r->message));
    put(t, AT_verified, tc_json_integer(r->verified));
    put(t, AT_when_ms, tc_json_integer(r->when_ms - t->first_ms));
    put(t, AT_measuring_seconds, tc_json_real(r->build_seconds + r->run_seconds));
    put(t, AT_sizes, number_of(&t->sizes, r->sizes));
    put(t, AT_phase, number_of(&t->phases, r->phase));
    put(t, AT_predicted, tc_json_real(r->predicted));
    put(t, AT_decisions, page_decisions_of(t->decisions, r->trace));
    json_decref(number_of(&t->hosts, r->host));
    json_decref(number_of(&t->versions, r->tctune_version));
    return TC_OK;
}

/* ---- telling ---- */

static void begin(taking *t) {
    texts *all[] = {&t->messages, &t->sizes, &t->phases, &t->hosts, &t->versions};
    for (int c = 0; c < NCOLUMN; c++)
        t->column[c] = tc_json_array();
    for (size_t i = 0; i < TC_LEN(all); i++)
        all[i]->list = tc_json_array();
    t->decisions = page_decisions_new();
}

static json_t *told(texts *t) {
    tc_map_free(&t->number);
    return t->list;
}

static json_t *outcomes(void) {
    json_t *list = tc_json_array();
    for (int e = 0; e < TC_MEAS_NERRORS; e++)
        tc_json_append(list, tc_json_pack("{s:s,s:s}", "name", tc_meas_error_text((tc_meas_error)e), "meaning",
                                          tc_meas_error_meaning((tc_meas_error)e)));
    return list;
}

static json_t *modes(void) {
    json_t *list = tc_json_array();
    for (int m = 0; m < TC_MEAS_NMODES; m++)
        tc_json_append(list, tc_json_string(tc_meas_mode_text((tc_meas_mode)m)));
    return list;
}

static json_t *tell(taking *t) {
    json_t *columns = tc_json_object();
    for (int c = 0; c < NCOLUMN; c++)
        tc_json_set(columns, column_name[c], t->column[c]);
    return tc_json_pack("{s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "first_ms", (json_int_t)t->first_ms, "of_other_kernels",
                        (json_int_t)t->others, "modes", modes(), "outcomes", outcomes(), "messages", told(&t->messages), "sizes",
                        told(&t->sizes), "phases", told(&t->phases), "hosts", told(&t->hosts), "versions", told(&t->versions),
                        "steps", page_decisions_tell(t->decisions), "columns", columns);
}

tc_status page_tell_records(page *p, json_t **out, tc_error *err) {
    taking t = {.p = p};
    tc_meas_filter f = {.target_hash = p->target_hash.hex, .threads = p->threads};
    begin(&t);
    tc_status s = *p->target_text ? tc_meas_db_each(p->db, &f, take, &t, err) : TC_OK;
    *out = tell(&t);
    if (s != TC_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return s;
}
