/* Reads sizes that a caller gives by name, as "N=17". */
#include <stdlib.h>
#include <string.h>

#include "api/model_int.h"
#include "support/guess.h"

/* A size that varies. */
typedef struct varying {
    const char *name;
    long long least, most, multiple;
} varying;

/* All of them. what: "kernel" */
typedef struct varying_sizes {
    const char *what;
    int n;
    varying *v;
    tc_arena *a;
} varying_sizes;

static varying_sizes sizes_of(const char *what, int n, tc_arena *a) {
    return (varying_sizes){what, n, TC_NEW_N(a, varying, n), a};
}

/* "N = 1..512, S = 32..128 in steps of 32" */
static const char *ranges_text(const varying_sizes *s) {
    const char *text = "";
    for (int i = 0; i < s->n; i++) {
        const varying *v = &s->v[i];
        text = tc_arena_printf(s->a, "%s%s%s = %lld..%lld", text, i ? ", " : "", v->name, v->least, v->most);
        if (v->multiple > 1)
            text = tc_arena_printf(s->a, "%s in steps of %lld", text, v->multiple);
    }
    return text;
}

/* "N=17" with a size that exists. */
static tc_status read_size(const char *text, const varying_sizes *s, int *which, int64_t *size, tc_error *err) {
    char guess[TC_GUESS_TEXT], *end = "";
    const char *is = strchr(text, '=');
    *size = is && is[1] >= '0' && is[1] <= '9' ? strtoll(is + 1, &end, 10) : -1;
    if (*size < 0 || *end)
        return tc_fail(err, TC_BAD_INPUT, "at %s: expected NAME=SIZE with a size of the %s, which has %s", text, s->what,
                       ranges_text(s));
    size_t len = (size_t)(is - text);
    tc_guess g = tc_guess_new(text, len);
    for (*which = 0; *which < s->n; ++*which) {
        const char *name = s->v[*which].name;
        if (strlen(name) == len && strncmp(text, name, len) == 0)
            return TC_OK;
        tc_guess_add(&g, name);
    }
    return tc_fail(err, TC_BAD_INPUT, "at %s: the %s has no size '%.*s'%s Its sizes are %s", text, s->what, (int)len, text,
                   g.nclose ? tc_guess_say(&g, "", NULL, guess) : ".", ranges_text(s));
}

/* sizes[i]: -1 where it is not given. */
static tc_status read_all(const char *const *at, const varying_sizes *s, int64_t *sizes, tc_error *err) {
    int64_t size;
    int i;
    for (i = 0; i < s->n; i++)
        sizes[i] = -1;
    if (!s->n)
        return tc_fail(err, TC_BAD_INPUT, "at %s: no size of the %s varies", at[0], s->what);
    for (size_t k = 0; at[k]; k++) {
        TC_TRY(read_size(at[k], s, &i, &size, err));
        const varying *v = &s->v[i];
        if (sizes[i] >= 0 || size < v->least || size > v->most || size % v->multiple)
            return tc_fail(err, TC_BAD_INPUT, "at %s: %s must be from %lld to %lld%s, and be given once", at[k], v->name,
                           v->least, v->most, v->multiple > 1 ? tc_arena_printf(s->a, " in steps of %lld", v->multiple) : "");
        sizes[i] = size;
    }
    return TC_OK;
}

tc_status api_task_sizes(const char *const *at, const tc_workload *w, tc_arena *a, const int64_t **out, tc_error *err) {
    int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
    varying_sizes s = sizes_of("kernel", w->nsymbol, a);
    *out = NULL;
    if (!at || !at[0])
        return TC_OK;
    for (int i = 0; i < w->nsymbol; i++)
        s.v[i] = (varying){w->symbols[i]->name, w->symbols[i]->least, w->symbols[i]->most, 1};
    tc_status st = read_all(at, &s, sizes, err);
    for (int i = 0; st == TC_OK && i < w->nsymbol; i++)
        if (sizes[i] < 0)
            return tc_fail(err, TC_BAD_INPUT, "at: %s is missing; give it too, such as %s=%lld", s.v[i].name, s.v[i].name,
                           s.v[i].most);
    *out = sizes;
    return st;
}

tc_status api_model_sizes(const char *const *at, const tc_graph_size_rules *r, tc_arena *a, const int64_t **out, tc_error *err) {
    int64_t *sizes = TC_NEW_N(a, int64_t, r->nsize);
    varying_sizes s = sizes_of("network", r->nsize, a);
    *out = NULL;
    if (!at || !at[0])
        return TC_OK;
    for (int i = 0; i < r->nsize; i++)
        s.v[i] = (varying){r->size[i].name, r->size[i].least, r->size[i].most, r->size[i].multiple};
    tc_status st = read_all(at, &s, sizes, err);
    if (st == TC_OK && tc_graph_size_rules_complete(r, sizes, err) != TC_OK) {
        tc_error_prefix(err, "at: ");
        return TC_BAD_INPUT;
    }
    *out = sizes;
    return st;
}

/* ---- for callers ---- */

static tc_status task_sizes(const tctune_work *w, int task, const char *const *at, int64_t *sizes, tc_error *err) {
    const tc_tune_task *t;
    const int64_t *found;
    tc_arena *a = tc_arena_new();
    tc_status st = api_check_task(w, task, err);
    if (st == TC_OK) {
        tc_graph_work_tasks(w->w, &t);
        st = api_task_sizes(at, t[task].workload, a, &found, err);
    }
    for (int i = 0; st == TC_OK && sizes && i < t[task].workload->nsymbol; i++)
        sizes[i] = found ? found[i] : t[task].workload->symbols[i]->most;
    tc_arena_free(a);
    return st;
}

tctune_status tctune_work_sizes_at(const tctune_work *w, int task, const char *const *at, int64_t *sizes, char *error,
                                   size_t error_size) {
    API_CALL(err, error, error_size, task_sizes(w, task, at, sizes, &err), (void)0);
}

int tctune_model_num_sizes(const tctune_model *m) {
    return tc_graph_model_sizes(m->model)->nsize;
}

const char *tctune_model_size(const tctune_model *m, int i, int64_t *least, int64_t *most, int64_t *multiple) {
    const tc_graph_size_rules *r = tc_graph_model_sizes(m->model);
    if (i < 0 || i >= r->nsize)
        return NULL;
    *least = r->size[i].least;
    *most = r->size[i].most;
    *multiple = r->size[i].multiple;
    return r->size[i].name;
}

static tc_status model_sizes(const tctune_model *m, const char *const *at, int64_t *sizes, tc_error *err) {
    const tc_graph_size_rules *r = tc_graph_model_sizes(m->model);
    const int64_t *found;
    tc_arena *a = tc_arena_new();
    tc_status st = api_model_sizes(at, r, a, &found, err);
    for (int i = 0; st == TC_OK && sizes && i < r->nsize; i++)
        sizes[i] = found ? found[i] : r->size[i].most;
    tc_arena_free(a);
    return st;
}

tctune_status tctune_model_sizes_at(const tctune_model *m, const char *const *at, int64_t *sizes, char *error,
                                    size_t error_size) {
    API_CALL(err, error, error_size, model_sizes(m, at, sizes, &err), (void)0);
}
