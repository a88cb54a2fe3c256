/* What a mistyped name may have meant: one way to find the names that are close to it, and one way to say so.
 *
 *   tc_guess g = tc_guess_new(typed, strlen(typed));
 *   for each known name: tc_guess_add(&g, name);
 *   tc_fail(err, TC_BAD_INPUT, "there is no pass '%s'%s", typed, tc_guess_say(&g, "", NULL, text));
 *
 * says "there is no pass 'unrol'; did you mean unroll?". */
#ifndef TC_SUPPORT_GUESS_H
#define TC_SUPPORT_GUESS_H

#include <stddef.h>

#include "support/strbuf.h"

/* How many close names are told, and up to how many names all are told where none is close. */
enum { TC_GUESS_CLOSE = 3, TC_GUESS_FEW = 16, TC_GUESS_TEXT = 512 };

typedef struct tc_guess {
    const char *typed;
    size_t len;
    const char *few[TC_GUESS_FEW]; /* the first names that were added */
    size_t n;                      /* how many were added */
    const char *close[TC_GUESS_CLOSE];
    size_t nclose;
    int distance; /* of those that are close */
} tc_guess;

tc_guess tc_guess_new(const char *typed, size_t len);
/* A name that would have been right. It must outlive the guess. */
void tc_guess_add(tc_guess *g, const char *name);
/* What follows the complaint: "; did you mean A or B?", or where no name is close "; there are A, B and C", or where there are
 * too many for that "; HINT". `before` stands before each name ("--"); hint NULL: nothing is said then. Returns text. */
const char *tc_guess_say(const tc_guess *g, const char *before, const char *hint, char text[TC_GUESS_TEXT]);

/* How many letters must be inserted, removed, replaced or exchanged with their neighbour to make b of a; capitals count as small
 * letters. INT_MAX for names of more than 64 letters. */
int tc_edit_distance(const char *a, size_t na, const char *b, size_t nb);

/* "A, B or C", with the word before the last one ("or", "and"). */
void tc_sb_add_names(tc_strbuf *b, const char *const *names, size_t n, const char *before, const char *word);

#endif
