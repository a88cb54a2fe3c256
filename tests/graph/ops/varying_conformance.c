/* The ONNX project's conformance cases with sizes that vary: dimensions of a case's inputs become symbols, in several ways
 * (symbols.h). At the sizes of the case the model must give what the case expects; at other sizes, what the model with exactly
 * these sizes gives. It is evaluated, and its kernels are interpreted and built. What is refused is counted by its reason.
 *
 * One case of several runs; all in the full test. Give a word to see only the cases whose name has it, with a line for each. */
#include "common/test_size.h"
#include "graph/ir/sizes.h"
#include "graph/lower_common.h"
#include "graph/ops/conformance.h"
#include "graph/ops/ops.h"
#include "graph/ops/symbols.h"

static const char *const way_names[VARY_WAYS] = {"all",       "all but 1", "first",     "batch",    "apart",
                                                 "extent #1", "extent #2", "extent #3", "extent #4"};

typedef struct counts {
    int passed, refused, failed;
} counts;

/* A refusal, without the names and numbers in it. */
typedef struct reason {
    const char *text, *example;
    int n;
} reason;

typedef struct trial {
    const char *only;
    bool shared;           /* the cases of ../shared, and not those of the package */
    int case_every, cases; /* every how many cases run; how many there were */
    tc_arena *a;           /* of all cases */
    const tc_target *target;
    int every, seen; /* every how many models are lowered and built; how many there were */
    int sized_every; /* every how many run at other sizes than the case's, whether built or not */
    int built, not_built;
    counts way[VARY_WAYS];
    int other_sizes; /* runs at other sizes than the case's */
    int not_taken;   /* other sizes that the model with exactly these sizes takes, and the model with symbols does not */
    TC_VEC(reason) reasons;
} trial;

/* One model with symbols, of one case. */
typedef struct varied_case {
    trial *t;
    const char *dir, *file, *how; /* file: the model with symbols */
    tc_arena *a;
    const tc_graph_data_set *d;
    const tc_graph_named *constants;
    size_t nconstants;
    varied v;
} varied_case;

/* ---- what is refused ---- */

/* "dimension 1 of 'x'" => "dimension # of '*'". */
static const char *without_names(tc_arena *a, const char *message) {
    tc_strbuf b = {0};
    for (const char *p = message; *p;) {
        size_t digits = strspn(p, "0123456789");
        const char *end = *p == '\'' ? strchr(p + 1, '\'') : NULL;
        tc_sb_add(&b, digits ? "#" : "");
        if (end)
            tc_sb_add(&b, "'*'");
        else if (!digits)
            tc_sb_addn(&b, p, 1);
        p = end ? end + 1 : p + TC_MAX(digits, 1);
    }
    const char *text = tc_arena_strdup(a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}

static void note_refusal(const varied_case *c, const tc_error *e) {
    trial *t = c->t;
    const char *text = strstr(e->msg, ".onnx: ");
    if (t->only)
        print_message("    %s\n", e->msg);
    text = without_names(t->a, text ? text + strlen(".onnx: ") : e->msg);
    size_t i = 0;
    while (i < t->reasons.len && strcmp(t->reasons.data[i].text, text) != 0)
        i++;
    if (i == t->reasons.len)
        tc_push(&t->reasons, ((reason){text, tc_arena_printf(t->a, "%s, %s", strrchr(c->dir, '/') + 1, c->how), 0}));
    t->reasons.data[i].n++;
}

static int by_count(const void *a, const void *b) {
    const reason *x = a, *y = b;
    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : strcmp(x->text, y->text);
}

static void print_reasons(trial *t) {
    if (t->reasons.len)
        qsort(t->reasons.data, t->reasons.len, sizeof *t->reasons.data, by_count);
    for (size_t i = 0; i < t->reasons.len; i++)
        print_message("%5d refused: %s (%s)\n", t->reasons.data[i].n, t->reasons.data[i].text, t->reasons.data[i].example);
}

/* ---- sizes ---- */

typedef struct sizes {
    int64_t of[MAX_VARIED]; /* by symbol */
} sizes;

static tc_status import_varied(const varied_case *c, const int64_t *least, const int64_t *most, tc_graph **g, tc_error *e) {
    tc_graph_binding b[MAX_VARIED];
    for (int k = 0; k < c->v.nsymbol; k++)
        b[k] = symbol_range(c->a, k, least[k], most[k]);
    tc_graph_import_options o = {.shapes = b,
                                 .nshapes = (size_t)c->v.nsymbol,
                                 .constants = c->constants,
                                 .nconstants = c->nconstants,
                                 .lists = c->d->lists,
                                 .nlists = c->d->nlists,
                                 .list_outputs = true};
    return tc_graph_import(c->file, &o, g, e);
}

/* What the case gives for the inputs, continued by itself up to these sizes, or cut. */
static void give_sized(const varied_case *c, const tc_graph *g, const sizes *to, tc_graph_tensor *in) {
    size_t n = g->inputs.len - g->symbols.len;
    tc_graph_tensor given[MAX_TENSORS];
    give_inputs(c->d, g, given);
    for (size_t i = 0; i < n; i++) {
        tc_graph_shape s = given[i].shape;
        for (int k = 0; k < c->v.nin; k++)
            for (int d = 0; d < s.ndim && strcmp(c->v.input[k], g->inputs.data[i]->name) == 0; d++)
                s.d[d] = c->v.symbol[k][d] ? to->of[c->v.symbol[k][d] - 1] : s.d[d];
        assert_ok(tc_graph_tensor_alloc(&in[i], given[i].dtype, &s, err));
        size_t bytes = tc_dtype_bytes(given[i].dtype);
        for (int64_t e = 0; e < tc_graph_tensor_count(&in[i]); e++) {
            int64_t from = 0, rest = e, times = 1;
            for (int d = s.ndim - 1; d >= 0; d--) {
                from += rest % s.d[d] % TC_MAX(given[i].shape.d[d], 1) * times;
                times *= given[i].shape.d[d];
                rest /= s.d[d];
            }
            if (from < tc_graph_tensor_count(&given[i]))
                memcpy((char *)in[i].data + e * bytes, (char *)given[i].data + from * bytes, bytes);
        }
    }
}

/* ---- one model ---- */

/* What is run, and which outputs it must give. */
typedef struct expected {
    const char *at; /* the sizes */
    const tc_graph_tensor *in;
    tc_graph_bundle want;
} expected;

static bool gives(const varied_case *c, const expected *x, const char *how, tc_status s, const tc_error *e, tc_graph_tensor *out,
                  size_t nout) {
    const char *what = tc_arena_printf(c->a, "%s, %s at %s", c->how, how, x->at);
    if (s != TC_OK) {
        print_error("%s, %s: %s\n", c->dir, what, e->msg);
        return false;
    }
    for (size_t i = 0; i < x->want.len; i++)
        if (tc_graph_tensor_count(&out[i]) + tc_graph_tensor_count(&x->want.items[i].t) == 0)
            out[i].shape = x->want.items[i].t.shape; /* a 0 in a computed shape is a size, and one in a known shape a copy */
    tc_error differs = {0};
    bool ok = compare_outputs(what, &x->want, out, &differs) == TC_OK;
    if (!ok)
        print_error("%s, %s\n", c->dir, differs.msg);
    for (size_t i = 0; i < nout; i++)
        tc_graph_tensor_free(&out[i]);
    return ok;
}

static bool evaluates(const varied_case *c, const tc_graph *g, const expected *x) {
    tc_graph_tensor out[MAX_TENSORS];
    tc_error e = {0};
    tc_status s = tc_graph_eval(g, x->in, out, &e);
    return gives(c, x, "evaluated", s, &e, out, g->outputs.len - g->nsizes);
}

/* The same model with these sizes alone, evaluated at them; false: it has none, or they are none that it takes. */
static bool reference_at(const varied_case *c, const sizes *at, tc_graph_tensor *in, tc_graph_bundle *out) {
    tc_graph *g = NULL;
    tc_error e = {0};
    tc_graph_tensor got[MAX_TENSORS];
    if (import_varied(c, at->of, at->of, &g, &e) != TC_OK)
        return false;
    give_sized(c, g, at, in);
    bool ok = tc_graph_eval(g, in, got, &e) == TC_OK;
    size_t nin = g->inputs.len, nout = ok ? g->outputs.len - g->nsizes : 0;
    *out = (tc_graph_bundle){.items = tc_xcalloc(nout + 1, sizeof *out->items), .len = nout};
    for (size_t i = 0; i < nout; i++)
        out->items[i].t = got[i];
    for (size_t i = 0; i < nin && !ok; i++)
        tc_graph_tensor_free(&in[i]);
    if (!ok)
        tc_graph_bundle_free(out);
    tc_graph_free(g);
    return ok;
}

/* A graph with symbols, and its kernels. */
typedef struct made {
    tc_graph *graph, *passed;
    tc_graph_program *program;
    tc_graph_model *built;
} made;

static void free_made(made *m) {
    tc_graph_model_free(m->built);
    tc_graph_program_free(m->program);
    tc_graph_free(m->passed);
    tc_graph_free(m->graph);
}

static bool runs(const varied_case *c, const made *m, const expected *x) {
    tc_graph_tensor out[MAX_TENSORS];
    tc_error e = {0};
    size_t nout = m->graph->outputs.len - m->graph->nsizes;
    bool ok = evaluates(c, m->graph, x);
    if (ok && m->built) {
        tc_status s = interpret_program(m->program, x->in, out, &e);
        ok = gives(c, x, "interpreted", s, &e, out, nout);
    }
    if (ok && m->built) {
        tc_status s = tc_graph_model_run(m->built, x->in, out, &e);
        ok = gives(c, x, "built", s, &e, out, nout);
    }
    return ok;
}

static const char *print_sizes(const varied_case *c, const sizes *at) {
    tc_strbuf b = {0};
    for (int k = 0; k < c->v.nsymbol; k++)
        tc_sb_printf(&b, "%sn%d=%lld", k ? ", " : "", k, (long long)at->of[k]);
    const char *text = tc_arena_strdup(c->a, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return text;
}

static bool runs_as_the_case(const varied_case *c, const made *m, const sizes *at) {
    expected x = {.at = print_sizes(c, at), .want = c->d->out};
    tc_graph_tensor in[MAX_TENSORS];
    give_inputs(c->d, m->graph, in);
    x.in = in;
    return runs(c, m, &x);
}

static bool takes(const tc_graph *g, const tc_graph_tensor *in, tc_error *e) {
    tc_arena *a = tc_arena_new();
    tc_graph_size_rules r;
    int64_t size[MAX_VARIED];
    tc_graph_size_rules_of(g, a, &r);
    bool ok = tc_graph_size_rules_bind(&r, in, size, e) == TC_OK;
    tc_arena_free(a);
    return ok;
}

static bool runs_at(const varied_case *c, const made *m, const sizes *at) {
    expected x = {.at = print_sizes(c, at)};
    tc_graph_tensor in[MAX_TENSORS];
    if (!reference_at(c, at, in, &x.want))
        return true;
    x.in = in;
    tc_error e = {0};
    bool taken = takes(m->graph, in, &e), ok = !taken || runs(c, m, &x);
    c->t->other_sizes += taken;
    c->t->not_taken += !taken;
    if (!taken)
        print_message("not taken: %s (%s) at %s: %s\n", c->dir, c->how, x.at, e.msg);
    for (size_t i = 0; i < m->graph->inputs.len - m->graph->symbols.len; i++)
        tc_graph_tensor_free(&in[i]);
    tc_graph_bundle_free(&x.want);
    return ok;
}

/* Import may have found that sizes are related, of which those of the case are not: where all extents of 1 are one symbol, and a
 * sum of two of them the other. */
static tc_status fits(const varied_case *c, const tc_graph *g, tc_error *e) {
    tc_graph_size_rules r;
    tc_graph_tensor in[MAX_TENSORS];
    int64_t size[MAX_VARIED];
    tc_graph_size_rules_of(g, c->a, &r);
    give_inputs(c->d, g, in);
    return tc_graph_size_rules_bind(&r, in, size, e);
}

static tc_status build(const varied_case *c, const sizes *least, const sizes *most, made *m, tc_error *e) {
    tc_graph_pass_options passes = {.level = TC_GRAPH_OPT_DEFAULT};
    tc_graph_build_options o = {.target = c->t->target, .threads = 1};
    TC_TRY(import_varied(c, least->of, most->of, &m->passed, e));
    TC_TRY(tc_graph_passes(m->passed, &passes, e));
    TC_TRY(tc_graph_program_new(m->passed, &m->program, e));
    return tc_graph_model_build(m->program, &o, &m->built, e);
}

/* At the sizes of the case; the next larger ones, and those at the ends, unless only some models are to be run there. */
static bool runs_at_all(const varied_case *c, const made *m, const sizes *least, const sizes *most) {
    sizes own, next;
    for (int k = 0; k < c->v.nsymbol; k++) {
        own.of[k] = c->v.extent[k];
        next.of[k] = own.of[k] + 1;
    }
    if (!runs_as_the_case(c, m, &own))
        return false;
    bool others = m->built || c->t->seen % c->t->sized_every == 0;
    return !others || (runs_at(c, m, &next) && runs_at(c, m, most) && runs_at(c, m, least));
}

static void try_model(varied_case *c, counts *n) {
    enum { ABOVE = 2 };
    trial *t = c->t;
    made m = {0};
    tc_error e = {0};
    sizes least = {{0}}, most;
    for (int k = 0; k < c->v.nsymbol; k++)
        most.of[k] = c->v.extent[k] + ABOVE;
    if (t->only)
        print_message("%s, %s: up to %s\n", c->dir, c->how, print_sizes(c, &most));
    if (import_varied(c, least.of, most.of, &m.graph, &e) != TC_OK || fits(c, m.graph, &e) != TC_OK) {
        note_refusal(c, &e);
        n->refused++;
        free_made(&m);
        return;
    }
    if (t->seen++ % t->every == 0 && build(c, &least, &most, &m, &e) != TC_OK) {
        note_refusal(c, &e);
        t->not_built++;
    }
    t->built += m.built != NULL;
    bool ok = runs_at_all(c, &m, &least, &most);
    n->passed += ok;
    n->failed += !ok;
    free_made(&m);
}

/* ---- all cases ---- */

/* What import of the case with its own sizes needs as constants. */
static size_t constants_of(const char *model, const tc_graph_data_set *d, tc_arena *a, tc_graph_named **out,
                           const char ***names) {
    const tc_graph_case_options usual = {0};
    tc_graph_case c = {0};
    tc_graph *g = NULL;
    assert_ok(tc_graph_case_import(model, &usual, d, a, &c, &g, err));
    tc_graph_free(g);
    *out = TC_NEW_N(a, tc_graph_named, c.nconstants + 1);
    *names = c.constants;
    for (size_t i = 0; i < c.nconstants; i++)
        (*out)[i] = (tc_graph_named){(char *)(uintptr_t)c.constants[i], *tc_graph_bundle_find(&d->in, c.constants[i])};
    return c.nconstants;
}

static bool same_symbols(const varied *a, const varied *b) {
    return a->nin == b->nin && a->nsymbol == b->nsymbol && memcmp(a->symbol, b->symbol, sizeof a->symbol) == 0;
}

static void try_case(void *user, const onnx_case *of) {
    trial *t = user;
    const char *dir = of->dir;
    if (of->row || of->shared != t->shared || t->cases++ % t->case_every)
        return;
    tc_arena *a = tc_arena_new();
    const char *model = tc_arena_printf(a, "%s/model.onnx", dir), *set = tc_arena_printf(a, "%s/test_data_set_0", dir);
    tc_graph_data_set d;
    varied_case c = {.t = t, .dir = dir, .file = SCRATCH("symbols.onnx"), .a = a, .d = &d};
    tc_graph_named *constants;
    const char **names;
    varied before[VARY_WAYS];
    assert_ok(tc_graph_data_set_load(model, set, a, &d, err));
    c.nconstants = constants_of(model, &d, a, &constants, &names);
    c.constants = constants;
    for (int how = 0; how < VARY_WAYS; how++) {
        bool again = false;
        c.how = way_names[how];
        vary_model(model, c.file, (vary_how)how, names, c.nconstants, a, &c.v);
        before[how] = c.v;
        for (int k = 0; k < how; k++)
            again |= same_symbols(&before[k], &c.v);
        if (c.v.nsymbol && !again)
            try_model(&c, &t->way[how]);
    }
    tc_graph_data_set_free(&d);
    tc_arena_free(a);
}

static const char *only; /* set once by main */

/* What is known to pass and to be refused: fewer that pass are a loss, and more are to be written down here. */
typedef struct known {
    int passed, refused;
} known;
static const known known_of[2][2] = {/* [of ../shared][full test] */
                                     {{1278, 130}, {3900, 350}},
                                     {{397, 24}, {1156, 104}}};
enum { NOT_BUILT = 3, NOT_TAKEN = 1 /* test_reshape_zero_dim without an element: 0 = 0 whatever the other sizes are */ };

static counts print_counts(const trial *t) {
    counts all = {0};
    for (int k = 0; k < VARY_WAYS; k++) {
        const counts *n = &t->way[k];
        print_message("%-9s %5d passed, %5d refused, %5d failed\n", way_names[k], n->passed, n->refused, n->failed);
        all = (counts){all.passed + n->passed, all.refused + n->refused, all.failed + n->failed};
    }
    print_message("in all    %5d passed, %5d refused, %5d failed; %d of them built, %d refused then; %d runs at other sizes, %d "
                  "not taken\n",
                  all.passed, all.refused, all.failed, t->built, t->not_built, t->other_sizes, t->not_taken);
    return all;
}

/* One of so many is built: all of them take minutes, and under sanitizers a quarter of an hour. */
static int part_built(int seldom) {
#ifdef TCTUNE_SANITIZED
    enum { ALL = 6 };
#else
    enum { ALL = 1 };
#endif
    return only ? 1 : test_is_full() ? TC_MIN(ALL, seldom) : seldom;
}

static void try_cases(bool shared) {
    enum { PART = 53, SIZED_PART = 8, CASE_PART = 3 };
    tc_target *target;
    assert_ok(tc_target_parse("native", &target, err));
    trial t = {.only = only,
               .shared = shared,
               .case_every = only || test_is_full() ? 1 : CASE_PART,
               .a = tc_arena_new(),
               .target = target,
               .every = part_built(PART),
               .sized_every = part_built(SIZED_PART)};
    walk_cases(only, try_case, &t);
    print_reasons(&t);
    counts n = print_counts(&t);
    assert_int_equal(n.failed, 0);
    if (!only && t.cases) {
        assert_int_equal(n.passed, known_of[shared][test_is_full()].passed);
        assert_int_equal(n.refused, known_of[shared][test_is_full()].refused);
    }
    assert_true(t.not_built <= NOT_BUILT);
    assert_true(t.not_taken <= NOT_TAKEN);
    tc_vec_free(&t.reasons);
    tc_arena_free(t.a);
    tc_target_free(target);
}

static void test_package(void **state) {
    (void)state;
    try_cases(false);
}

/* Without ../shared there are none. */
static void test_shared(void **state) {
    (void)state;
    try_cases(true);
}

int main(int argc, char **argv) {
    only = argc > 1 ? argv[1] : NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_package), cmocka_unit_test(test_shared)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
