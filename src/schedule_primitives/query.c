/* Lookup of stages, loops, tensors, decisions and consumers, and of the operands of a step with their messages. Schedules are
 * small, so every lookup is a short linear scan. */
#include "schedule_primitives/sch_int.h"
#include "support/guess.h"

tc_status tc_sch_fail(tc_error *err, tc_status status, const tc_instr *in, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_vfail(err, status, fmt, ap);
    va_end(ap);
    tc_error_prefix(err, "%s: ", tc_prim_text(in->prim));
    return status;
}

static bool same_prefix(const char *text, const char *s, size_t n) {
    return strncmp(text, s, n) == 0 && !text[n];
}

static int find_stage(const tc_sched *s, const char *name, size_t n) {
    for (int i = 0; i < s->nstage; i++)
        if (same_prefix(s->stages[i].name, name, n))
            return i;
    return -1;
}

int tc_sch_find_stage(const tc_sched *s, const char *name) {
    return find_stage(s, name, strlen(name));
}

static tc_loop find_loop(const tc_sched *s, int stage, const char *name) {
    for (int i = 0; i < s->nloop; i++)
        if (s->loops[i].stage == stage && strcmp(s->loops[i].name, name) == 0)
            return i;
    return -1;
}

tc_loop tc_sch_find_loop(const tc_sched *s, const char *qualified) {
    const char *dot = strrchr(qualified, '.');
    int stage = dot ? find_stage(s, qualified, (size_t)(dot - qualified)) : -1;
    return stage < 0 ? -1 : find_loop(s, stage, dot + 1);
}

int tc_sch_stage_of(const tc_sched *s, const tc_tensor *t) {
    for (int i = 0; t->op && i < s->nstage; i++)
        for (int o = 0; o < s->stages[i].op->nout; o++)
            if (s->stages[i].op->out[o] == t)
                return i;
    return -1;
}

bool tc_sch_reads_tensor(const tc_sched *s, int stage, const tc_tensor *t) {
    const tc_sch_reads *r = &tc_sch_impl_of(s)->reads[stage];
    for (int i = 0; i < r->n; i++)
        if (r->t[i] == t)
            return true;
    return false;
}

bool tc_sch_reads_stage(const tc_sched *s, int stage, int producer) {
    const tc_compute *op = s->stages[producer].op;
    return tc_sch_reads_tensor(s, stage, op->out[0]) || (op->nout > 1 && tc_sch_reads_tensor(s, stage, op->out[1]));
}

int tc_sch_consumers(const tc_sched *s, int st, int *out, int cap) {
    int n = 0;
    for (int i = st + 1; i < s->nstage; i++) {
        if (s->stages[i].attach == TC_ATTACH_INLINE || !tc_sch_reads_stage(s, i, st))
            continue;
        if (n < cap)
            out[n] = i;
        n++;
    }
    return n;
}

int64_t tc_sch_pragma(const tc_stage *st, const char *key, int64_t otherwise) {
    for (int i = 0; i < st->npragma; i++)
        if (strcmp(st->pragma[i].key, key) == 0)
            return st->pragma[i].value;
    return otherwise;
}

int tc_sch_leaf_pos(const tc_stage *st, tc_loop l) {
    for (int i = 0; i < st->nleaf; i++)
        if (st->leaf[i] == l)
            return i;
    return -1;
}

int tc_sch_attached_in(const tc_sched *s, int stage, tc_loop loop) {
    for (int i = 0; i < s->nstage; i++) {
        const tc_stage *st = &s->stages[i];
        if (st->attach == TC_ATTACH_AT && st->at_stage == stage && (loop < 0 || st->at_loop == loop))
            return i;
    }
    return -1;
}

const tc_sch_decision *tc_sch_find_decision(const tc_sched *s, const char *name, size_t len) {
    const tc_sch_impl *m = tc_sch_impl_of(s);
    for (int i = 0; i < m->ndecision; i++)
        if (same_prefix(m->decisions[i].name, name, len))
            return &m->decisions[i];
    return NULL;
}

const char *tc_sch_loop_text(const tc_sched *s, tc_loop l) {
    return tc_arena_printf(tc_ctx_arena(s->ctx), "%s.%s", s->stages[s->loops[l].stage].name, s->loops[l].name);
}

/* ---- operands ---- */

static const char *say(const tc_sched *s, const tc_guess *g) {
    char text[TC_GUESS_TEXT];
    return tc_arena_strdup(tc_ctx_arena(s->ctx), tc_guess_say(g, "", "`tctune show --print schedule` prints their names", text));
}

/* What a name that no stage has may have meant. */
static const char *guess_stage(const tc_sched *s, const char *name, size_t len) {
    tc_guess g = tc_guess_new(name, len);
    for (int i = 0; i < s->nstage; i++)
        tc_guess_add(&g, s->stages[i].name);
    return say(s, &g);
}

/* The same of a name that no loop of the stage has. */
static const char *guess_loop(const tc_sched *s, int stage, const char *name) {
    const tc_stage *st = &s->stages[stage];
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < st->nleaf; i++)
        tc_guess_add(&g, s->loops[st->leaf[i]].name);
    return say(s, &g);
}

/* The same of a name that no tensor has: stages and inputs. */
static const char *guess_tensor(const tc_sched *s, const char *name) {
    tc_guess g = tc_guess_new(name, strlen(name));
    for (int i = 0; i < s->nstage; i++)
        tc_guess_add(&g, s->stages[i].name);
    for (int i = 0; i < s->workload->nin; i++)
        tc_guess_add(&g, s->workload->in[i]->name);
    return say(s, &g);
}

static tc_status live_stage(const tc_sched *s, const tc_instr *in, const char *name, size_t len, int *stage, tc_error *err) {
    *stage = find_stage(s, name, len);
    if (*stage < 0)
        return BAD(err, in, "there is no stage `%.*s`%s", (int)len, name, guess_stage(s, name, len));
    if (s->stages[*stage].attach == TC_ATTACH_INLINE)
        return REFUSE(err, in, "stage %s is inlined and has no loops of its own", s->stages[*stage].name);
    return TC_OK;
}

tc_status tc_sch_stage_operand(const tc_sched *s, const tc_instr *in, int k, int *stage, tc_error *err) {
    const char *name = in->names[k];
    if (strchr(name, '.'))
        return BAD(err, in, "expected a stage, found the loop `%s`", name);
    return live_stage(s, in, name, strlen(name), stage, err);
}

/* What became of a loop that is no leaf: the loops it was split into, or the loop it was fused into. */
static const char *became(const tc_sched *s, int stage, tc_loop l) {
    const tc_stage *st = &s->stages[stage];
    tc_arena *a = tc_ctx_arena(s->ctx);
    for (int i = 0; i < st->nrel; i++) {
        const tc_rel *r = &st->rel[i];
        if (r->kind == TC_REL_SPLIT && r->whole == l) {
            const char *text = "it was split into";
            for (int p = 0; p < r->n; p++)
                text = tc_arena_printf(a, "%s%s %s", text, p ? "," : "", s->loops[r->parts[p]].name);
            return text;
        }
        for (int p = 0; r->kind == TC_REL_FUSE && p < r->n; p++)
            if (r->parts[p] == l)
                return tc_arena_printf(a, "it was fused into %s", s->loops[r->whole].name);
    }
    return "it was replaced";
}

tc_status tc_sch_leaf_operand(const tc_sched *s, const tc_instr *in, int k, tc_loop *loop, tc_error *err) {
    const char *name = in->names[k], *dot = strrchr(name, '.');
    if (!dot)
        return BAD(err, in, "expected a loop such as Y.i, found `%s`", name);
    int stage;
    TC_TRY(live_stage(s, in, name, (size_t)(dot - name), &stage, err));
    *loop = find_loop(s, stage, dot + 1);
    if (*loop < 0)
        return BAD(err, in, "stage %s has no loop `%s`%s", s->stages[stage].name, dot + 1, guess_loop(s, stage, dot + 1));
    if (tc_sch_leaf_pos(&s->stages[stage], *loop) < 0)
        return REFUSE(err, in, "%s is no longer a loop: %s", name, became(s, stage, *loop));
    return TC_OK;
}

tc_status tc_sch_tensor_operand(const tc_sched *s, const tc_instr *in, int k, const tc_tensor **t, tc_error *err) {
    const char *name = in->names[k];
    for (int i = 0; i < s->npacked; i++) {
        *t = s->packed[i].packed;
        if (strcmp((*t)->name, name) == 0 || strcmp(s->packed[i].original->name, name) == 0)
            return TC_OK;
    }
    for (int i = 0; i < s->workload->nin; i++) {
        *t = s->workload->in[i];
        if (strcmp((*t)->name, name) == 0)
            return TC_OK;
    }
    for (int i = 0; i < s->nstage; i++) {
        const tc_compute *op = s->stages[i].op;
        for (int o = 0; o < op->nout; o++) {
            *t = op->out[o];
            if (strcmp((*t)->name, name) == 0)
                return TC_OK;
        }
    }
    return BAD(err, in, "there is no tensor `%s`%s", name, guess_tensor(s, name));
}

tc_status tc_sch_int_operand(const tc_sched *s, const tc_instr *in, int k, int64_t *v, tc_error *err) {
    const tc_int_arg *a = &in->ints[k];
    *v = a->value;
    if (a->kind == TC_ARG_LITERAL)
        return TC_OK;
    if (a->kind == TC_ARG_INFER)
        return BAD(err, in, "`_` cannot stand here; only the first part of a split is inferred");
    const tc_sch_decision *d = tc_sch_find_decision(s, a->ref, strlen(a->ref));
    if (!d || d->prim == TC_PRIM_SAMPLE_LOCATION)
        return BAD(err, in, "`%s` is not the name of a sampled tile or category", a->ref);
    if (d->prim == TC_PRIM_SAMPLE_CATEGORICAL && a->part >= 0)
        return BAD(err, in, "`%s` is a single value; it has no part %d", a->ref, a->part);
    if (d->prim == TC_PRIM_SAMPLE_TILE && (a->part < 0 || a->part >= d->n))
        return BAD(err, in, "`%s` is a tile of %d parts; write %s.0 to %s.%d", a->ref, d->n, a->ref, a->ref, d->n - 1);
    *v = d->part[a->part < 0 ? 0 : a->part];
    return TC_OK;
}

tc_status tc_sch_scope_operand(const tc_instr *in, tc_scope *scope, tc_error *err) {
    if (in->text && strcmp(in->text, "global") == 0)
        *scope = TC_SCOPE_GLOBAL;
    else if (in->text && strcmp(in->text, "local") == 0)
        *scope = TC_SCOPE_LOCAL;
    else
        return BAD(err, in, "the scope is `global` or `local`, not `%s`", in->text ? in->text : "");
    return TC_OK;
}

static bool is_identifier(const char *name) {
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return n > 0 && !name[n] && !(name[0] >= '0' && name[0] <= '9') && strcmp(name, "_") != 0;
}

tc_status tc_sch_new_loop_names(const tc_sched *s, const tc_instr *in, int stage, int n, const char *const *names,
                                tc_error *err) {
    for (int i = 0; i < n; i++) {
        if (!is_identifier(names[i]))
            return BAD(err, in, "`%s` cannot be a loop's name", names[i]);
        if (find_loop(s, stage, names[i]) >= 0)
            return REFUSE(err, in, "stage %s has, or had, a loop `%s` already; choose another name", s->stages[stage].name,
                          names[i]);
        for (int k = 0; k < i; k++)
            if (strcmp(names[i], names[k]) == 0)
                return BAD(err, in, "`%s` is bound twice", names[i]);
    }
    return tc_sch_room_for_loops(s, in, stage, n - 1, err); /* they stand for one at least */
}

tc_status tc_sch_new_stage_name(const tc_sched *s, const tc_instr *in, const char *name, tc_error *err) {
    if (!is_identifier(name) || strcmp(name, "global") == 0 || strcmp(name, "local") == 0)
        return BAD(err, in, "`%s` cannot be a stage's name", name);
    const tc_tensor *t;
    tc_instr probe = {.prim = in->prim, .names = &name, .nnames = 1};
    if (tc_sch_find_stage(s, name) >= 0 || tc_sch_tensor_operand(s, &probe, 0, &t, NULL) == TC_OK)
        return REFUSE(err, in, "there is a stage or tensor `%s` already; choose another name", name);
    return tc_sch_room_for_stage(s, in, err);
}
