/* Damage inside of containers: members of archives, frames of the worker protocol, the note of an ELF file, fields of an
 * object. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "common/note_file.h"
#include "measure/process/protocol.h"
#include "mutate.h"
#include "support/vec.h"

/* ---- archives ---- */

static bool read_member(zip_t *z, zip_uint64_t i, tc_strbuf *out) {
    enum { MOST = 1 << 20 };
    zip_stat_t st;
    zip_file_t *f = zip_stat_index(z, i, 0, &st) == 0 && st.size < MOST ? zip_fopen_index(z, i, 0) : NULL;
    if (!f)
        return false;
    char *data = tc_xmalloc(st.size + 1);
    zip_int64_t n = zip_fread(f, data, st.size);
    zip_fclose(f);
    if (n > 0)
        tc_sb_addn(out, data, (size_t)n);
    free(data);
    return n >= 0;
}

/* A member is replaced by a damaged one; what the archive says of it fits. */
static bool damage_member(tc_rng *r, zip_t *z, tc_strbuf *member) {
    zip_int64_t n = zip_get_num_entries(z, 0);
    tc_strbuf now = {0};
    zip_uint64_t i = n > 0 ? (zip_uint64_t)tc_rng_below(r, n) : 0;
    if (n <= 0 || !read_member(z, i, &now))
        return false;
    (tc_rng_below(r, 2) ? fuzz_damage_bytes : fuzz_damage_text)(r, tc_sb_str(&now), now.len, member);
    tc_strbuf_free(&now);
    zip_source_t *src = zip_source_buffer(z, tc_sb_str(member), member->len, 0);
    return src && zip_file_replace(z, i, src, 0) == 0;
}

static bool damage_archive(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    zip_error_t e;
    char *copy = size ? malloc(size) : NULL; /* which the source frees, but for one of no bytes: it is written to */
    if (!copy)
        return false;
    memcpy(copy, data, size);
    zip_error_init(&e);
    zip_source_t *src = zip_source_buffer_create(copy, size, 1, &e);
    zip_t *z = src ? zip_open_from_source(src, 0, &e) : NULL;
    if (!z) {
        if (!src)
            free(copy);
        zip_source_free(src);
        zip_error_fini(&e);
        return false;
    }
    tc_strbuf member = {0};
    zip_stat_t st;
    zip_source_keep(src);
    bool ok = damage_member(r, z, &member);
    if (!ok || zip_close(z) != 0) {
        zip_discard(z);
        ok = false;
    }
    if (ok && zip_source_stat(src, &st) == 0 && zip_source_open(src) == 0) {
        char *all = tc_xmalloc(st.size + 1);
        zip_int64_t n = zip_source_read(src, all, st.size);
        zip_source_close(src);
        if (n > 0)
            tc_sb_addn(out, all, (size_t)n);
        free(all);
    }
    zip_source_free(src);
    tc_strbuf_free(&member);
    zip_error_fini(&e);
    return ok;
}

/* Fields of the headers that say what a member is, by the signature before them: local, central, and the end of the archive. */
static const struct {
    const char *signature;
    int at, bytes;
} zip_fields[] = {{"PK\3\4", 4, 2},  {"PK\3\4", 6, 2},  {"PK\3\4", 8, 2},  {"PK\3\4", 14, 4}, {"PK\3\4", 18, 4},
                  {"PK\3\4", 22, 4}, {"PK\3\4", 26, 2}, {"PK\3\4", 28, 2}, {"PK\1\2", 6, 2},  {"PK\1\2", 8, 2},
                  {"PK\1\2", 10, 2}, {"PK\1\2", 16, 4}, {"PK\1\2", 20, 4}, {"PK\1\2", 24, 4}, {"PK\1\2", 28, 2},
                  {"PK\1\2", 30, 2}, {"PK\1\2", 32, 2}, {"PK\1\2", 42, 4}, {"PK\5\6", 8, 2},  {"PK\5\6", 10, 2},
                  {"PK\5\6", 12, 4}, {"PK\5\6", 16, 4}, {"PK\5\6", 20, 2}};
enum { ZIP_HEADER = 22 /* the shortest */ };

/* The header of that kind at or behind a place that is drawn; NULL: there is none. */
static char *some_header(tc_rng *r, const char *signature, tc_strbuf *b) {
    size_t from = b->len ? (size_t)tc_rng_below(r, (int64_t)b->len) : 0;
    for (size_t i = 0; i + ZIP_HEADER <= b->len; i++) {
        char *at = b->data + (from + i) % (b->len - ZIP_HEADER + 1);
        if (memcmp(at, signature, 4) == 0)
            return at;
    }
    return NULL;
}

/* A field gets another number, or one from another member's header, as archives have it that share bytes or names. */
static bool damage_headers(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    bool any = false;
    tc_sb_addn(out, data, size);
    for (int64_t k = 1 + tc_rng_below(r, 3); k > 0; k--) {
        size_t f = (size_t)tc_rng_below(r, TC_LEN(zip_fields)), n = (size_t)zip_fields[f].bytes;
        char *at = some_header(r, zip_fields[f].signature, out), *other = some_header(r, zip_fields[f].signature, out);
        int64_t number = fuzz_number(r);
        const char *last = out->data + out->len - zip_fields[f].at - n;
        if (!at || at > last || other > last)
            continue;
        memmove(at + zip_fields[f].at, other && tc_rng_below(r, 2) ? other + zip_fields[f].at : (const char *)&number, n);
        any = true;
    }
    if (!any)
        out->len = 0;
    return any;
}

void fuzz_damage_arrays(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    if (tc_rng_below(r, 3) == 0 && damage_headers(r, data, size, out))
        return;
    if (tc_rng_below(r, 8) && damage_archive(r, data, size, out))
        return;
    (tc_rng_below(r, 2) ? fuzz_damage_bytes : fuzz_damage_text)(r, data, size, out);
}

/* ---- frames ---- */

enum { MAX_FRAMES = 16 };

typedef struct frames {
    int n;
    tc_meas_frame head[MAX_FRAMES];
    const char *payload[MAX_FRAMES];
} frames;

static frames split(const char *data, size_t size) {
    frames f = {0};
    while (f.n < MAX_FRAMES && size >= sizeof f.head[0]) {
        tc_meas_frame *h = &f.head[f.n];
        memcpy(h, data, sizeof *h);
        data += sizeof *h;
        size -= sizeof *h;
        f.payload[f.n++] = data;
        h->size = TC_MIN(h->size, (uint64_t)size);
        data += h->size;
        size -= h->size;
    }
    return f;
}

/* A field of 8 bytes becomes another number, of integers or of floats. */
static void damage_field(tc_rng *r, tc_strbuf *payload) {
    static const double floats[] = {0, -1, 1e-300, -0.0, 1e300, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
    if (payload->len < 8)
        return;
    char *at = payload->data + tc_rng_below(r, (int64_t)payload->len - 7);
    int64_t number = fuzz_number(r);
    memcpy(at, tc_rng_below(r, 2) ? (const void *)&number : &floats[tc_rng_below(r, TC_LEN(floats))], 8);
}

static void put_damaged(tc_rng *r, const tc_meas_frame *head, const char *data, tc_strbuf *out) {
    tc_strbuf payload = {0};
    tc_meas_frame h = *head;
    if (tc_rng_below(r, 2)) {
        (tc_rng_below(r, 2) ? fuzz_damage_bytes : fuzz_damage_text)(r, data, h.size, &payload);
    } else {
        tc_sb_addn(&payload, data, h.size);
        damage_field(r, &payload);
    }
    h.size = payload.len;
    if (tc_rng_below(r, 8) == 0)
        h.type = (uint32_t)tc_rng_below(r, TC_MEAS_NMSGS);
    tc_sb_addn(out, (const char *)&h, sizeof h);
    tc_sb_addn(out, tc_sb_str(&payload), payload.len);
    tc_strbuf_free(&payload);
}

void fuzz_damage_frame(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    frames f = split(data, size);
    int one = f.n ? (int)tc_rng_below(r, f.n) : 0;
    if (!f.n || tc_rng_below(r, 8) == 0) {
        fuzz_damage_bytes(r, data, size, out);
        return;
    }
    for (int i = 0; i < f.n; i++)
        if (i == one) {
            put_damaged(r, &f.head[i], f.payload[i], out);
        } else {
            tc_sb_addn(out, (const char *)&f.head[i], sizeof f.head[i]);
            tc_sb_addn(out, f.payload[i], f.head[i].size);
        }
}

/* ---- notes ---- */

/* Half of the time the text of the note, which is the first that begins with a brace. */
void fuzz_damage_library(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    const char *text = size > sizeof(Elf64_Ehdr) ? memchr(data + sizeof(Elf64_Ehdr), '{', size - sizeof(Elf64_Ehdr)) : NULL;
    if (!text || tc_rng_below(r, 2)) {
        fuzz_damage_bytes(r, data, size, out);
        return;
    }
    tc_strbuf damaged = {0};
    fuzz_damage_text(r, text, strnlen(text, size - (size_t)(text - data)), &damaged);
    note_file(tc_sb_str(&damaged), damaged.len, out);
    tc_strbuf_free(&damaged);
}

/* ---- objects ---- */

/* Everything in an object but its content consists of numbers of 2, 4 or 8 bytes at multiples of that. */
void fuzz_damage_object(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    if (size < 8 || tc_rng_below(r, 3) == 0) {
        fuzz_damage_bytes(r, data, size, out);
        return;
    }
    tc_sb_addn(out, data, size);
    for (int64_t n = tc_rng_below(r, 3); n >= 0; n--) {
        size_t bytes = (size_t)2 << tc_rng_below(r, 3);
        int64_t number = tc_rng_below(r, 2) ? fuzz_number(r) : tc_rng_below(r, (int64_t)size + 64);
        memcpy(out->data + (size_t)tc_rng_below(r, (int64_t)(size / bytes)) * bytes, &number, bytes);
    }
}
