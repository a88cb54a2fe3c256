/* See cache.h. Files are named KEY.o and hold "tctune object 1\n", the content's hash, a newline, and the object. */
#include "codegen/artefacts/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/code/code.h"
#include "support/fs.h"
#include "support/hash.h"
#include "support/identity.h"
#include "support/vec.h"

static const char MAGIC[] = "tctune object 1\n";
enum { HEX = 32, HEADER = sizeof MAGIC - 1 + HEX + 1, STALE_SECONDS = 3600 };
static const char SYMBOL[] = "tctune_kernel"; /* of objects as they are kept */
static const int64_t DEFAULT_BYTES = (int64_t)512 << 20;

struct tc_cg_cache {
    char *dir;
    int64_t max_bytes;
    tc_digest build;
    pthread_mutex_t lock;
    int64_t hits, misses, added; /* added: bytes since the folder was last looked through */
};

/* ---- opening ---- */

static void make_folders(char *path) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        mkdir(path, 0777); /* whether it worked shows when files are written */
        *p = '/';
    }
    mkdir(path, 0777);
}

tc_cg_cache *tc_cg_cache_open_at(const char *dir, int64_t max_bytes) {
    tc_digest build;
    if (!tc_build_identity(&build))
        return NULL;
    tc_cg_cache *c = tc_xcalloc(1, sizeof *c);
    c->dir = tc_xstrdup(dir);
    c->max_bytes = max_bytes;
    c->build = build;
    pthread_mutex_init(&c->lock, NULL);
    make_folders(c->dir);
    return c;
}

static char *folder_name(void) {
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

char *tc_cg_cache_folder(void) {
    char *dir = folder_name();
    if (dir)
        make_folders(dir);
    return dir;
}

tc_cg_cache *tc_cg_cache_open(void) {
    char *dir = folder_name();
    tc_cg_cache *c = dir ? tc_cg_cache_open_at(dir, DEFAULT_BYTES) : NULL;
    free(dir);
    return c;
}

void tc_cg_cache_counts(const tc_cg_cache *c, int64_t *hits, int64_t *misses) {
    *hits = c ? c->hits : 0;
    *misses = c ? c->misses : 0;
}

/* ---- eviction ---- */

typedef struct entry {
    char *path;
    int64_t bytes;
    struct timespec used;
} entry;
typedef TC_VEC(entry) entries;

static int older_first(const void *a, const void *b) {
    const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n > m && !strcmp(s + n - m, end);
}

/* Objects go to `out`; temporary files that a killed process left are removed. Files that are not ours are let be. */
static int64_t list_objects(const tc_cg_cache *c, entries *out) {
    int64_t total = 0;
    DIR *d = opendir(c->dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        char path[4352];
        struct stat st;
        bool object = ends_with(e->d_name, ".o") && strlen(e->d_name) == HEX + 2;
        bool left = !strncmp(e->d_name, "new-", 4);
        if ((!object && !left) || snprintf(path, sizeof path, "%s/%s", c->dir, e->d_name) >= (int)sizeof path ||
            stat(path, &st) || !S_ISREG(st.st_mode))
            continue;
        if (left && time(NULL) - st.st_mtime > STALE_SECONDS)
            unlink(path);
        if (!object)
            continue;
        entry x = {tc_xstrdup(path), st.st_size, st.st_mtim};
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
    for (size_t i = 0; i < all.len; i++) {
        if (over && total > c->max_bytes / 8 * 7 && unlink(all.data[i].path) == 0)
            total -= all.data[i].bytes;
        free(all.data[i].path);
    }
    tc_vec_free(&all);
}

/* The file `.stored` counts what all processes stored since one of them looked through the folder, which takes a second when it
 * holds 50 000 objects. Adds to it; true, and back to 0, when a sixteenth of the bound has come together, or nobody knows. */
static bool is_due(const tc_cg_cache *c, int64_t bytes) {
    char path[4352], text[32] = {0};
    if (snprintf(path, sizeof path, "%s/.stored", c->dir) >= (int)sizeof path)
        return true;
    int f = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
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
    free(c->dir);
    free(c);
}

/* ---- reading and writing ---- */

/* The program's own name is in no object. */
static tc_digest key_of(const tc_cg_cache *c, const tc_target *t, const tc_func *f) {
    tc_func nameless = *f;
    tc_strbuf b = {0};
    nameless.name = SYMBOL;
    tc_sb_printf(&b, "%s\n%s\n%d %d %d\n", c->build.hex, t->text, t->machine.vector_regs, t->machine.masks, t->machine.fma);
    tc_tir_print(&b, &nameless);
    tc_digest key = tc_digest_of(b.data, b.len);
    tc_strbuf_free(&b);
    return key;
}

static char *path_of(const tc_cg_cache *c, const tc_digest *key) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "%s/%s.o", c->dir, key->hex);
    return b.data;
}

static bool sound(const char *data, size_t size) {
    if (size < HEADER || memcmp(data, MAGIC, sizeof MAGIC - 1))
        return false;
    tc_digest d = tc_digest_of(data + HEADER, size - HEADER);
    return !memcmp(data + sizeof MAGIC - 1, d.hex, HEX);
}

static bool fetch(const char *path, void **obj, size_t *size) {
    char *data;
    size_t n;
    tc_error err;
    if (!tc_fs_exists(path) || tc_fs_read(path, &data, &n, &err) != TC_OK)
        return false;
    bool ok = sound(data, n);
    if (ok) {
        *size = n - HEADER;
        *obj = tc_xmalloc(*size + 1);
        memcpy(*obj, data + HEADER, *size);
        ((char *)*obj)[*size] = 0;
        utimensat(AT_FDCWD, path, NULL, 0); /* used just now; on failure it only seems older */
    } else {
        unlink(path);
    }
    free(data);
    return ok;
}

static bool write_all(int fd, const char *data, size_t size) {
    while (size) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* Not synced: after a power cut the file's own hash tells whether it is whole. */
static bool store(const tc_cg_cache *c, const char *path, const void *obj, size_t size) {
    tc_digest d = tc_digest_of(obj, size);
    tc_strbuf head = {0}, temp = {0};
    tc_sb_printf(&head, "%s%s\n", MAGIC, d.hex);
    tc_sb_printf(&temp, "%s/new-XXXXXX", c->dir);
    int fd = mkostemp(temp.data, O_CLOEXEC);
    bool ok = fd >= 0 && write_all(fd, head.data, head.len) && write_all(fd, obj, size);
    if (fd >= 0)
        ok = close(fd) == 0 && ok;
    ok = ok && rename(temp.data, path) == 0;
    if (fd >= 0 && !ok)
        unlink(temp.data);
    tc_strbuf_free(&head);
    tc_strbuf_free(&temp);
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

static tc_status emit(const tc_target *t, const tc_func *f, void **obj, size_t *size, tc_error *err) {
    static const char *const name = SYMBOL;
    return tc_cg_emit_object(t, &f, &name, 1, NULL, obj, size, err);
}

static tc_status kept_object(tc_cg_cache *c, const tc_target *t, const tc_func *f, void **obj, size_t *size, tc_error *err) {
    tc_digest key = key_of(c, t, f);
    char *path = path_of(c, &key);
    tc_status s = TC_OK;
    if (fetch(path, obj, size)) {
        count(c, true, 0);
    } else {
        s = emit(t, f, obj, size, err);
        bool kept = s == TC_OK && *size + HEADER <= (size_t)c->max_bytes && store(c, path, *obj, *size);
        if (count(c, false, kept ? *size + HEADER : 0))
            evict(c);
    }
    free(path);
    return s;
}

tc_status tc_cg_cached_object(tc_cg_cache *c, const tc_target *t, const tc_func *f, const char *symbol, void **obj, size_t *size,
                              tc_error *err) {
    TC_TRY(c ? kept_object(c, t, f, obj, size, err) : emit(t, f, obj, size, err));
    if (!strcmp(symbol, SYMBOL))
        return TC_OK;
    tc_status s = tc_cg_rename_symbol(obj, size, SYMBOL, symbol, err);
    if (s != TC_OK)
        free(*obj);
    return s;
}
