/* Writes the page of operators: tctune-operators FILE. The build of tctune runs this program; it is never installed. */
#include <stdio.h>

#include "graph/manual/manual.h"
#include "support/say.h"
#include "support/system/fs.h"

int main(int argc, char **argv) {
    tc_error err = {0};
    tc_strbuf page = {0};
    if (argc != 2) {
        tc_say(stderr, "usage: tctune-operators FILE\n");
        return 2;
    }
    manual_page(&page);
    tc_status s = tc_fs_write(argv[1], page.data, page.len, &err);
    tc_strbuf_free(&page);
    if (s != TC_OK)
        tc_say(stderr, "tctune-operators: %s\n", err.msg);
    return s == TC_OK ? 0 : 1;
}
