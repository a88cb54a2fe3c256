/* The places of a program's intermediates in memory. */
#ifndef TC_GRAPH_PROGRAM_PLAN_H
#define TC_GRAPH_PROGRAM_PLAN_H

#include "graph/program/launches.h"

typedef struct tc_graph_plan {
    int64_t *offset;      /* by slot: place of a TEMP in the arena; -1 for what is not there */
    int *output;          /* by slot, pieces left out: the output whose memory it is, else -1 */
    int *over;            /* by slot: the one that it is written over by the launch that makes it, else -1 */
    int64_t bytes, naive; /* of the arena: with reuse, and if every slot had memory of its own */
} tc_graph_plan;

/* Whether launch x, of a task, may write argument `out` over argument `in`. */
typedef bool tc_graph_may_overwrite(void *user, const tc_graph_launch *x, int out, int in);
/* Places the intermediates so that slots whose lives overlap never share a byte (what is used in a loop and also before or after
 * it lives throughout), but for results that are written over what only their launch still reads, and pieces, which live with
 * their whole; and names the slots that live in the caller's outputs. Results are written in place where `may` (NULL: nowhere)
 * says so, unless that makes the whole larger. narrow: by slot, which are kept in bf16 (NULL: none). The arrays are in `a`. */
void tc_graph_plan_memory(const tc_graph_program *p, const bool *narrow, tc_graph_may_overwrite *may, void *user, tc_arena *a,
                          tc_graph_plan *out);

/* Says of a message about memory which value of the arena is the largest. */
void tc_graph_name_intermediates(const tc_graph_program *p, tc_error *err);
/* Bytes that it takes. */
int64_t tc_graph_slot_bytes(const tc_graph_program *p, const bool *narrow, int slot);
/* A line for every intermediate (place in the arena, bytes, first and last launch that uses it, name) in the order of places. */
void tc_graph_plan_print(const tc_graph_plan *plan, const tc_graph_program *p, const bool *narrow, tc_strbuf *out);

#endif
