/* The code of a kernel's best schedule as text, short enough for a page. Of the assembly, the text has the hot loop and the lines
 * around it. */
#include <string.h>

#include "report/page/page_int.h"
#include "report/report.h"
#include "support/strbuf.h"
#include "tune/kernel/stages.h"

enum { MOST_LINES = 400, MOST_NEST = 24 << 10 };

/* Lines of a text. */
typedef TC_VEC(const char *) lines; /* where each line begins; after the last line, where the text ends */

static lines lines_of(const char *text) {
    lines l = {0};
    const char *p = text;
    for (; *p; p++)
        if (p == text || p[-1] == '\n')
            tc_push(&l, p);
    tc_push(&l, p);
    return l;
}

/* The lines [first, last] that fit: from the hot loop outwards, as many before it as after it. */
static void choose(const lines *l, const tc_cg_asm_facts *f, size_t bytes, int *first, int *last) {
    int n = (int)l->len - 1, from = f->hot >= 0 ? f->loops[f->hot].first : 0;
    int to = f->hot >= 0 ? f->loops[f->hot].last : n - 1;
    to = TC_MIN(to, from + MOST_LINES - 1);
    while (to > from && (size_t)(l->data[to + 1] - l->data[from]) > bytes)
        to--;
    for (bool more = true; more;) {
        more = false;
        if (from > 0 && to - from + 1 < MOST_LINES && (size_t)(l->data[to + 1] - l->data[from - 1]) <= bytes)
            from--, more = true;
        if (to < n - 1 && to - from + 1 < MOST_LINES && (size_t)(l->data[to + 2] - l->data[from]) <= bytes)
            to++, more = true;
    }
    *first = from;
    *last = to;
}

static json_t *cut(const char *text, size_t len) {
    tc_strbuf b = {0};
    tc_sb_addn(&b, text, len);
    json_t *j = tc_json_string(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return j;
}

static json_t *assembly(const char *text, const tc_cg_asm_facts *f, size_t bytes) {
    lines l = lines_of(text);
    int n = (int)l.len - 1, first = 0, last = -1;
    if (n > 0)
        choose(&l, f, bytes, &first, &last);
    json_t *j = tc_json_pack("{s:i,s:i,s:o}", "first_line", first + 1, "lines", n, "text",
                             cut(l.data[first], (size_t)(l.data[last + 1] - l.data[first])));
    tc_vec_free(&l);
    return j;
}

static json_t *tell(const tc_tune_stages *s, const tc_tune_schedule *k, size_t bytes) {
    const char *nest = tc_sb_str(&s->text[TC_TUNE_STAGE_NEST]);
    bool whole = strlen(nest) <= MOST_NEST;
    json_t *j = tc_json_object();
    tc_json_set(j, "schedule", tc_json_string(k->trace));
    tc_json_set(j, "nest", cut(nest, whole ? strlen(nest) : MOST_NEST));
    tc_json_set(j, "nest_is_whole", json_boolean(whole));
    tc_json_set(j, "assembly", assembly(tc_sb_str(&s->text[TC_TUNE_STAGE_ASM]), &s->facts, bytes));
    tc_json_set(j, "asm_facts", tc_report_assembly(&s->facts));
    return j;
}

json_t *page_code(const tc_target *t, const tc_tune_schedule *k, size_t bytes) {
    tc_tune_stages s = {0};
    tc_error err = {0};
    json_t *j;
    tc_status st = tc_tune_stages_make(t, k, TC_TUNE_STAGE_BIT(NEST) | TC_TUNE_STAGE_BIT(ASM), NULL, &s, &err);
    if (st == TC_OK)
        j = tell(&s, k, bytes);
    else
        j = tc_json_pack("{s:o,s:o}", "schedule", tc_json_string(k->trace), "why", tc_json_string(err.msg));
    tc_tune_stages_free(&s);
    return j;
}
