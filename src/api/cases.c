/* Runs test cases (include/tctune/cases.h). */
#include "graph/trials/cases.h"

#include "api/api_int.h"
#include "support/system/stop.h"

/* The request in the form of the internal functions, and its result. */
typedef struct cases {
    tctune_cases_options o;
    tc_target *target;
    tc_meas_db *db; /* NULL: none */
    tc_graph_case_options options;
    json_t *list;
    int count[3], with_constants; /* count: by verdict */
} cases;

/* ---- one case ---- */

static json_t *case_json(const char *dir, const tc_graph_case *c) {
    static const char *const verdicts[] = {
        [TC_GRAPH_CASE_PASSED] = "passed", [TC_GRAPH_CASE_FAILED] = "failed", [TC_GRAPH_CASE_SKIPPED] = "skipped"};
    json_t *constants = tc_json_array();
    for (size_t i = 0; i < c->nconstants; i++)
        tc_json_append(constants, tc_json_string(c->constants[i]));
    return tc_json_pack("{s:s,s:s,s:s,s:o,s:s}", "case", dir, "result", verdicts[c->verdict], "reason", c->why ? c->why : "",
                        "constants", constants, "without_constants", c->without ? c->without : "");
}

static void tell(const cases *t, json_t *of) {
    char *text;
    if (t->o.each && tc_report_text(json_incref(of), &text, NULL) == TC_OK) {
        t->o.each(t->o.user, text);
        free(text);
    }
}

static void run_case(void *user, const char *dir) {
    cases *t = user;
    tc_arena *arena = tc_arena_new();
    tc_graph_case c = tc_graph_case_run(dir, &t->options, arena);
    json_t *of = case_json(dir, &c);
    t->count[c.verdict]++;
    t->with_constants += c.without != NULL;
    tell(t, of);
    tc_json_append(t->list, of);
    tc_arena_free(arena);
}

/* ---- all of them ---- */

static tc_status read_options(const tctune_cases_options *options, cases *t, tc_error *err) {
    tctune_cases_options *o = &t->o;
    TC_TRY(API_OPTIONS(*o, options, err));
    TC_TRY(api_passes(o->level, o->without, o->dump_graph, o->pass_times, &t->options.passes, err));
    TC_TRY(api_accuracy(o->accuracy, o->precision, &t->options.accuracy, err));
    TC_TRY(api_target_here(o->target, o->threads, &t->target, err));
    TC_TRY(api_fixed_inputs(o->fixed_inputs, err));
    t->options.shapes = o->shapes;
    t->options.nshapes = api_length(o->shapes);
    t->options.fixed = o->fixed_inputs;
    t->options.nfixed = api_length(o->fixed_inputs);
    t->options.target = t->target;
    t->options.tolerance = (tc_graph_tolerance){api_tolerance(o->rtol), api_tolerance(o->atol)};
    t->options.no_constants = o->no_constants != 0;
    return TC_OK;
}

static bool stopped(const cases *t) {
    return tc_is_raised(t->o.stop);
}

static tc_status run_all(const char *const *folders, cases *t, tc_error *err) {
    if (t->o.database)
        TC_TRY(tc_meas_db_open(t->o.database, TC_MEAS_DB_READ, &t->db, err));
    t->options.db = t->db;
    for (; *folders && !stopped(t); folders++) {
        if (tc_ran_out())
            return TC_ENV;
        if (!tc_graph_cases_walk(*folders, t->o.stop, run_case, t))
            return tc_fail(err, TC_BAD_INPUT, "%s: there is no test case (a folder with model.onnx and test_data_set_0) in it",
                           *folders);
    }
    return TC_OK;
}

static tc_status verify(const char *const *folders, cases *t, char **json, tc_error *err) {
    const int *n = t->count;
    TC_TRY(run_all(folders, t, err));
    return tc_report_text(tc_json_pack("{s:i,s:i,s:i,s:i,s:O}", "passed", n[TC_GRAPH_CASE_PASSED], "failed",
                                       n[TC_GRAPH_CASE_FAILED], "skipped", n[TC_GRAPH_CASE_SKIPPED], "with_constants",
                                       t->with_constants, "cases", t->list),
                          json, err);
}

static void end(cases *t) {
    json_decref(t->list);
    tc_meas_db_close(t->db);
    tc_target_free(t->target);
}

static tc_status check(const tctune_cases_options *options, tc_error *err) {
    cases t = {0};
    tc_status s = read_options(options, &t, err);
    end(&t);
    return s;
}

tctune_status tctune_cases_check(const tctune_cases_options *options, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check(options, &err), (void)0);
}

static tc_status verify_with(const char *const *folders, const tctune_cases_options *options, bool *early, char **json,
                             tc_error *err) {
    cases t = {.list = tc_json_array()};
    tc_status s = read_options(options, &t, err);
    if (s == TC_OK)
        s = verify(folders, &t, json, err);
    *early = stopped(&t);
    end(&t);
    return s;
}

static tctune_status call(const char *const *folders, const tctune_cases_options *options, bool *early, char **json, char *error,
                          size_t error_size) {
    API_DOCUMENT(err, error, error_size, json, verify_with(folders, options, early, json, &err));
}

tctune_status tctune_verify_cases(const char *const *folders, const tctune_cases_options *options, char **json, char *error,
                                  size_t error_size) {
    bool early = false;
    tc_error err = {0};
    api_find_worker();
    tctune_status s = call(folders, options, &early, json, error, error_size);
    if (s != TCTUNE_OK || !early)
        return s;
    api_answer(tc_fail(&err, TC_ENV, "stopped before the end"), &err, error, error_size);
    return TCTUNE_STOPPED;
}
