/* Whether a loop is worth other threads. A signal from one core to another, and the data that follow it, take 0.2 us where the
 * cores share a cache, and 2 us where they are far from each other: as long as many a small loop. On a virtual machine that changes
 * by the minute. So each small loop is timed now and then, with all threads and in the caller's alone. */
#include "codegen/team/team_int.h"

enum { BY_ALL, BY_CALLER };

enum {
    LOOKS = TC_TEAM_LOOKS,
    BEFORE = 3, /* regions before the first look: then what the loop reads is in the caches of those that run it */
    /* Nanoseconds above which a loop is shared without another look: with all threads, and in the caller's alone. Signals cost
     * less. */
    LARGE = 20000,
    LARGE_ALONE = 8000,
    /* Regions until the next looks: at least, and at most where one way is clearly faster. More threads lose more in looks alone. */
    LEAST_PAUSE = 4096,
    PAUSE_ALONE = 8192,
    PAUSE_SHARED = 1 << 16
};

static uint32_t median(const tc_team_site *s, int way) {
    uint32_t v[LOOKS];
    for (int i = 0; i < LOOKS; i++) {
        int at = i;
        for (; at > 0 && v[at - 1] > s->took[way][i]; at--)
            v[at] = v[at - 1];
        v[at] = s->took[way][i];
    }
    return v[LOOKS / 2];
}

/* Until the next looks. */
static void settle(tc_team_site *s, bool alone, uint32_t pause) {
    s->alone = alone;
    s->left = s->pause = pause;
    s->way = BY_ALL;
    s->done = 0;
}

/* The site has been looked at both ways. */
static void decide(tc_team_site *s) {
    uint64_t shared = median(s, BY_ALL), own = median(s, BY_CALLER);
    bool alone = 4 * own <= 3 * shared, clear = 2 * (alone ? shared : own) > 3 * (alone ? own : shared), same = alone == s->alone;
    uint32_t most = alone ? PAUSE_ALONE : PAUSE_SHARED, pause = same && clear ? 2 * s->pause : LEAST_PAUSE;
    settle(s, alone, pause < LEAST_PAUSE ? LEAST_PAUSE : pause > most ? most : pause);
}

bool tc_team_site_asks(tc_team_site *s, bool *timed) {
    *timed = s->left == 0;
    if (*timed)
        return s->way == BY_CALLER;
    s->left--;
    return s->alone;
}

void tc_team_site_took(tc_team_site *s, uint64_t took) {
    uint32_t *look = &s->took[s->way][s->done < BEFORE ? 0 : s->done - BEFORE],
             v = took < UINT32_MAX ? (uint32_t)took : UINT32_MAX;
    bool before = s->done > 0 && s->done < BEFORE; /* the least of these */
    *look = before && *look < v ? *look : v;
    if (++s->done == BEFORE && s->way == BY_CALLER && *look > LARGE_ALONE) {
        settle(s, false, PAUSE_SHARED);
        return;
    }
    if (s->done < BEFORE + LOOKS)
        return;
    s->done = 0;
    if (s->way == BY_CALLER)
        decide(s);
    else if (median(s, BY_ALL) > LARGE)
        settle(s, false, PAUSE_SHARED);
    else
        s->way = BY_CALLER;
}

tc_team_site *tc_team_site_of(tc_team_sites *all, tc_rt_body *body, int64_t n) {
    enum { TRIES = 8 };
    uint64_t h = ((uint64_t)(uintptr_t)body >> 4) * 0x9e3779b97f4a7c15u + (uint64_t)n * 0xc2b2ae3d27d4eb4fu;
    for (uint64_t i = 0; i < TRIES; i++) {
        tc_team_site *s = &all->site[((h >> 32) + i) % TC_TEAM_SITES];
        if (s->body == body && s->n == n)
            return s;
        if (!s->body) {
            *s = (tc_team_site){.body = body, .n = n};
            return s;
        }
    }
    return NULL;
}
