/* Describes the stages and loops of a schedule as a document. */
#include <stdio.h>

#include "report/report.h"

static json_t *place_of(const tc_sched *s, const tc_stage *st) {
    switch (st->attach) {
    case TC_ATTACH_ROOT:
        return tc_json_string("root");
    case TC_ATTACH_INLINE:
        return tc_json_string("inline");
    case TC_ATTACH_AT:
        break;
    }
    return tc_json_format("%s.%s", s->stages[st->at_stage].name, s->loops[st->at_loop].name);
}

static json_t *loop_of(const tc_loop_info *l) {
    tc_prim made_by = tc_for_info_of(l->kind)->made_by;
    json_t *j = tc_json_object();
    tc_json_set(j, "name", tc_json_string(l->name));
    tc_json_set(j, "extent", tc_json_integer(l->extent));
    tc_json_set(j, "reduce", json_boolean(l->reduce));
    tc_json_set(j, "kind", tc_json_string(made_by == TC_NPRIMS ? "serial" : tc_prim_text(made_by)));
    tc_json_set(j, "unit", tc_report_unit(l->unit));
    return j;
}

static json_t *stage_of(const tc_sched *s, const tc_stage *st) {
    json_t *j = tc_json_object(), *loops = tc_json_array();
    tc_json_set(j, "name", tc_json_string(st->name));
    tc_json_set(j, "place", place_of(s, st));
    tc_json_set(j, "scope", tc_json_string(st->scope == TC_SCOPE_LOCAL ? "local" : "global"));
    tc_json_set(j, "output", json_boolean(st->is_output));
    for (int i = 0; i < st->nleaf && st->attach != TC_ATTACH_INLINE; i++)
        tc_json_append(loops, loop_of(&s->loops[st->leaf[i]]));
    tc_json_set(j, "loops", loops);
    return j;
}

json_t *tc_report_stages(const tc_sched *s) {
    json_t *j = tc_json_object(), *stages = tc_json_array();
    for (int i = 0; i < s->nstage; i++)
        tc_json_append(stages, stage_of(s, &s->stages[i]));
    tc_json_set(j, "stages", stages);
    return j;
}
