/* Reading a whole ONNX file, or a model's bytes in memory, as a message. */
#include <string.h>

#include "graph/onnx/onnx_int.h"
#include "support/system/fs.h"
#include "support/system/memory.h"

typedef struct reader {
    ProtobufCAllocator allocator;
    tc_arena *arena;
    size_t refused; /* bytes that were asked for in vain */
    tc_onnx_source from;
    tc_onnx_pieces left_out;
    bool outline; /* what is left out stays so */
} reader;

static void *reader_alloc(void *user, size_t size) {
    reader *r = user;
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

/* ---- weights ---- */

/* Takes the field that stands for a piece out of p; false: it has none. */
static bool take_piece(reader *r, Onnx__TensorProto *p, tc_onnx_piece *out) {
    ProtobufCMessage *m = &p->base;
    for (unsigned i = 0; i < m->n_unknown_fields; i++) {
        ProtobufCMessageUnknownField *f = &m->unknown_fields[i];
        uint64_t index;
        if (f->tag != TC_ONNX_PIECE)
            continue;
        memcpy(&index, f->data, sizeof index);
        *out = r->left_out.data[index];
        reader_free(r, f->data);
        *f = m->unknown_fields[--m->n_unknown_fields];
        return true;
    }
    return false;
}

static bool read_weights(reader *r, Onnx__TensorProto *p) {
    tc_onnx_piece piece;
    if (!take_piece(r, p, &piece))
        return true;
    uint8_t *data = reader_alloc(r, piece.size);
    if (!data)
        return false;
    p->has_raw_data = 1;
    p->raw_data = (ProtobufCBinaryData){piece.size, data};
    return tc_onnx_source_copy(&r->from, piece.at, data, piece.size);
}

/* Into m and all messages in it, of which what may be one of several kinds (types) has no tensors. False: `from` or `refused`
 * says why. */
static bool put_back(reader *r, ProtobufCMessage *m) {
    if (m->descriptor == &onnx__tensor_proto__descriptor)
        return read_weights(r, (Onnx__TensorProto *)m);
    for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
        if (f->type != PROTOBUF_C_TYPE_MESSAGE || f->flags & PROTOBUF_C_FIELD_FLAG_ONEOF)
            continue;
        void *at = (char *)m + f->offset;
        bool several = f->label == PROTOBUF_C_LABEL_REPEATED;
        size_t n = several ? *(size_t *)((char *)m + f->quantifier_offset) : 1;
        ProtobufCMessage **held = several ? *(ProtobufCMessage ***)at : at;
        for (size_t k = 0; k < n; k++)
            if (held[k] && !put_back(r, held[k]))
                return false;
    }
    return true;
}

/* ---- the file ---- */

static tc_status refuse(const reader *r, const Onnx__ModelProto *m, const tc_error *why, tc_error *err) {
    if (r->refused) {
        tc_status s = tc_memory_lacking(r->refused, err);
        tc_error_prefix(err, "%s: ", r->from.path);
        return s;
    }
    if (why->code != TC_ERROR_PLAIN)
        return tc_refuse(err, why->code, "%s: %s", r->from.path, why->msg);
    return tc_fail(err, TC_BAD_INPUT, "%s: %s; expected an ONNX file, such as torch.onnx.export writes", r->from.path,
                   m ? "it has no graph, so it is not an ONNX model" : why->msg);
}

static tc_status unpack(reader *r, Onnx__ModelProto **out, tc_error *err) {
    bool is_pointer = tc_onnx_is_lfs_pointer(&r->from);
    ProtobufCMessage *message = NULL;
    r->allocator = (ProtobufCAllocator){reader_alloc, reader_free, r};
    tc_error why = {0};
    tc_status s = is_pointer
                      ? tc_fs_lfs_pointer(r->from.path, err)
                      : tc_onnx_unpack(&onnx__model_proto__descriptor, &r->allocator, &r->from, &r->left_out, &message, &why);
    Onnx__ModelProto *m = (Onnx__ModelProto *)message;
    bool whole = s == TC_OK && m->graph && (r->outline || put_back(r, message));
    s = tc_onnx_source_end(&r->from, whole ? TC_OK : is_pointer ? s : refuse(r, m, &why, err), err);
    tc_vec_free(&r->left_out);
    if (s == TC_OK)
        *out = m;
    else if (m)
        onnx__model_proto__free_unpacked(m, &r->allocator);
    return s;
}

/* Nothing of the file is in memory twice but what stands around the weights. */
static tc_status read_file(const char *path, reader *r, Onnx__ModelProto **out, tc_error *err) {
    int fd;
    size_t size;
    TC_TRY(tc_fs_open(path, &fd, &size, err));
    TC_TRY(tc_onnx_source_of_file(fd, path, &r->from, err));
    return unpack(r, out, err);
}

tc_status tc_onnx_read_model(const char *path, tc_arena *arena, Onnx__ModelProto **out, tc_error *err) {
    return read_file(path, &(reader){.arena = arena}, out, err);
}

tc_status tc_onnx_read_outline(const char *path, tc_arena *arena, Onnx__ModelProto **out, tc_error *err) {
    return read_file(path, &(reader){.arena = arena, .outline = true}, out, err);
}

tc_status tc_onnx_read_bytes(const void *bytes, size_t size, const char *name, tc_arena *arena, Onnx__ModelProto **out,
                             tc_error *err) {
    reader r = {.arena = arena, .from = {.data = bytes, .size = size, .path = name}};
    return unpack(&r, out, err);
}
