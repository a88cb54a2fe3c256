/* Library kernels whose number of results depends on data. They write a buffer of the largest possible size, padded with zeros, and
 * the number of results. */
#include <string.h>

#include "graph/library/kernels.h"

/* ---- NonZero of x: coordinates i64 [rank, n], zeros behind, and their number ----
 * Each thread counts its part, and then knows where its results begin. */

enum { CHUNKS = 64 };

typedef struct non_zero {
    const tc_lib_type *type;
    int64_t n;
    const uint8_t *x;
    int64_t *to, *counts; /* counts[CHUNKS] */
} non_zero;

static int is_zero(const non_zero *z, int64_t i) {
    int64_t bytes = z->type->bytes;
    const uint8_t *x = z->x + i * bytes;
    for (int64_t b = 0; b < bytes - 1; b++)
        if (x[b])
            return 0;
    uint8_t high = x[bytes - 1]; /* holds the sign, which makes no difference to a floating 0 */
    return (z->type->kind >= TC_LIB_FLOAT ? high & 0x7f : high) == 0;
}

static void count_chunks(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const non_zero *z = closure;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        int64_t n = 0;
        for (int64_t i = z->n * c / CHUNKS; i < z->n * (c + 1) / CHUNKS; i++)
            n += !is_zero(z, i);
        z->counts[c] = n;
    }
}

static void write_chunks(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const non_zero *z = closure;
    int64_t n = z->n;
    (void)thread;
    for (int64_t c = begin; c < end; c++) {
        int64_t at = z->counts[c];
        for (int64_t i = n * c / CHUNKS; i < n * (c + 1) / CHUNKS; i++) {
            if (is_zero(z, i))
                continue;
            int64_t left = i;
            for (int64_t d = z->type->rank - 1; d >= 0; d--) {
                z->to[d * n + at] = left % z->type->dims[d];
                left /= z->type->dims[d];
            }
            at++;
        }
    }
}

TC_LIB_KERNEL int64_t tc_lib_non_zero_workspace(const tc_lib_params *p, int32_t nthreads) {
    (void)p;
    (void)nthreads;
    return CHUNKS * 8;
}

TC_LIB_KERNEL int32_t tc_lib_non_zero(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const tc_lib_params *p = args[0];
    non_zero z = {p->type, tc_lib_count(p->type), args[1], args[2], (int64_t *)(void *)workspace};
    int32_t status = tc_lib_parallel(rt, CHUNKS, count_chunks, &z);
    int64_t sum = 0;
    for (int c = 0; c < CHUNKS; c++) {
        int64_t here = z.counts[c];
        z.counts[c] = sum;
        sum += here;
    }
    if (status == 0)
        status = tc_lib_parallel(rt, CHUNKS, write_chunks, &z);
    for (int64_t d = 0; d < z.type->rank; d++)
        memset(z.to + d * z.n + sum, 0, (size_t)(z.n - sum) * 8);
    *(int64_t *)args[3] = sum;
    return status;
}

/* ---- non-maximum suppression: every class of every image by itself, then put together ----
 * Inputs: boxes f32 [batches, n, 4], scores f32 [batches, classes, n], max_output_boxes_per_class i64, iou_threshold f32,
 * score_threshold f32, batches, classes and boxes in use i64 [3]. Outputs, i64: rows (batch, class, box), zeros behind, and their
 * number. Attributes: center_point_box, most (results of a class). */

typedef struct box {
    float y0, x0, y1, x1, area;
} box;

typedef struct nms {
    int64_t batches, classes, nboxes, center, slots; /* slots: for results of a class */
    const float *boxes, *scores;
    int64_t most;            /* results per class */
    const int64_t *used;     /* batches, classes and boxes in use */
    float iou, score;        /* score: NaN where the model gives no threshold */
    int64_t *found, *counts; /* [batches * classes, slots], [batches * classes] */
    uint8_t *rooms;
    int64_t room;
} nms;

static box box_of(const float *b, int64_t center) {
    box r;
    if (center) {
        r = (box){b[1] - b[3] / 2, b[0] - b[2] / 2, b[1] + b[3] / 2, b[0] + b[2] / 2, 0};
    } else {
        r = (box){b[0] < b[2] ? b[0] : b[2], b[1] < b[3] ? b[1] : b[3], b[0] < b[2] ? b[2] : b[0], b[1] < b[3] ? b[3] : b[1], 0};
    }
    r.area = (r.y1 - r.y0) * (r.x1 - r.x0);
    return r;
}

static int overlap(const box *a, const box *b, float threshold) {
    float y0 = a->y0 > b->y0 ? a->y0 : b->y0, x0 = a->x0 > b->x0 ? a->x0 : b->x0;
    float y1 = a->y1 < b->y1 ? a->y1 : b->y1, x1 = a->x1 < b->x1 ? a->x1 : b->x1;
    if (y1 <= y0 || x1 <= x0 || a->area <= 0 || b->area <= 0)
        return 0;
    float both = (y1 - y0) * (x1 - x0), either = a->area + b->area - both;
    return either > 0 && both / either > threshold;
}

/* Candidates by score, the best first. */
static tc_lib_pair *candidates(const nms *m, int64_t group, tc_lib_pair *a, int64_t *n) {
    const float *score = m->scores + group * m->nboxes;
    *n = 0;
    if (group / m->classes >= m->used[0] || group % m->classes >= m->used[1])
        return a;
    for (int64_t i = 0; i < tc_lib_min(m->used[2], m->nboxes); i++)
        if (score[i] > m->score || m->score != m->score) {
            uint64_t key;
            tc_lib_keys(score, TC_LIB_FLOAT, 4, i, 1, 1, &key);
            a[(*n)++] = (tc_lib_pair){~key, i};
        }
    return tc_lib_sort_pairs(a, a + m->nboxes, *n);
}

static void select_groups(int64_t begin, int64_t end, int32_t thread, void *closure) {
    const nms *m = closure;
    tc_lib_pair *room = (tc_lib_pair *)(void *)(m->rooms + thread * m->room);
    box *kept = (box *)(void *)(room + 2 * m->nboxes);
    for (int64_t g = begin; g < end; g++) {
        int64_t n, k = 0, *to = m->found + g * m->slots;
        const tc_lib_pair *c = candidates(m, g, room, &n);
        const float *boxes = m->boxes + g / m->classes * m->nboxes * 4;
        for (int64_t i = 0; i < n && k < m->most; i++) {
            box b = box_of(boxes + 4 * c[i].index, m->center);
            int64_t j = 0;
            while (j < k && !overlap(&b, &kept[j], m->iou))
                j++;
            if (j < k)
                continue;
            kept[k] = b;
            to[k++] = c[i].index;
        }
        m->counts[g] = k;
    }
}

static nms nms_of(const tc_lib_params *p) {
    const int64_t *scores = p->type[1].dims;
    nms m = {.batches = scores[0], .classes = scores[1], .nboxes = scores[2], .center = p->attr[0], .slots = p->attr[1]};
    m.room = tc_lib_aligned(2 * m.nboxes * (int64_t)sizeof(tc_lib_pair) + m.slots * (int64_t)sizeof(box));
    return m;
}

static int64_t nms_shared(const nms *m) {
    return tc_lib_aligned(m->batches * m->classes * (m->slots + 1) * 8);
}

TC_LIB_KERNEL int64_t tc_lib_nms_workspace(const tc_lib_params *p, int32_t nthreads) {
    nms m = nms_of(p);
    return nms_shared(&m) + nthreads * m.room;
}

TC_LIB_KERNEL int32_t tc_lib_nms(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    nms m = nms_of(args[0]);
    int64_t groups = m.batches * m.classes;
    int64_t *to = args[7], n = 0, most = *(const int64_t *)args[3];
    m.boxes = args[1];
    m.scores = args[2];
    m.used = args[6];
    m.most = most < 0 ? 0 : tc_lib_min(most, m.slots);
    m.iou = *(const float *)args[4];
    m.score = *(const float *)args[5];
    m.found = (int64_t *)(void *)workspace;
    m.counts = m.found + groups * m.slots;
    m.rooms = workspace + nms_shared(&m);
    int32_t status = tc_lib_parallel(rt, groups, select_groups, &m);
    for (int64_t g = 0; g < groups && status == 0; g++)
        for (int64_t k = 0; k < m.counts[g]; k++, n++) {
            to[3 * n] = g / m.classes;
            to[3 * n + 1] = g % m.classes;
            to[3 * n + 2] = m.found[g * m.slots + k];
        }
    memset(to + 3 * n, 0, (size_t)(groups * m.slots - n) * 24);
    *(int64_t *)args[8] = n;
    return status;
}
