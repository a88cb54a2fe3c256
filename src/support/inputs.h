/* Bounds of what is read from outside. One table (inputs.def) has them all. */
#ifndef TC_SUPPORT_INPUTS_H
#define TC_SUPPORT_INPUTS_H

#include <stdint.h>

#include "support/status.h"
#include "support/strbuf.h"

typedef enum tc_input {
#define INPUT(id, what, parser, process, bytes, depth, work, unit) TC_INPUT_##id,
#include "support/inputs.def"
#undef INPUT
    TC_INPUT_COUNT
} tc_input;

/* The columns bytes, depth and work: TC_BYTES_TE, TC_DEPTH_TE, TC_WORK_TE. */
enum {
#define INPUT(id, what, parser, process, bytes, depth, work, unit)                                                               \
    TC_BYTES_##id = bytes, TC_DEPTH_##id = depth, TC_WORK_##id = work,
#include "support/inputs.def"
#undef INPUT
};

/* The columns of one row, for code that reads inputs of several kinds. */
typedef struct tc_input_bounds {
    int64_t bytes, depth, work;
} tc_input_bounds;
tc_input_bounds tc_input_bounds_of(tc_input of);

/* Whether a text that a parser is about to read has at most as many bytes as its row says. Else the failure has the code BEYOND;
 * the message begins with `file`. */
TC_NODISCARD tc_status tc_input_check(tc_input of, const char *file, const char *text, tc_error *err);

/* The table of docs/RELIABILITY.md, in Markdown. */
void tc_inputs_table(tc_strbuf *b);

#endif
