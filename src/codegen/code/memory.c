/* Loads and stores: contiguous, masked, strided, gathered; buffers held in registers.
 *
 * Inside an arm of a select, g->k->pred tells in which lanes (or, a scalar, whether at all) the value is wanted. A load whose index
 * is in bounds anyway ignores the predicate. Any other load is masked, or reads a safe place in the lanes that are not wanted:
 * element 0 of the buffer, or a zero outside of the buffer if the buffer may be empty. */
#include "codegen/code/code_int.h"

enum { LARGEST_ELEMENT = 8 }; /* bytes */

/* ---- plain accesses ---- */

static void tag(tc_cg *g, const tc_slot *s, tc_val inst) {
    if (s->scope) {
        LLVMSetMetadata(inst, g->k->md_scope, LLVMMetadataAsValue(g->ctx, s->scope));
        if (s->noalias)
            LLVMSetMetadata(inst, g->k->md_noalias, LLVMMetadataAsValue(g->ctx, s->noalias));
    }
}

static tc_val load_at(tc_cg *g, const tc_slot *s, tc_val p, int lanes, int align) {
    tc_val v = LLVMBuildLoad2(g->b, tc_cg_vec(tc_cg_mem_type(g, s->buffer->dtype), lanes), p, "");
    LLVMSetAlignment(v, (unsigned)align);
    tag(g, s, v);
    if (s->constant)
        LLVMSetMetadata(v, g->k->md_invariant, LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, NULL, 0)));
    return v;
}

static void store_at(tc_cg *g, const tc_slot *s, tc_val p, tc_val v, int align) {
    tc_val st = LLVMBuildStore(g->b, v, p);
    LLVMSetAlignment(st, (unsigned)align);
    tag(g, s, st);
}

static tc_val masked_load(tc_cg *g, const tc_slot *s, tc_val p, tc_val mask, int align) {
    LLVMTypeRef vt = tc_cg_like(mask, tc_cg_mem_type(g, s->buffer->dtype)), over[] = {vt, g->ptr};
    tc_val args[] = {p, tc_cg_int(g->i32, align), mask, LLVMConstNull(vt)};
    tc_val v = tc_cg_intrinsic(g, "llvm.masked.load", over, 2, args, 4);
    if (v)
        tag(g, s, v);
    return v;
}

/* A zero of the module's own, as large as any element. */
static tc_val zero_element(tc_cg *g) {
    static const char NAME[] = "tc_zero";
    tc_val zero = LLVMGetNamedGlobal(g->mod, NAME);
    if (zero)
        return zero;
    LLVMTypeRef t = LLVMArrayType2(g->i8, LARGEST_ELEMENT);
    zero = LLVMAddGlobal(g->mod, t, NAME);
    LLVMSetInitializer(zero, LLVMConstNull(t));
    LLVMSetLinkage(zero, LLVMPrivateLinkage);
    LLVMSetGlobalConstant(zero, true);
    LLVMSetAlignment(zero, LARGEST_ELEMENT);
    return zero;
}

/* Where element `at` is, if it is wanted; else somewhere that can be read. */
static tc_val element_if(tc_cg *g, const tc_slot *s, tc_val want, tc_val at) {
    if (tc_tir_least_size(s->buffer) > 0)
        return tc_cg_element(g, s, LLVMBuildSelect(g->b, want, at, tc_cg_i64(g, 0), ""));
    return LLVMBuildSelect(g->b, want, tc_cg_element(g, s, at), zero_element(g), "");
}

static tc_val both(tc_cg *g, tc_val a, tc_val b) {
    return !a ? b : !b ? a : LLVMBuildAnd(g->b, a, b, "");
}

/* ---- strided and gathered loads ---- */

static tc_val lane_const(tc_cg *g, int i) {
    return tc_cg_i64(g, i);
}

static tc_val shuffle_stride(tc_cg *g, tc_val wide, int lanes, int first, int step) {
    tc_val *sel = tc_xmalloc((size_t)lanes * sizeof *sel);
    for (int i = 0; i < lanes; i++)
        sel[i] = tc_cg_int(g->i32, first + i * step);
    tc_val v = LLVMBuildShuffleVector(g->b, wide, LLVMGetPoison(LLVMTypeOf(wide)), LLVMConstVector(sel, (unsigned)lanes), "");
    free(sel);
    return v;
}

/* Stride -1, or a small one whose whole span may be read: one wide load and a shuffle. NULL when it is neither. */
static tc_val load_shuffled(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int lanes) {
    int bytes = tc_dtype_bytes(s->buffer->dtype);
    tc_cg_index y = *x;
    if (x->stride == -1) {
        y.base.c -= lanes - 1;
        tc_val wide = load_at(g, s, tc_cg_pointer(g, s, &y), lanes, tc_cg_index_align(&y, bytes, s->align));
        return shuffle_stride(g, wide, lanes, lanes - 1, -1);
    }
    if (x->stride < 2 || x->stride > 4)
        return NULL;
    y.stride = 1;
    tc_ival r = tc_cg_index_range(g, &y, (int)x->stride * lanes);
    if (r.lo < 0 || r.hi >= tc_tir_least_size(s->buffer))
        return NULL;
    tc_val wide = load_at(g, s, tc_cg_pointer(g, s, x), (int)x->stride * lanes, tc_cg_index_align(x, bytes, s->align));
    return shuffle_stride(g, wide, lanes, 0, (int)x->stride);
}

static tc_val load_lanes(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int lanes) {
    int bytes = tc_dtype_bytes(s->buffer->dtype);
    tc_val v = LLVMGetPoison(tc_cg_vec(tc_cg_mem_type(g, s->buffer->dtype), lanes));
    for (int i = 0; i < lanes; i++) {
        tc_cg_index y = *x;
        y.base.c += i * x->stride;
        tc_val e = load_at(g, s, tc_cg_pointer(g, s, &y), 1, bytes);
        v = LLVMBuildInsertElement(g->b, v, e, lane_const(g, i), "");
    }
    return v;
}

static tc_val gather_from(tc_cg *g, const tc_slot *s, tc_val places, int lanes, tc_val mask) {
    LLVMTypeRef vt = tc_cg_vec(tc_cg_mem_type(g, s->buffer->dtype), lanes), over[] = {vt, tc_cg_vec(g->ptr, lanes)};
    tc_val all = mask ? mask : LLVMConstAllOnes(tc_cg_vec(g->i1, lanes));
    tc_val args[] = {places, tc_cg_int(g->i32, tc_dtype_bytes(s->buffer->dtype)), all, LLVMConstNull(vt)};
    return tc_cg_intrinsic(g, "llvm.masked.gather", over, 2, args, 4);
}

/* Lanes `stride` apart from x on: one place and constant distances, which a gather of narrow offsets takes as they are. */
static tc_val gather_strided(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int lanes, tc_val mask) {
    tc_val *at = tc_xmalloc((size_t)lanes * sizeof *at);
    for (int i = 0; i < lanes; i++)
        at[i] = tc_cg_int(g->i32, i * x->stride);
    tc_val distance = LLVMConstVector(at, (unsigned)lanes);
    free(at);
    tc_val places = LLVMBuildGEP2(g->b, tc_cg_mem_type(g, s->buffer->dtype), tc_cg_pointer(g, s, x), &distance, 1, "");
    return gather_from(g, s, places, lanes, mask);
}

static tc_val gather(tc_cg *g, const tc_slot *s, tc_val index, tc_val mask) {
    int lanes = tc_cg_lanes(index), bytes = tc_dtype_bytes(s->buffer->dtype);
    LLVMTypeRef vt = tc_cg_vec(tc_cg_mem_type(g, s->buffer->dtype), lanes);
    if (!g->k->scalar_gather && bytes >= 4)
        return gather_from(g, s, tc_cg_element(g, s, index), lanes, mask);
    bool there = tc_tir_least_size(s->buffer) > 0;
    if (mask && there)
        index = LLVMBuildSelect(g->b, mask, index, LLVMConstNull(LLVMTypeOf(index)), "");
    tc_val v = LLVMGetPoison(vt);
    for (int i = 0; i < lanes; i++) {
        tc_val at = LLVMBuildExtractElement(g->b, index, lane_const(g, i), "");
        tc_val want = mask && !there ? LLVMBuildExtractElement(g->b, mask, lane_const(g, i), "") : NULL;
        tc_val p = want ? element_if(g, s, want, at) : tc_cg_element(g, s, at);
        v = LLVMBuildInsertElement(g->b, v, load_at(g, s, p, 1, bytes), lane_const(g, i), "");
    }
    return v;
}

/* ---- buffers in registers ---- */

static bool reg_index(tc_cg *g, const tc_slot *s, const tc_expr *index, tc_cg_index *x) {
    int64_t last;
    if (!tc_cg_flatten(index, x) || x->base.n != 0) {
        tc_cg_fail(g, "register buffer %s has an index that is not constant", s->buffer->name);
        return false;
    }
    last = x->base.c + x->stride * (index->lanes - 1);
    if (TC_MIN(x->base.c, last) < 0 || TC_MAX(x->base.c, last) >= s->buffer->size) {
        tc_cg_fail(g, "register buffer %s has %lld elements, index %lld is outside", s->buffer->name, (long long)s->buffer->size,
                   (long long)last);
        return false;
    }
    return true;
}

static LLVMTypeRef reg_type(tc_cg *g, const tc_buffer *b) {
    return tc_cg_val_type(g, b->dtype, TC_MAX(b->reg_lanes, 1));
}

static bool whole_reg(const tc_buffer *b, const tc_cg_index *x, int lanes) {
    int r = TC_MAX(b->reg_lanes, 1);
    return lanes == r && x->base.c % r == 0 && (lanes == 1 || x->stride == 1);
}

static tc_val load_reg(tc_cg *g, const tc_slot *s, const tc_expr *index) {
    const tc_buffer *b = s->buffer;
    int lanes = index->lanes, r = TC_MAX(b->reg_lanes, 1);
    tc_cg_index x;
    if (!reg_index(g, s, index, &x))
        return NULL;
    if (whole_reg(b, &x, lanes))
        return LLVMBuildLoad2(g->b, reg_type(g, b), s->regs[x.base.c / r], "");
    tc_val v = LLVMGetPoison(tc_cg_val_type(g, b->dtype, lanes));
    for (int i = 0; i < lanes; i++) {
        int64_t at = x.base.c + i * x.stride;
        tc_val e = LLVMBuildLoad2(g->b, reg_type(g, b), s->regs[at / r], "");
        if (r > 1)
            e = LLVMBuildExtractElement(g->b, e, lane_const(g, (int)(at % r)), "");
        v = lanes > 1 ? LLVMBuildInsertElement(g->b, v, e, lane_const(g, i), "") : e;
    }
    return v;
}

static void store_reg(tc_cg *g, const tc_slot *s, const tc_expr *index, tc_val v, tc_val mask) {
    const tc_buffer *b = s->buffer;
    int lanes = index->lanes, r = TC_MAX(b->reg_lanes, 1);
    tc_cg_index x;
    if (!reg_index(g, s, index, &x))
        return;
    if (mask)
        v = LLVMBuildSelect(g->b, mask, v, load_reg(g, s, index), "");
    if (whole_reg(b, &x, lanes)) {
        LLVMBuildStore(g->b, v, s->regs[x.base.c / r]);
        return;
    }
    for (int i = 0; i < lanes; i++) {
        int64_t at = x.base.c + i * x.stride;
        tc_val e = lanes > 1 ? LLVMBuildExtractElement(g->b, v, lane_const(g, i), "") : v;
        if (r > 1) {
            tc_val old = LLVMBuildLoad2(g->b, reg_type(g, b), s->regs[at / r], "");
            e = LLVMBuildInsertElement(g->b, old, e, lane_const(g, (int)(at % r)), "");
        }
        LLVMBuildStore(g->b, e, s->regs[at / r]);
    }
}

/* ---- load ---- */

/* The mask operand as a value, NULL when there is none or it is all true. */
static tc_val mask_value(tc_cg *g, const tc_expr *mask) {
    if (!mask)
        return NULL;
    tc_val m = tc_cg_expr(g, mask);
    return m && tc_cg_all_ones(m) ? NULL : m;
}

static tc_val zero_where_off(tc_cg *g, tc_val mask, tc_val v) {
    return mask ? LLVMBuildSelect(g->b, mask, v, LLVMConstNull(LLVMTypeOf(v)), "") : v;
}

/* Scalar element at x (or at e, when it has no affine form); where `want` is given and false, another one instead. */
static tc_val load_scalar(tc_cg *g, const tc_slot *s, const tc_cg_index *x, const tc_expr *index, tc_val want) {
    int bytes = tc_dtype_bytes(s->buffer->dtype);
    if (!want && x)
        return load_at(g, s, tc_cg_pointer(g, s, x), 1, bytes);
    tc_val v = x ? tc_cg_index_value(g, x) : tc_cg_expr(g, index);
    return v ? load_at(g, s, want ? element_if(g, s, want, v) : tc_cg_element(g, s, v), 1, bytes) : NULL;
}

/* Whether x stays in the buffer whatever the predicate says. */
static bool in_bounds(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int lanes) {
    tc_ival r = tc_cg_index_range(g, x, lanes);
    return r.lo >= 0 && r.hi < tc_tir_least_size(s->buffer);
}

static tc_val load_contiguous(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int lanes, tc_val mask, tc_val pred) {
    int align = tc_cg_index_align(x, tc_dtype_bytes(s->buffer->dtype), s->align);
    if (pred && !mask && tc_cg_lanes(pred) == 1 && tc_tir_least_size(s->buffer) >= lanes) {
        tc_val at = LLVMBuildSelect(g->b, pred, tc_cg_index_value(g, x), tc_cg_i64(g, 0), "");
        return load_at(g, s, tc_cg_element(g, s, at), lanes, TC_MIN(align, s->align));
    }
    mask = both(g, mask, pred ? tc_cg_pred_for(g, lanes) : NULL);
    tc_val p = tc_cg_pointer(g, s, x);
    return mask ? masked_load(g, s, p, mask, align) : load_at(g, s, p, lanes, align);
}

static tc_val load_vector(tc_cg *g, const tc_slot *s, const tc_expr *e, tc_val mask) {
    int lanes = e->lanes;
    tc_cg_index x;
    bool affine = tc_cg_flatten(e->args[0], &x);
    tc_val pred = affine && in_bounds(g, s, &x, lanes) ? NULL : g->k->pred;
    if (affine && x.stride == 1)
        return load_contiguous(g, s, &x, lanes, mask, pred);
    tc_val want = both(g, mask, pred ? tc_cg_pred_for(g, lanes) : NULL);
    if (affine && x.stride == 0) {
        tc_val one = load_scalar(g, s, &x, NULL, want ? tc_cg_any_lane(g, want) : NULL);
        return zero_where_off(g, mask, tc_cg_splat(g, one, lanes));
    }
    if (affine && !want) {
        tc_val v = load_shuffled(g, s, &x, lanes);
        return v ? v : load_lanes(g, s, &x, lanes);
    }
    bool near = affine && (x.stride < 0 ? -x.stride : x.stride) <= INT32_MAX / TC_MAX_LANES;
    if (near && !g->k->scalar_gather && tc_dtype_bytes(s->buffer->dtype) >= 4)
        return zero_where_off(g, mask, gather_strided(g, s, &x, lanes, want));
    tc_val index = tc_cg_expr(g, e->args[0]);
    return index ? zero_where_off(g, mask, gather(g, s, index, want)) : NULL;
}

tc_val tc_cg_load_expr(tc_cg *g, const tc_expr *e) {
    tc_slot *s = tc_cg_slot(g, e->u.buffer);
    if (!s)
        return NULL;
    tc_val mask = mask_value(g, e->nargs > 1 ? e->args[1] : NULL), v;
    if (g->status != TC_OK)
        return NULL;
    if (s->regs)
        return (v = load_reg(g, s, e->args[0])) ? zero_where_off(g, mask, v) : NULL;
    if (e->lanes == 1) {
        tc_cg_index x;
        bool affine = tc_cg_flatten(e->args[0], &x);
        tc_val pred = affine && in_bounds(g, s, &x, 1) ? NULL : tc_cg_pred_for(g, 1);
        v = load_scalar(g, s, affine ? &x : NULL, e->args[0], both(g, mask, pred));
        v = v ? zero_where_off(g, mask, v) : NULL;
    } else {
        v = load_vector(g, s, e, mask);
    }
    return v ? tc_cg_from_memory(g, s->buffer->dtype, v) : NULL;
}

/* ---- store ---- */

static void scatter(tc_cg *g, const tc_slot *s, tc_val index, tc_val v, tc_val mask) {
    int lanes = tc_cg_lanes(index), bytes = tc_dtype_bytes(s->buffer->dtype);
    if (mask) {
        LLVMTypeRef over[] = {LLVMTypeOf(v), tc_cg_vec(g->ptr, lanes)};
        tc_val args[] = {v, tc_cg_element(g, s, index), tc_cg_int(g->i32, bytes), mask};
        tc_cg_intrinsic(g, "llvm.masked.scatter", over, 2, args, 4);
        return;
    }
    for (int i = 0; i < lanes; i++) {
        tc_val at = LLVMBuildExtractElement(g->b, index, lane_const(g, i), "");
        store_at(g, s, tc_cg_element(g, s, at), LLVMBuildExtractElement(g->b, v, lane_const(g, i), ""), bytes);
    }
}

static void store_strided(tc_cg *g, const tc_slot *s, const tc_cg_index *x, tc_val v) {
    for (int i = 0; i < tc_cg_lanes(v); i++) {
        tc_cg_index y = *x;
        y.base.c += i * x->stride;
        store_at(g, s, tc_cg_pointer(g, s, &y), LLVMBuildExtractElement(g->b, v, lane_const(g, i), ""),
                 tc_dtype_bytes(s->buffer->dtype));
    }
}

static void masked_store(tc_cg *g, const tc_slot *s, tc_val p, tc_val v, tc_val mask, int align) {
    LLVMTypeRef over[] = {LLVMTypeOf(v), g->ptr};
    tc_val args[] = {v, p, tc_cg_int(g->i32, align), mask};
    tc_val st = tc_cg_intrinsic(g, "llvm.masked.store", over, 2, args, 4);
    if (st)
        tag(g, s, st);
}

static void store_vector(tc_cg *g, const tc_slot *s, const tc_expr *index, tc_val v, tc_val mask) {
    tc_cg_index x;
    bool affine = tc_cg_flatten(index, &x);
    if (affine && x.stride == 1) {
        int align = tc_cg_index_align(&x, tc_dtype_bytes(s->buffer->dtype), s->align);
        tc_val p = tc_cg_pointer(g, s, &x);
        if (!mask) {
            store_at(g, s, p, v, align);
            return;
        }
        masked_store(g, s, p, v, mask, align);
        return;
    }
    if (affine && !mask) {
        store_strided(g, s, &x, v);
        return;
    }
    tc_val at = tc_cg_expr(g, index);
    if (at)
        scatter(g, s, at, v, mask);
}

/* A masked scalar store is a branch: the element must not be written, nor read, when the mask is off. */
static void store_scalar(tc_cg *g, const tc_slot *s, const tc_expr *index, tc_val v, tc_val mask) {
    tc_cg_index x;
    LLVMBasicBlockRef done = NULL;
    size_t mark = tc_memo_mark(&g->k->pure);
    if (mask) {
        LLVMBasicBlockRef yes = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "store");
        done = LLVMAppendBasicBlockInContext(g->ctx, g->fn, "stored");
        LLVMBuildCondBr(g->b, mask, yes, done);
        LLVMPositionBuilderAtEnd(g->b, yes);
    }
    tc_val p, at;
    if (tc_cg_flatten(index, &x))
        p = tc_cg_pointer(g, s, &x);
    else
        p = (at = tc_cg_expr(g, index)) ? tc_cg_element(g, s, at) : NULL;
    if (p)
        store_at(g, s, p, v, tc_dtype_bytes(s->buffer->dtype));
    if (done) {
        LLVMBuildBr(g->b, done);
        LLVMPositionBuilderAtEnd(g->b, done);
        tc_memo_undo(&g->k->pure, mark);
    }
}

void tc_cg_store_stmt(tc_cg *g, const tc_stmt *st) {
    const tc_expr *index = st->u.store.index;
    tc_slot *s = tc_cg_slot(g, st->u.store.buffer);
    tc_val v = s ? tc_cg_expr(g, st->u.store.value) : NULL;
    tc_val mask = v ? mask_value(g, st->u.store.mask) : NULL;
    if (!v || g->status != TC_OK)
        return;
    if (s->constant) {
        tc_cg_fail(g, "stores to input %s", s->buffer->name);
        return;
    }
    if (s->regs) {
        store_reg(g, s, index, v, mask);
        return;
    }
    v = tc_cg_to_memory(g, s->buffer->dtype, v);
    if (index->lanes == 1)
        store_scalar(g, s, index, v, mask);
    else
        store_vector(g, s, index, v, mask);
}

void tc_cg_store_run(tc_cg *g, const tc_buffer *b, const tc_cg_index *x, tc_val v) {
    tc_slot *s = tc_cg_slot(g, b);
    if (s)
        store_at(g, s, tc_cg_pointer(g, s, x), v, tc_cg_index_align(x, tc_dtype_bytes(b->dtype), s->align));
}

static tc_val first_lanes(tc_cg *g, int n, int lanes) {
    enum { MOST = 128 };
    tc_val at[MOST];
    for (int i = 0; i < lanes && i < MOST; i++)
        at[i] = LLVMConstInt(g->i1, i < n, 0);
    return lanes > MOST ? tc_cg_fail(g, "has a tile of %d lanes", lanes) : LLVMConstVector(at, (unsigned)lanes);
}

/* Where there are no masks, as many lanes as are wanted are loaded and stored. */
tc_val tc_cg_load_some(tc_cg *g, const tc_slot *s, const tc_cg_index *x, int n, int lanes) {
    int align = tc_cg_index_align(x, tc_dtype_bytes(s->buffer->dtype), s->align);
    tc_val p = tc_cg_pointer(g, s, x);
    if (n < lanes && g->k->m->masks)
        return masked_load(g, s, p, first_lanes(g, n, lanes), align);
    tc_val v = load_at(g, s, p, n, align);
    return tc_cg_resized(g, v, lanes, LLVMConstNull(LLVMTypeOf(v)));
}

void tc_cg_store_some(tc_cg *g, const tc_slot *s, const tc_cg_index *x, tc_val v, int n) {
    int align = tc_cg_index_align(x, tc_dtype_bytes(s->buffer->dtype), s->align), lanes = tc_cg_lanes(v);
    tc_val p = tc_cg_pointer(g, s, x);
    if (n < lanes && g->k->m->masks)
        masked_store(g, s, p, v, first_lanes(g, n, lanes), align);
    else
        store_at(g, s, p, tc_cg_resized(g, v, n, v), align);
}

tc_val tc_cg_raw_load(tc_cg *g, const tc_expr *e) {
    tc_cg_index x;
    if (e->op != TC_OP_LOAD)
        return tc_cg_fail(g, "an operand of dot is not a load");
    tc_slot *s = tc_cg_slot(g, e->u.buffer);
    if (!s || s->regs || !tc_cg_flatten(e->args[0], &x) || x.stride != 1)
        return tc_cg_fail(g, "an operand of dot is not a run of neighbouring elements of %s", e->u.buffer->name);
    tc_val mask = mask_value(g, e->nargs > 1 ? e->args[1] : NULL);
    return g->status == TC_OK ? load_contiguous(g, s, &x, e->lanes, mask, NULL) : NULL;
}

void tc_cg_prefetch_stmt(tc_cg *g, const tc_stmt *st) {
    /* Operands of llvm.prefetch; moderate locality: into the second-level cache. */
    enum { READ = 0, WRITE = 1, MODERATE_LOCALITY = 2, DATA = 1 };
    const tc_buffer *b = st->u.prefetch.buffer;
    bool result = b->scope == TC_BUF_PARAM && g->k->f->params[b->param].kind == TC_PARAM_OUT;
    tc_slot *s = tc_cg_slot(g, b);
    tc_cg_index x;
    tc_val p = s && tc_cg_flatten(st->u.prefetch.index, &x) ? tc_cg_pointer(g, s, &x) : NULL;
    if (!p || g->status != TC_OK)
        return; /* only a hint */
    tc_val args[4] = {p, tc_cg_int(g->i32, result ? WRITE : READ), tc_cg_int(g->i32, MODERATE_LOCALITY), tc_cg_int(g->i32, DATA)};
    tc_cg_intrinsic(g, "llvm.prefetch", &g->ptr, 1, args, 4);
}
