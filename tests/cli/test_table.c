/* Tables of the command in each format: what people read, and what other programs do. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/face/face.h"

static void assert_printed(tc_cli_format format, const char *expected) {
    static const char *const head[] = {"kernel", ">each|ms", ">share|%", ">GFLOP/s", "note"};
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    tc_cli_table t = tc_cli_table_new(format, TC_LEN(head), head);
    tc_cli_cell(&t, "%s", "Conv f32[1,8]");
    tc_cli_cell_time(&t, 0.01736);
    tc_cli_cell_share(&t, 1, 0.12345);
    tc_cli_cell_real(&t, 1, 46.125);
    tc_cli_cell(&t, "%s", "a \"b\" | c");
    tc_cli_cell(&t, "%s", "x");
    tc_cli_cell_time(&t, NAN);
    tc_cli_cell_share(&t, 0, NAN);
    tc_cli_cell_real(&t, 3, INFINITY);
    tc_cli_cell_none(&t);
    tc_cli_table_print(&t, f);
    tc_cli_table_free(&t);
    fclose(f);
    assert_string_equal(text, expected);
    free(text);
}

static void test_people(void **state) {
    (void)state;
    assert_printed(TC_CLI_TABLE, "kernel            each   share  GFLOP/s  note\n"
                                 "Conv f32[1,8]  17.4 us  12.3 %     46.1  a \"b\" | c\n"
                                 "x                    -       -        -  -\n");
}

static void test_markdown(void **state) {
    (void)state;
    assert_printed(TC_CLI_MARKDOWN, "| kernel | each | share | GFLOP/s | note |\n"
                                    "| --- | ---: | ---: | ---: | --- |\n"
                                    "| Conv f32[1,8] | 17.4 us | 12.3 % | 46.1 | a \"b\" \\| c |\n"
                                    "| x | - | - | - | - |\n");
}

/* Bare numbers with all digits, units in the heading, quotes where a text needs them, and nothing for what is not known. */
static void test_csv(void **state) {
    (void)state;
    assert_printed(TC_CLI_CSV, "kernel,each (ms),share (%),GFLOP/s,note\n"
                               "\"Conv f32[1,8]\",0.01736,12.345,46.125,\"a \"\"b\"\" | c\"\n"
                               "x,,,,\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_people), cmocka_unit_test(test_markdown),
                                       cmocka_unit_test(test_csv)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
