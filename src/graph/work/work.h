/* src/graph/work owns the work of a command or a caller: a network from an ONNX file or a kernel from a .te file, opened, searched
 * (search.h) and built. Not here: reports about it (src/report).
 *
 * Work is a list of kernels, which can be tuned, and a program, which can be built.
 *
 *   tc_graph_work_open -> tc_graph_work_tasks -> tuning ... -> tc_graph_work_build -> run, save */
#ifndef TC_GRAPH_WORK_WORK_H
#define TC_GRAPH_WORK_WORK_H

#include "graph/model/model.h"
#include "graph/onnx/import.h"
#include "graph/passes/pass.h"

typedef struct tc_graph_work_options {
    const char *model, *te; /* the file: one of the two */
    /* The contents of the network's file, where they are in memory (`model` is then its name in messages); NULL: they are read
     * from the file. They stay until tc_graph_work_open returns. */
    const void *bytes;
    size_t nbytes;
    const char *data_folder; /* of a network's external data; as tc_graph_import_options.folder */
    const char *te_text;     /* the kernel itself, then `te` is what messages call it, or NULL; NULL: in the file */
    /* Of a network; of a kernel the values of its symbols, all or none. */
    const tc_graph_binding *shapes;
    size_t nshapes;
    const char *const *fixed; /* of a network: inputs whose value is the same in each run; as in tc_graph_import_options */
    size_t nfixed;
    tc_graph_pass_options passes; /* of a network */
    bool in_place_cache;          /* of a network: caches grow in place (tc_graph_grow_in_place) */
    const char *shape_weights;    /* a file that says how much sizes count (tune/kernel/weights.h); NULL: none */
    /* Of a kernel. */
    bool varying; /* it may have symbols of which no value is given; else that is refused */
    /* A file with its constants by name (bundle.h); NULL: seeded random ones. */
    const char *constants;
    uint64_t seed;
} tc_graph_work_options;

typedef struct tc_graph_work tc_graph_work;

/* Imports the network, runs the graph passes and fuses; or reads the kernel. The options are copied. On failure
 * *out is NULL. */
TC_NODISCARD tc_status tc_graph_work_open(const tc_graph_work_options *o, tc_graph_work **out, tc_error *err);
void tc_graph_work_free(tc_graph_work *w); /* NULL is fine; after every model of it */

const char *tc_graph_work_path(const tc_graph_work *w); /* the file */
/* "batch=1..16, sequence=1..512": the sizes that nobody gave, as import assumes them; "": there are none. */
const char *tc_graph_work_assumed(const tc_graph_work *w);
/* The distinct kernels, as tc_graph_program_tunable has them. */
int tc_graph_work_tasks(const tc_graph_work *w, const tc_tune_task **tasks);
/* What the options' file says of sizes, for tc_graph_build_options; NULL: there is none. */
const tc_tune_weights_file *tc_graph_work_weights(const tc_graph_work *w);
/* *out: the kernel with this number, counted from 0, or with this name, or that a node with this name is part of. TC_BAD_INPUT
 * lists those that are meant where there are several. Kernels that could run in place of others are found by nodes only where no
 * other has the node. */
TC_NODISCARD tc_status tc_graph_work_find(const tc_graph_work *w, const char *kernel, int *out, tc_error *err);

/* The program, also of a kernel; it belongs to w. The first database that is named (not NULL) decides for all times which kernels
 * of a network are one, by its records for o's target, threads and accuracy. */
TC_NODISCARD tc_status tc_graph_work_program(tc_graph_work *w, const tc_graph_build_options *o, const char *db,
                                             tc_graph_program **out, tc_error *err);
/* Is it a network? Else it is a kernel alone. */
bool tc_graph_work_is_network(const tc_graph_work *w);
/* What would be built now: *apart without any records, *merged from those of o->db: OWNED, or NULL where that is the same. Unlike
 * tc_graph_work_program it decides nothing for later. */
TC_NODISCARD tc_status tc_graph_work_programs(tc_graph_work *w, const tc_graph_build_options *o, const tc_graph_program **apart,
                                              tc_graph_program **merged, tc_error *err);
/* Builds the program with the best records of the database file `db` (NULL: default schedules), or as o->choices say; o->db is not
 * looked at. */
TC_NODISCARD tc_status tc_graph_work_build(tc_graph_work *w, const tc_graph_build_options *o, const char *db,
                                           tc_graph_model **out, tc_error *err);

#endif
