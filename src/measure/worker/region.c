/* Memory with a guard page behind it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/worker/worker_int.h"
#include "tctune/runtime.h"

/* Large buffers lie on large pages, as those of built models do. */
enum { HUGE_PAGE = 2 << 20 };

static size_t up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

tc_status tc_meas_region_new(size_t size, tc_meas_region *out, tc_error *err) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), rounded = up(size, TC_RT_ALIGN);
    bool large = rounded >= HUGE_PAGE / 4;
    size_t unit = large ? HUGE_PAGE : page, body = up(rounded, unit);
    *out = (tc_meas_region){.size = size, .map_size = body + page + (large ? HUGE_PAGE : 0)};
    out->map = mmap(NULL, out->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->map == MAP_FAILED) {
        *out = (tc_meas_region){0};
        return tc_fail(err, TC_ENV, "out of memory: %zu bytes for a buffer: %s", size, strerror(errno));
    }
    char *base = (char *)out->map + (up((uintptr_t)out->map, unit) - (uintptr_t)out->map);
    if (large)
        madvise(base, body, MADV_HUGEPAGE); /* a wish: failing changes nothing */
    mprotect(base + body, page, PROT_NONE);
    out->data = base + (body - rounded);
    return TC_OK;
}

void tc_meas_region_protect(const tc_meas_region *r) {
    size_t before = (size_t)((char *)r->data - (char *)r->map);
    mprotect(r->map, before + up(r->size, TC_RT_ALIGN), PROT_READ);
}

void tc_meas_region_free(tc_meas_region *r) {
    if (r->map)
        munmap(r->map, r->map_size);
    *r = (tc_meas_region){0};
}
