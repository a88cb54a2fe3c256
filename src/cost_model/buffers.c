/* Columns of the buffers that a store reads and writes: bytes, lines, strides, reuse. */
#include <math.h>
#include <stdlib.h>

#include "cost_model/row.h"

typedef struct group {
    int buf;
    bool is_read, is_write;
    level_set moved;
    double bytes, unique, lines, unique_lines, stride, vector_stride;
    enum { REUSE_LOOP, REUSE_SERIAL, REUSE_NONE } reuse;
    double reuse_iterations, reuse_bytes, reuse_count;
} group;

static int innermost_moving(const store_site *s, const access *a) {
    for (int l = s->nlevel - 1; l >= 0; l--)
        if (access_stride(a, l) != 0)
            return l;
    return -1;
}

static void add_to_group(const nest *n, const store_site *s, const access *a, bool own, group *g) {
    const tc_buffer *b = a->buffer;
    int width = tc_dtype_bytes(b->dtype), inner = innermost_moving(s, a), vec = facts_vector_level(n, s);
    double elements = nest_times(n, s, own ? nest_all_levels(s) : a->hoist, 1) * a->times * (a->is_read && a->is_write ? 2 : 1);
    double step = inner < 0 ? 0 : access_stride(a, inner) * width;
    if (g->bytes == 0) {
        g->stride = inner < 0 ? 0 : access_stride(a, inner);
        g->vector_stride = vec < 0 ? 0 : access_stride(a, vec);
    }
    g->is_read |= a->is_read;
    g->is_write |= a->is_write;
    g->moved |= a->hoist;
    g->bytes += elements * width;
    g->lines += elements * TC_MIN(1, TC_MAX(step, width) / TC_MAX(n->m->line, 1));
    double size = (double)b->size * width;
    g->unique = TC_MIN(g->unique + access_bytes(n, a, 0), size);
    g->unique_lines = TC_MIN(g->unique_lines + access_lines(n, s, a, 0), ceil(size / TC_MAX(n->m->line, 1)) + 1);
}

/* Reuse by the innermost loop that does not move the address. */
static bool loop_reuse(const nest *n, const store_site *s, group *g) {
    for (int l = s->nlevel - 1; l >= 0; l--) {
        if (g->moved >> l & 1)
            continue;
        g->reuse = REUSE_LOOP;
        g->reuse_iterations = nest_trips(n, s, l + 1, s->nlevel);
        g->reuse_bytes = footprint(n, s, l + 1);
        g->reuse_count = loop_at(n, s, l)->extent;
        return true;
    }
    return false;
}

/* Reuse between statements: the deepest loop shared with another store that touches the buffer. */
static bool serial_reuse(const nest *n, const store_site *s, group *g) {
    int best = -1, touches = 1;
    for (size_t i = 0; i < n->stores.len; i++) {
        const store_site *other = &n->stores.data[i];
        bool touching = false;
        for (int a = 0; a < other->naccess && other != s; a++)
            touching |= access_at(n, other, a)->buf == g->buf;
        if (!touching)
            continue;
        touches++;
        int shared = 0;
        while (shared < s->nlevel && shared < other->nlevel && s->path[shared] == other->path[shared])
            shared++;
        best = TC_MAX(best, shared);
    }
    if (best < 0)
        return false;
    g->reuse = REUSE_SERIAL;
    g->reuse_iterations = nest_trips(n, s, best, s->nlevel);
    g->reuse_bytes = footprint(n, s, best);
    g->reuse_count = touches;
    return true;
}

static int by_bytes(const void *x, const void *y) {
    const group *a = x, *b = y;
    if (a->bytes != b->bytes)
        return a->bytes < b->bytes ? 1 : -1;
    if (a->unique != b->unique)
        return a->unique < b->unique ? 1 : -1;
    return a->buf - b->buf;
}

static void put_group(const group *g, bool local, float *col) {
    double per = g->reuse == REUSE_NONE ? 0.5 : TC_MAX(g->reuse_count, 1); /* Ansor's convention: no reuse doubles */
    col[TC_COST_ACCESS_READ] = g->is_read && !g->is_write;
    col[TC_COST_ACCESS_WRITE] = g->is_write && !g->is_read;
    col[TC_COST_ACCESS_BOTH] = g->is_read && g->is_write;
    col[TC_COST_ACCESS_BYTES] = (float)lg(g->bytes);
    col[TC_COST_ACCESS_UNIQUE_BYTES] = (float)lg(g->unique);
    col[TC_COST_ACCESS_LINES] = (float)lg(g->lines);
    col[TC_COST_ACCESS_UNIQUE_LINES] = (float)lg(g->unique_lines);
    col[TC_COST_ACCESS_REUSE_LOOP] = g->reuse == REUSE_LOOP;
    col[TC_COST_ACCESS_REUSE_SERIAL] = g->reuse == REUSE_SERIAL;
    col[TC_COST_ACCESS_REUSE_NONE] = g->reuse == REUSE_NONE;
    col[TC_COST_ACCESS_REUSE_ITERATIONS] = (float)lg(g->reuse_iterations);
    col[TC_COST_ACCESS_REUSE_BYTES] = (float)lg(g->reuse_bytes);
    col[TC_COST_ACCESS_REUSE_COUNT] = (float)lg(g->reuse_count);
    col[TC_COST_ACCESS_BYTES_PER_REUSE] = (float)lg(g->bytes / per);
    col[TC_COST_ACCESS_UNIQUE_BYTES_PER_REUSE] = (float)lg(g->unique / per);
    col[TC_COST_ACCESS_LINES_PER_REUSE] = (float)lg(g->lines / per);
    col[TC_COST_ACCESS_UNIQUE_LINES_PER_REUSE] = (float)lg(g->unique_lines / per);
    col[TC_COST_ACCESS_STRIDE] = (float)lg(g->stride);
    col[TC_COST_ACCESS_VECTOR_STRIDE] = (float)lg(g->vector_stride);
    col[TC_COST_ACCESS_LOCAL] = local;
}

/* A store with more buffers than this (inlined concatenations) is described by the first ones it reads. */
enum { MAX_GROUPS = 32 };

void put_buffers(const nest *n, const store_site *s, float *row) {
    group g[MAX_GROUPS];
    int ng = 0;
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        int k = 0;
        while (k < ng && g[k].buf != a->buf)
            k++;
        if (k == MAX_GROUPS)
            continue;
        if (k == ng)
            g[ng++] = (group){.buf = a->buf, .reuse = REUSE_NONE};
        add_to_group(n, s, a, i == 0, &g[k]);
    }
    qsort(g, (size_t)ng, sizeof *g, by_bytes);
    for (int k = 0; k < ng && k < TC_COST_NBUFFER; k++) {
        if (!loop_reuse(n, s, &g[k]))
            serial_reuse(n, s, &g[k]);
        put_group(&g[k], n->bufs.data[g[k].buf].buffer->local, &row[TC_COST_NSCALAR + k * TC_COST_NACCESS]);
    }
}
