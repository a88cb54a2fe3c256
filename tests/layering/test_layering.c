/* Every #include of src/ and include/ against cmake/floors.txt: the floors of folders, and where vendors' headers may be included.
 * And every folder says in the head of one file what it owns. */
#include "support/cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/strbuf.h"
#include "support/system/fs.h"
#include "support/vec.h"

typedef struct floor_row {
    char folder[64]; /* as in "src/te" */
    char file[96];   /* whose first comment says what the folder owns: "src/te/te.h" */
    int floor;
} floor_row;

/* A vendor's header (or folder of headers, ending in '/'), and the one folder, with its rooms, or the lowest floor that may include
 * it. */
typedef struct vendor_row {
    char header[64], folder[64];
    int min_floor; /* -1: only `folder` */
} vendor_row;

typedef struct rules {
    TC_VEC(floor_row) floors;
    TC_VEC(vendor_row) vendors;
} rules;

typedef struct checker {
    const rules *rules;
    tc_strbuf faults;
    int files, includes;
} checker;

static const floor_row *floor_of(const rules *r, const char *folder) {
    for (size_t i = 0; i < r->floors.len; i++)
        if (strcmp(r->floors.data[i].folder, folder) == 0)
            return &r->floors.data[i];
    return NULL;
}

/* False: the line is neither empty, nor a comment, nor a row. */
static bool parse_line(rules *r, const char *line) {
    floor_row f = {.folder = "src/", .file = "src/"};
    vendor_row v = {.folder = "src/", .min_floor = -1};
    int end = 0;
    if (*line == '#' || line[strspn(line, " ")] == 0)
        return true;
    if (sscanf(line, "floor %d %50s %80s %n", &f.floor, f.folder + 4, f.file + 4, &end) == 3 && line[end] == 0)
        tc_push(&r->floors, f);
    else if ((sscanf(line, "vendor %60s %d %n", v.header, &v.min_floor, &end) == 2 && line[end] == 0) ||
             (v.min_floor = -1, sscanf(line, "vendor %60s %50s %n", v.header, v.folder + 4, &end) == 2 && line[end] == 0))
        tc_push(&r->vendors, v);
    else
        return false;
    return true;
}

static void read_rules(rules *r) {
    char *text;
    tc_error err = {0};
    if (tc_fs_read(TCTUNE_SOURCE_DIR "/cmake/floors.txt", &text, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!parse_line(r, line))
            fail_msg("cmake/floors.txt: '%s' is neither a floor, nor a vendor's header, nor a comment", line);
    free(text);
}

static void fault(checker *c, const char *file, int line, const char *name, const char *why) {
    tc_sb_printf(&c->faults, "%s:%d: includes %s: %s\n", file, line, name, why);
}

static bool is_within(const char *folder, const char *outer) {
    size_t n = strlen(outer);
    return strncmp(folder, outer, n) == 0 && (folder[n] == 0 || folder[n] == '/');
}

static void check_vendor(checker *c, const char *file, int line, const char *folder, const char *name) {
    const floor_row *own = floor_of(c->rules, folder);
    for (size_t i = 0; i < c->rules->vendors.len; i++) {
        const vendor_row *v = &c->rules->vendors.data[i];
        size_t n = strlen(v->header);
        bool same = v->header[n - 1] == '/' ? strncmp(name, v->header, n) == 0 : strcmp(name, v->header) == 0;
        if (!same)
            continue;
        bool allowed = v->min_floor >= 0 ? own && own->floor >= v->min_floor : is_within(folder, v->folder);
        if (!allowed)
            fault(c, file, line, name, "this vendor's headers stay elsewhere (see cmake/floors.txt)");
    }
}

/* The row of the table for a path: of its folder, or else of the folder around that. `path` ends in a file's name. */
static const floor_row *room_of(const rules *r, const char *path) {
    char folder[320];
    snprintf(folder, sizeof folder, "%.300s", path);
    for (char *cut; (cut = strrchr(folder, '/'));) {
        *cut = 0;
        const floor_row *f = floor_of(r, folder);
        if (f)
            return f;
    }
    return NULL;
}

/* True if the name is one of ours, that is, begins with a folder of the table. */
static bool check_floor(checker *c, const char *file, int line, const char *folder, const char *name) {
    char other[300];
    snprintf(other, sizeof other, "src/%.250s", name);
    const floor_row *to = room_of(c->rules, other), *from = floor_of(c->rules, folder);
    if (!to)
        return false;
    if (!from)
        fault(c, file, line, name, "the public API may not include the library's insides");
    else if (to != from && to->floor >= from->floor)
        fault(c, file, line, name, "only folders of a lower floor may be included");
    else if (to != from && strstr(name, "_int.h"))
        fault(c, file, line, name, "headers named _int.h are for their own folder");
    return true;
}

/* Of what the operating system is asked for, the command needs files, its stop flag, and the calls around what it allocates
 * itself. */
static bool is_commands_system(const char *name) {
    static const char *const headers[] = {"support/system/fs.h", "support/system/memory.h", "support/system/stop.h",
                                          "support/system/ulimit.h"};
    bool is = !is_within(name, "support/system");
    for (size_t i = 0; i < TC_LEN(headers); i++)
        is |= strcmp(name, headers[i]) == 0;
    return is;
}

/* What is a call of the command's is a call of any program's: it knows the public API, and of the library only what serves to
 * handle texts and lists. */
static void check_command(checker *c, const char *file, int line, const char *folder, const char *name) {
    if (!is_within(folder, "src/cli") || is_within(name, "cli") || is_within(name, "tctune"))
        return;
    if (!is_within(name, "support"))
        fault(c, file, line, name, "the command may include the public API and src/support alone");
    else if (!is_commands_system(name))
        fault(c, file, line, name,
              "of src/support/system the command may include fs.h, memory.h, stop.h and ulimit.h; the rest is the public API's");
}

static void check_include(checker *c, const char *file, int line, const char *folder, const char *text) {
    char open, name[256];
    if (sscanf(text, " # include %c%255[^\">]", &open, name) != 2 || (open != '"' && open != '<'))
        return;
    c->includes++;
    if (open == '"')
        check_command(c, file, line, folder, name);
    check_vendor(c, file, line, folder, name);
    if (open == '<' || check_floor(c, file, line, folder, name) || strncmp(name, "tctune/", 7) == 0)
        return;
    /* Generated headers of a vendor's schema are quoted, too. */
    if (!strchr(name, '/') && !strstr(name, "pb-c.h"))
        fault(c, file, line, name, "write the folder: the include root is src/");
}

static void check_file(checker *c, const char *path, const char *shown, const char *folder) {
    char *text, *rest;
    tc_error err = {0};
    if (tc_fs_read(path, &text, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    rest = text;
    c->files++;
    for (int line = 1; rest; line++)
        check_include(c, shown, line, folder, strsep(&rest, "\n"));
    free(text);
}

static bool is_source(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (strcmp(dot, ".c") == 0 || strcmp(dot, ".h") == 0 || strcmp(dot, ".def") == 0);
}

/* Checks the files below root/sub, whose row of the table is that of `folder`; folders that have a row follow their own. */
static void check_folder(checker *c, const char *root, const char *folder, const char *sub) {
    char dir[4096];
    snprintf(dir, sizeof dir, "%s/%s", root, sub);
    DIR *d = opendir(dir);
    bool any = false;
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[8192], shown[4096];
        if (e->d_name[0] == '.')
            continue;
        snprintf(shown, sizeof shown, "%.2000s/%s", sub, e->d_name);
        snprintf(path, sizeof path, "%.4000s/%s", root, shown);
        if (tc_fs_is_dir(path)) {
            check_folder(c, root, floor_of(c->rules, shown) ? shown : folder, shown);
        } else if (is_source(e->d_name)) {
            any = true;
            check_file(c, path, shown, folder);
        }
    }
    if (any && strncmp(sub, "src/", 4) == 0 && !floor_of(c->rules, folder))
        tc_sb_printf(&c->faults, "%s: is missing from cmake/floors.txt\n", sub);
    if (d)
        closedir(d);
}

/* Checks a whole tree: the folders of the table, the public headers, and that no folder is missing from the table. */
static void check_tree(checker *c, const char *root) {
    char src[4096];
    snprintf(src, sizeof src, "%s/src", root);
    DIR *d = opendir(src);
    for (struct dirent *e; d && (e = readdir(d));) {
        char folder[300];
        snprintf(folder, sizeof folder, "src/%s", e->d_name);
        if (e->d_name[0] != '.')
            check_folder(c, root, folder, folder);
    }
    if (d)
        closedir(d);
    check_folder(c, root, "include/tctune", "include/tctune");
}

static int setup(void **state) {
    static rules r;
    r = (rules){0};
    read_rules(&r);
    *state = &r;
    return 0;
}

static int teardown(void **state) {
    rules *r = *state;
    tc_vec_free(&r->floors);
    tc_vec_free(&r->vendors);
    return 0;
}

static void tables_are_there(void **state) {
    const rules *r = *state;
    assert_true(r->floors.len >= 20);
    assert_true(r->vendors.len >= 5);
    assert_int_equal(floor_of(r, "src/support")->floor, 0);
    assert_null(floor_of(r, "src/graph")); /* has no files of its own */
    for (size_t i = 0; i < r->floors.len; i++) {
        assert_true(r->floors.data[i].floor <= floor_of(r, "src/command")->floor);
        assert_true(i == 0 ||
                    r->floors.data[i - 1].floor <= r->floors.data[i].floor); /* CMake goes through the folders in this order */
        assert_ptr_equal(floor_of(r, r->floors.data[i].folder), &r->floors.data[i]); /* there once */
    }
}

/* What is wrong with the head of the file that is to say what a folder owns; NULL: nothing. */
static const char *fault_of_head(const char *folder, const char *text) {
    char head[8192], wanted[96], *words = head;
    const char *end = strncmp(text, "/*", 2) == 0 ? strstr(text, "*/") : NULL;
    snprintf(wanted, sizeof wanted, "%.70s owns ", folder);
    if (!end)
        return "does not begin with a comment";
    /* As one line: words may stand on different lines of the comment. */
    for (const char *c = text + 2; c < end && words + 1 < head + sizeof head; c++) {
        bool space = *c == '\n' || *c == ' ' || (*c == '*' && c[-1] == ' ' && c[1] == ' ');
        if (!space || (words > head && words[-1] != ' '))
            *words++ = space ? ' ' : *c;
    }
    *words = 0;
    const char *owns = strstr(head, wanted);
    if (!owns)
        return "does not say 'FOLDER owns ...' in its first comment";
    return strstr(owns, ". Not here: ") ? NULL : "does not say 'Not here: ...' after what the folder owns";
}

static void folders_say_what_they_own(void **state) {
    const rules *r = *state;
    tc_strbuf faults = {0};
    for (size_t i = 0; i < r->floors.len; i++) {
        const floor_row *f = &r->floors.data[i];
        char path[4096], *text;
        tc_error err = {0};
        snprintf(path, sizeof path, "%s/%s", TCTUNE_SOURCE_DIR, f->file);
        if (tc_fs_read(path, &text, NULL, &err) != TC_OK)
            fail_msg("%s", err.msg);
        const char *why = fault_of_head(f->folder, text);
        if (why)
            tc_sb_printf(&faults, "%s: %s (FOLDER is %s)\n", f->file, why, f->folder);
        free(text);
    }
    if (faults.len)
        fail_msg("\n%s", tc_sb_str(&faults));
    tc_strbuf_free(&faults);
}

static void wrong_heads_are_found(void **state) {
    (void)state;
    assert_null(fault_of_head("src/te", "/* src/te owns expressions. Not here:\n * schedules. */"));
    assert_null(fault_of_head("src/te", "/* src/te owns\n * expressions.\n * Not here: schedules. */"));
    assert_non_null(strstr(fault_of_head("src/te", "#ifndef X /* src/te owns x. Not here: y. */"), "begin"));
    assert_non_null(strstr(fault_of_head("src/te", "/* src/tex owns x. Not here: y. */"), "owns ..."));
    assert_non_null(strstr(fault_of_head("src/te", "/* Expressions. */ /* src/te owns x. Not here: y. */"), "owns ..."));
    assert_non_null(strstr(fault_of_head("src/te", "/* src/te owns expressions. */"), "Not here"));
}

static void wrong_lines_are_found(void **state) {
    (void)state;
    rules r = {0};
    assert_true(parse_line(&r, "") && parse_line(&r, "# floor") && r.floors.len == 0);
    assert_true(parse_line(&r, "floor 3 te te/te.h") && r.floors.len == 1);
    assert_true(r.floors.data[0].floor == 3);
    assert_string_equal(r.floors.data[0].folder, "src/te");
    assert_string_equal(r.floors.data[0].file, "src/te/te.h");
    assert_true(parse_line(&r, "vendor zip.h 8") && parse_line(&r, "vendor b/ graph/io") && r.vendors.len == 2);
    assert_int_equal(r.vendors.data[0].min_floor, 8);
    assert_int_equal(r.vendors.data[1].min_floor, -1);
    assert_true(parse_line(&r, "vendor z.h 8bit") && r.vendors.data[2].min_floor == -1);
    assert_string_equal(r.vendors.data[1].folder, "src/graph/io");
    const char *const wrong[] = {"floor te te/te.h", "floor 3 te",       "floor 3 te te/te.h and",
                                 "vendor zip.h",     "vendor zip.h 8 9", "flour 3 te te/te.h"};
    for (size_t i = 0; i < TC_LEN(wrong); i++)
        assert_false(parse_line(&r, wrong[i]));
    assert_true(r.floors.len == 1 && r.vendors.len == 3);
    tc_vec_free(&r.floors);
    tc_vec_free(&r.vendors);
}

static void tree_keeps_the_rules(void **state) {
    checker c = {.rules = *state};
    check_tree(&c, TCTUNE_SOURCE_DIR);
    assert_true(c.files > 15 && c.includes > 50);
    if (c.faults.len)
        fail_msg("\n%s", tc_sb_str(&c.faults));
    tc_strbuf_free(&c.faults);
}

/* The checker itself: each broken rule is reported, and nothing else. */
static void broken_rules_are_found(void **state) {
    const struct {
        const char *folder, *text, *why; /* why == NULL: allowed */
    } cases[] = {
        {"src/te", "#include \"support/arena.h\"", NULL},
        {"src/te", "#include \"te/te_int.h\"", NULL},
        {"src/te", "#include <stdio.h>", NULL},
        {"src/te", "// #include \"cli/x.h\"", NULL},
        {"src/cli", "#include \"graph/ir/graph.h\"", "public API"},
        {"src/cli/watch", "#include \"cli/work.h\"", NULL},
        {"src/command", "#include \"measure/worker/worker.h\"", NULL},
        {"src/cli", "#include \"measure/worker/worker.h\"", "public API"},
        {"src/cli/watch", "#include \"report/report.h\"", "public API"},
        {"src/cli/face", "#include \"cli/work.h\"", "lower floor"},
        {"src/cli", "#include \"support/system/fs.h\"", NULL},
        {"src/cli/face", "#include \"support/system/stop.h\"", NULL},
        {"src/cli", "#include \"support/strbuf.h\"", NULL},
        {"src/cli", "#include \"support/system/secret.h\"", "fs.h, memory.h, stop.h and ulimit.h"},
        {"src/cli/watch", "#include \"support/system/identity.h\"", "fs.h, memory.h, stop.h and ulimit.h"},
        {"src/graph/ops/native", "#include \"graph/ops/infer.h\"", NULL},
        {"src/graph/ops/native", "#include \"graph/ops/native/window.h\"", NULL},
        {"src/cli", "#include <tctune/tctune.h>", NULL},
        {"src/cli", "#include \"tctune/tctune.h\"", NULL},
        {"src/measure", "#include <jansson.h>", "vendor"},
        {"src/support/json", "#include <jansson.h>", NULL},
        {"src/graph/onnx", "#include \"onnx/onnx.pb-c.h\"", NULL},
        {"src/graph/ir", "#include \"onnx/onnx.pb-c.h\"", "vendor"},
        {"src/graph/ops", "#include \"graph/ops/native/window.h\"", "lower floor"},
        {"src/graph/onnx", "#include \"tune/tune.h\"", "lower floor"},
        {"src/graph/fuse", "#include \"measure/measure.h\"", "lower floor"},
        {"src/graph/model", "#include \"graph/onnx/import_int.h\"", "own folder"},
        {"src/te", "#include \"tir_lower/tir.h\"", "lower floor"},
        {"src/codegen/code", "  #  include \"search_space/space.h\"", "lower floor"},
        {"src/codegen/code", "#include \"codegen/artefacts/link.h\"", "lower floor"},
        {"src/codegen/artefacts", "#include \"codegen/code/builder.h\"", NULL},
        {"src/codegen/artefacts", "#include \"codegen/code/code_int.h\"", "own folder"},
        {"src/codegen/artefacts", "#include <llvm-c/Core.h>", NULL},
        {"src/tune", "#include \"te/te_int.h\"", "own folder"},
        {"src/te", "#include \"expr.h\"", "write the folder"},
        {"include/tctune", "#include \"support/arena.h\"", "public API"},
        {"src/tune", "#include <llvm-c/Core.h>", "vendor"},
        {"src/tune", "#include <sqlite3.h>", "vendor"},
        {"src/cost_model", "#include <jansson.h>", "vendor"},
        {"src/measure", "#include \"onnx/onnx.pb-c.h\"", "vendor"},
    };
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        checker c = {.rules = *state};
        check_include(&c, "x.c", 1, cases[i].folder, cases[i].text);
        if (cases[i].why)
            assert_non_null(strstr(tc_sb_str(&c.faults), cases[i].why));
        else
            assert_string_equal(tc_sb_str(&c.faults), "");
        tc_strbuf_free(&c.faults);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tables_are_there, setup, teardown),
        cmocka_unit_test_setup_teardown(tree_keeps_the_rules, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_rules_are_found, setup, teardown),
        cmocka_unit_test_setup_teardown(folders_say_what_they_own, setup, teardown),
        cmocka_unit_test(wrong_heads_are_found),
        cmocka_unit_test(wrong_lines_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
