/* Model files: a header that says what the trees were trained on, then XGBoost's own bytes. All numbers are little-endian.
 *
 *     "TCCOST\r\n"  u32 format  u32 feature version  u32 features  u64 hash of the feature names
 *     u32 rounds used thinned held-out programs  u64 pairs  f64 pair accuracy, top recall, loss
 *     u64 bytes of the trees  u64 hash of all else  the trees
 *
 * The hash catches damage before XGBoost sees it. It does not stop an attacker, and XGBoost's reader trusts its input. So only
 * models that this machine wrote may be read (measure/records stores who wrote a model). */
#include <stdlib.h>
#include <string.h>

#include "cost_model/model_int.h"
#include "support/hash.h"
#include "support/system/fs.h"
#include "support/vec.h"

enum { FORMAT = 1, MAGIC = 8, MAX_HEADER = 256 };
static const char magic[MAGIC + 1] = "TCCOST\r\n";

static uint64_t names_hash(void) {
    uint64_t h = TC_COST_NFEATURE;
    for (int i = 0; i < TC_COST_NFEATURE; i++) {
        const char *name = tc_cost_feature_name(i);
        h = tc_hash64(name, strlen(name), h);
    }
    return h;
}

typedef struct header {
    uint32_t format, version, features, rounds, used, thinned, programs;
    uint64_t names, pairs, size, hash;
    double accuracy, recall, loss;
} header;

/* One list of fields for writing and reading. Returns the bytes it takes; `p` may be NULL. */
static size_t walk_header(header *h, char *p, bool writing) {
    struct {
        void *at;
        size_t size;
    } field[] = {
        {&h->format, 4},   {&h->version, 4}, {&h->features, 4}, {&h->names, 8},  {&h->rounds, 4}, {&h->used, 4}, {&h->thinned, 4},
        {&h->programs, 4}, {&h->pairs, 8},   {&h->accuracy, 8}, {&h->recall, 8}, {&h->loss, 8},   {&h->size, 8}, {&h->hash, 8},
    };
    size_t n = 0;
    for (size_t i = 0; i < TC_LEN(field); i++) {
        if (p && writing)
            memcpy(p + n, field[i].at, field[i].size);
        else if (p)
            memcpy(field[i].at, p + n, field[i].size);
        n += field[i].size;
    }
    return n;
}

/* Of everything but itself. */
static uint64_t hash_of(const header *h, const char *trees) {
    char bytes[MAX_HEADER];
    header copy = *h;
    copy.hash = 0;
    size_t n = walk_header(&copy, bytes, true);
    return tc_hash64(trees, (size_t)h->size, tc_hash64(bytes, n, FORMAT));
}

tc_status tc_cost_to_bytes(const tc_cost_model *m, char **data, size_t *size, tc_error *err) {
    if (!m->trained)
        return tc_fail(err, TC_BAD_INPUT, "cost model: nothing to save; train it first");
    char *trees;
    size_t ntree;
    TC_TRY(booster_to_bytes(&m->trees, &trees, &ntree, err));
    const tc_cost_quality *q = &m->report.held_out;
    header h = {.format = FORMAT,
                .version = TC_COST_FEATURE_VERSION,
                .features = TC_COST_NFEATURE,
                .names = names_hash(),
                .rounds = (uint32_t)m->report.rounds,
                .used = (uint32_t)m->report.used,
                .thinned = (uint32_t)m->report.thinned,
                .programs = (uint32_t)q->programs,
                .pairs = (uint64_t)q->pairs,
                .accuracy = q->pair_accuracy,
                .recall = q->top_recall,
                .loss = q->loss,
                .size = ntree};
    h.hash = hash_of(&h, trees);
    size_t head = MAGIC + walk_header(&h, NULL, true);
    *size = head + ntree;
    *data = tc_xmalloc(*size);
    memcpy(*data, magic, MAGIC);
    walk_header(&h, *data + MAGIC, true);
    memcpy(*data + head, trees, ntree);
    free(trees);
    return TC_OK;
}

static tc_status read_header(header *h, const char *name, const char *p, size_t size, tc_error *err) {
    size_t head = MAGIC + walk_header(h, NULL, false);
    if (size < MAGIC || memcmp(p, magic, MAGIC) != 0)
        return tc_fail(err, TC_BAD_INPUT, "%s: not a tctune cost model", name);
    if (size < head)
        return tc_fail(err, TC_BAD_INPUT, "%s: the cost model is truncated (%zu bytes); train a new one", name, size);
    char copy[MAX_HEADER];
    memcpy(copy, p + MAGIC, head - MAGIC);
    walk_header(h, copy, false);
    if (h->format != FORMAT)
        return tc_fail(err, TC_BAD_INPUT, "%s: cost model format %u, this tctune reads %d; train a new one", name, h->format,
                       FORMAT);
    if (h->version != TC_COST_FEATURE_VERSION || h->features != TC_COST_NFEATURE || h->names != names_hash())
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: the cost model was trained on feature version %u with %u features, this tctune has version %u with %d; "
            "train a new one from the recorded measurements",
            name, h->version, h->features, TC_COST_FEATURE_VERSION, (int)TC_COST_NFEATURE);
    if (h->size != size - head)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: the cost model should have %llu bytes of trees but has %zu: truncated or damaged; train a new one",
                       name, (unsigned long long)h->size, size - head);
    if (h->hash != hash_of(h, p + head))
        return tc_fail(err, TC_BAD_INPUT, "%s: the cost model is damaged (its hash does not match); train a new one", name);
    return TC_OK;
}

tc_status tc_cost_from_bytes(tc_cost_model *m, const char *name, const void *data, size_t size, tc_error *err) {
    header h = {0};
    booster trees = {0};
    TC_TRY(read_header(&h, name, data, size, err));
    const char *payload = (const char *)data + (size - (size_t)h.size);
    if (booster_from_bytes(&trees, payload, (size_t)h.size, err) != TC_OK) {
        tc_error_prefix(err, "%s: ", name);
        if (err)
            err->status = TC_BAD_INPUT;
        return TC_BAD_INPUT;
    }
    booster_free(&m->trees);
    m->trees = trees;
    m->trained = true;
    m->validated = 0;
    m->report = (tc_cost_report){.used = (int)h.used, .thinned = (int)h.thinned, .rounds = (int)h.rounds};
    m->report.held_out = (tc_cost_quality){(int)h.programs, (int64_t)h.pairs, h.accuracy, h.recall, h.loss};
    return TC_OK;
}

tc_status tc_cost_save(const tc_cost_model *m, const char *path, tc_error *err) {
    char *data;
    size_t size;
    TC_TRY(tc_cost_to_bytes(m, &data, &size, err));
    tc_status status = tc_fs_write(path, data, size, err);
    free(data);
    return status;
}

tc_status tc_cost_load(tc_cost_model *m, const char *path, tc_error *err) {
    char *data;
    size_t size;
    TC_TRY(tc_fs_read(path, &data, &size, err));
    tc_status status = tc_cost_from_bytes(m, path, data, size, err);
    free(data);
    return status;
}
