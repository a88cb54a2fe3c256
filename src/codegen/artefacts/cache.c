/* See cache.h. Files are named KEY.o and hold "tctune object 4\n", the seal of what follows under its key, a newline, the stack
 * that the object takes, as 8 bytes, and the object. The seal belongs to this user on this machine: files of others are not read,
 * even if they are in the folder. */
#include "codegen/artefacts/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/code/code.h"
#include "support/log.h"
#include "support/system/fs.h"
#include "support/system/identity.h"
#include "support/system/user_folder.h"
#include "support/vec.h"
#include "tir_lower/text/text.h"

static const char MAGIC[] = "tctune object 4\n";
enum { HEX = sizeof((tc_seal *)0)->hex - 1, HEADER = sizeof MAGIC - 1 + HEX + 1, STALE_SECONDS = 3600 };
static const char SYMBOL[] = "tctune_kernel"; /* of objects as they are kept */
static const int64_t DEFAULT_BYTES = (int64_t)512 << 20;

struct tc_cg_cache {
    int dir; /* the open folder */
    int64_t max_bytes;
    tc_digest build;
    tc_seal own; /* the key of its seals */
    pthread_mutex_t lock;
    int64_t hits, misses, added; /* added: bytes since the folder was last looked through */
};

/* ---- opening ---- */

tc_cg_cache *tc_cg_cache_open_at(const char *dir, int64_t max_bytes) {
    tc_digest build;
    tc_seal own;
    tc_error why = {0};
    int fd = tc_build_identity(&build) ? tc_user_folder_open(dir, &why) : -1;
    if (why.status != TC_OK)
        tc_log(TC_LOG_INFO, "%s", why.msg);
    if (fd < 0)
        return NULL;
    if (!tc_host_seal(MAGIC, sizeof MAGIC - 1, &own)) {
        close(fd);
        return NULL;
    }
    tc_cg_cache *c = tc_xcalloc(1, sizeof *c);
    c->dir = fd;
    c->max_bytes = max_bytes;
    c->build = build;
    c->own = own;
    pthread_mutex_init(&c->lock, NULL);
    return c;
}

tc_cg_cache *tc_cg_cache_open(void) {
    return tc_cg_cache_open_at(NULL, DEFAULT_BYTES);
}

void tc_cg_cache_counts(const tc_cg_cache *c, int64_t *hits, int64_t *misses) {
    *hits = c ? c->hits : 0;
    *misses = c ? c->misses : 0;
}

/* ---- eviction ---- */

typedef struct entry {
    char name[HEX + sizeof ".o"];
    int64_t bytes;
    struct timespec used;
} entry;
typedef TC_VEC(entry) entries;

static int older_first(const void *a, const void *b) {
    const entry *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec)
        return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec)
        return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

/* Objects go to `out`; temporary files that a killed process left are removed. Files that are not ours are let be. */
static int64_t list_objects(const tc_cg_cache *c, entries *out) {
    int64_t total = 0;
    int fd = openat(c->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !d)
        close(fd);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        bool object = ends_with(e->d_name, ".o") && strlen(e->d_name) == HEX + 2;
        bool left = !strncmp(e->d_name, "new-", 4);
        if ((!object && !left) || fstatat(c->dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
            continue;
        if (left && time(NULL) - st.st_mtime > STALE_SECONDS)
            unlinkat(c->dir, e->d_name, 0);
        if (!object)
            continue;
        entry x = {.bytes = st.st_size, .used = st.st_mtim};
        memcpy(x.name, e->d_name, sizeof x.name);
        tc_push(out, x);
        total += x.bytes;
    }
    if (d)
        closedir(d);
    return total;
}

/* Least recently used first, down to seven eighths of the bound. */
static void evict(const tc_cg_cache *c) {
    entries all = {0};
    int64_t total = list_objects(c, &all);
    bool over = total > c->max_bytes;
    if (over)
        qsort(all.data, all.len, sizeof *all.data, older_first);
    for (size_t i = 0; over && i < all.len; i++)
        if (total > c->max_bytes / 8 * 7 && unlinkat(c->dir, all.data[i].name, 0) == 0)
            total -= all.data[i].bytes;
    tc_vec_free(&all);
}

/* The file `.stored` counts what all processes stored since one of them looked through the folder, which takes a second when it
 * holds 50 000 objects. Adds to it; true, and back to 0, when a sixteenth of the bound has come together, or nobody knows. */
static bool is_due(const tc_cg_cache *c, int64_t bytes) {
    char text[32] = {0};
    int f = openat(c->dir, ".stored", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (f < 0 || flock(f, LOCK_EX) != 0) {
        if (f >= 0)
            close(f);
        return true;
    }
    bool known = read(f, text, sizeof text - 1) > 0;
    int64_t sum = strtoll(text, NULL, 10) + bytes;
    bool due = !known || sum < 0 || sum > c->max_bytes / 16;
    int n = snprintf(text, sizeof text, "%-20lld\n", due ? 0LL : (long long)sum);
    due |= pwrite(f, text, (size_t)n, 0) != n;
    close(f);
    return due;
}

void tc_cg_cache_close(tc_cg_cache *c) {
    if (!c)
        return;
    if (c->added && is_due(c, c->added))
        evict(c);
    pthread_mutex_destroy(&c->lock);
    close(c->dir);
    free(c);
}

/* ---- reading and writing ---- */

/* The program's own name is in no object. */
static tc_seal key_of(const tc_cg_cache *c, const tc_target *t, const tc_func *f) {
    tc_func nameless = *f;
    tc_strbuf b = {0};
    nameless.name = SYMBOL;
    tc_sb_printf(&b, "%s\n%s\n%d %d %d\n", c->build.hex, t->text, t->machine.vector_regs, t->machine.masks, t->machine.fma);
    tc_tir_print(&b, &nameless);
    tc_seal key = tc_seal_of(NULL, 0, b.data, b.len);
    tc_strbuf_free(&b);
    return key;
}

/* Of an object as what its key stands for: it is of no use under another one. */
static tc_seal seal_of(const tc_cg_cache *c, const tc_seal *key, const void *obj, size_t size) {
    tc_seal s = tc_seal_of(key->hex, HEX, obj, size);
    return tc_seal_of(c->own.hex, HEX, s.hex, HEX);
}

static bool read_all(int fd, char *data, size_t size) {
    while (size) {
        ssize_t n = read(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* The object in an open file that is as long as st says, if it is what the key stands for; else NULL. */
static void *read_object(const tc_cg_cache *c, int fd, const struct stat *st, const tc_seal *key, size_t *size) {
    char head[HEADER];
    *size = (size_t)st->st_size - HEADER;
    char *obj = malloc(*size + 1);
    bool ok = obj && read_all(fd, head, HEADER) && !memcmp(head, MAGIC, sizeof MAGIC - 1) && read_all(fd, obj, *size);
    if (ok) {
        tc_seal s = seal_of(c, key, obj, *size);
        ok = !memcmp(head + sizeof MAGIC - 1, s.hex, HEX);
    }
    if (!ok) {
        free(obj);
        return NULL;
    }
    obj[*size] = 0;
    return obj;
}

/* Nothing but a file of ours is read; whatever else has its name goes, where that is possible. */
static bool fetch(const tc_cg_cache *c, const char *name, const tc_seal *key, void **obj, size_t *size) {
    struct stat st;
    int fd = openat(c->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return false;
    bool ours =
        fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && tc_is_ours(&st) && st.st_size >= HEADER + (int)sizeof(int64_t);
    *obj = ours ? read_object(c, fd, &st, key, size) : NULL;
    if (*obj)
        futimens(fd, NULL); /* used just now; on failure it only seems older */
    else
        unlinkat(c->dir, name, 0);
    if (fd >= 0)
        close(fd);
    return *obj;
}

/* Not synced: after a power cut the file's own seal tells whether it is whole. */
static bool store(const tc_cg_cache *c, const char *name, const tc_seal *key, const void *obj, size_t size) {
    tc_seal s = seal_of(c, key, obj, size);
    char head[HEADER + 1], temp[32];
    uint64_t random;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        return false;
    snprintf(head, sizeof head, "%s%s\n", MAGIC, s.hex);
    snprintf(temp, sizeof temp, "new-%016llx", (unsigned long long)random);
    int fd = openat(c->dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && tc_fs_write_all(fd, head, HEADER) && tc_fs_write_all(fd, obj, size);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && renameat(c->dir, temp, c->dir, name) == 0;
    if (fd >= 0 && !ok)
        unlinkat(c->dir, temp, 0);
    return ok;
}

/* Counts; says whether it is time to look through the folder: for each sixteenth of the bound. */
static bool count(tc_cg_cache *c, bool hit, size_t stored) {
    pthread_mutex_lock(&c->lock);
    if (hit)
        c->hits++;
    else
        c->misses++;
    c->added += (int64_t)stored;
    bool look = stored && c->added > c->max_bytes / 16;
    if (look)
        c->added = 0;
    pthread_mutex_unlock(&c->lock);
    return look;
}

static tc_status emit(const tc_target *t, const tc_func *f, void **obj, size_t *size, int64_t *stack, tc_error *err) {
    static const char *const name = SYMBOL;
    return tc_cg_emit_object(t, &f, &name, 1, &(tc_cg_options){.stack = stack}, obj, size, err);
}

/* An object as it is kept: behind the stack that it takes. */
static void *with_stack(const void *obj, size_t size, int64_t stack) {
    char *whole = malloc(size + sizeof stack);
    if (whole) {
        memcpy(whole, &stack, sizeof stack);
        memcpy(whole + sizeof stack, obj, size);
    }
    return whole;
}

static void take_stack(void *obj, size_t *size, int64_t *stack) {
    memcpy(stack, obj, sizeof *stack);
    *size -= sizeof *stack;
    memmove(obj, (char *)obj + sizeof *stack, *size + 1);
}

/* How many bytes of the folder it takes; 0: it is not kept. */
static size_t keep(const tc_cg_cache *c, const char *name, const tc_seal *key, const void *obj, size_t size, int64_t stack) {
    size_t bytes = size + sizeof stack + HEADER;
    void *whole = bytes <= (size_t)c->max_bytes ? with_stack(obj, size, stack) : NULL;
    bool kept = whole && store(c, name, key, whole, size + sizeof stack);
    free(whole);
    return kept ? bytes : 0;
}

static tc_status kept_object(tc_cg_cache *c, const tc_target *t, const tc_func *f, void **obj, size_t *size, int64_t *stack,
                             tc_error *err) {
    tc_seal key = key_of(c, t, f);
    char name[HEX + sizeof ".o"];
    tc_status s = TC_OK;
    snprintf(name, sizeof name, "%s.o", key.hex);
    if (fetch(c, name, &key, obj, size)) {
        take_stack(*obj, size, stack);
        count(c, true, 0);
    } else {
        s = emit(t, f, obj, size, stack, err);
        if (count(c, false, s == TC_OK ? keep(c, name, &key, *obj, *size, *stack) : 0))
            evict(c);
    }
    return s;
}

tc_status tc_cg_cached_object(tc_cg_cache *c, const tc_target *t, const tc_func *f, const char *symbol, void **obj, size_t *size,
                              int64_t *stack, tc_error *err) {
    TC_TRY(c ? kept_object(c, t, f, obj, size, stack, err) : emit(t, f, obj, size, stack, err));
    if (!strcmp(symbol, SYMBOL))
        return TC_OK;
    tc_status s = tc_cg_rename_symbol(obj, size, SYMBOL, symbol, err);
    if (s != TC_OK)
        free(*obj);
    return s;
}
