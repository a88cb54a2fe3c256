/* One model in several threads at once, each with a context of its own, and after fork: as a library, as C source, and in this
 * process. Results are those of runs one after the other. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "graph/model/parts.h"
#include "graph/saved/built_models.h"

enum { THREADS = 8, RUNS = 50, DRAWS = 3 };

/* A way to run a model: a library, or without one the model in this process. */
typedef struct way {
    const built *b;
    const built_library *library;
    bool shared; /* the library's NAME_run may be called by several threads at once */
} way;

static void *open_context(const way *w) {
    if (w->library)
        return w->library->create();
    tc_graph_context *c = NULL;
    return tc_graph_context_new(w->b->model, &c, NULL) == TC_OK ? c : NULL;
}

static void close_context(const way *w, void *context) {
    if (w->library)
        w->library->release(context);
    else
        tc_graph_context_free(context);
}

static bool run(const way *w, void *context, const built_arrays *a) {
    if (w->library)
        return w->library->run_in(context, a->in, a->out) == 0;
    tc_graph_tensor in[BUILT_PORTS], out[BUILT_PORTS];
    const tc_graph_port *ports;
    int nin = tc_graph_model_inputs(w->b->model, &ports);
    for (int i = 0; i < nin; i++)
        in[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, (void *)(uintptr_t)a->in[i]);
    int nout = tc_graph_model_outputs(w->b->model, &ports);
    for (int i = 0; i < nout; i++)
        out[i] = tc_graph_tensor_view(ports[i].dtype, &ports[i].shape, a->out[i]);
    return tc_graph_context_run_into(context, in, out, NULL) == TC_OK;
}

/* ---- threads ---- */

typedef struct member {
    pthread_t thread;
    const way *w;
    built_arrays *mine; /* by draw: inputs, and where results go */
    const built_arrays *want;
    int first; /* draw to begin with: all threads run different ones at any time */
    bool context, ok;
} member;

/* Without a context: by the library's own. */
static void *runs(void *user) {
    member *m = user;
    void *context = m->context ? open_context(m->w) : NULL;
    m->ok = context || !m->context;
    for (int i = 0; i < RUNS && m->ok; i++) {
        int k = (m->first + i) % DRAWS;
        built_arrays *a = &m->mine[k];
        for (int o = 0; o < m->w->b->nout; o++)
            memset(a->out[o], 0, m->w->b->out_bytes[o]);
        m->ok = m->context ? run(m->w, context, a) : m->w->library->run(a->in, a->out) == 0;
        m->ok = m->ok && built_equal(m->w->b, a, &m->want[k]);
    }
    if (context)
        close_context(m->w, context);
    return NULL;
}

static void run_serially(const way *w, built_arrays *want) {
    void *context = open_context(w);
    assert_non_null(context);
    for (int k = 0; k < DRAWS; k++) {
        want[k] = built_draw(w->b, (uint64_t)k + 1);
        assert_true(run(w, context, &want[k]));
    }
    close_context(w, context);
}

static void check_threads(const way *w, const char *how) {
    built_arrays want[DRAWS], mine[THREADS][DRAWS];
    member all[THREADS];
    run_serially(w, want);
    for (int t = 0; t < THREADS; t++) {
        for (int k = 0; k < DRAWS; k++)
            mine[t][k] = built_draw(w->b, (uint64_t)k + 1);
        all[t] = (member){.w = w, .mine = mine[t], .want = want, .first = t, .context = !w->shared || t % 4 != 3};
        assert_int_equal(pthread_create(&all[t].thread, NULL, runs, &all[t]), 0);
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_join(all[t].thread, NULL), 0);
    for (int t = 0; t < THREADS; t++) {
        if (!all[t].ok)
            fail_msg("%s, %s: thread %d has other results", w->b->name, how, t);
        for (int k = 0; k < DRAWS; k++)
            built_forget(w->b, &mine[t][k]);
    }
    for (int k = 0; k < DRAWS; k++)
        built_forget(w->b, &want[k]);
}

/* ---- fork ---- */

/* A process forks while another thread runs the model: at any moment, except under a sanitizer. Its allocator's locks are not
 * those of malloc, which are free in a child; one that another thread held when the process forked is held in the child for ever.
 * There, a fork is between two runs. */
#ifdef TCTUNE_SANITIZED
enum { FORKS_AT_ANY_MOMENT = false };
#else
enum { FORKS_AT_ANY_MOMENT = true };
#endif

typedef struct companion {
    const way *w;
    const built_arrays *a;
    pthread_t thread;
    pthread_mutex_t lock; /* of a run, and of a fork, unless that is at any moment */
    atomic_bool running, stop;
    bool ok;
} companion;

static void lock_runs(companion *c) {
    if (!FORKS_AT_ANY_MOMENT)
        pthread_mutex_lock(&c->lock);
}

static void unlock_runs(companion *c) {
    if (!FORKS_AT_ANY_MOMENT)
        pthread_mutex_unlock(&c->lock);
}

static void let_others_lock(companion *c) {
    unlock_runs(c);
    if (!FORKS_AT_ANY_MOMENT)
        usleep(100);
    lock_runs(c);
}

static void *run_on(void *user) {
    companion *c = user;
    lock_runs(c);
    void *context = open_context(c->w);
    c->ok = context;
    while (c->ok && !atomic_load(&c->stop)) {
        c->ok = run(c->w, context, c->a);
        atomic_store(&c->running, true);
        let_others_lock(c);
    }
    atomic_store(&c->running, true); /* without a context too */
    close_context(c->w, context);
    unlock_runs(c);
    return NULL;
}

static void start(companion *c) {
    assert_int_equal(pthread_create(&c->thread, NULL, run_on, c), 0);
    while (!atomic_load(&c->running))
        usleep(100);
}

static void stop(companion *c) {
    atomic_store(&c->stop, true);
    assert_int_equal(pthread_join(c->thread, NULL), 0);
    assert_true(c->ok);
}

/* Three runs with the parent's context, or with a new one. */
static bool runs_here(const way *w, void *context, built_arrays *a, const built_arrays *want) {
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        for (int o = 0; o < w->b->nout; o++)
            memset(a->out[o], 0, w->b->out_bytes[o]);
        ok = ok && run(w, context, a) && built_equal(w->b, a, want);
    }
    void *fresh = open_context(w);
    ok = ok && fresh && run(w, fresh, a) && built_equal(w->b, a, want);
    close_context(w, fresh);
    return ok;
}

/* The child of a child too. */
static int in_child(const way *w, void *context, built_arrays *a, const built_arrays *want, int depth) {
    int status = 0;
    alarm(600); /* one that waits for threads that are not there ends */
    if (!runs_here(w, context, a, want))
        return 1;
    if (depth == 0)
        return w->library && w->library->run(a->in, a->out) != 0;
    pid_t child = fork();
    if (child == 0)
        _exit(in_child(w, context, a, want, depth - 1));
    return child < 0 || waitpid(child, &status, 0) != child || status != 0;
}

static void check_fork(const way *w, const char *how, bool beside) {
    built_arrays want = built_draw(w->b, 5), mine = built_draw(w->b, 5), other = built_draw(w->b, 6);
    companion c = {.w = w, .a = &other, .lock = PTHREAD_MUTEX_INITIALIZER};
    int status = 0;
    bool ok = true;
    void *context = open_context(w);
    assert_non_null(context);
    assert_true(run(w, context, &want));
    if (beside)
        start(&c);
    for (int i = 0; i < 3 && ok && status == 0; i++) {
        lock_runs(&c);
        pid_t child = fork();
        if (child == 0)
            _exit(in_child(w, context, &mine, &want, 1));
        unlock_runs(&c);
        ok = child > 0 && runs_here(w, context, &mine, &want);
        ok = ok && waitpid(child, &status, 0) == child;
    }
    if (beside)
        stop(&c);
    if (!ok || status != 0)
        fail_msg("%s, %s: %s, a child ends with status %x", w->b->name, how, ok ? "right here" : "wrong here", (unsigned)status);
    close_context(w, context);
    built_forget(w->b, &want);
    built_forget(w->b, &mine);
    built_forget(w->b, &other);
}

static void check(const way *w, const char *how) {
    check_threads(w, how);
    check_fork(w, how, false);
    check_fork(w, how, true);
}

/* ---- every form ---- */

static void check_libraries(tc_graph_team team, const char *how) {
    for (size_t i = 0; i < TC_LEN(built_sources); i++) {
        built b = built_open((int)i);
        b.model->team = team;
        built_library l = built_load(&b, SCRATCH("contexts.so"), NULL);
        check(&(way){&b, &l, true}, how);
        dlclose(l.handle);
        built_close(&b);
    }
}

static void test_libraries(void **state) {
    (void)state;
    check_libraries(TC_GRAPH_TEAM_OWN, "library");
    check_libraries(TC_GRAPH_TEAM_OPENMP, "library with OpenMP's team");
    pid_t child = fork(); /* nothing of libraries that are gone is called */
    assert_true(child >= 0);
    if (child == 0)
        _exit(0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void test_source(void **state) {
    (void)state;
    static const char *const names[] = {"top", "grow"};
    for (size_t i = 0; i < TC_LEN(built_sources); i++) {
        if (strcmp(built_sources[i].name, names[0]) != 0 && strcmp(built_sources[i].name, names[1]) != 0)
            continue;
        built b = built_open((int)i);
        built_library l = built_load(&b, SCRATCH("contexts_source.so"), "gcc -O0 -fopenmp");
        way w = {&b, &l, false};
        built_arrays a = built_draw(&b, 1), own = built_draw(&b, 1);
        void *context = open_context(&w);
        assert_true(run(&w, context, &a) && l.run(own.in, own.out) == 0 && built_equal(&b, &a, &own));
        close_context(&w, context);
        built_forget(&b, &a);
        built_forget(&b, &own);
        check(&w, "C source");
        dlclose(l.handle);
        built_close(&b);
    }
}

static void test_in_process(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(built_sources); i++) {
        built b = built_open((int)i);
        check(&(way){&b, NULL, false}, "in process");
        built_close(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_in_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
