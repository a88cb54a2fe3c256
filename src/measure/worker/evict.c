/* Putting data out of every cache, for cold timing: the next access comes from memory, whichever core makes it. */
#include <stdlib.h>

#include "measure/worker/worker_int.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>

enum { LINE = 64 };

/* Each line is written back and dropped by all cores, one after the other. */
static void evict_in_order(const char *p, size_t size) {
    for (size_t i = 0; i < size; i += LINE)
        _mm_clflush(p + i);
}

/* The same, many at a time: fifty times as fast. */
__attribute__((target("clflushopt"))) static void evict_at_once(const char *p, size_t size) {
    for (size_t i = 0; i < size; i += LINE)
        _mm_clflushopt((char *)(uintptr_t)p + i);
}

/* Compilers do not ask for this feature under a name that all of them know. */
static bool has_clflushopt(void) {
    enum { LEAF = 7, BIT = 23 };
    unsigned a, b, c, d;
    return __get_cpuid_count(LEAF, 0, &a, &b, &c, &d) && (b >> BIT & 1);
}

void tc_meas_evict(const void *data, size_t size) {
    if (has_clflushopt())
        evict_at_once(data, size);
    else
        evict_in_order(data, size);
    if (size > 0)
        _mm_clflush((const char *)data + size - 1);
    _mm_mfence();
}

#elif defined(__aarch64__)

/* Linux lets programs clean and invalidate lines to the point where all cores and memory agree. */
void tc_meas_evict(const void *data, size_t size) {
    uint64_t type;
    __asm__("mrs %0, ctr_el0" : "=r"(type));
    size_t line = (size_t)4 << (type >> 16 & 15);
    const char *end = (const char *)data + size;
    for (const char *p = (const char *)((uintptr_t)data & ~(uintptr_t)(line - 1)); p < end; p += line)
        __asm__ volatile("dc civac, %0" : : "r"(p) : "memory");
    __asm__ volatile("dsb ish" : : : "memory");
}

#else

/* Without such an instruction other data take the caches' room. */
void tc_meas_evict(const void *data, size_t size) {
    enum { ROOM = 64 << 20, LINE = 64 }; /* more than the last level of what tctune runs on */
    (void)data;
    volatile char *other = size > 0 ? tc_try_calloc(ROOM, 1) : NULL;
    for (size_t i = 0; other && i < ROOM; i += LINE)
        other[i]++;
    free((void *)other);
}

#endif
