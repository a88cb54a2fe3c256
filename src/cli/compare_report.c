/* Prints the result of `tctune compare` for people: the verdict first, then schedules and loop nests side by side. */
#include <math.h>
#include <string.h>

#include "cli/print.h"
#include "support/numbers.h"

enum { WIDTH = 130, FEATURES_SHOWN = 8 /* per store, the largest differences */ };

static void heading(const char *text) {
    tc_say(stdout, "\n# ---- %s ----\n", text);
}

static void columns(const char *what, const char *left, const char *right) {
    heading(what);
    if (strcmp(left, right) == 0) {
        tc_say(stdout, "(the same)\n");
        tc_say_lines(stdout, left);
    } else
        tc_cli_side_by_side(stdout, left, right, WIDTH);
}

/* ---- features ---- */

static void print_features(const json_t *j) {
    static const char *const head[] = {">store", "feature", ">A", ">B"};
    const json_t *features = json_object_get(j, "features");
    size_t n = json_array_size(features);
    long long before = -1, unpaired = tc_cli_number(j, "unpaired_stores");
    int shown = 0;
    tc_cli_table t = tc_cli_table_new(TC_CLI_TABLE, TC_LEN(head), head);
    heading("cost-model features that differ");
    for (size_t i = 0; i < n; i++) {
        const json_t *d = json_array_get(features, i);
        long long store = tc_cli_number(d, "store");
        shown = store == before ? shown + 1 : 1;
        before = store;
        if (shown > FEATURES_SHOWN)
            continue;
        tc_cli_cell(&t, "%lld", store);
        tc_cli_cell(&t, "%s", tc_cli_text(d, "name"));
        tc_cli_cell(&t, "%.4g", tc_cli_real(d, "a"));
        tc_cli_cell(&t, "%.4g", tc_cli_real(d, "b"));
    }
    if (n)
        tc_cli_table_print(&t, stdout);
    else
        tc_say(stdout, "(none)\n");
    tc_say(stdout, "the %d largest differences of each store are shown, of %zu in all", FEATURES_SHOWN, n);
    if (unpaired)
        tc_say(stdout, "; one has %lld stores more than the other", unpaired);
    tc_say(stdout, ".\nCycles that the analytic model expects: A %.4g, B %.4g\n",
           tc_cli_real(json_object_get(j, "a"), "expected_cycles"), tc_cli_real(json_object_get(j, "b"), "expected_cycles"));
    tc_cli_table_free(&t);
}

/* ---- assembly ---- */

static void print_assembly(const json_t *const side[2]) {
    heading("hot loops, read off the assembly");
    for (int i = 0; i < 2; i++) {
        const char *text = json_string_value(json_object_get(json_object_get(side[i], "asm_facts"), "text"));
        if (!text)
            continue;
        tc_say(stdout, "%c:\n", "AB"[i]);
        for (; *text; text += strcspn(text, "\n") + 1)
            tc_say(stdout, "  %.*s\n", (int)strcspn(text, "\n"), text);
    }
}

/* ---- time ---- */

/* Facts that a worker did not tell about its machine are unknown. */
static const char *rate(char out[24], double v, const char *unit) {
    if (isfinite(v))
        tc_snprintf(out, 24, "%.1f %s", v, unit);
    else
        snprintf(out, 24, "not known");
    return out;
}

static void print_bound(const json_t *roofline) {
    char roof[24];
    if (isfinite(tc_cli_real(roofline, "roof_ms")))
        tc_say(stdout, "bound by %s: %.1f GFLOP/s, %s a call\n", tc_cli_text(roofline, "bound_by"),
               tc_cli_real(roofline, "roof_gflops"), tc_text_time(roof, tc_cli_real(roofline, "roof_ms") / 1e3));
}

static void print_share(const json_t *side, char name) {
    char time[24];
    double share = tc_cli_real(side, "of_roof");
    tc_say(stdout, "%c: %s, %.1f GFLOP/s", name, tc_text_time(time, tc_cli_real(side, "median_ms") / 1e3),
           tc_cli_real(side, "gflops"));
    if (isfinite(share))
        tc_say(stdout, ", %.1f %% of the roof", 100 * share);
    tc_say(stdout, "\n");
}

static void print_roof(const json_t *j) {
    const json_t *r = json_object_get(j, "roofline");
    const char *unit = json_string_value(json_object_get(r, "unit"));
    char bytes[24], peak[24], bandwidth[24];
    heading("roofline");
    tc_say(stdout,
           "%.4g MFLOP on at least %s: %.2f FLOP per byte. Peak %s%s%s%s, bandwidth at this footprint %s (%lld threads)\n",
           tc_cli_real(r, "flops") / 1e6, tc_text_bytes(bytes, tc_cli_real(r, "bytes")), tc_cli_real(r, "intensity"),
           rate(peak, tc_cli_real(r, "peak_gflops"), "GFLOP/s"), unit ? " (" : "", unit ? unit : "", unit ? ")" : "",
           rate(bandwidth, tc_cli_real(r, "bandwidth_gbs"), "GB/s"), tc_cli_number(j, "threads"));
    print_bound(r);
    if (json_is_string(json_object_get(j, "worker")))
        tc_say(stdout, "peak and bandwidth are those that the worker measured when it started\n");
    if (strcmp(tc_cli_text(j, "mode"), "cold") == 0)
        tc_say(stdout, "timed cold: the bytes are those of the constants, and the bandwidth is that of memory\n");
    tc_cli_print_caches(stdout, json_object_get(j, "caches"));
}

/* Small differences in per cent, large ones as a factor with three digits. */
static void print_faster(const json_t *v) {
    const char *faster = tc_cli_text(v, "faster");
    double speedup = tc_cli_real(v, "speedup");
    int digits = speedup < 10 ? 2 : speedup < 100 ? 1 : 0;
    if (speedup < 2)
        tc_say(stdout, "%s is faster by %.1f %% ± %.1f\n", faster, tc_cli_real(v, "percent"), tc_cli_real(v, "plus_minus"));
    else
        tc_say(stdout, "%s is %.*f × as fast as %s (95 %% interval %.*f to %.*f)\n", faster, digits, speedup,
               *faster == 'A' ? "B" : "A", digits, tc_cli_real(v, "speedup_low"), digits, tc_cli_real(v, "speedup_high"));
}

static void print_verdict(const json_t *j, const json_t *const side[2]) {
    const json_t *v = json_object_get(j, "verdict");
    double low = tc_cli_real(v, "low"), high = tc_cli_real(v, "high");
    const char *worker = json_string_value(json_object_get(j, "worker"));
    heading("verdict");
    if (json_is_true(json_object_get(v, "same_program")))
        tc_say(stdout, "not distinguishable: A and B become the same program\n");
    else if (json_is_string(json_object_get(v, "faster")))
        print_faster(v);
    else
        tc_say(stdout, "not distinguishable (a difference of more than %.1f %% would have shown)\n",
               100 * fmax(high - 1, 1 - low));
    tc_cli_print_busy(stdout, j, "both take longer than on a quiet machine, and the interval is wider");
    for (int i = 0; i < 2; i++)
        print_share(side[i], "AB"[i]);
    tc_say(stdout, "%lld rounds in turns%s%s, %s; time of B / time of A: %.4f, 95 %% interval %.4f to %.4f; sign test p = %.2g\n",
           tc_cli_number(v, "rounds"), worker ? " on " : "", worker ? worker : "", tc_cli_text(j, "mode"),
           tc_cli_real(v, "ratio"), low, high, tc_cli_real(v, "sign_p"));
}

/* ---- for programs ---- */

static void print_sides(const json_t *const side[2], tc_cli_format format) {
    static const char *const head[] = {"side", "schedule", "origin", ">median|ms", ">GFLOP/s", ">of the roof|%"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (int i = 0; i < 2; i++) {
        tc_cli_cell(&t, "%c", "AB"[i]);
        tc_cli_cell(&t, "%s", tc_cli_text(side[i], "spec"));
        tc_cli_cell(&t, "%s", tc_cli_text(side[i], "origin"));
        tc_cli_cell_time(&t, tc_cli_real(side[i], "median_ms"));
        tc_cli_cell_real(&t, 1, tc_cli_real(side[i], "gflops"));
        tc_cli_cell_share(&t, 1, tc_cli_real(side[i], "of_roof"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_ratio(const json_t *v, tc_cli_format format) {
    static const char *const head[] = {"faster", ">speedup", ">rounds",     ">time of B / time of A",
                                       ">low",   ">high",    ">sign test p"};
    const char *faster = json_string_value(json_object_get(v, "faster"));
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    if (faster)
        tc_cli_cell(&t, "%s", faster);
    else
        tc_cli_cell_none(&t);
    tc_cli_cell_real(&t, 3, tc_cli_real(v, "speedup"));
    tc_cli_cell(&t, "%lld", tc_cli_number(v, "rounds"));
    tc_cli_cell_real(&t, 4, tc_cli_real(v, "ratio"));
    tc_cli_cell_real(&t, 4, tc_cli_real(v, "low"));
    tc_cli_cell_real(&t, 4, tc_cli_real(v, "high"));
    tc_cli_cell(&t, "%.2g", tc_cli_real(v, "sign_p"));
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

void tc_cli_print_comparison(const json_t *j, tc_cli_format format) {
    const json_t *const side[2] = {json_object_get(j, "a"), json_object_get(j, "b")};
    if (!tc_cli_is_prose(format)) {
        print_sides(side, format);
        tc_say(stdout, "\n");
        print_ratio(json_object_get(j, "verdict"), format);
        return;
    }
    tc_say(stdout, "kernel %s\n", tc_cli_text(j, "kernel"));
    for (int i = 0; i < 2; i++)
        tc_say(stdout, "%c: %s (%s)\n", "AB"[i], tc_cli_text(side[i], "spec"), tc_cli_text(side[i], "origin"));
    print_verdict(j, side);
    if (json_object_get(j, "features")) {
        columns("schedules: A left, B right", tc_cli_text(side[0], "schedule"), tc_cli_text(side[1], "schedule"));
        columns("loop nests", tc_cli_text(side[0], "nest"), tc_cli_text(side[1], "nest"));
        print_features(j);
    }
    print_assembly(side);
    print_roof(j);
}
