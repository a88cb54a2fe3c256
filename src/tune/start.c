/* Records of other kernels that a search starts from (tune.h): those that ship with tctune, or of files. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/place.h"
#include "support/vec.h"
#include "tune/tune.h"

static tc_status take(tc_meas_db *db, const char *path, tc_error *err) {
    size_t added, known;
    return tc_meas_take_in(db, path, &added, &known, err);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* $TCTUNE_LOGS, else beside the command or the library: where it is installed, or in the tree that it was built in. */
static bool shipped_folder(char out[PATH_MAX]) {
    static const char *const places[] = {"../share/tctune/tuning_logs", "../../share/tctune/tuning_logs", "../tuning_logs",
                                         "../../tuning_logs", "../../../tuning_logs"};
    const char *given = getenv("TCTUNE_LOGS");
    if (!given)
        return tc_place_find(places, TC_LEN(places), out) && is_folder(out);
    snprintf(out, PATH_MAX, "%s", given);
    return is_folder(out);
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* What ships is an aid: a file that cannot be read is said and passed over. */
static void take_shipped(tc_meas_db *db) {
    char folder[PATH_MAX];
    tc_arena *a = tc_arena_new();
    TC_VEC(const char *) files = {0};
    DIR *d = shipped_folder(folder) ? opendir(folder) : NULL;
    for (struct dirent *e; d && (e = readdir(d));) {
        size_t n = strlen(e->d_name);
        if (n > 6 && strcmp(e->d_name + n - 6, ".jsonl") == 0)
            tc_push(&files, tc_arena_printf(a, "%s/%s", folder, e->d_name));
    }
    if (d)
        closedir(d);
    if (files.len)
        qsort(files.data, files.len, sizeof *files.data, by_name);
    for (size_t i = 0; i < files.len; i++) {
        tc_error err = {0};
        if (take(db, files.data[i], &err) != TC_OK)
            tc_log(TC_LOG_WARN, "not used to start from: %s", err.msg);
    }
    tc_vec_free(&files);
    tc_arena_free(a);
}

tc_status tc_tune_start_records(const char *const *files, size_t n, tc_meas_db **out, tc_error *err) {
    TC_TRY(tc_meas_db_open_memory(out, err));
    if (n == 0)
        take_shipped(*out);
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i], "none") != 0)
            TC_TRY(take(*out, files[i], err));
    return TC_OK;
}
