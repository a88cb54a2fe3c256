/* Damage to schedules that mostly leaves them legal. Steps are added behind a part of the trace that still applies, for the stages
 * and loops that are there then; layouts are made of digits as legal ones are, and terms of layouts are replaced by other terms. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/break_text.h"
#include "common/random_trace.h"
#include "layouts.h"
#include "support/vec.h"
#include "targets.h"

/* A trace under change, in the arena of `c`. */
typedef struct victim {
    tc_rng *r;
    const fuzz_kernel *k;
    tc_ctx *c;
    tc_trace *t;
} victim;

static int64_t below(victim *v, int64_t n) {
    return tc_rng_below(v->r, n);
}

/* ---- terms ---- */

/* A decision of the trace, or a part of it; false: it has none. */
static bool add_decision(victim *v, tc_strbuf *out) {
    for (int tries = 0; tries < 8 && v->t->n > 0; tries++) {
        const tc_instr *in = &v->t->steps[below(v, v->t->n)];
        if (!tc_prim_sampled(in->prim))
            continue;
        tc_sb_add(out, in->outs[0]);
        if (in->prim == TC_PRIM_SAMPLE_TILE)
            tc_sb_printf(out, ".%d", (int)below(v, TC_MAX_PARTS));
        return true;
    }
    return false;
}

static void add_number(victim *v, tc_strbuf *out) {
    static const int64_t COMMON[] = {1, 2, 3, 4, 5, 6, 8, 16, 64};
    if (below(v, 6) == 0 && add_decision(v, out))
        return;
    int64_t n = below(v, 8) ? COMMON[below(v, (int64_t)TC_LEN(COMMON))] : fuzz_number(v->r);
    tc_sb_printf(out, "%lld", (long long)n);
}

/* `x` with an operation, in brackets. */
static void add_operation(victim *v, const char *x, tc_strbuf *out) {
    static const char signs[] = "/%*+-";
    tc_sb_printf(out, "(%s %c ", x, signs[below(v, sizeof signs - 1)]);
    add_number(v, out);
    tc_sb_addc(out, ')');
}

/* A term of coordinate `x`. */
static void add_term(victim *v, const char *x, tc_strbuf *out) {
    long long a = 1 + below(v, 8), b = 1 + below(v, 8);
    switch (below(v, 6)) {
    case 0:
        add_number(v, out);
        return;
    case 1:
        tc_sb_printf(out, "(%s / %lld) %% %lld", x, a, b);
        return;
    case 2:
        tc_sb_printf(out, "(%s %% %lld) / %lld", x, a * b, b);
        return;
    case 3:
        tc_sb_add(out, x);
        return;
    default:
        add_operation(v, x, out);
        return;
    }
}

/* ---- places in the text of a layout ---- */

typedef struct span {
    size_t at, len;
} span;
typedef TC_VEC(span) spans;

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* How long the operand that begins here is: a name, a number, or brackets with what is in them. 0: none begins. */
static size_t operand_length(const char *p) {
    size_t n = 0;
    while (in_word(p[n]))
        n++;
    if (*p != '(')
        return n;
    for (int open = 0; p[n]; n++) {
        open += p[n] == '(';
        open -= p[n] == ')';
        if (open == 0)
            return n + 1;
    }
    return 0;
}

/* The names and numbers of text[from, to), and with `brackets` the terms in brackets too. */
static void find_operands(const char *text, size_t from, size_t to, bool brackets, spans *out) {
    while (from < to) {
        size_t n = operand_length(text + from);
        bool word = in_word(text[from]);
        if (n && (word || brackets))
            tc_push(out, ((span){from, n}));
        from += word ? n : 1;
    }
}

static span some_span(victim *v, const spans *all) {
    return all->data[below(v, (int64_t)all->len)];
}

/* Writes what takes the place of operand `now`. `other` is another operand of the layout, `x` a coordinate. */
static void replace_operand(victim *v, const char *now, const char *other, const char *x, tc_strbuf *out) {
    switch (below(v, 8)) {
    case 0:
        add_operation(v, now, out);
        return;
    case 1:
        tc_sb_add(out, other);
        return;
    case 2:
        tc_sb_printf(out, "%s + %s", now, other);
        return;
    case 3:
        tc_sb_printf(out, "%s, ", now);
        add_term(v, x, out);
        return;
    case 4: { /* with many brackets around it, or many terms before it */
        int64_t n = below(v, below(v, 4) ? 4 : 80);
        bool brackets = below(v, 2);
        for (int64_t i = 0; i < n; i++)
            tc_sb_add(out, brackets ? "(" : "0 + ");
        tc_sb_add(out, now);
        for (int64_t i = 0; i < n; i++)
            tc_sb_add(out, brackets ? ")" : "");
        return;
    }
    case 5:
        add_number(v, out);
        return;
    default:
        add_term(v, x, out);
        return;
    }
}

/* A layout in which an operand became another. */
static const char *damaged_layout(victim *v, const char *text) {
    tc_arena *a = tc_ctx_arena(v->c);
    spans operands = {0}, names = {0};
    tc_strbuf out = {0};
    const char *arrow = strstr(text, "->"), *parts = arrow ? strchr(arrow, '(') : NULL;
    if (parts) {
        find_operands(text, 0, (size_t)(arrow - text), false, &names);
        find_operands(text, (size_t)(parts - text) + 1, strlen(text), true, &operands);
    }
    if (operands.len && names.len) {
        span at = some_span(v, &operands), other = some_span(v, &operands), x = some_span(v, &names);
        tc_sb_addn(&out, text, at.at);
        replace_operand(v, tc_arena_strndup(a, text + at.at, at.len), tc_arena_strndup(a, text + other.at, other.len),
                        tc_arena_strndup(a, text + x.at, x.len), &out);
        tc_sb_add(&out, text + at.at + at.len);
    } else {
        fuzz_damage_text(v->r, text, strlen(text), &out);
    }
    tc_vec_free(&operands);
    tc_vec_free(&names);
    return tc_sb_keep(&out, a);
}

/* ---- legal layouts ---- */

typedef struct digit {
    char text[64];
    int64_t extent;
} digit;
enum { MOST_DIGITS = 12, MOST_OF_ONE = 3 };

/* A coordinate as one to three digits, whose radices need not divide its extent. */
static int add_digits(victim *v, int coordinate, int64_t extent, digit *out) {
    int64_t below_it = 1;
    int n = 0;
    for (int64_t more = below(v, 3); more > 0 && extent / below_it > 1; more--) {
        int64_t radix = 1 + below(v, TC_MIN(extent / below_it, 9));
        if (below_it == 1)
            snprintf(out[n].text, sizeof out[n].text, "x%d %% %lld", coordinate, (long long)radix);
        else
            snprintf(out[n].text, sizeof out[n].text, "(x%d / %lld) %% %lld", coordinate, (long long)below_it, (long long)radix);
        out[n++].extent = radix;
        below_it *= radix;
    }
    if (below_it == 1)
        snprintf(out[n].text, sizeof out[n].text, "x%d", coordinate);
    else
        snprintf(out[n].text, sizeof out[n].text, "x%d / %lld", coordinate, (long long)below_it);
    out[n++].extent = (extent - 1) / below_it + 1;
    return n;
}

static void shuffle(victim *v, digit *d, int n) {
    for (int i = n - 1; i > 0; i--) {
        int k = (int)below(v, i + 1);
        digit one = d[i];
        d[i] = d[k];
        d[k] = one;
    }
}

/* Digits in any order. Some parts join two of them, as a number with two digits does. */
static const char *legal_layout(victim *v, const tc_tensor *t) {
    digit d[MOST_DIGITS];
    tc_strbuf b = {0};
    int n = 0;
    for (int i = 0; i < t->ndim; i++) {
        tc_sb_printf(&b, "%sx%d", i ? ", " : "(", i);
        n += n + MOST_OF_ONE <= MOST_DIGITS ? add_digits(v, i, t->shape[i], d + n) : 0;
    }
    shuffle(v, d, n);
    tc_sb_add(&b, ") -> (");
    for (int i = 0; i < n; i++) {
        tc_sb_add(&b, i ? ", " : "");
        if (i + 1 < n && below(v, 4) == 0) {
            tc_sb_printf(&b, "%lld * (%s) + ", (long long)(d[i + 1].extent + below(v, 2)), d[i].text);
            i++;
        }
        tc_sb_add(&b, d[i].text);
    }
    tc_sb_addc(&b, ')');
    return tc_sb_keep(&b, tc_ctx_arena(v->c));
}

/* ---- steps ---- */

/* The schedule after at most `most` steps: as many as apply. */
static tc_sched *begin(victim *v, int64_t most) {
    tc_sched *s = tc_sch_new(v->c, v->k->w);
    while (s->trace->n < most && s->trace->n < v->t->n)
        if (tc_sch_apply(s, &v->t->steps[s->trace->n], v->r, NULL) != TC_OK)
            break;
    return s;
}

/* The steps of `head`, then those of the trace from `from` on. */
static void join(victim *v, const tc_trace *head, int from) {
    tc_trace *t = tc_trace_copy(tc_ctx_arena(v->c), v->t);
    t->n = head->n + v->t->n - from;
    t->steps = TC_NEW_N(tc_ctx_arena(v->c), tc_instr, t->n + 1);
    for (int i = 0; i < t->n; i++)
        t->steps[i] = i < head->n ? head->steps[i] : v->t->steps[from + i - head->n];
    v->t = t;
}

static void add_steps(victim *v) {
    tc_sched *s = begin(v, below(v, v->t->n + 1));
    int kept = s->trace->n;
    tc_test_random_steps(s, v->r, 1 + (int)below(v, 4));
    join(v, s->trace, kept);
}

/* Of a constant mostly: other inputs are refused. */
static const tc_tensor *some_tensor(victim *v, const tc_sched *s) {
    const tc_workload *w = v->k->w;
    for (int tries = 0; tries < 4; tries++) {
        const tc_tensor *t = w->in[below(v, w->nin)];
        if (t->is_const)
            return t;
    }
    const tc_compute *op = s->stages[below(v, s->nstage)].op;
    return op->out[below(v, op->nout)];
}

static void add_layout(victim *v) {
    tc_sched *s = begin(v, below(v, v->t->n + 1));
    const tc_tensor *t = some_tensor(v, s);
    const char *text = legal_layout(v, t);
    tc_instr in = {.prim = TC_PRIM_TRANSFORM_LAYOUT, .nnames = 1, .names = &t->name};
    in.text = below(v, 3) ? text : damaged_layout(v, text);
    tc_trace *one = tc_trace_copy(tc_ctx_arena(v->c), &(tc_trace){.n = 1, .steps = &in});
    int kept = s->trace->n;
    join(v, one, kept);
    join(v, s->trace, 0);
}

static void change_layout(victim *v) {
    for (int i = 0, from = v->t->n ? (int)below(v, v->t->n) : 0; i < v->t->n; i++) {
        tc_instr *in = &v->t->steps[(from + i) % v->t->n];
        if (in->prim == TC_PRIM_TRANSFORM_LAYOUT) {
            for (int64_t n = 1 + below(v, 3); n > 0; n--)
                in->text = damaged_layout(v, in->text);
            return;
        }
    }
    add_layout(v);
}

/* A step is left out, said twice, or changes places with another. */
static void move_step(victim *v) {
    if (v->t->n == 0)
        return;
    int at = (int)below(v, v->t->n), other = (int)below(v, v->t->n);
    tc_instr in = v->t->steps[at];
    switch (below(v, 3)) {
    case 0:
        for (int i = at; i + 1 < v->t->n; i++)
            v->t->steps[i] = v->t->steps[i + 1];
        v->t->n--;
        return;
    case 1:
        v->t->steps[other] = in;
        return;
    default:
        v->t->steps[at] = v->t->steps[other];
        v->t->steps[other] = in;
        return;
    }
}

/* A factor, or a part of a decision; or replay is to draw the decision. */
static void change_number(victim *v) {
    tc_instr *in = v->t->n ? &v->t->steps[below(v, v->t->n)] : NULL;
    int64_t n = below(v, 2) ? 1 + below(v, 16) : fuzz_number(v->r);
    if (in && in->ndec && below(v, 2)) {
        in->ndec = 0;
    } else if (in && in->ndec && !in->dec_loc && below(v, 2)) {
        in->dec[below(v, in->ndec)] = n;
    } else if (in && in->nints) {
        tc_int_arg *ints = TC_NEW_N(tc_ctx_arena(v->c), tc_int_arg, in->nints);
        memcpy(ints, in->ints, sizeof *ints * (size_t)in->nints);
        ints[below(v, in->nints)] = (tc_int_arg){.kind = TC_ARG_LITERAL, .value = n, .part = -1};
        in->ints = ints;
    }
}

static void change_kernel(victim *v) {
    v->k = fuzz_kernel_at((int)below(v, fuzz_nkernels));
}

/* Leaves out the steps that do not apply. */
static void mend(victim *v) {
    tc_sched *s = tc_sch_new(v->c, v->k->w);
    for (int i = 0; i < v->t->n; i++)
        if (tc_sch_apply(s, &v->t->steps[i], v->r, NULL) != TC_OK)
            continue;
    v->t = s->trace;
}

static void damage_trace(victim *v) {
    static void (*const kinds[])(victim *) = {add_steps,     add_steps,     add_steps, add_layout,    add_layout,
                                              change_layout, change_layout, move_step, change_number, change_kernel};
    if (below(v, 2))
        mend(v);
    kinds[below(v, (int64_t)TC_LEN(kinds))](v);
}

void fuzz_damage_layouts(tc_rng *r, const char *data, size_t size, tc_strbuf *out) {
    enum { MOST_STEPS = 12 };
    char *text = fuzz_text(data, size);
    const fuzz_kernel *k = fuzz_kernel_of(text);
    victim v = {.r = r, .k = k, .c = tc_ctx_child(k->ctx)};
    int64_t kind = tc_rng_below(r, 10);
    bool is_trace = tc_trace_parse(tc_ctx_arena(v.c), "input.sched", text, &v.t, NULL) == TC_OK;
    if (kind == 0) {
        tc_test_break_schedule(r, text, out);
    } else if (kind == 1 || (!is_trace && kind < 6)) {
        fuzz_damage_text(r, data, size, out);
    } else {
        if (!is_trace)
            v.t = tc_test_random_trace(v.c, k->w, r, MOST_STEPS);
        damage_trace(&v);
        tc_sb_printf(out, "# of %s\n", v.k->name);
        tc_trace_print(out, v.t);
    }
    tc_ctx_free(v.c);
    free(text);
}
