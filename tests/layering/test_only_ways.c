/* Some things are done at one place. Text for people goes through support/say.h, which escapes names from outside. Documents are
 * made through support/json, which loses no part of them. Numbers are written and read by support/numbers.h, where the decimal
 * point is no comma. This test reads the whole source: nobody else calls the functions below.
 *
 * A file that must call them stands in the table, with its reason. */
#include "support/cmocka_all.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/vec.h"

typedef struct rule {
    const char *functions, *instead;
    const char *except[16]; /* files, from src/ on */
} rule;

static const rule rules[] = {
    {"printf fprintf vprintf vfprintf dprintf vdprintf puts fputs putchar putchar_unlocked fputc putc putc_unlocked fwrite "
     "fwrite_unlocked perror psignal syslog write",
     "text for people goes through tc_say (support/say.h)",
     {
         "src/support/say.c", "src/support/log.c", /* a line that say.c made */
         "src/support/alloc.c",                    /* memory has run out: one line, of numbers alone */
         "src/support/arena.c",                    /* the same */
         "src/support/system/fs_write.c",          /* files */
         "src/graph/model/constants.c",            /* weights */
         "src/codegen/artefacts/blob.c",           /* weights */
         "src/codegen/profile/profile.c",  /* a part of built libraries, which have nothing of tctune; saved/profile.c escapes */
         "src/cli/progress.c",             /* a drawing, whose lines say.c made, between codes of the terminal */
         "src/cli/events.c",               /* JSON that say.c made, to any descriptor */
         "src/measure/peer.c",             /* pipes and sockets */
         "src/measure/process/protocol.c", /* the same */
         "src/measure/sandbox/limits.c",   /* a file of /proc */
         "src/measure/doctor/process.c",   /* a pipe */
         "src/cli/face/inherited.c",       /* a text of its own, in the handler of a signal */
     }},
    {"json_string json_stringn json_string_nocheck json_sprintf json_vsprintf json_integer json_real json_array json_object "
     "json_pack json_pack_ex json_vpack_ex json_object_set json_object_set_new json_object_set_nocheck "
     "json_object_set_new_nocheck "
     "json_object_update json_object_update_new json_object_update_existing json_object_update_missing json_array_append "
     "json_array_append_new json_array_insert json_array_insert_new json_array_set json_array_set_new json_array_extend "
     "json_copy "
     "json_deep_copy json_string_set json_integer_set json_real_set json_dumps json_dumpb json_dumpf json_dumpfd json_dump_file "
     "json_dump_callback json_loads json_loadb json_loadf json_loadfd json_load_file json_load_callback json_set_alloc_funcs "
     "json_set_alloc_funcs2",
     "documents are made through support/json/json.h",
     {"src/support/json/json.c"}},
    {"strtod strtof strtold atof vsnprintf vsprintf vasprintf",
     "numbers have a point in every locale (support/numbers.h)",
     {"src/support/numbers.c"}},
};

static bool is_name(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

/* Behind a comment or a text that begins at p, or p. */
static const char *behind(const char *p) {
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end ? end + 2 : p + strlen(p);
    }
    if (p[0] == '/' && p[1] == '/')
        return p + strcspn(p, "\n");
    if (*p != '"' && *p != '\'')
        return p;
    char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += *p == '\\' && p[1] ? 2 : 1;
    return p + (*p == quote);
}

static bool is_listed(const char *words, const char *name, size_t n) {
    for (; *words; words += strspn(words, " ")) {
        size_t len = strcspn(words, " ");
        if (len == n && memcmp(words, name, n) == 0)
            return true;
        words += len;
    }
    return false;
}

/* A function pointer's call `x->write(y)` is none of libc's. */
static bool is_member(const char *text, const char *name) {
    return name > text && (name[-1] == '.' || (name[-1] == '>' && name - 1 > text && name[-2] == '-'));
}

static void check_text(const rule *r, const char *file, const char *text, tc_strbuf *faults) {
    for (size_t i = 0; i < TC_LEN(r->except) && r->except[i]; i++)
        if (strcmp(r->except[i], file) == 0)
            return;
    for (const char *p = text; *p;) {
        const char *after = behind(p);
        if (after != p) {
            p = after;
            continue;
        }
        size_t n = 0;
        while (is_name(p[n]))
            n++;
        const char *open = p + n + strspn(p + n, " \n");
        if (n && *open == '(' && is_listed(r->functions, p, n) && !is_member(text, p))
            tc_sb_printf(faults, "%s: calls %.*s: %s\n", file, (int)n, p, r->instead);
        p += n ? n : 1;
    }
}

static bool ends(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int check_folder(const char *folder, tc_strbuf *faults) {
    char path[4096];
    int files = 0;
    snprintf(path, sizeof path, "%s/%s", TCTUNE_SOURCE_DIR, folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char file[2048], *text;
        tc_error err = {0};
        if (e->d_name[0] == '.')
            continue;
        snprintf(file, sizeof file, "%.1500s/%s", folder, e->d_name);
        snprintf(path, sizeof path, "%s/%s", TCTUNE_SOURCE_DIR, file);
        if (tc_fs_is_dir(path)) {
            files += check_folder(file, faults);
        } else if (ends(file, ".c") || ends(file, ".h")) {
            assert_int_equal(tc_fs_read(path, &text, NULL, &err), TC_OK);
            for (size_t i = 0; i < TC_LEN(rules); i++)
                check_text(&rules[i], file, text, faults);
            free(text);
            files++;
        }
    }
    closedir(d);
    return files;
}

static void nobody_goes_another_way(void **state) {
    (void)state;
    tc_strbuf faults = {0};
    assert_true(check_folder("src", &faults) > 300);
    if (faults.len)
        fail_msg("\n%s", tc_sb_str(&faults));
    tc_strbuf_free(&faults);
}

/* An exception for a file that needs none would hide its first fault. */
static void exceptions_are_needed(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(rules); i++)
        for (size_t k = 0; k < TC_LEN(rules[i].except) && rules[i].except[k]; k++) {
            char path[4096], *text;
            tc_error err = {0};
            tc_strbuf faults = {0};
            snprintf(path, sizeof path, "%s/%s", TCTUNE_SOURCE_DIR, rules[i].except[k]);
            if (tc_fs_read(path, &text, NULL, &err) != TC_OK)
                fail_msg("%s", err.msg);
            check_text(&rules[i], "", text, &faults);
            if (!faults.len)
                fail_msg("%s needs no exception", rules[i].except[k]);
            tc_strbuf_free(&faults);
            free(text);
        }
}

static void broken_rules_are_found(void **state) {
    (void)state;
    const struct {
        const char *text, *found;
    } cases[] = {
        {"printf(\"x\");", "printf"},
        {"f(a, printf (\"x\"))", "printf"},
        {"if (x)\n    fputs\n(text, stdout);", "fputs"},
        {"a = '\"'; puts(a); b = '\"';", "puts"},
        {"snprintf(a, 3, \"printf(\");", NULL},
        {"/* printf(x) */ // puts(y)\ntc_say(stdout, \"puts(\\\"z\\\")\");", NULL},
        {"tc_sb_printf(b, x); my_puts(y); put(z);", NULL},
        {"z->write(x); z.write(x);", NULL},
        {"__attribute__((format(printf, 1, 2)))", NULL},
        {"json_t *j = json_pack(\"{}\");", "json_pack"},
        {"tc_json_pack(\"{}\"); json_object_get(j, k);", NULL},
        {"vsnprintf(text, 3, f, ap);", "vsnprintf"},
        {"tc_vsnprintf(text, 3, f, ap); x = tc_strtod(text, NULL);", NULL},
        {"x = strtod(text, NULL);", "strtod"},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        tc_strbuf faults = {0};
        for (size_t k = 0; k < TC_LEN(rules); k++)
            check_text(&rules[k], "x.c", cases[i].text, &faults);
        char expected[64] = "";
        if (cases[i].found)
            snprintf(expected, sizeof expected, "x.c: calls %s:", cases[i].found);
        assert_int_equal(strncmp(tc_sb_str(&faults), expected, strlen(expected)), 0);
        assert_true((cases[i].found != NULL) == (faults.len > 0));
        tc_strbuf_free(&faults);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nobody_goes_another_way), cmocka_unit_test(exceptions_are_needed),
                                       cmocka_unit_test(broken_rules_are_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
