/* Text for people: the only way to a terminal, to a message and to a table.
 *
 * A name of a model, a library, a database or a machine may hold any bytes. Raw, they would move a terminal's cursor, forge lines,
 * or turn the order of the text around. So tc_say and its like are printf whose %s and %c write such bytes as escapes: "\x1b",
 * "\n", "\u202e". The format itself stays as it is: its newlines and its terminal codes are the program's own. Text that is shown
 * is therefore always UTF-8. An escape is plain ASCII, so text may pass through several of these functions. */
#ifndef TC_SUPPORT_SAY_H
#define TC_SUPPORT_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "support/strbuf.h"

/* The bytes of the character that s begins with, of at most n > 0, and its code; 0: the bytes are not UTF-8. */
size_t tc_utf8_next(const char *s, size_t n, uint32_t *code);
/* The first byte that is not UTF-8; n: all of it is. */
size_t tc_utf8_fault(const char *s, size_t n);

/* Does the text show as it is? */
bool tc_is_plain(const char *text);
bool tc_is_plain_lines(const char *text); /* the same of several lines: newlines and tabs are plain */

/* Formats as printf does, with these differences:
 * - %s and %c write control characters, invisible characters, characters that change the direction of text, and bytes that are
 *   not UTF-8 as escapes;
 * - the width of %s counts characters, its precision bounds both the bytes that are read and the characters that are written;
 * - text that does not fit ends with a whole character or escape;
 * - a number has at most 511 characters, its blanks counted;
 * - %n, %m, wide characters and long double are not known.
 * Returns the bytes of the whole text. */
int tc_say_to(char *out, size_t cap, const char *fmt, ...) TC_PRINTF(3, 4);
int tc_vsay_to(char *out, size_t cap, const char *fmt, va_list ap);
/* The same for a message of bounded length: each text takes a quarter of it at most, unless the format ends with it. So the reason
 * that stands behind a long name is not lost. */
int tc_vsay_message(char *out, size_t cap, const char *fmt, va_list ap);
void tc_sb_say(tc_strbuf *b, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_sb_vsay(tc_strbuf *b, const char *fmt, va_list ap);
int tc_say(FILE *f, const char *fmt, ...) TC_PRINTF(2, 3);

/* Text of several lines, such as a schedule or assembly: newlines and tabs stay. */
void tc_sb_say_lines(tc_strbuf *b, const char *text);
void tc_say_lines(FILE *f, const char *text);

/* JSON, with those characters as JSON's own escapes: a program that reads it gets the names as they are. For support/json. */
void tc_sb_say_json(tc_strbuf *b, const char *json);

#endif
