/* src/report/page owns the page of `tctune report`: its data, and the markup, style, script and D3 that become part of the library
 * (embed.c). Not here: the meaning of the data (src/report).
 *
 * The page is one file that needs no network. Every figure comes from its document of data (docs/json.md).
 *
 * Text from the data never becomes markup. In the page the data are JSON in which "<" is written as an escape, and the script puts
 * texts into text nodes. D3 comes from Debian's node-d3-* packages (version 5). Only the modules that the page uses are embedded,
 * 120 KB. The package libjs-d3 is version 3 from 2016. All of version 5 in one file would be twice as large as the embedded
 * modules. */
#ifndef TC_REPORT_PAGE_PAGE_H
#define TC_REPORT_PAGE_PAGE_H

#include "search_space/alternatives/alternatives.h"
#include "support/json/json.h"
#include "support/status.h"
#include "tune/tune.h"

typedef struct tc_page_options {
    const char *database, *baseline; /* files; baseline NULL: none */
    const char *const *documents;    /* files with documents for the figures, NULL-terminated; NULL: none */
    const char *model;               /* the file with the tasks; NULL: none, and every workload of the database is shown */
    const tc_tune_task *tasks;
    int ntask;
    const char *target;   /* the target of the records; NULL: this machine's, else the target with the most records */
    int threads;          /* 0: as many as most records of that target have */
    tc_accuracy accuracy; /* which forms of a task there are */
    const char *source;   /* the options that name the tasks' file, as words of a command line; NULL: no file */
    const char *command;  /* the command that makes the page again; NULL: the page does not show it */
    bool quick;           /* measure nothing */
} tc_page_options;

/* The data of the page. If a part of a kernel cannot be shown (its workload cannot be read, its best record no longer builds), the
 * page says so in that place; nothing fails. */
TC_NODISCARD tc_status tc_page_data(const tc_page_options *o, json_t **out, tc_error *err);

/* The page that shows `data`; malloc'ed. The data are released. */
TC_NODISCARD tc_status tc_page_write(json_t *data, char **html, tc_error *err);
/* The text of the data as the page contains it, with six-digit numbers; malloc'ed. The data are released. */
TC_NODISCARD tc_status tc_page_text(json_t *data, char **text, tc_error *err);

#endif
