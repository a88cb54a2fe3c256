#include "refuse.h"

#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define SYSTEMS(name) __interceptor_##name
#else
#define SYSTEMS(name) __libc_##name
#endif
void *SYSTEMS(malloc)(size_t n);
void *SYSTEMS(calloc)(size_t n, size_t size);
void *SYSTEMS(realloc)(void *p, size_t n);
void *SYSTEMS(memalign)(size_t align, size_t n);

typedef struct range {
    uintptr_t from, to;
} range;

enum { MOST = 256 };
static range spared[MOST]; /* code whose requests are let be */
static int nspared = -1;   /* -1: they were not looked for yet, and all are */
static atomic_bool on;
static atomic_long requests, refused, first;
static atomic_bool and_all_after;

static int spare(struct dl_phdr_info *info, size_t size, void *user) {
    static const char *const names[] = {"libLLVM", "libstdc++", "libxgboost", "libgomp",
                                        "libomp",  "libasan",   "libubsan",   "ld-linux"};
    (void)size;
    (void)user;
    bool is = false;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        is |= strstr(info->dlpi_name, names[i]) != NULL;
    for (int i = 0; is && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) && nspared < MOST) {
            uintptr_t from = info->dlpi_addr + h->p_vaddr;
            spared[nspared++] = (range){from, from + h->p_memsz};
        }
    }
    return 0;
}

void refuse_begin(long at, bool all) {
    if (nspared < 0) {
        nspared = 0;
        dl_iterate_phdr(spare, NULL);
    }
    atomic_store(&requests, 0);
    atomic_store(&refused, 0);
    atomic_store(&first, at);
    atomic_store(&and_all_after, all);
    atomic_store(&on, true);
}

long refuse_end(void) {
    atomic_store(&on, false);
    return atomic_load(&requests);
}

long refuse_count(void) {
    return atomic_load(&refused);
}

static bool refuses(void *caller) {
    if (!atomic_load_explicit(&on, memory_order_relaxed))
        return false;
    for (int i = 0; i < nspared; i++)
        if ((uintptr_t)caller >= spared[i].from && (uintptr_t)caller < spared[i].to)
            return false;
    long n = atomic_fetch_add(&requests, 1) + 1, at = atomic_load(&first);
    if (at == 0 || !(n == at || (n > at && atomic_load(&and_all_after))))
        return false;
    atomic_fetch_add(&refused, 1);
    errno = ENOMEM;
    return true;
}

#define REFUSES() refuses(__builtin_return_address(0))

void *malloc(size_t n) {
    return REFUSES() ? NULL : SYSTEMS(malloc)(n);
}

void *calloc(size_t n, size_t size) {
    return REFUSES() ? NULL : SYSTEMS(calloc)(n, size);
}

void *realloc(void *p, size_t n) {
    return REFUSES() ? NULL : SYSTEMS(realloc)(p, n);
}

void *aligned_alloc(size_t align, size_t n) {
    return REFUSES() ? NULL : SYSTEMS(memalign)(align, n);
}

/* No power is lost here, and waiting for the disk is most of what a case takes that writes. */
int fsync(int fd) {
    (void)fd;
    return 0;
}

int fdatasync(int fd) {
    return fsync(fd);
}

int posix_memalign(void **out, size_t align, size_t n) {
    void *p = REFUSES() ? NULL : SYSTEMS(memalign)(align, n);
    if (p)
        *out = p;
    return p ? 0 : ENOMEM;
}
