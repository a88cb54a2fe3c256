/* A folder for databases of each test, and one in it that most of them use. */
#ifndef TC_TESTS_MEASURE_DATABASE_H
#define TC_TESTS_MEASURE_DATABASE_H

#include "sample.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "measure/records/database.h"
#include "support/system/fs.h"

static tc_arena *arena;
static char *dir, *path;

static int setup(void **state) {
    (void)state;
    arena = tc_arena_new();
    assert_int_equal(tc_fs_temp_dir(&dir, NULL), TC_OK);
    path = tc_arena_printf(arena, "%s/t.db", dir);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    chmod(dir, 0700);
    tc_fs_remove_tree(dir);
    free(dir);
    tc_arena_free(arena);
    return 0;
}

static inline tc_meas_db *open_db(const char *file, tc_meas_db_mode mode) {
    tc_meas_db *db;
    tc_error err = {0};
    if (tc_meas_db_open(file, mode, &db, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return db;
}

#endif
