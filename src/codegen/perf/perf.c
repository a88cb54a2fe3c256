/* The files that perf reads: its map of symbols, and its dump of generated code, as they are described beside perf's source
 * (jit-interface.txt, jitdump-specification.txt). */
#include "codegen/perf/perf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/log.h"
#include "support/strbuf.h"
#include "support/system/fs.h"

typedef enum kind { NONE, MAP, JITDUMP } kind;

/* One file for each process; a child of fork begins its own. */
typedef struct file {
    pid_t of; /* 0: nobody's */
    int fd;   /* -1: it could not be opened */
    uint64_t told;
} file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static file now;

static kind asked(void) {
    const char *v = getenv("TCTUNE_PERF");
    return !v || !*v || !strcmp(v, "0") ? NONE : !strcmp(v, "jitdump") ? JITDUMP : MAP;
}

bool tc_cg_perf_wanted(void) {
    return asked() != NONE;
}

/* ---- opening ---- */

/* What an earlier process with our number left is ours to write over; a link, or somebody else's file, is not. */
static int take_over(const char *path, int flags) {
    struct stat st;
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1 &&
        fchmod(fd, 0600) == 0 && ftruncate(fd, 0) == 0)
        return fd;
    if (fd >= 0) {
        close(fd);
        errno = EEXIST;
    }
    return -1;
}

static int open_own(const char *path) {
    const int flags = O_RDWR | O_APPEND | O_CLOEXEC;
    int fd = open(path, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
    return fd < 0 && errno == EEXIST ? take_over(path, flags) : fd;
}

static uint64_t nanoseconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

typedef struct dump_head {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
} dump_head;

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_RISCV };
#endif

/* That the process maps the file's first page as code is how perf learns of it. */
static bool begin_dump(const file *f) {
    dump_head h = {.magic = 0x4A695444, .version = 1, .size = sizeof h, .machine = MACHINE, .pid = (uint32_t)f->of};
    h.time = nanoseconds();
    if (!tc_fs_write_all(f->fd, &h, sizeof h))
        return false;
    return mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_EXEC, MAP_PRIVATE, f->fd, 0) != MAP_FAILED;
}

static const char *dump_folder(void) {
    static const char *const names[] = {"JITDUMPDIR", "TMPDIR"};
    for (size_t i = 0; i < TC_LEN(names); i++) {
        const char *v = getenv(names[i]);
        if (v && *v)
            return v;
    }
    return "/tmp";
}

static void open_file(kind k) {
    char path[4096];
    now = (file){.of = getpid()};
    if (k == MAP)
        snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)now.of);
    else
        snprintf(path, sizeof path, "%s/jit-%d.dump", dump_folder(), (int)now.of);
    now.fd = open_own(path);
    if (now.fd >= 0 && k == JITDUMP && !begin_dump(&now)) {
        close(now.fd);
        now.fd = -1;
    }
    if (now.fd < 0)
        tc_log(TC_LOG_WARN, "TCTUNE_PERF: cannot write %s: %s; perf will not know the names of generated code", path,
               tc_fs_reason(errno));
}

/* ---- telling ---- */

static void tell_map(const tc_cg_functions *f, uintptr_t at) {
    tc_strbuf b = {0};
    for (size_t i = 0; i < f->list.len; i++)
        tc_sb_printf(&b, "%llx %llx %s\n", (unsigned long long)(at + (uintptr_t)f->list.data[i].offset),
                     (unsigned long long)f->list.data[i].size, f->list.data[i].name);
    (void)tc_fs_write_all(now.fd, tc_sb_str(&b), b.len); /* a full disk: perf knows less */
    tc_strbuf_free(&b);
}

typedef struct dump_load {
    uint32_t id, size;
    uint64_t time;
    uint32_t pid, tid;
    uint64_t vma, at, bytes, index;
} dump_load;

static void tell_dump(const tc_cg_functions *f, uintptr_t at) {
    tc_strbuf b = {0};
    for (size_t i = 0; i < f->list.len; i++) {
        const tc_cg_function_at *x = &f->list.data[i];
        uintptr_t place = at + (uintptr_t)x->offset;
        size_t name = strlen(x->name) + 1;
        dump_load r = {.size = (uint32_t)(sizeof r + name + x->size),
                       .time = nanoseconds(),
                       .pid = (uint32_t)now.of,
                       .tid = (uint32_t)syscall(SYS_gettid),
                       .vma = place,
                       .at = place,
                       .bytes = x->size,
                       .index = now.told++};
        tc_sb_addn(&b, (const char *)&r, sizeof r);
        tc_sb_addn(&b, x->name, name);
        tc_sb_addn(&b, (const char *)place, x->size);
    }
    (void)tc_fs_write_all(now.fd, tc_sb_str(&b), b.len);
    tc_strbuf_free(&b);
}

void tc_cg_perf_tell(const tc_cg_functions *f, uintptr_t at) {
    kind k = asked();
    pthread_mutex_lock(&lock);
    if (now.of != getpid())
        open_file(k);
    if (now.fd >= 0 && k == MAP)
        tell_map(f, at);
    else if (now.fd >= 0)
        tell_dump(f, at);
    pthread_mutex_unlock(&lock);
}
