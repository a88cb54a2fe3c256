/* Commands that show more about the contents of a page. Each command can be typed unchanged on the machine where the page was made;
 * a test runs them all. */
#include "report/page/page_int.h"
#include "report/report.h"
#include "support/strbuf.h"

/* `tctune WORD`, and the database. */
static tc_strbuf begin(const page *p, const char *word) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "tctune %s --db ", word);
    tc_sb_add_word(&b, p->o->database);
    return b;
}

static json_t *end(tc_strbuf *b) {
    json_t *j = tc_json_string(tc_sb_str(b));
    tc_strbuf_free(b);
    return j;
}

static bool runs_here(const page *p) {
    return p->target && p->target->native;
}

/* Whose records they are. */
static void add_target(const page *p, tc_strbuf *b) {
    if (!p->threads) /* there are none */
        return;
    if (!runs_here(p)) {
        tc_sb_add(b, " --target ");
        tc_sb_add_word(b, p->target_text);
    }
    tc_sb_printf(b, " --threads %d", p->threads);
}

/* Which forms count. */
static void add_accuracy(const page *p, tc_strbuf *b) {
    if ((p->o->accuracy & TC_ACCURACY_FAST) != TC_ACCURACY_DEFAULT)
        tc_sb_printf(b, " --accuracy %s", tc_accuracy_text(p->o->accuracy));
    if (p->o->accuracy & TC_ACCURACY_BF16)
        tc_sb_add(b, " --precision bf16");
}

/* A command about the network or, with its number, about one kernel; null: the page shows a database alone. */
static json_t *of_source(const page *p, const char *word, int kernel) {
    if (!p->o->source)
        return json_null();
    tc_strbuf b = begin(p, word);
    tc_sb_printf(&b, " %s", p->o->source);
    if (kernel >= 0 && p->nkernel > 1)
        tc_sb_printf(&b, " --kernel %d", kernel);
    add_target(p, &b);
    add_accuracy(p, &b);
    return end(&b);
}

/* What is timed runs here, at known sizes. */
static json_t *timed(const page *p, int kernel) {
    bool varies = kernel >= 0 && (!p->kernels[kernel].workload || p->kernels[kernel].workload->nsymbol);
    return runs_here(p) && !varies ? of_source(p, "bench", kernel) : json_null();
}

static json_t *search(const page *p) {
    tc_strbuf b = begin(p, "tune");
    tc_sb_printf(&b, " %s --trials 1000", p->o->source ? p->o->source : "--model MODEL.onnx");
    return end(&b);
}

json_t *page_tell_commands(const page *p) {
    tc_strbuf stats = begin(p, "db stats"), records = begin(p, "db export");
    tc_sb_add(&records, " --out records.jsonl");
    return tc_json_pack("{s:o,s:o,s:o,s:o,s:o}", "stats", end(&stats), "export", end(&records), "tune", search(p), "show",
                        of_source(p, "show", -1), "bench", timed(p, -1));
}

/* A record names its kernel, its target and its threads. 0: null. */
static json_t *of_record(const page *p, const char *word, const char *before, int64_t record, const char *after) {
    if (!record)
        return json_null();
    tc_strbuf b = begin(p, word);
    tc_sb_printf(&b, "%s %lld%s", before, (long long)record, after);
    return end(&b);
}

json_t *page_tell_kernel_commands(const page *p, int kernel, int64_t record) {
    return tc_json_pack("{s:o,s:o,s:o,s:o}", "show", of_source(p, "show", kernel), "bench", timed(p, kernel), "compare",
                        of_record(p, "compare", "", runs_here(p) ? record : 0, " default"), "explain",
                        of_record(p, "explain", " --sched", record, ""));
}
