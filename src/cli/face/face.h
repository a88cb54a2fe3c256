/* src/cli/face owns what commands have in common: tables, the API's documents read and printed, the course of a search, signals.
 * Not here: the commands (src/cli).
 *
 * A command neither parses the command line nor calls exit(). It gets its arguments and returns an exit status; dispatch.c prints
 * the error. It works through calls of the public API (include/tctune). Long results are documents of the API. With --json a
 * command prints the document unchanged, else as tables. */
#ifndef TC_CLI_FACE_H
#define TC_CLI_FACE_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <tctune/tctune.h>

#include "support/arena.h"
#include "support/json/json.h"
#include "support/say.h"
#include "support/status.h"
#include "support/strbuf.h"
#include "support/units.h"
#include "support/vec.h"

/* How a command ends. SLOWER: the command compared with an earlier state, and something is slower beyond doubt. */
enum { TC_CLI_DONE = 0, TC_CLI_FAILED = 1, TC_CLI_USAGE = 2, TC_CLI_SLOWER = 3 };

/* A NULL follows the last text, as in the API's lists of texts. An empty list has no data. */
typedef TC_VEC(const char *) tc_cli_texts;
void tc_cli_add_text(tc_cli_texts *list, const char *text);

/* ---- calls of the API ---- */

/* Its last two arguments: where a failure's message goes. */
#define TC_CLI_SAY(err) (err)->msg, sizeof(err)->msg
/* TC_CLI_DONE or TC_CLI_FAILED. */
int tc_cli_status(tctune_status s);

/* The format of results: --format. Markdown and CSV are tables alone, with an empty line between two tables. */
typedef enum tc_cli_format { TC_CLI_TABLE, TC_CLI_MARKDOWN, TC_CLI_CSV, TC_CLI_JSON } tc_cli_format;
/* Sentences and drawings are printed beside the tables. */
static inline bool tc_cli_is_prose(tc_cli_format f) {
    return f == TC_CLI_TABLE;
}

/* ---- documents (document.c) ---- */

/* Reads a text of the API's and gives it back. */
json_t *tc_cli_document(char *text);
/* Prints a document in a format that is not JSON. */
typedef void tc_cli_printer(const json_t *document, tc_cli_format format);
/* Prints a document unchanged, or through `print`. The document stays the caller's. */
void tc_cli_tell_of(json_t *j, tc_cli_format format, tc_cli_printer *print);
/* Prints a text of the API unchanged, or through `print`, and frees it. */
void tc_cli_tell(char *text, tc_cli_format format, tc_cli_printer *print);
/* Fields of an object. A missing field is "?", 0 or NAN. */
const char *tc_cli_text(const json_t *j, const char *key);
long long tc_cli_number(const json_t *j, const char *key);
double tc_cli_real(const json_t *j, const char *key);
/* Prints and releases. */
void tc_cli_json_print(json_t *j);

/* ---- signals (signals.c) ---- */

/* From now on SIGINT, SIGTERM and SIGXCPU (ulimit -t) set the flag; a second one ends the process. */
void tc_cli_catch_signals(void);
volatile sig_atomic_t *tc_cli_stop_flag(void); /* 0, or the signal's number */

/* ---- what the parent left (inherited.c) ---- */

/* For every command, first of all. A closed pipe and a limit of file sizes are errors of a write, not the end of the process. A
 * limit of CPU time ends it with a message. The parent's ignored or blocked signals, closed descriptors and umask do no harm. */
void tc_cli_mend_inherited(void);

/* ---- the pager (pager.c) ---- */

typedef struct tc_cli_pager {
    FILE *to;   /* NULL: there is none */
    int screen; /* what standard output was before */
    void (*interrupt)(int number);
} tc_cli_pager;

/* From now on standard output goes through a pager: $PAGER, else less. Only where it is a terminal; else this does nothing. */
tc_cli_pager tc_cli_pager_begin(void);
/* Waits until the user leaves the pager. */
void tc_cli_pager_end(tc_cli_pager *p);

/* ---- tables (table.c) ---- */

/* The first row is the heading. A column whose heading begins with '>' is right-aligned. Behind '|' a heading names the unit of a column's
 * numbers (">each|ms"), which CSV prints: its cells are bare numbers. */
typedef struct tc_cli_table {
    tc_arena *arena;
    tc_cli_format format;
    int ncol;
    tc_cli_texts cells;
} tc_cli_table;

tc_cli_table tc_cli_table_new(tc_cli_format format, int ncol, const char *const *headings);
void tc_cli_cell(tc_cli_table *t, const char *fmt, ...) TC_PRINTF(2, 3);
/* Numbers, rounded for people. One that is not finite is "-", and nothing in CSV. */
void tc_cli_cell_real(tc_cli_table *t, int digits, double v);
void tc_cli_cell_share(tc_cli_table *t, int digits, double share); /* of 1; printed in per cent */
void tc_cli_cell_time(tc_cli_table *t, double ms);
void tc_cli_cell_none(tc_cli_table *t);
void tc_cli_table_print(const tc_cli_table *t, FILE *f);
void tc_cli_table_free(tc_cli_table *t);

/* Prints two texts as columns; equal lines stand beside each other (side.c). The mark between them is "|" if the lines differ, "<"
 * or ">" if only one side has a line. `width`: of both columns together; lines are cut to fit. */
void tc_cli_side_by_side(FILE *f, const char *left, const char *right, int width);

#endif
