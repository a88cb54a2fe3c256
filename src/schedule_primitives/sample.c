/* Draws and mutates tile decisions. A tile of `parts` factors has parts-1 inner factors. The outermost factor is ceil(extent /
 * product).
 *
 * A draw first fixes a padded extent: the extent itself in half of the draws, otherwise an extent that wastes at most a quarter.
 * Then it spreads the prime factors of the padded extent over the parts, as MetaSchedule does for perfect tiles (2205.13603,
 * section 4). In half of the draws it first draws the innermost part among the divisors allowed there. Spreading alone mostly
 * makes the innermost part small, but this part feeds the vector unit. */
#include "schedule_primitives/sample.h"

#include "support/vec.h"

static const int TRIES = 16;

/* Of positive factors; INT64_MAX, which no extent comes near, if there is no such number. */
static int64_t product(int parts, const int64_t *inner) {
    int64_t p = 1;
    for (int i = 0; i < parts - 1; i++)
        p = inner[i] > INT64_MAX / p ? INT64_MAX : p * inner[i];
    return p;
}

static int64_t granularity(int64_t max_inner) {
    return max_inner < 1 ? 1 : max_inner;
}

bool tc_sch_tile_legal(int64_t extent, int parts, int64_t max_inner, const int64_t *inner) {
    for (int i = 0; i < parts - 1; i++)
        if (inner[i] < 1)
            return false;
    int64_t g = granularity(max_inner), p = product(parts, inner);
    return p < INT64_MAX && inner[parts - 2] <= g && tc_ceil_div(p, g) <= tc_ceil_div(extent, g);
}

/* The part of the work that padding adds is at most a quarter. */
static bool is_frugal(int64_t extent, int64_t p) {
    int64_t over = extent % p;
    return p - extent <= extent / 4 && (over == 0 || p - over <= extent / 4);
}

/* Whole candidates only: what draws and mutations may return. */
static bool acceptable(int64_t extent, int parts, int64_t max_inner, const int64_t *inner) {
    return tc_sch_tile_legal(extent, parts, max_inner, inner) && is_frugal(extent, product(parts, inner));
}

static int64_t padded_extent(int64_t extent, int64_t max_inner, tc_rng *r) {
    if (tc_rng_below(r, 2))
        return extent;
    int64_t most = TC_MIN(extent, TC_MAX(granularity(max_inner), 16));
    int64_t unit = 1 + tc_rng_below(r, most);
    int64_t padded = tc_ceil_div(extent, unit) * unit;
    return padded - extent <= extent / 4 ? padded : extent;
}

static int64_t smallest_factor(int64_t n) {
    for (int64_t f = 2; f * f <= n; f++)
        if (n % f == 0)
            return f;
    return n;
}

static int64_t random_divisor(int64_t n, int64_t most, tc_rng *r) {
    int64_t found = 1, seen = 0;
    most = TC_MIN(n, most);
    /* Reservoir sampling over the divisors; large `most` only with small n, so both halves of each pair are looked at. */
    for (int64_t f = 1; f * f <= n; f++) {
        if (n % f)
            continue;
        if (f <= most && tc_rng_below(r, ++seen) == 0)
            found = f;
        if (f * f != n && n / f <= most && tc_rng_below(r, ++seen) == 0)
            found = n / f;
    }
    return found;
}

void tc_sch_draw_tile(int64_t extent, int parts, int64_t max_inner, tc_rng *r, int64_t *inner) {
    int64_t g = granularity(max_inner), rest = padded_extent(extent, max_inner, r), *last = &inner[parts - 2];
    for (int i = 0; i < parts - 1; i++)
        inner[i] = 1;
    bool inner_first = tc_rng_below(r, 2) == 0;
    if (inner_first) {
        *last = random_divisor(rest, g, r);
        rest /= *last;
    }
    while (rest > 1) {
        int64_t f = smallest_factor(rest);
        int part = (int)tc_rng_below(r, inner_first ? parts - 1 : parts); /* 0 is the outermost */
        if (part > 0 && !(part == parts - 1 && *last * f > g))
            inner[part - 1] *= f;
        rest /= f;
    }
    /* Padding to a multiple of the granularity may exceed what is legal; the exact extent never does. */
    while (!tc_sch_tile_legal(extent, parts, max_inner, inner)) {
        int widest = 0;
        for (int i = 1; i < parts - 1; i++)
            widest = inner[i] > inner[widest] ? i : widest;
        inner[widest] /= smallest_factor(inner[widest]);
    }
}

static bool same(int parts, const int64_t *a, const int64_t *b) {
    for (int i = 0; i < parts - 1; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

/* Takes a prime factor from one part and gives it to another; the outermost part takes part by what it is inferred to be. */
static bool move_factor(int64_t extent, int parts, tc_rng *r, int64_t *f) {
    int from = (int)tc_rng_below(r, parts), to = (int)tc_rng_below(r, parts - 1);
    to += to >= from;
    int64_t have = from ? f[from - 1] : tc_ceil_div(extent, product(parts, f));
    if (have < 2)
        return false;
    int64_t p = random_divisor(have, have, r);
    if (p == 1)
        return false;
    if (to && f[to - 1] > INT64_MAX / p)
        return false;
    if (from)
        f[from - 1] /= p;
    if (to)
        f[to - 1] *= p;
    return true;
}

static void replace_factor(int64_t extent, int parts, int64_t max_inner, tc_rng *r, int64_t *f) {
    int at = (int)tc_rng_below(r, parts - 1);
    int64_t others = product(parts, f) / f[at], most = tc_ceil_div(extent, others);
    if (at == parts - 2)
        most = TC_MIN(granularity(max_inner), TC_MAX(most, 1));
    if (tc_rng_below(r, 2))
        f[at] += tc_rng_below(r, 2) ? 1 : -1;
    else
        f[at] = 1 + tc_rng_below(r, TC_MAX(most, 1));
}

enum { MOST_TRIED = 256 };

/* When luck fails: the first acceptable tile that differs in one factor, or the all-ones tile. */
static bool any_neighbour(int64_t extent, int parts, int64_t max_inner, const int64_t *from, int64_t *to) {
    for (int at = 0; at < parts - 1; at++) {
        int64_t most = extent < MOST_TRIED ? extent + extent / 4 : MOST_TRIED;
        if (at == parts - 2)
            most = TC_MIN(most, granularity(max_inner));
        for (int i = 0; i < parts - 1; i++)
            to[i] = from[i];
        for (to[at] = 1; to[at] <= TC_MIN(most, MOST_TRIED); to[at]++)
            if (to[at] != from[at] && acceptable(extent, parts, max_inner, to))
                return true;
    }
    for (int i = 0; i < parts - 1; i++)
        to[i] = 1;
    return !same(parts, from, to);
}

bool tc_sch_mutate_tile(int64_t extent, int parts, int64_t max_inner, tc_rng *r, const int64_t *from, int64_t *to) {
    for (int t = 0; t < TRIES; t++) {
        for (int i = 0; i < parts - 1; i++)
            to[i] = from[i];
        int64_t how = tc_rng_below(r, 8); /* all anew, one factor anew, or a move: in one, two and five of eight cases */
        if (how == 0)
            tc_sch_draw_tile(extent, parts, max_inner, r, to);
        else if (how <= 2)
            replace_factor(extent, parts, max_inner, r, to);
        else if (!move_factor(extent, parts, r, to))
            continue;
        if (!same(parts, from, to) && acceptable(extent, parts, max_inner, to))
            return true;
    }
    return any_neighbour(extent, parts, max_inner, from, to);
}
