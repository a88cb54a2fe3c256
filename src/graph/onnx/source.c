/* What source.h describes. */
#include "graph/onnx/source.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "support/system/fs.h"

tc_status tc_onnx_source_of_file(int fd, const char *path, tc_onnx_source *out, tc_error *err) {
    *out = (tc_onnx_source){.path = path, .fd = fd};
    if (fstat(fd, &out->before) != 0) {
        out->error = errno;
        return tc_onnx_source_end(out, TC_ENV, err);
    }
    out->size = (size_t)out->before.st_size;
    return TC_OK;
}

static bool read_file(tc_onnx_source *s, size_t at, uint8_t *to, size_t n) {
    while (n > 0) {
        ssize_t got = pread(s->fd, to, n, (off_t)at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            s->error = errno;
        if (got == 0)
            s->cut = true;
        if (got <= 0)
            return false;
        to += got;
        at += (size_t)got;
        n -= (size_t)got;
    }
    return true;
}

bool tc_onnx_source_copy(tc_onnx_source *s, size_t at, void *to, size_t n) {
    if (!s->data)
        return read_file(s, at, to, n);
    memcpy(to, s->data + at, n);
    return true;
}

/* Looks go forwards, by little: what follows is read with them. */
const uint8_t *tc_onnx_source_look(tc_onnx_source *s, size_t at, size_t n) {
    enum { AHEAD = 64 << 10 };
    if (s->data)
        return s->data + at;
    if (at < s->from || at + n > s->from + s->window.len) {
        size_t take = TC_MIN(TC_MAX(n, (size_t)AHEAD), s->size - at);
        s->window.len = 0;
        tc_reserve(&s->window, take);
        if (!read_file(s, at, s->window.data, take))
            return NULL;
        s->from = at;
        s->window.len = take;
    }
    return s->window.data + (at - s->from);
}

bool tc_onnx_is_lfs_pointer(tc_onnx_source *s) {
    enum { MOST = 1024 }; /* what the format allows */
    const uint8_t *p = s->size > 0 && s->size < MOST ? tc_onnx_source_look(s, 0, s->size) : NULL;
    return p && tc_fs_is_lfs_pointer(p, s->size);
}

static bool was_written(const tc_onnx_source *s) {
    struct stat now;
    return s->cut ||
           (fstat(s->fd, &now) == 0 && (now.st_size != s->before.st_size || now.st_mtim.tv_sec != s->before.st_mtim.tv_sec ||
                                        now.st_mtim.tv_nsec != s->before.st_mtim.tv_nsec));
}

tc_status tc_onnx_source_end(tc_onnx_source *s, tc_status st, tc_error *err) {
    if (s->error)
        st = tc_fail(err, TC_ENV, "%s: cannot be read: %s", s->path, tc_fs_reason(s->error));
    else if (!s->data && was_written(s))
        st = tc_fail(err, TC_ENV,
                     "%s: another program wrote to it while it was read (it had %zu bytes); run this again when the file is "
                     "complete. To change a file that others read, write a new file and rename it",
                     s->path, s->size);
    if (!s->data)
        close(s->fd);
    tc_vec_free(&s->window);
    return st;
}
