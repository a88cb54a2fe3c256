/* Which line of the program's text each instruction is from (DWARF), for debuggers and profilers. Variables are not described. */
#include <llvm-c/DebugInfo.h>
#include <string.h>

#include "codegen/code/code_int.h"
#include "tir_lower/text/text.h"

typedef struct tc_cg_lines {
    LLVMDIBuilderRef b;
    LLVMMetadataRef file, type; /* the text; of functions, of which nothing is said */
    tc_map of;                  /* by a statement's address */
    int first;                  /* line of the function */
} tc_cg_lines;

enum { DWARF_VERSION = 4 }; /* which tools of the last ten years read */

/* ---- life ---- */

static void flag(tc_cg *g, const char *name, unsigned value) {
    LLVMAddModuleFlag(g->mod, LLVMModuleFlagBehaviorWarning, name, strlen(name),
                      LLVMValueAsMetadata(LLVMConstInt(g->i32, value, 0)));
}

static void begin_unit(tc_cg *g, tc_cg_lines *l, const tc_cg_text *text) {
    static const char by[] = "tctune " TCTUNE_VERSION;
    l->b = LLVMCreateDIBuilder(g->mod);
    l->file = LLVMDIBuilderCreateFile(l->b, text->file, strlen(text->file), text->folder, strlen(text->folder));
    LLVMDIBuilderCreateCompileUnit(l->b, LLVMDWARFSourceLanguageC99, l->file, by, sizeof by - 1, 1, "", 0, 0, "", 0,
                                   LLVMDWARFEmissionFull, 0, 0, 0, "", 0, "", 0);
    l->type = LLVMDIBuilderCreateSubroutineType(l->b, l->file, NULL, 0, LLVMDIFlagZero);
}

void tc_cg_lines_open(tc_cg *g, const tc_func *f, const tc_cg_text *text) {
    if (!text)
        return;
    tc_strbuf b = {0};
    tc_cg_lines *l = g->lines = TC_NEW(g->k->arena, tc_cg_lines);
    *l = (tc_cg_lines){.first = text->line};
    tc_tir_print_lines(&b, f, text->line, &l->of);
    tc_strbuf_free(&b);
    begin_unit(g, l, text);
    flag(g, "Debug Info Version", LLVMDebugMetadataVersion());
    flag(g, "Dwarf Version", DWARF_VERSION);
}

void tc_cg_lines_close(tc_cg *g) {
    if (!g->lines)
        return;
    LLVMDIBuilderFinalize(g->lines->b);
    LLVMDisposeDIBuilder(g->lines->b);
    tc_map_free(&g->lines->of);
    g->lines = NULL;
}

/* ---- places ---- */

static int line_of(const tc_cg_lines *l, const tc_stmt *s) {
    const uintptr_t *line = tc_map_get(&l->of, (uintptr_t)s);
    return line ? (int)*line : l->first;
}

static void go_to(tc_cg *g, int line) {
    LLVMMetadataRef scope = LLVMGetSubprogram(g->fn);
    LLVMSetCurrentDebugLocation2(g->b, LLVMDIBuilderCreateDebugLocation(g->ctx, (unsigned)line, 0, scope, NULL));
}

void tc_cg_lines_function(tc_cg *g, tc_val fn, const tc_stmt *s) {
    tc_cg_lines *l = g->lines;
    if (!l)
        return;
    size_t n;
    const char *name = LLVMGetValueName2(fn, &n);
    unsigned line = (unsigned)line_of(l, s);
    bool local = LLVMGetLinkage(fn) == LLVMInternalLinkage;
    LLVMSetSubprogram(fn, LLVMDIBuilderCreateFunction(l->b, l->file, name, n, name, n, l->file, line, l->type, local, 1, line,
                                                      LLVMDIFlagZero, 1));
    go_to(g, (int)line);
}

/* A sequence has no line of its own. */
LLVMMetadataRef tc_cg_line_begin(tc_cg *g, const tc_stmt *s) {
    if (!g->lines)
        return NULL;
    LLVMMetadataRef before = LLVMGetCurrentDebugLocation2(g->b);
    if (s && tc_map_get(&g->lines->of, (uintptr_t)s))
        go_to(g, line_of(g->lines, s));
    return before;
}

void tc_cg_line_end(tc_cg *g, LLVMMetadataRef before) {
    if (g->lines)
        LLVMSetCurrentDebugLocation2(g->b, before);
}
