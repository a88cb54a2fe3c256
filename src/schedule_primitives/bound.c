/* Bounds of what steps make. A step costs a line of text, and can double what is there: a body that reads its operand twice, inlined
 * over and over; loops that are split and fused in turns. Memory shares the terms, but texts, hashes and estimates walk all of them.
 * The bounds lie far beyond what searches make, and far below what takes a second. */
#include "schedule_primitives/sch_int.h"

tc_status tc_sch_check_bodies(const tc_instr *in, const char *stage, const tc_compute *op, tc_error *err) {
    for (int o = 0; o < op->nout; o++) {
        if (op->body[o]->depth > TC_MAX_DEPTH)
            return REFUSE(err, in, "the expression of %s would become more than %d operations deep", stage, TC_MAX_DEPTH);
        if (tc_expr_tree_size(op->body[o], TC_MAX_TREE) > TC_MAX_TREE)
            return REFUSE(err, in, "the expression of %s would grow beyond %d terms", stage, TC_MAX_TREE);
    }
    return TC_OK;
}

bool tc_sch_index_fits(const tc_expr *v) {
    enum { SHALLOW = 12 }; /* no index of that depth has so many terms */
    return v->depth <= SHALLOW || (v->depth <= TC_MAX_DEPTH / 2 && tc_expr_tree_size(v, TC_SCH_MAX_INDEX) <= TC_SCH_MAX_INDEX);
}

tc_status tc_sch_room_for_loops(const tc_sched *s, const tc_instr *in, int stage, int n, tc_error *err) {
    const tc_stage *st = &s->stages[stage];
    if (st->nleaf + n <= TC_SCH_MAX_NAMES)
        return TC_OK;
    return REFUSE(err, in, "stage %s would have more than %d loops", st->name, TC_SCH_MAX_NAMES);
}

tc_status tc_sch_room_for_stage(const tc_sched *s, const tc_instr *in, tc_error *err) {
    if (s->nstage < TC_WORK_SCHEDULE)
        return TC_OK;
    return tc_beyond(err, REFUSE(err, in, "the schedule has %d stages already, and may have no more", s->nstage));
}
