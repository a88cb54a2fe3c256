/* Private to the fleet's documents: fields of a JSON object that are read within limits. */
#ifndef TC_FLEET_MESSAGE_INT_H
#define TC_FLEET_MESSAGE_INT_H

#include "fleet/message.h"
#include "support/json/json.h"

/* A document that is read: what was read last is good as long as err is empty, so that fields are read in a row and the outcome
 * is asked for once. */
typedef struct fleet_reader {
    tc_arena *a;
    tc_error *err;
    bool bad;
} fleet_reader;

/* What people are shown of a text. Who has the name of a machine on a terminal is not to be at the mercy of that machine. */
typedef enum fleet_shown {
    FLEET_PARSED, /* nothing: a parser reads it, and refuses what it does not know */
    FLEET_LINE,   /* the text, which is one line without characters that say.h would escape */
    FLEET_LINES   /* the same, of several lines */
} fleet_shown;

typedef struct fleet_text_limits {
    size_t most;
    bool may_be_empty, word;
    fleet_shown shown;
} fleet_text_limits;

/* Whether a text of another machine is what the limits say of it. */
bool fleet_shows(const char *text, fleet_shown shown);

/* Parses a document of such a kind ("job"); NULL: r is bad. */
json_t *fleet_open(fleet_reader *r, const char *text, const char *kind);
tc_status fleet_outcome(const fleet_reader *r);
const char *fleet_text(fleet_reader *r, const json_t *o, const char *name, fleet_text_limits limits);
const char *fleet_word(fleet_reader *r, const json_t *o, const char *name);
double fleet_real(fleet_reader *r, const json_t *o, const char *name, double least, double most);
int64_t fleet_whole(fleet_reader *r, const json_t *o, const char *name, int64_t least, int64_t most);
bool fleet_flag(fleet_reader *r, const json_t *o, const char *name);
/* An array of `least` to `most` elements; *n: how many. */
const json_t *fleet_list(fleet_reader *r, const json_t *o, const char *name, size_t least, size_t most, size_t *n);
/* Numbers of such an array that are finite and more than 0, in the arena. */
double *fleet_times(fleet_reader *r, const json_t *o, const char *name, size_t least, size_t most, size_t *n);

/* Adds a text to an object. NULL is the empty text. */
void fleet_put_text(json_t *o, const char *name, const char *text);
/* Begins a document, and writes it out. */
json_t *fleet_begin(const char *kind);
void fleet_end(json_t *o, tc_strbuf *out);

#endif
