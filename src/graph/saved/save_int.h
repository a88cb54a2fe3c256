/* Declarations that the forms of a saved model share: libraries and objects (save.c), C source (save_c.c), and the header of each
 * form (header.c). */
#ifndef TC_GRAPH_SAVED_SAVE_INT_H
#define TC_GRAPH_SAVED_SAVE_INT_H

#include "graph/model/parts.h"
#include "graph/saved/saved.h"
#include "support/json/json.h"

/* Of a library's metadata; load.c takes no other. */
enum { TC_GRAPH_LIBRARY_FORMAT = 3 };

/* load.c: what a library's file says of itself, into m, of which nothing but the arena is there; *name (the prefix of its
 * symbols) and *target are in that arena. Nothing of the file is run. */
TC_NODISCARD tc_status tc_graph_read_library(tc_graph_model *m, const char *path, const char **name, const char **target,
                                             tc_error *err);

/* ---- what a note says (note.c) ---- */

/* A note that is read. The readers return false where something is wrong; `why` says what was wrong first. */
typedef struct tc_graph_note {
    tc_arena *arena;  /* of what is read */
    const char *list; /* which list is read, NULL: none; and which item of it */
    int item;
    char why[256]; /* "outputs[2]: 'shape' must be ..." */
} tc_graph_note;

/* Returns false. */
bool tc_graph_note_wrong(tc_graph_note *n, const char *fmt, ...) TC_PRINTF(2, 3);
/* Every integer of a note is read by these: *out is from least to most, whatever j is (NULL: it is wrong). */
bool tc_graph_note_int(tc_graph_note *n, const json_t *j, const char *what, int64_t least, int64_t most, int64_t *out);
bool tc_graph_note_index(tc_graph_note *n, const json_t *j, const char *what, int least, int most, int *out);
/* NULL is a list of none. */
bool tc_graph_note_list(tc_graph_note *n, const json_t *j, const char *what, int *length);
/* *out, in the arena, is a text in any case. */
bool tc_graph_note_text(tc_graph_note *n, const json_t *j, const char *what, const char **out);
/* Whether the text is within the bounds of what is read. */
bool tc_graph_note_measure(tc_graph_note *n, const char *text);
/* The whole note into m, of which nothing but the arena is there. */
bool tc_graph_note_read(tc_graph_note *n, const json_t *j, tc_graph_model *m, const char **name, const char **target);
/* Whether a library's symbols can begin so. */
bool tc_graph_is_identifier(const char *s);

/* ---- sizes that vary (sizes.c) ---- */
/* What code checks of the rules; in the arena. */
tc_cg_size_checks tc_graph_size_checks(const tc_graph_size_rules *r, tc_arena *a);
/* The rules in metadata. From what a library says of itself (NULL: nothing varies): false where it fits no such inputs. */
json_t *tc_graph_rules_to_json(const tc_graph_size_rules *r);
bool tc_graph_rules_from_json(tc_graph_note *n, const json_t *j, const tc_graph_port *ports, int nports,
                              tc_graph_size_rules *out);

/* ---- what a library's profile speaks of (profile.c) ---- */
/* Of the library of that name; in the arena, and the model. */
const tc_cg_profile *tc_graph_profile_of(const tc_graph_model *m, const char *name, tc_arena *a);

/* ---- the CPU of C source (save_cpu.c) ---- */
/* Appends `static int32_t NAME_cpu(void)`: TC_CG_RIGHT_CPU, or TC_CG_OTHER_CPU where the CPU lacks what the compiler used. */
void tc_graph_add_cpu_check(const char *name, tc_strbuf *b);

/* ---- the header (header.c) ---- */
/* What the forms of a model say differently. */
typedef struct tc_graph_header {
    int64_t stack;     /* bytes that a run takes */
    bool openmp;       /* its team is OpenMP's */
    const char *note;  /* more about the stack */
    const char *lacks; /* what a CPU lacks where runs return TC_CG_OTHER_CPU; NULL: every CPU will do */
} tc_graph_header;
/* What the header begins with: a comment that lists inputs, outputs and what runs return, the guard, the numbers of inputs and
 * outputs, and the stack that a run takes. */
void tc_graph_open_header(const tc_graph_model *m, const char *name, const tc_graph_header *h, tc_strbuf *b);
/* Declares contexts, and ends the header. */
void tc_graph_close_header(const char *name, tc_strbuf *b);

/* Bytes of stack for what runs outside of the model's own functions: libc, libm, OpenMP's library, the loader where it binds. */
int64_t tc_graph_outer_stack(const tc_graph_model *m);
/* path ends in ".c"; name is an identifier. */
TC_NODISCARD tc_status tc_graph_save_c(const tc_graph_model *m, const char *path, const char *name, tc_error *err);

#endif
