/* Models whose inputs' dimensions become symbols: in several ways, each of which leaves as they are what import needs as
 * constants, and the lengths of lists that say how a result is to be shaped. */
#ifndef TC_TESTS_SYMBOLS_H
#define TC_TESTS_SYMBOLS_H

#include "graph/ir/op_table.h"
#include "graph/onnx/import.h"

enum { MAX_VARIED = 32 }; /* inputs, and symbols */

typedef enum vary_how {
    VARY_ALL,       /* all dimensions; those that are equal in the model are one symbol */
    VARY_ALL_BUT_1, /* the same, but those of one element stay */
    VARY_FIRST,     /* the first of each input that has not one element */
    VARY_BATCH,     /* the first of each input that is as large as the first of the first */
    VARY_APART,     /* as ALL_BUT_1, each a symbol of its own: import finds out which are equal */
    VARY_ONE,       /* all that have the extent that comes first; VARY_ONE + k: that comes as number k */
    VARY_WAYS = VARY_ONE + 4
} vary_how;

/* Which dimensions are symbols: symbol[i][d] is its number plus one, 0: it stays. */
typedef struct varied {
    int nin, nsymbol;
    int ndim[MAX_VARIED], symbol[MAX_VARIED][TC_GRAPH_MAX_DIMS];
    int64_t extent[MAX_VARIED]; /* of each symbol, in the model as it was */
    const char *input[MAX_VARIED];
} varied;

/* Writes the model of `from` to `to`, with symbols; *v says which, and has none where this way finds none. Names are in `a`.
 * `constant` are inputs that stay as they are. */
void vary_model(const char *from, const char *to, vary_how how, const char *const *constant, size_t nconstant, tc_arena *a,
                varied *v);
/* "n3=1..5": what symbol k may be, and what it is. */
tc_graph_binding symbol_range(tc_arena *a, int k, int64_t least, int64_t most);

#endif
