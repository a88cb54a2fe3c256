/* Reads `.sched` text. A line is `[names =] primitive operands [~decision]`. The table in trace.c gives the operands of each
 * primitive, so one parser serves all primitives. All results live in the trace's arena. */
#include <ctype.h>

#include "schedule_primitives/sch_int.h"
#include "support/guess.h"
#include "support/lex.h"

typedef struct parser {
    tc_lex lex;
    tc_arena *arena;
    tc_error *err;
} parser;

typedef TC_VEC(const char *) names;

static bool at_end(const parser *p) {
    return p->lex.tok.kind == TC_TOK_EOF || p->lex.tok.kind == TC_TOK_NEWLINE;
}

static bool is_name(const parser *p) {
    return p->lex.tok.kind == TC_TOK_IDENT;
}

/* NAME or NAME.NAME, as one string. */
static tc_status parse_name(parser *p, const char *what, const char **out) {
    TC_TRY(tc_lex_ident(&p->lex, out, what, p->err));
    bool dot;
    TC_TRY(tc_lex_accept(&p->lex, ".", &dot, p->err));
    if (!dot)
        return TC_OK;
    const char *loop;
    TC_TRY(tc_lex_ident(&p->lex, &loop, "a loop's name after the '.'", p->err));
    *out = tc_arena_printf(p->arena, "%s.%s", *out, loop);
    return TC_OK;
}

/* A literal, `_`, NAME (a categorical decision) or NAME.PART (a part of a tile decision). */
static tc_status parse_int(parser *p, tc_int_arg *out) {
    *out = (tc_int_arg){.kind = TC_ARG_LITERAL, .part = -1};
    if (!is_name(p))
        return tc_lex_int(&p->lex, &out->value, "an integer, `_` or the name of a decision", p->err);
    if (tc_lex_is(&p->lex, "_")) {
        out->kind = TC_ARG_INFER;
        return tc_lex_next(&p->lex, p->err);
    }
    out->kind = TC_ARG_REF;
    TC_TRY(tc_lex_ident(&p->lex, &out->ref, "a decision", p->err));
    bool dot;
    TC_TRY(tc_lex_accept(&p->lex, ".", &dot, p->err));
    if (!dot)
        return TC_OK;
    int64_t part;
    TC_TRY(tc_lex_int(&p->lex, &part, "the number of a part after the '.'", p->err));
    if (part < 0 || part >= TC_MAX_PARTS)
        return tc_lex_fail(&p->lex, p->err, "part %lld of %s: a tile has parts 0 to %d", (long long)part, out->ref,
                           TC_MAX_PARTS - 1);
    out->part = (int)part;
    return TC_OK;
}

/* `[a, b, ...]` with at most `cap` values. */
static tc_status parse_list(parser *p, int cap, tc_int_arg *v, int *n) {
    TC_TRY(tc_lex_expect(&p->lex, "[", p->err));
    for (bool more = true; more;) {
        if (*n == cap)
            return tc_lex_fail(&p->lex, p->err, "at most %d values can stand here", cap);
        TC_TRY(parse_int(p, &v[(*n)++]));
        TC_TRY(tc_lex_accept(&p->lex, ",", &more, p->err));
    }
    return tc_lex_expect(&p->lex, "]", p->err);
}

static tc_status parse_ints(parser *p, const tc_sch_form *form, tc_instr *in) {
    static const char *const TILE[] = {"parts", "max_inner"};
    tc_int_arg v[TC_SCH_MAX_VALUES];
    int n = 0;
    if (form->ints == TC_INTS_NONE)
        return TC_OK;
    if (form->ints == TC_INTS_LIST)
        TC_TRY(parse_list(p, form->max_ints, v, &n));
    for (; form->ints != TC_INTS_LIST && n < form->max_ints; n++) {
        if (form->ints == TC_INTS_TILE) {
            TC_TRY(tc_lex_expect(&p->lex, TILE[n], p->err));
            TC_TRY(tc_lex_expect(&p->lex, "=", p->err));
        }
        TC_TRY(parse_int(p, &v[n]));
    }
    in->nints = n;
    in->ints = tc_arena_dup(p->arena, v, sizeof *v * (size_t)n);
    return TC_OK;
}

/* Of 8 parts with 16 digits each, the most that layout.c reads. */
enum { MAX_LAYOUT = TC_BYTES_LAYOUT };

/* Whether a layout can have this token behind the text `before`. What it cannot have might be printed in another way than it was
 * written: a text in quotes may have several lines, and the digits around a point may be one number or two. */
static bool fits_layout(const tc_tok *t, const char *before) {
    switch (t->kind) {
    case TC_TOK_IDENT:
        return true;
    case TC_TOK_INT:
        return t->i >= 0; /* the smallest integer is read only where a minus touches it */
    case TC_TOK_PUNCT:
        if (strcmp(t->text, ".") == 0)
            return isalpha((unsigned char)before[0]) || before[0] == '_';
        return strcmp(t->text, "->") == 0 || (strchr("(),+-*/%", t->text[0]) && !t->text[1]);
    case TC_TOK_EOF:
    case TC_TOK_NEWLINE:
    case TC_TOK_FLOAT:
    case TC_TOK_STRING:
        return false;
    }
    return false;
}

/* A layout's text is kept as tokens with canonical spacing, so that equal layouts have equal text. Brackets must balance. */
static tc_status parse_layout_text(parser *p, tc_instr *in) {
    tc_strbuf b = {0};
    tc_status s = TC_OK;
    const char *before = "(";
    while (s == TC_OK && !at_end(p)) {
        const tc_tok *t = &p->lex.tok;
        if (!fits_layout(t, before)) {
            s = tc_lex_fail(&p->lex, p->err,
                            "`%s` cannot stand here: a layout has names, integers, brackets, commas and + - * / %%", t->text);
            break;
        }
        bool tight = strchr("(.", before[0]) || strchr("),.", t->text[0]);
        if (!tight)
            tc_sb_addc(&b, ' ');
        tc_sb_add(&b, t->text);
        before = t->text;
        s = b.len > MAX_LAYOUT
                ? tc_beyond(p->err, tc_lex_fail(&p->lex, p->err, "the layout is longer than %d characters", MAX_LAYOUT))
                : tc_lex_next(&p->lex, p->err);
    }
    in->text = tc_sb_keep(&b, p->arena);
    if (s == TC_OK && !*in->text)
        return tc_lex_fail(&p->lex, p->err, "expected a layout such as (k, j) -> (j / 64, k, j %% 64)");
    return s;
}

static tc_status parse_text(parser *p, const tc_sch_form *form, tc_instr *in) {
    switch (form->text) {
    case TC_TEXT_NONE:
        return TC_OK;
    case TC_TEXT_LAYOUT:
        return parse_layout_text(p, in);
    case TC_TEXT_KEY:
        return tc_lex_ident(&p->lex, &in->text, "the pragma's key", p->err);
    case TC_TEXT_UNIT:
        return tc_lex_ident(&p->lex, &in->text, "the name of a unit", p->err);
    case TC_TEXT_SCOPE:
        if (!tc_lex_is(&p->lex, "global") && !tc_lex_is(&p->lex, "local"))
            return tc_lex_fail(&p->lex, p->err, "expected the scope, `global` or `local`, as in `%s`", form->usage);
        return tc_lex_ident(&p->lex, &in->text, "a scope", p->err);
    }
    return TC_OK;
}

/* Operand names. With a scope behind them they go on until `global` or `local`. */
static tc_status parse_operands(parser *p, const tc_sch_form *form, names *out) {
    bool scoped = form->text == TC_TEXT_SCOPE;
    for (int n = 0; n < form->max_names; n++) {
        bool stop = !is_name(p) || (scoped && (tc_lex_is(&p->lex, "global") || tc_lex_is(&p->lex, "local")));
        if (stop && n >= form->min_names)
            return TC_OK;
        if (stop)
            return tc_lex_fail(&p->lex, p->err, "expected the name of a stage, tensor or loop, as in `%s`", form->usage);
        const char *name;
        TC_TRY(parse_name(p, "a name", &name));
        tc_push(out, name);
    }
    return TC_OK;
}

static tc_status parse_decision(parser *p, tc_instr *in) {
    bool given;
    TC_TRY(tc_lex_accept(&p->lex, "~", &given, p->err));
    if (!given)
        return TC_OK;
    if (!tc_prim_sampled(in->prim))
        return tc_lex_fail(&p->lex, p->err, "%s takes no decision; only sampled steps have one", tc_prim_text(in->prim));
    if (in->prim == TC_PRIM_SAMPLE_LOCATION) {
        in->ndec = 1;
        return parse_name(p, "a loop, `root` or `inline`", &in->dec_loc);
    }
    if (in->prim == TC_PRIM_SAMPLE_CATEGORICAL) {
        in->ndec = 1;
        return tc_lex_int(&p->lex, &in->dec[0], "the chosen value", p->err);
    }
    tc_int_arg v[TC_MAX_PARTS];
    TC_TRY(parse_list(p, TC_MAX_PARTS - 1, v, &in->ndec));
    for (int i = 0; i < in->ndec; i++) {
        if (v[i].kind != TC_ARG_LITERAL)
            return tc_lex_fail(&p->lex, p->err, "a decision holds integers only");
        in->dec[i] = v[i].value;
    }
    return TC_OK;
}

static const uint8_t LENGTHS[TC_NPRIMS] = {
#define SAMPLED(id, word, ...) sizeof(word) - 1,
#define PRIM(id, word, ...) sizeof(word) - 1,
#include "schedule_primitives/primitives.def"
#undef SAMPLED
#undef PRIM
};

/* Traces are parsed by the thousand. Hardly two primitives are equally long, so that few words are compared. */
static tc_status find_prim(parser *p, const char *name, int line, int col, tc_prim *out) {
    size_t len = strlen(name);
    for (int i = 0; i < TC_NPRIMS; i++)
        if (LENGTHS[i] == len && memcmp(name, tc_prim_text((tc_prim)i), len) == 0) {
            *out = (tc_prim)i;
            return TC_OK;
        }
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, len);
    for (int i = 0; i < TC_NPRIMS; i++)
        tc_guess_add(&g, tc_prim_text((tc_prim)i));
    return tc_fail(p->err, TC_BAD_INPUT, "%s:%d:%d: there is no primitive `%s`%s", p->lex.file, line, col, name,
                   tc_guess_say(&g, "", "`man tctune-sched` describes all primitives", text));
}

/* Reads what stands before the primitive's operands: `a, b = prim` or `prim`. */
static tc_status parse_head(parser *p, tc_prim *prim, names *outs) {
    tc_tok first = p->lex.tok;
    const char *name;
    TC_TRY(tc_lex_ident(&p->lex, &name, "a primitive, or the names that it binds", p->err));
    if (!tc_lex_is(&p->lex, "=") && !tc_lex_is(&p->lex, ","))
        return find_prim(p, name, first.line, first.col, prim);
    tc_push(outs, name);
    while (tc_lex_is(&p->lex, ",")) {
        TC_TRY(tc_lex_next(&p->lex, p->err));
        TC_TRY(tc_lex_ident(&p->lex, &name, "a name to bind", p->err));
        tc_push(outs, name);
    }
    TC_TRY(tc_lex_expect(&p->lex, "=", p->err));
    first = p->lex.tok;
    TC_TRY(tc_lex_ident(&p->lex, &name, "a primitive", p->err));
    return find_prim(p, name, first.line, first.col, prim);
}

static tc_status parse_step(parser *p, tc_instr *in, names *outs, names *operands) {
    in->line = p->lex.tok.line;
    in->col = p->lex.tok.col;
    TC_TRY(parse_head(p, &in->prim, outs));
    const tc_sch_form *form = tc_sch_form_of(in->prim);
    if ((int)outs->len < form->min_outs || (int)outs->len > form->max_outs)
        return tc_lex_fail(&p->lex, p->err, "%s cannot bind %zu names; write it as in `%s`", tc_prim_text(in->prim), outs->len,
                           form->usage);
    TC_TRY(parse_operands(p, form, operands));
    TC_TRY(parse_text(p, form, in));
    TC_TRY(parse_ints(p, form, in));
    TC_TRY(parse_decision(p, in));
    if (!at_end(p))
        return tc_lex_fail(&p->lex, p->err, "unexpected '%s' at the end of the step; write it as in `%s`", p->lex.tok.text,
                           form->usage);
    in->nouts = (int)outs->len;
    in->outs = tc_arena_dup(p->arena, outs->data, sizeof *outs->data * outs->len);
    in->nnames = (int)operands->len;
    in->names = tc_arena_dup(p->arena, operands->data, sizeof *operands->data * operands->len);
    return p->lex.tok.kind == TC_TOK_NEWLINE ? tc_lex_next(&p->lex, p->err) : TC_OK;
}

static tc_status parse_steps(parser *p, tc_trace *t) {
    names outs = {0}, operands = {0};
    TC_VEC(tc_instr) steps = {0};
    tc_status s = TC_OK;
    while (s == TC_OK && p->lex.tok.kind != TC_TOK_EOF) {
        outs.len = operands.len = 0;
        tc_instr in = {0};
        s = parse_step(p, &in, &outs, &operands);
        tc_push(&steps, in);
    }
    t->n = (int)steps.len;
    t->steps = tc_arena_dup(p->arena, steps.data, sizeof *steps.data * steps.len);
    tc_vec_free(&steps);
    tc_vec_free(&outs);
    tc_vec_free(&operands);
    return s;
}

tc_status tc_trace_parse(tc_arena *a, const char *file, const char *text, tc_trace **out, tc_error *err) {
    parser p = {.arena = a, .err = err};
    TC_TRY(tc_input_check(TC_INPUT_SCHEDULE, file, text, err));
    TC_TRY(tc_lex_open(&p.lex, a, file, text, true, err));
    tc_trace *t = TC_NEW(a, tc_trace);
    t->arena = a;
    TC_TRY(parse_steps(&p, t));
    *out = t;
    return TC_OK;
}
