/* What counters say beside what was measured without a cause: as evidence, where the two programs do the same but for it. */
#include "tune/explain/explain_int.h"

/* What there is more of where the cause is. A tile that spills, unrolls nothing or computes what nobody wants takes more
 * instructions for the same result; operands that lie badly miss the cache more often; constants that come from memory miss the
 * last one. */
static const struct {
    tc_tune_cause cause;
    tc_meas_counter counter;
} shown_by[] = {
    {TC_CAUSE_NO_VECTORS, TC_COUNTER_INSTRUCTIONS},  {TC_CAUSE_SPILL, TC_COUNTER_INSTRUCTIONS},
    {TC_CAUSE_NO_UNROLL, TC_COUNTER_INSTRUCTIONS},   {TC_CAUSE_TAIL, TC_COUNTER_INSTRUCTIONS},
    {TC_CAUSE_STRIDES, TC_COUNTER_L1_MISSES},        {TC_CAUSE_PACKING, TC_COUNTER_L1_MISSES},
    {TC_CAUSE_COLD_WEIGHTS, TC_COUNTER_LAST_MISSES},
};

/* Threads that wait spin, in instructions that are counted. */
static bool is_sound(const field *f, tc_meas_counter c) {
    return c != TC_COUNTER_INSTRUCTIONS || f->o->target->machine.cores == 1;
}

static bool was_counted(const tc_meas_counted *x, tc_meas_counter c) {
    return x->asked && !x->missing[c];
}

const char *tune_counted(const field *f, const tc_tune_finding *x) {
    for (size_t i = 0; i < TC_LEN(shown_by); i++) {
        tc_meas_counter c = shown_by[i].counter;
        if (shown_by[i].cause != x->cause || !is_sound(f, c) || !was_counted(&f->counted, c))
            continue;
        if (x->trial < 0 || !was_counted(&f->e[x->trial].counted, c))
            return tc_arena_printf(f->arena, "%.3g %s a call", f->counted.of_call[c], tc_meas_counter_text(c));
        return tc_arena_printf(f->arena, "%.3g %s a call, and %.3g with %s %s", f->counted.of_call[c], tc_meas_counter_text(c),
                               f->e[x->trial].counted.of_call[c], f->e[x->trial].t.change.decision, f->e[x->trial].t.change.what);
    }
    return NULL;
}

bool tune_can_tell(const tc_meas_counted *x) {
    for (size_t i = 0; i < TC_LEN(shown_by); i++)
        if (was_counted(x, shown_by[i].counter))
            return true;
    return false;
}
