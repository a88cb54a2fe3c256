/* What the API's tests share: a call that must succeed, and small kernels. */
#ifndef TC_TESTS_API_COMMON_H
#define TC_TESTS_API_COMMON_H

#include "support/cmocka_all.h"

#include <string.h>
#include <unistd.h>

#include <tctune/tctune.h>

#define SCRATCH(name) TCTUNE_TEST_TMP "/" name

static char error[2048];

/* The call has a status and takes error, sizeof error. */
#define OK(call)                                                                                                                 \
    do {                                                                                                                         \
        if ((call) != TCTUNE_OK)                                                                                                 \
            fail_msg("%s: %s", #call, error);                                                                                    \
    } while (0)
#define REFUSED(status, why, call)                                                                                               \
    do {                                                                                                                         \
        *error = 0;                                                                                                              \
        assert_int_equal((call), (status));                                                                                      \
        if (!strstr(error, why))                                                                                                 \
            fail_msg("%s: '%s' does not say '%s'", #call, error, why);                                                           \
    } while (0)

static const char gemm_text[] = "tensor X[48, 64] f32\ntensor W[64, 32] f32 const\n"
                                "compute Y[i:48, j:32] = sum(k:64) X[i, k] * W[k, j]\noutput Y\n";

__attribute__((unused)) static tctune_work *open_text(const char *te) {
    tctune_work_options o = {.struct_size = sizeof o, .te_text = te, .te = "gemm"};
    tctune_work *w;
    OK(tctune_open(&o, &w, error, sizeof error));
    return w;
}

__attribute__((unused)) static void remove_database(const char *path) {
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char name[4096];
        strcat(strcpy(name, path), ends[i]);
        unlink(name);
    }
}

#endif
