/* Prints documents for people, and the parts of documents that several commands share. */
#ifndef TC_CLI_PRINT_H
#define TC_CLI_PRINT_H

#include "cli/face/face.h"
#include "cli/options.h"

/* Peaks of the units that were measured, a line each. */
void tc_cli_print_units(FILE *f, const json_t *units);
/* Prints the caches of this machine as walks over memory found them: a line, or nothing if the value is null. */
void tc_cli_print_caches(FILE *f, const json_t *caches);

/* Variants of a kernel whose sizes vary with their spans, and what each point of the contest loses by them (kernel.c). */
void tc_cli_print_variants(const json_t *j, tc_cli_format format);

/* ---- latency over ranges of sizes (curve.c) ---- */

/* Tables with bars. */
void tc_cli_print_curves(const json_t *j, tc_cli_format format);

/* ---- a search ---- */

typedef struct tc_cli_progress tc_cli_progress;
/* Live lines when stderr is a terminal, else a line per round. */
tc_cli_progress *tc_cli_progress_new(void);
void tc_cli_progress_free(tc_cli_progress *p);
void tc_cli_show_progress(tc_cli_progress *p, const tctune_event *e);
/* Where a document says that the machine was busy while its figures were taken: how often, and what this means for them. */
void tc_cli_print_busy(FILE *f, const json_t *j, const char *meaning);

/* "WHAT: at most 0:02": contests begin. */
void tc_cli_tell_closing(const tctune_event *e, const char *what);
/* The character set of the terminal, from the environment by the rules of setlocale. */
bool tc_cli_speaks_utf8(void);
/* The last line of a search, from its document: what it gained over the default schedules. Nothing where that was not asked. */
void tc_cli_print_gain(const json_t *j);
/* A document of tctune_session_describe, without its ranges. */
void tc_cli_print_tuning(const json_t *j, tc_cli_format format);

/* ---- progress as events (events.c) ---- */

/* --progress and --progress-fd: TC_CLI_DONE, or TC_CLI_USAGE. */
int tc_cli_check_progress(const tc_cli_progress_args *a, tc_error *err);
bool tc_cli_tells_events(const tc_cli_progress_args *a);
bool tc_cli_tells_progress(const tc_cli_progress_args *a); /* for people */
/* Writes it, and releases it. */
void tc_cli_tell_event(const tc_cli_progress_args *a, json_t *event);
json_t *tc_cli_search_event(const tctune_event *e);
json_t *tc_cli_build_event(int done, int total, const char *kernel);

/* ---- models ---- */

/* The ONNX nodes of a kernel: the first one and how many more there are; in CSV all, with ';' between them. */
void tc_cli_cell_nodes(tc_cli_table *t, const json_t *kernel);

/* Kernels of a built model: a line each, with the record that it is of, or why it is the default. */
void tc_cli_print_kernels(const json_t *kernels, tc_cli_format format);
/* The records that were compared in the network, of a document of tctune_model_report. */
void tc_cli_print_contest(const json_t *model, tc_cli_format format);
/* Which kernels round to bf16, of its part "precision". */
void tc_cli_print_precision(const json_t *precision, double budget, const char *inputs, tc_cli_format format);

/* Prints what a built library says of itself (library.c). An exit status. */
int tc_cli_show_library(const char *path, tc_cli_format format, tc_error *err);

/* What `tctune compare` tells (compare_report.c). */
void tc_cli_print_comparison(const json_t *j, tc_cli_format format);

/* Prints the result of `tctune bench --against`, and the same result in one sentence (against.c). */
void tc_cli_print_against(const json_t *j, tc_cli_format format);
const char *tc_cli_say_slower(const json_t *j, tc_strbuf *out);

/* What `tctune explain` tells (watch/explanation.c). */
void tc_cli_print_explanation(const json_t *j, tc_cli_format format);

#endif
