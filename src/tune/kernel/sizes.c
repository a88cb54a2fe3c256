/* What sizes.h describes. */
#include "tune/kernel/sizes.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/system/fs.h"
#include "support/vec.h"

/* What sizes count that no line of a file comes near, of the mean of all: a run may still have them. Chosen. */
static const double unnamed = 0.01;

int64_t tc_tune_product(const int64_t *sizes, int n) {
    int64_t p = 1;
    for (int i = 0; i < n; i++)
        if (__builtin_mul_overflow(p, TC_MAX(sizes[i], 1), &p))
            return INT64_MAX;
    return p;
}

const char *tc_tune_name_at(tc_arena *a, const char *name, const tc_workload *w, const int64_t *sizes) {
    for (int i = 0; i < w->nsymbol; i++)
        name = tc_arena_printf(a, "%s %s=%lld", name, w->symbols[i]->name, (long long)sizes[i]);
    return name;
}

/* ---- files ---- */

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
    *out = strtod(word, &end);
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
    TC_TRY(tc_fs_read(file, &text, NULL, err));
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

static int find_symbol(const tc_workload *w, const char *name) {
    for (int i = 0; i < w->nsymbol; i++)
        if (strcmp(w->symbols[i]->name, name) == 0)
            return i;
    return -1;
}

static bool is_known(const char *name, const tc_workload *const *w, int n) {
    for (int i = 0; i < n; i++)
        if (find_symbol(w[i], name) >= 0)
            return true;
    return false;
}

static const char *names_of(tc_arena *a, const tc_workload *const *w, int n) {
    const char *names = "";
    for (int i = 0; i < n; i++)
        for (int k = 0; k < w[i]->nsymbol; k++)
            if (!is_known(w[i]->symbols[k]->name, w, i))
                names = tc_arena_printf(a, "%s%s%s", names, *names ? ", " : "", w[i]->symbols[k]->name);
    return names;
}

tc_status tc_tune_weights_check(const tc_tune_weights_file *f, const tc_workload *const *w, int n, tc_error *err) {
    for (int i = 0; i < f->n; i++)
        for (int k = 0; k < f->lines[i].n; k++) {
            if (is_known(f->lines[i].of[k].name, w, n))
                continue;
            tc_arena *a = tc_arena_new();
            const char *names = names_of(a, w, n);
            tc_status s =
                tc_fail(err, TC_BAD_INPUT, "%s:%d: nothing has a size %s that varies; %s%s", f->path, f->lines[i].number,
                        f->lines[i].of[k].name, *names ? "there are " : "all sizes are fixed", names);
            tc_arena_free(a);
            return s;
        }
    return TC_OK;
}

static tc_status sizes_of_line(const tc_tune_weights_file *f, const line *l, const tc_workload *w, int64_t *sizes,
                               tc_error *err) {
    for (int i = 0; i < w->nsymbol; i++) {
        const tc_var *v = w->symbols[i];
        int k = 0;
        while (k < l->n && strcmp(l->of[k].name, v->name) != 0)
            k++;
        if (k == l->n)
            return tc_fail(err, TC_BAD_INPUT, "%s:%d: does not say the size of %s", f->path, l->number, v->name);
        sizes[i] = l->of[k].size;
        if (sizes[i] < v->least || sizes[i] > v->most)
            return tc_fail(err, TC_BAD_INPUT, "%s:%d: %s is %lld, but it runs from %lld to %lld", f->path, l->number, v->name,
                           (long long)sizes[i], (long long)v->least, (long long)v->most);
    }
    return TC_OK;
}

tc_status tc_tune_weights_of(tc_arena *a, const tc_tune_weights_file *f, const tc_workload *w, tc_tune_weights *out,
                             tc_error *err) {
    tc_tune_weighted *x = TC_NEW_N(a, tc_tune_weighted, f->n);
    for (int i = 0; i < f->n; i++) {
        int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
        TC_TRY(sizes_of_line(f, &f->lines[i], w, sizes, err));
        x[i] = (tc_tune_weighted){sizes, f->lines[i].weight};
    }
    *out = (tc_tune_weights){f->n, x};
    return TC_OK;
}

/* ---- places ---- */

/* Where a share of the way from the least size to the most leads, by the logarithm. */
static int64_t on_the_way(const tc_var *v, double share) {
    double least = (double)TC_MAX(v->least, 1), most = (double)TC_MAX(v->most, 1);
    int64_t x = (int64_t)llround(least * pow(most / least, share));
    return TC_MIN(TC_MAX(x, v->least), v->most);
}

static int by_product(const tc_workload *w, const int64_t *x, const int64_t *y) {
    int64_t p = tc_tune_product(x, w->nsymbol), q = tc_tune_product(y, w->nsymbol);
    for (int i = 0; i < w->nsymbol && p == q; i++)
        p = x[i], q = y[i];
    return (p > q) - (p < q);
}

/* Keeps them in order, and each once. */
static void put(const tc_workload *w, const int64_t **places, int *n, const int64_t *sizes) {
    int at = *n;
    while (at > 0 && by_product(w, places[at - 1], sizes) > 0)
        at--;
    if (at > 0 && by_product(w, places[at - 1], sizes) == 0)
        return;
    memmove(places + at + 1, places + at, sizeof *places * (size_t)(*n - at));
    places[at] = sizes;
    ++*n;
}

/* The digits of i to the base b, mirrored at the point: numbers of [0, 1) that lie ever closer, and evenly (van der Corput 1935). */
static double mirrored(int i, int b) {
    double x = 0, digit = 1;
    for (; i > 0; i /= b)
        x += (digit /= b) * (i % b);
    return x;
}

/* The first symbol goes straight from its least to its most; the others take all sizes along that way. */
static const int64_t *sampled(tc_arena *a, const tc_workload *w, int i, int n) {
    static const int bases[] = {2, 3, 5, 7, 11, 13};
    bool end = i == 0 || i == n - 1;
    int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
    for (int k = 0; k < w->nsymbol; k++) {
        double straight = (double)i / (n - 1);
        sizes[k] = on_the_way(w->symbols[k], k == 0 || end ? straight : mirrored(i, bases[(size_t)(k - 1) % TC_LEN(bases)]));
    }
    return sizes;
}

/* The lines of the file, by product. */
static const tc_tune_weighted **in_order(tc_arena *a, const tc_workload *w, const tc_tune_weights *x, double *sum) {
    const tc_tune_weighted **v = TC_NEW_N(a, const tc_tune_weighted *, x->n);
    *sum = 0;
    for (int i = 0; i < x->n; i++) {
        int at = i;
        for (; at > 0 && by_product(w, v[at - 1]->sizes, x->data[i].sizes) > 0; at--)
            v[at] = v[at - 1];
        v[at] = &x->data[i];
        *sum += x->data[i].weight;
    }
    return v;
}

/* In the middle of n parts of the weights. */
static void middles(tc_arena *a, const tc_workload *w, const tc_tune_weights *x, int n, const int64_t **places, int *count) {
    double sum, below = 0;
    const tc_tune_weighted **v = in_order(a, w, x, &sum);
    for (int i = 0, part = 0; i < x->n; i++) {
        below += v[i]->weight;
        for (; part < n && (part + 0.5) / n * sum <= below; part++)
            put(w, places, count, v[i]->sizes);
    }
}

tc_tune_places tc_tune_tuned_sizes(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights) {
    const int64_t **places = TC_NEW_N(a, const int64_t *, TC_TUNE_TUNED + 1);
    int n = 0;
    if (weights)
        middles(a, w, weights, TC_TUNE_TUNED, places, &n);
    for (int i = 0; !weights && i < TC_TUNE_TUNED; i++) {
        int64_t *sizes = TC_NEW_N(a, int64_t, w->nsymbol);
        for (int k = 0; k < w->nsymbol; k++)
            sizes[k] = on_the_way(w->symbols[k], (i + 0.5) / TC_TUNE_TUNED);
        put(w, places, &n, sizes);
    }
    return (tc_tune_places){n, places};
}

tc_tune_places tc_tune_grid(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights) {
    const int64_t **places = TC_NEW_N(a, const int64_t *, TC_TUNE_GRID + 1);
    int n = 0;
    for (int i = 0; i < TC_TUNE_GRID; i++)
        if (!weights || i == 0 || i == TC_TUNE_GRID - 1)
            put(w, places, &n, sampled(a, w, i, TC_TUNE_GRID));
    if (weights)
        middles(a, w, weights, TC_TUNE_GRID - 2, places, &n);
    return (tc_tune_places){n, places};
}

/* ---- weights of places ---- */

static double log_of(const tc_workload *w, const int64_t *sizes) {
    return log((double)tc_tune_product(sizes, w->nsymbol));
}

static int nearest(const tc_workload *w, int n, const int64_t *const *sizes, const int64_t *to) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (fabs(log_of(w, sizes[i]) - log_of(w, to)) < fabs(log_of(w, sizes[best]) - log_of(w, to)))
            best = i;
    return best;
}

/* Each counts as far as it is to the middles between it and its neighbours; the ends as if they had one on the other side too: a single
 * row, and as much as there may be, are what runs often have. */
static void weigh_by_logarithm(const tc_workload *w, int n, const int64_t *const *sizes, double *out) {
    for (int i = 0; i < n; i++) {
        double below = i > 0 ? log_of(w, sizes[i]) - log_of(w, sizes[i - 1]) : 0;
        double above = i + 1 < n ? log_of(w, sizes[i + 1]) - log_of(w, sizes[i]) : 0;
        out[i] = ((i > 0 ? below : above) + (i + 1 < n ? above : below)) / 2;
    }
}

const double *tc_tune_place_weights(tc_arena *a, const tc_workload *w, const tc_tune_weights *weights, int n,
                                    const int64_t *const *sizes) {
    double *out = TC_NEW_N(a, double, n), sum = 0;
    if (!weights)
        weigh_by_logarithm(w, n, sizes, out);
    for (int i = 0; weights && i < weights->n; i++)
        out[nearest(w, n, sizes, weights->data[i].sizes)] += weights->data[i].weight;
    for (int i = 0; i < n; i++)
        sum += out[i];
    for (int i = 0; i < n; i++)
        out[i] = sum > 0 ? TC_MAX(out[i] / sum, unnamed / n) : 1.0 / n;
    return out;
}
