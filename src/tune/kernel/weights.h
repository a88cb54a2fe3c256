/* How much each size of what varies counts, as a file says: lines of `NAME=SIZE .. WEIGHT`, one run or kind of run each:
 *
 *     # how often a length comes
 *     batch=1 sequence=17 0.2
 *     batch=1 sequence=128 3
 *
 * The names are those of a kernel's symbols, or of a network's sizes (graph/program/weights.c). */
#ifndef TC_TUNE_WEIGHTS_H
#define TC_TUNE_WEIGHTS_H

#include "tune/kernel/sizes.h"

typedef struct tc_tune_weights_file tc_tune_weights_file;
/* In `a`; it has a line. TC_BAD_INPUT names file and line. */
TC_NODISCARD tc_status tc_tune_weights_load(tc_arena *a, const char *file, tc_tune_weights_file **out, tc_error *err);

int tc_tune_weights_lines(const tc_tune_weights_file *f);
double tc_tune_weights_weight(const tc_tune_weights_file *f, int i); /* of line i; > 0 */
/* size[k]: of what is called names[k], by line i; -1: it does not say. TC_BAD_INPUT where it names anything else. */
TC_NODISCARD tc_status tc_tune_weights_line(const tc_tune_weights_file *f, int i, int n, const char *const *names, int64_t *size,
                                            tc_error *err);
/* s; unless TC_OK, err gets file and line in front. */
TC_NODISCARD tc_status tc_tune_weights_refuse(const tc_tune_weights_file *f, int i, tc_status s, tc_error *err);

/* What the file says of w, by the names that its symbols have. TC_BAD_INPUT for a line that leaves one of them open, names
 * anything else, or has a size out of its range. In `a`. */
TC_NODISCARD tc_status tc_tune_weights_of(tc_arena *a, const tc_tune_weights_file *f, const tc_workload *w,
                                          const tc_tune_weights **out, tc_error *err);

#endif
