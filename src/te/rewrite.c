/* Walks and rewrites expressions as DAGs. Each distinct node is visited once, however many parents share it. */
#include "te/te_int.h"

#include <stdlib.h>

void te_memo_init(te_memo *m) {
    m->keys = m->inline_keys;
    m->values = m->inline_values;
    m->nslots = TE_MEMO_INLINE;
    m->len = 0;
    memset(m->inline_keys, 0, sizeof m->inline_keys);
}

void te_memo_free(te_memo *m) {
    if (m->keys == m->inline_keys)
        return;
    free(m->keys);
    free(m->values);
}

static uint32_t find(const te_memo *m, uint32_t id) {
    uint32_t s = (id * 0x9e3779b1u >> 7) & (m->nslots - 1);
    while (m->keys[s] && m->keys[s] != id + 1)
        s = (s + 1) & (m->nslots - 1);
    return s;
}

const tc_expr *te_memo_get(const te_memo *m, uint32_t id) {
    uint32_t s = find(m, id);
    return m->keys[s] ? m->values[s] : NULL;
}

static void grow(te_memo *m) {
    uint32_t *keys = m->keys, n = m->nslots, *more = tc_try_slots(2 * (size_t)n, sizeof *more, m->len + 1 >= n);
    const tc_expr **values = m->values, **their = more ? tc_try_slots(2 * (size_t)n, sizeof *their, m->len + 1 >= n) : NULL;
    if (!their) {
        free(more);
        return;
    }
    m->nslots *= 2;
    m->keys = more;
    m->values = their;
    for (uint32_t i = 0; i < n; i++)
        if (keys[i]) {
            uint32_t s = find(m, keys[i] - 1);
            m->keys[s] = keys[i];
            m->values[s] = values[i];
        }
    if (keys != m->inline_keys) {
        free(keys);
        free(values);
    }
}

bool te_memo_put(te_memo *m, uint32_t id, const tc_expr *value) {
    uint32_t s = find(m, id);
    bool fresh = !m->keys[s];
    m->keys[s] = id + 1;
    m->values[s] = value;
    if (fresh && 2 * ++m->len > m->nslots)
        grow(m);
    return fresh;
}

static void walk(te_memo *seen, const tc_expr *e, tc_expr_visit *fn, void *user) {
    if (!te_memo_put(seen, e->id, e))
        return;
    for (int i = 0; i < e->nargs; i++)
        walk(seen, e->args[i], fn, user);
    fn(e, user);
}

void tc_expr_walk(const tc_expr *e, tc_expr_visit *fn, void *user) {
    if (!e->nargs) {
        fn(e, user);
        return;
    }
    te_memo seen;
    te_memo_init(&seen);
    walk(&seen, e, fn, user);
    te_memo_free(&seen);
}

const tc_expr *tc_expr_map_args(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user) {
    const tc_expr *args[TC_MAX_DIMS]; /* READ has most */
    bool changed = false;
    for (int i = 0; i < e->nargs; i++) {
        args[i] = fn(c, e->args[i], user);
        changed |= args[i] != e->args[i];
    }
    return changed ? tc_with_args(c, e, args) : e;
}

typedef struct mapper {
    tc_expr_rewrite *fn;
    void *user;
    te_memo memo;
} mapper;

static const tc_expr *map(tc_ctx *c, const tc_expr *e, void *user) {
    mapper *m = user;
    if (tc_op_traits(e->op) & TC_LEAF)
        return m->fn(c, e, m->user);
    const tc_expr *known = te_memo_get(&m->memo, e->id);
    if (known)
        return known;
    const tc_expr *r = m->fn(c, tc_expr_map_args(c, e, map, m), m->user);
    te_memo_put(&m->memo, e->id, r);
    return r;
}

const tc_expr *tc_expr_map(tc_ctx *c, const tc_expr *e, tc_expr_rewrite *fn, void *user) {
    if (tc_op_traits(e->op) & TC_LEAF)
        return fn(c, e, user);
    mapper m = {.fn = fn, .user = user};
    te_memo_init(&m.memo);
    const tc_expr *r = map(c, e, &m);
    te_memo_free(&m.memo);
    return r;
}

typedef struct substitution {
    int n;
    const tc_var *const *vars;
    const tc_expr *const *with;
} substitution;

static const tc_expr *replace_var(tc_ctx *c, const tc_expr *e, void *user) {
    (void)c;
    const substitution *s = user;
    if (e->op == TC_OP_VAR)
        for (int i = 0; i < s->n; i++)
            if (s->vars[i] == e->u.var)
                return s->with[i];
    return e;
}

const tc_expr *tc_expr_subst(tc_ctx *c, const tc_expr *e, int n, const tc_var *const *vars, const tc_expr *const *with) {
    substitution s = {n, vars, with};
    return n ? tc_expr_map(c, e, replace_var, &s) : e;
}

static bool any(te_memo *seen, const tc_expr *e, tc_expr_test *test, const void *user) {
    if (test(e, user))
        return true;
    if (!e->nargs || !te_memo_put(seen, e->id, e))
        return false;
    for (int i = 0; i < e->nargs; i++)
        if (any(seen, e->args[i], test, user))
            return true;
    return false;
}

bool tc_expr_any(const tc_expr *e, tc_expr_test *test, const void *user) {
    if (!e->nargs)
        return test(e, user);
    te_memo seen;
    te_memo_init(&seen);
    bool found = any(&seen, e, test, user);
    te_memo_free(&seen);
    return found;
}

int64_t tc_expr_tree_size(const tc_expr *e, int64_t most) {
    int64_t n = 1;
    for (int i = 0; i < e->nargs && n <= most; i++)
        n += tc_expr_tree_size(e->args[i], most - n);
    return n;
}

static bool is_var(const tc_expr *e, const void *v) {
    return e->op == TC_OP_VAR && e->u.var == v;
}

bool tc_expr_uses_var(const tc_expr *e, const tc_var *v) {
    return tc_expr_any(e, is_var, v);
}

static bool is_memory(const tc_expr *e, const void *unused) {
    (void)unused;
    return e->op == TC_OP_READ || e->op == TC_OP_LOAD;
}

bool tc_expr_touches_memory(const tc_expr *e) {
    return tc_expr_any(e, is_memory, NULL);
}

static bool is_symbol(const tc_expr *e, const void *unused) {
    (void)unused;
    return tc_expr_is_symbol(e);
}

bool tc_expr_names_symbol(const tc_expr *e) {
    return tc_expr_any(e, is_symbol, NULL);
}

static bool is_something_else(const tc_expr *e, const void *unused) {
    (void)unused;
    return is_memory(e, NULL) || (e->nargs == 0 && e->op != TC_OP_INT && !tc_expr_is_symbol(e));
}

bool tc_expr_is_of_symbols(const tc_expr *e) {
    return !tc_expr_any(e, is_something_else, NULL);
}
