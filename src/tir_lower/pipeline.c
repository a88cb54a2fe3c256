/* The pass table and its runner. */
#include "tir_lower/pass_int.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

const tc_tir_pass tc_tir_passes[] = {
    {"simplify", tir_pass_simplify, 0, 0},
    {"partition", tir_pass_partition, 0, TC_PARTITIONED},
    {"tidy", tir_pass_simplify, TC_PARTITIONED, 0},
    {"unroll", tir_pass_unroll, 0, 0},
    {"vectorize", tir_pass_vectorize, 0, TC_NO_VECTOR},
    {"neutral", tir_pass_neutral, TC_NO_VECTOR, 0},
    {"promote", tir_pass_promote, TC_NO_VECTOR, TC_REGISTERS},
    {"dot", tir_pass_dot, TC_REGISTERS, 0},
    {"fma", tir_pass_fma, TC_NO_VECTOR, 0},
    {"order", tir_pass_order, TC_REGISTERS, 0},
    {"prefetch", tir_pass_prefetch, TC_REGISTERS, 0},
    {"storage", tir_pass_storage, TC_REGISTERS, TC_PLACED},
};
const int tc_tir_npasses = (int)TC_LEN(tc_tir_passes);

static bool wanted(const char *dump, const char *name) {
    return dump && (strcmp(dump, name) == 0 || strcmp(dump, "all") == 0);
}

/* `before`: text of the previous stage, replaced by this one's. */
static void dump_stage(const char *name, const tc_func *f, tc_strbuf *before, bool show) {
    tc_strbuf now = {0};
    tc_tir_print(&now, f);
    if (show) {
        bool same = before->data && strcmp(tc_sb_str(before), tc_sb_str(&now)) == 0;
        fprintf(stderr, "# after %s%s\n%s", name, same ? " (unchanged)\n" : "", same ? "" : tc_sb_str(&now));
    }
    tc_strbuf_free(before);
    *before = now;
}

/* The verifier after every pass is for builds that look for bugs; a violation is one. */
static tc_status check(tc_ctx *c, const char *pass, const tc_func *f, tc_error *err) {
#if TCTUNE_VERIFY
    tc_error why = {0};
    tc_status s = tc_tir_verify(c, f, &why);
    if (s != TC_OK)
        return tc_fail(err, s, "after pass %s: %s", pass, why.msg);
#else
    (void)c, (void)pass, (void)f, (void)err;
#endif
    return TC_OK;
}

tc_status tc_tir_lower(tc_ctx *c, const tc_machine *m, const tc_func *f, const char *dump, tc_func **out, tc_error *err) {
    unsigned have = TC_HAS_GUARDS;
    tc_strbuf text = {0};
    tc_status status = TC_OK;
    if (dump)
        dump_stage("build", f, &text, wanted(dump, "build"));
    for (int i = 0; i < tc_tir_npasses && status == TC_OK; i++) {
        const tc_tir_pass *p = &tc_tir_passes[i];
        tc_func *next = NULL;
        assert((have & p->needs) == p->needs);
        status = p->run(c, m, f, &next, err);
        if (status != TC_OK)
            break;
        f = next;
        have |= p->gives;
        if (dump)
            dump_stage(p->name, f, &text, wanted(dump, p->name));
        status = check(c, p->name, f, err);
    }
    tc_strbuf_free(&text);
    if (status == TC_OK)
        *out = tc_arena_dup(tc_ctx_arena(c), f, sizeof *f);
    return status;
}
