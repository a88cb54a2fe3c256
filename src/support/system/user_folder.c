/* See user_folder.h. */
#include "support/system/user_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/strbuf.h"

/* For nobody else, and for this user also where the umask takes their rights away. Whether it worked shows when files are
 * written. */
static void make_folder(const char *path) {
    if (mkdir(path, 0700) == 0)
        (void)chmod(path, 0700);
}

/* Makes those that are missing. */
static void make_folders(const char *path) {
    char *part = tc_xstrdup(path);
    for (char *p = part + 1; *part && *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        make_folder(part);
        *p = '/';
    }
    make_folder(part);
    free(part);
}

bool tc_is_ours(const struct stat *st) {
    return st->st_uid == geteuid() && !(st->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(const char *path, tc_error *err) {
    struct stat st;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || (fstat(dir, &st) == 0 && tc_is_ours(&st)))
        return dir;
    close(dir);
    tc_fail(err, TC_ENV,
            "the cache folder '%s' is not used: %s could put code there that would run here; make it writable for you alone "
            "(chmod go-w) and empty it, or name another folder with TCTUNE_CACHE",
            path, st.st_uid == geteuid() ? "others" : "its owner");
    return -1;
}

static char *name_of_own(void) {
    const char *own = getenv("TCTUNE_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (own && *own)
        return strcmp(own, "off") ? tc_xstrdup(own) : NULL;
    bool has_xdg = xdg && *xdg == '/';
    if (!has_xdg && (!home || *home != '/'))
        return NULL;
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s%s/tctune", has_xdg ? xdg : home, has_xdg ? "" : "/.cache");
    return b.data;
}

int tc_user_folder_open(const char *path, tc_error *err) {
    char *dir = path ? tc_xstrdup(path) : name_of_own();
    if (dir)
        make_folders(dir);
    int fd = dir ? open_folder(dir, err) : -1;
    free(dir);
    return fd;
}

char *tc_user_folder(void) {
    char *dir = name_of_own();
    int fd = dir ? tc_user_folder_open(dir, NULL) : -1;
    if (fd >= 0) {
        close(fd);
        return dir;
    }
    free(dir);
    return NULL;
}

tc_status tc_user_folder_check(tc_error *err) {
    tc_error why = {0};
    char *dir = name_of_own();
    int fd = dir ? open_folder(dir, &why) : -1;
    if (fd >= 0)
        close(fd);
    free(dir);
    return why.status == TC_OK ? TC_OK : tc_fail(err, why.status, "%s", why.msg);
}
