#include "common/break_text.h"

#include <ctype.h>
#include <string.h>

#include "support/vec.h"
#include "te/expr.h"

enum { MAX_CHANGES = 4, MAX_INDICES = 4, EXPR_DEPTH = 3, DIMS = 4 };

typedef struct token {
    size_t at, len;
    int line;
    bool body; /* behind an equals sign, in the line's expression */
} token;

/* A text under change. After each change its tokens are found anew. */
typedef struct broken {
    tc_rng *r;
    tc_strbuf text;
    TC_VEC(token) tok; /* never empty: an end of line is one */
    int lines, line;   /* how many, and the one at hand */
} broken;

static int64_t below(broken *b, int64_t n) {
    return tc_rng_below(b->r, n);
}

static bool chance(broken *b, int percent) {
    return below(b, 100) < percent;
}

/* ---- tokens ---- */

static bool in_word(char c) {
    return isalnum((unsigned char)c) || c == '_';
}

static size_t token_length(const char *s) {
    size_t n = 1;
    if (in_word(*s))
        while (in_word(s[n]) || (isdigit((unsigned char)*s) && s[n] == '.'))
            n++;
    else if (*s && s[1] && (strncmp(s, "->", 2) == 0 || (strchr("<>=!", *s) && s[1] == '=') || (strchr("&|", *s) && s[1] == *s)))
        n = 2;
    return n;
}

static void scan(broken *b) {
    const char *s = tc_sb_str(&b->text);
    bool body = false;
    b->tok.len = 0;
    b->lines = 0;
    for (size_t i = 0; s[i];) {
        size_t n = token_length(s + i);
        if (s[i] != ' ')
            tc_push(&b->tok, ((token){i, n, b->lines, body}));
        body = (body || (n == 1 && s[i] == '=')) && s[i] != '\n';
        b->lines += s[i] == '\n';
        i += n;
    }
    if (b->tok.len == 0)
        tc_push(&b->tok, ((token){b->text.len, 0, 0, false}));
}

static char first(const broken *b, size_t i) {
    const token *t = &b->tok.data[i];
    return t->len ? b->text.data[t->at] : 0;
}

static bool is_word(const broken *b, size_t i) {
    return in_word(first(b, i)) && !isdigit((unsigned char)first(b, i));
}

static bool is_number(const broken *b, size_t i) {
    return isdigit((unsigned char)first(b, i));
}

static bool is_one_of(const broken *b, size_t i, const char *signs) {
    return b->tok.data[i].len == 1 && strchr(signs, first(b, i));
}

/* Replaces tokens [from, to). */
static void put(broken *b, size_t from, size_t to, const char *with) {
    size_t at = b->tok.data[from].at, end = to > from ? b->tok.data[to - 1].at + b->tok.data[to - 1].len : at;
    tc_strbuf out = {0};
    tc_sb_addn(&out, tc_sb_str(&b->text), at);
    tc_sb_add(&out, with);
    tc_sb_add(&out, tc_sb_str(&b->text) + end);
    tc_strbuf_free(&b->text);
    b->text = out;
    scan(b);
}

static void add_tokens(const broken *b, size_t from, size_t to, tc_strbuf *out) {
    size_t at = b->tok.data[from].at;
    tc_sb_addn(out, tc_sb_str(&b->text) + at, b->tok.data[to - 1].at + b->tok.data[to - 1].len - at);
}

/* The token behind what begins at i: of an opening bracket, or of a word with one behind it, that behind the closing one. */
static size_t behind(const broken *b, size_t i) {
    size_t k = i;
    if (is_word(b, k) && k + 1 < b->tok.len && is_one_of(b, k + 1, "(["))
        k++;
    if (!is_one_of(b, k, "(["))
        return i + 1;
    for (int open = 0; k < b->tok.len; k++) {
        open += is_one_of(b, k, "([");
        open -= is_one_of(b, k, ")]");
        if (open == 0)
            return k + 1;
    }
    return b->tok.len;
}

typedef bool choice(const broken *b, size_t i);

/* A token of a kind; any where there are none. Its line is the one at hand from here on. */
static size_t pick(broken *b, choice *fits) {
    size_t start = (size_t)below(b, (int64_t)b->tok.len), i = start;
    for (size_t n = 0; n < b->tok.len; n++) {
        i = (start + n) % b->tok.len;
        if (fits(b, i))
            break;
    }
    b->line = b->tok.data[i].line;
    return i;
}

/* The same, mostly of the line at hand: what it names is mostly known there. */
static size_t pick_near(broken *b, choice *fits) {
    int line = b->line;
    size_t i = 0;
    for (int tries = chance(b, 80) ? 20 : 1; tries > 0; tries--) {
        i = pick(b, fits);
        if (b->tok.data[i].line == line)
            break;
    }
    b->line = line;
    return i;
}

/* A reducer has its axes in brackets, "sum(k:24)". */
static bool names_axis(const broken *b, size_t i) {
    for (size_t n = 0; n < 5; n++)
        if (i + n > 0 && i + n - 1 < b->tok.len && is_one_of(b, i + n - 1, ":"))
            return true;
    return false;
}

static bool is_operand(const broken *b, size_t i) {
    return b->tok.data[i].body && (is_word(b, i) || is_number(b, i) || is_one_of(b, i, "(")) && !names_axis(b, i);
}

static bool is_separator(const broken *b, size_t i) {
    return is_one_of(b, i, ",");
}

static bool is_sign(const broken *b, size_t i) {
    return !is_word(b, i) && !is_number(b, i) && first(b, i) != '\n';
}

/* ---- what stands in the place of something else ---- */

static void add_number(broken *b, tc_strbuf *out) {
    static const char *const ENDS[] = {"127",
                                       "128",
                                       "255",
                                       "256",
                                       "32768",
                                       "65536",
                                       "2147483647",
                                       "2147483648",
                                       "4294967296",
                                       "1099511627776",
                                       "4611686018427387904",
                                       "9223372036854775807",
                                       "9223372036854775808",
                                       "18446744073709551616",
                                       "-2147483648",
                                       "-9223372036854775807 - 1",
                                       "1e308",
                                       "1e-320",
                                       "1e999",
                                       "inf",
                                       "nan",
                                       "0.0",
                                       "0.5"};
    if (chance(b, 60))
        tc_sb_printf(out, "%d", (int)below(b, 12) - 2);
    else
        tc_sb_add(out, ENDS[below(b, (int64_t)TC_LEN(ENDS))]);
}

static bool is_name(const broken *b, size_t i) {
    return is_word(b, i) && (i + 1 == b->tok.len || !is_one_of(b, i + 1, "("));
}

static void add_name(broken *b, tc_strbuf *out) {
    static const char *const OTHERS[] = {"nowhere", "output", "f32", "true", "sum", "select", "_", "x0"};
    if (chance(b, 5)) {
        tc_sb_add(out, OTHERS[below(b, (int64_t)TC_LEN(OTHERS))]);
        return;
    }
    size_t i = pick_near(b, is_name);
    add_tokens(b, i, i + 1, out);
}

static const char *function(broken *b) {
    static const char *const OTHERS[] = {"gelu", "silu", "relu", "nothing"};
    int64_t n = below(b, TC_NOPS + TC_NDTYPES + (int64_t)TC_LEN(OTHERS));
    if (n < TC_NDTYPES)
        return tc_dtype_name((tc_dtype)n);
    n -= TC_NDTYPES;
    return n < TC_NOPS ? tc_op_text((tc_op)n) : OTHERS[n - TC_NOPS];
}

static void add_expr(broken *b, tc_strbuf *out, int depth);

static void add_arguments(broken *b, tc_strbuf *out, int n, int depth) {
    for (int i = 0; i < n; i++) {
        tc_sb_add(out, i ? ", " : "");
        add_expr(b, out, depth);
    }
}

/* How many operands a function has. */
static int arity(const char *f) {
    for (int op = 0; op < TC_NOPS; op++)
        if (strcmp(tc_op_text((tc_op)op), f) == 0)
            return tc_op_arity((tc_op)op);
    return 1;
}

/* x or anything else beside x: the same is of the right type. */
static void add_beside(broken *b, tc_strbuf *out, const char *x, int depth) {
    if (chance(b, 50))
        tc_sb_add(out, x);
    else
        add_expr(b, out, depth);
}

/* A function by its name or its sign, of x and mostly of as many operands as it has. */
static void add_call_of(broken *b, tc_strbuf *out, const char *x, int depth) {
    const char *f = function(b);
    bool named = in_word(*f);
    int n = chance(b, 5) ? (int)below(b, 5) : named ? arity(f) : 2;
    tc_sb_add(out, named ? f : "");
    tc_sb_addc(out, '(');
    tc_sb_add(out, n > 0 ? x : "");
    for (int i = 1; i < n; i++) {
        tc_sb_printf(out, "%s%s ", named ? "" : " ", named ? "," : *f ? f : "+");
        add_beside(b, out, x, depth);
    }
    if (strcmp(f, "ramp") == 0 || strcmp(f, "bcast") == 0)
        tc_sb_printf(out, ", %d", (int)below(b, 9) * 2);
    tc_sb_addc(out, ')');
}

static void add_call(broken *b, tc_strbuf *out, int depth) {
    tc_strbuf x = {0};
    add_expr(b, &x, depth);
    add_call_of(b, out, tc_sb_str(&x), depth);
    tc_strbuf_free(&x);
}

static void add_expr(broken *b, tc_strbuf *out, int depth) {
    int64_t kind = below(b, depth > 0 ? 10 : 4);
    if (kind < 1) {
        add_number(b, out);
    } else if (kind < 2) {
        add_name(b, out);
    } else if (kind < 4) { /* what stands elsewhere */
        size_t i = pick_near(b, is_operand);
        add_tokens(b, i, behind(b, i), out);
    } else if (kind < 5) {
        add_name(b, out);
        tc_sb_addc(out, '[');
        add_arguments(b, out, (int)below(b, MAX_INDICES), depth - 1);
        tc_sb_addc(out, ']');
    } else {
        add_call(b, out, depth - 1);
    }
}

/* ---- changes of any text ---- */

static void change_number(broken *b) {
    tc_strbuf s = {0};
    size_t i = pick(b, is_number);
    add_number(b, &s);
    put(b, i, i + 1, tc_sb_str(&s));
    tc_strbuf_free(&s);
}

static void change_name(broken *b) {
    tc_strbuf s = {0};
    size_t i = pick(b, is_name);
    add_name(b, &s);
    put(b, i, i + 1, tc_sb_str(&s));
    tc_strbuf_free(&s);
}

static void drop_token(broken *b) {
    size_t i = (size_t)below(b, (int64_t)b->tok.len);
    put(b, i, i + 1, "");
}

static void change_sign(broken *b) {
    static const char *const SIGNS[] = {"(",  ")",  "[", "]", ",", ":", "+",  "-", "*", "/",  "%",  "<",
                                        "==", "&&", "!", "=", "~", ".", "\n", "#", "@", "->", "\"", "\\"};
    size_t i = pick(b, is_sign), end = i + (size_t)chance(b, 80);
    put(b, i, end, SIGNS[below(b, (int64_t)TC_LEN(SIGNS))]);
}

/* The tokens of a line with its end. */
static void line_of(const broken *b, int line, size_t *from, size_t *to) {
    for (*from = 0; *from + 1 < b->tok.len && b->tok.data[*from].line < line;)
        ++*from;
    for (*to = *from + 1; *to < b->tok.len && b->tok.data[*to].line == line;)
        ++*to;
}

static void move_line(broken *b) {
    size_t from, to;
    tc_strbuf s = {0};
    line_of(b, (int)below(b, b->lines + 1), &from, &to);
    add_tokens(b, from, to, &s);
    if (chance(b, 70)) /* else it stands there twice */
        put(b, from, to, "");
    line_of(b, (int)below(b, b->lines + 1), &from, &to);
    if (chance(b, 80))
        put(b, from, from, tc_sb_str(&s));
    tc_strbuf_free(&s);
}

/* An argument, index or name more or less. */
static void change_arity(broken *b) {
    tc_strbuf s = {0};
    size_t i = pick(b, is_separator);
    if (chance(b, 50)) {
        put(b, i, i + 1 < b->tok.len ? behind(b, i + 1) : i + 1, "");
    } else {
        tc_sb_add(&s, ", ");
        add_expr(b, &s, 1);
        put(b, i, i, tc_sb_str(&s));
    }
    tc_strbuf_free(&s);
}

/* ---- kernels ---- */

static void change_operand(broken *b) {
    tc_strbuf s = {0};
    size_t i = pick(b, is_operand);
    add_expr(b, &s, EXPR_DEPTH);
    put(b, i, behind(b, i), tc_sb_str(&s));
    tc_strbuf_free(&s);
}

/* f(x), f(x, y) or x op y of what was x. */
static void wrap_operand(broken *b) {
    tc_strbuf s = {0}, x = {0};
    size_t i = pick(b, is_operand), end = behind(b, i);
    add_tokens(b, i, end, &x);
    add_call_of(b, &s, tc_sb_str(&x), 1);
    put(b, i, end, tc_sb_str(&s));
    tc_strbuf_free(&s);
    tc_strbuf_free(&x);
}

static void change_type(broken *b) {
    size_t i = 0;
    tc_dtype t;
    for (int tries = 0; tries < 20; tries++) {
        i = pick(b, is_word);
        char word[16] = "";
        memcpy(word, b->text.data + b->tok.data[i].at, TC_MIN(b->tok.data[i].len, sizeof word - 1));
        if (tc_dtype_parse(word, &t))
            break;
    }
    put(b, i, i + 1, tc_dtype_name((tc_dtype)below(b, TC_NDTYPES)));
}

/* The same around an operand many times: brackets, signs, functions, sums. */
static void nest(broken *b) {
    static const struct {
        const char *open, *close;
    } AROUND[] = {{"(", ")"},
                  {"-", ""},
                  {"!", ""},
                  {"abs(", ")"},
                  {"min(", ", 3)"},
                  {"(", " + 1)"},
                  {"(1 - ", ")"},
                  {"(", " * 3 / 2)"},
                  {"(", " % 7 + 9)"},
                  {"select(true, ", ", 1)"},
                  {"select(0 < ", ", 1, 2)"},
                  {"i64(", ")"},
                  {"f32(", ")"},
                  {"max(2, ", ")"},
                  {"bitand(", ", 5)"}};
    static const int TIMES[] = {2, 20, 90, 190, 210, 490, 510, 3000};
    tc_strbuf s = {0};
    size_t i = pick(b, is_operand), end = behind(b, i);
    int64_t kind = below(b, (int64_t)TC_LEN(AROUND));
    int times = TIMES[below(b, chance(b, 90) ? 3 : (int64_t)TC_LEN(TIMES))];
    for (int n = 0; n < times; n++)
        tc_sb_add(&s, AROUND[kind].open);
    add_tokens(b, i, end, &s);
    for (int n = 0; n < times; n++)
        tc_sb_add(&s, AROUND[kind].close);
    put(b, i, end, tc_sb_str(&s));
    tc_strbuf_free(&s);
}

/* A compute of its own, over axes of any extents, with or without a reduction, that may be an output. */
static void add_compute(broken *b) {
    static const char *const REDUCERS[] = {"sum", "max", "min", "prod", "argmax", "argmin"};
    static const char *const EXTENTS[] = {"1", "2", "3", "4", "7", "8", "16", "17", "1000000", "4611686018427387904"};
    tc_strbuf s = {0};
    int axes = (int)below(b, DIMS);
    int64_t usual = chance(b, 90) ? 8 : (int64_t)TC_LEN(EXTENTS);
    tc_sb_add(&s, "compute Z[");
    for (int i = 0; i < axes; i++)
        tc_sb_printf(&s, "%s%c:%s", i ? ", " : "", 'i' + i, EXTENTS[below(b, usual)]);
    tc_sb_add(&s, "] = ");
    if (chance(b, 40)) {
        tc_sb_printf(&s, "%s(", REDUCERS[below(b, (int64_t)TC_LEN(REDUCERS))]);
        tc_sb_printf(&s, "k:%s) ", EXTENTS[below(b, usual)]);
    }
    add_expr(b, &s, EXPR_DEPTH + 1);
    tc_sb_add(&s, "\noutput Z\n");
    put(b, b->tok.len - 1, b->tok.len, chance(b, 90) ? "\n" : ", Z\n");
    tc_sb_add(&b->text, tc_sb_str(&s));
    tc_strbuf_free(&s);
    scan(b);
}

/* ---- */

typedef void change(broken *b);

static void break_text(tc_rng *r, const char *text, change *const *changes, int n, tc_strbuf *out) {
    broken b = {.r = r};
    tc_sb_add(&b.text, text);
    scan(&b);
    for (int64_t k = 1 + below(&b, 1 + below(&b, MAX_CHANGES)); k > 0; k--)
        changes[below(&b, n)](&b);
    tc_sb_add(out, tc_sb_str(&b.text));
    tc_strbuf_free(&b.text);
    tc_vec_free(&b.tok);
}

void tc_test_break_kernel(tc_rng *r, const char *text, tc_strbuf *out) {
    static change *const CHANGES[] = {change_operand, change_operand, change_operand, wrap_operand, wrap_operand, wrap_operand,
                                      change_number,  change_number,  change_type,    change_type,  change_name,  change_arity,
                                      add_compute,    add_compute,    nest,           move_line,    change_sign,  drop_token};
    break_text(r, text, CHANGES, (int)TC_LEN(CHANGES), out);
}

void tc_test_break_schedule(tc_rng *r, const char *text, tc_strbuf *out) {
    static change *const CHANGES[] = {change_number, change_number, change_number, change_name, change_name, change_name,
                                      change_arity,  move_line,     move_line,     change_sign, drop_token};
    break_text(r, text, CHANGES, (int)TC_LEN(CHANGES), out);
}
