/* The kernels of the suite for one target: each case under several schedules, as object files, with arguments and expected
 * results. */
#ifndef TC_TESTS_TARGETS_SUITE_H
#define TC_TESTS_TARGETS_SUITE_H

#include "codegen/target/target.h"
#include "support/vec.h"

typedef struct suite_case {
    char *name; /* of its file, without .te */
    tc_ctx *ctx;
    const tc_workload *w;
    void **in, **want;
    bool drawn;
    double ulps; /* 0: the usual tolerance of the type; else a bound in units in the last place */
} suite_case;

typedef struct suite_kernel {
    char symbol[96];
    const suite_case *of;
    tc_func *f;
    bool model; /* called through a model's entry point */
} suite_kernel;

#define SUITE_RUNTIME "model_team" /* the object with parallel_for */

typedef struct suite {
    const tc_target *target;
    const char *dir; /* for object files */
    TC_VEC(suite_case *) cases;
    TC_VEC(suite_kernel) kernels;
    TC_VEC(char *) objects;
    int refused; /* candidates that lowering refuses */
} suite;

typedef struct suite_options {
    int sampled;         /* random schedules beside the default and constructed ones */
    int drawn;           /* random products of narrow types beside the cases */
    const char *only;    /* "|name|name|": the cases that are read; NULL: all .. */
    const char *without; /* .. but for these */
    const char *entry;   /* the target of the model's entry point, which refuses other CPUs; NULL: that of the kernels */
} suite_options;

/* Reads cases/NAME.te of every name, draws others, makes schedules for all and compiles them. Aborts with a message on failure. */
void suite_build(suite *s, const tc_target *t, const char *dir, const suite_options *o);
/* C source: the table of kernels that harness.c calls. */
void suite_table(const suite *s, tc_strbuf *out);
/* The file of arguments that harness.c reads. */
void suite_arguments(const suite *s, tc_strbuf *out);
/* Compares the file that harness.c wrote; prints what differs. Returns the number of kernels that are wrong. */
int suite_compare(const suite *s, const char *results, size_t size);
void suite_free(suite *s);

#endif
