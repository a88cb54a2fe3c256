/* The table of a library's profile, as constants. */
#include "codegen/artefacts/artefacts_int.h"

#include <stdlib.h>
#include <string.h>

static tc_val constant(tc_cg *g, tc_val init, const char *name) {
    tc_val v = LLVMAddGlobal(g->mod, LLVMTypeOf(init), name);
    LLVMSetInitializer(v, init);
    LLVMSetGlobalConstant(v, 1);
    LLVMSetLinkage(v, LLVMInternalLinkage);
    return v;
}

static tc_val text(tc_cg *g, const char *s) {
    return constant(g, LLVMConstStringInContext(g->ctx, s, (unsigned)strlen(s), 0), "text");
}

static tc_val i32(tc_cg *g, int v) {
    return LLVMConstInt(g->i32, (unsigned long long)(long long)v, 1);
}

static tc_val row(tc_cg *g, const tc_cg_profile_row *r) {
    tc_val fields[] = {text(g, r->name), text(g, r->schedule), LLVMConstReal(g->f64, r->flops)};
    return LLVMConstStructInContext(g->ctx, fields, TC_LEN(fields), 0);
}

static tc_val rows(tc_cg *g, const tc_cg_profile *p) {
    tc_val *all = tc_xcalloc((size_t)p->nrow + 1, sizeof *all);
    for (int i = 0; i < p->nrow; i++)
        all[i] = row(g, &p->rows[i]);
    tc_val list =
        p->nrow ? constant(g, LLVMConstArray2(LLVMTypeOf(all[0]), all, (uint64_t)p->nrow), "rows") : LLVMConstNull(g->ptr);
    free(all);
    return list;
}

static tc_val rows_of_steps(tc_cg *g, const tc_cg_profile *p) {
    tc_val *all = tc_xcalloc((size_t)p->nstep + 1, sizeof *all);
    for (int i = 0; i < p->nstep; i++)
        all[i] = i32(g, p->row_of[i]);
    tc_val list = constant(g, LLVMConstArray2(g->i32, all, (uint64_t)p->nstep), "row_of");
    free(all);
    return list;
}

tc_val tc_cg_profile_table(tc_cg *g, const tc_cg_profile *p) {
    tc_val fields[] = {text(g, p->name), i32(g, p->nrow), i32(g, p->nstep), rows(g, p), rows_of_steps(g, p)};
    return constant(g, LLVMConstStructInContext(g->ctx, fields, TC_LEN(fields), 0), "profile");
}
