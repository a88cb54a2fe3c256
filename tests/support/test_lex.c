/* lex.h: tokens, positions, and every refusal's message. */
#include "support/cmocka_all.h"

#include <string.h>

#include "support/lex.h"
#include "support/strbuf.h"

typedef struct fixture {
    tc_arena *arena;
    tc_lex lex;
    tc_error err;
} fixture;

static int setup(void **state) {
    static fixture f;
    f = (fixture){.arena = tc_arena_new()};
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    tc_arena_free(((fixture *)*state)->arena);
    return 0;
}

/* Writes the token stream as KIND:text@line:col, a leading '_' marking white space before. */
static void tokens_of(fixture *f, const char *src, bool newlines, tc_strbuf *out) {
    static const char *const KINDS[] = {"eof", "nl", "id", "int", "flt", "str", "p"};
    tc_sb_clear(out);
    assert_int_equal(tc_lex_open(&f->lex, f->arena, "f.te", src, newlines, &f->err), TC_OK);
    for (;;) {
        const tc_tok *t = &f->lex.tok;
        const char *text = t->kind == TC_TOK_NEWLINE ? "" : t->text;
        tc_sb_printf(out, "%s%s%s:%s@%d:%d", out->len ? " " : "", t->space_before ? "_" : "", KINDS[t->kind], text, t->line,
                     t->col);
        if (t->kind == TC_TOK_EOF)
            return;
        assert_int_equal(tc_lex_next(&f->lex, &f->err), TC_OK);
    }
}

static void expect_tokens(fixture *f, const char *src, bool newlines, const char *want) {
    tc_strbuf out = {0};
    tokens_of(f, src, newlines, &out);
    assert_string_equal(tc_sb_str(&out), want);
    tc_strbuf_free(&out);
}

static void tokens_have_kinds_and_positions(void **state) {
    expect_tokens(*state, "", true, "eof:@1:1");
    expect_tokens(*state, "  ", true, "_eof:@1:3");
    expect_tokens(*state, "a_1 B", true, "id:a_1@1:1 _id:B@1:5 eof:@1:6");
    expect_tokens(*state, "x[i, 3]", true, "id:x@1:1 p:[@1:2 id:i@1:3 p:,@1:4 _int:3@1:6 p:]@1:7 eof:@1:8");
    expect_tokens(*state, "a->b==c!=d", true, "id:a@1:1 p:->@1:2 id:b@1:4 p:==@1:5 id:c@1:7 p:!=@1:8 id:d@1:10 eof:@1:11");
    expect_tokens(*state, "<=>=&&||<>&|", true,
                  "p:<=@1:1 p:>=@1:3 p:&&@1:5 p:||@1:7 p:<@1:9 p:>@1:10 p:&@1:11 p:|@1:12 eof:@1:13");
    expect_tokens(*state, "Y.i ~6 a-", true, "id:Y@1:1 p:.@1:2 id:i@1:3 _p:~@1:5 int:6@1:6 _id:a@1:8 p:-@1:9 eof:@1:10");
}

static void newlines_are_merged_or_dropped(void **state) {
    expect_tokens(*state, "\n# c\n\na # x\n\n  # y\n\tb\r\nc", true, "_id:a@4:1 nl:@4:2 _id:b@7:2 nl:@7:3 _id:c@8:1 eof:@8:2");
    expect_tokens(*state, "a\nb\n", false, "id:a@1:1 _id:b@2:1 _eof:@3:1");
    expect_tokens(*state, "a\n", true, "id:a@1:1 nl:@1:2 _eof:@2:1");
    expect_tokens(*state, "# only", true, "eof:@1:7");
    expect_tokens(*state, "\n\n", true, "_eof:@3:1");
}

static void numbers(void **state) {
    fixture *f = *state;
    expect_tokens(f, "0..128", true, "int:0@1:1 p:..@1:2 int:128@1:4 eof:@1:7");
    expect_tokens(f, "1.5 1e-05 2E3 1.e 3x 1e+", true,
                  "flt:1.5@1:1 _flt:1e-05@1:5 _flt:2E3@1:11 _int:1@1:15 p:.@1:16 id:e@1:17 _int:3@1:19 id:x@1:20 _int:1@1:22 "
                  "id:e@1:23 p:+@1:24 eof:@1:25");
    assert_int_equal(tc_lex_open(&f->lex, f->arena, "f", "9223372036854775807 0.1 007", true, &f->err), TC_OK);
    assert_int_equal(f->lex.tok.i, INT64_MAX);
    assert_true(f->lex.tok.f == 9223372036854775807.0);
    assert_int_equal(tc_lex_next(&f->lex, &f->err), TC_OK);
    assert_true(f->lex.tok.f == 0.1);
    assert_int_equal(tc_lex_next(&f->lex, &f->err), TC_OK);
    assert_int_equal(f->lex.tok.i, 7);
}

static void strings_are_unescaped(void **state) {
    fixture *f = *state;
    assert_int_equal(tc_lex_open(&f->lex, f->arena, "f", "\"a # \\\"q\\\" \\n\\t\\r\\\\\\x41\\x7f\" \"\"", true, &f->err), TC_OK);
    assert_int_equal(f->lex.tok.kind, TC_TOK_STRING);
    assert_string_equal(f->lex.tok.text, "a # \"q\" \n\t\r\\A\x7f");
    assert_int_equal(tc_lex_next(&f->lex, &f->err), TC_OK);
    assert_string_equal(f->lex.tok.text, "");
}

/* Reads tokens until one is refused, and compares the message. */
static void expect_refusal(fixture *f, const char *src, const char *want) {
    tc_status s = tc_lex_open(&f->lex, f->arena, "f.te", src, true, &f->err);
    while (s == TC_OK && f->lex.tok.kind != TC_TOK_EOF)
        s = tc_lex_next(&f->lex, &f->err);
    assert_int_equal(s, TC_BAD_INPUT);
    assert_string_equal(f->err.msg, want);
}

static void bad_text_is_refused_with_its_place(void **state) {
    expect_refusal(*state, "a\n  99999999999999999999", "f.te:2:3: the integer 99999999999999999999 does not fit in 64 bits");
    expect_refusal(*state, "9223372036854775808", "f.te:1:1: the integer 9223372036854775808 does not fit in 64 bits");
    expect_refusal(*state, "x \"abc", "f.te:1:3: the string that starts here has no closing quote on its line");
    expect_refusal(*state, "\"abc\n\"", "f.te:1:1: the string that starts here has no closing quote on its line");
    expect_refusal(*state, "\"a\\q\"",
                   "f.te:1:4: unknown escape in a string; known are \\n \\r \\t \\\\ \\\" and \\xHH (not \\x00)");
    expect_refusal(*state, "\"\\x0",
                   "f.te:1:3: unknown escape in a string; known are \\n \\r \\t \\\\ \\\" and \\xHH (not \\x00)");
    expect_refusal(*state, "a \xc3\xa9",
                   "f.te:1:3: byte 0xc3 cannot stand here; outside strings and comments only ASCII text is allowed");
    expect_refusal(*state, "\x01",
                   "f.te:1:1: byte 0x01 cannot stand here; outside strings and comments only ASCII text is allowed");
}

static void helpers_accept_and_expect(void **state) {
    fixture *f = *state;
    tc_lex *l = &f->lex;
    const char *name;
    int64_t n;
    bool took;
    assert_int_equal(tc_lex_open(l, f->arena, "f.te", "split i -> -12, 7 -9223372036854775808 \"split\"\n", true, &f->err),
                     TC_OK);
    assert_true(tc_lex_is(l, "split"));
    assert_int_equal(tc_lex_accept(l, "fuse", &took, &f->err), TC_OK);
    assert_false(took);
    assert_int_equal(tc_lex_accept(l, "split", &took, &f->err), TC_OK);
    assert_true(took);
    assert_int_equal(tc_lex_ident(l, &name, "a loop", &f->err), TC_OK);
    assert_string_equal(name, "i");
    assert_int_equal(tc_lex_expect(l, "->", &f->err), TC_OK);
    assert_int_equal(tc_lex_int(l, &n, "a factor", &f->err), TC_OK);
    assert_int_equal(n, -12);
    assert_int_equal(tc_lex_expect(l, "]", &f->err), TC_BAD_INPUT);
    assert_string_equal(f->err.msg, "f.te:1:15: expected ']', found ','");
    assert_int_equal(tc_lex_ident(l, &name, "a loop", &f->err), TC_BAD_INPUT);
    assert_string_equal(f->err.msg, "f.te:1:15: expected a loop, found ','");
    assert_int_equal(tc_lex_expect(l, ",", &f->err), TC_OK);
    assert_int_equal(tc_lex_int(l, &n, "a factor", &f->err), TC_OK);
    assert_int_equal(n, 7);
    assert_int_equal(tc_lex_int(l, &n, "a factor", &f->err), TC_OK);
    assert_int_equal(n, INT64_MIN);
    assert_false(tc_lex_is(l, "split")); /* a string is never a keyword */
    assert_int_equal(tc_lex_int(l, &n, "a factor", &f->err), TC_BAD_INPUT);
    assert_string_equal(f->err.msg, "f.te:1:40: expected a factor, found the string \"split\"");
    assert_int_equal(tc_lex_next(l, &f->err), TC_OK);
    assert_int_equal(tc_lex_int(l, &n, "a factor", &f->err), TC_BAD_INPUT);
    assert_string_equal(f->err.msg, "f.te:1:47: expected a factor, found the end of the line");
    assert_int_equal(tc_lex_next(l, &f->err), TC_OK);
    assert_int_equal(tc_lex_expect(l, "x", &f->err), TC_BAD_INPUT);
    assert_string_equal(f->err.msg, "f.te:2:1: expected 'x', found the end of the file");
    assert_int_equal(tc_lex_expect(l, "x", NULL), TC_BAD_INPUT);
}

static void separated_minus_is_not_part_of_the_number(void **state) {
    fixture *f = *state;
    assert_int_equal(tc_lex_open(&f->lex, f->arena, "f.te", "- 9223372036854775808", true, &f->err), TC_OK);
    assert_int_equal(tc_lex_next(&f->lex, &f->err), TC_BAD_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(tokens_have_kinds_and_positions, setup, teardown),
        cmocka_unit_test_setup_teardown(newlines_are_merged_or_dropped, setup, teardown),
        cmocka_unit_test_setup_teardown(numbers, setup, teardown),
        cmocka_unit_test_setup_teardown(strings_are_unescaped, setup, teardown),
        cmocka_unit_test_setup_teardown(bad_text_is_refused_with_its_place, setup, teardown),
        cmocka_unit_test_setup_teardown(helpers_accept_and_expect, setup, teardown),
        cmocka_unit_test_setup_teardown(separated_minus_is_not_part_of_the_number, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
