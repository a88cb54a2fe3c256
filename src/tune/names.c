/* Names of what a search is told and what it tells: how to search, phases, and why it ended. */
#include <string.h>

#include "support/guess.h"
#include "tune/tune.h"

static const struct {
    const char *text, *meaning;
} ends[TC_TUNE_NENDS] = {
#define END(id, text, meaning) {text, meaning},
#include "tune/ends.def"
#undef END
};

const char *tc_tune_end_text(tc_tune_end e) {
    return ends[e].text;
}

const char *tc_tune_end_meaning(tc_tune_end e) {
    return ends[e].meaning;
}

static const struct {
    const char *text, *meaning;
} phases[TC_TUNE_NPHASES] = {
#define PHASE(id, text, meaning) {text, meaning},
#include "tune/phases.def"
#undef PHASE
};

const char *tc_tune_phase_text(tc_tune_phase p) {
    return phases[p].text;
}

const char *tc_tune_phase_meaning(tc_tune_phase p) {
    return phases[p].meaning;
}

/* The phase whose name are these n characters; TC_TUNE_NPHASES: there is none. */
static int phase_named(const char *s, size_t n) {
    int p = 0;
    while (p < TC_TUNE_NPHASES && (strlen(phases[p].text) != n || strncmp(s, phases[p].text, n) != 0))
        p++;
    return p;
}

static tc_status no_phase(const char *s, size_t n, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(s, n);
    for (int p = 0; p < TC_TUNE_NPHASES; p++)
        tc_guess_add(&g, phases[p].text);
    return tc_fail(err, TC_BAD_INPUT, "there is no phase '%.*s'%s", (int)n, s, tc_guess_say(&g, "", NULL, text));
}

tc_status tc_tune_phases_parse(const char *list, unsigned *skip, tc_error *err) {
    const unsigned all = (1u << TC_TUNE_NPHASES) - 1;
    *skip = all;
    for (const char *s = list; *s; s += *s == ',') {
        size_t n = strcspn(s, ",");
        int p = phase_named(s, n);
        if (p == TC_TUNE_NPHASES)
            return no_phase(s, n, err);
        *skip &= ~(1u << p);
        s += n;
    }
    return *skip == all ? tc_fail(err, TC_BAD_INPUT, "no phase is named; there are construct, transfer, descent and evolution")
                        : TC_OK;
}

tc_status tc_tune_search_parse(const char *name, tc_tune_search *out, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(name, strlen(name));
    static const char *const names[] = {[TC_TUNE_PHASES] = "phases", [TC_TUNE_RANDOM] = "random", [TC_TUNE_ANSOR] = "ansor"};
    for (size_t i = 0; i < TC_LEN(names); i++) {
        tc_guess_add(&g, names[i]);
        if (strcmp(name, names[i]) == 0) {
            *out = (tc_tune_search)i;
            return TC_OK;
        }
    }
    return tc_fail(err, TC_BAD_INPUT, "there is no search '%s'%s", name, tc_guess_say(&g, "", NULL, text));
}
