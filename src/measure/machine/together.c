/* What together.h describes. Each thread writes down when its pieces end. From that follows what all threads did in any span. */
#include "measure/machine/together.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>

#include "support/clock/clock.h"
#include "support/log.h"
#include "support/vec.h"

enum {
    LEAST = 4,     /* pieces, however little time there is: the process may have been suspended in one of them */
    MOST = 1 << 16 /* pieces that a thread writes down: 0.3 s of the shortest */
};
/* Seconds that a rate is taken over. On a busy machine a thread runs for some milliseconds at a time. Chosen. */
static const double usual_span = 0.5e-3;

typedef struct diary {
    double *end; /* of each piece; end[0]: when the thread began */
    int n;
} diary;

static void work(diary *l, int thread, double seconds, tc_meas_piece *piece, void *user) {
    double now = l->end[0] = tc_now(), stop = now + seconds;
    l->n = 0;
    while (l->n + 1 < MOST && (l->n < LEAST || now < stop)) {
        piece(thread, user);
        l->end[++l->n] = now = tc_now();
    }
}

/* Pieces until t. The part of one that is under way counts as if the thread had worked at it all the time. */
static double done_by(const diary *l, double t) {
    int low = 0, high = l->n;
    if (t >= l->end[high])
        return high;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (l->end[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    double took = l->end[high] - l->end[low];
    return low + (took > 0 ? fmax(0, t - l->end[low]) / took : 0);
}

static double rate_between(const diary *all, int threads, double from, double to) {
    double sum = 0;
    for (int i = 0; i < threads; i++)
        sum += done_by(&all[i], to) - done_by(&all[i], from);
    return sum / (to - from);
}

/* The best of all spans that end with a piece of the first thread; of all that was done, if none is so long. */
static double best_rate(const diary *all, int threads, double span) {
    double first = all[0].end[0], begun = first, last = all[0].end[all[0].n], best = 0;
    for (int i = 1; i < threads; i++) {
        first = fmin(first, all[i].end[0]);
        begun = fmax(begun, all[i].end[0]);
        last = fmax(last, all[i].end[all[i].n]);
    }
    for (int k = 1; k <= all[0].n; k++)
        if (all[0].end[k] - span >= begun)
            best = fmax(best, rate_between(all, threads, all[0].end[k] - span, all[0].end[k]));
    return best > 0 || last <= first ? best : rate_between(all, threads, first, last);
}

double tc_meas_rate_together(int threads, double seconds, tc_meas_piece *piece, void *user) {
    diary *all = tc_xcalloc((size_t)threads, sizeof *all);
    bool whole = true;
    for (int i = 0; i < threads; i++)
        whole &= (all[i].end = tc_try_malloc(MOST * sizeof *all[i].end)) != NULL;
    double span = tc_clock_span(fmin(seconds / 8, usual_span)), best = 0;
    if (whole) {
        int team = 1;
#pragma omp parallel num_threads(threads)
        {
#pragma omp single
            team = omp_get_num_threads(); /* a limit may leave fewer */
            work(&all[omp_get_thread_num()], omp_get_thread_num(), seconds, piece, user);
        }
        best = best_rate(all, team, span);
    }
    for (int i = 0; i < threads; i++)
        free(all[i].end);
    free(all);
    return best;
}
