/* Sketches: the variants of the rules that differ for a workload, each generated as text and parsed into a trace with open
 * decisions. */
#include "search_space/space_int.h"

#include <stdio.h>
#include <string.h>

/* Below this much work a parallel region's barrier (about a microsecond) is worth questioning: 2e6 operations or bytes take some
 * 30 us on one core. */
#define SERIAL_WORK 2e6

/* Parts of a divided reduction: fewer than two vectors of them, so that they are added up along the results. */
enum { MAX_SPLIT = 16, MIN_PART = 64, MAX_SKETCHES = 96 };

static void emit_clusters(emitter *e) {
    const analysis *an = e->an;
    for (int i = 0; i < an->ncluster; i++) {
        const cluster *c = &an->cluster[i];
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
        }
    }
}

static const char *variant_name(tc_arena *a, const analysis *an, variant v) {
    static const char *const pack[] = {"", "+pack", "+pack-task"};
    bool anchor = false, rows = false, combine = false;
    for (int i = 0; i < an->ncluster; i++) {
        combine |= an->cluster[i].kind == CLUSTER_COMBINE;
        anchor |= an->cluster[i].kind == CLUSTER_ANCHOR;
        rows |= an->cluster[i].kind == CLUSTER_ROWS;
    }
    const char *chain = v.chain ? "+chain" : v.lanes_k ? "+lanes" : v.split_k ? tc_arena_printf(a, "+split%d", v.split_k) : "";
    const char *base = anchor ? (v.block_k ? "tile+block" : "tile") : combine ? "combine" : rows ? "rows" : "map";
    return tc_arena_printf(a, "%s%s%s%s%s%s", base, chain, v.taps ? "+taps" : "", anchor ? pack[v.pack] : "",
                           anchor && v.rows_inner ? "+rows-inner" : "", v.serial ? "+serial" : "");
}

/* The sampled step that binds a decision. */
static int step_of(const tc_trace *t, const char *name) {
    for (int i = 0; i < t->n; i++)
        if (tc_prim_sampled(t->steps[i].prim) && t->steps[i].nouts == 1 && strcmp(t->steps[i].outs[0], name) == 0)
            return i;
    return -1;
}

/* Decision names are unique within a sketch; loop names within a stage. */
static tc_status add_sketch(tc_space *s, const analysis *an, variant v, tc_error *err) {
    emitter e = {.an = an, .arena = s->arena, .v = v};
    tc_sb_add(&e.text, tc_sb_str(&an->prologue));
    emit_clusters(&e);
    sketch *k = &s->sk[s->nsketch];
    *k = (sketch){.name = variant_name(s->arena, an, v), .v = v};
    tc_status r = tc_trace_parse(s->arena, k->name, tc_sb_str(&e.text), &k->trace, err);
    k->ndec = (int)e.dec.len;
    k->dec = tc_arena_dup(s->arena, e.dec.data, e.dec.len * sizeof *e.dec.data);
    tc_strbuf_free(&e.text);
    tc_vec_free(&e.dec);
    tc_vec_free(&e.packed);
    if (r != TC_OK)
        return r;
    k->steps = tc_trace_hash_steps(k->trace);
    for (int i = 0; i < k->ndec; i++)
        k->dec[i].step = step_of(k->trace, k->dec[i].name);
    for (int i = 0; i < s->nsketch; i++)
        if (tc_trace_equal(s->sk[i].trace, k->trace))
            return TC_OK;
    s->nsketch++;
    return TC_OK;
}

static tc_status add_variants(tc_space *s, const analysis *an, tc_error *err) {
    bool anchor = false, packs = false, blocks = false, taps = false;
    for (int i = 0; i < an->ncluster; i++) {
        const cluster *c = &an->cluster[i];
        if (c->kind != CLUSTER_ANCHOR)
            continue;
        anchor = true;
        packs |= tc_space_anchor_packs(an, c);
        blocks |= tc_space_anchor_blocks(an, c);
        taps |= tc_space_anchor_phased(an, c);
    }
    bool small = tc_space_work(an->s->workload) < SERIAL_WORK;
    s->sk = TC_NEW_N(s->arena, sketch, MAX_SKETCHES);
    for (int block = 0; block <= (blocks ? 1 : 0); block++)
        for (int pack = 0; pack <= (packs ? 2 : 0); pack++)
            for (int inner = anchor ? 1 : 0; inner >= 0; inner--)
                for (int serial = s->m.cores < 2; serial <= (small || s->m.cores < 2); serial++)
                    TC_TRY(
                        add_sketch(s, an, (variant){.block_k = block, .pack = pack, .rows_inner = inner, .serial = serial}, err));
    for (int inner = 1; inner >= 0 && taps; inner--)
        for (int serial = s->m.cores < 2; serial <= (small || s->m.cores < 2); serial++)
            TC_TRY(add_sketch(s, an, (variant){.rows_inner = inner, .serial = serial, .taps = true}, err));
    for (int pack = 0; pack <= (packs ? 2 : 0) && tc_space_chains(an); pack++)
        for (int serial = s->m.cores < 2; serial <= (small || s->m.cores < 2); serial++)
            TC_TRY(add_sketch(s, an, (variant){.pack = pack, .rows_inner = true, .serial = serial, .chain = true}, err));
    return TC_OK;
}

/* Where cores would be idle for want of results, the reduction is divided among them. */
static tc_status add_split(tc_space *s, const analysis *an, tc_error *err) {
    const tc_compute *op;
    const tc_axis *k = s->m.cores > 1 ? tc_space_split_axis(an, &op) : NULL;
    for (int parts = 2; k && parts <= MAX_SPLIT && parts * MIN_PART <= k->extent; parts *= 2) {
        analysis split;
        tc_status r = tc_space_analyse_split(an, parts, &split, err);
        for (int pack = 0; pack < 3 && r == TC_OK; pack++)
            r = add_sketch(s, &split, (variant){.pack = pack, .rows_inner = true, .split_k = parts}, err);
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
        r = add_sketch(s, &lanes, (variant){.rows_inner = true, .serial = serial, .lanes_k = true}, err);
    tc_space_analysis_free(&lanes);
    return r;
}

tc_status tc_space_new(const tc_workload *w, const tc_machine *m, tc_space **out, tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_space *s = TC_NEW(a, tc_space);
    *s = (tc_space){.arena = a, .w = w, .m = *m, .work = tc_space_work(w)};
    tc_ctx *ctx = tc_ctx_child(w->ctx);
    analysis an;
    tc_status r = tc_space_analyse(ctx, w, &s->m, &an, err);
    if (r == TC_OK)
        r = add_variants(s, &an, err);
    if (r == TC_OK)
        r = add_split(s, &an, err);
    if (r == TC_OK)
        r = add_lanes(s, &an, err);
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

static bool same_int(const tc_int_arg *a, const tc_int_arg *b) {
    if (a->kind != b->kind)
        return false;
    return a->kind == TC_ARG_LITERAL ? a->value == b->value
                                     : a->kind == TC_ARG_INFER || (a->part == b->part && strcmp(a->ref, b->ref) == 0);
}

static bool same_step(const tc_instr *a, const tc_instr *b) {
    if (a->prim != b->prim || a->nouts != b->nouts || a->nnames != b->nnames || a->nints != b->nints || !a->text != !b->text)
        return false;
    for (int i = 0; i < a->nouts; i++)
        if (strcmp(a->outs[i], b->outs[i]))
            return false;
    for (int i = 0; i < a->nnames; i++)
        if (strcmp(a->names[i], b->names[i]))
            return false;
    for (int i = 0; i < a->nints; i++)
        if (!same_int(&a->ints[i], &b->ints[i]))
            return false;
    return !a->text || strcmp(a->text, b->text) == 0;
}

/* Forks of a sketch share these. */
static bool shared_step(const tc_instr *a, const tc_instr *b) {
    return a->outs == b->outs && a->names == b->names && a->ints == b->ints && a->text == b->text && a->prim == b->prim;
}

static int first_with(const tc_space *s, const tc_trace *t, bool (*same)(const tc_instr *a, const tc_instr *b)) {
    for (int k = 0; k < s->nsketch; k++) {
        const tc_trace *x = s->sk[k].trace;
        int i = 0;
        while (x->n == t->n && i < t->n && same(&x->steps[i], &t->steps[i]))
            i++;
        if (x->n == t->n && i == t->n)
            return k;
    }
    return -1;
}

int tc_space_sketch_of(const tc_space *s, const tc_trace *t) {
    int k = first_with(s, t, shared_step);
    return k < 0 ? first_with(s, t, same_step) : k;
}

uint64_t tc_space_steps_of(const tc_space *s, const tc_trace *t) {
    int k = first_with(s, t, shared_step);
    return k < 0 ? tc_trace_hash_steps(t) : s->sk[k].steps;
}
