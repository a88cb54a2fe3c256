/* The list of findings, and how small files are read. */
#include "measure/doctor/doctor_int.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"
#include "support/strbuf.h"
#include "support/system/fs.h"

static const struct {
    const char *name, *remedy;
} checks[] = {
#define CHECK(id, name, remedy) {name, remedy},
#include "measure/doctor/checks.def"
#undef CHECK
};

const char *tc_doctor_name(tc_doctor_check c) {
    return checks[c].name;
}

const char *tc_doctor_level_name(tc_doctor_level l) {
    static const char *const names[] = {"ok", "unknown", "note", "warning"};
    return names[l];
}

void tc_doctor_free(tc_doctor *d) {
    tc_vec_free(&d->findings);
}

void tc_doctor_say(tc_doctor *d, tc_doctor_check c, tc_doctor_level l, const char *fmt, ...) {
    tc_strbuf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_doctor_finding f = {
        .check = c, .level = l, .text = tc_sb_keep(&b, d->arena), .remedy = l <= TC_DOCTOR_UNKNOWN ? "" : checks[c].remedy};
    tc_push(&d->findings, f);
}

/* ---- files ---- */

enum { MOST = 64 << 10 };

const char *tc_doctor_file(tc_arena *a, const char *root, const char *fmt, ...) {
    tc_strbuf path = {0};
    va_list ap;
    tc_sb_add(&path, root);
    va_start(ap, fmt);
    tc_sb_vprintf(&path, fmt, ap);
    va_end(ap);
    char *text = tc_xmalloc(MOST + 1);
    size_t n = tc_fs_read_head(tc_sb_str(&path), text, MOST);
    while (n && (text[n - 1] == '\n' || text[n - 1] == ' '))
        n--;
    text[n] = 0;
    const char *kept = n ? tc_arena_strdup(a, text) : NULL;
    free(text);
    tc_strbuf_free(&path);
    return kept;
}

double tc_doctor_number(tc_arena *a, const char *root, const char *path) {
    const char *text = tc_doctor_file(a, root, "%s", path);
    char *end = NULL;
    double v = text ? tc_strtod(text, &end) : -1;
    return text && end != text ? v : -1;
}

int tc_doctor_count(const char *list) {
    int n = 0;
    for (const char *s = list; s && *s;) {
        char *end;
        long from = strtol(s, &end, 10), to = from;
        if (end == s || from < 0)
            return 0;
        if (*end == '-')
            to = strtol(end + 1, &end, 10);
        n += to >= from && to - from < 1 << 20 ? (int)(to - from) + 1 : 0;
        s = *end == ',' ? end + 1 : "";
    }
    return n;
}

const char *tc_doctor_value(tc_arena *a, const char *text, const char *key) {
    size_t n = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        if (strncmp(line, key, n) != 0 || !strchr(": \t", line[n]))
            continue;
        const char *from = line + n + strspn(line + n, ": \t");
        return tc_arena_printf(a, "%.*s", (int)strcspn(from, "\n"), from);
    }
    return NULL;
}
