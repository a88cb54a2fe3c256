/* What several groups of columns need to know of a store: instructions, registers, threads, traffic. */
#include "cost_model/row.h"

/* Lanes of the vector registers that hold elements of b. */
double facts_lanes(const nest *n, const tc_buffer *b) {
    return nest_lanes(n, tc_dtype_bytes(b->dtype));
}

int facts_registers(const nest *n, const store_site *s) {
    return s->tiles ? tc_intrinsic_registers(s->tiles, n->m->vector_regs) : n->m->vector_regs;
}

int facts_vector_level(const nest *n, const store_site *s) {
    for (int l = s->nlevel - 1; l >= 0; l--)
        if (loop_at(n, s, l)->kind == TC_FOR_VECTOR)
            return l;
    return -1;
}

/* Elements that a lane of the store takes of a: of the operands of dot products, a group. */
static double lane_elements(const store_site *s, const access *a) {
    return s->dots && !a->is_write ? s->dots->group : 1;
}

int facts_vector_move(const store_site *s, const access *a, int level) {
    double stride = level < 0 ? 0 : access_stride(a, level);
    return a->at.gathered && level >= 0 && (a->at.moved >> level & 1) ? MOVE_STRIDED
           : stride == 0                                              ? MOVE_BROADCAST
           : stride == lane_elements(s, a)                            ? MOVE_CONTIGUOUS
                                                                      : MOVE_STRIDED;
}

/* Lanes of the store that one access to a serves. */
static double lanes_at_once(const nest *n, const store_site *s, const access *a) {
    bool strided = facts_vector_move(s, a, facts_vector_level(n, s)) == MOVE_STRIDED;
    return strided ? 1 : facts_lanes(n, a->buffer) / lane_elements(s, a);
}

/* Registers that a's elements in the band fill; with `all` also over unrolled reduction steps, which otherwise reuse them. */
double facts_band_vectors(const nest *n, const store_site *s, const access *a, bool all) {
    double lanes = lanes_at_once(n, s, a), p = 1;
    for (int l = s->band; l < s->nlevel; l++) {
        const loop_node *loop = loop_at(n, s, l);
        if (!(a->at.moved >> l & 1) || (loop->reduce && !all))
            continue;
        p *= s->tiles || loop->group       ? nest_pieces(loop, 2)
             : loop->kind == TC_FOR_VECTOR ? ceil(loop->extent / lanes)
                                           : loop->extent;
    }
    return p * a->times;
}

/* Accumulators are promoted to registers over the reduction as long as they fit; otherwise each iteration loads and stores them. */
bool facts_kept_in_registers(const nest *n, const store_site *s) {
    const access *own = access_at(n, s, 0);
    return s->accumulates && own->times == 1 && facts_band_vectors(n, s, own, false) <= facts_registers(n, s);
}

/* Iterations of the loops directly around the band that leave the store's address alone. */
static double reduction_trips(const nest *n, const store_site *s) {
    double p = 1;
    level_set moved = access_at(n, s, 0)->hoist;
    for (int l = s->band - 1; l >= 0 && !(moved >> l & 1) && loop_at(n, s, l)->kind == TC_FOR_SERIAL; l--)
        p *= loop_at(n, s, l)->extent;
    return p;
}

/* The same within the band: its unrolled reduction steps. */
static double unrolled_steps(const nest *n, const store_site *s) {
    double p = 1;
    for (int l = s->band; l < s->nlevel; l++)
        if (!(access_at(n, s, 0)->hoist >> l & 1))
            p *= loop_at(n, s, l)->group ? 1 : loop_at(n, s, l)->extent;
    return p;
}

/* Operands alive in the band: of a register tile's two sides the shorter one, and one of the longer
 * (tir_lower/passes/loops/order.c). */
static double operand_registers(const nest *n, const store_site *s) {
    double vectors = 0, broadcasts = 0;
    for (int i = 1; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        *(facts_vector_move(s, a, facts_vector_level(n, s)) == MOVE_BROADCAST ? &broadcasts : &vectors) +=
            facts_band_vectors(n, s, a, false);
    }
    return broadcasts > 0 && vectors > 0 ? TC_MIN(vectors, broadcasts) + 1 : vectors + TC_MIN(broadcasts, 1);
}

void facts_count_moves(const nest *n, const store_site *s, row_facts *r) {
    double steps = reduction_trips(n, s) * unrolled_steps(n, s);
    level_set all = nest_all_levels(s);
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        double lanes = lanes_at_once(n, s, a);
        bool own = i == 0;
        double times = nest_times(n, s, own && s->accumulates ? all : a->hoist, s->tiles ? 2 : lanes);
        if (own && facts_kept_in_registers(n, s))
            times /= steps;
        if (own)
            r->stores += times;
        if (a->is_read)
            r->loads += times * a->times;
    }
}

static void thread_facts(const nest *n, const store_site *s, row_facts *r) {
    int first = -1;
    r->tasks = 1;
    for (int l = 0; l < s->nlevel; l++)
        if (loop_at(n, s, l)->kind == TC_FOR_PARALLEL) {
            first = first < 0 ? l : first;
            r->tasks *= loop_at(n, s, l)->extent;
        }
    double cores = TC_MAX(n->m->cores, 1);
    r->cores = first < 0 ? 1 : TC_MIN(r->tasks, cores);
    r->imbalance = first < 0 ? cores : ceil(r->tasks / cores) * cores / r->tasks;
    r->regions = first < 0 ? 0 : nest_trips(n, s, 0, first);
    if (first < 0)
        r->tasks = 0;
}

/* Stores that share a parallel region share its start. */
double facts_region_share(const nest *n, const store_site *s) {
    int outer = -1, sharing = 0;
    for (int l = 0; l < s->nlevel && outer < 0; l++)
        outer = loop_at(n, s, l)->kind == TC_FOR_PARALLEL ? l : -1;
    if (outer < 0)
        return 0;
    for (size_t i = 0; i < n->stores.len; i++)
        sharing += n->stores.data[i].nlevel > outer && n->stores.data[i].path[outer] == s->path[outer];
    return 1.0 / TC_MAX(sharing, 1);
}

/* Largest sub-nest, as a depth, whose surroundings' data fit in `bytes`. */
int facts_fitting_depth(const nest *n, const store_site *s, double bytes) {
    int d = s->nlevel;
    while (d > 0 && footprint(n, s, d - 1) <= bytes)
        d--;
    return d;
}

/* Does the loop at `level` come back to where a was before, or move it by more steps than a term can say? */
static bool cyclic(const nest *n, const store_site *s, const access *a, int level) {
    double places = 1;
    for (int i = 0; i < a->at.n; i++)
        places *= a->at.term[i].level == level ? a->at.term[i].count : 1;
    return places < loop_at(n, s, level)->extent || (nest_owner_levels(n, a->buffer) >> level & 1);
}

/* Bytes brought into a level that holds the sub-nest at depth d. The loop around it finds what its last iteration left: it
 * fetches what its iterations touch together, unless it returns to a place only after having gone through all others. */
static double traffic_into(const nest *n, const store_site *s, int d) {
    double total = 0;
    for (int i = 0; i < s->naccess; i++) {
        const access *a = access_at(n, s, i);
        bool moved = d > 0 && (a->hoist >> (d - 1) & 1);
        int from = d > 0 && !(moved && cyclic(n, s, a, d - 1)) ? d - 1 : d;
        total += access_lines(n, s, a, from) * nest_trips(n, s, 0, from);
    }
    return total * n->m->line * s->valid;
}

row_facts facts_of(const nest *n, const store_site *s) {
    row_facts r = {.iterations = nest_trips(n, s, 0, s->nlevel) * s->valid};
    thread_facts(n, s, &r);
    facts_count_moves(n, s, &r);
    r.branches = s->band ? nest_trips(n, s, 0, s->band) * s->valid : 0;
    r.accumulators = s->accumulates ? facts_band_vectors(n, s, access_at(n, s, 0), false) : 0;
    r.acc_trips = s->accumulates ? reduction_trips(n, s) : 0;
    r.live = r.accumulators;
    r.live += s->accumulates ? operand_registers(n, s) : 0;
    r.body = (s->arith_plain + r.loads + r.stores) / TC_MAX(nest_trips(n, s, 0, s->band) * s->valid, 1e-9);
    const double levels[3] = {(double)n->m->l1, (double)n->m->l2, (double)n->m->l3};
    for (int i = 0; i < 3; i++)
        r.traffic[i] = traffic_into(n, s, facts_fitting_depth(n, s, levels[i]));
    return r;
}
