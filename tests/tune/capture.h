/* What goes to standard error until it is put back. */
#ifndef TC_TESTS_TUNE_CAPTURE_H
#define TC_TESTS_TUNE_CAPTURE_H

#include "support/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/system/fs.h"

typedef struct capture {
    char *folder, path[4096];
    int saved;
} capture;

static inline void begin_capture(capture *c) {
    assert_int_equal(tc_fs_temp_dir(&c->folder, NULL), TC_OK);
    snprintf(c->path, sizeof c->path, "%s/stderr", c->folder);
    fflush(stderr);
    c->saved = dup(STDERR_FILENO);
    FILE *f = fopen(c->path, "w");
    assert_non_null(f);
    dup2(fileno(f), STDERR_FILENO);
    fclose(f);
}

/* How often it has `text`. */
static inline int end_capture(capture *c, const char *text) {
    char *all;
    int n = 0;
    fflush(stderr);
    dup2(c->saved, STDERR_FILENO);
    close(c->saved);
    assert_int_equal(tc_fs_read(c->path, &all, NULL, NULL), TC_OK);
    for (const char *p = all; (p = strstr(p, text)); p++)
        n++;
    free(all);
    tc_fs_remove_tree(c->folder);
    free(c->folder);
    return n;
}

#endif
