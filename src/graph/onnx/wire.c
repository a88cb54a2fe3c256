/* Bytes to messages. protobuf-c goes into nested messages by recursion without a bound, and joins a message that is given twice by
 * copying what it has so far: a small file could use up the stack, or hours. So the bytes are walked first, along the
 * descriptors that protobuf-c follows, without recursion: headers and lengths are read, contents are stepped over. */
#include <inttypes.h>

#include "graph/onnx/onnx_int.h"

/* Bodies within each other take three each (attribute, graph, node), and the importer follows 32; protobuf's own readers stop at
 * 100. */
enum { MAX_DEPTH = 128 };

static bool read_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *out) {
    *out = 0;
    for (int shift = 0; shift < 64 && *at < size; shift += 7) {
        uint8_t byte = data[(*at)++];
        *out |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128))
            return true;
    }
    return false;
}

/* Steps over one field; false at the end of what can be understood. */
static bool skip_field(const uint8_t *data, size_t size, size_t *at, uint64_t *tag, uint64_t *length) {
    *length = 0;
    if (!read_varint(data, size, at, tag) || *tag >> 3 == 0)
        return false;
    uint64_t ignored;
    switch (*tag & 7) {
    case 0:
        return read_varint(data, size, at, &ignored);
    case 1:
        *length = 8;
        break;
    case 2:
        if (!read_varint(data, size, at, length))
            return false;
        break;
    case 5:
        *length = 4;
        break;
    default:
        return false;
    }
    if (*length > size - *at)
        return false;
    *at += *length;
    return true;
}

/* Says what is wrong with bytes that do not parse as a message. */
static tc_status diagnose(const uint8_t *data, size_t size, tc_error *err) {
    if (size == 0)
        return tc_fail(err, TC_BAD_INPUT, "the file is empty");
    size_t at = 0, start = 0;
    uint64_t tag = 0, length = 0;
    int fields = 0;
    while (at < size) {
        start = at;
        if (!skip_field(data, size, &at, &tag, &length))
            break;
        fields++;
    }
    /* ModelProto has fields 1 to 8, 14, 20 and 25, TensorProto 1 to 14. */
    if (at < size && tag >> 3 <= 25 && (tag & 7) == 2 && length > size - at && (fields > 0 || tag >> 3 == 7))
        return tc_fail(err, TC_BAD_INPUT,
                       "the file is truncated: field %" PRIu64 " at byte %zu has %" PRIu64 " bytes, but only %zu are left",
                       tag >> 3, start, length, size - at);
    if (at < size)
        return tc_fail(err, TC_BAD_INPUT, "the file is not an ONNX model (it is not a protobuf message)");
    return tc_fail(err, TC_BAD_INPUT, "the file is damaged, or is not an ONNX model");
}

typedef struct level {
    const ProtobufCMessageDescriptor *type;
    size_t end;    /* of the message */
    uint64_t seen; /* its fields that hold a single message, by index */
} level;

static tc_status twice(const ProtobufCMessageDescriptor *type, const ProtobufCFieldDescriptor *f, size_t at, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the file is damaged: a %s has its field '%s' twice, again at byte %zu", type->short_name,
                   f->name, at);
}

/* Whether the message that the field at l holds can be gone into. */
static tc_status enter(level *l, const ProtobufCFieldDescriptor *f, size_t at, tc_error *err) {
    uint64_t bit = (uint64_t)1 << (f - l->type->fields) % 64;
    if (f->label != PROTOBUF_C_LABEL_REPEATED && l->seen & bit)
        return twice(l->type, f, at, err);
    l->seen |= bit;
    return TC_OK;
}

static tc_status walk(const ProtobufCMessageDescriptor *type, const uint8_t *data, size_t size, tc_error *err) {
    level stack[MAX_DEPTH] = {{type, size, 0}};
    size_t at = 0;
    for (int depth = 0; depth >= 0;) {
        level *l = &stack[depth];
        if (at == l->end) {
            depth--;
            continue;
        }
        uint64_t tag, length;
        size_t start = at;
        if (!skip_field(data, l->end, &at, &tag, &length))
            return diagnose(data, size, err);
        const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(l->type, (unsigned)(tag >> 3));
        if (!f || f->type != PROTOBUF_C_TYPE_MESSAGE || (tag & 7) != 2)
            continue;
        TC_TRY(enter(l, f, start, err));
        if (++depth == MAX_DEPTH)
            return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                             "its messages are nested more than %d deep (a %s at byte %zu); types and bodies may lie in each "
                             "other, but not without end",
                             MAX_DEPTH, l->type->short_name, start);
        stack[depth] = (level){f->descriptor, at, 0};
        at -= (size_t)length;
    }
    return TC_OK;
}

tc_status tc_onnx_unpack(const ProtobufCMessageDescriptor *type, ProtobufCAllocator *allocator, const void *data, size_t size,
                         ProtobufCMessage **out, tc_error *err) {
    *out = NULL;
    if (!size)
        return diagnose(data, size, err);
    TC_TRY(walk(type, data, size, err));
    *out = protobuf_c_message_unpack(type, allocator, size, data);
    return *out ? TC_OK : diagnose(data, size, err);
}
