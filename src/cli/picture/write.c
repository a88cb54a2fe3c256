/* Writes pictures to files. */
#include "cli/picture/picture.h"
#include "support/system/fs.h"

int tc_cli_picture_write(tc_picture *p, const char *file, tc_error *err) {
    tc_strbuf b = {0};
    tc_picture_end(p, &b);
    tc_status s = tc_fs_write(file, tc_sb_str(&b), b.len, err);
    tc_strbuf_free(&b);
    return s == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}
