/* An operator, as a program of another library's calls: memories with shapes and strides, and the steps that use them. The text
 * that describes it is written by benchmarks/suite/programs.js:
 *
 *   threads 2
 *   memory X 1,64,56,56 200704,1,3584,64 in /path/X.f32      in, const (constant: may be laid out before timing), out, temp
 *   variant channels-last                                    ways to do the same: the fastest one is kept
 *   conv X ?W B Y strides=1,1 post=relu                      '?': in whatever layout the library likes best
 */
#ifndef TC_BENCHMARKS_OP_PEERS_H
#define TC_BENCHMARKS_OP_PEERS_H

#include <stdbool.h>
#include <stdint.h>

enum { MAX_DIMS = 12, MAX_MEMORIES = 16, MAX_VARIANTS = 8, MAX_STEPS = 8, MAX_WORDS = 24 };

typedef enum role { ROLE_IN, ROLE_CONST, ROLE_OUT, ROLE_TEMP } role;

typedef struct memory {
    const char *name, *file;
    role role;
    int ndim;
    int64_t dims[MAX_DIMS], strides[MAX_DIMS];
    int64_t count; /* elements */
    float *data;   /* dense in the order of the strides; of a temp uninitialised */
} memory;

typedef struct step {
    const char *word[MAX_WORDS]; /* the call's name, the memories' names, and KEY=VALUE */
    int nword;
} step;

typedef struct variant {
    const char *name;
    step step[MAX_STEPS];
    int nstep;
} variant;

typedef struct program {
    int threads;
    memory memory[MAX_MEMORIES];
    int nmemory;
    variant variant[MAX_VARIANTS];
    int nvariant;
} program;

typedef struct op_peer {
    const char *name;
    /* Whatever may be done once: primitives, constants in the layout they prefer. NULL with a message on stderr when it fails. */
    void *(*prepare)(program *p, const variant *v);
    bool (*run)(void *state);
    bool (*fetch)(void *state); /* the outputs' data become those of the last run; NULL: they are already */
    void (*release)(void *state);
    const char *(*version)(void);
    /* What the library chose, such as the names of its kernels; may be NULL. */
    const char *(*chosen)(void *state);
} op_peer;

extern const op_peer op_onednn, op_openblas, op_library;

/* Index of the memory that a word names ('?' before it is skipped), or -1 with a message. */
int op_memory(const program *p, const char *word);
/* The value of KEY=VALUE in a step, or NULL. */
const char *op_value(const step *s, const char *key);
/* Numbers separated by commas; how many. 0 where the key is missing. */
int op_numbers(const step *s, const char *key, int64_t *out, int most);
int64_t op_number(const step *s, const char *key, int64_t otherwise);

#endif
