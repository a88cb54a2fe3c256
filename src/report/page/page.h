/* The report: one page, without a network, of what a database tells of a network or of kernels. It is a document of data (docs/json.md), which
 * every figure comes from, and a page that draws it: markup, style, script and D3, all of which became part of the library when it was built.
 *
 * Nothing of the data is ever markup: in the page they are JSON in which "<" is written as an escape, and the script shows texts as texts. */
#ifndef TC_REPORT_PAGE_PAGE_H
#define TC_REPORT_PAGE_PAGE_H

#include <jansson.h>

#include "search_space/alternatives/alternatives.h"
#include "support/status.h"
#include "tune/tune.h"

typedef struct tc_page_options {
    const char *database, *baseline; /* files; baseline NULL: none */
    const char *const *documents;    /* files with documents that figures are of, NULL-terminated; NULL: none */
    const char *model;               /* the file that the tasks are of; NULL: none, and every workload of the database is shown */
    const tc_tune_task *tasks;
    int ntask;
    const char *target;   /* whose records; NULL: this machine's, or else those that are most */
    int threads;          /* 0: as many as most records of that target have */
    tc_accuracy accuracy; /* which forms of a task there are */
    const char *command;  /* what the page is made by, for those who want to make it again; NULL: it is not said */
    bool quick;           /* measure nothing */
} tc_page_options;

/* The data of the page. What cannot be shown of a kernel (its workload cannot be read, its best record does not build any more) is
 * said in its place and fails nothing. */
TC_NODISCARD tc_status tc_page_data(const tc_page_options *o, json_t **out, tc_error *err);

/* The page that shows `data`, which is released; malloc'ed. */
TC_NODISCARD tc_status tc_page_write(json_t *data, char **html, tc_error *err);
/* The text of data, which are released, as the page has it: numbers with six digits; malloc'ed. */
TC_NODISCARD tc_status tc_page_text(json_t *data, char **text, tc_error *err);

#endif
