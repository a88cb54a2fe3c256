/* Prints one kernel in reports: which variant serves which sizes, and how much time that choice loses. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print.h"

/* "N = 1..512, S = 1..16" */
static void put_ranges(tc_strbuf *b, const json_t *range) {
    const char *name, *sep = "";
    const json_t *r;
    json_object_foreach((json_t *)(uintptr_t)range, name, r) {
        tc_sb_printf(b, "%s%s = %lld..%lld", sep, name, (long long)json_integer_value(json_array_get(r, 0)),
                     (long long)json_integer_value(json_array_get(r, 1)));
        sep = ", ";
    }
}

static void print_points(const json_t *range, const json_t *points, tc_cli_format format) {
    static const char *const rest[] = {">variant", ">time|ms", ">best|ms", ">loses|%", ">weight"};
    size_t nsymbol = json_object_size(range);
    const char **head = tc_xcalloc(nsymbol + TC_LEN(rest), sizeof *head), **h = head, *name;
    tc_arena *a = tc_arena_new();
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)range, name, value) *h++ = tc_arena_printf(a, ">%s", name);
    memcpy(h, rest, sizeof rest);
    tc_cli_table t = tc_cli_table_new(format, (int)(nsymbol + TC_LEN(rest)), head);
    for (size_t k = 0; k < json_array_size(points); k++) {
        const json_t *p = json_array_get(points, k);
        json_object_foreach(json_object_get(p, "sizes"), name, value)
            tc_cli_cell(&t, "%lld", (long long)json_integer_value(value));
        tc_cli_cell(&t, "%lld", tc_cli_number(p, "variant") + 1);
        tc_cli_cell_time(&t, tc_cli_real(p, "median_ms"));
        tc_cli_cell_time(&t, tc_cli_real(p, "best_ms"));
        tc_cli_cell_share(&t, 1, tc_cli_real(p, "loses"));
        tc_cli_cell_real(&t, 3, tc_cli_real(p, "weight"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
    tc_arena_free(a);
    free(head);
}

static void print_in_words(const json_t *j) {
    const json_t *variants = json_object_get(j, "variants"), *points = json_object_get(j, "points");
    size_t n = json_array_size(variants);
    tc_strbuf range = {0};
    put_ranges(&range, json_object_get(j, "range"));
    if (!n) {
        tc_say(stdout, "%s: one schedule for %s (%s)\n", tc_cli_text(j, "name"), tc_sb_str(&range), tc_cli_text(j, "why"));
    } else {
        tc_say(stdout,
               "%s: %zu variant%s (%s) for %s, of %lld programs at %zu sizes; %.1f %% slower than the best of each size\n",
               tc_cli_text(j, "name"), n, n == 1 ? "" : "s", tc_cli_text(j, "form"), tc_sb_str(&range),
               tc_cli_number(j, "programs"), json_array_size(points), 100 * tc_cli_real(j, "loses"));
        for (size_t i = 0; i < n; i++) {
            const json_t *v = json_array_get(variants, i);
            bool apart = strcmp(tc_cli_text(v, "form"), tc_cli_text(j, "form")) != 0;
            tc_say(stdout, "  variant %zu: %s, program %s%s%s\n", i + 1, tc_cli_text(v, "serves"), tc_cli_text(v, "program"),
                   apart ? ", " : "", apart ? tc_cli_text(v, "form") : "");
        }
    }
    tc_strbuf_free(&range);
}

void tc_cli_print_variants(const json_t *j, tc_cli_format format) {
    if (tc_cli_is_prose(format))
        print_in_words(j);
    if (json_array_size(json_object_get(j, "variants")))
        print_points(json_object_get(j, "range"), json_object_get(j, "points"), format);
}
