/* The pass table and its runner. */
#include "tir_lower/passes/pass.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

#include <stdio.h>
#include <string.h>

#include "support/say.h"

enum {
#define PROPERTY(id, text) id = 1 << TC_TIR_##id,
#include "tir_lower/passes/properties.def"
#undef PROPERTY
};

const unsigned tc_tir_built = TILE_LOOPS | PLAIN_SUMS | NO_HINTS, tc_tir_lowered = NO_UNROLL | NO_TENSOR | NO_VECTOR | PLACED;

/* Passes that copy or widen buffers break their places. */
const tc_tir_pass tc_tir_passes[] = {
    /* name, function, requires, provides, breaks */
    {"simplify", tir_pass_simplify, NO_HINTS, 0, 0},
    {"partition", tir_pass_partition, TILE_LOOPS, PARTITIONED, PLACED},
    {"tidy", tir_pass_simplify, NO_HINTS, 0, 0},
    {"unroll", tir_pass_unroll, PARTITIONED | NO_HINTS, NO_UNROLL, TILE_LOOPS | PLACED},
    {"tile", tir_pass_tile, NO_UNROLL | NO_HINTS, NO_TENSOR, TILE_LOOPS | PLACED},
    {"vectorize", tir_pass_vectorize, NO_UNROLL | NO_HINTS, NO_VECTOR, TILE_LOOPS | PLACED},
    {"neutral", tir_pass_neutral, NO_VECTOR | PLAIN_SUMS, 0, 0},
    {"promote", tir_pass_promote, NO_UNROLL | NO_VECTOR, REGISTERS, PLACED},
    {"dot", tir_pass_dot, REGISTERS | PLAIN_SUMS, 0, 0},
    {"fma", tir_pass_fma, 0, 0, PLAIN_SUMS},
    {"order", tir_pass_order, REGISTERS, 0, 0},
    {"prefetch", tir_pass_prefetch, REGISTERS, 0, NO_HINTS},
    {"results", tir_pass_results, REGISTERS, 0, NO_HINTS},
    {"storage", tir_pass_storage, REGISTERS, PLACED, 0},
};
const int tc_tir_npasses = (int)TC_LEN(tc_tir_passes);

const char *tc_tir_property_text(tc_tir_property p) {
    static const char *const TEXT[] = {
#define PROPERTY(id, text) [TC_TIR_##id] = text,
#include "tir_lower/passes/passes.h"
#include "tir_lower/passes/properties.def"
#undef PROPERTY
    };
    return TEXT[p];
}

static void refute(const tc_stmt *s, void *user) {
    unsigned *gone = user;
    if (s->kind == TC_STMT_FOR)
        *gone |= s->u.loop.kind == TC_FOR_UNROLL   ? NO_UNROLL
                 : s->u.loop.kind == TC_FOR_VECTOR ? NO_VECTOR
                 : s->u.loop.kind == TC_FOR_TENSOR ? NO_TENSOR
                                                   : 0;
    if (s->kind == TC_STMT_PREFETCH)
        *gone |= NO_HINTS;
}

unsigned tc_tir_refuted(const tc_func *f) {
    unsigned gone = f->place ? 0 : PLACED;
    if (f->body)
        tc_tir_walk(f->body, refute, &gone);
    return gone;
}

static tc_status lacks(const char *who, unsigned missing, tc_error *err) {
    int first = 0;
    while (!(missing >> first & 1))
        first++;
    return tc_fail(err, TC_ILLEGAL, "%s a program %s", who, tc_tir_property_text((tc_tir_property)first));
}

tc_status tc_tir_run_pass(const tc_tir_pass *p, tc_ctx *c, const tc_machine *m, const tc_func *in, unsigned *have, tc_func **out,
                          tc_error *err) {
    char who[64];
    snprintf(who, sizeof who, "pass %s requires", p->name);
    if (p->requires & ~*have)
        return lacks(who, p->requires & ~*have, err);
    TC_TRY(p->run(c, m, in, out, err));
    snprintf(who, sizeof who, "pass %s did not make", p->name);
    unsigned failed = p->provides ? p->provides & tc_tir_refuted(*out) : 0;
    if (failed)
        return lacks(who, failed, err);
    *have = (*have & ~p->breaks) | p->provides;
    return TC_OK;
}

static bool wanted(const char *dump, const char *name) {
    return dump && (strcmp(dump, name) == 0 || strcmp(dump, "all") == 0);
}

/* `before`: text of the previous stage, replaced by this one's. */
static void dump_stage(const char *name, const tc_func *f, tc_strbuf *before, bool show) {
    tc_strbuf now = {0};
    tc_tir_print(&now, f);
    if (show) {
        bool same = before->data && strcmp(tc_sb_str(before), tc_sb_str(&now)) == 0;
        tc_say(stderr, same ? "# after %s (unchanged)\n\n" : "# after %s\n", name);
        tc_say_lines(stderr, same ? "" : tc_sb_str(&now));
    }
    tc_strbuf_free(before);
    *before = now;
}

/* The verifier after every pass is for builds that look for bugs; a violation is one. Where sizes vary it is not: what cannot be
 * shown of one stage may be plain in the next, and only what comes of all must be. */
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
    unsigned have = tc_tir_built & ~tc_tir_refuted(f);
    tc_strbuf text = {0};
    tc_status status = TC_OK;
    if (dump)
        dump_stage("build", f, &text, wanted(dump, "build"));
    for (int i = 0; i < tc_tir_npasses && status == TC_OK; i++) {
        const tc_tir_pass *p = &tc_tir_passes[i];
        tc_func *next = NULL;
        status = tc_tir_run_pass(p, c, m, f, &have, &next, err);
        if (status != TC_OK)
            break;
        f = next;
        if (dump)
            dump_stage(p->name, f, &text, wanted(dump, p->name));
        if (!f->nsymbol || i == tc_tir_npasses - 1)
            status = check(c, p->name, f, err);
    }
    tc_strbuf_free(&text);
    if (status == TC_OK && (tc_tir_lowered & ~have))
        status = lacks("lowering did not make", tc_tir_lowered & ~have, err);
    if (status == TC_OK)
        *out = tc_arena_dup(tc_ctx_arena(c), f, sizeof *f);
    return status;
}
