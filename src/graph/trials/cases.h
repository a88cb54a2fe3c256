/* The test cases of the ONNX project. Each case is a folder with a model.onnx and folders test_data_set_N, which hold inputs and
 * outputs.
 *
 * Inputs and outputs of a case may be sequences and optionals. The model of a case is imported with an input or output for each of
 * their elements. The data set says how many elements there are. */
#ifndef TC_GRAPH_TRIALS_CASES_H
#define TC_GRAPH_TRIALS_CASES_H

#include "graph/onnx/import.h"
#include "graph/passes/pass.h"
#include "graph/trials/bundle.h"

typedef struct tc_graph_case_options {
    const char *const *shapes; /* as tc_graph_binding_parse reads them */
    size_t nshapes;
    const char *const *fixed; /* as in tc_graph_import_options */
    size_t nfixed;
    tc_graph_pass_options passes;
    const tc_target *target; /* its cores are the threads */
    tc_accuracy accuracy;
    tc_meas_db *db; /* NULL: default schedules */
    tc_graph_tolerance tolerance;
    bool no_constants; /* a model that asks for inputs as constants fails, instead of getting them */
} tc_graph_case_options;

typedef enum tc_graph_verdict {
    TC_GRAPH_CASE_PASSED,
    TC_GRAPH_CASE_FAILED,
    TC_GRAPH_CASE_SKIPPED /* something in the model is not supported */
} tc_graph_verdict;

/* How it went. Texts live as long as the arena. */
typedef struct tc_graph_case {
    tc_graph_verdict verdict;
    const char *why; /* not PASSED */
    /* Where import asked for inputs as constants: those that were given as such, and the refusal without; else 0 and NULL. */
    const char **constants;
    size_t nconstants;
    const char *without;
} tc_graph_case;

/* The inputs and expected outputs in a folder test_data_set_N, in the order of the files. An element of a list is an item of its
 * own. */
typedef struct tc_graph_data_set {
    tc_graph_bundle in, out;
    tc_graph_list *lists; /* inputs of the model that are lists; their items are part of `in` */
    size_t nlists;
    bool list_outputs; /* some outputs are lists */
} tc_graph_data_set;

/* Of the model, in `a`, but for the tensors; there may be no inputs. Free *out in any case. */
TC_NODISCARD tc_status tc_graph_data_set_load(const char *model, const char *dir, tc_arena *a, tc_graph_data_set *out,
                                              tc_error *err);
void tc_graph_data_set_free(tc_graph_data_set *d);
/* Imports the model of a case for a data set. Inputs become constants where import asks for them; *c says which, in `a`. Symbolic
 * sizes that the options do not give are those of the data set. */
TC_NODISCARD tc_status tc_graph_case_import(const char *model, const tc_graph_case_options *o, const tc_graph_data_set *d,
                                            tc_arena *a, tc_graph_case *c, tc_graph **out, tc_error *err);

/* Builds and runs the case in folder `dir` with each of its data sets, up to the first that does not pass. Each builds anew: inputs
 * that became constants belong to the data set. */
tc_graph_case tc_graph_case_run(const char *dir, const tc_graph_case_options *o, tc_arena *a);

/* Calls `each` for every case in `dir` and, to some depth, in folders of it, in the order of their names, until `stop` (may be
 * NULL) is raised. False when there is none. */
typedef void tc_graph_each_case(void *user, const char *dir);
bool tc_graph_cases_walk(const char *dir, const volatile sig_atomic_t *stop, tc_graph_each_case *each, void *user);

#endif
