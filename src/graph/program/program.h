/* src/graph/program owns the launches of a network, in order: kernels with their tasks, copies, decisions, and the memory between
 * them with its plan; also the program of a single kernel. Not here: schedules and code (src/graph/model).
 *
 *   tc_graph_program_new -> tc_graph_program_tasks -> tuning ... -> a model (graph/model)
 *   a workload alone -> tc_graph_program_of_workload -> the same
 *
 * Constants are not copied, so the graph must outlive the program. */
#ifndef TC_GRAPH_PROGRAM_PROGRAM_H
#define TC_GRAPH_PROGRAM_PROGRAM_H

#include "graph/ir/sizes.h"
#include "tune/kernel/weights.h"
#include "tune/tune.h"

typedef struct tc_graph_program tc_graph_program;

/* Fuses the graph's nodes into kernels and writes each as a workload. TC_BAD_INPUT names the node that has no tensor expression. */
TC_NODISCARD tc_status tc_graph_program_new(const tc_graph *g, tc_graph_program **out, tc_error *err);
/* A program of one kernel. Placeholders that are const take their values from `constants` by name where they are listed, else
 * seeded random ones; the others are the inputs of the program, the workload's outputs its outputs. The workload's context must
 * outlive it. */
TC_NODISCARD tc_status tc_graph_program_of_workload(const tc_workload *w, const char *name, const tc_graph_named *constants,
                                                    size_t nconstants, uint64_t seed, tc_graph_program **out, tc_error *err);
void tc_graph_program_free(tc_graph_program *p); /* NULL is fine */

/* The distinct workloads, with how often each runs; the array lives as long as the program. */
int tc_graph_program_tasks(const tc_graph_program *p, const tc_tune_task **tasks);
/* Is this its name, or the part of it that tasks with equal operators and results share ("MatMul f32[8,8]" of "MatMul
 * f32[8,8]#2")? */
bool tc_graph_is_called(const tc_tune_task *t, const char *name);
/* The same, and behind them those that could run in place of some: contractions with what makes their operands. */
int tc_graph_program_tunable(const tc_graph_program *p, const tc_tune_task **tasks);
/* How much each size of a tunable task counts where the file says how much those of the network's inputs do: what they make the
 * task's in each of its launches, together. *out NULL: by the logarithm, as the task's sizes depend on data, or do not vary. In
 * `a`. TC_BAD_INPUT names a line of the file that is none of this network. */
TC_NODISCARD tc_status tc_graph_program_weights(const tc_graph_program *p, int task, const tc_tune_weights_file *f, tc_arena *a,
                                                const tc_tune_weights **out, tc_error *err);
/* One line per kernel in the order of execution: name, task, arguments, nodes it covers. For people and golden tests. */
void tc_graph_program_print(const tc_graph_program *p, tc_strbuf *out);
/* Floating-point operations of one run of all kernels. */
double tc_graph_program_flops(const tc_graph_program *p);

/* Inputs and outputs of a program or model. */
typedef struct tc_graph_port {
    const char *name;
    tc_dtype dtype;
    tc_graph_shape shape; /* where sizes vary, the largest */
    /* By dimension: the number of the port, one past those that are shown, that is its size in a run; 0: as in the shape. Of an
     * input it is an input, which runs fill in. */
    int extent[TC_GRAPH_MAX_DIMS];
    /* One past the number of the output, of an input, or of the input, of an output, that is the same buffer of the caller's; 0:
     * it is one of its own. The buffer is an array of the output's shape, whatever the sizes of a run are. New rows, in dimension
     * `rows`, are written behind those that the input has, or that a sequence has filled. */
    int shared, rows;
    bool is_dense;     /* of an output: in memory it is as large as in a run, else as large as it can be */
    tc_te_range drawn; /* of an input: what it gets where nobody gives values (draw.c) */
} tc_graph_port;
int tc_graph_program_inputs(const tc_graph_program *p, const tc_graph_port **ports);
int tc_graph_program_outputs(const tc_graph_program *p, const tc_graph_port **ports);
/* The network's inputs whose value is the same in each run, so that the program has no such inputs. */
const tc_graph_bundle *tc_graph_program_fixed(const tc_graph_program *p);
/* Seeded inputs by the ports' ranges: of sane scale, within what they index, masks that let everything through. in[], one per input
 * of the rules, is allocated here, OWNED. sizes: of a run (tc_graph_size_rules_complete); NULL: the largest. */
TC_NODISCARD tc_status tc_graph_draw_inputs(const tc_graph_port *ports, const tc_graph_size_rules *r, const int64_t *sizes,
                                            uint64_t seed, tc_graph_tensor *in, tc_error *err);

#endif
