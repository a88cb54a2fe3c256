/* .npz: a zip archive of .npy members, stored or deflated. The archive is built in memory and written atomically. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "graph/io/numpy.h"
#include "graph/ir/tensor.h"
#include "support/system/fs.h"
#include "support/system/memory.h"
#include "support/vec.h"

static tc_status read_member(zip_t *z, const char *path, zip_uint64_t index, tc_graph_named *out, tc_error *err) {
    zip_stat_t st;
    if (zip_stat_index(z, index, 0, &st) != 0)
        return tc_fail(err, TC_BAD_INPUT, "%s: damaged archive: %s", path, zip_strerror(z));
    char where[512];
    snprintf(where, sizeof where, "%s: member '%s'", path, st.name);
    zip_file_t *f = zip_fopen_index(z, index, 0);
    if (!f)
        return tc_fail(err, TC_BAD_INPUT, "%s: cannot be opened: %s", where, zip_strerror(z));
    tc_status s = tc_memory_check(st.size, err);
    char *data = s == TC_OK ? malloc(st.size ? st.size : 1) : NULL;
    zip_int64_t got = data ? zip_fread(f, data, st.size) : -1;
    zip_fclose(f);
    if (s != TC_OK || (!data && (s = tc_memory_lacking(st.size, err)) != TC_OK))
        tc_error_prefix(err, "%s: ", where);
    else if (got < 0 || (zip_uint64_t)got != st.size)
        s = tc_fail(err, TC_BAD_INPUT, "%s: damaged: its data cannot be read", where);
    else
        s = tc_graph_npy_parse(where, data, st.size, &out->t, err);
    free(data);
    TC_TRY(s);
    size_t n = strlen(st.name);
    out->name = tc_xstrdup(st.name);
    if (n > 4 && strcmp(st.name + n - 4, ".npy") == 0)
        out->name[n - 4] = 0;
    return TC_OK;
}

tc_status tc_graph_npz_load(const char *path, tc_graph_bundle *out, tc_error *err) {
    *out = (tc_graph_bundle){0};
    int code = 0;
    if (!tc_fs_exists(path))
        return tc_fail(err, TC_BAD_INPUT, "%s: no such file", path);
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        tc_status s =
            tc_fail(err, TC_BAD_INPUT, "%s: cannot be read: %s", path, fd < 0 ? tc_fs_reason(errno) : "it is not a file");
        if (fd >= 0)
            close(fd);
        return s;
    }
    zip_t *z = zip_fdopen(fd, 0, &code); /* which owns the descriptor then */
    if (!z) {
        close(fd);
        TC_TRY(tc_fs_refuse_lfs_pointer(path, err));
        zip_error_t e;
        zip_error_init_with_code(&e, code);
        tc_status s = tc_fail(err, TC_BAD_INPUT, "%s: not a readable .npz archive (%s)", path, zip_error_strerror(&e));
        zip_error_fini(&e);
        return s;
    }
    zip_int64_t n = zip_get_num_entries(z, 0);
    out->items = tc_xcalloc(n > 0 ? (size_t)n : 1, sizeof *out->items);
    tc_status s = TC_OK;
    for (zip_int64_t i = 0; i < n && s == TC_OK; i++) {
        s = read_member(z, path, (zip_uint64_t)i, &out->items[i], err);
        out->len += s == TC_OK;
    }
    zip_discard(z);
    if (s != TC_OK)
        tc_graph_bundle_free(out);
    return s;
}

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

tc_status tc_graph_npz_save(const char *path, const tc_graph_named *items, size_t len, tc_error *err) {
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
