/* A target, FUZZ_NAME, as libFuzzer calls it. Its own changes to inputs know nothing of structure; ours do, and take turns with them. */
#include <stdint.h>
#include <string.h>

#include "support/log.h"
#include "targets.h"

#define JOIN(a, b) a##b
#define OF(a, b) JOIN(a, b)

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    tc_log_set_level(TC_LOG_ERROR);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    OF(fuzz_read_, FUZZ_NAME)((const char *)data, size);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
    tc_rng r = tc_rng_seed(seed);
    if (size == 0 || tc_rng_below(&r, 3) == 0)
        return LLVMFuzzerMutate(data, size, most);
    tc_strbuf out = {0};
    OF(fuzz_damage_, FUZZ_NAME)(&r, (const char *)data, size, &out);
    size_t n = out.len <= most ? out.len : most;
    memcpy(data, tc_sb_str(&out), n);
    tc_strbuf_free(&out);
    return n;
}
