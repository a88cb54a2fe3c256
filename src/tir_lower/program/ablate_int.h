/* Private to ablate*.c: the state of an ablation, which the functions of all parts share. */
#ifndef TC_TIR_LOWER_PROGRAM_ABLATE_INT_H
#define TC_TIR_LOWER_PROGRAM_ABLATE_INT_H

#include "support/map.h"
#include "support/vec.h"
#include "tir_lower/program/ablate.h"

typedef struct ablate_loop {
    const tc_stmt *s;
    int depth;    /* loops around it */
    bool of_unit; /* it is one of a unit's instruction, or inside of such */
} ablate_loop;

typedef struct ablation {
    tc_ctx *c;
    const tc_machine *m;
    const tc_func *f;
    tc_env *env; /* what each loop's variable ranges over; parts assume conditions in it where they hold */
    TC_VEC(ablate_loop) loops;
    tc_map loop_at; /* variable -> position */
    tc_map fixed;   /* buffers whose values decide about addresses and conditions, or are what such values are made of */
} ablation;

/* The program without the part: k->f itself where it has nothing of it. */
typedef tc_func *ablate_part(ablation *k);
#define PART(id, text, stage, run, what, lacks) ablate_part ablate_##run;
#include "tir_lower/program/ablate.def"
#undef PART

/* k of f, whose loops, ranges and fixed buffers it finds. */
void ablate_open(ablation *k, tc_ctx *c, const tc_machine *m, const tc_func *f);
void ablate_close(ablation *k);

/* k->f with another body; itself where it is the same. */
tc_func *ablate_with_body(const ablation *k, const tc_stmt *body);
const ablate_loop *ablate_loop_of(const ablation *k, const tc_var *v); /* NULL: a symbol */
bool ablate_is_fixed(const ablation *k, const tc_buffer *b);
/* Whether the access is in bounds whatever the loops' variables are, where what k->env assumes holds. */
bool ablate_within(const ablation *k, const tc_buffer *b, const tc_expr *index);
/* A store that adds to, or otherwise continues, what is at its index. */
bool ablate_accumulates(const tc_stmt *store);
/* The memory that a statement stores to; NULL: none. */
const tc_buffer *ablate_stored(const tc_stmt *s);
/* From the first element of a tile in memory to its last. */
int64_t ablate_tile_span(const tc_tile_stmt *t);
/* ablate_stores.c: results of each parallel loop into buffers of `most` bytes at most. */
tc_func *ablate_stores_within(ablation *k, int64_t most);

#endif
