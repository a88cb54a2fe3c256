/* The table of inputs as a page has it. See inputs.h. */
#include "support/inputs.h"

#include <inttypes.h>
#include <string.h>

typedef struct row {
    const char *what, *parser, *process;
    int64_t bytes, depth, work;
    const char *unit;
} row;

static const row rows[] = {
#define INPUT(id, what, parser, process, bytes, depth, work, unit) {what, parser, process, bytes, depth, work, unit},
#include "support/inputs.def"
#undef INPUT
};

tc_input_bounds tc_input_bounds_of(tc_input of) {
    return (tc_input_bounds){rows[of].bytes, rows[of].depth, rows[of].work};
}

tc_status tc_input_check(tc_input of, const char *file, const char *text, tc_error *err) {
    size_t n = strlen(text);
    if (n <= (uint64_t)rows[of].bytes)
        return TC_OK;
    return tc_refuse(err, TC_ERROR_BEYOND,
                     "%s: the text has %zu bytes, and at most %" PRId64 " are read of such a text; shorten it", file, n,
                     rows[of].bytes);
}

static void put_bytes(tc_strbuf *b, int64_t n) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    int unit = 0;
    for (; unit < 3 && n % 1024 == 0; unit++)
        n /= 1024;
    tc_sb_printf(b, "%" PRId64 " %s", n, units[unit]);
}

static void put_folders(tc_strbuf *b, const char *names) {
    for (const char *end; *names; names = end) {
        for (end = names; *end && *end != ','; end++)
            ;
        tc_sb_printf(b, "`src/%.*s`", (int)(end - names), names);
        if (*end)
            tc_sb_add(b, ", ");
        while (*end == ',' || *end == ' ')
            end++;
    }
}

void tc_inputs_table(tc_strbuf *b) {
    tc_sb_add(b, "| input | read by | in the process of | bytes | levels | work |\n|---|---|---|---|---|---|\n");
    for (const row *r = rows; r < rows + TC_INPUT_COUNT; r++) {
        tc_sb_printf(b, "| %s | ", r->what);
        put_folders(b, r->parser);
        tc_sb_printf(b, " | the %s | ", r->process);
        if (r->bytes > 0)
            put_bytes(b, r->bytes);
        else
            tc_sb_add(b, r->bytes ? "a part" : "free memory");
        if (r->depth)
            tc_sb_printf(b, " | %" PRId64, r->depth);
        else
            tc_sb_add(b, " | -");
        if (r->work)
            tc_sb_printf(b, " | %" PRId64 " %s |\n", r->work, r->unit);
        else
            tc_sb_add(b, " | - |\n");
    }
}
