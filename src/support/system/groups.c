/* Limits of control groups: /proc/self/cgroup says which groups this process is in, and each folder below /sys/fs/cgroup holds a
 * group's limits. */
#include "support/system/groups.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/system/fs.h"

/* The beginning of a file, with a NUL; false when it cannot be read, as in a sandbox. */
static bool read_start(const char *path, char *text, size_t cap) {
    size_t n = tc_fs_read_head(path, text, cap - 1);
    text[n] = 0;
    return n > 0;
}

/* The limit in a file. INT64_MAX: there is none. */
static int64_t limit_in(const char *path) {
    char text[64], *end = text;
    int64_t limit = read_start(path, text, sizeof text) ? strtoll(text, &end, 10) : 0;
    return end == text || limit < 0 ? INT64_MAX : limit; /* "max" is no number */
}

/* The sum of the numbers behind such names: "anon 4096\nfile 0\n". */
static int64_t sum_in(const char *path, const char *const *names) {
    char text[8192];
    int64_t sum = 0;
    bool some = read_start(path, text, sizeof text);
    for (const char *line = text; some && line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        for (const char *const *name = names; *name; name++)
            if (strncmp(line, *name, strlen(*name)) == 0 && line[strlen(*name)] == ' ')
                sum += strtoll(line + strlen(*name), NULL, 10);
    return sum > 0 ? sum : 0;
}

/* What is asked of the groups of a version. */
typedef struct question {
    const char *limit;
    const char *use; /* NULL: the limit alone */
    const char *const *used;
} question;

/* The least limit, or rest of it, of a group and of those around it; `own` is the group's path, up to the end of the line. */
static int64_t least_limit(const char *folder, const char *own, const question *q) {
    char path[4608];
    int64_t least = INT64_MAX;
    for (size_t n = strcspn(own, "\n");; n--) { /* "/a/b", "/a", "" */
        snprintf(path, sizeof path, "%s%.*s/%s", folder, (int)n, own, q->limit);
        int64_t limit = limit_in(path);
        if (limit < INT64_MAX && q->use) {
            snprintf(path, sizeof path, "%s%.*s/%s", folder, (int)n, own, q->use);
            int64_t used = sum_in(path, q->used);
            limit = used < limit ? limit - used : 0;
        }
        least = limit < least ? limit : least;
        while (n > 0 && own[n - 1] != '/')
            n--;
        if (n == 0)
            return least;
    }
}

/* "4:cpu,memory:/a/b": whether a controller of version 1 is among those of a line; `path` is where the path begins. */
static bool controls(const char *line, const char *path, const char *controller) {
    size_t n = strlen(controller);
    for (const char *at = strstr(line, controller); at && at < path; at = strstr(at + 1, controller))
        if (at > line && (at[-1] == ':' || at[-1] == ',') && (at[n] == ':' || at[n] == ','))
            return true;
    return false;
}

static int64_t ask(const tc_groups_resource *r, bool left, const char *groups, const char *root) {
    const question v2 = {r->limit, left ? r->use : NULL, r->used}, v1 = {r->limit_v1, left ? r->use : NULL, r->used_v1};
    char folder[4096];
    int64_t least = INT64_MAX, limit;
    snprintf(folder, sizeof folder, "%s/%s", root, r->controller);
    for (const char *line = groups; line && *line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *path = strchr(line, '/');
        if (!path)
            break;
        limit = !strncmp(line, "0::/", 4)             ? least_limit(root, path, &v2)
                : controls(line, path, r->controller) ? least_limit(folder, path, &v1)
                                                      : INT64_MAX;
        least = limit < least ? limit : least;
    }
    return least;
}

int64_t tc_groups_limit_of(const tc_groups_resource *r, const char *groups, const char *root) {
    return ask(r, false, groups, root);
}

int64_t tc_groups_left_of(const tc_groups_resource *r, const char *groups, const char *root) {
    return ask(r, true, groups, root);
}

static int64_t ask_system(const tc_groups_resource *r, bool left) {
    char groups[4096];
    return read_start("/proc/self/cgroup", groups, sizeof groups) ? ask(r, left, groups, "/sys/fs/cgroup") : INT64_MAX;
}

int64_t tc_groups_limit(const tc_groups_resource *r) {
    return ask_system(r, false);
}

int64_t tc_groups_left(const tc_groups_resource *r) {
    return ask_system(r, true);
}
