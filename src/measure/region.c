/* Memory with a guard page behind it. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "measure/worker_int.h"

tc_status tc_meas_region_new(size_t size, tc_meas_region *out, tc_error *err) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t rounded = (size + TC_RT_ALIGN - 1) / TC_RT_ALIGN * TC_RT_ALIGN;
    size_t body = (rounded + page - 1) / page * page;
    *out = (tc_meas_region){.size = size, .map_size = body + page};
    out->map = mmap(NULL, out->map_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (out->map == MAP_FAILED) {
        *out = (tc_meas_region){0};
        return tc_fail(err, TC_ENV, "out of memory: %zu bytes for a buffer: %s", size, strerror(errno));
    }
    mprotect((char *)out->map + body, page, PROT_NONE);
    out->data = (char *)out->map + (body - rounded);
    return TC_OK;
}

void tc_meas_region_protect(const tc_meas_region *r) {
    mprotect(r->map, r->map_size - (size_t)sysconf(_SC_PAGESIZE), PROT_READ);
}

void tc_meas_region_free(tc_meas_region *r) {
    if (r->map)
        munmap(r->map, r->map_size);
    *r = (tc_meas_region){0};
}
