/* What weights.h describes. */
#include "tune/kernel/weights.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/guess.h"
#include "support/numbers.h"
#include "support/system/fs.h"
#include "support/vec.h"

typedef struct named {
    const char *name;
    int64_t size;
} named;

typedef struct line {
    int number, n;
    const named *of;
    double weight;
} line;

struct tc_tune_weights_file {
    const char *path;
    int n;
    const line *lines;
};

/* "sequence=17" */
static bool read_named(tc_arena *a, const char *word, named *out) {
    const char *is = strchr(word, '=');
    char *end;
    if (!is || is == word || !isdigit((unsigned char)is[1]))
        return false;
    errno = 0;
    *out = (named){tc_arena_strndup(a, word, (size_t)(is - word)), strtoll(is + 1, &end, 10)};
    return !*end && !errno;
}

static bool read_weight(const char *word, double *out) {
    char *end;
    *out = tc_strtod(word, &end);
    return end != word && !*end && isfinite(*out);
}

/* Cuts up `text`. */
static tc_status read_line(tc_arena *a, const char *path, char *text, line *out, tc_error *err) {
    TC_VEC(named) of = {0};
    bool weighed = false, good = true;
    for (char *rest = text, *word; good && (word = strtok_r(rest, " \t\r", &rest));) {
        named x;
        if (weighed || (good = read_named(a, word, &x)) == false)
            weighed = good = !weighed && read_weight(word, &out->weight);
        else
            tc_push(&of, x);
    }
    out->n = (int)of.len;
    out->of = tc_arena_dup(a, of.data, of.len * sizeof *of.data);
    tc_vec_free(&of);
    if (!good || !weighed || !out->n)
        return tc_fail(err, TC_BAD_INPUT, "%s:%d: expected NAME=SIZE .. WEIGHT, such as: sequence=17 0.2", path, out->number);
    if (out->weight <= 0)
        return tc_fail(err, TC_BAD_INPUT, "%s:%d: the weight is %g; it says how much these sizes count, and must be more than 0",
                       path, out->number, out->weight);
    for (int i = 0; i < out->n; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(out->of[i].name, out->of[k].name) == 0)
                return tc_fail(err, TC_BAD_INPUT, "%s:%d: %s has two sizes", path, out->number, out->of[i].name);
    return TC_OK;
}

tc_status tc_tune_weights_load(tc_arena *a, const char *file, tc_tune_weights_file **out, tc_error *err) {
    TC_VEC(line) lines = {0};
    char *text;
    int number = 1;
    TC_TRY(tc_fs_read_text(file, &text, err));
    tc_status s = TC_OK;
    for (char *p = text, *next; p && s == TC_OK; p = next, number++) {
        if ((next = strchr(p, '\n')))
            *next++ = 0;
        p[strcspn(p, "#")] = 0;
        line one = {.number = number};
        if (p[strspn(p, " \t\r")] == 0)
            continue;
        s = read_line(a, file, p, &one, err);
        tc_push(&lines, one);
    }
    if (s == TC_OK && lines.len == 0)
        s = tc_fail(err, TC_BAD_INPUT, "%s: has no sizes; expected lines of NAME=SIZE .. WEIGHT", file);
    *out = TC_NEW(a, tc_tune_weights_file);
    **out = (tc_tune_weights_file){tc_arena_strdup(a, file), (int)lines.len,
                                   tc_arena_dup(a, lines.data, lines.len * sizeof *lines.data)};
    tc_vec_free(&lines);
    free(text);
    return s;
}

/* ---- what it says of sizes ---- */

int tc_tune_weights_lines(const tc_tune_weights_file *f) {
    return f->n;
}

double tc_tune_weights_weight(const tc_tune_weights_file *f, int i) {
    return f->lines[i].weight;
}

tc_status tc_tune_weights_refuse(const tc_tune_weights_file *f, int i, tc_status s, tc_error *err) {
    if (s != TC_OK)
        tc_error_prefix(err, "%s:%d: ", f->path, f->lines[i].number);
    return s;
}

static int find(const char *name, int n, const char *const *names) {
    for (int k = 0; k < n; k++)
        if (strcmp(names[k], name) == 0)
            return k;
    return -1;
}

static tc_status unknown(const char *name, int n, const char *const *names, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int k = 0; k < n; k++)
        tc_guess_add(&g, names[k]);
    return tc_fail(err, TC_BAD_INPUT, "nothing has a size %s that varies%s", name,
                   tc_guess_say(&g, "", n ? NULL : "all sizes are fixed", text));
}

tc_status tc_tune_weights_line(const tc_tune_weights_file *f, int i, int n, const char *const *names, int64_t *size,
                               tc_error *err) {
    const line *l = &f->lines[i];
    for (int k = 0; k < n; k++)
        size[k] = -1;
    for (int j = 0; j < l->n; j++) {
        int k = find(l->of[j].name, n, names);
        if (k < 0)
            return tc_tune_weights_refuse(f, i, unknown(l->of[j].name, n, names, err), err);
        size[k] = l->of[j].size;
    }
    return TC_OK;
}

static tc_status check(const tc_workload *w, const int64_t *size, tc_error *err) {
    for (int k = 0; k < w->nsymbol; k++) {
        const tc_var *v = w->symbols[k];
        if (size[k] < 0)
            return tc_fail(err, TC_BAD_INPUT, "does not say the size of %s", v->name);
        if (size[k] < v->least || size[k] > v->most)
            return tc_fail(err, TC_BAD_INPUT, "%s is %lld, but it runs from %lld to %lld", v->name, (long long)size[k],
                           (long long)v->least, (long long)v->most);
    }
    return TC_OK;
}

tc_status tc_tune_weights_of(tc_arena *a, const tc_tune_weights_file *f, const tc_workload *w, const tc_tune_weights **out,
                             tc_error *err) {
    tc_tune_weighted *x = TC_NEW_N(a, tc_tune_weighted, f->n);
    const char **names = TC_NEW_N(a, const char *, w->nsymbol);
    for (int k = 0; k < w->nsymbol; k++)
        names[k] = w->symbols[k]->name;
    for (int i = 0; i < f->n; i++) {
        int64_t *size = TC_NEW_N(a, int64_t, w->nsymbol);
        TC_TRY(tc_tune_weights_line(f, i, w->nsymbol, names, size, err));
        TC_TRY(tc_tune_weights_refuse(f, i, check(w, size, err), err));
        x[i] = (tc_tune_weighted){size, f->lines[i].weight};
    }
    tc_tune_weights *weights = TC_NEW(a, tc_tune_weights);
    *weights = (tc_tune_weights){f->n, x};
    *out = weights;
    return TC_OK;
}
