/* What makes a cause suspected, and which changes lessen it. An estimate is a share of the time, as good as a look at the
 * program allows. It says which causes are suspected, and in which order they are tried; only measurements count. */
#include <math.h>
#include <string.h>

#include "te/text.h"
#include "tune/explain/explain_int.h"

static const char *const texts[] = {
#define CAUSE(id, text, meaning, remedy) [TC_CAUSE_##id] = text,
#include "tune/explain/causes.def"
#undef CAUSE
};
static const char *const meanings[] = {
#define CAUSE(id, text, meaning, remedy) [TC_CAUSE_##id] = meaning,
#include "tune/explain/causes.def"
#undef CAUSE
};
static const char *const remedies[] = {
#define CAUSE(id, text, meaning, remedy) [TC_CAUSE_##id] = remedy,
#include "tune/explain/causes.def"
#undef CAUSE
};

const char *tc_tune_cause_text(tc_tune_cause c) {
    return texts[c];
}

const char *tc_tune_cause_meaning(tc_tune_cause c) {
    return meanings[c];
}

const char *tc_tune_cause_remedy(tc_tune_cause c) {
    return remedies[c];
}

#define SAY(f, why, ...) (*(why) = tc_arena_printf((f)->arena, __VA_ARGS__))

/* ---- suspects ---- */

static double no_vectors(const field *f, const char **why) {
    const tc_cg_mix *m = &f->side->facts.mix;
    double used = f->own.lanes;
    bool scalar = f->side->facts.known && m->scalar > m->fma + m->arithmetic;
    if (scalar)
        used = 1;
    if (used * 2 > f->own.full_lanes)
        return 0;
    SAY(f, why, "%g of %g lanes are used; the hot loop has %d scalar and %d vector operations", used, f->own.full_lanes,
        m->scalar, m->fma + m->arithmetic);
    return 1 - used / f->own.full_lanes;
}

static double one_thread(const field *f, const char **why) {
    double cores = f->o->target->machine.cores, used = f->own.cores_used * cores;
    if (cores < 2 || used > cores / 2)
        return 0;
    SAY(f, why, "%g of %g cores have work", used, cores);
    return 1 - TC_MAX(used, 1) / cores;
}

static double spill(const field *f, const char **why) {
    const tc_cg_mix *m = &f->side->facts.mix;
    if (f->own.spilled < 1 && m->spills < 4)
        return 0;
    SAY(f, why, "%g vectors of the tile do not fit in %d registers, and %d of %d instructions of the hot loop are spills",
        f->own.spilled, f->o->target->machine.vector_regs, m->spills, m->instructions);
    return TC_MIN(0.8, TC_MAX(0.1, (double)m->spills / TC_MAX(1, m->fma + m->arithmetic + m->spills)));
}

static double small_tile(const field *f, const char **why) {
    enum { LATENCY = 4, AT_ONCE = 2 }; /* of multiply-adds: so many vectors keep the units busy */
    double need = (double)LATENCY * AT_ONCE;
    if (!f->own.reduces || f->own.accumulators >= need)
        return 0;
    SAY(f, why, "%g vectors accumulate; %g keep two multiply-adds a cycle under way", f->own.accumulators, need);
    return TC_MIN(0.9, 1 - f->own.accumulators / need);
}

static double no_unrolling(const field *f, const char **why) {
    enum { OVERHEAD = 3 /* counter, comparison, branch */, LITTLE = 16 };
    const tc_cg_mix *m = &f->side->facts.mix;
    double body = f->side->facts.known && f->side->facts.hot >= 0 ? m->instructions : f->own.body;
    bool rolled = f->own.reduces && f->own.unrolled < 2;
    if (body > LITTLE && !rolled)
        return 0;
    SAY(f, why, "an iteration of the hot loop has %g instructions, and %d of them only steer the loop%s", body, m->other,
        rolled ? "; no loop around it is unrolled" : "");
    return rolled ? TC_MAX(0.3, OVERHEAD / (body + OVERHEAD)) : OVERHEAD / (body + OVERHEAD);
}

static double packing(const field *f, const char **why) {
    if (f->own.across <= 0)
        return 0;
    SAY(f, why, "the hot loop reads %s across rows", f->own.across_of);
    return TC_MIN(0.8, f->own.across);
}

static double tail(const field *f, const char **why) {
    if (f->own.wasted < 0.05)
        return 0;
    SAY(f, why, "%.0f %% of the work is in partial tiles", 100 * f->own.wasted);
    return TC_MIN(0.9, f->own.wasted);
}

static double strides(const field *f, const char **why) {
    if (!f->own.stride)
        return 0;
    SAY(f, why, "a loop of %g iterations reads %lld bytes apart", f->own.turns, (long long)f->own.stride);
    return 0.2;
}

static double cold_weights(const field *f, const char **why) {
    double bytes = tc_te_constant_bytes_read(f->o->workload);
    if (f->o->mode != TC_MEAS_COLD || bytes <= 0)
        return 0;
    SAY(f, why, "%.3g MB of constants come from memory in each call", bytes / 1e6);
    return 0.3;
}

static double false_sharing(const field *f, const char **why) {
    if (!f->own.task_stride || f->o->target->machine.cores < 2)
        return 0;
    SAY(f, why, "neighbouring tasks write %lld bytes apart, in the same line of %d", (long long)f->own.task_stride,
        f->o->target->machine.line);
    return f->own.reduces ? 0.3 : 0.6; /* a sum is written once for many turns */
}

static double fine_parallel(const field *f, const char **why) {
    double share = f->seconds > 0 && f->fork > 0 ? f->own.regions * f->fork / f->seconds : 0;
    if (f->own.regions < 2)
        return 0;
    if (share > 0)
        SAY(f, why, "%g forks of %.2g us are %.0f %% of the time", f->own.regions, f->fork * 1e6, 100 * TC_MIN(1, share));
    else
        SAY(f, why, "a parallel loop is entered %g times", f->own.regions);
    return share > 0 ? TC_MIN(0.9, share) : TC_MIN(0.5, 1e-3 * f->own.regions);
}

static double denormals(const field *f, const char **why) {
    if (f->o->denormal <= 0)
        return 0;
    SAY(f, why, "%.0f %% of the data are denormal numbers", 100 * f->o->denormal);
    return 0.5 * f->o->denormal;
}

double tune_suspect(const field *f, tc_tune_cause c, const char **why) {
    *why = "";
    switch (c) {
    case TC_CAUSE_NO_VECTORS:
        return no_vectors(f, why);
    case TC_CAUSE_ONE_THREAD:
        return one_thread(f, why);
    case TC_CAUSE_SPILL:
        return spill(f, why);
    case TC_CAUSE_DENORMALS:
        return denormals(f, why);
    case TC_CAUSE_COLD_WEIGHTS:
        return cold_weights(f, why);
    case TC_CAUSE_FALSE_SHARING:
        return false_sharing(f, why);
    case TC_CAUSE_FINE_PARALLEL:
        return fine_parallel(f, why);
    case TC_CAUSE_STRIDES:
        return strides(f, why);
    case TC_CAUSE_PACKING:
        return packing(f, why);
    case TC_CAUSE_SMALL_TILE:
        return small_tile(f, why);
    case TC_CAUSE_TAIL:
        return tail(f, why);
    case TC_CAUSE_NO_UNROLL:
        return no_unrolling(f, why);
    case TC_CAUSE_OTHER:
    case TC_NCAUSES:
        break;
    }
    return 0;
}

/* ---- what has less ---- */

static bool is_about(const entrant *e, tc_space_change_kind k) {
    return e->t.change.kind == k;
}

bool tune_has_less(const field *f, const entrant *e, tc_tune_cause c) {
    const traits *t = &e->traits, *own = &f->own;
    if (e->t.kind != TC_TRIAL_CHANGE)
        return false;
    bool tile = is_about(e, TC_CHANGE_REGISTERS) || is_about(e, TC_CHANGE_VECTOR) || is_about(e, TC_CHANGE_BLOCK);
    switch (c) {
    case TC_CAUSE_NO_VECTORS:
        return is_about(e, TC_CHANGE_VECTOR) && t->lanes > own->lanes && t->cores_used >= own->cores_used;
    case TC_CAUSE_ONE_THREAD:
        return is_about(e, TC_CHANGE_PARALLEL) && t->cores_used > own->cores_used;
    case TC_CAUSE_SPILL:
        return tile && (t->spilled < own->spilled || t->accumulators < own->accumulators);
    case TC_CAUSE_FALSE_SHARING:
        return is_about(e, TC_CHANGE_PARALLEL) && t->cores_used >= own->cores_used && !t->task_stride;
    case TC_CAUSE_FINE_PARALLEL:
        return is_about(e, TC_CHANGE_PARALLEL) && t->regions < own->regions;
    case TC_CAUSE_STRIDES:
        return is_about(e, TC_CHANGE_LAYOUT) && t->stride < own->stride;
    case TC_CAUSE_PACKING:
        return is_about(e, TC_CHANGE_LAYOUT) && t->across < own->across;
    case TC_CAUSE_SMALL_TILE:
        return tile && t->accumulators > own->accumulators && t->lanes >= own->lanes;
    case TC_CAUSE_TAIL:
        return tile && t->wasted < 0.6 * own->wasted;
    case TC_CAUSE_NO_UNROLL:
        return is_about(e, TC_CHANGE_UNROLL) && e->t.change.more;
    case TC_CAUSE_DENORMALS:
    case TC_CAUSE_COLD_WEIGHTS:
    case TC_CAUSE_OTHER:
    case TC_NCAUSES:
        break;
    }
    return false;
}
