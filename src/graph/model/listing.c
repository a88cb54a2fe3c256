/* The lowered programs of a model as one text, which debuggers show for its code. A comment before each program names its task. */
#include "graph/model/parts.h"
#include "support/say.h"
#include "support/system/fs.h"
#include "tir_lower/text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Each line of `text`, as a comment. */
static void comment(tc_strbuf *b, const char *text) {
    while (*text) {
        size_t n = strcspn(text, "\n");
        tc_sb_printf(b, "# %.*s\n", (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void introduce(const tc_graph_model *m, int task, tc_strbuf *b) {
    const tc_graph_kernel *k = &m->kernels[task];
    tc_sb_say(b, task ? "\n# %s: %s, form %s, " : "# %s: %s, form %s, ", k->symbol, k->name, k->form);
    if (k->source == TC_GRAPH_FROM_RECORD)
        tc_sb_printf(b, "record %lld\n", (long long)k->record);
    else
        tc_sb_add(b, "default schedule\n");
    comment(b, k->workload);
}

/* Debuggers look for an absolute path. */
static tc_status folder_of(tc_arena *a, const char *path, const char **out, tc_error *err) {
    char *name = tc_fs_dirname(path), *real = realpath(name, NULL);
    free(name);
    if (!real)
        return tc_fail(err, TC_ENV, "%s: its folder cannot be found: %s", path, tc_fs_reason(errno));
    *out = tc_arena_strdup(a, real);
    free(real);
    return TC_OK;
}

static int lines(const tc_strbuf *b, size_t *counted) {
    int n = 0;
    for (; *counted < b->len; ++*counted)
        n += b->data[*counted] == '\n';
    return n;
}

tc_status tc_graph_list_programs(tc_graph_model *m, const char *path, tc_cg_text *text, tc_error *err) {
    const char *slash = strrchr(path, '/'), *folder = NULL;
    TC_TRY(folder_of(m->arena, path, &folder, err));
    m->listing_path = tc_arena_strdup(m->arena, path);
    tc_strbuf b = {0};
    size_t counted = 0;
    for (int i = 0, line = 1; i < m->nkernel; i++) {
        introduce(m, i, &b);
        line += lines(&b, &counted);
        text[i] =
            (tc_cg_text){.file = slash ? m->listing_path + (slash - path) + 1 : m->listing_path, .folder = folder, .line = line};
        tc_tir_print(&b, m->units[i].func);
    }
    m->listing = tc_sb_keep(&b, m->arena);
    return TC_OK;
}
