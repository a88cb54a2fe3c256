/* Shortens traces to their decisions. Schedules that differ in their decisions alone share one list of steps, so a record needs a
 * few small numbers. The code works on the text of a trace: a line for each step, with " ~" before the decision. So it handles
 * traces that no longer parse, too. */
#include <string.h>

#include "report/page/page_int.h"
#include "support/map.h"
#include "support/strbuf.h"
#include "support/vec.h"

typedef struct place {
    const char *step; /* without what was decided */
    tc_map value;     /* number by text */
} place;

typedef struct steps {
    TC_VEC(place) places;
} steps;

struct page_decisions {
    tc_arena *arena;
    tc_map number; /* of steps, by their text */
    TC_VEC(steps) all;
};

page_decisions *page_decisions_new(void) {
    page_decisions *d = tc_xcalloc(1, sizeof *d);
    d->arena = tc_arena_new();
    return d;
}

/* Where the decision of the line [line, end) begins; NULL: it has none. */
static const char *decision_of(const char *line, const char *end) {
    for (const char *p = end - 1; p > line; p--)
        if (*p == '~' && p[-1] == ' ')
            return p + 1;
    return NULL;
}

static const char *line_end(const char *line) {
    const char *end = strchr(line, '\n');
    return end ? end : line + strlen(line);
}

static const char *after(const char *end) {
    return end + (*end == '\n');
}

static steps *steps_of(page_decisions *d, const char *trace, int *number) {
    tc_strbuf bare = {0};
    steps s = {0};
    for (const char *line = trace; *line; line = after(line_end(line))) {
        const char *end = line_end(line), *decided = decision_of(line, end);
        size_t len = (size_t)((decided ? decided - 2 : end) - line);
        tc_sb_printf(&bare, "%.*s\n", (int)len, line);
        if (decided)
            tc_push(&s.places, ((place){.step = tc_arena_printf(d->arena, "%.*s", (int)len, line)}));
    }
    uintptr_t *known = tc_map_gets(&d->number, tc_sb_str(&bare));
    *number = known ? (int)*known : (int)d->all.len;
    if (known) {
        tc_vec_free(&s.places);
    } else {
        tc_map_puts(&d->number, tc_sb_str(&bare), d->all.len);
        tc_push(&d->all, s);
    }
    tc_strbuf_free(&bare);
    return &d->all.data[*number];
}

static int value_of(tc_map *values, const char *text) {
    uintptr_t *known = tc_map_gets(values, text);
    if (known)
        return (int)*known;
    tc_map_puts(values, text, values->len);
    return (int)values->len - 1;
}

json_t *page_decisions_of(page_decisions *d, const char *trace) {
    int number;
    size_t i = 0;
    steps *s = steps_of(d, trace, &number);
    json_t *out = tc_json_array();
    tc_json_append(out, tc_json_integer(number));
    for (const char *line = trace; *line; line = after(line_end(line))) {
        const char *end = line_end(line), *decided = decision_of(line, end);
        if (!decided)
            continue;
        tc_strbuf text = {0};
        tc_sb_addn(&text, decided, (size_t)(end - decided));
        tc_json_append(out, tc_json_integer(value_of(&s->places.data[i++].value, tc_sb_str(&text))));
        tc_strbuf_free(&text);
    }
    return out;
}

static json_t *tell(steps *s) {
    json_t *list = tc_json_array();
    for (size_t i = 0; i < s->places.len; i++) {
        place *p = &s->places.data[i];
        json_t *values = tc_json_array();
        for (size_t v = 0; v < p->value.len; v++)
            tc_json_append(values, tc_json_string(p->value.entries[v].str));
        tc_json_append(list, tc_json_pack("{s:o,s:o}", "step", tc_json_string(p->step), "values", values));
        tc_map_free(&p->value);
    }
    tc_vec_free(&s->places);
    return list;
}

json_t *page_decisions_tell(page_decisions *d) {
    json_t *all = tc_json_array();
    for (size_t i = 0; i < d->all.len; i++)
        tc_json_append(all, tell(&d->all.data[i]));
    tc_vec_free(&d->all);
    tc_map_free(&d->number);
    tc_arena_free(d->arena);
    free(d);
    return all;
}
