/* Landlock: files beneath one folder or none, no TCP, no abstract sockets and no signals of processes outside. The kernel says
 * which version of the interface it has; what an older one lacks, the filter of system calls refuses for workers without files.
 * By system calls: there is no library for it, and the kernel's header may be older than the kernel. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "measure/sandbox/sandbox_int.h"
#include "support/vec.h"

/* struct landlock_ruleset_attr of version 6. */
typedef struct ruleset {
    uint64_t files, net, scoped;
} ruleset;

/* What each version knows: bits of the members, and how much of the struct it reads. Later ones know more, and take this. */
static const struct {
    uint64_t files, net, scoped;
    size_t size;
} VERSIONS[] = {
    [1] = {0x1fff, 0, 0, 8},  [2] = {0x3fff, 0, 0, 8}, /* moving a file to another folder */
    [3] = {0x7fff, 0, 0, 8},                           /* truncating */
    [4] = {0x7fff, 3, 0, 16},                          /* binding and connecting TCP */
    [5] = {0xffff, 3, 0, 16},                          /* ioctl of devices */
    [6] = {0xffff, 3, 3, 24},                          /* abstract sockets, signals */
};

enum { TRUNCATE = 1 << 14 /* of version 3 */ };

static const uint64_t OF_FOLDER = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_READ_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE | TRUNCATE;

static bool allow_folder(int rules, const char *folder, uint64_t known) {
    struct landlock_path_beneath_attr at = {.allowed_access = OF_FOLDER & known,
                                            .parent_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
    /* A folder that is not there is no loss: nothing can be kept in it either. */
    bool ok = at.parent_fd < 0 || syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &at, 0) == 0;
    if (at.parent_fd >= 0)
        close(at.parent_fd);
    return ok;
}

static bool restrict_to(const tc_sandbox *s, long version) {
    size_t v = TC_MIN((size_t)version, TC_LEN(VERSIONS) - 1);
    ruleset r = {VERSIONS[v].files, VERSIONS[v].net, VERSIONS[v].scoped};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &r, VERSIONS[v].size, 0);
    if (rules < 0)
        return false;
    bool ok = (!s->folder || allow_folder(rules, s->folder, r.files)) && syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    int error = errno;
    close(rules);
    errno = error;
    return ok;
}

void tc_sandbox_landlock(const tc_sandbox *s, tc_strbuf *lacks) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version >= 1 && restrict_to(s, version))
        return;
    tc_sb_printf(lacks,
                 "Landlock cannot be used (%s): workers that compile can reach the files of this user. Only the filter of system "
                 "calls keeps workers that run kernels from files. ",
                 strerror(errno));
}
