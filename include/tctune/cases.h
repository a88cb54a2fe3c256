/* Test cases of the ONNX project's form: folders, each with a model.onnx and folders test_data_set_N of inputs and expected
 * outputs. */
#ifndef TCTUNE_CASES_H
#define TCTUNE_CASES_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Told of each case when it is done, in their order, in the thread that called: the element of "cases" (docs/json.md) that is of
 * it. */
typedef void tctune_on_case(void *user, const char *json);

/* How cases are run. */
typedef struct tctune_cases_options {
    size_t struct_size;
    const char *const *shapes; /* as in tctune_work_options; symbolic sizes of which they say nothing are those of the data */
    tctune_level level;
    const char *const *without; /* names of graph passes to leave out, NULL-terminated; NULL: none */
    const char *dump_graph;     /* as in tctune_work_options */
    int pass_times;
    const char *target;               /* one that runs on this machine; NULL: this machine */
    int threads;                      /* 0: every core */
    const char *accuracy, *precision; /* as in tctune_build_options; "auto" is "bf16" here */
    const char *database;             /* tuning records; NULL: default schedules */
    double rtol, atol;        /* what is tolerated of floats; 0: by their type, as the ONNX project does; negative: nothing */
    int no_constants;         /* not 0: what import asks for as a constant is not taken from the data: such a case fails */
    const volatile int *stop; /* ends it after the case at hand once it is not 0; NULL: nobody stops it */
    tctune_on_case *each;     /* NULL: nobody is told */
    void *user;
} tctune_cases_options;

/* Whether there are passes, an accuracy and a target of these names; opens nothing. */
TCTUNE_API tctune_status tctune_cases_check(const tctune_cases_options *options, char *error, size_t error_size);

/* Builds and runs every case in the folders, NULL-terminated, each of which is a case or holds some at any depth, with each of
 * its data sets, and compares the outputs. *json, given back with tctune_text_free, says how each went; that some failed is no
 * error. TCTUNE_STOPPED: it has those until then. options may be NULL. */
TCTUNE_API tctune_status tctune_verify_cases(const char *const *folders, const tctune_cases_options *options, char **json,
                                             char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
