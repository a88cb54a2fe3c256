/* Writes the header of a saved model, M.h. Libraries, objects and C source have the same header except for the declarations of
 * runs. */
#include "codegen/artefacts/library.h"
#include "graph/saved/save_int.h"
#include "support/say.h"

#include <string.h>

static const char *c_type(tc_dtype t) {
    switch (t) {
    case TC_BOOL:
        return "bool, one byte";
    case TC_I8:
        return "int8_t";
    case TC_I4:
        return "int8_t, from -8 to 7";
    case TC_U4:
        return "uint8_t, from 0 to 15";
    case TC_U8:
        return "uint8_t";
    case TC_I16:
        return "int16_t";
    case TC_U16:
        return "uint16_t";
    case TC_I32:
        return "int32_t";
    case TC_U32:
        return "uint32_t";
    case TC_I64:
        return "int64_t";
    case TC_U64:
        return "uint64_t";
    case TC_F16:
        return "half, two bytes";
    case TC_BF16:
        return "bfloat16, two bytes";
    case TC_F8E4M3FN:
        return "float of one byte, E4M3FN";
    case TC_F8E4M3FNUZ:
        return "float of one byte, E4M3FNUZ";
    case TC_F8E5M2:
        return "float of one byte, E5M2";
    case TC_F8E5M2FNUZ:
        return "float of one byte, E5M2FNUZ";
    case TC_F4E2M1:
        return "code, from 0 to 15, of a float of 4 bits, E2M1";
    case TC_F8E8M0:
        return "power of two of one byte, E8M0";
    case TC_F32:
        return "float";
    case TC_F64:
        return "double";
    case TC_NDTYPES:
        break;
    }
    return "?";
}

/* A name may not end the comment, nor hide characters of it. */
static void plain(tc_strbuf *b, const char *name, const char *before) {
    tc_strbuf text = {0};
    tc_sb_say(&text, "%s%s", before, name);
    for (const char *c = tc_sb_str(&text); *c; c++)
        tc_sb_addc(b, *c == '*' ? '_' : *c);
    tc_strbuf_free(&text);
}

/* Which array of the other list it is, and how it lies in memory. */
static void list_shared(tc_strbuf *b, const char *other, const tc_graph_port *p, const tc_graph_port *output) {
    int64_t strides[TC_GRAPH_MAX_DIMS];
    tc_graph_shape_strides(&output->shape, strides);
    tc_sb_printf(b, "  (one buffer with %s[%d], of strides", other, p->shared - 1);
    for (int d = 0; d < output->shape.ndim; d++)
        tc_sb_printf(b, "%s %lld", d ? "," : "", (long long)strides[d]);
    tc_sb_printf(b, ": rows are dimension %d)", p->rows);
}

static void list_rule(tc_strbuf *b, const tc_graph_size_rule *r) {
    tc_sb_printf(b, "  (a size: %lld to %lld", (long long)r->least, (long long)r->most);
    if (r->multiple > 1)
        tc_sb_printf(b, ", multiples of %lld", (long long)r->multiple);
    if (r->is.text)
        plain(b, r->is.text, "; it must be ");
    tc_sb_addc(b, ')');
}

/* others: the other list. rules: of inputs; NULL: they are outputs. */
static void list_ports(tc_strbuf *b, const char *what, const tc_graph_port *p, int n, const tc_graph_port *others,
                       const tc_graph_size_rules *rules) {
    for (int i = 0; i < n; i++) {
        tc_sb_printf(b, " *   %s[%d]  %s  ", what, i, c_type(p[i].dtype));
        tc_graph_shape_print(b, &p[i].shape);
        tc_sb_add(b, "  ");
        plain(b, p[i].name, "");
        for (int d = 0; d < p[i].shape.ndim; d++)
            if (p[i].extent[d])
                tc_sb_printf(b, "  (dimension %d: the most; %s[%d] is its size in a run)", d, what, p[i].extent[d]);
        if (p[i].shared)
            list_shared(b, rules ? "outputs" : "inputs", &p[i], rules ? &others[p[i].shared - 1] : &p[i]);
        if (rules && i >= rules->nin)
            list_rule(b, &rules->size[i - rules->nin]);
        tc_sb_addc(b, '\n');
    }
}

static bool shares(const tc_graph_model *m) {
    bool any = false;
    for (int i = 0; i < m->nout; i++)
        any |= m->out[i].shared > 0;
    return any;
}

static const char SHARING[] =
    " * Where an input and an output share one buffer, pass one pointer for both, aligned to 64 bytes. A run with other "
    "pointers\n * returns -3, and does nothing. The buffer has the size listed for the output, also if the run's sizes are "
    "smaller. The\n * input's rows stand first in it. A run writes new rows behind them, and leaves all other rows as they are. "
    "If a sequence ends\n * earlier (GroupQueryAttention), its new rows stand at its end, with zeros behind them up to the rows "
    "of the run's output.\n * If the number of the input's rows does not vary, no zeros are written.\n";
_Static_assert(TC_RT_ALIGN == 64, "what the text says");

/* Words of a text, in lines of a comment; `column` is where the first one stands. */
static void wrap(tc_strbuf *b, const char *words, size_t column) {
    enum { WIDTH = 124 };
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        bool next = column + 1 + n > WIDTH;
        tc_sb_add(b, next ? "\n *" : "");
        column = (next ? 2 : column) + 1 + n;
        tc_sb_printf(b, " %.*s", (int)n, words);
    }
}

static void list_statuses(tc_strbuf *b, const tc_graph_model *m, const tc_graph_header *h) {
    static const char NONE[] = " * A run without a context, or without memory for one, returns -1, and does nothing.\n";
    static const char OTHER[] = " * On a CPU that lacks what the code uses, a run returns -4, and does nothing. The code uses:";
    _Static_assert(TC_CG_NO_MEMORY == -1 && TC_CG_OTHER_CPU == -4, "what the texts say");
    tc_sb_add(b, NONE);
    if (h->lacks) {
        tc_sb_add(b, OTHER);
        wrap(b, h->lacks, sizeof OTHER - 1);
        tc_sb_add(b, ".\n");
    }
    for (int i = 0; i < m->nrefusal; i++) {
        tc_sb_printf(b, " * A run that returns %d was refused: ", TC_LIB_REFUSED + i);
        plain(b, m->refusals[i], "");
        tc_sb_addc(b, '\n');
    }
}

void tc_graph_open_header(const tc_graph_model *m, const char *name, const tc_graph_header *h, tc_strbuf *b) {
    const char *varying =
        m->rules.nsize ? "\n * Sizes are those of the run. A run whose sizes are not as listed returns -2, and does nothing:"
                       : "";
    tc_sb_add(b, "/* ");
    plain(b, m->target->cpu, "Made by tctune for ");
    tc_sb_printf(b, ", %d thread%s. Arrays are dense and row-major; outputs must not overlap %sinputs:%s\n", m->threads,
                 m->threads == 1 ? "" : "s", shares(m) ? "other " : "", varying);
    list_ports(b, "inputs", m->in, m->nin, m->out, &m->rules);
    list_ports(b, "outputs", m->out, m->nout, m->in, NULL);
    if (shares(m))
        tc_sb_add(b, SHARING);
    list_statuses(b, m, h);
    tc_sb_printf(b, " */\n#ifndef %s_TCTUNE_H\n#define %s_TCTUNE_H\n\n#include <stdint.h>\n\n", name, name);
    tc_sb_add(b, "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n");
    tc_sb_printf(b, "enum { %s_NINPUTS = %d, %s_NOUTPUTS = %d };\n\n", name, m->nin, name, m->nout);
    tc_sb_printf(b,
                 "/* Bytes of stack that a run needs in the thread that calls it, and in each thread of its team (%s);\n * "
                 "%lld of them are for the C library%s.%s */\n#define %s_STACK_BYTES %lld\n\n",
                 h->openmp ? "OMP_STACKSIZE" : "they have 512 KiB or more", (long long)tc_graph_outer_stack(m),
                 h->openmp ? " and OpenMP's runtime" : "", h->note, name, (long long)h->stack);
}

void tc_graph_close_header(const char *name, tc_strbuf *b) {
    tc_sb_add(b, "/* The memory that a run changes. Any number of threads may run at once, each with a context of its own; they "
                 "share code\n * and weights. NULL: out of memory, or the CPU lacks what the code uses. */\n");
    tc_sb_printf(b, "typedef struct %s_context %s_context;\n", name, name);
    tc_sb_printf(b, "%s_context *%s_context_new(void);\n", name, name);
    tc_sb_printf(b, "void %s_context_free(%s_context *context); /* not while it runs; NULL is fine */\n", name, name);
    tc_sb_add(b, "/* One call at a time for each context, from any thread. Returns 0, or a number that is told above. */\n");
    tc_sb_printf(b, "int32_t %s_context_run(%s_context *context, const void *const *inputs, void *const *outputs);\n\n", name,
                 name);
    tc_sb_add(b, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

bool tc_graph_path_ends(const char *path, const char *end) {
    size_t n = strlen(path), m = strlen(end);
    return n > m && strcmp(path + n - m, end) == 0;
}

const char *tc_graph_path_beside(tc_arena *a, const char *path, const char *end) {
    size_t n = strlen(path) - (tc_graph_path_ends(path, ".so")                                    ? 3
                               : tc_graph_path_ends(path, ".o") || tc_graph_path_ends(path, ".c") ? 2
                                                                                                  : 0);
    return tc_arena_printf(a, "%.*s%s", (int)n, path, end);
}
