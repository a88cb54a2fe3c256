/* Workers of hostile_code.c: a builder that hands out what the test left in a file, and in place of a runner the test's own
 * program, which is one. A program by itself, because to load LLVM, which builders are started without here, takes 0.1 s in each
 * of a hundred cases. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/process/protocol.h"
#include "measure/worker/worker.h"
#include "support/system/fs.h"
#include "worker.h"

static tc_status answer(tc_meas_msg type, const tc_strbuf *b) {
    return tc_meas_write_frame(TC_MEAS_WORKER_FD, type, b->data, b->len, NULL);
}

static void put_built(tc_strbuf *b) {
    char *object = NULL;
    size_t size = 0;
    if (tc_fs_read(getenv(OBJECT_ENV), &object, &size, NULL) != TC_OK)
        _exit(9);
    tc_meas_put_u64(b, TC_MEAS_NONE);
    tc_meas_put_text(b, "");
    tc_meas_put_u64(b, 1); /* hash of the program */
    tc_meas_put_f64(b, 0);
    tc_meas_put_u64(b, 0);
    tc_meas_put_bytes(b, object, size);
    free(object);
}

static int build(void) {
    tc_strbuf b = {0};
    tc_meas_msg type;
    char *payload;
    size_t n;
    bool eof;
    tc_meas_put_u64(&b, TC_MEAS_PROTOCOL);
    tc_meas_put_text(&b, "");
    tc_meas_put_text(&b, "");
    if (answer(TC_MEAS_MSG_READY, &b) != TC_OK)
        return 1;
    while (tc_meas_read_frame(TC_MEAS_WORKER_FD, &type, &payload, &n, &eof, NULL) == TC_OK && !eof) {
        free(payload);
        tc_sb_clear(&b);
        put_built(&b);
        if (answer(TC_MEAS_MSG_BUILT, &b) != TC_OK)
            return 1;
    }
    tc_strbuf_free(&b);
    return 0;
}

/* Builders have a folder of kept objects. */
int main(int argc, char **argv) {
    const char *cache = getenv("TCTUNE_CACHE");
    if (argc != 2 || strcmp(argv[1], "worker") != 0)
        return 2;
    if (cache && strcmp(cache, "off") != 0)
        return build();
    execv(HOSTILE_RUNNER, argv);
    return 127;
}
