/* Writes reports as pages for a browser (include/tctune/page.h). */
#include "report/page/page.h"

#include <string.h>

#include "api/api_int.h"
#include "support/strbuf.h"

/* "--model m.onnx" */
static const char *source_of(const char *file, tc_strbuf *b) {
    const char *end = file ? strrchr(file, '.') : NULL;
    if (!file)
        return NULL;
    tc_sb_add(b, end && strcmp(end, ".te") == 0 ? "--te " : "--model ");
    tc_sb_add_word(b, file);
    return tc_sb_str(b);
}

/* source: for its text. */
static tc_status find_data(const tctune_work *w, const tctune_page_options *options, tc_strbuf *source, json_t **out,
                           tc_error *err) {
    tctune_page_options o;
    tc_page_options p;
    TC_TRY(API_OPTIONS(o, options, err));
    if (!o.database)
        return tc_fail(err, TC_BAD_INPUT, "database is missing: name the file that the report is about");
    if (o.threads < 0)
        return tc_fail(err, TC_BAD_INPUT, "threads must not be negative, but is %d: give 0 for the number that most records have",
                       o.threads);
    p = (tc_page_options){.database = o.database,
                          .baseline = o.baseline,
                          .documents = o.documents,
                          .target = o.target,
                          .threads = o.threads,
                          .command = o.command,
                          .quick = o.quick != 0};
    TC_TRY(api_accuracy(o.accuracy, o.precision, &p.accuracy, err));
    if (w) {
        p.model = tc_graph_work_path(w->w);
        p.source = o.source ? o.source : source_of(p.model, source);
        p.ntask = tc_graph_work_tasks(w->w, &p.tasks);
    }
    return tc_page_data(&p, out, err);
}

static tc_status make_data(const tctune_work *w, const tctune_page_options *options, json_t **out, tc_error *err) {
    tc_strbuf source = {0};
    tc_status s = find_data(w, options, &source, out, err);
    tc_strbuf_free(&source);
    return s;
}

static tc_status make_page(const tctune_work *w, const tctune_page_options *options, char **html, tc_error *err) {
    json_t *data;
    TC_TRY(make_data(w, options, &data, err));
    return tc_page_write(data, html, err);
}

tctune_status tctune_page(const tctune_work *w, const tctune_page_options *options, char **html, char *error, size_t error_size) {
    API_DOCUMENT(err, error, error_size, html, make_page(w, options, html, &err));
}

static tc_status make_text(const tctune_work *w, const tctune_page_options *options, char **json, tc_error *err) {
    json_t *data;
    TC_TRY(make_data(w, options, &data, err));
    return tc_page_text(data, json, err);
}

tctune_status tctune_page_data(const tctune_work *w, const tctune_page_options *options, char **json, char *error,
                               size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, make_text(w, options, json, &err));
}
