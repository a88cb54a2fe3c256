/* The bounds of inputs: docs/RELIABILITY.md has the table that inputs.def makes. */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "support/inputs.h"
#include "support/system/fs.h"

static void the_page_has_the_table(void **state) {
    (void)state;
    char *page = NULL;
    tc_strbuf table = {0};
    tc_inputs_table(&table);
    assert_int_equal(tc_fs_read_text(TCTUNE_SOURCE_DIR "/docs/RELIABILITY.md", &page, NULL), TC_OK);
    const char *end = strstr(page, "\n\nLevels are those of nesting.");
    const char *start = strstr(page, "| input | read by");
    assert_non_null(start);
    assert_non_null(end);
    if ((size_t)(end + 1 - start) != table.len || memcmp(start, table.data, table.len) != 0)
        fail_msg("replace the table of inputs in docs/RELIABILITY.md by this:\n%s", table.data);
    free(page);
    tc_strbuf_free(&table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_page_has_the_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
