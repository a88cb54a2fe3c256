/* Programs with a part left out, which are timed to see the cost of the part: the cost is the additional time of the whole program,
 * except for time that is hidden behind other parts. The results of these programs are wrong by design. But the verifier accepts
 * each program, no access leaves its buffer, and no index or condition changes: data that addresses depend on, and everything that
 * such data are computed from, stay. The programs are only timed. Their times are never stored as records, and nothing is built
 * from them.
 *
 *     tails      if io*16 + ii < 100 {S}   =>   if io*16 + 15 < 100 {S}
 *     loads      acc += A[i, ko*4 + ki] * B[ko*4 + ki, j]   =>   acc += A[i, 0] * B[0, j]
 *     stores     parallel p { Y[p*64 + j] = .. }   =>   parallel p { T[j] = .. }, a T for each thread
 *     memory     for k in 768 { .. B[jo, k] .. }   =>   for k in 12 { for ki in 64 { .. B[0, ki] .. } }, if that much fits
 *     arithmetic a0 += x*u; a1 += x*v; a2 += y*u; a3 += y*v   =>   a0 += x*u; a1 += x*v; a2 += y*u: no load is missing
 *     epilogue   Y[i] = gelu(acc + b[i])   =>   Y[i] = acc
 *     packing    P[j, k] = B[k, j], in a workspace   =>   nothing
 *
 * The rest of the program keeps its form where possible: its loops, vectors, units and registers are those of the whole program. */
#ifndef TC_TIR_LOWER_PROGRAM_ABLATE_H
#define TC_TIR_LOWER_PROGRAM_ABLATE_H

#include "tir_lower/program/program.h"

typedef enum tc_tir_part {
#define PART(id, ...) TC_TIR_PART_##id,
#include "tir_lower/program/ablate.def"
#undef PART
    TC_TIR_NPARTS
} tc_tir_part;

/* A set of parts: a bit for each. */
#define TC_TIR_WITHOUT(part) (1U << (part))
#define TC_TIR_ALL_PARTS ((1U << TC_TIR_NPARTS) - 1)

const char *tc_tir_part_text(tc_tir_part p);                /* "tails" */
const char *tc_tir_part_left(tc_tir_part p);                /* what is left without it: a phrase */
bool tc_tir_part_parse(const char *text, tc_tir_part *out); /* false: there is no such part */

/* A program without the parts `without` of its stage; bits of the other stage say nothing here. The result is in context c,
 * shares what did not change with the program that it is made of, and is verified. TC_ILLEGAL, with the part's name in *err,
 * where the program has nothing of one of them, and why; also where sizes vary and the verifier cannot prove what is left (it
 * cannot prove some whole programs either). `machine` (its first cache, its cores) is the one that it is lowered for. */
TC_NODISCARD tc_status tc_tir_ablate_nest(tc_ctx *c, const tc_machine *machine, const tc_func *nest, unsigned without,
                                          tc_func **out, tc_error *err);
TC_NODISCARD tc_status tc_tir_ablate(tc_ctx *c, const tc_machine *machine, const tc_func *lowered, unsigned without,
                                     tc_func **out, tc_error *err);

/* Both, on the way from a trace to a program: p->nest is the whole program's, p->hash its hash, p->lowered is without the parts.
 * `without` 0 is the whole program. TC_ILLEGAL as above, or as tc_tir_program_make; TC_BAD_INPUT for a bit that
 * is no part's. */
TC_NODISCARD tc_status tc_tir_program_without(tc_ctx *c, const tc_tir_origin *from, unsigned without, tc_tir_program *p,
                                              tc_error *err);

#endif
