/* Duplicates. Mutation finds the same traces again and again, half of the time late in a search. So each trace is realised and
 * scored once. The table is written only between the parallel parts, and does not depend on which thread realised a trace. */
#include "search_space/evolve/search_int.h"

int64_t tc_space_known(const search *x, uint64_t key) {
    const uintptr_t *at = tc_map_get(&x->known, key);
    return at ? (int64_t)*at : -1;
}

bool tc_space_recall(const search *x, uint64_t key, int at, uint64_t *hash) {
    const tc_scorer *sc = x->q->scorer;
    const uintptr_t *known = x->q->options.lowered ? tc_map_get(x->q->options.lowered, key) : NULL;
    if (!known)
        return false;
    *hash = *known;
    if (!*hash || !sc || !sc->add)
        return true;
    return sc->recall && sc->recall(sc->user, at, *hash);
}

static bool unsettled(const slot *s) {
    return s->state == SLOT_WAITING || s->state == SLOT_BUILT;
}

int tc_space_enter(search *x, slot *s, int n, int *first) {
    int todo = 0;
    for (int i = 0; i < n; i++) {
        if (!unsettled(&s[i]) || tc_space_known(x, s[i].key) >= 0)
            continue;
        tc_map_put(&x->known, s[i].key, x->seen.len);
        tc_push(&x->seen, ((realised){.key = s[i].key, .hash = s[i].hash, .slot = i}));
        if (s[i].state == SLOT_WAITING)
            first[todo++] = i;
    }
    return todo;
}

void tc_space_settle(search *x, slot *s, int n) {
    for (int i = 0; i < n; i++) {
        if (!unsettled(&s[i]))
            continue;
        s[i].seen = (size_t)tc_space_known(x, s[i].key);
        s[i].state = x->seen.data[s[i].seen].hash ? SLOT_FILLED : SLOT_PENDING;
    }
}

void tc_space_learn(search *x, size_t before, const double *score) {
    for (size_t k = before; k < x->seen.len; k++) {
        realised *fresh = &x->seen.data[k];
        fresh->score = score ? score[fresh->slot] : 0;
        if (x->q->options.lowered && !stopped(x))
            tc_map_put(x->q->options.lowered, fresh->key, (uintptr_t)fresh->hash);
    }
}
