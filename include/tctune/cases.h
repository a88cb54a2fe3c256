/* Test cases in the form of the ONNX project. A case is a folder with a file model.onnx and folders test_data_set_N, which hold
 * inputs and expected outputs: tensors, sequences of tensors, and optionals of either. */
#ifndef TCTUNE_CASES_H
#define TCTUNE_CASES_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Receives the result of a case: the case's element of "cases" in the document (docs/json.md). Calls come in the order of the
 * cases, in the thread that called tctune_verify_cases. The text lives until the callback returns. */
typedef void tctune_on_case(void *user, const char *json);

/* How cases are run. */
typedef struct tctune_cases_options {
    size_t struct_size;
    const char *const *shapes; /* as in tctune_work_options; a symbol without a size here has the size of the data */
    tctune_level level;
    const char *const *without; /* names of graph passes to leave out, NULL-terminated; NULL: none */
    const char *dump_graph;     /* as in tctune_work_options */
    int pass_times;             /* as in tctune_work_options */
    const char *target;         /* must run on this machine; NULL: this machine */
    int threads;                /* 0: every core */
    const char *accuracy;       /* as in tctune_build_options */
    const char *precision;      /* as in tctune_build_options; "auto" means "bf16" here */
    const char *database;       /* file with tuning records; NULL: default schedules */
    double rtol, atol;        /* tolerances for floats; 0: the ONNX project's for the type; negative: the outputs must be equal */
    int no_constants;         /* not 0: a case fails if import needs the value of an input that only the data has */
    const volatile int *stop; /* the call ends after the current case once this is not 0; NULL: never */
    tctune_on_case *each;     /* called after each case; NULL: no calls */
    void *user;               /* first argument of `each` */
    const char *const *fixed_inputs; /* as in tctune_work_options; the data's values of these inputs are not used */
} tctune_cases_options;

/* Checks that the options name existing passes, an accuracy and a target. Opens no file. */
TCTUNE_API tctune_status tctune_cases_check(const tctune_cases_options *options, char *error, size_t error_size);

/* Builds and runs all cases in `folders`, a NULL-terminated list: each folder is a case or holds cases at any depth. Every data
 * set of a case runs, and its outputs are compared with the expected ones. *json says how each case ended; give it back with
 * tctune_text_free. A case that fails does not change the status. TCTUNE_STOPPED: *json has the cases before the stop. options
 * may be NULL. */
TCTUNE_API tctune_status tctune_verify_cases(const char *const *folders, const tctune_cases_options *options, char **json,
                                             char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
