/* Branches of a model side by side: random graphs of chains that meet now and then give the same bits as launches one after the
 * other, in this process, in a library and as C source, with more and with fewer threads than branches, and while they are
 * watched. What one branch writes no other touches. */
#include "graph/model/parts.h"
#include "graph/saved/built_models.h"
#include "graph/trials/trace.h"
#include "support/rng.h"

enum { CHAINS = 5, ROWS = 12, COLUMNS = 20 };

/* ---- graphs ---- */

typedef struct drawn {
    tc_rng rng;
    tc_strbuf text;
    int names, end[CHAINS]; /* the last value of each chain */
} drawn;

static int below(drawn *d, int n) {
    return (int)tc_rng_below(&d->rng, (uint64_t)n);
}

/* One node more for the chain, which now and then reads another's end: then they are one group. */
static void grow(drawn *d, int chain) {
    static const char *const pointwise[] = {"Tanh", "Relu", "Sigmoid", "Abs"};
    int from = d->end[chain], v = d->names++, other = d->end[below(d, CHAINS)];
    switch (below(d, 6)) {
    case 0:
    case 1:
        tc_sb_printf(&d->text, "const %%w%d : f32[%d,%d]\n%%v%d = MatMul(%%v%d, %%w%d)\n", v, COLUMNS, COLUMNS, v, from, v);
        break;
    case 2:
        tc_sb_printf(&d->text, "%%v%d = Softmax(%%v%d) {axis=-1}\n", v, from);
        break;
    case 3:
        tc_sb_printf(&d->text, "%%v%d = Add(%%v%d, %%v%d)\n", v, from, below(d, 4) ? from : other);
        break;
    case 4:
        tc_sb_printf(&d->text, "%%c%d = CumSum(%%v%d, %%one)\n%%v%d = Tanh(%%c%d)\n", v, from, v, v); /* a library kernel */
        break;
    default:
        tc_sb_printf(&d->text, "%%v%d = %s(%%v%d)\n", v, pointwise[below(d, TC_LEN(pointwise))], from);
        break;
    }
    d->end[chain] = v;
}

static char *draw_graph(uint64_t seed) {
    drawn d = {.rng = tc_rng_seed(seed)};
    int n = 8 + below(&d, 40), joined = 1 + below(&d, CHAINS - 1);
    tc_sb_printf(&d.text, "input %%x : f32[%d,%d]\nconst %%one : i64[] = {1}\n", ROWS, COLUMNS);
    for (int c = 0; c < CHAINS; c++) {
        d.end[c] = d.names++;
        tc_sb_printf(&d.text, "const %%b%d : f32[%d]\n%%v%d = Mul(%%x, %%b%d)\n", c, COLUMNS, d.end[c], c);
    }
    for (int i = 0; i < n; i++)
        grow(&d, below(&d, CHAINS));
    tc_sb_printf(&d.text, "%%y = Concat(%%v%d", d.end[0]);
    for (int c = 1; c < joined; c++)
        tc_sb_printf(&d.text, ", %%v%d", d.end[c]);
    tc_sb_add(&d.text, ") {axis=0}\noutput y = %y\n");
    for (int c = joined; c < CHAINS; c++)
        tc_sb_printf(&d.text, "output z%d = %%v%d\n", c, d.end[c]);
    return d.text.data;
}

/* ---- models ---- */

static built build(const char *name, const char *text, int threads, tc_graph_branches branches) {
    built b = {.name = name};
    const tc_graph_port *ports;
    tc_graph_build_options o = {.threads = threads, .branches = branches};
    assert_ok(graph_of_text(name, text, &b.graph, err));
    assert_ok(tc_graph_passes(b.graph, NULL, err));
    assert_ok(tc_graph_program_new(b.graph, &b.program, err));
    assert_ok(tc_target_parse("native", &b.target, err));
    o.target = b.target;
    assert_ok(tc_graph_model_build(b.program, &o, &b.model, err));
    b.nin = tc_graph_model_inputs(b.model, &ports);
    b.nout = tc_graph_model_outputs(b.model, &ports);
    for (int i = 0; i < b.nout; i++)
        b.out_bytes[i] = (size_t)(tc_graph_shape_count(&ports[i].shape) * tc_dtype_bytes(ports[i].dtype));
    return b;
}

static int count(const built *b, tc_cg_step_kind kind) {
    int n = 0;
    for (int i = 0; i < b->model->nstep; i++)
        n += b->model->steps[i].kind == kind;
    return n;
}

static void run_here(const built *b, const built_arrays *a) {
    tc_graph_tensor in[BUILT_PORTS], out[BUILT_PORTS];
    const tc_graph_port *ports;
    tc_graph_model_inputs(b->model, &ports);
    for (int i = 0; i < b->nin; i++)
        in[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, (void *)(uintptr_t)a->in[i]);
    tc_graph_model_outputs(b->model, &ports);
    for (int i = 0; i < b->nout; i++)
        out[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, a->out[i]);
    assert_ok(tc_graph_model_run_into(b->model, in, out, err));
}

static void clear(const built *b, const built_arrays *a) {
    for (int i = 0; i < b->nout; i++)
        memset(a->out[i], 0, b->out_bytes[i]);
}

/* ---- the plan ---- */

typedef struct bytes {
    int64_t from, to; /* in the arena; none: equal */
} bytes;

static bytes bytes_of(const built *b, int launch, int arg) {
    const tc_graph_program *p = b->model->program;
    int slot = p->launches[launch].args[arg];
    int64_t at = b->model->plan.offset[slot];
    return at < 0 ? (bytes){0, 0} : (bytes){at, at + p->slots[slot].bytes};
}

static bool writes(const built *b, int launch, int arg) {
    const tc_graph_launch *x = &b->model->program->launches[launch];
    return arg >= (x->task < 0 ? 1 : b->program->tasks[x->task].workload->nin);
}

static void expect_apart(const built *b, int i, int j) {
    const tc_graph_launch *x = b->model->program->launches;
    for (int k = 0; k < x[i].nargs; k++)
        for (int l = 0; l < x[j].nargs; l++) {
            bytes u = bytes_of(b, i, k), v = bytes_of(b, j, l);
            if ((writes(b, i, k) || writes(b, j, l)) && u.from < v.to && v.from < u.to)
                fail_msg("launches %d and %d of two branches touch the same bytes", i, j);
        }
}

static void check_plan(const built *b) {
    const tc_graph_program *p = b->model->program;
    for (int f = 0; f < p->nlaunch; f++) {
        if (p->launches[f].kind != TC_CG_FORK)
            continue;
        for (int i = f + 1, end = 0; i < p->launches[f].target; i++) {
            end = p->launches[i].kind == TC_CG_BRANCH ? p->launches[i].target : end;
            for (int j = end; j < p->launches[f].target; j++)
                expect_apart(b, i, j);
        }
    }
}

/* ---- all of it ---- */

/* Steps are told one after the other, each of them. */
static void check_trace(const built *b, tc_graph_model *m, const built_arrays *a) {
    tc_graph_trace t = {0};
    const tc_graph_port *ports;
    double last = 0;
    tc_graph_model_inputs(b->model, &ports);
    tc_graph_tensor in = tc_graph_tensor_view(ports[0].dtype, &ports[0].shape, (void *)(uintptr_t)a->in[0]);
    assert_ok(tc_graph_model_trace(m, &in, &t, err));
    for (int i = 0; i < t.nstep; last = t.steps[i++].end)
        assert_true(last <= t.steps[i].begin && t.steps[i].begin <= t.steps[i].end);
    assert_int_equal(t.nstep, count(b, TC_CG_DO));
    tc_graph_trace_free(&t);
}

static void check_traces(const built *b, const built_arrays *a) {
    tc_graph_model *loaded;
    check_trace(b, b->model, a);
    assert_ok(tc_graph_model_save(b->model, SCRATCH("traced.so"), "traced", err));
    assert_ok(tc_graph_model_load(SCRATCH("traced.so"), 0, &loaded, err));
    check_trace(b, loaded, a);
    tc_graph_model_free(loaded);
}

static void check_ways(const char *text, uint64_t seed, int threads, bool compile) {
    built one = build("plain", text, threads, TC_GRAPH_BRANCHES_NONE), b = build("forked", text, threads, TC_GRAPH_BRANCHES_ALL);
    built_arrays want = built_draw(&one, seed), got = built_draw(&b, seed);
    assert_int_equal(count(&one, TC_CG_FORK), 0);
    run_here(&one, &want);
    check_plan(&b);
    check_traces(&b, &got);
    for (int i = 0; i < 4; i++) {
        clear(&b, &got);
        run_here(&b, &got);
        assert_true(built_equal(&b, &got, &want));
    }
    for (int c = 0; c <= compile; c++) { /* compilers of C round as they like: compared with source without branches */
        const char *compiler = c ? "cc -O1 -fopenmp" : NULL;
        built_library l = built_load(&b, SCRATCH("branches.so"), compiler),
                      plain = built_load(&one, SCRATCH("none.so"), compiler);
        assert_int_equal(plain.run(want.in, want.out), 0);
        for (int i = 0; i < 4; i++) {
            clear(&b, &got);
            assert_int_equal(l.run(got.in, got.out), 0);
            assert_true(built_equal(&b, &got, &want));
        }
        dlclose(l.handle);
        dlclose(plain.handle);
    }
    built_forget(&one, &want);
    built_forget(&b, &got);
    built_close(&one);
    built_close(&b);
}

static void test_random_graphs(void **state) {
    (void)state;
    int n = (int)test_some_graphs(18), forks = 0, wide = 0;
    uint64_t first = getenv("TC_SEED") ? strtoull(getenv("TC_SEED"), NULL, 10) : 1;
    for (int i = 0; i < n; i++) {
        char *text = draw_graph(first + (uint64_t)i);
        int threads = 2 + (i + 2) % 4;
        print_message("TC_SEED=%llu, %d threads\n", (unsigned long long)first + (unsigned long long)i, threads);
        built b = build("counted", text, threads, TC_GRAPH_BRANCHES_ALL);
        forks += count(&b, TC_CG_FORK);
        wide += count(&b, TC_CG_BRANCH) > 2 * count(&b, TC_CG_FORK);
        built_close(&b);
        check_ways(text, first + (uint64_t)i, threads, i == 1);
        free(text);
    }
    assert_true(forks >= n && wide > 0);
}

/* Two directions that do not meet before their end run side by side by themselves; what nothing is gained by does not. */
static void test_by_estimate(void **state) {
    (void)state;
    built b = build("both_ways",
                    "input %x : f32[40,1,128]\nconst %w : f32[2,512,128]\nconst %r : f32[2,512,128]\n"
                    "%y = LSTM(%x, %w, %r) {hidden_size=128, direction=\"bidirectional\"}\noutput y = %y\n",
                    2, TC_GRAPH_BRANCHES_FASTER);
    assert_int_equal(count(&b, TC_CG_FORK), 1);
    assert_int_equal(count(&b, TC_CG_BRANCH), 2);
    built_close(&b);
    b = build("large",
              "input %x : f32[512,512]\nconst %w : f32[512,512]\nconst %v : f32[512,512]\n%a = MatMul(%x, %w)\n"
              "%b = MatMul(%x, %v)\n%s = Softmax(%a) {axis=-1}\n%t = Softmax(%b) {axis=-1}\noutput s = %s\noutput t = %t\n",
              2, TC_GRAPH_BRANCHES_FASTER);
    assert_int_equal(count(&b, TC_CG_FORK), 0);
    built_close(&b);
}

/* Forks in the body of a loop. */
static void test_in_loops(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(built_sources); i++) {
        built b = built_open((int)i);
        built_arrays want = built_draw(&b, 3), got = built_draw(&b, 3);
        run_here(&b, &want);
        tc_graph_model_free(b.model);
        tc_graph_build_options o = {.target = b.target, .threads = 3, .branches = TC_GRAPH_BRANCHES_ALL};
        assert_ok(tc_graph_model_build(b.program, &o, &b.model, err));
        check_plan(&b);
        run_here(&b, &got);
        assert_true(built_equal(&b, &got, &want));
        built_forget(&b, &want);
        built_forget(&b, &got);
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_estimate),
        cmocka_unit_test(test_in_loops),
        cmocka_unit_test(test_random_graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
