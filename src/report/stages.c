/* Describes the stages and loops of a schedule as a document. */
#include <stdio.h>

#include "report/report.h"

static json_t *place_of(const tc_sched *s, const tc_stage *st) {
    switch (st->attach) {
    case TC_ATTACH_ROOT:
        return json_string("root");
    case TC_ATTACH_INLINE:
        return json_string("inline");
    case TC_ATTACH_AT:
        break;
    }
    return json_sprintf("%s.%s", s->stages[st->at_stage].name, s->loops[st->at_loop].name);
}

static json_t *loop_of(const tc_loop_info *l) {
    tc_prim made_by = tc_for_info_of(l->kind)->made_by;
    json_t *j = json_object();
    json_object_set_new(j, "name", json_string(l->name));
    json_object_set_new(j, "extent", json_integer(l->extent));
    json_object_set_new(j, "reduce", json_boolean(l->reduce));
    json_object_set_new(j, "kind", json_string(made_by == TC_NPRIMS ? "serial" : tc_prim_text(made_by)));
    json_object_set_new(j, "unit", tc_report_unit(l->unit));
    return j;
}

static json_t *stage_of(const tc_sched *s, const tc_stage *st) {
    json_t *j = json_object(), *loops = json_array();
    json_object_set_new(j, "name", json_string(st->name));
    json_object_set_new(j, "place", place_of(s, st));
    json_object_set_new(j, "scope", json_string(st->scope == TC_SCOPE_LOCAL ? "local" : "global"));
    json_object_set_new(j, "output", json_boolean(st->is_output));
    for (int i = 0; i < st->nleaf && st->attach != TC_ATTACH_INLINE; i++)
        json_array_append_new(loops, loop_of(&s->loops[st->leaf[i]]));
    json_object_set_new(j, "loops", loops);
    return j;
}

json_t *tc_report_stages(const tc_sched *s) {
    json_t *j = json_object(), *stages = json_array();
    for (int i = 0; i < s->nstage; i++)
        json_array_append_new(stages, stage_of(s, &s->stages[i]));
    json_object_set_new(j, "stages", stages);
    return j;
}
