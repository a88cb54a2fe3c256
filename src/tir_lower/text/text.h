/* src/tir_lower/text owns TIR as text: printer and parser. Not here: the text of workloads (src/te/text) and of
 * schedules (src/schedule_primitives). */
#ifndef TC_TIR_LOWER_TEXT_TEXT_H
#define TC_TIR_LOWER_TEXT_TEXT_H

#include "support/map.h"
#include "tir_lower/tir.h"

void tc_tir_print(tc_strbuf *b, const tc_func *f);
/* The same, where lines are counted from `first`, that of "func": lines gets the line on which each statement begins, by its
 * address; of a statement that stands in several places, the first. */
void tc_tir_print_lines(tc_strbuf *b, const tc_func *f, int first, tc_map *lines);
void tc_tir_print_stmt(tc_strbuf *b, const tc_stmt *s, int indent);
TC_NODISCARD tc_status tc_tir_parse(tc_ctx *c, const char *file, const char *text, tc_func **out, tc_error *err);

#endif
