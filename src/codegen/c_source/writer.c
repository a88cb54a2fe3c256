/* Text of C: lines, names, types. */
#include <inttypes.h>

#include "codegen/c_source/c_source_int.h"

void tc_cgc_text(tc_cgc_writer *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vprintf(w->b, fmt, ap);
    va_end(ap);
}

void tc_cgc_line(tc_cgc_writer *w, const char *fmt, ...) {
    va_list ap;
    for (int i = 0; i < w->indent; i++)
        tc_sb_add(w->b, "    ");
    va_start(ap, fmt);
    tc_sb_vprintf(w->b, fmt, ap);
    va_end(ap);
}

void tc_cgc_fail(tc_cgc_writer *w, const char *what) {
    if (w->status == TC_OK)
        w->status = tc_fail(w->err, TC_ILLEGAL, "kernel '%s': cannot write C for %s", w->f->name, what);
}

const char *tc_cgc_value_type(tc_dtype t) {
    static const char *const names[TC_NDTYPES] = {"int",     "int8_t",   "uint8_t", "int16_t", "uint16_t", "int32_t", "uint32_t",
                                                  "int64_t", "uint64_t", "float",   "float",   "float",    "double",  "float",
                                                  "float",   "float",    "float",   "int8_t",  "uint8_t",  "float",   "float"};
    return names[t];
}

bool tc_cgc_is_narrow(tc_dtype t) {
    return tc_dtype_is_float(t) && tc_dtype_bits(t) < 32;
}

void tc_cgc_name(tc_cgc_writer *w, const char *s, uint32_t id) {
    for (size_t i = 0; s && s[i] && i < 40; i++) {
        char c = s[i];
        bool ok = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9' && i > 0) || c == '_';
        tc_sb_addc(w->b, ok ? c : '_');
    }
    tc_cgc_text(w, "_%" PRIu32, id);
}

void tc_cgc_buffer(tc_cgc_writer *w, const tc_buffer *b) {
    tc_cgc_name(w, b->name, b->id);
}
