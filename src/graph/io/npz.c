/* .npz: a zip archive of .npy members, stored or deflated. The archive is built in memory and written atomically. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zip.h>

#include "graph/io/numpy.h"
#include "graph/ir/tensor.h"
#include "support/map.h"
#include "support/say.h"
#include "support/system/fs.h"
#include "support/system/memory.h"
#include "support/vec.h"

/* ---- reading ---- */

/* What an archive says of itself is checked before memory is asked for. Deflate makes at most 1,032 bytes of one (a match of 258
 * bytes takes two bits), so all members together have at most that many for each byte of the file, also where they share bytes. */
enum { MOST_FOR_A_BYTE = 1032 };

typedef struct reading {
    zip_t *z;
    const char *path;
    uint64_t left; /* bytes that members not yet read may still have */
    tc_map names;  /* of those that were read */
} reading;

typedef struct member {
    zip_uint64_t index;
    zip_stat_t st;
    char where[512];
} member;

static tc_status find_member(reading *x, zip_uint64_t index, member *m, tc_error *err) {
    const zip_uint64_t needed =
        ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
    m->index = index;
    if (zip_stat_index(x->z, index, 0, &m->st) != 0)
        return tc_fail(err, TC_BAD_INPUT, "%s: damaged archive: %s", x->path, zip_strerror(x->z));
    if ((m->st.valid & needed) != needed)
        return tc_fail(err, TC_BAD_INPUT, "%s: damaged archive: member %llu has no complete header", x->path,
                       (unsigned long long)index);
    snprintf(m->where, sizeof m->where, "%s: member '%s'", x->path, m->st.name);
    return TC_OK;
}

/* Whether it is stored as NumPy stores arrays, and its sizes can be true. */
static tc_status check_member(reading *x, const member *m, tc_error *err) {
    const zip_stat_t *st = &m->st;
    if (st->encryption_method != ZIP_EM_NONE)
        return tc_fail(err, TC_BAD_INPUT, "%s: it is encrypted; save the arrays with numpy.savez", m->where);
    if (st->comp_method != ZIP_CM_STORE && st->comp_method != ZIP_CM_DEFLATE)
        return tc_fail(
            err, TC_BAD_INPUT,
            "%s: it is compressed by method %u, expected 0 (stored) or 8 (deflated); save the arrays with numpy.savez or "
            "numpy.savez_compressed",
            m->where, (unsigned)st->comp_method);
    if (st->comp_method == ZIP_CM_STORE && st->size != st->comp_size)
        return tc_fail(err, TC_BAD_INPUT, "%s: damaged: it is stored in %llu bytes, but says that it has %llu", m->where,
                       (unsigned long long)st->comp_size, (unsigned long long)st->size);
    if (st->size / MOST_FOR_A_BYTE > st->comp_size || st->size > x->left)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: damaged: it says that it has %llu bytes, more than can be compressed into a file of this size",
                       m->where, (unsigned long long)st->size);
    x->left -= st->size;
    return TC_OK;
}

/* All of it, and its end: that is where libzip compares the checksum. */
static bool read_to_end(zip_file_t *f, char *data, zip_uint64_t size) {
    zip_uint64_t at = 0;
    zip_int64_t n = 1;
    while (at < size && (n = zip_fread(f, data + at, size - at)) > 0)
        at += (zip_uint64_t)n;
    char more;
    return at == size && zip_fread(f, &more, 1) == 0;
}

static tc_status damaged(const member *m, zip_error_t *why, tc_error *err) {
    bool said = zip_error_code_zip(why) != ZIP_ER_OK;
    return tc_fail(err, TC_BAD_INPUT, "%s: damaged: %s; copy the file again, or save the arrays again", m->where,
                   said ? zip_error_strerror(why) : "it has more or fewer bytes than it says");
}

static tc_status read_data(reading *x, const member *m, char **data, tc_error *err) {
    zip_uint64_t size = m->st.size;
    *data = NULL;
    tc_status s = tc_memory_check(size, err);
    if (s == TC_OK && !(*data = malloc(size + 1)))
        s = tc_memory_lacking(size, err);
    if (s != TC_OK) {
        tc_error_prefix(err, "%s: ", m->where);
        return s;
    }
    zip_file_t *f = zip_fopen_index(x->z, m->index, 0);
    if (!f)
        return damaged(m, zip_get_error(x->z), err);
    if (!read_to_end(f, *data, size))
        s = damaged(m, zip_file_get_error(f), err);
    int code = zip_fclose(f);
    if (s == TC_OK && code != 0) {
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        s = damaged(m, &e, err);
        zip_error_fini(&e);
    }
    return s;
}

/* The array's name: the member's without its ".npy". */
static tc_status take_name(reading *x, const member *m, char **name, tc_error *err) {
    static const char end[] = ".npy";
    size_t n = strlen(m->st.name);
    *name = tc_xstrdup(m->st.name);
    if (n >= sizeof end && strcmp(m->st.name + n - (sizeof end - 1), end) == 0)
        (*name)[n - (sizeof end - 1)] = 0;
    if (tc_map_puts(&x->names, *name, 1))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "%s: the archive has two arrays of this name", m->where);
}

static tc_status read_member(reading *x, zip_uint64_t index, tc_graph_named *out, tc_error *err) {
    member m;
    char *data = NULL;
    TC_TRY(find_member(x, index, &m, err));
    TC_TRY(check_member(x, &m, err));
    tc_status s = take_name(x, &m, &out->name, err);
    if (s == TC_OK)
        s = read_data(x, &m, &data, err);
    if (s == TC_OK)
        s = tc_graph_npy_parse(m.where, data, m.st.size, &out->t, err);
    free(data);
    if (s != TC_OK) {
        free(out->name);
        out->name = NULL;
    }
    return s;
}

static tc_status read_members(reading *x, tc_graph_bundle *out, tc_error *err) {
    zip_int64_t n = zip_get_num_entries(x->z, 0);
    tc_status s = TC_OK;
    out->items = tc_xcalloc(n > 0 ? (size_t)n : 1, sizeof *out->items);
    for (zip_int64_t i = 0; i < n && s == TC_OK; i++) {
        s = read_member(x, (zip_uint64_t)i, &out->items[i], err);
        out->len += s == TC_OK;
    }
    tc_map_free(&x->names);
    return s;
}

static tc_status no_archive(const char *path, int code, tc_error *err) {
    zip_error_t e;
    TC_TRY(tc_fs_refuse_lfs_pointer(path, err));
    zip_error_init_with_code(&e, code);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "%s: not a readable .npz archive (%s)", path, zip_error_strerror(&e));
    zip_error_fini(&e);
    return s;
}

tc_status tc_graph_npz_load(const char *path, tc_graph_bundle *out, tc_error *err) {
    reading x = {.path = path};
    size_t size;
    int code = 0, fd;
    *out = (tc_graph_bundle){0};
    TC_TRY(tc_fs_open(path, &fd, &size, err));
    x.left = (uint64_t)size * MOST_FOR_A_BYTE;
    x.z = zip_fdopen(fd, 0, &code); /* which owns the descriptor then */
    if (!x.z) {
        close(fd);
        return no_archive(path, code, err);
    }
    tc_status s = read_members(&x, out, err);
    zip_discard(x.z);
    if (s != TC_OK)
        tc_graph_bundle_free(out);
    return s;
}

/* ---- writing ---- */

/* Adds the members to z; members[i] keeps the bytes alive until the archive is closed. */
static bool add_members(zip_t *z, const tc_graph_named *items, size_t len, tc_strbuf *members) {
    for (size_t i = 0; i < len; i++) {
        tc_graph_npy_format(&items[i].t, &members[i]);
        tc_strbuf name = {0};
        tc_sb_printf(&name, "%s.npy", items[i].name);
        zip_source_t *src = zip_source_buffer(z, members[i].data, members[i].len, 0);
        zip_int64_t at = src ? zip_file_add(z, tc_sb_str(&name), src, ZIP_FL_ENC_UTF_8) : -1;
        tc_strbuf_free(&name);
        if (at < 0) {
            zip_source_free(src);
            return false;
        }
        /* stored, with a fixed date: equal tensors give equal files */
        zip_set_file_compression(z, (zip_uint64_t)at, ZIP_CM_STORE, 0);
        zip_file_set_dostime(z, (zip_uint64_t)at, 0, 0x21, 0);
    }
    return true;
}

static tc_status write_source(const char *path, zip_source_t *src, tc_error *err) {
    zip_stat_t st;
    if (zip_source_stat(src, &st) != 0 || zip_source_open(src) != 0)
        return tc_fail(err, TC_ENV, "%s: the archive cannot be assembled", path);
    char *data = tc_xmalloc(st.size ? st.size : 1);
    zip_int64_t got = zip_source_read(src, data, st.size);
    zip_source_close(src);
    tc_status s = got >= 0 && (zip_uint64_t)got == st.size ? tc_fs_write(path, data, st.size, err)
                                                           : tc_fail(err, TC_ENV, "%s: the archive cannot be assembled", path);
    free(data);
    return s;
}

/* The members lie in buffers that grow by doubling, then once more in the archive and in what is written. */
static tc_status check_room(const char *path, const tc_graph_named *items, size_t len, tc_error *err) {
    enum { COPIES = 4 };
    uint64_t bytes = 0;
    for (size_t i = 0; i < len; i++)
        bytes += tc_graph_tensor_bytes(&items[i].t) * COPIES;
    tc_status s = tc_memory_check(bytes, err);
    if (s != TC_OK)
        tc_error_prefix(err, "%s: ", path);
    return s;
}

/* Libzip takes a name with other bytes for none in UTF-8. */
static tc_status check_name(const char *path, const char *name, tc_error *err) {
    size_t n = strlen(name), at = tc_utf8_fault(name, n);
    for (size_t i = 0; i < at; i++)
        if ((unsigned char)name[i] < ' ' && !strchr("\t\n\r", name[i]))
            at = i;
    if (at == n)
        return TC_OK;
    return tc_fail(
        err, TC_BAD_INPUT,
        "%s: a .npz file cannot hold the array '%s': byte %zu of its name, 0x%02x, is a control character or not UTF-8; "
        "rename the array in the model",
        path, name, at, (unsigned)(unsigned char)name[at]);
}

tc_status tc_graph_npz_save(const char *path, const tc_graph_named *items, size_t len, tc_error *err) {
    for (size_t i = 0; i < len; i++)
        TC_TRY(check_name(path, items[i].name, err));
    TC_TRY(check_room(path, items, len, err));
    zip_error_t e;
    zip_error_init(&e);
    zip_source_t *archive = zip_source_buffer_create(NULL, 0, 0, &e);
    zip_source_keep(archive);
    zip_t *z = zip_open_from_source(archive, ZIP_TRUNCATE, &e);
    tc_strbuf *members = tc_xcalloc(len ? len : 1, sizeof *members);
    tc_status s = TC_OK;
    if (!z || !add_members(z, items, len, members))
        s = tc_fail(err, TC_ENV, "%s: the archive cannot be assembled (%s)", path, z ? zip_strerror(z) : zip_error_strerror(&e));
    if (z && (s != TC_OK || zip_close(z) != 0)) {
        if (s == TC_OK)
            s = tc_fail(err, TC_ENV, "%s: the archive cannot be assembled (%s)", path, zip_strerror(z));
        zip_discard(z);
    }
    if (s == TC_OK)
        s = write_source(path, archive, err);
    zip_source_free(archive);
    zip_error_fini(&e);
    for (size_t i = 0; i < len; i++)
        tc_strbuf_free(&members[i]);
    free(members);
    return s;
}
