/* What a library says of itself, in notes that somebody made: each number has its range, each reference leads to something, and
 * what is refused is named. No code of a library is needed for that. */
#include <glob.h>
#include <jansson.h>

#include "common/json_places.h"
#include "common/note_file.h"
#include "graph/graph_test.h"
#include "graph/saved/save_int.h"
#include "support/inputs.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "tctune/tctune.h"

#define FILE_NAME SCRATCH("note.so")

/* Two inputs, the second of which shares its buffer with an output; one size; an output whose size depends on data. */
static const char WHOLE[] =
    "{'format': 3, 'abi': 1, 'name': 'm', 'target': 'llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=generic-rv64 "
    "-vector-bytes=16',"
    " 'threads': 2, 'stack': 1000, 'flops': 10.0, 'sizes': 1, 'watched': true, 'team': 'own',"
    " 'inputs': [{'name': 'x', 'dtype': 'i32', 'shape': [8, 4], 'sizes': {'0': 2}, 'drawn': [0, 10]},"
    "            {'name': 'past', 'dtype': 'f32', 'shape': [1, 6], 'shared': [1, 1]},"
    "            {'name': 'n', 'dtype': 'i64', 'shape': []}],"
    " 'outputs': [{'name': 'y', 'dtype': 'f32', 'shape': [8, 4], 'sizes': {'0': 2}},"
    "             {'name': 'present', 'dtype': 'f32', 'shape': [1, 8], 'shared': [1, 1]},"
    "             {'name': 'count', 'dtype': 'i64', 'shape': []}],"
    " 'varying': {'inputs': [[0, -1], [-1, -1]],"
    "             'sizes': [{'name': 'n', 'least': 2, 'most': 8, 'multiple': 2, 'assumed': false, 'narrowed': false,"
    "                        'is': {'text': 'n', 'formula': [[0], 2, '*']}}],"
    "             'limits': [{'size': {'text': 'n', 'formula': [[0]]}, 'least': 1, 'most': 5, 'multiple': 3, 'what': 'w',"
    "                         'by': {'text': 'n', 'times': [2], 'constant': 1, 'divisor': 2}}]},"
    " 'kernels': [{'name': 'k', 'form': 'direct', 'count': 1, 'flops': 5.0, 'record': 3, 'bytes': 8.0, 'workload': 'ab12'}],"
    " 'others': [{'name': 'copy', 'count': 1}], 'steps': [0, 1], 'refusals': ['no']}";

static json_t *whole(void) {
    tc_strbuf b = {0};
    for (const char *c = WHOLE; *c; c++)
        tc_sb_addc(&b, *c == '\'' ? '"' : *c);
    json_t *j = json_loads(tc_sb_str(&b), 0, NULL);
    assert_non_null(j);
    tc_strbuf_free(&b);
    return j;
}

/* Thousands of files: the disk need not have them. */
static void put_unsynced(const tc_strbuf *file) {
    FILE *f = fopen(FILE_NAME, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(file->data, 1, file->len, f), file->len);
    assert_int_equal(fclose(f), 0);
}

/* Reads a note with this text. */
static tc_status read_text(const char *text, tc_error *e) {
    tc_strbuf file = {0};
    const char *name, *target;
    note_file(text, strlen(text), &file);
    put_unsynced(&file);
    tc_strbuf_free(&file);
    tc_graph_model m = {.arena = tc_arena_new()};
    tc_status s = tc_graph_read_library(&m, FILE_NAME, &name, &target, e);
    if (s == TC_OK) {
        assert_true(m.nshown >= 0 && m.nshown <= m.nout && m.threads > 0);
        for (int i = 0; i < m.nin + m.nout; i++) {
            const tc_graph_port *p = i < m.nin ? &m.in[i] : &m.out[i - m.nin];
            for (int d = 0; d < p->shape.ndim; d++)
                assert_true(p->extent[d] >= 0 && p->extent[d] < (i < m.nin ? m.nin : m.nout));
        }
    }
    tc_arena_free(m.arena);
    return s;
}

static tc_status read_note(const json_t *j, tc_error *e) {
    char *text = json_dumps(j, JSON_COMPACT);
    tc_status s = read_text(text, e);
    free(text);
    return s;
}

/* ---- one place after the other ---- */

static void say(const json_place *p, char *out, size_t size) {
    snprintf(out, size, "%s[%zu]", p->key ? p->key : "", p->at);
}

/* Ends of ranges, and numbers in formulas, may be anything that does not overflow. */
static bool is_free(const json_place *p) {
    static const char *const KEYS[] = {"constant", "divisor", "flops", "bytes"};
    bool is = p->key && (json_object_get(p->in, "size") != NULL || json_object_get(p->in, "by") != NULL);
    for (size_t i = 0; i < TC_LEN(KEYS); i++)
        is |= p->key && strcmp(p->key, KEYS[i]) == 0;
    return is;
}

/* Every integer of the note becomes each of these; what is then read is within its bounds, what is not is refused by name. */
static void test_every_integer(void **state) {
    (void)state;
    static const int64_t NUMBERS[] = {-1,        -2,        -100000000, INT32_MAX, (int64_t)INT32_MAX + 1, UINT32_MAX,
                                      INT32_MIN, INT64_MAX, INT64_MIN,  1000,      (int64_t)1 << 60};
    json_t *j = whole();
    json_places all = {0};
    tc_error err = {0};
    int integers = 0, refused = 0;
    json_places_add(j, &all);
    if (read_note(j, &err) != TC_OK)
        fail_msg("%s", err.msg);
    for (size_t i = 0; i < all.len; i++) {
        json_place *p = &all.data[i];
        if (!json_is_integer(json_place_get(p)))
            continue;
        json_t *before = json_incref(json_place_get(p));
        integers++;
        for (size_t n = 0; n < TC_LEN(NUMBERS); n++) {
            char where[200];
            assert_true(json_place_put(p, json_integer(NUMBERS[n])));
            tc_status s = read_note(j, &err);
            say(p, where, sizeof where);
            if (s != TC_OK && (s != TC_BAD_INPUT || !strstr(err.msg, FILE_NAME)))
                fail_msg("%s = %lld: %s", where, (long long)NUMBERS[n], err.msg);
            if (s == TC_OK && NUMBERS[n] == INT64_MIN && !is_free(p))
                fail_msg("%s may be as low as it can be", where);
            refused += s != TC_OK;
        }
        assert_true(json_place_put(p, json_real(1.5)));
        assert_int_equal(read_note(j, &err), TC_BAD_INPUT);
        assert_true(json_place_put(p, json_string("1")));
        if (read_note(j, &err) != TC_BAD_INPUT && p->key)
            fail_msg("'%s' may be a text", p->key);
        assert_true(json_place_put(p, before));
    }
    assert_int_equal(read_note(j, &err), TC_OK);
    print_message("%d integers, %d times refused\n", integers, refused);
    assert_true(integers > 30 && refused > 200);
    tc_vec_free(&all);
    json_decref(j);
}

/* Every value becomes a value of each type, and is left out. */
static void test_every_type(void **state) {
    (void)state;
    static const char *const VALUES[] = {"null", "true", "-1", "1e300", "\"\"", "[]", "{}", "[[[]]]", "[null]"};
    json_t *j = whole();
    json_places all = {0};
    tc_error err = {0};
    json_places_add(j, &all);
    for (size_t i = 0; i < all.len; i++) {
        json_place *p = &all.data[i];
        json_t *before = json_incref(json_place_get(p));
        for (size_t n = 0; n < TC_LEN(VALUES); n++) {
            assert_true(json_place_put(p, json_loads(VALUES[n], JSON_DECODE_ANY, NULL)));
            tc_status s = read_note(j, &err);
            if (s != TC_OK && (s != TC_BAD_INPUT || !strstr(err.msg, FILE_NAME)))
                fail_msg("%s: %s", VALUES[n], err.msg);
        }
        assert_true(json_place_put(p, before));
    }
    assert_int_equal(read_note(j, &err), TC_OK);
    tc_vec_free(&all);
    json_decref(j);
}

/* ---- what the messages say ---- */

static void test_messages(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *says; /* `from` of the note becomes `to` */
    } CASES[] = {
        {"'sizes': {'0': 2}, 'drawn'", "'sizes': {'-1': 2}, 'drawn'",
         "inputs[0]: 'sizes' names dimension '-1', but the shape has 2"},
        {"'sizes': {'0': 2}, 'drawn'", "'sizes': {'-100000000': 2}, 'drawn'", "inputs[0]: 'sizes' names dimension"},
        {"'sizes': {'0': 2}, 'drawn'", "'sizes': {'2': 2}, 'drawn'", "inputs[0]: 'sizes' names dimension '2'"},
        {"'sizes': {'0': 2}, 'drawn'", "'sizes': {'0': 1}, 'drawn'", "inputs[1] is no size of its dimension 0"},
        {"'sizes': {'0': 2}, 'drawn'", "'sizes': {'1': 2}, 'drawn'", "'varying' does not"},
        {"'sizes': 1", "'sizes': 2147483648", "'sizes' must be an integer from 0 to 3"},
        {"'sizes': 1", "'sizes': -1", "'sizes' must be an integer from 0 to 3"},
        {"'threads': 2", "'threads': -2", "'threads' must be an integer from 1"},
        {"'shape': [1, 6], 'shared': [1, 1]", "'shape': [1, 6], 'shared': [1, 2]", "'shared' names dimension 2"},
        {"'shape': [1, 6], 'shared': [1, 1]", "'shape': [1, 6], 'shared': [0, 1]", "inputs[1]: 'shared' does not fit"},
        {"'shape': [1, 6], 'shared': [1, 1]", "'shape': [1, 6]", "outputs[1]: 'shared' does not fit"},
        {"'shape': [8, 4], 'sizes': {'0': 2}}", "'shape': [4294967296, 4294967296]}", "more than 2^59 elements"},
        {"'drawn': [0, 10]", "'drawn': [10, 0]", "the smaller one first"},
        {"'steps': [0, 1]", "'steps': [0, 2]", "steps[1]: 'step' must be an integer from 0 to 1"},
        {"'name': 'm'", "'name': 'm n'", "'name' must begin symbols of C"},
        {"'name': 'm'", "'name': ''", "'name' must begin symbols of C"},
        {"'least': 2", "'least': 9", "varying.sizes[0]: 'least' must be an integer from 0 to 8"},
        {"'most': 8", "'most': 9", "dimension 0 is smaller than the largest size 'n'"},
        {"[[0, -1], [-1, -1]]", "[[-1, -1], [-1, -1]]", "varying.sizes[0]: no input has this size"},
        {"[[0, -1], [-1, -1]]", "[[1, -1], [-1, -1]]", "varying.inputs[0]: 'size' must be an integer from -1 to 0"},
        {"[[0], 2, '*']", "[[0], [1], '*']", "the formula of 'n' is none"},
        {"[[0], 2, '*']", "[[0], '*', '*']", "the formula of 'n' is none"},
        {"[[0], 2, '*']", "[[0], 2, '**']", "an operation '**'"},
        {"'multiple': 3", "'multiple': 0", "varying.limits[0]: 'multiple' must be an integer from 1"},
        {"'workload': 'ab12'", "'workload': 'xyz'", "kernels[0]: 'workload' must be a hash"},
        {"'count': 1, 'flops'", "'count': -1, 'flops'", "kernels[0]: 'count' must be an integer from 0"},
        {"'stack': 1000", "'stack': 1000, 'stack': 1", "duplicate"},
    };
    for (size_t i = 0; i < TC_LEN(CASES); i++) {
        tc_strbuf b = {0};
        tc_error err = {0};
        const char *at = strstr(WHOLE, CASES[i].from);
        assert_non_null(at);
        tc_sb_addn(&b, WHOLE, (size_t)(at - WHOLE));
        tc_sb_add(&b, CASES[i].to);
        tc_sb_add(&b, at + strlen(CASES[i].from));
        for (size_t c = 0; c < b.len; c++)
            b.data[c] = b.data[c] == '\'' ? '"' : b.data[c];
        tc_status s = read_text(tc_sb_str(&b), &err);
        if (s != TC_BAD_INPUT || !strstr(err.msg, CASES[i].says) || !strstr(err.msg, FILE_NAME))
            fail_msg("%s: status %d, %s", CASES[i].to, (int)s, err.msg);
        tc_strbuf_free(&b);
    }
}

/* ---- how much there is ---- */

static void repeat(tc_strbuf *b, const char *text, int64_t times) {
    for (int64_t i = 0; i < times; i++)
        tc_sb_add(b, text);
}

/* The bounds stand before the document is made: a list of empty objects would take a hundred times its bytes. */
static void test_bounds(void **state) {
    (void)state;
    static const struct {
        const char *from, *each, *to;
        int64_t times;
        const char *says;
    } CASES[] = {{"{\"steps\": ", "[", "", 100, "nests 101 levels deep, and at most 32"},
                 {"{\"steps\": [0", ",0", "]}", TC_WORK_NOTE, "values"},
                 {"{\"steps\": [0", ",{}", "]}", TC_WORK_NOTE / 8, "values"},
                 {"{\"steps\": [0", ",[]", "]}", TC_WORK_NOTE / 4, "values"},
                 {"{\"a\": \"", "[{\\\"", "\"}", 100, "another version"},
                 {"{\"a\": \"", "\\", "", 101, "damaged"},
                 {"{\"a\": \"", "12345678", "\"}", TC_BYTES_NOTE / 8, "too long: more than 32 MiB"}};
    for (size_t i = 0; i < TC_LEN(CASES); i++) {
        tc_strbuf b = {0};
        tc_error err = {0};
        tc_sb_add(&b, CASES[i].from);
        repeat(&b, CASES[i].each, CASES[i].times);
        tc_sb_add(&b, CASES[i].to);
        tc_status s = read_text(tc_sb_str(&b), &err);
        if (s != TC_BAD_INPUT || !strstr(err.msg, CASES[i].says) || !strstr(err.msg, FILE_NAME))
            fail_msg("%s..: status %d, %s", CASES[i].from, (int)s, err.msg);
        tc_strbuf_free(&b);
    }
}

/* ---- the public API ---- */

/* Of this version it is checked as loading checks it; notes of other versions are passed on. */
static void test_described(void **state) {
    (void)state;
    char *text = NULL, error[600] = "";
    json_t *j = whole();
    tc_error err = {0};
    assert_int_equal(read_note(j, &err), TC_OK);
    assert_int_equal(tctune_library_describe(FILE_NAME, &text, error, sizeof error), TCTUNE_OK);
    tctune_text_free(text);
    json_object_set_new(j, "threads", json_integer(-1));
    assert_int_equal(read_note(j, &err), TC_BAD_INPUT);
    assert_int_equal(tctune_library_describe(FILE_NAME, &text, error, sizeof error), TCTUNE_BAD_INPUT);
    assert_non_null(strstr(error, "'threads' must be an integer"));
    json_object_set_new(j, "format", json_integer(99));
    assert_int_equal(read_note(j, &err), TC_BAD_INPUT);
    assert_int_equal(tctune_library_describe(FILE_NAME, &text, error, sizeof error), TCTUNE_OK);
    tctune_text_free(text);
    json_decref(j);
}

/* Files beside the project, where they are. */
static void test_kept(void **state) {
    (void)state;
    glob_t files;
    if (glob(TCTUNE_SOURCE_DIR "/../shared/cases/hostile/library-metadata/*", 0, NULL, &files) != 0)
        return;
    for (size_t i = 0; i < files.gl_pathc; i++) {
        tc_graph_model *m;
        char *text;
        const char *path = files.gl_pathv[i];
        if (strstr(path, ".so")) {
            assert_fails(TC_BAD_INPUT, tc_graph_model_load(path, 0, &m, err), path, "inputs[0]: 'sizes' names dimension");
            continue;
        }
        assert_ok(tc_fs_read(path, &text, NULL, err));
        assert_fails(TC_BAD_INPUT, read_text(text, err), FILE_NAME, "damaged");
        free(text);
    }
    globfree(&files);
}

static int clean(void **state) {
    (void)state;
    remove(FILE_NAME);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_integer), cmocka_unit_test(test_every_type),
                                       cmocka_unit_test(test_messages),      cmocka_unit_test(test_bounds),
                                       cmocka_unit_test(test_described),     cmocka_unit_test(test_kept)};
    return cmocka_run_group_tests(tests, NULL, clean);
}
