/* Loops of an assembly text and what they do. A loop is what lies between a label and the last branch back to it; loops nest as
 * these intervals do. LLVM lays a loop's blocks out one after the other, so nothing foreign lies in between. */
#include "codegen/assembly/asm_facts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/assembly/asm_int.h"
#include "support/vec.h"

enum {
    MAX_CODE = 160,   /* characters of an instruction that are looked at */
    ACCUMULATING = 8, /* weight of a multiply-add that accumulates: see the header */
    TRIPS = 16,       /* assumed of a loop */
    MAX_WEIGHTED_DEPTH = 8
};

typedef struct label {
    const char *name;
    size_t len;
    int line;
} label;

typedef struct reader {
    const tc_target *t;
    const asm_isa *isa;
    TC_VEC(const char *) lines; /* starts */
    TC_VEC(label) labels;
    TC_VEC(tc_cg_asm_loop) loops;
} reader;

static size_t line_length(const char *line) {
    return strcspn(line, "\n");
}

static const char *comment_of(const reader *r, const char *line) {
    const char *mark = r->isa ? r->isa->comment : "#";
    const char *at = strstr(line, mark);
    return at && at < line + line_length(line) ? at : line + line_length(line);
}

/* The line without comment and outer blanks; empty for directives. */
static void code_of(const reader *r, const char *line, char out[MAX_CODE]) {
    const char *end = comment_of(r, line);
    while (line < end && isspace((unsigned char)*line))
        line++;
    while (end > line && isspace((unsigned char)end[-1]))
        end--;
    size_t n = TC_MIN((size_t)(end - line), (size_t)MAX_CODE - 1);
    memcpy(out, line, n);
    out[n] = 0;
}

static bool is_label(const char *code) {
    size_t n = strlen(code);
    return n > 1 && code[n - 1] == ':' && !strpbrk(code, " \t");
}

static bool is_instruction(const char *code) {
    return isalpha((unsigned char)*code) && !is_label(code);
}

/* ---- loops ---- */

static void find_lines(reader *r, const char *text) {
    for (const char *p = text; *p; p += line_length(p) + (p[line_length(p)] == '\n'))
        tc_push(&r->lines, p);
}

static int label_line(const reader *r, const char *name) {
    for (size_t i = 0; i < r->labels.len; i++)
        if (r->labels.data[i].len == strlen(name) && memcmp(r->labels.data[i].name, name, r->labels.data[i].len) == 0)
            return r->labels.data[i].line;
    return -1;
}

/* ".LBB0_3:   # %k0_o" is called k0_o. */
static void name_loop(const reader *r, tc_cg_asm_loop *l) {
    char code[MAX_CODE];
    const char *line = r->lines.data[l->first], *comment = comment_of(r, line);
    const char *percent = memchr(comment, '%', (size_t)(line + line_length(line) - comment));
    code_of(r, line, code);
    if (percent)
        snprintf(l->name, sizeof l->name, "%.*s", (int)TC_MIN(line_length(percent + 1), sizeof l->name - 1), percent + 1);
    else
        snprintf(l->name, sizeof l->name, "%.*s", (int)TC_MIN(strlen(code) - 1, sizeof l->name - 1), code);
}

static void add_back_edge(reader *r, int first, int last) {
    for (size_t i = 0; i < r->loops.len; i++)
        if (r->loops.data[i].first == first) {
            r->loops.data[i].last = TC_MAX(r->loops.data[i].last, last);
            return;
        }
    tc_cg_asm_loop l = {.first = first, .last = last, .parent = -1, .depth = 1, .innermost = true};
    name_loop(r, &l);
    tc_push(&r->loops, l);
}

/* Blocks are labelled as they come, so a branch back meets a label that is known already. */
static void find_loops(reader *r) {
    char code[MAX_CODE];
    for (int i = 0; i < (int)r->lines.len; i++) {
        code_of(r, r->lines.data[i], code);
        if (is_label(code)) {
            const char *name = strstr(r->lines.data[i], code);
            tc_push(&r->labels, ((label){name, strlen(code) - 1, i}));
            continue;
        }
        char *target = is_instruction(code) ? strrchr(code, ',') : NULL;
        target = target ? target + 1 : code + strcspn(code, " \t");
        target += strspn(target, " \t");
        int first = is_instruction(code) && strstr(target, "BB") ? label_line(r, target) : -1;
        if (first >= 0)
            add_back_edge(r, first, i);
    }
}

static int by_place(const void *a, const void *b) {
    const tc_cg_asm_loop *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first ? 1 : -1) : y->last - x->last;
}

static void nest_loops(reader *r) {
    int n = (int)r->loops.len;
    if (n)
        qsort(r->loops.data, (size_t)n, sizeof *r->loops.data, by_place);
    for (int i = 0; i < n; i++) {
        tc_cg_asm_loop *l = &r->loops.data[i];
        for (int j = i - 1; j >= 0 && l->parent < 0; j--)
            if (r->loops.data[j].last >= l->last)
                l->parent = j;
        if (l->parent >= 0) {
            r->loops.data[l->parent].innermost = false;
            l->depth = r->loops.data[l->parent].depth + 1;
        }
    }
}

/* ---- what they do ---- */

/* One code region being counted. */
typedef struct tally {
    tc_cg_mix *mix;
    uint32_t by_fma, by_others; /* vector registers written */
    int bytes;                  /* of vector arithmetic, without multiply-adds */
    int fma_bytes;
} tally;

static void count(tally *t, const asm_op *op, bool spill) {
    tc_cg_mix *m = t->mix;
    int *const counters[] = {[ASM_OTHER] = &m->other, [ASM_FMA] = &m->fma,          [ASM_ARITH] = &m->arithmetic,
                             [ASM_LOAD] = &m->loads,  [ASM_BCAST] = &m->broadcasts, [ASM_STORE] = &m->stores,
                             [ASM_MOVE] = &m->moves,  [ASM_SCALAR] = &m->scalar,    [ASM_PREFETCH] = &m->prefetches};
    m->instructions++;
    ++*counters[op->kind];
    m->folded += op->folded;
    m->masked += op->masked;
    m->spills += spill && op->bits > 0;
    if (op->kind == ASM_FMA || op->kind == ASM_ARITH)
        m->vector_bits = TC_MAX(m->vector_bits, op->bits);
    if (op->kind == ASM_FMA) {
        t->by_fma |= op->writes;
        t->fma_bytes += op->bits / 8;
    } else {
        t->by_others |= op->writes;
        t->bytes += op->kind == ASM_ARITH ? op->bits / 8 : op->kind == ASM_SCALAR ? 4 : 0;
    }
}

static void count_line(const reader *r, tally *t, const char *line) {
    char code[MAX_CODE], text[96];
    code_of(r, line, code);
    if (!is_instruction(code))
        return;
    asm_op op = {0};
    char *operands = code + strcspn(code, " \t");
    if (*operands)
        *operands++ = 0;
    operands += strspn(operands, " \t");
    if (r->isa)
        r->isa->classify(r->t, code, operands, &op);
    const char *comment = comment_of(r, line);
    snprintf(text, sizeof text, "%.*s", (int)TC_MIN(line_length(comment), sizeof text - 1), comment);
    count(t, &op, strstr(text, "Spill") || strstr(text, "Reload"));
}

static int ones(uint32_t set) {
    return __builtin_popcount(set);
}

/* Counts the lines of loop i (-1: of everything) that belong to no loop inside it, and returns its weight. */
static double read_loop(const reader *r, int i, tc_cg_mix *mix) {
    int n = (int)r->loops.len, line = 0, end = (int)r->lines.len - 1, depth = 0;
    tally t = {.mix = mix};
    if (i >= 0) {
        line = r->loops.data[i].first;
        end = r->loops.data[i].last;
        depth = TC_MIN(r->loops.data[i].depth, (int)MAX_WEIGHTED_DEPTH);
    }
    for (int j = i + 1; line <= end; line++) {
        while (j < n && (r->loops.data[j].parent != i || r->loops.data[j].last < line))
            j++;
        if (j < n && line >= r->loops.data[j].first)
            line = r->loops.data[j].last; /* skipped as a whole */
        else
            count_line(r, &t, r->lines.data[line]);
    }
    mix->accumulators = ones(t.by_fma & ~t.by_others);
    double weight = t.bytes + (mix->accumulators ? ACCUMULATING : 1) * (double)t.fma_bytes;
    for (int d = 0; d < depth; d++)
        weight *= TRIPS;
    return weight;
}

static void choose(const reader *r, tc_cg_asm_facts *out) {
    double best = -1;
    for (int i = 0; i < out->nloop; i++) {
        tc_cg_asm_loop *l = &r->loops.data[i];
        double weight = read_loop(r, i, &l->own);
        if (weight > best) {
            best = weight;
            out->hot = i;
        }
    }
    if (out->hot < 0)
        read_loop(r, -1, &out->mix);
    else
        out->mix = r->loops.data[out->hot].own;
}

void tc_cg_asm_facts_read(const tc_target *t, const char *text, tc_cg_asm_facts *out) {
    reader r = {.t = t, .isa = tc_cg_asm_isa(t)};
    find_lines(&r, text);
    find_loops(&r);
    nest_loops(&r);
    *out = (tc_cg_asm_facts){.known = r.isa != NULL, .nloop = (int)r.loops.len, .loops = r.loops.data, .hot = -1};
    choose(&r, out);
    for (int i = 0; i < out->nloop; i++) {
        const tc_cg_asm_loop *l = &out->loops[i];
        if (i == out->hot || !l->innermost || l->own.fma + l->own.arithmetic + l->own.scalar == 0)
            continue;
        out->tails++;
        out->tails_masked += l->own.masked > 0;
        out->tails_scalar += l->own.scalar > 0;
    }
    tc_vec_free(&r.lines);
    tc_vec_free(&r.labels);
}

void tc_cg_asm_facts_free(tc_cg_asm_facts *f) {
    free(f->loops);
    *f = (tc_cg_asm_facts){0};
}

double tc_cg_fma_share(const tc_cg_mix *m) {
    return m->instructions ? (double)m->fma / m->instructions : 0;
}

double tc_cg_fma_purity(const tc_cg_mix *m) {
    int work = m->fma + m->arithmetic + m->scalar + m->moves + m->spills;
    return work ? (double)m->fma / work : 0;
}

/* ---- text ---- */

void tc_cg_asm_facts_print(const tc_cg_asm_facts *f, const char *prefix, tc_strbuf *b) {
    const tc_cg_mix *m = &f->mix;
    if (f->hot >= 0) {
        const tc_cg_asm_loop *l = &f->loops[f->hot];
        tc_sb_printf(b, "%shot loop: %s, depth %d, lines %d to %d, %d instructions\n", prefix, l->name, l->depth, l->first + 1,
                     l->last + 1, m->instructions);
    } else {
        tc_sb_printf(b, "%sno loop; all of the code: %d instructions\n", prefix, m->instructions);
    }
    if (!f->known) {
        tc_sb_printf(b, "%sthe mnemonics of this target are not known: instructions are not counted by kind\n", prefix);
        return;
    }
    tc_sb_printf(
        b, "%s%d fused multiply-adds of %d bits (%.0f %% of the instructions) into %d accumulators; other vector arithmetic %d\n",
        prefix, m->fma, m->vector_bits, 100 * tc_cg_fma_share(m), m->accumulators, m->arithmetic);
    tc_sb_printf(
        b, "%s%d vector loads, %d broadcasts, %d operands in memory, %d stores, %d moves and shuffles, %d prefetches, %d other\n",
        prefix, m->loads, m->broadcasts, m->folded, m->stores, m->moves, m->prefetches, m->other);
    tc_sb_printf(b, "%s%d vector spills, %d scalar float, %d masked; %d more loops compute (%d masked, %d scalar)\n", prefix,
                 m->spills, m->scalar, m->masked, f->tails, f->tails_masked, f->tails_scalar);
}

void tc_cg_asm_mark(const tc_target *t, const char *text, const tc_cg_asm_facts *f, tc_strbuf *b) {
    const asm_isa *isa = tc_cg_asm_isa(t);
    char prefix[8];
    int line = 0;
    snprintf(prefix, sizeof prefix, "%s ", isa ? isa->comment : "#");
    tc_cg_asm_facts_print(f, prefix, b);
    for (const char *p = text; *p; line++) {
        size_t n = line_length(p);
        bool hot = f->hot >= 0 && line >= f->loops[f->hot].first && line <= f->loops[f->hot].last;
        tc_sb_add(b, hot ? "| " : "  ");
        tc_sb_addn(b, p, n);
        tc_sb_addc(b, '\n');
        p += n + (p[n] == '\n');
    }
}
