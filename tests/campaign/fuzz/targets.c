/* The table of targets, and what they share. */
#include "targets.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/hash.h"
#include "support/system/fs.h"
#include "support/vec.h"

const fuzz_target fuzz_targets[] = {
#define TARGET(name, bytes) {#name, fuzz_read_##name, fuzz_damage_##name, bytes},
#include "targets.def"
#undef TARGET
};
const int fuzz_ntargets = (int)TC_LEN(fuzz_targets);

void fuzz_wrong(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    abort();
}

bool fuzz_good(tc_status s, const tc_error *err) {
    if (s != TC_OK && !err->msg[0])
        fuzz_wrong("refused with status %d and no message", (int)s);
    return s == TC_OK;
}

fuzz_file fuzz_file_open(const void *data, size_t size) {
    fuzz_file f = {.fd = memfd_create("input", MFD_CLOEXEC)};
    if (f.fd < 0 || !tc_fs_write_all(f.fd, data, size)) {
        perror("fuzz: memfd");
        exit(2);
    }
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    return f;
}

void fuzz_file_close(const fuzz_file *f) {
    close(f->fd);
}

char *fuzz_text(const char *data, size_t size) {
    char *text = tc_xmalloc(size + 1);
    memcpy(text, data, size);
    text[size] = 0;
    return text;
}

tc_rng fuzz_chance(const char *data, size_t size) {
    return tc_rng_seed(tc_hash64(data, size, 1));
}
