/* Machines: typical ones by the facts of isa.def, and this one. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codegen/target/target_int.h"

bool tc_cg_scalable(const tc_target *t) {
    int from = tc_cg_fact_of(t, TC_CG_SCALABLE_FROM);
    return from && t->machine.vector_bytes >= from;
}

int tc_cg_widest_vector(const tc_target *t) {
    return TC_MAX(TC_MAX(tc_cg_fact_of(t, TC_CG_WIDEST_BYTES), tc_cg_fact_of(t, TC_CG_VECTOR_BYTES)), 16);
}

static int or_common(int fact, int common) {
    return fact ? fact : common;
}

/* Whether a target has what a row asks for: "a+b|c" are a and b, or c. */
static bool has_features(const tc_target *t, const char *text) {
    bool all = true;
    for (const char *p = text;; p++) {
        char name[32];
        size_t n = strcspn(p, "+|");
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        all = all && tc_cg_has_feature(t, name);
        p += n;
        if (*p != '+' && (all || !*p))
            return all;
        all = all || *p == '|';
    }
}

/* Units that the target has, in tiles or in registers of the width of its vectors. */
static tc_intrinsic_set intrinsics(const tc_target *t, int vector_bytes) {
    tc_intrinsic_set have = 0;
    for (int i = 0; i < TC_NINTRINSICS; i++) {
        const tc_intrinsic *r = tc_intrinsic_row((tc_intrinsic_id)i);
        have |= (tc_intrinsic_set)(has_features(t, r->feature) && (!r->vector || r->vector == vector_bytes)) << i;
    }
    return have;
}

/* Caches and cores of a target that is not this machine: what is common among servers. `bytes`: width of vectors, 0: the target's
 * own. */
void tc_cg_default_machine(const tc_target *t, int bytes, tc_machine *m) {
    int masked = tc_cg_fact_of(t, TC_CG_MASKED_FROM);
    *m = (tc_machine){.cores = 4, .l3 = 16 << 20, .line = 64};
    m->vector_bytes = bytes ? bytes : or_common(tc_cg_fact_of(t, TC_CG_VECTOR_BYTES), 16);
    m->vector_regs = or_common(tc_cg_fact_of(t, TC_CG_VECTOR_REGS), 32);
    m->masks = masked && m->vector_bytes >= masked;
    m->fma = tc_cg_fact_of(t, TC_CG_FMA);
    m->load_store = tc_cg_fact_of(t, TC_CG_LOAD_STORE);
    m->l1 = or_common(tc_cg_fact_of(t, TC_CG_L1_KIB), 32) << 10;
    m->l2 = or_common(tc_cg_fact_of(t, TC_CG_L2_KIB), 1024) << 10;
    m->intrinsics = intrinsics(t, m->vector_bytes);
}

static int usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (int)n : 1;
}

static void use_known(int64_t *out, int64_t known) {
    if (known > 0)
        *out = known;
}

void tc_cg_detect_machine(tc_machine *m) {
    const tc_cg_host *h = tc_cg_this_host();
    use_known(&m->l1, h->l1);
    use_known(&m->l2, h->l2);
    use_known(&m->l3, h->l3);
    if (h->line > 0)
        m->line = (int)h->line;
    m->cores = usable_cores();
}
