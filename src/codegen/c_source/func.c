/* Lowered kernels as C17. A vector becomes a loop over its lanes, with every node written as the scalar at lane `l`; compilers turn
 * the loop into vectors again. The C code reads, computes and rounds as the machine code does. Only rare functions use
 * libm. */
#include <inttypes.h>

#include "codegen/c_source/c_source_int.h"

__asm__(".pushsection .rodata\n"
        "tc_cg_c_prelude_begin: .incbin \"" TCTUNE_C_PRELUDE "\"\n"
        "tc_cg_c_prelude_end: .byte 0\n"
        ".popsection\n");

extern const char tc_cg_c_prelude_begin[] __attribute__((visibility("hidden")));
extern const char tc_cg_c_prelude_end[] __attribute__((visibility("hidden")));

void tc_cg_c_prelude(tc_strbuf *b) {
    tc_sb_addn(b, tc_cg_c_prelude_begin, (size_t)(tc_cg_c_prelude_end - tc_cg_c_prelude_begin));
    tc_sb_addc(b, '\n');
}

static void open_function(tc_cgc_writer *w, const char *symbol) {
    tc_cgc_text(w, "static void %s(", symbol);
    for (int i = 0; i < w->f->nparam; i++)
        tc_cgc_text(w, "%svoid *a%d, ", w->f->params[i].kind == TC_PARAM_OUT ? "" : "const ", i);
    tc_cgc_text(w, "%suint8_t *workspace) {\n", w->f->nsymbol ? "const int64_t *sizes, " : "");
    w->indent = 1;
    for (int i = 0; i < w->f->nsymbol; i++) {
        const tc_var *v = w->f->symbols[i];
        tc_cgc_line(w, "const int64_t ");
        tc_cgc_name(w, v->name, v->id);
        tc_cgc_text(w, " = sizes[%d];\n", i);
        tc_cgc_line(w, "(void)");
        tc_cgc_name(w, v->name, v->id);
        tc_cgc_text(w, ";\n");
    }
    for (int i = 0; i < w->f->nparam; i++) {
        const tc_param *p = &w->f->params[i];
        tc_cgc_line(w, "%stc_%s *%sconst ", p->kind == TC_PARAM_OUT ? "" : "const ", tc_dtype_name(p->buffer->dtype),
                    p->overlaps ? "" : "restrict ");
        tc_cgc_buffer(w, p->buffer);
        tc_cgc_text(w, " = a%d;\n", i);
        tc_cgc_line(w, "(void)");
        tc_cgc_buffer(w, p->buffer);
        tc_cgc_text(w, ";\n");
    }
    tc_cgc_line(w, "uint8_t *const shared = workspace, *const thread0 = workspace + %" PRId64 ";\n",
                tc_cgc_round64(w->f->shared_bytes));
    tc_cgc_line(w, "(void)shared, (void)thread0;\n");
    tc_cgc_line(w, "const unsigned before = tc_begin_flush();\n");
}

tc_status tc_cg_emit_c(const tc_func *f, const char *symbol, int nthreads, tc_strbuf *b, int64_t *stack, tc_error *err) {
    tc_cgc_writer w = {.b = b, .f = f, .thread = "thread0", .nthreads = nthreads, .env = tc_env_new(), .err = err};
    open_function(&w, symbol);
    tc_cgc_stmt(&w, f->body);
    tc_cgc_line(&w, "tc_end_flush(before);\n");
    tc_cgc_text(&w, "}\n\n");
    if (stack)
        *stack = w.stack;
    tc_env_free(w.env);
    tc_map_free(&w.loads);
    tc_map_free(&w.use);
    tc_vec_free(&w.order);
    return w.status;
}
