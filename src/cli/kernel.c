/* One kernel in reports: where its schedule comes from; of one with symbols, which variant serves which sizes, and what that loses. And
 * --at, the sizes of one run, of a kernel or of a network. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "te/intrinsic.h"

const char *tc_cli_by_cost(const char *trace, tc_arena *a) {
    for (const char *step = strstr(trace, "tensorize "); step; step = strstr(step + 1, "tensorize ")) {
        char loop[128], unit[64];
        const tc_intrinsic *row = sscanf(step, "tensorize %127s %63s", loop, unit) == 2 ? tc_intrinsic_named(unit) : NULL;
        if (row && row->place != TC_UNIT_VECTOR)
            return tc_arena_printf(a, " by the cost of %s, not measured", row->text);
    }
    return "";
}

const char *tc_cli_origin(const tc_tune_schedule *s, tc_arena *a) {
    char time[24];
    const tc_record *r = s->record;
    bool other = strcmp(s->form, "direct") != 0;
    if (s->file)
        return s->file;
    if (s->variant)
        return s->variant;
    if (!r)
        return tc_arena_printf(a, "default schedule%s (%s)", tc_cli_by_cost(s->trace, a), s->why);
    return tc_arena_printf(a, "record %lld of %s: %s%s%s with %d threads on %s", (long long)r->id, s->db, other ? s->form : "",
                           other ? ", " : "", tc_cli_time(time, r->median), r->threads, r->host);
}

/* ---- sizes that vary ---- */

/* "N", or "B x S": what cut points are of. */
static const char *product_text(tc_arena *a, const tc_workload *w) {
    const char *text = w->symbols[0]->name;
    for (int i = 1; i < w->nsymbol; i++)
        text = tc_arena_printf(a, "%s x %s", text, w->symbols[i]->name);
    return text;
}

/* "N = 1..512, S = 1..16" */
static const char *range_text(tc_arena *a, const tc_workload *w) {
    const char *text = "";
    for (int i = 0; i < w->nsymbol; i++)
        text = tc_arena_printf(a, "%s%s%s = %lld..%lld", text, i ? ", " : "", w->symbols[i]->name,
                               (long long)w->symbols[i]->least, (long long)w->symbols[i]->most);
    return text;
}

const char *tc_cli_span(const tc_workload *w, const tc_tune_variants *v, int i, tc_arena *a) {
    const char *product = product_text(a, w);
    long long above = i ? (long long)v->v[i - 1].upto : 0, upto = (long long)v->v[i].upto;
    if (v->n == 1)
        return range_text(a, w);
    if (i == 0)
        return tc_arena_printf(a, "%s up to %lld", product, upto);
    return i == v->n - 1 ? tc_arena_printf(a, "%s above %lld", product, above)
                         : tc_arena_printf(a, "%s from %lld to %lld", product, above + 1, upto);
}

static double loss_of(const tc_tune_point *p) {
    return 100 * (p->chosen / p->best - 1);
}

static void print_points(FILE *f, const tc_workload *w, const tc_tune_variants *v) {
    const char **head = tc_xcalloc((size_t)w->nsymbol + 5, sizeof *head);
    static const char *const rest[] = {">variant", ">time", ">best", ">loses", ">weight"};
    tc_arena *a = tc_arena_new();
    for (int i = 0; i < w->nsymbol; i++)
        head[i] = tc_arena_printf(a, ">%s", w->symbols[i]->name);
    memcpy(head + w->nsymbol, rest, sizeof rest);
    tc_cli_table t = tc_cli_table_new(w->nsymbol + (int)TC_LEN(rest), head);
    for (int k = 0; k < v->npoint; k++) {
        const tc_tune_point *p = &v->point[k];
        char chosen[24], best[24];
        for (int i = 0; i < w->nsymbol; i++)
            tc_cli_cell(&t, "%lld", (long long)p->sizes[i]);
        tc_cli_cell(&t, "%d", p->variant + 1);
        tc_cli_cell(&t, "%s", tc_cli_time(chosen, p->chosen));
        tc_cli_cell(&t, "%s", tc_cli_time(best, p->best));
        tc_cli_cell(&t, "%.1f %%", loss_of(p));
        tc_cli_cell(&t, "%.3f", p->weight);
    }
    tc_cli_table_print(&t, f);
    tc_cli_table_free(&t);
    tc_arena_free(a);
    free(head);
}

void tc_cli_report_variants(FILE *f, const char *name, const tc_workload *w, const tc_tune_variants *v) {
    tc_arena *a = tc_arena_new();
    if (!v->n) {
        fprintf(f, "%s: one schedule for %s (%s)\n", name, range_text(a, w), v->why);
    } else {
        fprintf(f, "%s: %d variant%s (%s) for %s, of %d programs at %d sizes; %.1f %% slower than the best of each size\n", name,
                v->n, v->n == 1 ? "" : "s", v->form, range_text(a, w), v->nprogram, v->npoint, 100 * expm1(v->loss));
        for (int i = 0; i < v->n; i++)
            fprintf(f, "  variant %d: %s, program %016llx\n", i + 1, tc_cli_span(w, v, i, a),
                    (unsigned long long)v->v[i].program);
        print_points(f, w, v);
    }
    tc_arena_free(a);
}

static json_t *sizes_json(const tc_workload *w, const int64_t *sizes) {
    json_t *j = json_object();
    for (int i = 0; i < w->nsymbol; i++)
        json_object_set_new(j, w->symbols[i]->name, json_integer((json_int_t)sizes[i]));
    return j;
}

json_t *tc_cli_variants_json(const char *name, const tc_workload *w, const tc_tune_variants *v) {
    json_t *variants = json_array(), *points = json_array(), *range = json_object();
    for (int i = 0; i < w->nsymbol; i++)
        json_object_set_new(range, w->symbols[i]->name,
                            json_pack("[I,I]", (json_int_t)w->symbols[i]->least, (json_int_t)w->symbols[i]->most));
    for (int i = 0; i < v->n; i++) {
        char program[17];
        snprintf(program, sizeof program, "%016llx", (unsigned long long)v->v[i].program);
        json_t *one = json_pack("{s:s,s:s}", "program", program, "trace", v->v[i].trace);
        if (i < v->n - 1)
            json_object_set_new(one, "upto", json_integer((json_int_t)v->v[i].upto));
        json_array_append_new(variants, one);
    }
    for (int i = 0; i < v->npoint; i++) {
        const tc_tune_point *p = &v->point[i];
        json_array_append_new(points, json_pack("{s:o,s:i,s:f,s:f,s:f,s:f}", "sizes", sizes_json(w, p->sizes), "variant",
                                                p->variant, "median_ms", p->chosen * 1e3, "best_ms", p->best * 1e3, "loses",
                                                loss_of(p) / 100, "weight", p->weight));
    }
    json_t *j = json_pack("{s:s,s:o,s:o,s:o,s:i}", "name", name, "range", range, "variants", variants, "points", points,
                          "programs", v->nprogram);
    json_object_set_new(j, "form", json_string(v->form));
    json_object_set_new(j, "loses", v->n ? json_real(expm1(v->loss)) : json_null());
    if (!v->n)
        json_object_set_new(j, "why", json_string(v->why));
    return j;
}

json_t *tc_cli_places_json(const tc_workload *w, const tc_tune_places *p) {
    json_t *j = json_array();
    for (int i = 0; i < p->n; i++)
        json_array_append_new(j, sizes_json(w, p->sizes[i]));
    return j;
}

/* ---- --at ---- */

/* A size that varies. */
typedef struct varying {
    const char *name;
    long long least, most, multiple;
} varying;

/* "N = 1..512, S = 32..128 in steps of 32" */
static const char *ranges_text(tc_arena *a, const varying *v, int n) {
    const char *text = "";
    for (int i = 0; i < n; i++) {
        text = tc_arena_printf(a, "%s%s%s = %lld..%lld", text, i ? ", " : "", v[i].name, v[i].least, v[i].most);
        if (v[i].multiple > 1)
            text = tc_arena_printf(a, "%s in steps of %lld", text, v[i].multiple);
    }
    return text;
}

/* "N=17": which it is, -1 where none has that name. */
static int read_size(const char *text, const varying *v, int n, int64_t *size) {
    const char *is = strchr(text, '=');
    char *end;
    *size = is && is[1] >= '0' && is[1] <= '9' ? strtoll(is + 1, &end, 10) : -1;
    for (int i = 0; i < n && *size >= 0 && !*end; i++)
        if (strlen(v[i].name) == (size_t)(is - text) && strncmp(text, v[i].name, (size_t)(is - text)) == 0)
            return i;
    return -1;
}

/* sizes[i]: -1 where it is not given. what: "kernel" */
static int read_all(const tc_cli_texts *at, const char *what, const varying *v, int n, tc_arena *a, int64_t *sizes,
                    tc_error *err) {
    int64_t size;
    for (int i = 0; i < n; i++)
        sizes[i] = -1;
    if (!n)
        return tc_cli_usage(err, "--at %s: no size of the %s varies", at->data[0], what);
    for (size_t k = 0; k < at->len; k++) {
        int i = read_size(at->data[k], v, n, &size);
        if (i < 0)
            return tc_cli_usage(err, "--at %s: expected NAME=SIZE with a size of the %s, which has %s", at->data[k], what,
                                ranges_text(a, v, n));
        if (sizes[i] >= 0 || size < v[i].least || size > v[i].most || size % v[i].multiple)
            return tc_cli_usage(err, "--at %s: %s runs from %lld to %lld%s, and is given once", at->data[k], v[i].name,
                                v[i].least, v[i].most,
                                v[i].multiple > 1 ? tc_arena_printf(a, " in steps of %lld", v[i].multiple) : "");
        sizes[i] = size;
    }
    return TC_CLI_DONE;
}

int tc_cli_at(const tc_cli_texts *at, const tc_workload *w, tc_arena *a, const int64_t **out, tc_error *err) {
    int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
    varying *v = TC_NEW_N(a, varying, w->nsymbol);
    *out = NULL;
    if (at->len == 0)
        return TC_CLI_DONE;
    for (int i = 0; i < w->nsymbol; i++)
        v[i] = (varying){w->symbols[i]->name, w->symbols[i]->least, w->symbols[i]->most, 1};
    int status = read_all(at, "kernel", v, w->nsymbol, a, sizes, err);
    for (int i = 0; status == TC_CLI_DONE && i < w->nsymbol; i++)
        if (sizes[i] < 0)
            return tc_cli_usage(err, "--at: give %s too, as --at %s=%lld", v[i].name, v[i].name, v[i].most);
    *out = sizes;
    return status;
}

int tc_cli_at_network(const tc_cli_texts *at, const tc_graph_size_rules *r, tc_arena *a, const int64_t **out, tc_error *err) {
    int64_t *sizes = TC_NEW_N(a, int64_t, r->nsize);
    varying *v = TC_NEW_N(a, varying, r->nsize);
    *out = NULL;
    if (at->len == 0)
        return TC_CLI_DONE;
    for (int i = 0; i < r->nsize; i++)
        v[i] = (varying){r->size[i].name, r->size[i].least, r->size[i].most, r->size[i].multiple};
    int status = read_all(at, "network", v, r->nsize, a, sizes, err);
    if (status == TC_CLI_DONE && tc_graph_size_rules_complete(r, sizes, err) != TC_OK) {
        tc_error_prefix(err, "--at: ");
        return TC_CLI_USAGE;
    }
    *out = sizes;
    return status;
}

const char *tc_cli_sizes_text(tc_arena *a, const tc_graph_size_rules *r, const int64_t *sizes) {
    const char *text = "";
    for (int k = 0; k < r->nsize; k++)
        text = tc_arena_printf(a, "%s %s=%lld", text, r->size[k].name, (long long)sizes[k]);
    return text;
}

json_t *tc_cli_sizes_json(const tc_graph_size_rules *r, const int64_t *sizes) {
    json_t *j = json_object();
    for (int k = 0; k < r->nsize; k++)
        json_object_set_new(j, r->size[k].name, json_integer((json_int_t)sizes[k]));
    return j;
}
