/* Runs a model: in this process, or in a loaded library. */
#include "codegen/team/team.h"
#include "graph/model/parts.h"
#include "support/guess.h"
#include "support/log.h"

#include <stdatomic.h>
#include <string.h>

/* ---- contexts ---- */

/* Addresses in the arena and of constants do not change any more. */
static tc_status place_arena(tc_graph_context *c, tc_error *err) {
    const tc_graph_model *m = c->m;
    c->memory = tc_graph_untouched_alloc(m->arena_bytes, err);
    if (!c->memory) {
        tc_graph_name_intermediates(m->program, err);
        return TC_ENV;
    }
    c->argv = TC_NEW_N(c->arena, void **, m->nstep);
    for (int i = 0; i < m->nstep; i++) {
        const tc_graph_step *s = &m->steps[i];
        c->argv[i] = TC_NEW_N(c->arena, void *, s->nargs);
        for (int k = 0; k < s->nargs; k++)
            c->argv[i][k] = s->args[k].where == TC_CG_ARENA ? c->memory + s->args[k].at : s->argv[k];
    }
    return TC_OK;
}

static tc_status open_library_context(tc_graph_context *c, tc_error *err) {
    c->library = c->m->library.create();
    if (!c->library)
        return tc_fail(err, TC_ENV,
                       "%s: it gives no context: there is no memory for one, or this CPU lacks a feature of its target",
                       c->m->path);
    c->library->threads = c->m->threads;
    return TC_OK;
}

tc_status tc_graph_context_new(const tc_graph_model *m, tc_graph_context **out, tc_error *err) {
    if (!m->runs)
        return tc_fail(err, TC_BAD_INPUT, "the model was built for target '%s', only to be saved; it cannot run in this process",
                       m->target->text);
    tc_arena *a = tc_arena_new();
    tc_graph_context *c = TC_NEW(a, tc_graph_context);
    *c = (tc_graph_context){.m = m, .arena = a, .staging = TC_NEW_N(a, void *, m->nin), .beside = TC_NEW_N(a, void *, m->nout)};
    c->out_shape = TC_NEW_N(a, tc_graph_shape, m->nout);
    c->run = (tc_graph_pointers){.in = TC_NEW_N(a, const void *, m->nin),
                                 .out = TC_NEW_N(a, void *, m->nout),
                                 .sizes = TC_NEW_N(a, int64_t, m->rules.nsize),
                                 .tensors = TC_NEW_N(a, tc_graph_tensor, m->nout)};
    for (int i = 0; i < m->nout; i++)
        c->out_shape[i] = m->out[i].shape;
    tc_status s = m->library.handle ? open_library_context(c, err) : place_arena(c, err);
    if (s != TC_OK) {
        tc_graph_context_free(c);
        return s;
    }
    *out = c;
    return TC_OK;
}

void tc_graph_context_free(tc_graph_context *c) {
    if (!c)
        return;
    for (int i = 0; i < c->m->nin; i++)
        free(c->staging[i]);
    for (int i = 0; i < c->m->nout; i++)
        free(c->beside[i]);
    free(c->memory);
    if (c->library)
        c->m->library.release(c->library);
    tc_arena_free(c->arena);
}

tc_status tc_graph_model_own(tc_graph_model *m, tc_graph_context **c, tc_error *err) {
    if (!m->own)
        TC_TRY(tc_graph_context_new(m, &m->own, err));
    *c = m->own;
    return TC_OK;
}

const tc_graph_shape *tc_graph_context_output_shape(const tc_graph_context *c, int i) {
    return &c->out_shape[i];
}

const tc_graph_shape *tc_graph_model_output_shape(const tc_graph_model *m, int i) {
    return m->own ? tc_graph_context_output_shape(m->own, i) : &m->out[i].shape;
}

/* ---- inputs ---- */

static tc_status check_input(const tc_graph_model *m, int i, const tc_graph_tensor *t, const int64_t *sizes, tc_error *err) {
    const tc_graph_port *p = &m->in[i];
    tc_graph_shape want = p->shape;
    for (int d = 0; d < want.ndim; d++)
        if (m->rules.in[i].size[d] >= 0 && sizes[m->rules.in[i].size[d]] >= 0)
            want.d[d] = sizes[m->rules.in[i].size[d]];
    if (tc_graph_tensor_holds(t, p->dtype) && tc_graph_shape_equal(&t->shape, &want))
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status s =
        tc_fail(err, TC_BAD_INPUT,
                "input '%s' is %s, but the model was built for %s; give it in that shape and type, or build the model again",
                p->name, tc_graph_type_str(a, t->dtype, &t->shape), tc_graph_type_str(a, p->dtype, &want));
    tc_arena_free(a);
    return s;
}

/* Kernels want aligned data; callers need not have it. */
static tc_status aligned_input(tc_graph_context *c, int i, const tc_graph_tensor *t, const void **data, tc_error *err) {
    *data = t->data;
    if ((uintptr_t)t->data % TC_RT_ALIGN == 0)
        return TC_OK;
    size_t bytes = tc_graph_tensor_bytes(t);
    const tc_graph_port *p = &c->m->in[i];
    if (!c->staging[i])
        c->staging[i] = tc_graph_untouched_alloc(tc_graph_shape_count(&p->shape) * tc_dtype_bytes(p->dtype), err);
    if (!c->staging[i]) {
        tc_error_prefix(err, "an aligned copy of the input '%s': ", c->m->in[i].name);
        return TC_ENV;
    }
    *data = memcpy(c->staging[i], t->data, bytes);
    return TC_OK;
}

static tc_status take_inputs(tc_graph_context *c, const tc_graph_tensor *in, const void **data, int64_t *sizes, tc_error *err) {
    const tc_graph_size_rules *r = &c->m->rules;
    TC_TRY(tc_graph_size_rules_bind(r, in, sizes, err));
    for (int i = 0; i < r->nin; i++)
        TC_TRY(check_input(c->m, i, &in[i], sizes, err));
    for (int i = 0; i < r->nin; i++)
        if (!c->m->in[i].shared)
            TC_TRY(aligned_input(c, i, &in[i], &data[i], err));
    for (int k = 0; k < r->nsize; k++)
        data[r->nin + k] = &sizes[k];
    return TC_OK;
}

/* Memory for one output: the context keeps it, and no more of it is touched than runs write, or it is the run's own, and whole,
 * so that no run is timed that has to get it. */
static tc_status output_memory(const tc_graph_port *p, bool kept, void **memory, tc_error *err) {
    int64_t bytes = tc_graph_shape_count(&p->shape) * tc_dtype_bytes(p->dtype);
    if (!*memory)
        *memory = kept ? tc_graph_untouched_alloc(bytes, err) : tc_graph_aligned_alloc(bytes, err);
    if (*memory)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_error_prefix(err, "the output '%s', %s: ", p->name, tc_graph_type_str(a, p->dtype, &p->shape));
    tc_arena_free(a);
    return TC_ENV;
}

/* ---- one run ---- */

static void address_operands(const tc_graph_step *s, void **argv, const void *const *in, void *const *out) {
    for (int k = 0; k < s->nargs; k++)
        if (s->args[k].where == TC_CG_INPUT)
            argv[k] = (void *)(uintptr_t)in[s->args[k].at];
        else if (s->args[k].where == TC_CG_OUTPUT)
            argv[k] = (uint8_t *)out[s->args[k].at] + s->args[k].skip;
}

static void copy(const tc_graph_step *s, void *const *argv) {
    int64_t row = s->nargs == 3 ? *(const int64_t *)argv[2] : 0;
    memmove((char *)argv[1] + row * s->bytes, argv[0], (size_t)s->bytes);
}

/* A run, or a branch of it. */
typedef struct running {
    tc_graph_context *c;
    const void *const *in;
    void *const *out;
    const tc_rt *rt; /* NULL: one thread */
    uint8_t *workspace;
} running;

static int32_t run_kernel(const running *r, int i) {
    const tc_graph_step *s = &r->c->m->steps[i];
    void **argv = r->c->argv[i];
    address_operands(s, argv, r->in, r->out);
    if (s->library)
        return s->library->run(argv, r->workspace, r->rt);
    if (s->task >= 0)
        return r->c->m->units[s->task].kernel(argv, r->workspace, r->rt);
    copy(s, argv);
    return 0;
}

typedef struct fork {
    const running *r;
    int first;              /* its first branch's step */
    _Atomic int32_t status; /* of a kernel that failed */
} fork_state;

static int32_t run_branch(const running *of, int number, int step) {
    const tc_graph_model *m = of->c->m;
    running r = *of;
    r.rt = NULL;
    r.workspace += number * m->branch_bytes;
    int32_t code = 0;
    for (int i = step + 1; i < m->steps[step].target && !code; i++)
        code = run_kernel(&r, i);
    return code;
}

static void run_branches(int64_t begin, int64_t end, int32_t thread, void *closure) {
    fork_state *f = closure;
    int step = f->first;
    (void)thread;
    for (int64_t k = 0; k < end; step = f->r->c->m->steps[step].target, k++) {
        int32_t code = k < begin ? 0 : run_branch(f->r, (int)k, step);
        if (code)
            atomic_store(&f->status, code);
    }
}

static int count_branches(const tc_graph_model *m, int step) {
    int n = 0;
    for (int i = step + 1; i < m->steps[step].target; i = m->steps[i].target)
        n++;
    return n;
}

static int32_t run_fork(const running *r, int step) {
    fork_state f = {.r = r, .first = step + 1};
    tc_rt rt = *r->rt;
    if (!rt.impl)
        rt.impl = TC_TEAM_SHARED;
    int32_t code = rt.parallel_for(&rt, count_branches(r->c->m, step), run_branches, &f);
    return code ? code : atomic_load(&f.status);
}

/* *at: this step's number, then the next one's. */
static int32_t run_step(const running *r, int *at) {
    int i = (*at)++;
    const tc_graph_step *s = &r->c->m->steps[i];
    void **argv = r->c->argv[i];
    if (s->kind != TC_CG_DO)
        address_operands(s, argv, r->in, r->out);
    switch (s->kind) {
    case TC_CG_DO:
        return run_kernel(r, i);
    case TC_CG_FORK:
        *at = s->target;
        return run_fork(r, i);
    case TC_CG_BRANCH:
        return 0;
    case TC_CG_UNLESS:
        *at = *(const uint8_t *)argv[0] ? *at : s->target;
        return 0;
    case TC_CG_UNLESS_LESS:
        *at = *(const int64_t *)argv[0] < *(const int64_t *)argv[1] ? *at : s->target;
        return 0;
    case TC_CG_AGAIN:
        ++*(int64_t *)argv[0];
        *at = s->target;
        return 0;
    case TC_CG_GO:
        *at = s->target;
        return 0;
    }
    return 0;
}

static tc_status run_failed(const tc_graph_model *m, const tc_graph_step *s, int32_t code, tc_error *err) {
    int refusal = (int)code - TC_LIB_REFUSED;
    if (refusal >= 0 && refusal < m->nrefusal)
        return tc_fail(err, TC_BAD_INPUT, "%s", m->refusals[refusal]);
    if (!s && code == TC_CG_OTHER_CPU)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: this CPU lacks a feature that its code uses; build it for this CPU (--target native)", m->path);
    const char *what = !s ? m->path : s->library ? s->library->symbol : s->task >= 0 ? m->kernels[s->task].name : "copy";
    return tc_fail(err, TC_ENV, "%s: running it failed with status %d", what, (int)code);
}

/* What a library tells of its steps. */
typedef struct watched {
    const tc_graph_watch *by;
    double since;
    int n;
} watched;

static void on_step(void *user, int32_t step) {
    watched *w = user;
    double now = tc_now();
    if (step >= 0 && step < w->n)
        w->by->step(w->by->user, step, w->since, now);
    w->since = tc_now();
}

static tc_status run_library(tc_graph_context *c, const void *const *in, void *const *out, const tc_graph_watch *watch,
                             tc_error *err) {
    const tc_rt *rt = watch ? watch->rt : NULL;
    watched w = {.by = watch, .n = c->m->nstep};
    c->library->step = watch ? on_step : NULL;
    c->library->user = &w;
    c->library->parallel_for = rt ? rt->parallel_for : NULL;
    c->library->impl = rt ? rt->impl : NULL;
    w.since = tc_now();
    int32_t code = c->m->library.run(c->library, in, out);
    return code ? run_failed(c->m, NULL, code, err) : TC_OK;
}

tc_status tc_graph_run_once(tc_graph_context *c, const void *const *in, void *const *out, const tc_graph_watch *watch,
                            tc_error *err) {
    const tc_graph_model *m = c->m;
    const tc_rt *rt = watch && watch->rt ? watch->rt : &m->rt;
    if (c->library)
        return run_library(c, in, out, watch, err);
    running all = {c, in, out, rt, c->memory + m->workspace_at}, branch = all;
    int fork = 0, end = 0; /* whose steps are watched one by one */
    branch.rt = NULL;
    for (int next = 0; next < m->nstep;) {
        int i = next;
        if (watch && m->steps[i].kind == TC_CG_FORK) {
            fork = next++;
            end = m->steps[i].target;
            continue;
        }
        double start = watch ? tc_now() : 0;
        int32_t code = run_step(i > fork && i < end ? &branch : &all, &next);
        if (code)
            return run_failed(m, &m->steps[i], code, err);
        if (watch && !tc_cg_step_forks(m->steps[i].kind))
            watch->step(watch->user, i, start, tc_now());
    }
    return TC_OK;
}

/* Kernels may write to it. */
static bool is_aligned(const tc_graph_tensor *t) {
    return (uintptr_t)t->data % TC_RT_ALIGN == 0;
}

/* Input i lies in the output's buffer, if it is one, or is copied to where it belongs there. */
static void share_input(const tc_graph_model *m, int i, const tc_graph_tensor *t, tc_graph_pointers *p) {
    int output = m->in[i].shared - 1;
    if (output < 0)
        return;
    if (t->data != p->out[output])
        tc_graph_tensor_place(t, &m->out[output].shape, p->out[output]);
    p->in[i] = p->out[output];
}

void tc_graph_close_run(const tc_graph_model *m, tc_graph_pointers *p, bool keep_outputs) {
    for (int i = 0; i < m->nshown && !keep_outputs; i++)
        tc_graph_tensor_free(&p->tensors[i]);
}

/* Where output i is made: in the caller's memory (NULL: nothing is given), in the context's, or in some of the run's own. */
static tc_status place_output(tc_graph_context *c, int i, const tc_graph_tensor *given, tc_graph_tensor *out, tc_error *err) {
    const tc_graph_port *p = &c->m->out[i];
    bool shown = i < c->m->nshown, usable = shown && given && is_aligned(&given[i]);
    void *fresh = NULL, **memory = shown && !given ? &fresh : &c->beside[i];
    if (given && p->shared && !usable)
        return tc_fail(err, TC_BAD_INPUT, "the buffer '%s', which grows in place, must be aligned to %d bytes", p->name,
                       TC_RT_ALIGN);
    if (!usable)
        TC_TRY(output_memory(p, memory != &fresh, memory, err));
    *out = tc_graph_tensor_view(p->dtype, &p->shape, usable ? given[i].data : *memory);
    out->storage = fresh ? TC_GRAPH_OWNED : TC_GRAPH_VIEW;
    return TC_OK;
}

tc_status tc_graph_open_run(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_tensor *given, tc_graph_pointers *p,
                            tc_error *err) {
    const tc_graph_model *m = c->m;
    *p = c->run;
    for (int i = 0; i < m->nshown; i++)
        p->tensors[i] = (tc_graph_tensor){0};
    tc_status s = take_inputs(c, in, p->in, p->sizes, err);
    for (int i = 0; i < m->nout && s == TC_OK; i++) {
        s = place_output(c, i, given, &p->tensors[i], err);
        p->out[i] = p->tensors[i].data;
    }
    for (int i = 0; i < m->rules.nin && s == TC_OK; i++)
        share_input(m, i, &in[i], p);
    if (s != TC_OK)
        tc_graph_close_run(m, p, false);
    return s;
}

/* Outputs whose sizes depend on data are cut to them, but for the caller's buffers that grow. A library that was loaded is not
 * trusted to keep to its shapes. */
static void trim_outputs(tc_graph_context *c, tc_graph_pointers *p, bool given) {
    for (int i = 0; i < c->m->nshown; i++) {
        const tc_graph_port *port = &c->m->out[i];
        tc_graph_shape s = port->shape;
        for (int d = 0; d < s.ndim; d++)
            if (port->extent[d])
                s.d[d] = TC_MAX(0, TC_MIN(s.d[d], *(const int64_t *)p->out[port->extent[d]]));
        c->out_shape[i] = s;
        if (port->shared && given)
            continue;
        if (port->is_dense)
            p->tensors[i].shape = s;
        else
            tc_graph_tensor_trim(&p->tensors[i], &s);
    }
}

tc_status tc_graph_model_run(tc_graph_model *m, const tc_graph_tensor *in, tc_graph_tensor *out, tc_error *err) {
    tc_graph_context *c;
    tc_graph_pointers p;
    TC_TRY(tc_graph_model_own(m, &c, err));
    TC_TRY(tc_graph_open_run(c, in, NULL, &p, err));
    tc_status s = tc_graph_run_once(c, p.in, p.out, NULL, err);
    if (s == TC_OK)
        trim_outputs(c, &p, false);
    for (int i = 0; i < m->nshown && s == TC_OK; i++)
        out[i] = p.tensors[i];
    tc_graph_close_run(m, &p, s == TC_OK);
    return s;
}

/* Outputs that are not aligned are made beside, and as much is copied as this run has. */
tc_status tc_graph_context_run_into(tc_graph_context *c, const tc_graph_tensor *in, const tc_graph_tensor *out, tc_error *err) {
    const tc_graph_model *m = c->m;
    tc_graph_pointers p;
    TC_TRY(tc_graph_open_run(c, in, out, &p, err));
    tc_status s = tc_graph_run_once(c, p.in, p.out, NULL, err);
    if (s == TC_OK)
        trim_outputs(c, &p, true);
    for (int i = 0; i < m->nshown && s == TC_OK; i++)
        if (p.out[i] != out[i].data)
            memcpy(out[i].data, p.out[i], tc_graph_tensor_bytes(&p.tensors[i]));
    tc_graph_close_run(m, &p, false);
    return s;
}

tc_status tc_graph_model_run_into(tc_graph_model *m, const tc_graph_tensor *in, const tc_graph_tensor *out, tc_error *err) {
    tc_graph_context *c;
    TC_TRY(tc_graph_model_own(m, &c, err));
    return tc_graph_context_run_into(c, in, out, err);
}

static bool is_input(const tc_graph_model *m, const char *name) {
    for (int i = 0; i < m->rules.nin; i++)
        if (strcmp(m->in[i].name, name) == 0)
            return true;
    return false;
}

/* "; 'imput' is none of them; did you mean input?" of the first name that is no input; else "". */
static void guess_input(const tc_graph_model *m, const tc_graph_bundle *in, tc_strbuf *b) {
    char text[TC_GUESS_TEXT];
    size_t k = 0;
    while (k < in->len && is_input(m, in->items[k].name))
        k++;
    if (k == in->len)
        return;
    tc_guess g = tc_guess_new(in->items[k].name, strlen(in->items[k].name));
    for (int i = 0; i < m->rules.nin; i++)
        if (!tc_graph_bundle_find(in, m->in[i].name))
            tc_guess_add(&g, m->in[i].name);
    if (g.nclose)
        tc_sb_printf(b, "; '%s' is none of them%s", in->items[k].name, tc_guess_say(&g, "", NULL, text));
}

static tc_status bad_names(const tc_graph_model *m, const tc_graph_bundle *in, tc_error *err) {
    tc_strbuf want = {0}, got = {0};
    for (int i = 0; i < m->rules.nin; i++)
        tc_sb_printf(&want, "%s%s", i ? ", " : "", m->in[i].name);
    for (size_t i = 0; i < in->len; i++)
        tc_sb_printf(&got, "%s%s", i ? ", " : "", in->items[i].name);
    guess_input(m, in, &got);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "the model has the inputs %s, but the given arrays are %s", tc_sb_str(&want),
                          in->len ? tc_sb_str(&got) : "none");
    tc_strbuf_free(&want);
    tc_strbuf_free(&got);
    return s;
}

tc_status tc_graph_model_match(const tc_graph_model *m, const tc_graph_bundle *in, tc_graph_tensor *out, tc_error *err) {
    bool complete = in->len == (size_t)m->rules.nin;
    for (int i = 0; i < m->rules.nin && complete; i++) {
        const tc_graph_tensor *t = tc_graph_bundle_find(in, m->in[i].name);
        complete = t != NULL;
        if (t)
            out[i] = tc_graph_tensor_view(t->dtype, &t->shape, t->data);
    }
    return complete ? TC_OK : bad_names(m, in, err);
}

tc_status tc_graph_model_run_named(tc_graph_model *m, const tc_graph_bundle *in, tc_graph_bundle *out, tc_error *err) {
    tc_graph_tensor *ins = tc_xcalloc((size_t)m->nin + 1, sizeof *ins), *outs = tc_xcalloc((size_t)m->nout + 1, sizeof *outs);
    tc_status s = tc_graph_model_match(m, in, ins, err);
    if (s == TC_OK)
        s = tc_graph_model_run(m, ins, outs, err);
    if (s == TC_OK) {
        *out = (tc_graph_bundle){.items = tc_xcalloc((size_t)m->nshown + 1, sizeof *out->items), .len = (size_t)m->nshown};
        for (int i = 0; i < m->nshown; i++)
            out->items[i] = (tc_graph_named){tc_xstrdup(m->out[i].name), outs[i]};
    }
    free(ins);
    free(outs);
    return s;
}

tc_status tc_graph_model_random_inputs(const tc_graph_model *m, const int64_t *sizes, uint64_t seed, tc_graph_tensor *in,
                                       tc_error *err) {
    return tc_graph_draw_inputs(m->in, &m->rules, sizes, seed, in, err);
}
