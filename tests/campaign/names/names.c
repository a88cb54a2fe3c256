/* Draws hostile names and takes them through every command and output: names of models, inputs, nodes, sizes, files, and of machines
 * of a fleet; and texts of records. Whatever the names are,
 *   - text for people is UTF-8, has no control characters but newlines and tabs, none that a reader cannot see, and no line that a
 *     name began;
 *   - JSON parses, and has the names as they are;
 *   - pages and pictures have no markup that a name brought; headers and C source compile without a warning;
 *   - no command ends by a signal, or says nothing where it fails;
 *   - a name of a model that is not UTF-8, or has a zero, is refused with the place of its byte.
 *
 *     names_campaign [--cases N] [--seed S]      in an empty folder; TCTUNE names the command */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#include "campaign/names/fleet.h"
#include "campaign/names/model.h"
#include "support/rng.h"
#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/vec.h"

static const char *tctune;
static uint64_t seed = 1;
static int at_case, commands;
static char last[4096]; /* the command that ran last */

static void __attribute__((noreturn)) TC_PRINTF(1, 2) failed(const char *fmt, ...) {
    va_list ap;
    fprintf(stderr, "FAILED: case %d of seed %llu, %s: ", at_case, (unsigned long long)seed, last);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fprintf(stderr, "\n(the files are in the current folder: out, err)\n");
    exit(1);
}

static char *contents(const char *path, size_t *n) {
    char *text;
    tc_error err = {0};
    if (tc_fs_read(path, &text, n, &err) != TC_OK)
        failed("%s", err.msg);
    return text;
}

/* ---- commands ---- */

enum { MOST_SECONDS = 120, MOST_WORDS = 32 };

static void redirect(const char *path, int to) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0 || dup2(fd, to) < 0)
        _exit(126);
}

/* Runs words, which end with NULL; the exit status. What it prints is in the files out and err. */
static int run_words(const char *const *words) {
    size_t used = 0;
    last[0] = 0;
    for (int i = 0; words[i]; i++)
        used += (size_t)snprintf(last + TC_MIN(used, sizeof last - 1), sizeof last - TC_MIN(used, sizeof last - 1), "%s%s",
                                 i ? " " : "", i ? words[i] : "tctune");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        alarm(MOST_SECONDS);
        redirect("out", STDOUT_FILENO);
        redirect("err", STDERR_FILENO);
        execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    int status = 0;
    while (child < 0 || (waitpid(child, &status, 0) < 0 && errno == EINTR))
        if (child < 0)
            failed("fork: %s", strerror(errno));
    commands++;
    if (WIFSIGNALED(status))
        failed("it ended by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

/* The command with words of the list. */
static int run(const char *word, ...) {
    const char *words[MOST_WORDS] = {tctune};
    int n = 1;
    va_list ap;
    va_start(ap, word);
    for (; word; word = va_arg(ap, const char *))
        words[n++] = word;
    va_end(ap);
    return run_words(words);
}

/* ---- what is looked at ---- */

/* An implementation of its own: libc's decoder, and the ranges of Unicode's control and format characters. */
static bool is_hidden(wchar_t c) {
    return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || c == 0xad || c == 0x61c ||
           (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
           (c >= 0xfff9 && c <= 0xfffb) || (c >= 0xe0000 && c <= 0xe007f);
}

static void check_plain(const char *path) {
    size_t n, len;
    char *text = contents(path, &n);
    mbstate_t state = {0};
    for (size_t i = 0; i < n; i += len) {
        wchar_t c;
        len = mbrtowc(&c, text + i, n - i, &state);
        if (len == (size_t)-1 || len == (size_t)-2)
            failed("%s is not UTF-8 at byte %zu", path, i);
        if (len == 0 || is_hidden(c))
            failed("%s has the character U+%04X at byte %zu", path, (unsigned)c, i);
    }
    if (strncmp(text, "FORGED", 6) == 0 || strstr(text, "\nFORGED"))
        failed("%s has a line that a name began", path);
    free(text);
}

/* Status 0, or a message and status 1. */
static bool spoke(int status) {
    check_plain("out");
    check_plain("err");
    size_t n;
    free(contents("err", &n));
    if (status != 0 && (status > 3 || n == 0))
        failed("status %d, and %zu bytes of message", status, n);
    return status == 0;
}

static json_t *check_json(const char *path) {
    size_t n;
    char *text = contents(path, &n);
    json_error_t why;
    json_t *j = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (!j)
        failed("%s is no JSON: %s at byte %d", path, why.text, why.position);
    free(text);
    return j;
}

/* Does any text of j contain this one? */
static bool has_text(const json_t *j, const char *text) {
    size_t i;
    json_t *v;
    const char *key;
    if (json_is_string(j))
        return strstr(json_string_value(j), text) != NULL;
    json_array_foreach(j, i, v) if (has_text(v, text)) return true;
    json_object_foreach((json_t *)(uintptr_t)j, key, v) if (strstr(key, text) || has_text(v, text)) return true;
    return false;
}

static void json_has(const char *path, const char *name) {
    json_t *j = check_json(path);
    if (!has_text(j, name))
        failed("%s does not have the name as it is", path);
    json_decref(j);
}

static int count(const char *text, const char *what) {
    int n = 0;
    for (const char *p = text; (p = strcasestr(p, what)); p++)
        n++;
    return n;
}

/* The page's own scripts are three; its data are in the first. */
static void check_page(const char *path) {
    static const char begin[] = "id=\"data\">";
    char *text = contents(path, NULL), *data = strstr(text, begin), *end = data ? strstr(data, "</script>") : NULL;
    if (count(text, "<script") != 3 || count(text, "</script") != 3 || !end)
        failed("%s has other scripts than its own", path);
    *end = 0;
    data += strlen(begin);
    json_t *j = json_loads(data, 0, NULL);
    if (!j || strchr(data, '<'))
        failed("%s: its data are no JSON, or hold markup", path);
    json_decref(j);
    free(text);
}

static void check_picture(const char *path) {
    check_plain(path);
    char *text = contents(path, NULL);
    for (const char *p = text; *p; p++) {
        if (*p == '<' && !strchr("/abcdefghijklmnopqrstuvwxyz", p[1]))
            failed("%s: '<' at byte %zu begins no element", path, (size_t)(p - text));
        if (*p == '&' && strncmp(p, "&amp;", 5) != 0 && strncmp(p, "&lt;", 4) != 0 && strncmp(p, "&gt;", 4) != 0)
            failed("%s: '&' at byte %zu", path, (size_t)(p - text));
    }
    if (strstr(text, "<script") || strstr(text, "]]>"))
        failed("%s has markup of a name", path);
    free(text);
}

/* C source, or a header. */
static void check_c(const char *path) {
    const char *const words[] = {"cc", "-std=c17", "-Wall", "-Wextra", "-Wno-unused", "-Werror", "-fsyntax-only",
                                 "-x", "c",        path,    NULL};
    int status = run_words(words);
    if (status != 0) {
        char *said = contents("err", NULL);
        failed("%s does not compile: %s", path, said);
    }
}

/* ---- names ---- */

static const char *const pieces[] = {
    "\x1b[2J",
    "\x1b]0;title\x07",
    "\xc2\x9b"
    "31m",
    "\nFORGED",
    "\r",
    "\t",
    "\x08",
    "\x7f",
    "\x01",
    "\u202e",
    "\u2066",
    "\u200b",
    "\u2028",
    "\ufeff",
    "\U000e0041",
    "\u061c",
    "\"",
    "'",
    "\\",
    "`",
    "$(id)",
    ";id;",
    "</script>",
    "<script>",
    "<!--",
    "<b>",
    "]]>",
    "&amp;",
    "&",
    "*/",
    "/*",
    "//",
    "\?\?/",
    "%s%s%s",
    "%n",
    "%1000000d",
    "{}",
    "{0}",
    "|",
    ",",
    "=",
    "[0]",
    "#",
    "@D3@",
    "@DATA@",
    "int",
    "while",
    "NULL",
    ".",
    "..",
    "/",
    "../..",
    "-",
    "--help",
    " ",
    "ü",
    "中",
    "🙂",
    "a",
    "a.b",
    "a_b",
    "\\x1b",
    "\\u0000",
};

/* UTF-8 without a zero; now and then empty, or long. */
static void draw_name(tc_rng *r, tc_strbuf *b) {
    static const int lengths[] = {1, 1, 2, 2, 3, 5, 8, 40};
    tc_sb_clear(b);
    if (tc_rng_below(r, 40) == 0)
        return;
    if (tc_rng_below(r, 25) == 0)
        for (int i = 0; i < 20000; i++)
            tc_sb_addc(b, 'n');
    for (int n = lengths[tc_rng_below(r, TC_LEN(lengths))]; n > 0; n--)
        tc_sb_add(b, pieces[tc_rng_below(r, TC_LEN(pieces))]);
}

/* For a file in a folder that is there: no '/', at most 180 bytes, not only dots; any other bytes. */
static void draw_file(tc_rng *r, tc_strbuf *b) {
    tc_strbuf name = {0};
    draw_name(r, &name);
    tc_sb_clear(b);
    for (size_t i = 0; i < TC_MIN(name.len, (size_t)180); i++)
        if (name.data[i] != '/')
            tc_sb_addc(b, name.data[i]);
    if (tc_rng_below(r, 3) == 0)
        tc_sb_add(b, tc_rng_below(r, 2) ? "\xff" : "\xe2\x80");
    if (strspn(tc_sb_str(b), ".") == b->len)
        tc_sb_add(b, "f");
    tc_strbuf_free(&name);
}

/* ---- models ---- */

static void write_model(const names_model *m, const char *path) {
    tc_strbuf bytes = {0};
    tc_error err = {0};
    names_model_write(m, &bytes);
    if (tc_fs_write(path, bytes.data, bytes.len, &err) != TC_OK)
        failed("%s", err.msg);
    tc_strbuf_free(&bytes);
}

/* One name for each place. They differ, unless they are to be the same where a model may have that. */
static void draw_model(tc_rng *r, names_model *m) {
    *m = (names_model){.varies = tc_rng_below(r, 2), .kind = NAMES_KNOWN};
    for (int i = 0; i < NAMES_PLACES; i++) {
        draw_name(r, &m->name[i]);
        if (names_is_value((names_place)i)) {
            char mark[16];
            snprintf(mark, sizeof mark, "%c%d", "._~"[tc_rng_below(r, 3)], i);
            tc_sb_add(&m->name[i], mark);
        }
    }
}

static void free_model(names_model *m) {
    for (int i = 0; i < NAMES_PLACES; i++)
        tc_strbuf_free(&m->name[i]);
}

static void each_format(const char *file) {
    static const char *const formats[] = {"table", "markdown", "csv"};
    for (size_t i = 0; i < TC_LEN(formats); i++)
        spoke(run("show", file, "--format", formats[i], "--untuned", NULL));
    if (spoke(run("show", file, "--json", "--untuned", NULL)))
        json_decref(check_json("out"));
}

/* An archive has no names with them. */
static bool has_control(const char *name) {
    for (; *name; name++)
        if ((unsigned char)*name < ' ' && !strchr("\t\n\r", *name))
            return true;
    return false;
}

static void use_library(const names_model *m) {
    const char *input = tc_sb_str(&m->name[NAMES_INPUT]), *output = tc_sb_str(&m->name[NAMES_OUTPUT]);
    each_format("./net.so");
    spoke(run("show", "./net.so", "--json", NULL));
    json_has("out", input);
    json_has("out", output);
    check_c("net.h");
    setenv("TCTUNE_PROFILE", "1", 1);
    bool ran = spoke(run("run", "./net.so", "--outputs", "y.npz", NULL));
    unsetenv("TCTUNE_PROFILE");
    if (!ran && !has_control(output))
        failed("the library does not run");
    setenv("TCTUNE_PROFILE", "profile.json", 1);
    spoke(run("run", "./net.so", "--json", NULL));
    unsetenv("TCTUNE_PROFILE");
    json_has("out", output);
    json_decref(check_json("profile.json"));
    if (ran && !spoke(run("run", "./net.so", "--check", "y.npz", NULL)))
        failed("the outputs are not found again");
    if (!spoke(run("bench", "./net.so", "--repeats", "1", "--plot", "net.svg", NULL)))
        failed("the library cannot be timed");
    if (!m->varies)
        check_picture("net.svg");
    spoke(run("trace", "./net.so", "-o", "trace.json", NULL));
    json_decref(check_json("trace.json"));
}

static void use_model(const names_model *m) {
    static const char *const formats[] = {"table", "json"};
    write_model(m, "m.onnx");
    each_format("m.onnx");
    spoke(run("show", "m.onnx", "--print", "all", "--kernel", "0", "--untuned", NULL));
    spoke(run("show", "m.onnx", "--kernel", tc_sb_str(&m->name[NAMES_NODE]), "--untuned", NULL));
    spoke(run("run", "m.onnx", "--untuned", "--input", "x\x1b\n=1", NULL));
    remove("net.so");
    for (size_t i = 0; i < TC_LEN(formats); i++)
        if (spoke(run("build", "m.onnx", "--untuned", "--threads", "1", "--name", "net", "--format", formats[i],
                      "--print-memory-plan", "-o", "net.so", NULL)) &&
            i == 1)
            json_decref(check_json("out"));
    if (access("net.so", F_OK) == 0)
        use_library(m);
    if (spoke(run("build", "m.onnx", "--untuned", "--threads", "1", "--name", "net", "-o", "source.c", NULL))) {
        check_c("source.c");
        check_c("source.h");
    }
    if (spoke(run("report", "m.onnx", "--quick", "--db", "records.db", "-o", "page.html", NULL)))
        check_page("page.html");
    if (spoke(run("report", "m.onnx", "--quick", "--db", "records.db", "--json", NULL)))
        json_decref(check_json("out"));
}

/* What the importer does not know, it names. */
static void use_unknown(names_model *m, names_kind kind) {
    m->kind = kind;
    write_model(m, "unknown.onnx");
    spoke(run("show", "unknown.onnx", NULL));
    spoke(run("run", "unknown.onnx", "--untuned", "--json", NULL));
}

/* ---- names that are none ---- */

static size_t place_of(const tc_strbuf *bytes, const tc_strbuf *name) {
    const char *p = memmem(bytes->data, bytes->len, name->data, name->len);
    if (!p)
        failed("the name is not in the model");
    return (size_t)(p - bytes->data);
}

/* A byte that is wrong goes in at a drawn place. The importer says where it is. */
static void refuse_bad(tc_rng *r, names_model *m) {
    static const char *const bad[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3(", ""};
    int i = (int)tc_rng_below(r, NAMES_PLACES);
    tc_strbuf name = {0}, bytes = {0};
    tc_sb_addn(&name, "~", 1); /* of no other name */
    size_t before = name.len;
    const char *piece = bad[tc_rng_below(r, TC_LEN(bad))];
    tc_sb_addn(&name, piece, TC_MAX(strlen(piece), 1)); /* "" is a zero */
    tc_sb_addn(&name, "z\x1b", tc_rng_below(r, 3));
    tc_strbuf_free(&m->name[i]);
    m->name[i] = name;
    m->kind = i == NAMES_OPERATOR || i == NAMES_DOMAIN     ? NAMES_UNKNOWN
              : i == NAMES_FUNCTION || i == NAMES_ARGUMENT ? NAMES_LOCAL
                                                           : NAMES_KNOWN;
    m->varies = m->varies || i == NAMES_SIZE;
    names_model_write(m, &bytes);
    char expected[64];
    snprintf(expected, sizeof expected, "byte %zu of the file", place_of(&bytes, &name) + before);
    write_model(m, "bad.onnx");
    static const char *const how[][4] = {
        {"show", "bad.onnx"}, {"run", "bad.onnx", "--untuned"}, {"build", "bad.onnx", "-o", "bad.so"}};
    for (size_t k = 0; k < TC_LEN(how); k++) {
        int status = run(how[k][0], how[k][1], how[k][2], how[k][3], NULL);
        spoke(status);
        char *said = contents("err", NULL);
        if (status != 1 || !strstr(said, expected) || !strstr(said, "UTF-8"))
            failed("status %d; expected a refusal with '%s', not: %s", status, expected, said);
        free(said);
    }
    if (access("bad.so", F_OK) == 0)
        failed("bad.so was written");
    tc_strbuf_free(&bytes);
}

/* ---- files ---- */

static void use_files(tc_rng *r) {
    tc_strbuf name = {0}, path = {0};
    draw_file(r, &name);
#define PATH(end) (tc_sb_clear(&path), tc_sb_printf(&path, "./%s" end, tc_sb_str(&name)), tc_sb_str(&path))
    spoke(run("show", PATH(".onnx"), NULL));
    spoke(run("show", PATH(".so"), NULL));
    if (!spoke(run("build", "plain.onnx", "--untuned", "--threads", "1", "-o", PATH(".so"), NULL)))
        failed("a library of that name cannot be built");
    spoke(run("show", PATH(".so"), NULL));
    if (spoke(run("show", PATH(".so"), "--json", NULL)))
        json_decref(check_json("out"));
    if (!spoke(run("run", PATH(".so"), NULL)))
        failed("a library of that name does not run");
    check_c(PATH(".h"));
    unlink(PATH(".so"));
    unlink(PATH(".h"));
    if (!spoke(run("build", "plain.onnx", "--untuned", "--threads", "1", "-o", PATH(".c"), NULL)))
        failed("source of that name cannot be written");
    check_c(PATH(".c"));
    unlink(PATH(".c"));
    unlink(PATH(".h"));
    bool made = spoke(run("db", "import", "records.json", "--db", PATH(".db"), NULL));
    if (!made)
        failed("a database of that name cannot be made");
    spoke(run("db", "stats", "--db", PATH(".db"), NULL));
    if (spoke(run("db", "stats", "--db", PATH(".db"), "--json", NULL)))
        json_decref(check_json("out"));
    spoke(run("db", "stats", "--db", PATH(".db"), "--plot", "db.svg", NULL));
    check_picture("db.svg");
    if (spoke(run("report", "--quick", "--db", PATH(".db"), "-o", "page.html", NULL)))
        check_page("page.html");
    spoke(run("build", "plain.onnx", "--threads", "1", "--db", PATH(".db"), "-o", "of.so", NULL));
    spoke(run("show", "./of.so", "--json", NULL));
    json_decref(check_json("out"));
    spoke(run(PATH(""), NULL));
    spoke(run("show", "plain.onnx", PATH(""), NULL));
    spoke(run("show", "plain.onnx", "--print", PATH(""), NULL));
    spoke(run("build", "plain.onnx", "--name", PATH(""), "-o", "of.so", NULL));
    spoke(run("show", "plain.onnx", "--target", PATH(""), NULL));
    spoke(run("tune", "gemm.te", "--trials", "1", "--stop-at-roof", "9", "--db", PATH("/none.db"), NULL));
#undef PATH
    tc_strbuf_free(&name);
    tc_strbuf_free(&path);
}

/* ---- records ---- */

/* Texts of a record that say something of its origin. */
static void use_records(tc_rng *r) {
    static const char *const fields[] = {"host", "message", "tctune_version", "llvm_version", "phase",
                                         "job",  "target",  "sizes",          "trace",        "workload"};
    char *text = contents("records.json", NULL);
    text[strcspn(text, "\n")] = 0;
    json_t *j = json_loads(text, 0, NULL);
    tc_strbuf name = {0};
    for (int n = 1 + (int)tc_rng_below(r, 4); n > 0; n--) {
        const char *field = fields[tc_rng_below(r, tc_rng_below(r, 3) ? 4 : TC_LEN(fields))];
        draw_name(r, &name);
        json_object_set_new(j, field, json_string(tc_sb_str(&name)));
    }
    if (tc_rng_below(r, 2)) {
        json_object_set_new(j, "error", json_string("run_crash"));
        json_object_set_new(j, "times", json_array());
        json_object_set_new(j, "verified", json_false());
        json_object_set_new(j, "rounds", json_integer(0));
        json_object_del(j, "median");
    }
    char *line = json_dumps(j, JSON_COMPACT | JSON_REAL_PRECISION(17));
    tc_error err = {0};
    if (!line || tc_fs_write("drawn.json", line, strlen(line), &err) != TC_OK)
        failed("drawn.json cannot be written");
    remove("drawn.db");
    if (spoke(run("db", "import", "drawn.json", "--db", "drawn.db", NULL))) {
        spoke(run("db", "stats", "--db", "drawn.db", NULL));
        spoke(run("db", "verify", "--db", "drawn.db", NULL));
        spoke(run("show", "gemm.te", "--db", "drawn.db", NULL));
        if (spoke(run("db", "stats", "--json", "--db", "drawn.db", NULL)))
            json_decref(check_json("out"));
        if (spoke(run("report", "--quick", "--db", "drawn.db", "-o", "page.html", NULL)))
            check_page("page.html");
        spoke(run("report", "gemm.te", "--quick", "--db", "drawn.db", "-o", "page.html", NULL));
        spoke(run("db", "export", "--db", "drawn.db", "--out", "again.json", NULL));
        json_decref(check_json("again.json"));
    }
    free(line);
    free(text);
    json_decref(j);
    tc_strbuf_free(&name);
}

/* ---- fleets ---- */

#ifdef NAMES_FLEET
/* Whether tctune takes this for a text that it may show. */
static bool is_taken(names_fleet_text place, const char *text) {
    size_t n = strlen(text), most = place == NAMES_FLEET_HOST ? 256 : 64;
    bool plain = true;
    mbstate_t state = {0};
    for (size_t i = 0, len; i < n && plain; i += len) {
        wchar_t c;
        len = mbrtowc(&c, text + i, n - i, &state);
        plain = len != (size_t)-1 && len != (size_t)-2 && !is_hidden(c) && !strchr("\n\t", (int)(c < 0x80 ? c : 'x'));
    }
    return plain && n > 0 && n <= most;
}

static void use_fleet(tc_rng *r, const char *url) {
    static const char *const formats[] = {"table", "markdown", "csv"};
    static const char *const orders[] = {"quarantine", "release", "drain", "kick"};
    tc_strbuf drawn[NAMES_FLEET_COUNT] = {{0}};
    const char *text[NAMES_FLEET_COUNT];
    for (int i = 0; i < NAMES_FLEET_COUNT; i++) {
        draw_name(r, &drawn[i]);
        tc_sb_add(&drawn[i], i < NAMES_FLEET_NAME ? "~" : " "); /* in no other text; no word */
        text[i] = tc_sb_str(&drawn[i]);
    }
    char *record = contents("records.json", NULL);
    record[strcspn(record, "\n")] = 0;
    const char *why = names_fleet_say(text, record);
    if (why)
        failed("%s", why);
    free(record);
    for (size_t i = 0; i < TC_LEN(formats); i++)
        if (!spoke(run("fleet", "status", "--nats", url, "--format", formats[i], NULL)) ||
            !spoke(run("fleet", "log", "--nats", url, "--format", formats[i], NULL)))
            failed("a fleet with such machines cannot be looked at");
    spoke(run("fleet", "log", "--nats", url, "--worker", text[NAMES_FLEET_NAME], NULL));
    spoke(run("fleet", "log", "--nats", url, "--json", NULL));
    json_decref(check_json("out"));
    if (!spoke(run("fleet", "status", "--nats", url, "--json", NULL)))
        failed("a fleet with such machines cannot be looked at");
    json_t *status = check_json("out");
    if (has_text(status, text[NAMES_FLEET_HOST]) != is_taken(NAMES_FLEET_HOST, text[NAMES_FLEET_HOST]))
        failed("the host of a worker is shown, and is not plain, or is not shown");
    json_decref(status);
    for (size_t i = 0; i < TC_LEN(orders); i++) {
        spoke(run("fleet", orders[i], text[NAMES_FLEET_NAME], "--nats", url, NULL));
        spoke(run("fleet", orders[i], "w1", "--why", text[NAMES_FLEET_REASON], "--nats", url, NULL));
        if (spoke(run("fleet", orders[i], "w1", "--json", "--why", text[NAMES_FLEET_REASON], "--nats", url, NULL)))
            json_decref(check_json("out"));
    }
    remove("followed.db");
    spoke(run("db", "follow", "--nats", url, "--db", "followed.db", "--once", NULL));
    spoke(run("db", "follow", "--nats", url, "--db", "followed.db", "--once", "--tuner", text[NAMES_FLEET_TUNER], "--key",
              text[NAMES_FLEET_KEY], NULL));
    if (spoke(run("worker", "--nats", url, "--name", text[NAMES_FLEET_NAME], NULL)))
        failed("a worker of that name serves");
    if (spoke(run("worker", "--nats", url, "--role", "build", "--key", text[NAMES_FLEET_KEY], NULL)))
        failed("a worker of that key serves");
    for (int i = 0; i < NAMES_FLEET_COUNT; i++)
        tc_strbuf_free(&drawn[i]);
}
#endif

/* ---- all of it ---- */

static void prepare(void) {
    static const char te[] =
        "tensor X[16, 16] f32\ntensor W[16, 16] f32 const\ncompute Y[i:16, j:16] = sum(k:16) X[i, k] * W[k, j]\n"
        "output Y\n";
    tc_error err = {0};
    names_model plain = {.kind = NAMES_KNOWN};
    static const char *const names[NAMES_PLACES] = {NAMES_PLAIN};
    for (int i = 0; i < NAMES_PLACES; i++)
        tc_sb_add(&plain.name[i], names[i]);
    write_model(&plain, "plain.onnx");
    free_model(&plain);
    if (tc_fs_write("gemm.te", te, strlen(te), &err) != TC_OK)
        failed("%s", err.msg);
    if (run("tune", "gemm.te", "--trials", "1", "--stop-at-roof", "9", "--threads", "1", "--db", "records.db", NULL) != 0 ||
        run("db", "export", "--db", "records.db", "--out", "records.json", NULL) != 0)
        failed("there is no record to begin with");
    if (run("run", "plain.onnx", "--untuned", NULL) != 0)
        failed("a model with plain names is refused");
}

int main(int argc, char **argv) {
    int cases = 100;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--cases") == 0)
            cases = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = strtoull(argv[i + 1], NULL, 10);
        else
            argc = -1;
    }
    tctune = getenv("TCTUNE");
    if (argc < 0 || argc % 2 == 0 || !tctune) {
        fprintf(stderr, "usage: TCTUNE=COMMAND names_campaign [--cases N] [--seed S]\n");
        return 2;
    }
    if (!setlocale(LC_ALL, "C.UTF-8")) {
        printf("skipped: there is no locale C.UTF-8\n");
        return 77;
    }
    tc_rng all = tc_rng_seed(seed);
    prepare();
#ifdef NAMES_FLEET
    const char *url = names_fleet_start();
    if (!url)
        failed("the server does not answer");
#endif
    for (at_case = 0; at_case < cases; at_case++) {
        tc_rng r = tc_rng_fork(&all, (uint64_t)at_case);
        names_model m;
        draw_model(&r, &m);
        use_model(&m);
        use_unknown(&m, NAMES_UNKNOWN);
        use_unknown(&m, NAMES_LOCAL);
        refuse_bad(&r, &m);
        free_model(&m);
        use_files(&r);
        use_records(&r);
#ifdef NAMES_FLEET
        use_fleet(&r, url);
#endif
    }
#ifdef NAMES_FLEET
    names_fleet_stop();
#endif
    printf("%d cases, %d commands (seed %llu): all names were shown plainly, or refused\n", cases, commands,
           (unsigned long long)seed);
    return 0;
}
