/* Reading a whole ONNX file as a message. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/onnx/onnx_int.h"
#include "support/system/memory.h"

/* Weights are copied out of the mapped file in the order in which they stand there, so whatever has been allocated so far bounds
 * from below how much of the file is done with: those pages are given back while it is read. A wrong guess would only cost
 * reading a page again. */
typedef struct reader {
    tc_arena *arena;
    char *data;
    size_t size, copied, dropped;
    size_t refused; /* bytes that were asked for in vain */
} reader;

static void *reader_alloc(void *user, size_t size) {
    enum { STEP = 16 << 20, WEIGHT = 1 << 12 };
    reader *r = user;
    if (r->copied < r->size && r->copied - r->dropped >= STEP) {
        size_t to = r->copied / STEP * STEP;
        madvise(r->data + r->dropped, to - r->dropped, MADV_DONTNEED);
        r->dropped = to;
    }
    r->copied += size >= WEIGHT ? size : 0;
    bool had = tc_memory_check(size, NULL) == TC_OK;
    void *p = !had ? NULL : r->arena ? tc_arena_alloc(r->arena, size) : malloc(size ? size : 1);
    if (!p)
        r->refused = size;
    return p;
}

static void reader_free(void *user, void *p) {
    reader *r = user;
    if (!r->arena)
        free(p);
}

static tc_status unpack(const char *path, tc_arena *arena, void *data, size_t size, Onnx__ModelProto **out, tc_error *err) {
    reader r = {.arena = arena, .data = data, .size = size};
    ProtobufCAllocator allocator = {reader_alloc, reader_free, &r};
    ProtobufCMessage *message;
    tc_error why = {0};
    tc_status s = tc_onnx_unpack(&onnx__model_proto__descriptor, &allocator, data, size, &message, &why);
    Onnx__ModelProto *m = (Onnx__ModelProto *)message;
    if (s == TC_OK && m->graph) {
        *out = m;
        return TC_OK;
    }
    if (m)
        onnx__model_proto__free_unpacked(m, &allocator);
    if (r.refused) {
        s = tc_memory_lacking(r.refused, err);
        tc_error_prefix(err, "%s: ", path);
        return s;
    }
    if (tc_error_unsupported(&why))
        return tc_refuse(err, why.code, "%s: %s", path, why.msg);
    return tc_fail(err, TC_BAD_INPUT, "%s: %s; expected a file that torch.onnx.export or the like wrote", path,
                   m ? "it has no graph, so it is not an ONNX model" : why.msg);
}

/* The file is mapped while it is parsed: one copy of the weights, and no more than a few pages of another. */
tc_status tc_onnx_read_model(const char *path, tc_arena *arena, Onnx__ModelProto **out, tc_error *err) {
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return tc_fail(err, TC_BAD_INPUT, "%s: cannot be opened: %s", path, strerror(errno));
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return tc_fail(err, TC_BAD_INPUT, "%s: not a file", path);
    }
    size_t size = (size_t)st.st_size;
    void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;
    close(fd);
    if (data == MAP_FAILED)
        return tc_fail(err, TC_ENV, "%s: cannot be read: %s", path, strerror(errno));
    tc_status s = unpack(path, arena, data, size, out, err);
    if (data)
        munmap(data, size);
    return s;
}
