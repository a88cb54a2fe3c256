/* Sketches. The rules have variants; each variant that makes a difference for the workload gives one sketch, a trace with open
 * decisions. */
#include "search_space/space_int.h"

/* Below this much work a parallel region's barrier (about a microsecond) is worth questioning: 2e6 operations or bytes take some
 * 30 us on one core. An estimate; not measured apart. */
#define SERIAL_WORK 2e6

/* Steps of a stage beside sums of blocks below which it is not worth a barrier. Chosen; not measured apart. */
enum { LITTLE = 1 << 14 };

/* Parts of a divided reduction: fewer than two vectors of them, so that they are added up along the results; the length of one
 * was chosen, and not measured apart. MAX_SKETCHES is room for all that the loops below make. */
enum { MAX_SPLIT = 16, MIN_PART = 64, MAX_SKETCHES = 160 };

/* 0: operands are read in place, 1: packed at root, 2: packed per task. */
#define PACK(how) .pack = (how) > 0, .pack_task = (how) == 2

static void emit_cluster(emitter *e, const cluster *c) {
    switch (c->kind) {
    case CLUSTER_MAP:
        tc_space_emit_map(e, c);
        break;
    case CLUSTER_ROWS:
        tc_space_emit_rows(e, c);
        break;
    case CLUSTER_ANCHOR:
        tc_space_emit_anchor(e, c);
        break;
    case CLUSTER_TRANSFORM:
        tc_space_emit_transform(e, c);
        break;
    case CLUSTER_COMBINE:
        tc_space_emit_combine(e, c);
        break;
    case CLUSTER_OPERAND:
        tc_space_emit_operand(e, c);
        break;
    case CLUSTER_UNPACK:
        tc_space_emit_unpacked(e, c);
        break;
    }
}

/* What one row's quantisation takes is done before other threads are awake. */
static bool is_little(const analysis *an, const cluster *c) {
    int64_t steps = 0;
    bool beside = false;
    for (int i = 0; i < an->ncluster; i++)
        beside |= an->cluster[i].inner >= 0;
    for (int i = 0; i < c->n; i++)
        steps += tc_space_iterations(an->s->stages[c->member[i]].op);
    return beside && c->inner < 0 && steps <= LITTLE;
}

static void emit_clusters(emitter *e) {
    const analysis *an = e->an;
    int serial = e->v.serial;
    for (int i = 0; i < an->ncluster; i++, e->v.serial = serial) {
        const cluster *c = &an->cluster[i];
        e->v.serial |= is_little(an, c);
        loop_ref at = e->at;
        if (tc_space_is_gone(e, c))
            continue;
        e->at = tc_space_place_of(e, c);
        emit_cluster(e, c);
        if (c->kind != CLUSTER_ANCHOR) /* which says where the others are */
            e->at = at;
    }
}

static bool has_cluster(const analysis *an, cluster_kind kind) {
    for (int i = 0; i < an->ncluster; i++)
        if (an->cluster[i].kind == kind)
            return true;
    return false;
}

/* "tile+pack+rows-inner" */
static const char *variant_name(tc_arena *a, const analysis *an, variant v) {
    bool anchor = has_cluster(an, CLUSTER_ANCHOR);
    const char *name = anchor                             ? "tile"
                       : has_cluster(an, CLUSTER_COMBINE) ? "combine"
                       : has_cluster(an, CLUSTER_ROWS)    ? "rows"
                                                          : "map";
#define VARIANT(id, text, anchors)                                                                                               \
    if (v.id && (anchor || !(anchors)))                                                                                          \
        name = v.id > 1 ? tc_arena_printf(a, "%s%s%d", name, text, v.id) : tc_arena_printf(a, "%s%s", name, text);
#include "search_space/variants.def"
#undef VARIANT
    return name;
}

/* Links the decisions of each anchor: estimates ask for them again and again, and a sketch may have a hundred anchors. */
static void link_decisions(sketch *k, tc_arena *a) {
    for (int i = 0; i < k->ndec; i++)
        k->nanchor = TC_MAX(k->nanchor, k->dec[i].anchor + 1);
    k->first = TC_NEW_N(a, int, k->nanchor);
    for (int i = 0; i < k->nanchor; i++)
        k->first[i] = -1;
    for (int i = k->ndec - 1; i >= 0; i--) {
        decision *d = &k->dec[i];
        d->next = d->anchor < 0 ? -1 : k->first[d->anchor];
        if (d->anchor >= 0)
            k->first[d->anchor] = i;
    }
}

/* Decision names are unique within a sketch; loop names within a stage. */
static void add_sketch(tc_space *s, const analysis *an, variant v) {
    emitter e = {.an = an, .b.arena = s->arena, .v = v};
    tc_space_continue(&e.b, &an->prologue);
    emit_clusters(&e);
    tc_trace written = tc_space_built(&e.b);
    sketch *k = &s->sk[s->nsketch];
    *k = (sketch){.name = variant_name(s->arena, an, v), .v = v, .ndec = (int)e.b.dec.len};
    k->trace = tc_trace_fork(s->arena, &written);
    k->trace->id = tc_trace_hash_steps(k->trace);
    k->dec = tc_arena_dup(s->arena, e.b.dec.data, e.b.dec.len * sizeof *e.b.dec.data);
    link_decisions(k, s->arena);
    tc_space_builder_free(&e.b);
    tc_vec_free(&e.packed);
    tc_vec_free(&e.gone);
    for (int i = 0; i < s->nsketch; i++)
        if (tc_trace_same_steps(s->sk[i].trace, k->trace))
            return;
    s->nsketch++;
}

/* Which variants make a difference to the anchors. */
typedef struct choices {
    bool anchor, packs, blocks, taps, tiles, small;
    bool packs_tiles, packs_rows; /* run-time operands of units with tiles: the second one must be, the first one may be */
} choices;

static choices choices_of(const analysis *an) {
    choices x = {.small = tc_space_work(an->s->workload) < SERIAL_WORK};
    for (int i = 0; i < an->ncluster; i++) {
        const cluster *c = &an->cluster[i];
        if (c->kind != CLUSTER_ANCHOR)
            continue;
        x.anchor = true;
        x.packs |= tc_space_anchor_packs(an, c);
        x.blocks |= tc_space_anchor_blocks(an, c);
        x.taps |= tc_space_anchor_phased(an, c);
        x.tiles |= tc_space_anchor_tiles(an, c, &x.packs_tiles, &x.packs_rows);
    }
    return x;
}

/* With parallel loops, and without where that may pay. */
static void add_both(tc_space *s, const analysis *an, const choices *x, variant v) {
    for (v.serial = s->m.cores < 2; v.serial <= (x->small || s->m.cores < 2); v.serial++)
        add_sketch(s, an, v);
}

static void add_tiles(tc_space *s, const analysis *an, const choices *x, variant v) {
    bool rows = x->packs_rows && !v.stored; /* what is made for a task is not copied at root */
    for (v.block_k = 0; v.block_k <= x->blocks && v.tiles; v.block_k++)
        for (int pack = x->packs_tiles; pack <= (x->packs_tiles ? 2 : 0); pack++)
            for (int inner = 1; inner >= 0; inner--)
                for (v.pack_rows = 0; v.pack_rows <= rows; v.pack_rows++) {
                    v.pack = pack > 0, v.pack_task = pack == 2, v.rows_inner = inner;
                    add_both(s, an, x, v);
                }
}

static void add_variants(tc_space *s, const analysis *an) {
    choices x = choices_of(an);
    for (int block = 0; block <= (x.blocks ? 1 : 0); block++)
        for (int pack = 0; pack <= (x.packs ? 2 : 0); pack++)
            for (int inner = x.anchor ? 1 : 0; inner >= 0; inner--)
                add_both(s, an, &x, (variant){.block_k = block, PACK(pack), .rows_inner = inner});
    for (int inner = 1; inner >= 0 && x.taps; inner--)
        add_both(s, an, &x, (variant){.rows_inner = inner, .taps = true});
    add_tiles(s, an, &x, (variant){.tiles = x.tiles});
    for (int pack = 0; pack <= (x.packs ? 2 : 0) && tc_space_chains(an); pack++)
        for (int tiles = 0; tiles <= x.tiles; tiles++)
            add_both(s, an, &x, (variant){PACK(pack), .rows_inner = true, .chain = true, .tiles = tiles});
}

/* What computes operands of the only anchor, at other places than the read. */
static void add_producers(tc_space *s, const analysis *an) {
    choices x = choices_of(an);
    for (int task = 0; task < 2; task++)
        for (int pack = 0; pack <= (x.packs ? 2 : 0); pack++) {
            variant v = {PACK(pack), .rows_inner = true, .stored = true, .stored_task = task};
            add_both(s, an, &x, v);
            v.rows_inner = false;
            add_both(s, an, &x, v);
            v = (variant){PACK(pack), .rows_inner = true, .stored = true, .stored_task = task, .block_k = true};
            if (x.blocks)
                add_both(s, an, &x, v);
        }
    add_tiles(s, an, &x, (variant){.tiles = x.tiles, .stored = true, .stored_task = true});
    for (int pack = 0; pack <= (x.packs ? 2 : 0) && tc_space_chains(an); pack++)
        add_both(s, an, &x, (variant){PACK(pack), .rows_inner = true, .chain = true, .stored = true});
}

/* Beside weights that are unpacked, everything that the anchor's producers make is made per task or block. */
static void add_unpacked(tc_space *s, const analysis *an) {
    choices x = choices_of(an);
    for (int inner = 1; inner >= 0; inner--) {
        variant v = {.rows_inner = inner, .stored = true, .stored_task = true};
        add_both(s, an, &x, v);
        v.block_k = v.stored_block = true;
        if (x.blocks)
            add_both(s, an, &x, v);
    }
}

static tc_status add_stored(tc_space *s, const analysis *an, tc_error *err) {
    analysis stored;
    tc_status r = tc_space_analyse_stored(an, &stored, err);
    if (r == TC_OK && tc_space_any_producer(&stored)) {
        tc_space_any_unpacked(&stored) ? add_unpacked(s, &stored) : add_producers(s, &stored);
        tc_space_note_producers(s, &stored);
    }
    tc_space_analysis_free(&stored);
    return r;
}

/* Where cores would be idle for want of results, the reduction is divided among them. */
static tc_status add_split(tc_space *s, const analysis *an, tc_error *err) {
    const tc_compute *op;
    const tc_axis *k = s->m.cores > 1 ? tc_space_split_axis(an, &op) : NULL;
    for (int parts = 2; k && parts <= MAX_SPLIT && parts * MIN_PART <= k->extent; parts *= 2) {
        analysis split;
        tc_status r = tc_space_analyse_split(an, parts, &split, err);
        for (int pack = 0; pack < 3 && r == TC_OK; pack++)
            add_sketch(s, &split, (variant){PACK(pack), .rows_inner = true, .split_k = parts});
        tc_space_analysis_free(&split);
        TC_TRY(r);
    }
    return TC_OK;
}

/* Where the output has too few channels for a vector, the reduction carries it. */
static tc_status add_lanes(tc_space *s, const analysis *an, tc_error *err) {
    if (!tc_space_lanes_anchor(an))
        return TC_OK;
    analysis lanes;
    tc_status r = tc_space_analyse_lanes(an, &lanes, err);
    bool small = tc_space_work(an->s->workload) < SERIAL_WORK;
    for (int serial = s->m.cores < 2; serial <= (small || s->m.cores < 2) && r == TC_OK; serial++)
        add_sketch(s, &lanes, (variant){.rows_inner = true, .serial = serial, .lanes_k = true});
    tc_space_analysis_free(&lanes);
    return r;
}

tc_status tc_space_new(const tc_workload *w, const tc_machine *m, tc_space **out, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_space *s = TC_NEW(a, tc_space);
    *s = (tc_space){.arena = a, .w = w, .m = *m, .work = tc_space_work(w)};
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    analysis an;
    tc_status r = tc_space_analyse(ctx, w, &s->m, a, &an, err);
    s->sk = TC_NEW_N(a, sketch, MAX_SKETCHES);
    if (r == TC_OK)
        add_variants(s, &an);
    if (r == TC_OK)
        r = add_split(s, &an, err);
    if (r == TC_OK)
        r = add_lanes(s, &an, err);
    if (r == TC_OK)
        r = add_stored(s, &an, err);
    tc_space_analysis_free(&an);
    tc_ctx_free(ctx);
    if (r != TC_OK) {
        tc_arena_free(a);
        return r;
    }
    *out = s;
    return TC_OK;
}

void tc_space_free(tc_space *s) {
    if (s)
        tc_arena_free(s->arena);
}

int tc_space_nsketch(const tc_space *s) {
    return s->nsketch;
}

const tc_trace *tc_space_sketch(const tc_space *s, int i) {
    return s->sk[i].trace;
}

const char *tc_space_sketch_name(const tc_space *s, int i) {
    return s->sk[i].name;
}

int tc_space_sketch_of(const tc_space *s, const tc_trace *t) {
    uint64_t id = tc_trace_hash_steps(t);
    for (int k = 0; k < s->nsketch; k++)
        if (s->sk[k].trace->id == id && (t->id || tc_trace_same_steps(s->sk[k].trace, t)))
            return k;
    return -1;
}
