/* src/cli/picture owns the pictures of `--plot FILE.svg`: pictures of the API's documents, and of the course of a search. Not here:
 * the drawing of charts (src/support/chart).
 *
 * Each function that writes a file returns an exit status. */
#ifndef TC_CLI_PICTURE_H
#define TC_CLI_PICTURE_H

#include "cli/face/course.h"
#include "cli/face/face.h"
#include "support/chart/chart.h"

/* ---- the latency over the range of each size, of a document of tctune_bench_range (curves.c) ---- */

int tc_cli_plot_curves(const json_t *j, const char *file, tc_error *err);

/* ---- where the time of a run goes, by kernel, of a document of tctune_bench (kernels.c) ---- */

int tc_cli_plot_kernels(const json_t *j, const char *file, tc_error *err);

/* ---- what a database holds, of a document of tctune_database_describe (database.c) ---- */

int tc_cli_plot_database(const json_t *j, const char *file, tc_error *err);

/* ---- a search (search.c) ---- */

/* The course over trials and over seconds, and the share of each task now, from a document of tctune_session_describe. */
int tc_cli_plot_search(const tc_cli_course *c, const json_t *j, const char *file, tc_error *err);

/* ---- files (write.c) ---- */

/* Ends the picture and writes it. */
int tc_cli_picture_write(tc_picture *p, const char *file, tc_error *err);

#endif
