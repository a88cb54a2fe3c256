/* Prints the result of `tctune bench --against` for people. It shows each kernel beside the same kernel of the base, and then the
 * whole network. For slower kernels it lists the schedule decisions that differ from the base. */
#include <math.h>
#include <string.h>

#include "cli/print.h"

enum { CHANGES_SHOWN = 8 }; /* of one kind, of one kernel */

static bool is(const json_t *j, const char *verdict) {
    return strcmp(tc_cli_text(j, "verdict"), verdict) == 0;
}

static bool is_timed(const json_t *j) {
    return tc_cli_number(j, "rounds") > 0;
}

static void time_cell(tc_cli_table *t, const json_t *k, const char *key) {
    tc_cli_cell_time(t, tc_cli_real(k, key));
}

static void result_cells(tc_cli_table *t, const json_t *k) {
    time_cell(t, k, "base_ms");
    time_cell(t, k, "now_ms");
    tc_cli_cell_real(t, 4, is_timed(k) ? tc_cli_real(k, "ratio") : NAN);
    if (is_timed(k))
        tc_cli_cell(t, "%.4f to %.4f", tc_cli_real(k, "low"), tc_cli_real(k, "high"));
    else
        tc_cli_cell_none(t);
    tc_cli_cell(t, "%s", tc_cli_text(k, "verdict"));
}

static void kernel_row(tc_cli_table *t, const json_t *k) {
    tc_cli_cell(t, "%s", tc_cli_text(k, "name"));
    tc_cli_cell(t, "%lld", tc_cli_number(k, "count"));
    result_cells(t, k);
}

static void print_table(const json_t *kernels, const json_t *network, tc_cli_format format) {
    static const char *const head[] = {">#", "kernel", ">count", ">base|ms", ">now|ms", ">now/base", "95 % interval", "verdict"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        tc_cli_cell(&t, "%zu", i);
        kernel_row(&t, json_array_get(kernels, i));
    }
    if (!tc_cli_is_prose(format)) { /* else a sentence says it */
        tc_cli_cell_none(&t);
        tc_cli_cell(&t, "the network");
        tc_cli_cell(&t, "1");
        result_cells(&t, network);
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

/* ---- what is different ---- */

/* What stands behind " ~" of a step that both have. */
static const char *decision_of(const char *step) {
    const char *last = NULL;
    for (const char *p = step; (p = strstr(p, " ~")); p++)
        last = p + 2;
    return last;
}

enum { DECIDED, ONLY_NOW, ONLY_BASE, KINDS };

static int kind_of(const json_t *c) {
    bool base = json_is_string(json_object_get(c, "base")), now = json_is_string(json_object_get(c, "now"));
    return base && now ? DECIDED : now ? ONLY_NOW : ONLY_BASE;
}

static void print_change(const json_t *c) {
    const char *base = tc_cli_text(c, "base"), *now = tc_cli_text(c, "now");
    const char *decided = decision_of(now);
    int kind = kind_of(c);
    if (kind == DECIDED)
        tc_say(stdout, "    %s, now ~%s\n", base, decided ? decided : "?");
    else
        tc_say(stdout, "    %s: %s\n", kind == ONLY_NOW ? "only now" : "only the base", kind == ONLY_NOW ? now : base);
}

static void print_kind(const json_t *changed, int kind) {
    int n = 0;
    for (size_t i = 0; i < json_array_size(changed); i++) {
        const json_t *c = json_array_get(changed, i);
        if (kind_of(c) == kind && n++ < CHANGES_SHOWN)
            print_change(c);
    }
    if (n > CHANGES_SHOWN)
        tc_say(stdout, "    ... and %d more; --json lists all\n", n - CHANGES_SHOWN);
}

static void print_changes(size_t number, const json_t *k) {
    const char *form = tc_cli_text(k, "form"), *before = tc_cli_text(k, "base_form");
    tc_say(stdout,
           "\nkernel %zu, %s, is slower: it takes %.4f times as long as the base (%.4f to %.4f). Its schedule (%s) differs from "
           "the base's:\n",
           number, tc_cli_text(k, "name"), tc_cli_real(k, "ratio"), tc_cli_real(k, "low"), tc_cli_real(k, "high"),
           tc_cli_text(k, "source"));
    if (strcmp(form, before) != 0)
        tc_say(stdout, "    the form: base %s, now %s\n", before, form);
    for (int kind = 0; kind < KINDS; kind++)
        print_kind(json_object_get(k, "changed"), kind);
}

static void print_reasons(const json_t *kernels) {
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i);
        if (is(k, "slower"))
            print_changes(i, k);
        else if (is(k, "not compared"))
            tc_say(stdout, "\nkernel %zu, %s, was not compared: %s\n", i, tc_cli_text(k, "name"), tc_cli_text(k, "why"));
    }
}

static void print_network(const json_t *j) {
    const json_t *v = json_object_get(j, "network");
    char base[24], now[24];
    double low = tc_cli_real(v, "low"), high = tc_cli_real(v, "high");
    if (is_timed(v))
        tc_say(stdout, "\n%s: base %s, now %s, in %lld rounds in turns; now/base %.4f, 95 %% interval %.4f to %.4f: %s\n",
               tc_cli_text(j, "name"), tc_text_time(base, tc_cli_real(v, "base_ms") / 1e3),
               tc_text_time(now, tc_cli_real(v, "now_ms") / 1e3), tc_cli_number(v, "rounds"), tc_cli_real(v, "ratio"), low, high,
               tc_cli_text(v, "verdict"));
    else
        tc_say(stdout, "\n%s: %s, so nothing was timed\n", tc_cli_text(j, "name"), tc_cli_text(v, "verdict"));
}

void tc_cli_print_against(const json_t *j, tc_cli_format format) {
    const json_t *kernels = json_object_get(j, "kernels");
    if (!tc_cli_is_prose(format)) {
        print_table(kernels, json_object_get(j, "network"), format);
        return;
    }
    tc_say(stdout, "base: %s (%s), %lld threads\n", tc_cli_text(j, "base"), tc_cli_text(j, "base_name"),
           tc_cli_number(j, "threads"));
    print_table(kernels, NULL, format);
    print_reasons(kernels);
    print_network(j);
}

/* ---- in one sentence ---- */

static void say(tc_strbuf *out, const char *name, const json_t *v) {
    tc_sb_printf(out, "%s %s (%+.1f %%)", out->len ? "," : "slower than the base beyond doubt:", name,
                 100 * (tc_cli_real(v, "ratio") - 1));
}

const char *tc_cli_say_slower(const json_t *j, tc_strbuf *out) {
    const json_t *kernels = json_object_get(j, "kernels"), *network = json_object_get(j, "network");
    for (size_t i = 0; i < json_array_size(kernels); i++)
        if (is(json_array_get(kernels, i), "slower"))
            say(out, tc_cli_text(json_array_get(kernels, i), "name"), json_array_get(kernels, i));
    if (is(network, "slower"))
        say(out, "the whole", network);
    return tc_sb_str(out);
}
