/* The steps of two schedules, those that both have paired: the longest common subsequence of the steps without their decisions. */
#include "tune/kernel/changed.h"

#include <string.h>

#include "support/vec.h"

/* Beyond this many steps the table would be large; what lies between the steps that both begin with and those that both end with
 * is then told as replaced. */
enum { MOST_PAIRED = 2000 };

typedef struct step {
    const char *text;
    size_t len, bare; /* bare: without what was decided */
} step;

typedef TC_VEC(step) steps;

typedef struct pairing {
    const step *a, *b; /* what lies between */
    int na, nb;
    tc_arena *arena;
    TC_VEC(tc_tune_changed) out;
} pairing;

static size_t without_decision(const char *text, size_t len) {
    for (size_t i = len; i > 1; i--)
        if (text[i - 1] == '~' && text[i - 2] == ' ')
            return i - 2;
    return len;
}

static void split(const char *text, steps *out) {
    while (*text) {
        size_t len = strcspn(text, "\n");
        if (len)
            tc_push(out, ((step){text, len, without_decision(text, len)}));
        text += len + (text[len] == '\n');
    }
}

static bool same_step(const step *x, const step *y) {
    return x->bare == y->bare && memcmp(x->text, y->text, x->bare) == 0;
}

static const char *text_of(const pairing *p, const step *s) {
    return s ? tc_arena_strndup(p->arena, s->text, s->len) : NULL;
}

static void changed(pairing *p, const step *before, const step *after) {
    tc_push(&p->out, ((tc_tune_changed){text_of(p, before), text_of(p, after)}));
}

/* Both have this step. */
static void paired(pairing *p, const step *before, const step *after) {
    if (before->len != after->len || memcmp(before->text, after->text, before->len) != 0)
        changed(p, before, after);
}

/* common[i * (nb + 1) + j]: how many steps a from i and b from j have in common. */
static short *common_lengths(const pairing *p) {
    size_t w = (size_t)p->nb + 1;
    short *common = tc_xcalloc(((size_t)p->na + 1) * w, sizeof *common);
    for (int i = p->na - 1; i >= 0; i--)
        for (int j = p->nb - 1; j >= 0; j--) {
            short *at = &common[(size_t)i * w + (size_t)j], down = at[w], across = at[1];
            *at = same_step(&p->a[i], &p->b[j]) ? (short)(at[w + 1] + 1) : TC_MAX(down, across);
        }
    return common;
}

static void tell_between(pairing *p) {
    int i = 0, j = 0;
    size_t w = (size_t)p->nb + 1;
    short *common = p->na <= MOST_PAIRED && p->nb <= MOST_PAIRED ? common_lengths(p) : NULL;
    while (common && i < p->na && j < p->nb) {
        const short *at = &common[(size_t)i * w + (size_t)j];
        if (same_step(&p->a[i], &p->b[j]))
            paired(p, &p->a[i++], &p->b[j++]);
        else if (at[w] >= at[1])
            changed(p, &p->a[i++], NULL);
        else
            changed(p, NULL, &p->b[j++]);
    }
    while (i < p->na)
        changed(p, &p->a[i++], NULL);
    while (j < p->nb)
        changed(p, NULL, &p->b[j++]);
    free(common);
}

static void tell(pairing *p, const steps *before, const steps *after) {
    size_t head = 0, tail = 0, least = TC_MIN(before->len, after->len);
    for (; head < least && same_step(&before->data[head], &after->data[head]); head++)
        paired(p, &before->data[head], &after->data[head]);
    while (tail < least - head && same_step(&before->data[before->len - 1 - tail], &after->data[after->len - 1 - tail]))
        tail++;
    p->a = before->data + head;
    p->b = after->data + head;
    p->na = (int)(before->len - head - tail);
    p->nb = (int)(after->len - head - tail);
    tell_between(p);
    for (; tail > 0; tail--)
        paired(p, &before->data[before->len - tail], &after->data[after->len - tail]);
}

tc_tune_changed *tc_tune_changed_steps(const char *before, const char *after, tc_arena *a, int *n) {
    steps x = {0}, y = {0};
    pairing p = {.arena = a};
    split(before, &x);
    split(after, &y);
    tell(&p, &x, &y);
    *n = (int)p.out.len;
    tc_tune_changed *out = tc_arena_dup(a, p.out.data, p.out.len * sizeof *out);
    tc_vec_free(&x);
    tc_vec_free(&y);
    tc_vec_free(&p.out);
    return out;
}
