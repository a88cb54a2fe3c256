/* What control groups allow their processes, in both versions of Linux's control groups. */
#ifndef TC_SUPPORT_SYSTEM_GROUPS_H
#define TC_SUPPORT_SYSTEM_GROUPS_H

#include <stdint.h>

/* A resource that a group limits. */
typedef struct tc_groups_resource {
    const char *controller;       /* "memory" */
    const char *limit, *limit_v1; /* the files with the limit, in versions 2 and 1: "memory.max", "memory.limit_in_bytes" */
    const char *use;              /* the file with what is in use, in lines of a name and a number; NULL: nobody asks */
    const char *const *used, *const *used_v1; /* the names, NULL-terminated, of the lines whose sum is in use */
} tc_groups_resource;

/* The least limit of the groups that this process is in. INT64_MAX: there is none. */
int64_t tc_groups_limit(const tc_groups_resource *r);
/* The least that a group of this process has left of its limit. INT64_MAX: there is no limit. */
int64_t tc_groups_left(const tc_groups_resource *r);
/* The same, where /proc/self/cgroup says `groups` and the groups are mounted at `root`. */
int64_t tc_groups_limit_of(const tc_groups_resource *r, const char *groups, const char *root);
int64_t tc_groups_left_of(const tc_groups_resource *r, const char *groups, const char *root);

#endif
