/* timeline FILE: checks a file of the Trace Event Format: every slice has what viewers need, and on a thread each two slices are
 * apart or one lies within the other. Prints how many threads have slices, how many kernels there are, and how many forks, works
 * and waits there are. */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 64, MOST_SLICES = 100000, MOST_KERNELS = 4096 };

typedef struct slice {
    double begin, end;
    int thread;
} slice;

static slice slices[MOST_SLICES];
static bool is_there[MOST_KERNELS];
static int nslice;

static int bad(const char *what, const json_t *e) {
    char *text = json_dumps(e, JSON_COMPACT);
    fprintf(stderr, "timeline: %s: %s\n", what, text);
    free(text);
    return 1;
}

static int read_slice(const json_t *e) {
    const json_t *ts = json_object_get(e, "ts"), *dur = json_object_get(e, "dur"), *tid = json_object_get(e, "tid");
    const char *name = json_string_value(json_object_get(e, "name")), *cat = json_string_value(json_object_get(e, "cat"));
    if (!json_is_number(ts) || !json_is_number(dur) || !json_is_integer(tid) || !json_is_integer(json_object_get(e, "pid")) ||
        !name || !cat)
        return bad("a slice lacks something", e);
    if (json_number_value(dur) < 0 || json_number_value(ts) < 0 || nslice == MOST_SLICES)
        return bad("a slice is no span", e);
    slices[nslice++] = (slice){.begin = json_number_value(ts),
                               .end = json_number_value(ts) + json_number_value(dur),
                               .thread = (int)json_integer_value(tid)};
    const json_t *kernel = json_object_get(json_object_get(e, "args"), "kernel");
    if (!strcmp(cat, "kernel") && json_integer_value(kernel) >= 0 && json_integer_value(kernel) < MOST_KERNELS)
        is_there[json_integer_value(kernel)] |= kernel != NULL;
    return 0;
}

/* The outer one first. */
static int by_place(const void *x, const void *y) {
    const slice *a = x, *b = y;
    if (a->thread != b->thread)
        return a->thread - b->thread;
    if (a->begin != b->begin)
        return a->begin < b->begin ? -1 : 1;
    return a->end > b->end ? -1 : a->end < b->end;
}

static int check_nesting(void) {
    static const double tolerance = 1e-6; /* microseconds: of sums of decimals */
    static slice open[64];
    int depth = 0;
    qsort(slices, (size_t)nslice, sizeof *slices, by_place);
    for (int i = 0; i < nslice; i++) {
        while (depth && (open[depth - 1].thread != slices[i].thread || open[depth - 1].end <= slices[i].begin + tolerance))
            depth--;
        if (depth == 64 || (depth && slices[i].end > open[depth - 1].end + tolerance)) {
            fprintf(stderr, "timeline: slices of thread %d overlap at %.3f us\n", slices[i].thread, slices[i].begin);
            return 1;
        }
        open[depth++] = slices[i];
    }
    return 0;
}

static int named(const json_t *events, const char *name) {
    int n = 0;
    size_t i;
    json_t *e;
    json_array_foreach(events, i, e) {
        const char *s = json_string_value(json_object_get(e, "name"));
        n += s && !strcmp(s, name);
    }
    return n;
}

int main(int argc, char **argv) {
    json_error_t error;
    json_t *root = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL, *e;
    const json_t *events = json_object_get(root, "traceEvents");
    bool has[MOST_THREADS] = {false};
    int threads = 0;
    size_t i;
    if (!json_is_array(events)) {
        fprintf(stderr, "timeline: no list of events\n");
        return 1;
    }
    json_array_foreach(events, i, e) {
        const char *phase = json_string_value(json_object_get(e, "ph"));
        if (!phase || (strcmp(phase, "X") && strcmp(phase, "M")))
            return bad("an event of no known kind", e);
        if (!strcmp(phase, "X") && read_slice(e))
            return 1;
    }
    for (int k = 0; k < nslice; k++)
        if (slices[k].thread >= 0 && slices[k].thread < MOST_THREADS)
            has[slices[k].thread] = true;
    for (int k = 0; k < MOST_THREADS; k++)
        threads += has[k];
    if (check_nesting())
        return 1;
    int kernels = 0;
    for (int k = 0; k < MOST_KERNELS; k++)
        kernels += is_there[k];
    printf("%d threads %d names %d kernels %d fork %d work %d wait\n", threads, named(events, "thread_name"), kernels,
           named(events, "fork"), named(events, "work"), named(events, "wait"));
    json_decref(root);
    return 0;
}
