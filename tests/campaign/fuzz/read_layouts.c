/* Schedules of a few small kernels, above all their layouts. The kernels are fixed, so that all time goes into schedules. What must
 * hold: a text that is read prints as a text that reads as the same trace; a refusal names the place; a replay repeated gives the
 * same schedule, in canonical names too; no layout puts two elements into one place; programs are what the verifier takes, and
 * compute what the kernel says. */
#include "layouts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/vec.h"
#include "targets.h"
#include "te/eval.h"
#include "te/text.h"

/* ---- kernels ---- */

/* The element types and ranks that steps tell apart, constants, units of intrinsics.def, parts of a tensor, and a size that
 * varies. */
static const struct {
    const char *name, *text;
} KERNELS[] = {
    {"gemm", "tensor X[10, 24] f32\ntensor W[24, 20] f32 const\ntensor B[20] f32 const\n"
             "compute D[i:10, j:20] = sum(k:24) X[i, k] * W[k, j]\ncompute Y[i:10, j:20] = relu(D[i, j] + B[j])\noutput Y\n"},
    {"conv", "tensor X[2, 9, 9] f32\ntensor W[4, 2, 3, 3] f32 const\n"
             "compute Y[o:4, y:7, x:7] = sum(c:2, u:3, v:3) X[c, y + u, x + v] * W[o, c, u, v]\noutput Y\n"},
    {"chain", "tensor X[6, 10] f32\ncompute A[i:6, j:10] = X[i, j] * 2.0\ncompute B[i:6, j:10] = A[i, j] + A[5 - i, j]\n"
              "compute C[i:6, j:10] = max(B[i, j], A[i, j])\noutput C\n"},
    {"rows", "tensor X[7, 12] f32\ncompute M[i:7] = max(k:12) X[i, k]\ncompute E[i:7, j:12] = exp(X[i, j] - M[i])\n"
             "compute S[i:7] = sum(k:12) E[i, k]\ncompute Y[i:7, j:12] = E[i, j] / S[i]\noutput Y\n"},
    {"parts", "tensor X[6, 12] f32\ncompute S[i:6, j:6] = sum(k:4) X[i, k] * X[j, k + 5]\n"
              "compute Y[i:6, d:3] = sum(j:6) S[i, j] * X[j, d + 9]\noutput Y\n"},
    {"bytes", "tensor X[16, 64] u8\ntensor W[64, 16] i8 const\n"
              "compute D[i:16, j:16] = sum(k:64) i32(X[i, k]) * i32(W[k, j])\noutput D\n"},
    {"varying", "symbol N 1..12\ntensor X[N, 8] f32\ntensor W[8, 6] f32 const\n"
                "compute D[i:N, j:6] = sum(k:8) X[i, k] * W[k, j]\ncompute Y[i:N, j:6] = D[i, j] + 1.0\noutput Y\n"},
};
const int fuzz_nkernels = (int)TC_LEN(KERNELS);

static void make_kernel(fuzz_kernel *k, const char *name, const char *text) {
    static const int64_t sizes[] = {7};
    tc_error err = {0};
    k->name = name;
    k->text = text;
    k->ctx = tc_ctx_new();
    if (tc_te_parse(k->ctx, name, text, &k->w, &err) != TC_OK)
        fuzz_wrong("%s", err.msg);
    k->canonical = tc_te_canonical(k->ctx, k->w);
    tc_status s =
        k->w->nsymbol ? oracle_open_at(&k->results, k->ctx, k->w, sizes, 1, &err) : oracle_open(&k->results, k->w, 1, &err);
    if (s != TC_OK)
        fuzz_wrong("%s", err.msg);
}

const fuzz_kernel *fuzz_kernel_at(int i) {
    static fuzz_kernel made[TC_LEN(KERNELS)];
    if (!made[i].ctx)
        make_kernel(&made[i], KERNELS[i].name, KERNELS[i].text);
    return &made[i];
}

const fuzz_kernel *fuzz_kernel_of(const char *text) {
    static const char mark[] = "# of ";
    const char *name = strncmp(text, mark, sizeof mark - 1) == 0 ? text + sizeof mark - 1 : "";
    size_t n = strcspn(name, ".\n");
    for (int i = 0; i < fuzz_nkernels; i++)
        if (strlen(KERNELS[i].name) == n && strncmp(KERNELS[i].name, name, n) == 0)
            return fuzz_kernel_at(i);
    return fuzz_kernel_at(0);
}

/* ---- texts ---- */

/* A text is refused with "FILE:LINE:COLUMN: ", a step of a trace with "step 3 (line 4, column 1), `". */
static void check_place(const char *msg, bool step) {
    int number, line, column, length = 0;
    bool is = step ? sscanf(msg, "step %d (line %d, column %d), `%n", &number, &line, &column, &length) == 3
                   : sscanf(msg, "input.sched:%d:%d: %n", &line, &column, &length) == 2;
    if (!is || length == 0 || !msg[length])
        fuzz_wrong("refused without a place: %s", msg);
}

/* The text of t reads as t, and prints as the same text. */
static void check_text(tc_arena *a, const tc_trace *t) {
    tc_trace *again = NULL;
    tc_error err = {0};
    const char *text = tc_trace_text(a, t);
    if (tc_trace_parse(a, "printed.sched", text, &again, &err) != TC_OK)
        fuzz_wrong("printed, it is refused: %s\n%s", err.msg, text);
    if (!tc_trace_equal(t, again) || tc_trace_hash(t) != tc_trace_hash(again) || !tc_trace_equal(t, tc_trace_copy(a, t)))
        fuzz_wrong("printed, it is another one:\n%s---\n%s", text, tc_trace_text(a, again));
    if (strcmp(text, tc_trace_text(a, again)) != 0)
        fuzz_wrong("read back, it prints otherwise:\n%s---\n%s", text, tc_trace_text(a, again));
}

/* ---- layouts ---- */

static int64_t value_of(const tc_layout *l, const tc_expr *e, const int64_t *at) {
    for (int i = 0; e->op == TC_OP_VAR && i < l->nin; i++)
        if (l->var[i] == e->u.var)
            return at[i];
    if (e->op == TC_OP_INT)
        return e->u.i;
    if (e->op != TC_OP_ADD && e->op != TC_OP_SUB && e->op != TC_OP_MUL && e->op != TC_OP_DIV && e->op != TC_OP_MOD)
        fuzz_wrong("a layout has the operation %s", tc_op_text((tc_op)e->op));
    return tc_eval_i((tc_op)e->op, TC_I64, value_of(l, e->args[0], at), value_of(l, e->args[1], at));
}

/* The place of an element in the physical array. */
static int64_t place_of(const tc_layout *l, const int64_t *physical, const int64_t *at) {
    int64_t place = 0;
    for (int p = 0; p < l->nout; p++) {
        int64_t v = value_of(l, l->to[p], at);
        if (v < 0 || v >= physical[p])
            fuzz_wrong("part %d of a layout is %lld, of %lld", p + 1, (long long)v, (long long)physical[p]);
        place = place * physical[p] + v;
    }
    return place;
}

/* Each element has a place of its own. Arrays that are large for a test are passed over. */
static void check_layout(const tc_layout *l, const tc_tensor *t) {
    enum { MOST_PLACES = 1 << 16 };
    int64_t physical[TC_MAX_DIMS], at[TC_MAX_DIMS], size = 1;
    if (!tc_sch_layout_shape(l, t->shape, physical))
        fuzz_wrong("the layout of %s has no shape", t->name);
    for (int p = 0; p < l->nout; p++) {
        if (physical[p] > MOST_PLACES / size)
            return;
        size *= physical[p];
    }
    unsigned char *taken = tc_xcalloc((size_t)size, 1);
    for (int64_t e = 0; e < tc_tensor_size(t); e++) {
        int64_t rest = e;
        for (int i = t->ndim - 1; i >= 0; rest /= t->shape[i], i--)
            at[i] = rest % t->shape[i];
        int64_t place = place_of(l, physical, at);
        if (taken[place]++)
            fuzz_wrong("two elements of %s have the place %lld", t->name, (long long)place);
    }
    free(taken);
}

static void check_layouts(const tc_sched *s) {
    for (int i = 0; i < s->npacked; i++)
        check_layout(s->packed[i].layout, s->packed[i].original);
    for (int i = 0; i < s->nstage; i++)
        if (s->stages[i].layout)
            check_layout(s->stages[i].layout, s->stages[i].op->out[0]);
}

/* ---- schedules ---- */

static const char *text_of(tc_arena *a, const tc_sched *s) {
    tc_strbuf b = {0};
    tc_sch_print(&b, s);
    return tc_sb_keep(&b, a);
}

/* The same trace gives the same schedule; so does its text in canonical names, whose names may clash. */
static void check_again(tc_ctx *c, const fuzz_kernel *k, const tc_sched *s) {
    tc_arena *a = tc_ctx_arena(c);
    tc_sched *again = NULL;
    tc_error err = {0};
    if (tc_sch_replay(c, k->w, s->trace, NULL, &again, &err) != TC_OK)
        fuzz_wrong("replayed again, it is refused: %s", err.msg);
    if (strcmp(text_of(a, s), text_of(a, again)) != 0)
        fuzz_wrong("replayed again, it is another schedule:\n%s---\n%s", text_of(a, s), text_of(a, again));
    tc_trace *canonical = tc_trace_canonical(a, k->w, s->trace);
    check_text(a, canonical);
    check_text(a, tc_trace_own(a, k->w, canonical));
    if (fuzz_good(tc_sch_replay(c, k->canonical, canonical, NULL, &again, &err), &err) && again->nloop != s->nloop)
        fuzz_wrong("in canonical names it is another schedule:\n%s---\n%s", text_of(a, s), text_of(a, again));
}

static void check_program(const fuzz_kernel *k, tc_ctx *c, const tc_func *f, uint64_t shuffle) {
    tc_error err = {0};
    if (!f || !fuzz_small_program(f))
        return;
    tc_status s = f->nsymbol ? oracle_run(&k->results, f, shuffle, &err) : oracle_check(&k->results, c, f, shuffle, &err);
    if (s != TC_OK)
        fuzz_wrong("the program computes something else: %s", err.msg);
}

static void use_schedule(tc_ctx *c, const fuzz_kernel *k, tc_sched *s, tc_rng *chance) {
    enum { ONE_IN = 8 }; /* programs take most of the time */
    tc_func *nest, *lowered;
    check_layouts(s);
    check_again(c, k, s);
    fuzz_lower(c, s, &nest, &lowered);
    if (tc_rng_below(chance, ONE_IN) == 0) {
        check_program(k, c, nest, 0);
        check_program(k, c, lowered, 7);
    }
}

void fuzz_read_layouts(const char *data, size_t size) {
    tc_rng chance = fuzz_chance(data, size);
    char *text = fuzz_text(data, size);
    const fuzz_kernel *k = fuzz_kernel_of(text);
    tc_ctx *c = tc_ctx_child(k->ctx);
    tc_arena *a = tc_ctx_arena(c);
    tc_trace *trace = NULL;
    tc_sched *s = NULL;
    tc_error err = {0};
    if (tc_trace_parse(a, "input.sched", text, &trace, &err) != TC_OK) {
        check_place(err.msg, false);
    } else {
        check_text(a, trace);
        if (tc_sch_replay(c, k->w, trace, &chance, &s, &err) == TC_OK)
            use_schedule(c, k, s, &chance);
        else
            check_place(err.msg, true);
    }
    tc_ctx_free(c);
    free(text);
}
