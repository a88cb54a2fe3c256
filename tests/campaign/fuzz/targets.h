/* What is fuzzed, and what all targets share. */
#ifndef TC_TESTS_FUZZ_TARGETS_H
#define TC_TESTS_FUZZ_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "mutate.h"
#include "tir_lower/tir.h"

/* Reads an input as far as it is good. Aborts where something is wrong that is no crash, such as a refusal without a message. */
typedef void fuzz_read(const char *data, size_t size);

typedef struct fuzz_target {
    const char *name;
    fuzz_read *read;
    fuzz_damage *damage;
    size_t most; /* bytes of an input */
} fuzz_target;

extern const fuzz_target fuzz_targets[];
extern const int fuzz_ntargets;

#define TARGET(name, bytes) fuzz_read fuzz_read_##name;
#include "targets.def"
#undef TARGET

/* ---- findings ---- */

/* Something is wrong that no sanitizer sees. */
_Noreturn void fuzz_wrong(const char *fmt, ...) TC_PRINTF(1, 2);
/* Whether s is TC_OK. A refusal must say something. */
bool fuzz_good(tc_status s, const tc_error *err);

/* ---- inputs ---- */

/* A file that is no more than memory. */
typedef struct fuzz_file {
    int fd;
    char path[32];
} fuzz_file;
fuzz_file fuzz_file_open(const void *data, size_t size);
void fuzz_file_close(const fuzz_file *f);
/* The input as a text: malloc'ed, with a NUL at its end. */
char *fuzz_text(const char *data, size_t size);
/* What an input decides by chance is decided by its bytes. */
tc_rng fuzz_chance(const char *data, size_t size);

/* Reads what the library of a file says of itself, as loading and `show` read it (read_library.c). NULL: refused. Nothing of the
 * file is run. To be released with tc_graph_model_free. */
struct tc_graph_model *fuzz_load_library(const char *path);

/* ---- programs (programs.c) ---- */

/* So small that interpreters take milliseconds. */
bool fuzz_small_workload(const tc_workload *w);
bool fuzz_small_program(const tc_func *f);
/* f prints as a text that reads as the same program. */
void fuzz_check_tir_text(tc_ctx *c, const tc_func *f);
/* Builds and lowers a schedule; the verifier must agree with both. *nest and *lowered are NULL where that was refused. */
void fuzz_lower(tc_ctx *c, tc_sched *s, tc_func **nest, tc_func **lowered);

#endif
