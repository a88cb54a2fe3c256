/* Caches that grow in place: new rows, dense in the sizes of the run, in a cache, which is written where it lies. They begin at the
 * start, whatever it is, and never end past as many rows as there are of both. The other rows behind the start, or behind the end
 * of the cache's rows, up to there, become zero, unless the cache's rows are the room of a buffer.
 *
 * Inputs: cache, new, the starts i64 (one for each element of the first dimension, or one for all), rows of the cache i64, rows of
 * new i64, sizes i64 of the cache's other dimensions that vary. Output: the cache again. Attributes: axis, the dimension of
 * rows, and past_present_share_buffer. */
#include <string.h>

#include "graph/library/kernels.h"

/* Fewer bytes are not worth waking other threads for. */
enum { GROW_ALONE = 1 << 18, GROW_DIMS = 8 };

/* New rows, dense in the sizes of the run, and the cache that they go into. */
typedef struct grow {
    uint8_t *to;
    const uint8_t *from;
    const int64_t *start;           /* where new rows begin, of each sequence or of all */
    int64_t axis, past, fresh, end; /* which dimension rows are; those of the cache, new ones, all that there are then */
    int64_t keeps;                  /* 1: what is no new row stays as it is */
    int64_t nouter, each;           /* blocks of rows, and how many of them share a start */
    int64_t inner, run, nrun;       /* dimensions from here on are contiguous in both: bytes, and runs of them in a row */
    int64_t count[GROW_DIMS], step[GROW_DIMS]; /* by dimension: elements in the run, bytes in the cache */
} grow;

/* Row by row, each in pieces; from NULL: zeros. */
static void grow_pieces(const grow *x, uint8_t *to, const uint8_t *from, int64_t n) {
    size_t bytes = (size_t)x->run;
    for (int64_t i = 0; i < n * x->nrun; i++) {
        uint8_t *at = to;
        int64_t left = i;
        for (int64_t d = x->inner - 1; d > x->axis; left /= x->count[d--])
            at += left % x->count[d] * x->step[d];
        at += left * x->step[x->axis];
        if (from)
            memcpy(at, from + (size_t)i * bytes, bytes);
        else
            memset(at, 0, bytes);
    }
}

static void grow_rows(const grow *x, uint8_t *to, const uint8_t *from, int64_t n) {
    size_t bytes = (size_t)(n * x->run);
    if (n <= 0)
        return;
    if (x->run < x->step[x->axis])
        grow_pieces(x, to, from, n);
    else if (from)
        memcpy(to, from, bytes);
    else
        memset(to, 0, bytes);
}

/* All rows of a block but those of the cache before its start: new ones from there on, and zeros around them unless these rows stay
 * as they are. */
static void grow_block(const grow *x, uint8_t *to, const uint8_t *from, int64_t start) {
    int64_t step = x->step[x->axis], below = start >= 0 ? 0 : start > -x->fresh ? -start : x->fresh;
    int64_t begin = tc_lib_min(start > 0 ? start : 0, x->end), kept = tc_lib_min(begin, x->past),
            n = tc_lib_min(x->fresh - below, x->end - begin);
    grow_rows(x, to + begin * step, from + below * x->nrun * x->run, n);
    if (x->keeps)
        return;
    grow_rows(x, to + kept * step, NULL, begin - kept);
    grow_rows(x, to + (begin + n) * step, NULL, x->end - begin - n);
}

static void grow_blocks(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const grow *x = closure;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        uint8_t *to = x->to;
        int64_t left = i;
        for (int64_t d = x->axis - 1; d >= 0; left /= x->count[d--])
            to += left % x->count[d] * x->step[d];
        grow_block(x, to, x->from + i * x->fresh * x->nrun * x->run, x->start[i / x->each]);
    }
}

TC_LIB_KERNEL int32_t tc_lib_grow(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const tc_lib_params *p = args[0];
    const tc_lib_type *cache = &p->type[0];
    const int64_t ndim = cache->rank, *most = cache->dims;
    grow x = {.to = args[1], .from = args[2], .start = args[3], .axis = p->attr[0], .keeps = p->attr[1], .nouter = 1, .nrun = 1};
    x.past = *(const int64_t *)args[4];
    x.fresh = *(const int64_t *)args[5];
    int64_t step = cache->bytes;
    int size = 6;
    (void)workspace;
    for (int64_t d = 0; d < ndim; d++)
        x.count[d] = d == x.axis ? x.fresh : cache->varies >> d & 1 ? *(const int64_t *)args[size++] : most[d];
    for (int64_t d = ndim - 1; d >= 0; step *= most[d--])
        x.step[d] = step;
    x.end = tc_lib_min(x.past + x.fresh, most[x.axis]);
    for (x.run = cache->bytes, x.inner = ndim; x.inner > x.axis + 1;) {
        x.run *= x.count[--x.inner];
        if (x.count[x.inner] != most[x.inner])
            break;
    }
    for (int64_t d = x.axis + 1; d < x.inner; d++)
        x.nrun *= x.count[d];
    for (int64_t d = 0; d < x.axis; d++)
        x.nouter *= x.count[d];
    x.each = p->type[2].rank && x.nouter ? x.nouter / x.count[0] : x.nouter;
    return tc_lib_parallel(x.nouter * x.fresh * x.nrun * x.run < GROW_ALONE ? NULL : rt, x.nouter, grow_blocks, &x);
}
