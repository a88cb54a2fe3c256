/* The report of `tctune report`: one HTML page about a network or kernels and their records in a database. The page needs no
 * network. */
#ifndef TCTUNE_PAGE_H
#define TCTUNE_PAGE_H

#include <tctune/work.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the page shows. */
typedef struct tctune_page_options {
    size_t struct_size;
    const char *database; /* file with the records */
    const char *baseline; /* another database, whose times the page compares with; NULL: none */
    /* Files with documents, NULL-terminated; NULL: none. Of tctune_bench, tctune_bench_kernel and tctune_bench_range: latencies
     * of whole runs, times of kernels in the network, curves over sizes. Of tctune_explain: what decisions are worth. Or times of
     * other libraries (docs/json.md). */
    const char *const *documents;
    /* Target of the records; NULL: this machine's, or, if it has no records, the target with the most records */
    const char *target;
    int threads;           /* threads of the records; 0: the number that most records have */
    const char *accuracy;  /* which forms of a kernel are compared, as in tctune_build_options */
    const char *precision; /* as in tctune_build_options; "auto" means "bf16" here */
    const char *command;   /* the command that makes the page, which the page shows; NULL: none */
    int quick;             /* not 0: measure nothing; times then have a roof only if a document has one */
    /* The options that name the work, such as "--model m.onnx --shape batch=1". The page shows them in its commands. NULL: only
     * the work's file. */
    const char *source;
} tctune_page_options;

/* Makes the page for the kernels of `work`; NULL: for every workload of the database. Give *html back with tctune_text_free. If a
 * part of a kernel cannot be shown (its best record no longer builds, its workload cannot be read), the page says so there. Roofs
 * are measured for about a second if the records are of this machine. TCTUNE_BAD_INPUT: a file is missing or wrong, or the
 * database has no matching records. */
TCTUNE_API tctune_status tctune_page(const tctune_work *work, const tctune_page_options *options, char **html, char *error,
                                     size_t error_size);

/* Makes the data that the page shows, as JSON (docs/json.md). Give *json back with tctune_text_free. */
TCTUNE_API tctune_status tctune_page_data(const tctune_work *work, const tctune_page_options *options, char **json, char *error,
                                          size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
