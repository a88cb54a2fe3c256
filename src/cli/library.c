/* Prints the metadata of a built library. They are read from the library's file; the library is not loaded. */
#include "cli/commands.h"

/* The name of the size that dimension d of input i has; NULL: it does not vary. */
static const json_t *size_of(const json_t *varying, size_t i, size_t d) {
    const json_t *k = json_array_get(json_array_get(json_object_get(varying, "inputs"), i), d);
    return json_is_integer(k) && json_integer_value(k) >= 0
               ? json_array_get(json_object_get(varying, "sizes"), (size_t)json_integer_value(k))
               : NULL;
}

/* hidden: ports at the end of the list that are sizes, which callers do not see; varying: the sizes of inputs, NULL: none
 * varies. */
static void print_ports(const char *what, const json_t *ports, size_t hidden, const json_t *varying) {
    for (size_t i = 0; i + hidden < json_array_size(ports); i++) {
        const json_t *p = json_array_get(ports, i), *shape = json_object_get(p, "shape");
        tc_say(stdout, "%-8s %s  %s[", i ? "" : what, tc_cli_text(p, "name"), tc_cli_text(p, "dtype"));
        for (size_t d = 0; d < json_array_size(shape); d++)
            if (size_of(varying, i, d))
                tc_say(stdout, "%s%s", d ? "," : "", tc_cli_text(size_of(varying, i, d), "name"));
            else
                tc_say(stdout, "%s%lld", d ? "," : "", (long long)json_integer_value(json_array_get(shape, d)));
        tc_say(stdout, "]\n");
    }
}

static void print_limit(const json_t *l) {
    const json_t *size = json_object_get(l, "size"), *least = json_object_get(l, "least"), *most = json_object_get(l, "most");
    bool single = least && most && json_integer_value(least) == json_integer_value(most);
    tc_say(stdout, "         %s is", tc_cli_text(size ? size : json_object_get(l, "sum"), "text")); /* of earlier versions */
    if (single)
        tc_say(stdout, " %lld", tc_cli_number(l, "most"));
    if (least && !single)
        tc_say(stdout, " at least %lld", tc_cli_number(l, "least"));
    if (most && !single)
        tc_say(stdout, " at most %lld", tc_cli_number(l, "most"));
    if (json_object_get(l, "multiple"))
        tc_say(stdout, " a multiple of %lld", tc_cli_number(l, "multiple"));
    if (json_object_get(l, "by"))
        tc_say(stdout, " a multiple of %s", tc_cli_text(json_object_get(l, "by"), "text"));
    if (json_object_get(l, "same"))
        tc_say(stdout, " %s", tc_cli_text(json_object_get(l, "same"), "text"));
    if (json_object_get(l, "what"))
        tc_say(stdout, ", for %s", tc_cli_text(l, "what"));
    tc_say(stdout, "\n");
}

/* Which sizes it serves: ranges, and what relates them. */
static void print_sizes(const json_t *varying) {
    const json_t *sizes = json_object_get(varying, "sizes"), *limits = json_object_get(varying, "limits");
    for (size_t i = 0; i < json_array_size(sizes); i++) {
        const json_t *s = json_array_get(sizes, i), *is = json_object_get(s, "is");
        tc_say(stdout, "%-8s %s = ", i ? "" : "sizes", tc_cli_text(s, "name"));
        if (is)
            tc_say(stdout, "%s, ", tc_cli_text(is, "text"));
        tc_say(stdout, "%lld..%lld", tc_cli_number(s, "least"), tc_cli_number(s, "most"));
        if (tc_cli_number(s, "multiple") > 1)
            tc_say(stdout, " in steps of %lld", tc_cli_number(s, "multiple"));
        tc_say(stdout, "%s\n", !is && json_is_true(json_object_get(s, "assumed")) ? ", assumed" : "");
    }
    for (size_t i = 0; i < json_array_size(limits); i++) {
        const json_t *l = json_array_get(limits, i);
        print_limit(l);
    }
}

static void print_kernels(const json_t *kernels, tc_cli_format format) {
    static const char *const head[] = {">#", "kernel", ">runs", "form", ">record", ">time|ms", "workload", "trace"};
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    for (size_t i = 0; i < json_array_size(kernels); i++) {
        const json_t *k = json_array_get(kernels, i), *seconds = json_object_get(k, "seconds");
        tc_cli_cell(&t, "%zu", i);
        tc_cli_cell(&t, "%s", tc_cli_text(k, "name"));
        tc_cli_cell(&t, "%lld", (long long)json_integer_value(json_object_get(k, "count")));
        tc_cli_cell(&t, "%s", tc_cli_text(k, "form"));
        if (json_is_number(seconds)) {
            tc_cli_cell(&t, "%lld", tc_cli_number(k, "record"));
            tc_cli_cell_time(&t, 1e3 * json_number_value(seconds));
        } else {
            tc_cli_cell(&t, "default");
            tc_cli_cell(&t, "%s", "");
        }
        tc_cli_cell(&t, "%s", tc_cli_text(k, "workload"));
        tc_cli_cell(&t, "%s", tc_cli_text(k, "trace"));
    }
    tc_cli_table_print(&t, stdout);
    tc_cli_table_free(&t);
}

static void print_text(const json_t *j, tc_cli_format format) {
    const json_t *from = json_object_get(j, "provenance"), *varying = json_object_get(j, "varying");
    if (!tc_cli_is_prose(format)) {
        print_kernels(json_object_get(j, "kernels"), format);
        return;
    }
    tc_say(stdout, "%s: library '%s' for at most %lld threads\n", tc_cli_text(j, "library"), tc_cli_text(j, "name"),
           (long long)json_integer_value(json_object_get(j, "threads")));
    tc_say(stdout, "target   %s\n", tc_cli_text(j, "target"));
    tc_say(stdout, "stack    %lld bytes of each thread\n", (long long)json_integer_value(json_object_get(j, "stack")));
    if (json_object_get(j, "team"))
        tc_say(stdout, "team     %s\n", tc_cli_text(j, "team"));
    tc_say(stdout, "made by  tctune %s (LLVM %s, build %s)\n", tc_cli_text(from, "tctune"), tc_cli_text(from, "llvm"),
           tc_cli_text(from, "build"));
    tc_say(stdout, "accuracy %s%s\n", tc_cli_text(from, "accuracy"),
           json_is_true(json_object_get(from, "bf16")) ? ", bf16 where it pays" : "");
    tc_say(stdout, "database %s\n", json_object_get(from, "database") ? tc_cli_text(from, "database") : "none");
    print_ports("inputs", json_object_get(j, "inputs"), json_array_size(json_object_get(varying, "sizes")), varying);
    print_ports("outputs", json_object_get(j, "outputs"), (size_t)TC_MAX(0, tc_cli_number(j, "sizes")), NULL);
    print_sizes(varying);
    print_kernels(json_object_get(j, "kernels"), format);
}

int tc_cli_show_library(const char *path, tc_cli_format format, tc_error *err) {
    char *text;
    int status = tc_cli_status(tctune_library_describe(path, &text, TC_CLI_SAY(err)));
    if (status != TC_CLI_DONE)
        return status;
    tc_cli_tell(text, format, print_text);
    return TC_CLI_DONE;
}
