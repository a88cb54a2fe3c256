/* Export and import of records as JSON lines. */
#include "measure/records/exchange.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/records/check.h"
#include "measure/records/database_int.h"
#include "measure/records/maintain.h"
#include "support/system/fs.h"
#include "support/vec.h"

typedef struct export_state {
    tc_strbuf text;
    size_t n;
} export_state;

static tc_status add_line(void *user, const tc_record *r, tc_error *err) {
    export_state *e = user;
    (void)err;
    tc_meas_record_to_json(r, &e->text);
    tc_sb_addc(&e->text, '\n');
    e->n++;
    return TC_OK;
}

tc_status tc_meas_export(tc_meas_db *db, const tc_meas_filter *f, const char *path, size_t *n, tc_error *err) {
    export_state e = {0};
    tc_status s = tc_meas_db_each(db, f, add_line, &e, err);
    if (s == TC_OK)
        s = tc_fs_write(path, tc_sb_str(&e.text), e.text.len, err);
    *n = e.n;
    tc_strbuf_free(&e.text);
    return s;
}

/* What makes two records the same measurement. The texts themselves are hashed, and with the key of the process: whoever makes a
 * file could choose texts whose stored hashes are equal, so that one record would hide another. */
static uint64_t identity(const tc_record *r) {
    const tc_hash_key key = tc_hash_key_of_process();
    const char *const texts[] = {r->sizes, r->workload, r->target, r->trace};
    uint64_t parts[2 + TC_LEN(texts)] = {(uint64_t)r->when_ms, r->mode};
    for (size_t i = 0; i < TC_LEN(texts); i++)
        parts[2 + i] = tc_keyed_hash(&key, texts[i], strlen(texts[i]));
    return tc_keyed_hash(&key, parts, sizeof parts);
}

bool tc_meas_known_add(tc_map *known, const tc_record *r) {
    uint64_t key = identity(r);
    bool failed = r->error != TC_MEAS_NONE;
    const uintptr_t *knew_failure = tc_map_get(known, key);
    if (knew_failure && (*knew_failure || !failed))
        return false;
    tc_map_put(known, key, failed);
    return true;
}

static tc_status note(void *user, const tc_record *r, tc_error *err) {
    (void)err;
    tc_meas_known_add(user, r);
    return TC_OK;
}

tc_status tc_meas_known_of(tc_meas_db *db, tc_map *known, tc_error *err) {
    return tc_meas_db_each(db, &(tc_meas_filter){0}, note, known, err);
}

typedef TC_VEC(tc_record) records;

static tc_status parse_line(tc_arena *a, const char *where, const char *line, tc_map *workloads, tc_record *r, tc_error *err) {
    TC_TRY(tc_meas_record_from_json(a, where, line, r, err));
    tc_status s = tc_meas_check_workload(r, workloads, err);
    if (s == TC_OK)
        s = tc_meas_check_bounds(r, err);
    if (s != TC_OK)
        tc_error_prefix(err, "%s: ", where);
    return s;
}

/* Parses the lines of `text` (which it cuts up) into the records that `known` lacks. */
static tc_status parse_lines(tc_arena *a, const char *path, char *text, tc_map *known, records *out, tc_meas_left_out *left,
                             tc_error *err) {
    tc_map workloads = {0};
    tc_status s = TC_OK;
    int line = 1;
    for (char *p = text, *next; p && s == TC_OK; p = next, line++) {
        next = strchr(p, '\n');
        if (next)
            *next++ = 0;
        if (p[strspn(p, " \t\r")] == 0)
            continue;
        tc_record r;
        tc_error why = {0};
        s = parse_line(a, tc_arena_printf(a, "%s:%d", path, line), p, &workloads, &r, &why);
        if (s == TC_OK && tc_meas_known_add(known, &r))
            tc_push(out, r);
        if (tc_meas_is_left_out(s, &why)) {
            tc_meas_leave_out(left, tc_arena_printf(a, "%d", line), &why);
            s = TC_OK;
        }
        if (s != TC_OK)
            tc_fail(err, s, "%s", why.msg);
    }
    tc_map_free(&workloads);
    return s;
}

tc_status tc_meas_import(tc_meas_db *db, const char *path, size_t *added, tc_error *err) {
    char *text;
    tc_map known = {0};
    records new = {0};
    tc_meas_left_out left = {0};
    *added = 0;
    TC_TRY(tc_fs_read_text(path, &text, err));
    tc_arena *a = tc_arena_new();
    tc_status s = tc_meas_known_of(db, &known, err);
    if (s == TC_OK)
        s = parse_lines(a, path, text, &known, &new, &left, err);
    if (s == TC_OK)
        s = tc_meas_db_insert(db, new.data, new.len, err);
    if (s == TC_OK)
        *added = new.len;
    if (s == TC_OK)
        s = tc_meas_tell_left_out(&left, "lines", new.len, "Delete these lines", err);
    tc_strbuf_free(&left.where);
    tc_vec_free(&new);
    tc_map_free(&known);
    tc_arena_free(a);
    free(text);
    return s;
}

/* ---- files into a file ---- */

static tc_status import_one(tc_meas_db *db, const char *path, size_t *added, size_t *known, tc_error *err) {
    *known = 0;
    return tc_meas_import(db, path, added, err);
}

static bool is_database(const char *path) {
    char head[16];
    return tc_fs_read_head(path, head, sizeof head) == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

tc_status tc_meas_take_in(tc_meas_db *db, const char *path, size_t *added, size_t *known, tc_error *err) {
    return (is_database(path) ? tc_meas_db_merge : import_one)(db, path, added, known, err);
}

/* A pipe cannot. */
static bool can_be_read_again(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Some of the file was taken in, and what is beyond a bound was not. */
static bool is_in_part(tc_status s, const tc_error *err, size_t added) {
    return s == TC_BAD_INPUT && err->code == TC_ERROR_BEYOND && added > 0;
}

/* Into a database that nobody keeps: a file that is refused leaves no new one behind. */
static tc_status rehearse(const char *file, tc_error *err) {
    tc_meas_db *db;
    size_t added = 0, known = 0;
    TC_TRY(tc_meas_db_open_memory(&db, err));
    tc_status s = tc_meas_take_in(db, file, &added, &known, err);
    tc_meas_db_close(db);
    return is_in_part(s, err, added) ? TC_OK : s;
}

tc_status tc_meas_take_files(const char *path, const char *const *files, size_t n, tc_meas_taken *fn, void *user, tc_error *err) {
    tc_meas_db *db;
    for (size_t i = 0; i < n; i++)
        if (!tc_fs_exists(files[i]))
            return tc_fail(err, TC_BAD_INPUT, "%s: there is no such file", files[i]);
    if (n && !tc_fs_exists(path) && can_be_read_again(files[0]))
        TC_TRY(rehearse(files[0], err));
    TC_TRY(tc_meas_db_open(path, TC_MEAS_DB_WRITE, &db, err));
    tc_status s = TC_OK, in_part = TC_OK;
    tc_error first = {0};
    for (size_t i = 0; i < n && s == TC_OK; i++) {
        size_t added = 0, known = 0;
        tc_error why = {0};
        s = tc_meas_take_in(db, files[i], &added, &known, &why);
        if (s != TC_OK && in_part == TC_OK)
            first = why;
        if (s == TC_BAD_INPUT && why.code == TC_ERROR_BEYOND)
            in_part = s, s = TC_OK;
        if (s == TC_OK)
            fn(user, files[i], added, known);
    }
    tc_meas_db_close(db);
    s = s == TC_OK ? in_part : s;
    if (s != TC_OK && err)
        *err = first;
    return s;
}
