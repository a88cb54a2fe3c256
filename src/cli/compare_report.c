/* What `tctune compare` reports: as text, widest things side by side, the verdict last; or as JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare.h"

enum { WIDTH = 130, FEATURES_SHOWN = 8 /* per store, the largest differences */ };

static bool both(const comparison *c) {
    return !c->side[0].peer && !c->side[1].peer;
}

static bool same_program(const comparison *c) {
    return both(c) && c->side[0].made.program == c->side[1].made.program;
}

static void heading(const char *text) {
    printf("\n# ---- %s ----\n", text);
}

static void columns(const comparison *c, const char *what, const char *left, const char *right) {
    heading(what);
    if (strcmp(left, right) == 0)
        printf("(the same)\n%s", left);
    else
        tc_cli_side_by_side(stdout, left, right, WIDTH);
    (void)c;
}

/* ---- features ---- */

static void print_features(const comparison *c) {
    static const char *const head[] = {">store", "feature", ">A", ">B"};
    int n, unpaired, shown = 0;
    tc_tune_difference *d = tc_tune_differences(&c->side[0].made, &c->side[1].made, &n, &unpaired);
    tc_cli_table t = tc_cli_table_new(TC_LEN(head), head);
    heading("cost-model features that differ");
    for (int i = 0; i < n; i++) {
        shown = i && d[i].store == d[i - 1].store ? shown + 1 : 1;
        if (shown > FEATURES_SHOWN)
            continue;
        tc_cli_cell(&t, "%d", d[i].store);
        tc_cli_cell(&t, "%s", d[i].name);
        tc_cli_cell(&t, "%.4g", d[i].a);
        tc_cli_cell(&t, "%.4g", d[i].b);
    }
    if (n)
        tc_cli_table_print(&t, stdout);
    else
        printf("(none)\n");
    printf("the %d largest of each store are shown, %d differ in all", FEATURES_SHOWN, n);
    if (unpaired)
        printf("; one has %d stores more than the other", unpaired);
    printf(".\nCycles that the analytic model expects: A %.4g, B %.4g\n", c->side[0].made.cycles, c->side[1].made.cycles);
    tc_cli_table_free(&t);
    free(d);
}

/* ---- assembly ---- */

static void print_assembly(const comparison *c) {
    heading("hot loops, read off the assembly");
    for (int i = 0; i < 2; i++) {
        tc_strbuf b = {0};
        if (c->side[i].peer)
            continue;
        tc_cg_asm_facts_print(&c->side[i].made.facts, "  ", &b);
        printf("%c:\n%s", "AB"[i], tc_sb_str(&b));
        tc_strbuf_free(&b);
    }
}

/* ---- time ---- */

static double seconds_of(const comparison *c, int i) {
    return i ? c->duel.verdict.b : c->duel.verdict.a;
}

static void print_roof(const comparison *c) {
    const tc_tune_roof *r = &c->duel.roof;
    char bytes[24], time[24], roof[24];
    heading("roofline");
    printf("%.4g MFLOP on at least %s: %.2f FLOP per byte. Peak %.1f GFLOP/s%s%s%s, bandwidth at this footprint %.1f GB/s (%d "
           "threads)\n",
           r->flops / 1e6, tc_cli_bytes(bytes, r->bytes), r->intensity, r->peak_gflops, r->unit ? " (" : "",
           r->unit ? r->unit->text : "", r->unit ? ")" : "", r->bandwidth_gbs, c->threads);
    printf("bound by %s: %.1f GFLOP/s, %s a call\n", r->memory_bound ? "bandwidth" : "arithmetic", r->roof_gflops,
           tc_cli_time(roof, r->seconds));
    if (c->mode == TC_MEAS_COLD)
        printf("timed cold: the bytes are constants, the bandwidth that of memory\n");
    tc_cli_print_caches(stdout, c->threads);
    for (int i = 0; i < 2; i++)
        printf("%c: %s, %.1f GFLOP/s, %.1f %% of the roof\n", "AB"[i], tc_cli_time(time, seconds_of(c, i)),
               r -> flops / seconds_of(c, i) / 1e9, 100 * r -> seconds / seconds_of(c, i));
}

/* Speed of the faster one relative to the other: how much more it does in the same time, and half the interval's width. */
static void faster_by(const tc_tune_verdict *v, double *percent, double *half) {
    bool a = v->faster < 0;
    double mid = a ? v->ratio : 1 / v->ratio, low = a ? v->low : 1 / v->high, high = a ? v->high : 1 / v->low;
    *percent = 100 * (mid - 1);
    *half = 100 * (high - low) / 2;
}

static void print_verdict(const comparison *c) {
    const tc_tune_verdict *v = &c->duel.verdict;
    double percent, half;
    heading("verdict");
    printf("%d rounds in turns, %s; time of B / time of A: %.4f, 95 %% interval %.4f to %.4f; sign test p = %.2g\n", v->rounds,
           tc_meas_mode_text(c->mode), v->ratio, v->low, v->high, v->sign_p);
    faster_by(v, &percent, &half);
    if (same_program(c))
        printf("not distinguishable: A and B become the same program\n");
    else if (v->faster)
        printf("%c is faster by %.1f %% ± %.1f\n", v->faster < 0 ? 'A' : 'B', percent, half);
    else
        printf("not distinguishable (a difference of more than %.1f %% would have shown)\n",
               100 * TC_MAX(v->high - 1, 1 - v->low));
}

void tc_cli_comparison_print(const comparison *c) {
    const compare_side *a = &c->side[0], *b = &c->side[1];
    printf("kernel %s\nA: %s (%s)\nB: %s (%s)\n", c->kernel, a->spec, a->origin, b->spec, b->origin);
    if (both(c)) {
        columns(c, "schedules: A left, B right", a->k.trace, b->k.trace);
        columns(c, "loop nests", tc_sb_str(&a->made.nest), tc_sb_str(&b->made.nest));
        print_features(c);
    }
    print_assembly(c);
    print_roof(c);
    print_verdict(c);
}

/* ---- JSON ---- */

static json_t *features_json(const comparison *c) {
    json_t *list = json_array();
    int n, unpaired;
    tc_tune_difference *d = tc_tune_differences(&c->side[0].made, &c->side[1].made, &n, &unpaired);
    for (int i = 0; i < n; i++)
        json_array_append_new(list,
                              json_pack("{s:i,s:s,s:f,s:f}", "store", d[i].store, "name", d[i].name, "a", d[i].a, "b", d[i].b));
    free(d);
    return list;
}

static json_t *side_json(const comparison *c, int i) {
    const compare_side *s = &c->side[i];
    json_t *j = json_pack("{s:s,s:s}", "spec", s->spec, "origin", s->origin);
    if (!s->peer) {
        char program[24];
        snprintf(program, sizeof program, "%016llx", (unsigned long long)s->made.program);
        json_object_set_new(j, "schedule", json_string(s->k.trace));
        json_object_set_new(j, "nest", json_string(tc_sb_str(&s->made.nest)));
        json_object_set_new(j, "program", json_string(program));
        json_object_set_new(j, "expected_cycles", tc_cli_json_real(s->made.cycles));
        json_object_set_new(j, "asm_facts", tc_cli_asm_json(&s->made.facts));
    }
    json_object_set_new(j, "median_ms", tc_cli_json_real(seconds_of(c, i) * 1e3));
    json_object_set_new(j, "gflops", tc_cli_json_real(c->duel.roof.flops / seconds_of(c, i) / 1e9));
    json_object_set_new(j, "of_roof", tc_cli_json_real(c->duel.roof.seconds / seconds_of(c, i)));
    return j;
}

static json_t *verdict_json(const comparison *c) {
    const tc_tune_verdict *v = &c->duel.verdict;
    double percent, half;
    json_t *j = json_object();
    faster_by(v, &percent, &half);
    json_object_set_new(j, "rounds", json_integer(v->rounds));
    json_object_set_new(j, "ratio", tc_cli_json_real(v->ratio));
    json_object_set_new(j, "low", tc_cli_json_real(v->low));
    json_object_set_new(j, "high", tc_cli_json_real(v->high));
    json_object_set_new(j, "sign_p", tc_cli_json_real(v->sign_p));
    json_object_set_new(j, "same_program", json_boolean(same_program(c)));
    if (v->faster && !same_program(c)) {
        json_object_set_new(j, "faster", json_string(v->faster < 0 ? "A" : "B"));
        json_object_set_new(j, "percent", tc_cli_json_real(percent));
        json_object_set_new(j, "plus_minus", tc_cli_json_real(half));
    } else {
        json_object_set_new(j, "faster", json_null());
    }
    return j;
}

void tc_cli_comparison_json(const comparison *c) {
    json_t *j = json_pack("{s:s,s:s,s:i,s:s}", "kernel", c->kernel, "hash", c->hash.hex, "threads", c->threads, "mode",
                          tc_meas_mode_text(c->mode));
    json_object_set_new(j, "a", side_json(c, 0));
    json_object_set_new(j, "b", side_json(c, 1));
    if (both(c))
        json_object_set_new(j, "features", features_json(c));
    const tc_tune_roof *r = &c->duel.roof;
    json_object_set_new(j, "roofline",
                        json_pack("{s:f,s:f,s:f,s:f,s:f,s:f,s:s}", "flops", r->flops, "bytes", r->bytes, "intensity",
                                  r->intensity, "peak_gflops", r->peak_gflops, "bandwidth_gbs", r->bandwidth_gbs, "roof_gflops",
                                  r->roof_gflops, "bound_by", r->memory_bound ? "bandwidth" : "arithmetic"));
    if (r->unit)
        json_object_set_new(json_object_get(j, "roofline"), "unit", json_string(r->unit->text));
    json_object_set_new(j, "caches", tc_cli_caches_json(c->threads));
    json_object_set_new(j, "verdict", verdict_json(c));
    tc_cli_json_print(j);
}
