/* Assembles the page: each mark in page.html, such as @STYLE@, is replaced by its part. */
#include <stdlib.h>
#include <string.h>

#include "report/page/page_int.h"
#include "support/strbuf.h"

tc_status tc_page_text(json_t *data, char **text, tc_error *err) {
    *text = tc_json_text(data, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(data);
    return *text ? TC_OK : tc_fail(err, TC_ENV, "there is no memory for the report");
}

/* "<" begins markup, also within the data of a script: "</script>", "<!--". JSON has "<" only in texts, where it may be written as
 * an escape. */
static void add_data(tc_strbuf *b, const char *json) {
    for (const char *p = json; *p; p++)
        if (*p == '<')
            tc_sb_add(b, "\\u003c");
        else
            tc_sb_addc(b, *p);
}

static void add_part(tc_strbuf *b, page_part part) {
    size_t n;
    const char *text = page_part_of(part, &n);
    tc_sb_addn(b, text, n);
}

static void add_named(tc_strbuf *b, const char *name, size_t len, const char *json) {
    if (len == 5 && memcmp(name, "STYLE", len) == 0)
        add_part(b, PAGE_STYLE);
    else if (len == 2 && memcmp(name, "D3", len) == 0)
        add_part(b, PAGE_D3);
    else if (len == 6 && memcmp(name, "SCRIPT", len) == 0)
        add_part(b, PAGE_SCRIPT);
    else
        add_data(b, json);
}

tc_status tc_page_write(json_t *data, char **html, tc_error *err) {
    size_t n;
    char *json;
    const char *p = page_part_of(PAGE_MARKUP, &n), *end = p + n;
    tc_strbuf b = {0};
    *html = NULL;
    TC_TRY(tc_page_text(data, &json, err));
    while (p < end) {
        const char *at = memchr(p, '@', (size_t)(end - p));
        const char *close = at ? memchr(at + 1, '@', (size_t)(end - at - 1)) : NULL;
        tc_sb_addn(&b, p, (size_t)((close ? at : end) - p));
        if (close)
            add_named(&b, at + 1, (size_t)(close - at - 1), json);
        p = close ? close + 1 : end;
    }
    free(json);
    *html = tc_xmalloc(b.len + 1);
    memcpy(*html, tc_sb_str(&b), b.len + 1);
    tc_strbuf_free(&b);
    return TC_OK;
}
