/* The constants of a model. Each constant is stored once for every layout in which some kernel reads it. It is packed when the
 * model is built. When a prologue computes a value from a constant, the model stores the result instead. The constant itself is
 * kept only if another reader needs it. */
#include "graph/model/parts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/system/memory.h"
#include "support/system/threads.h"
#include "tir_lower/build/build.h"

/* Weights are streamed through once per run: with pages of 4 KiB every few lines cost a walk of the page table, and it depends on
 * luck which lines of an arena share the sets of a cache. */
enum { HUGE_PAGE = 2 << 20 };

/* *size: how large the block is, at least `bytes`. */
static void *aligned_block(int64_t bytes, size_t *size, tc_error *err) {
    void *p = NULL;
    if (tc_memory_check((uint64_t)TC_MAX(bytes, 0), err) != TC_OK)
        return NULL;
    size_t n = (size_t)tc_graph_aligned(TC_MAX(bytes, 1));
    bool large = n >= HUGE_PAGE / 4;
    if (large)
        n = (n + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
    if (posix_memalign(&p, large ? HUGE_PAGE : TC_RT_ALIGN, n) != 0) {
        tc_memory_lacking(n, err);
        return NULL;
    }
    if (large)
        madvise(p, n, MADV_HUGEPAGE); /* a wish: failing changes nothing */
    *size = n;
    return p;
}

void *tc_graph_aligned_alloc(int64_t bytes, tc_error *err) {
    size_t n;
    void *p = aligned_block(bytes, &n, err);
    return p ? memset(p, 0, n) : NULL;
}

void *tc_graph_untouched_alloc(int64_t bytes, tc_error *err) {
    size_t n;
    void *p = aligned_block(bytes, &n, err);
    bool whole = n % HUGE_PAGE == 0; /* pages: what the heap had in them is dropped, and they are zeros when they are next read */
    if (p && !(whole && madvise(p, n, MADV_DONTNEED) == 0))
        memset(p, 0, n);
    return p;
}

static const tc_param *param_of(const tc_graph_model *m, int task, int arg) {
    return &m->units[task].func->params[arg];
}

static bool is_packed(const tc_graph_model *m, const tc_graph_block *b) {
    return b->task >= 0 && param_of(m, b->task, b->param)->kind == TC_PARAM_PACKED;
}

/* What the prologues compute, not which task they belong to. */
static bool same_prologue(const tc_graph_block *a, const tc_graph_block *b) {
    if (!a->prologue || !b->prologue || a->task == b->task)
        return a->prologue == b->prologue;
    tc_digest x = tc_te_hash(a->prologue->workload), y = tc_te_hash(b->prologue->workload);
    return strcmp(x.hex, y.hex) == 0;
}

/* The same bytes, made of the same constant, perhaps for another task. */
static bool same_block(const tc_graph_model *m, const tc_graph_block *a, const tc_graph_block *b) {
    const tc_graph_slot *s = &m->program->slots[a->slot], *t = &m->program->slots[b->slot];
    if (s->constant->data != t->constant->data || s->bytes != t->bytes || a->bytes != b->bytes)
        return false;
    if (is_packed(m, a) != is_packed(m, b) || !same_prologue(a, b))
        return false;
    return !is_packed(m, a) || (a->task == b->task && a->param == b->param) ||
           tc_tir_packs_alike(m->units[a->task].func, a->param, m->units[b->task].func, b->param);
}

/* Number of the block; it is added when it is the first of its kind. */
static int find_block(tc_graph_model *m, tc_graph_block b) {
    for (size_t i = 0; i < m->blocks.len; i++)
        if (same_block(m, &m->blocks.data[i], &b))
            return (int)i;
    b.offset = m->blob_bytes;
    m->blob_bytes += tc_graph_aligned(b.bytes);
    tc_push(&m->blocks, b);
    return (int)m->blocks.len - 1;
}

/* Block for argument `arg` of a launch. */
static int block_for(tc_graph_model *m, const tc_graph_launch *x, int arg) {
    const tc_param *q = x->task < 0 ? NULL : param_of(m, x->task, arg);
    const tc_space_prologue *made = q ? tc_graph_prologue(&m->units[x->task], arg) : NULL;
    bool own = made || (q && q->kind == TC_PARAM_PACKED);
    tc_graph_block b = {.slot = x->args[arg], .task = own ? x->task : -1, .param = own ? arg : -1, .prologue = made, .launch = x};
    assert(!made || (made->nfrom == 1 && made->from[0] == arg)); /* other constants might be given back before it is made */
    b.bytes = own ? q->buffer->size * tc_dtype_bytes(q->buffer->dtype) : m->program->slots[b.slot].bytes;
    return find_block(m, b);
}

/* The block's own memory: the constant, or what the prologue makes of it, as the kernel wants it. */
static tc_status transform(const tc_graph_model *m, tc_graph_block *b, tc_error *err) {
    const void *from = m->program->slots[b->slot].constant->data;
    tc_graph_tensor made = {0};
    if (b->prologue) {
        TC_TRY(tc_graph_run_prologue(m, b->prologue, b->launch, &made, err));
        from = made.data;
    }
    b->memory = tc_graph_aligned_alloc(b->bytes, err);
    if (!b->memory) {
        tc_error_prefix(err, "the constant '%s', as its kernel reads it: ", m->program->slots[b->slot].name);
        tc_graph_tensor_free(&made);
        return TC_ENV;
    }
    if (is_packed(m, b))
        tc_tir_pack(m->units[b->task].func, b->param, from, b->memory);
    else
        memcpy(b->memory, from, (size_t)b->bytes);
    tc_graph_tensor_free(&made);
    return TC_OK;
}

/* Sets b->data; a block that the kernel does not read as the program holds it gets memory of its own. */
static tc_status fill(const tc_graph_model *m, tc_graph_block *b, tc_error *err) {
    const void *from = m->program->slots[b->slot].constant->data;
    if (b->task < 0 && (uintptr_t)from % TC_RT_ALIGN == 0) {
        b->data = from;
        return TC_OK;
    }
    TC_TRY(transform(m, b, err));
    b->data = b->memory;
    return TC_OK;
}

tc_status tc_graph_write_constants(const tc_graph_model *m, FILE *f, tc_error *err) {
    static const char zeros[TC_RT_ALIGN];
    for (size_t i = 0; i < m->blocks.len; i++) {
        tc_graph_block b = m->blocks.data[i];
        bool made = b.data == NULL && b.task >= 0;
        if (made)
            TC_TRY(fill(m, &b, err));
        else if (!b.data)
            b.data = m->program->slots[b.slot].constant->data;
        size_t n = (size_t)b.bytes, pad = (size_t)(tc_graph_aligned(b.bytes) - b.bytes);
        bool ok = fwrite(b.data, 1, n, f) == n && fwrite(zeros, 1, pad, f) == pad;
        if (made)
            free(b.memory);
        if (!ok)
            return tc_fail(err, TC_ENV,
                           "writing %lld bytes of constants failed: %s; free space there or set TMPDIR to a larger folder",
                           (long long)m->blob_bytes, strerror(errno));
    }
    return TC_OK;
}

/* Gives the whole pages of a constant back to the system. Its memory stays the graph's, but what it held is lost. */
static void discard(const tc_graph_slot *s) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = ((uintptr_t)s->constant->data + page - 1) / page * page,
              to = ((uintptr_t)s->constant->data + (uintptr_t)s->bytes) / page * page;
    if (to > from)
        madvise((void *)from, to - from, MADV_DONTNEED); /* a wish: failing costs memory only */
}

typedef struct span {
    uintptr_t from, to;
    int slot;
} span;

static int by_address(const void *x, const void *y) {
    const span *a = x, *b = y;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : a->slot - b->slot;
}

/* Slots may show the same memory, as a tensor and its reshaped form do: shared[slot] says which. */
static void find_shared(const tc_graph_program *p, bool *shared) {
    span *s = tc_xcalloc((size_t)p->nslot + 1, sizeof *s);
    int n = 0;
    for (int i = 0; i < p->nslot; i++)
        if (p->slots[i].kind == TC_GRAPH_SLOT_CONST) {
            uintptr_t at = (uintptr_t)p->slots[i].constant->data;
            s[n++] = (span){at, at + (uintptr_t)p->slots[i].bytes, i};
        }
    qsort(s, (size_t)n, sizeof *s, by_address);
    for (int i = 1, last = 0; i < n; i++) { /* last: the one so far that ends last */
        if (s[i].from < s[last].to)
            shared[s[i].slot] = shared[s[last].slot] = true;
        if (s[i].to > s[last].to)
            last = i;
    }
    free(s);
}

/* Makes the blocks of constants that kernels read in this process. Where the program may be used up, a constant of which every
 * copy is made is not kept beside them. */
static tc_status fill_all(tc_graph_model *m, bool use_up, tc_error *err) {
    int *left = tc_xcalloc((size_t)m->program->nslot + 1, sizeof *left);
    bool *shared = tc_xcalloc((size_t)m->program->nslot + 1, sizeof *shared);
    tc_status first = TC_OK;
    find_shared(m->program, shared);
    for (size_t i = 0; i < m->blocks.len; i++)
        left[m->blocks.data[i].slot]++;
    int team = tc_threads_team(m->threads);
#pragma omp parallel for schedule(dynamic) num_threads(team)
    for (size_t i = 0; i < m->blocks.len; i++) {
        tc_graph_block *b = &m->blocks.data[i];
        int now;
        tc_error local = {0};
        tc_status s = fill(m, b, &local);
        if (s != TC_OK) {
#pragma omp critical(tc_graph_fill)
            first = tc_fail(err, s, "%s", local.msg);
        }
        if (!b->memory)
            continue; /* read in place: the count never reaches zero */
#pragma omp atomic capture
        now = --left[b->slot];
        if (now == 0 && use_up && !shared[b->slot])
            discard(&m->program->slots[b->slot]);
    }
    free(left);
    free(shared);
    return first;
}

/* Where a TEMP is. */
static tc_cg_operand place_of(const tc_graph_model *m, int slot) {
    int64_t skip;
    int output = m->plan.output[tc_graph_whole_of(m->program, slot, &skip)];
    if (output >= 0)
        return (tc_cg_operand){.where = TC_CG_OUTPUT, .at = output, .skip = skip};
    return (tc_cg_operand){.where = TC_CG_ARENA, .at = m->plan.offset[slot]};
}

static tc_cg_operand operand_of(tc_graph_model *m, const tc_graph_launch *x, int arg) {
    const tc_graph_slot *s = &m->program->slots[x->args[arg]];
    if (s->kind == TC_GRAPH_SLOT_INPUT)
        return (tc_cg_operand){.where = TC_CG_INPUT, .at = s->input};
    if (s->kind == TC_GRAPH_SLOT_CONST) /* becomes the offset when all blocks are known */
        return (tc_cg_operand){.where = TC_CG_CONST, .at = block_for(m, x, arg)};
    return place_of(m, x->args[arg]);
}

/* An output that no kernel writes itself is copied from where its value is. */
static bool copied(const tc_graph_model *m, int o) {
    int slot = m->program->out_slot[o];
    return m->program->slots[slot].bytes > 0 && m->plan.output[slot] != o && !m->out[o].shared;
}

static tc_cg_operand copy_source(tc_graph_model *m, int o) {
    int slot = m->program->out_slot[o];
    const tc_graph_slot *s = &m->program->slots[slot];
    if (s->kind == TC_GRAPH_SLOT_INPUT)
        return (tc_cg_operand){.where = TC_CG_INPUT, .at = s->input};
    if (s->kind == TC_GRAPH_SLOT_TEMP)
        return place_of(m, slot);
    tc_graph_block b = {.slot = slot, .task = -1, .param = -1, .bytes = s->bytes};
    return (tc_cg_operand){.where = TC_CG_CONST, .at = find_block(m, b)};
}

static void make_steps(tc_graph_model *m) {
    const tc_graph_program *p = m->program;
    m->steps = TC_NEW_N(m->arena, tc_graph_step, p->nlaunch + p->nout);
    for (int i = 0; i < p->nlaunch; i++) {
        const tc_graph_launch *x = &p->launches[i];
        tc_graph_step *s = &m->steps[m->nstep++];
        *s = (tc_graph_step){.kind = x->kind,
                             .target = x->target,
                             .bytes = x->bytes,
                             .task = x->task,
                             .library = x->library,
                             .launch = i,
                             .nargs = x->nargs,
                             .args = TC_NEW_N(m->arena, tc_cg_operand, x->nargs)};
        for (int k = 0; k < x->nargs; k++)
            s->args[k] = operand_of(m, x, k);
    }
    for (int o = 0; o < p->nout; o++) {
        if (!copied(m, o))
            continue;
        tc_graph_step *s = &m->steps[m->nstep++];
        *s = (tc_graph_step){
            .task = -1, .nargs = 2, .bytes = p->slots[p->out_slot[o]].bytes, .args = TC_NEW_N(m->arena, tc_cg_operand, 2)};
        s->args[0] = copy_source(m, o);
        s->args[1] = (tc_cg_operand){.where = TC_CG_OUTPUT, .at = o};
    }
}

/* Steps that are of no task, by what they do. */
static void list_others(tc_graph_model *m) {
    m->others = TC_NEW_N(m->arena, tc_graph_other, m->nstep);
    for (int i = 0; i < m->nstep; i++) {
        tc_graph_step *s = &m->steps[i];
        const char *name = s->library ? s->library->name : "copy";
        if (s->task >= 0 || tc_cg_step_forks(s->kind))
            continue;
        for (s->other = 0; s->other < m->nother && strcmp(m->others[s->other].name, name) != 0;)
            s->other++;
        m->nother += s->other == m->nother;
        m->others[s->other].name = name;
        m->others[s->other].count++;
    }
}

tc_status tc_graph_place_constants(tc_graph_model *m, bool fill_blocks, bool use_up, tc_error *err) {
    make_steps(m);
    list_others(m);
    if (fill_blocks)
        TC_TRY(fill_all(m, use_up, err));
    for (int i = 0; i < m->nstep; i++) {
        tc_graph_step *s = &m->steps[i];
        s->argv = TC_NEW_N(m->arena, void *, s->nargs);
        for (int k = 0; k < s->nargs; k++)
            if (s->args[k].where == TC_CG_CONST) {
                const tc_graph_block *b = &m->blocks.data[s->args[k].at];
                s->argv[k] = (void *)(uintptr_t)b->data;
                s->args[k].at = b->offset;
            }
    }
    return TC_OK;
}

void tc_graph_free_constants(tc_graph_model *m) {
    for (size_t i = 0; i < m->blocks.len; i++)
        free(m->blocks.data[i].memory);
    tc_vec_free(&m->blocks);
}
