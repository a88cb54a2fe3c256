/* Bytes to messages. protobuf-c goes into nested messages by recursion without a bound, and joins a message that is given twice by
 * copying what it has so far: a small file could use up the stack, or hours. So the bytes are walked first, along the
 * descriptors that protobuf-c follows, without recursion: headers and lengths are read, contents are stepped over.
 *
 * Of a file the walk writes a copy, which protobuf-c takes apart: what was looked at and what is taken apart are the same bytes,
 * whatever others do to the file. Weights are not in it: a field that no schema has says which piece of the file they are, and
 * they are read to where they will stay. */
#include <inttypes.h>
#include <string.h>

#include "graph/onnx/onnx_int.h"
#include "support/inputs.h"
#include "support/say.h"
#include "support/strbuf.h"
#include "support/system/memory.h"

/* Bodies within each other take three each (attribute, graph, node); protobuf's own readers stop at 100. */
_Static_assert(TC_DEPTH_MODEL > 3 * TC_DEPTH_BODIES, "all bodies that the importer follows can be read");

enum {
    LEAST_PIECE = 64 << 10, /* smaller weights are copied with what is around them */
    RAW_DATA = 9,           /* of a TensorProto */
    LENGTH_BYTES = 5,       /* of a length in the copy, which is known later: protobuf-c takes leading zeros */
};

/* ---- fields ---- */

typedef struct field {
    size_t start, content, end;
    uint64_t tag;
} field;

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

static uint64_t wire_type(const field *f) {
    return f->tag & 7;
}

/* The one at `at`, which ends by `end`; false: it is none, and *length is how many bytes it should have. */
static bool read_field(tc_onnx_source *from, size_t at, size_t end, field *f, uint64_t *length) {
    enum { HEADER = 20 }; /* two varints */
    size_t n = TC_MIN((size_t)HEADER, end - at), used = 0;
    const uint8_t *p = tc_onnx_source_look(from, at, n);
    uint64_t ignored;
    *f = (field){.start = at};
    *length = 0;
    if (!p || !read_varint(p, n, &used, &f->tag) || f->tag >> 3 == 0)
        return false;
    size_t header = used;
    switch (wire_type(f)) {
    case 0:
        if (!read_varint(p, n, &used, &ignored))
            return false;
        *length = used - header;
        break;
    case 1:
        *length = 8;
        break;
    case 2:
        if (!read_varint(p, n, &used, length))
            return false;
        header = used;
        break;
    case 5:
        *length = 4;
        break;
    default:
        return false;
    }
    f->content = at + header;
    f->end = f->content + (size_t)*length;
    return *length <= end - f->content;
}

/* Says what is wrong with bytes that do not parse as a message. */
static tc_status diagnose(tc_onnx_source *from, tc_error *err) {
    if (from->size == 0)
        return tc_fail(err, TC_BAD_INPUT, "the file is empty");
    size_t at = 0;
    uint64_t length = 0;
    field f = {0};
    int fields = 0;
    for (; at < from->size && read_field(from, at, from->size, &f, &length); at = f.end)
        fields++;
    /* ModelProto has fields 1 to 8, 14, 20 and 25, TensorProto 1 to 14. */
    if (at < from->size && f.tag >> 3 <= 25 && wire_type(&f) == 2 && f.content && (fields > 0 || f.tag >> 3 == 7))
        return tc_fail(err, TC_BAD_INPUT,
                       "the file is truncated: field %" PRIu64 " at byte %zu has %" PRIu64 " bytes, but only %zu are left",
                       f.tag >> 3, f.start, length, from->size - f.content);
    if (at < from->size)
        return tc_fail(err, TC_BAD_INPUT, "the file is not an ONNX model (it is not a protobuf message)");
    return tc_fail(err, TC_BAD_INPUT, "the file is damaged, or is not an ONNX model");
}

/* ---- the copy ---- */

typedef struct level {
    const ProtobufCMessageDescriptor *type;
    const ProtobufCFieldDescriptor *as; /* the field that it is; NULL: of none */
    size_t end;                         /* of the message */
    uint64_t seen;                      /* its fields that are there once, by index */
    size_t length_at;                   /* in the copy */
} level;

typedef struct walk {
    tc_onnx_source *from;
    tc_onnx_pieces *left_out; /* NULL: nothing is copied */
    tc_strbuf copy;
} walk;

static void add_varint(tc_strbuf *b, uint64_t v) {
    for (; v >= 128; v >>= 7)
        tc_sb_addc(b, (char)(v | 128));
    tc_sb_addc(b, (char)v);
}

/* Its length is set when the message ends. */
static void begin_message(walk *w, const field *f, level *l) {
    if (!w->left_out)
        return;
    add_varint(&w->copy, f->tag);
    l->length_at = w->copy.len;
    tc_sb_addn(&w->copy, "\0\0\0\0", LENGTH_BYTES);
}

static void end_message(walk *w, const level *l) {
    size_t begin = l->length_at + LENGTH_BYTES, length = w->copy.len - begin;
    if (!w->left_out || w->copy.len < begin) /* memory ran out */
        return;
    for (size_t i = 0; i < LENGTH_BYTES; i++, length >>= 7)
        w->copy.data[l->length_at + i] = (char)((length & 127) | (i < LENGTH_BYTES - 1 ? 128 : 0));
}

static tc_status copy_field(walk *w, const field *f, tc_error *err) {
    size_t n = f->end - f->start;
    TC_TRY(tc_memory_check(n, err));
    for (size_t at = f->start, some; at < f->end; at += some) {
        some = TC_MIN(f->end - at, (size_t)LEAST_PIECE);
        const uint8_t *p = tc_onnx_source_look(w->from, at, some);
        if (!p)
            return diagnose(w->from, err);
        tc_sb_addn(&w->copy, (const char *)p, some);
    }
    return TC_OK;
}

static void leave_out(walk *w, const field *f) {
    uint64_t index = w->left_out->len;
    add_varint(&w->copy, (uint64_t)TC_ONNX_PIECE << 3 | 1);
    tc_sb_addn(&w->copy, (const char *)&index, sizeof index);
    tc_push(w->left_out, ((tc_onnx_piece){f->content, f->end - f->content}));
}

/* ---- walking ---- */

/* What may be there once is not there a second time. */
static tc_status see(level *l, const ProtobufCFieldDescriptor *f, size_t at, tc_error *err) {
    uint64_t bit = (uint64_t)1 << (f - l->type->fields) % 64;
    if (f->label != PROTOBUF_C_LABEL_REPEATED && l->seen & bit)
        return tc_fail(err, TC_BAD_INPUT, "the file is damaged: a %s has its field '%s' twice, again at byte %zu",
                       l->type->short_name, f->name, at);
    l->seen |= bit;
    return TC_OK;
}

/* Of a file of data, whose values nothing else checks: bytes behind it that happen to be fields would change them. */
static tc_status check_data(level *l, const ProtobufCFieldDescriptor *known, const field *f, tc_error *err) {
    enum { LAST = 16 }; /* fields of tensors, sequences and optionals that ONNX has defined */
    if (known)
        return see(l, known, f->start, err);
    if (f->tag >> 3 <= LAST)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT,
                   "the file is damaged, or other bytes follow its data: a %s has the field %" PRIu64
                   " at byte %zu, which ONNX does not define",
                   l->type->short_name, f->tag >> 3, f->start);
}

/* A field that is no message. */
static tc_status keep(walk *w, level *l, const ProtobufCFieldDescriptor *known, const field *f, tc_error *err) {
    if (!w->left_out)
        return check_data(l, known, f, err);
    bool is_weight = known && known->id == RAW_DATA && l->type == &onnx__tensor_proto__descriptor && wire_type(f) == 2;
    if (f->tag >> 3 == TC_ONNX_PIECE)
        return TC_OK;
    if (is_weight)
        TC_TRY(see(l, known, f->start, err));
    if (!is_weight || f->end - f->content < LEAST_PIECE)
        return copy_field(w, f, err);
    leave_out(w, f);
    return TC_OK;
}

/* Texts are names of something, but for comments, which nobody reads. */
static bool is_name(const ProtobufCFieldDescriptor *known, const field *f) {
    return known && known->type == PROTOBUF_C_TYPE_STRING && wire_type(f) == 2 && strcmp(known->name, "doc_string") != 0;
}

/* protobuf-c takes any bytes for text, and ends it at a zero. `at`: where the byte is in the file. */
static tc_status refuse_name(const level *stack, int depth, const ProtobufCFieldDescriptor *known, const field *f, size_t at,
                             unsigned byte, tc_error *err) {
    tc_strbuf where = {0};
    for (int i = 1; i <= depth; i++)
        tc_sb_printf(&where, "%s.", stack[i].as->name);
    tc_status s = tc_refuse(err, TC_ERROR_BAD_TEXT,
                            "the text of field %s%s is not UTF-8 without zeros: its byte %zu, byte %zu of the file, is 0x%02x; "
                            "write the model again with other names",
                            tc_sb_str(&where), known->name, at - f->content, at, byte);
    tc_strbuf_free(&where);
    return s;
}

static tc_status check_name(walk *w, const level *stack, int depth, const ProtobufCFieldDescriptor *known, const field *f,
                            tc_error *err) {
    enum { LONGEST = 4 }; /* bytes of a character */
    for (size_t at = f->content, good; at < f->end; at += good) {
        size_t n = TC_MIN(f->end - at, (size_t)LEAST_PIECE);
        const uint8_t *p = tc_onnx_source_look(w->from, at, n);
        if (!p)
            return diagnose(w->from, err);
        good = tc_utf8_fault((const char *)p, n);
        const uint8_t *zero = memchr(p, 0, good);
        bool cut = n - good < LONGEST && at + n < f->end; /* the character goes on in the next piece */
        size_t bad = zero ? (size_t)(zero - p) : good;
        if (zero || (good < n && !cut))
            return refuse_name(stack, depth, known, f, at + bad, p[bad], err);
    }
    return TC_OK;
}

static bool is_message(const ProtobufCFieldDescriptor *known, const field *f) {
    return known && known->type == PROTOBUF_C_TYPE_MESSAGE && wire_type(f) == 2;
}

static tc_status walk_all(walk *w, const ProtobufCMessageDescriptor *type, tc_error *err) {
    level stack[TC_DEPTH_MODEL] = {{.type = type, .end = w->from->size}};
    size_t at = 0;
    for (int depth = 0;;) {
        level *l = &stack[depth];
        if (at == l->end && depth == 0)
            return TC_OK;
        if (at == l->end) {
            end_message(w, l);
            depth--;
            continue;
        }
        field f;
        uint64_t length;
        if (!read_field(w->from, at, l->end, &f, &length))
            return diagnose(w->from, err);
        const ProtobufCFieldDescriptor *known = protobuf_c_message_descriptor_get_field(l->type, (unsigned)(f.tag >> 3));
        if (!is_message(known, &f)) {
            if (is_name(known, &f))
                TC_TRY(check_name(w, stack, depth, known, &f, err));
            TC_TRY(keep(w, l, known, &f, err));
            at = f.end;
            continue;
        }
        TC_TRY(see(l, known, at, err));
        if (++depth == TC_DEPTH_MODEL)
            return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                             "its messages are nested more than %d deep (a %s at byte %zu); the file is damaged, or its types "
                             "and bodies are nested too deeply",
                             TC_DEPTH_MODEL, l->type->short_name, at);
        stack[depth] = (level){.type = known->descriptor, .as = known, .end = f.end};
        begin_message(w, &f, &stack[depth]);
        at = f.content;
    }
}

tc_status tc_onnx_unpack(const ProtobufCMessageDescriptor *type, ProtobufCAllocator *allocator, tc_onnx_source *from,
                         tc_onnx_pieces *left_out, ProtobufCMessage **out, tc_error *err) {
    walk w = {.from = from, .left_out = left_out};
    *out = NULL;
    tc_status s = from->size ? walk_all(&w, type, err) : diagnose(from, err);
    if (s == TC_OK) {
        *out = left_out ? protobuf_c_message_unpack(type, allocator, w.copy.len, (const uint8_t *)tc_sb_str(&w.copy))
                        : protobuf_c_message_unpack(type, allocator, from->size, from->data);
        s = *out ? TC_OK : diagnose(from, err);
    }
    tc_strbuf_free(&w.copy);
    return s;
}
