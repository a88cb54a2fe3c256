/* Records of other kernels that a search starts from (tune.h): those that ship with tctune, or of files. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/records/exchange.h"
#include "measure/records/maintain.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "tune/tune.h"

static bool is_database(const char *path) {
    char head[16];
    return tc_fs_read_head(path, head, sizeof head) == sizeof head && memcmp(head, "SQLite format 3", sizeof head) == 0;
}

static tc_status take(tc_meas_db *db, const char *path, tc_error *err) {
    size_t added, known;
    return is_database(path) ? tc_meas_db_merge(db, path, &added, &known, err) : tc_meas_import(db, path, &added, err);
}

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* $TCTUNE_LOGS, else beside the command: where it is installed, or in the tree that it was built in. */
static bool shipped_folder(char out[PATH_MAX]) {
    static const char *const places[] = {"../share/tctune/tuning_logs", "../tuning_logs", "../../tuning_logs",
                                         "../../../tuning_logs"};
    const char *given = getenv("TCTUNE_LOGS");
    char exe[PATH_MAX];
    if (given) {
        snprintf(out, PATH_MAX, "%s", given);
        return is_folder(out);
    }
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[TC_MAX(n, 0)] = 0;
    char *slash = strrchr(exe, '/');
    if (!slash)
        return false;
    *slash = 0;
    for (size_t i = 0; i < TC_LEN(places); i++)
        if (snprintf(out, PATH_MAX, "%s/%s", exe, places[i]) < PATH_MAX && is_folder(out))
            return true;
    return false;
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
