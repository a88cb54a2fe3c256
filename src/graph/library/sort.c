/* Library kernels that order elements. Every element becomes a 64-bit key with the same order, so one comparison serves all types.
 * Equal keys are ordered by position, so every result is unique. */
#include <string.h>

#include "graph/library/kernels.h"

enum { BLOCK = 256, INSERTION = 16 };

/* ---- keys ---- */

static uint64_t load_bits(const void *x, int64_t bytes, int64_t i) {
    switch (bytes) {
    case 1:
        return ((const uint8_t *)x)[i];
    case 2:
        return ((const uint16_t *)x)[i];
    case 4:
        return ((const uint32_t *)x)[i];
    default:
        return ((const uint64_t *)x)[i];
    }
}

/* Magnitude of infinity: what is above is NaN. */
static uint64_t infinity(int64_t kind, int64_t bytes) {
    if (bytes == 2)
        return kind == TC_LIB_BFLOAT ? 0x7f80 : 0x7c00;
    return bytes == 4 ? 0x7f800000 : 0x7ff0000000000000;
}

static uint64_t float_key(uint64_t u, uint64_t sign, uint64_t inf) {
    uint64_t magnitude = u & (sign - 1);
    if (magnitude > inf)
        return UINT64_MAX;
    if (magnitude == 0)
        return sign;
    return u & sign ? sign - magnitude : sign + magnitude;
}

TC_LIB_KERNEL void tc_lib_keys(const void *x, int64_t kind, int64_t bytes, int64_t start, int64_t stride, int64_t n,
                               uint64_t *keys) {
    uint64_t sign = (uint64_t)1 << (8 * bytes - 1), inf = infinity(kind, bytes);
    for (int64_t i = 0; i < n; i++)
        keys[i] = load_bits(x, bytes, start + i * stride);
    if (kind == TC_LIB_SIGNED)
        for (int64_t i = 0; i < n; i++)
            keys[i] ^= sign;
    else if (kind != TC_LIB_UNSIGNED)
        for (int64_t i = 0; i < n; i++)
            keys[i] = float_key(keys[i], sign, inf);
}

/* ---- sorting ---- */

static void insertion_sort(tc_lib_pair *a, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        tc_lib_pair x = a[i];
        int64_t j = i;
        for (; j > 0 && a[j - 1].key > x.key; j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

static void merge(const tc_lib_pair *a, int64_t na, const tc_lib_pair *b, int64_t nb, tc_lib_pair *to) {
    int64_t i = 0, j = 0;
    while (i < na && j < nb)
        *to++ = b[j].key < a[i].key ? b[j++] : a[i++];
    memcpy(to, a + i, (size_t)(na - i) * sizeof *a);
    memcpy(to + (na - i), b + j, (size_t)(nb - j) * sizeof *b);
}

TC_LIB_KERNEL tc_lib_pair *tc_lib_sort_pairs(tc_lib_pair *a, tc_lib_pair *b, int64_t n) {
    for (int64_t i = 0; i < n; i += INSERTION)
        insertion_sort(a + i, tc_lib_min(INSERTION, n - i));
    for (int64_t run = INSERTION; run < n; run *= 2) {
        for (int64_t i = 0; i < n; i += 2 * run) {
            int64_t na = tc_lib_min(run, n - i), nb = tc_lib_min(run, n - i - na);
            merge(a + i, na, a + i + na, nb, b + i);
        }
        tc_lib_pair *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* ---- TopK of x along an axis: sorted values, and indices i64. Attributes: axis, k, largest. ---- */

typedef struct top_k {
    const tc_lib_type *type;
    tc_lib_rows rows;
    int64_t k, largest;
    const void *x;
    void *values;
    int64_t *indices;
    uint8_t *workspace;
    int64_t per_thread;
} top_k;

/* A heap of k pairs, the last one on top: cheaper than sorting where few of many are asked for. */
static int uses_heap(int64_t n, int64_t k) {
    return k <= n / 8;
}

static int after(tc_lib_pair a, tc_lib_pair b) {
    return a.key != b.key ? a.key > b.key : a.index > b.index;
}

static void sift_down(tc_lib_pair *h, int64_t n, int64_t i) {
    tc_lib_pair x = h[i];
    for (int64_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && after(h[c + 1], h[c]);
        if (!after(h[c], x))
            break;
        h[i] = h[c];
    }
    h[i] = x;
}

static void row_keys(const top_k *t, int64_t start, int64_t from, int64_t n, uint64_t *keys) {
    int64_t inner = t->rows.inner;
    tc_lib_keys(t->x, t->type->kind, t->type->bytes, start + from * inner, inner, n, keys);
    for (int64_t i = 0; i < n && t->largest; i++)
        keys[i] = ~keys[i];
}

static tc_lib_pair *best_by_heap(const top_k *t, int64_t start, tc_lib_pair *h) {
    int64_t n = t->rows.n, k = t->k;
    uint64_t keys[BLOCK];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t len = tc_lib_min(BLOCK, n - from);
        row_keys(t, start, from, len, keys);
        for (int64_t i = 0; i < len; i++) {
            tc_lib_pair x = {keys[i], from + i};
            if (x.index < k) {
                h[x.index] = x;
                for (int64_t j = x.index == k - 1 ? k / 2 : 0; j-- > 0;)
                    sift_down(h, k, j);
            } else if (x.key < h[0].key) {
                h[0] = x;
                sift_down(h, k, 0);
            }
        }
    }
    for (int64_t m = k - 1; m > 0; m--) {
        tc_lib_pair last = h[0];
        h[0] = h[m];
        h[m] = last;
        sift_down(h, m, 0);
    }
    return h;
}

static tc_lib_pair *best_by_sort(const top_k *t, int64_t start, tc_lib_pair *a) {
    int64_t n = t->rows.n;
    uint64_t keys[BLOCK];
    for (int64_t from = 0; from < n; from += BLOCK) {
        int64_t len = tc_lib_min(BLOCK, n - from);
        row_keys(t, start, from, len, keys);
        for (int64_t i = 0; i < len; i++)
            a[from + i] = (tc_lib_pair){keys[i], from + i};
    }
    return tc_lib_sort_pairs(a, a + n, n);
}

static void top_k_rows(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const top_k *t = closure;
    int64_t n = t->rows.n, inner = t->rows.inner, k = t->k, bytes = t->type->bytes;
    tc_lib_pair *room = (tc_lib_pair *)(void *)(t->workspace + thread * t->per_thread);
    for (int64_t row = begin; row < end; row++) {
        int64_t from = row / inner * n * inner + row % inner, to = row / inner * k * inner + row % inner;
        const tc_lib_pair *best = uses_heap(n, k) ? best_by_heap(t, from, room) : best_by_sort(t, from, room);
        for (int64_t r = 0; r < k; r++) {
            int64_t at = to + r * inner, source = from + best[r].index * inner;
            memcpy((uint8_t *)t->values + at * bytes, (const uint8_t *)t->x + source * bytes, (size_t)bytes);
            t->indices[at] = best[r].index;
        }
    }
}

static top_k top_k_of(const tc_lib_params *p) {
    top_k t = {.type = p->type, .rows = tc_lib_rows_of(p->type, p->attr[0]), .k = p->attr[1], .largest = p->attr[2]};
    int64_t pairs = uses_heap(t.rows.n, t.k) ? t.k : 2 * t.rows.n;
    t.per_thread = tc_lib_aligned(pairs * (int64_t)sizeof(tc_lib_pair));
    return t;
}

TC_LIB_KERNEL int64_t tc_lib_top_k_workspace(const tc_lib_params *p, int32_t nthreads) {
    return nthreads * top_k_of(p).per_thread;
}

TC_LIB_KERNEL int32_t tc_lib_top_k(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    top_k t = top_k_of(args[0]);
    t.x = args[1];
    t.values = args[2];
    t.indices = args[3];
    t.workspace = workspace;
    return tc_lib_parallel(rt, t.rows.outer * t.rows.inner, top_k_rows, &t);
}

/* ---- Unique slices of x along an axis ----
 * Inputs: x, and how many of the slices count, from the first on. Outputs, i64: where each unique slice first occurs, which unique
 * slice each slice is, how often each occurs, and how many there are; zeros behind. Attributes: axis, sorted. */

typedef struct slices {
    const uint64_t *keys; /* [n, width] */
    int64_t width;
} slices;

static int compare(const slices *s, int64_t a, int64_t b) {
    const uint64_t *x = s->keys + a * s->width, *y = s->keys + b * s->width;
    for (int64_t i = 0; i < s->width; i++)
        if (x[i] != y[i])
            return x[i] < y[i] ? -1 : 1;
    return 0;
}

/* Stable; the result is in a or b. */
static int64_t *sort_slices(const slices *s, int64_t *a, int64_t *b, int64_t n) {
    for (int64_t run = 1; run < n; run *= 2) {
        for (int64_t from = 0; from < n; from += 2 * run) {
            int64_t mid = from + tc_lib_min(run, n - from), end = mid + tc_lib_min(run, n - mid), i = from, j = mid;
            for (int64_t to = from; to < end; to++)
                b[to] = j >= end || (i < mid && compare(s, a[i], a[j]) <= 0) ? a[i++] : a[j++];
        }
        int64_t *t = a;
        a = b;
        b = t;
    }
    return a;
}

/* Groups in the order of their first members instead of that of their values. `place` has room for every group. */
static void by_first_member(int64_t n, int64_t groups, int64_t *first, int64_t *inverse, int64_t *counts, int64_t *place) {
    int64_t next = 0;
    for (int64_t g = 0; g < groups; g++) {
        counts[g] = 0;
        place[g] = -1;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t g = inverse[i];
        if (place[g] < 0) {
            first[next] = i;
            place[g] = next++;
        }
        inverse[i] = place[g];
        counts[place[g]]++;
    }
}

TC_LIB_KERNEL int64_t tc_lib_unique_workspace(const tc_lib_params *p, int32_t nthreads) {
    tc_lib_rows r = tc_lib_rows_of(p->type, p->attr[0]);
    (void)nthreads;
    return tc_lib_aligned(r.n * (r.outer * r.inner + 2) * 8);
}

TC_LIB_KERNEL int32_t tc_lib_unique(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    (void)rt;
    const tc_lib_params *p = args[0];
    const tc_lib_rows r = tc_lib_rows_of(p->type, p->attr[0]);
    const int64_t all = r.n, inner = r.inner, width = r.outer * inner;
    const int64_t n = *(const int64_t *)args[2] < all ? *(const int64_t *)args[2] : all;
    int64_t *first = args[3], *inverse = args[4], *counts = args[5], groups = 0;
    uint64_t *keys = (uint64_t *)(void *)workspace;
    int64_t *a = (int64_t *)(void *)(keys + all * width), *b = a + all;
    for (int64_t i = 0; i < n; i++) {
        a[i] = i;
        for (int64_t o = 0; o < r.outer; o++)
            tc_lib_keys(args[1], p->type->kind, p->type->bytes, (o * all + i) * inner, 1, inner, keys + i * width + o * inner);
    }
    memset(first, 0, (size_t)all * 8);
    memset(inverse, 0, (size_t)all * 8);
    memset(counts, 0, (size_t)all * 8);
    slices s = {keys, width};
    const int64_t *order = sort_slices(&s, a, b, n);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || compare(&s, order[i - 1], order[i]) != 0)
            first[groups++] = order[i];
        inverse[order[i]] = groups - 1;
        counts[groups - 1]++;
    }
    if (!p->attr[1])
        by_first_member(n, groups, first, inverse, counts, order == a ? b : a);
    *(int64_t *)args[6] = groups;
    return 0;
}
