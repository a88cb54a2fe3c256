/* A report to look at: one HTML page, which needs no network, of what a database tells of a network, or of kernels. Texts are
 * given back with tctune_text_free. */
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
    const char *baseline; /* another one, which times are compared with; NULL: none */
    const char *const *
        documents; /* files with documents of tctune_bench, tctune_bench_kernel or tctune_bench_range (latencies of whole runs, times
                     * in the network, curves over sizes), of tctune_explain (what decisions are worth), or of peers (docs/json.md),
                     * NULL-terminated; NULL: none */
    const char *target; /* whose records; NULL: this machine's, or where there are none those that are most */
    int threads;        /* of the records; 0: as many as most of them have */
    const char *accuracy,
        *precision;      /* which forms of a kernel are compared, as in tctune_build_options; "auto" is "bf16" here */
    const char *command; /* the command that makes the page, which it shows; NULL: none */
    int quick; /* not 0: nothing is measured, so that times have no roof unless a document says what the machine can do */
    /* The options that name the work, as "--model m.onnx --shape batch=1", for the commands that the page shows; NULL: its file alone. */
    const char *source;
} tctune_page_options;

/* The page, as HTML. work: whose kernels it shows; NULL: every workload of the database. What of a kernel cannot be shown (its
 * best record does not build any more, its workload cannot be read) the page says in its place. Roofs are measured for about a
 * second, unless the records are of another machine. TCTUNE_BAD_INPUT: a file is missing or wrong, or the database has no records
 * of what was asked for. */
TCTUNE_API tctune_status tctune_page(const tctune_work *work, const tctune_page_options *options, char **html, char *error,
                                     size_t error_size);
/* The data that the page shows, as a document (docs/json.md). */
TCTUNE_API tctune_status tctune_page_data(const tctune_work *work, const tctune_page_options *options, char **json, char *error,
                                          size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
