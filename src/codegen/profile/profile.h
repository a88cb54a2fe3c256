/* src/codegen/profile owns the profile that built libraries print of themselves: profile.c, which becomes part of each,
 * and the table that it prints from. Not here: the command's own timings (src/graph/trials). */
#ifndef TC_CODEGEN_PROFILE_PROFILE_H
#define TC_CODEGEN_PROFILE_PROFILE_H

#include <stddef.h>
#include <stdint.h>

/* A row of the table: a distinct kernel, or what else a library does. */
typedef struct tc_cg_profile_row {
    const char *name, *schedule; /* for people */
    double flops;                /* of one call; 0: not counted */
} tc_cg_profile_row;

/* What a library knows of its steps. */
typedef struct tc_cg_profile {
    const char *name;
    int nrow, nstep;
    const tc_cg_profile_row *rows;
    const int32_t *row_of; /* by step of the driver */
} tc_cg_profile;

/* The compiled file, an object for this architecture. Symbols: `int32_t tc_profile_wanted`, and `int32_t tc_profile_run(table,
 * context, inputs, outputs, run)`, where a table is the structs above with int32_t for int. */
void tc_cg_profile_object(const void **bytes, size_t *size);

/* Bytes of stack that it takes around a run: reports are written when the run is over. */
enum { TC_CG_PROFILE_STACK = 1 << 10 };

#endif
