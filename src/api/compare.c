/* Compares schedules, records and other libraries (include/tctune/compare.h). tune/kernel/compare.h does the comparison,
 * report/comparison.c makes the document about it. */
#include "api/fleet_int.h"
#include "api/sides/side.h"
#include "tune/kernel/kernel.h"

typedef struct comparison {
    tctune_compare_options o;
    api_sides of;
    tc_fleet *fleet; /* NULL: this machine runs them */
    tc_tune_duel duel;
} comparison;

static int rounds_of(const comparison *c) {
    return c->o.rounds ? c->o.rounds : TC_TUNE_REPEATS;
}

static tc_status read_side(comparison *c, int i, tc_error *err) {
    const char *spec = i ? c->o.b : c->o.a;
    if (!spec || !*spec)
        return tc_fail(err, TC_BAD_INPUT, "a or b is missing: give two schedules");
    return api_side_read(
        &c->of, spec, "nothing to compare: give a record (12, or 12@FILE.db), a .sched file, default, best, onednn or openblas",
        &c->of.side[i], err);
}

static tc_status read_options(const tctune_compare_options *options, comparison *c, tc_error *err) {
    TC_TRY(API_OPTIONS(c->o, options, err));
    c->of.n = 2;
    c->of.database = c->o.database;
    c->of.at = c->o.at;
    c->of.threads = c->o.threads;
    c->of.stop = c->o.stop;
    TC_TRY(read_side(c, 0, err));
    TC_TRY(read_side(c, 1, err));
    if (c->o.mode)
        TC_TRY(tc_tune_timing_parse(c->o.mode, &c->of.asked, err));
    if (c->o.fleet && (c->of.side[0].kind == API_SIDE_PEER || c->of.side[1].kind == API_SIDE_PEER))
        return tc_fail(err, TC_BAD_INPUT,
                       "workers of a fleet cannot run another library: compare with %s on the machine itself, without a fleet",
                       c->of.side[c->of.side[1].kind == API_SIDE_PEER].spec);
    bool peers[2] = {c->of.side[0].kind == API_SIDE_PEER, c->of.side[1].kind == API_SIDE_PEER};
    if (peers[0] && peers[1])
        return tc_fail(err, TC_BAD_INPUT,
                       "one of the two must be a schedule of tctune: benchmarks/gemm.sh compares two libraries");
    if (c->of.asked == TC_TUNE_COLD && (peers[0] || peers[1]))
        return tc_fail(
            err, TC_BAD_INPUT,
            "mode cold goes with two schedules of tctune: the constants of another library cannot be removed from the caches");
    return rounds_of(c) >= TC_TUNE_SURE_ROUNDS
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT, "a comparison needs at least %d rounds, not %d", TC_TUNE_SURE_ROUNDS, rounds_of(c));
}

static tc_status check(const tctune_compare_options *options, int *of_record, tc_error *err) {
    comparison c = {0};
    TC_TRY(read_options(options, &c, err));
    if (of_record)
        *of_record = api_sides_record(&c.of) != NULL;
    return TC_OK;
}

tctune_status tctune_compare_check(const tctune_compare_options *options, int *of_record, char *error, size_t error_size) {
    API_CALL(err, error, error_size, check(options, of_record, &err), (void)0);
}

/* ---- measuring ---- */

static tc_status failed(const comparison *c, tc_error *err) {
    const api_side *s = &c->of.side[c->duel.failed];
    const tc_record *now = &c->duel.record;
    const char *noted = s->k.record ? tc_tune_note_failure(s->k.db, s->k.record, now, c->of.arena) : "";
    return tc_fail(err, TC_ENV, "%s could not be measured%s%s: %s: %s%s%s", s->spec, c->fleet ? " by " : "",
                   c->fleet ? now->host : "", tc_meas_error_meaning(now->error), now->message, *noted ? "; " : "", noted);
}

/* That of the worker. */
static void take_roof(comparison *c) {
    tc_meas_rates told;
    if (!c->fleet || c->duel.failed >= 0)
        return;
    (void)tc_fleet_rates_of(c->fleet, c->duel.host, &told);
    c->duel.roof = tc_tune_roof_by(c->of.timed, c->of.target, c->of.mode, &told);
}

static tc_status measure(comparison *c, tc_error *err) {
    tc_tune_duellist rival[2];
    tc_tune_duel_options o = {.workload = c->of.timed,
                              .target = c->of.target,
                              .mode = c->of.mode,
                              .rounds = rounds_of(c),
                              .seed = c->o.seed,
                              .stop = c->o.stop,
                              .carrier = c->fleet ? &tc_meas_fleet : NULL,
                              .carried_by = c->fleet};
    for (int i = 0; i < 2; i++) {
        const api_side *s = &c->of.side[i];
        rival[i] = (tc_tune_duellist){.schedule = s->peer ? NULL : &s->k, .peer = s->peer};
    }
    TC_TRY(tc_tune_duel_run(rival, &o, c->of.arena, &c->duel, err));
    take_roof(c);
    return c->duel.failed < 0 ? TC_OK : failed(c, err);
}

/* ---- all of it ---- */

static tc_status tell(const comparison *c, char **json, tc_error *err) {
    tc_report_comparison r = {.kernel = c->of.kernel,
                              .hash = c->of.hash.hex,
                              .threads = c->of.target->machine.cores,
                              .mode = c->duel.mode,
                              .worker = c->fleet ? c->duel.host : NULL,
                              .duel = &c->duel};
    for (int i = 0; i < 2; i++) {
        const api_side *s = &c->of.side[i];
        r.side[i] = (tc_report_side){.spec = s->spec, .origin = s->origin};
        if (!s->peer) {
            r.side[i].schedule = &s->own;
            r.side[i].made = &s->made;
        }
    }
    return tc_report_text(tc_report_compared(&r), json, err);
}

static tc_status open_target(comparison *c, tc_error *err) {
    api_measured_by by = {.fleet = c->o.fleet,
                          .work = api_fleet_once(c->of.arena, "compare"),
                          .target = c->o.target,
                          .threads = c->o.threads,
                          .usual_threads = api_sides_threads(&c->of)};
    return api_fleet_target(&by, &c->of.target, &c->fleet, err);
}

static tc_status compare(const tctune_work *w, int task, const tctune_compare_options *options, comparison *c, char **json,
                         tc_error *err) {
    TC_TRY(read_options(options, c, err));
    TC_TRY(api_sides_load(&c->of, err));
    TC_TRY(open_target(c, err));
    TC_TRY(api_sides_find(w, task, &c->of, err));
    for (int i = 0; i < 2; i++)
        TC_TRY(api_side_make(&c->of, &c->of.side[i], err));
    TC_TRY(measure(c, err));
    return tell(c, json, err);
}

static tc_status compare_and_close(const tctune_work *w, int task, const tctune_compare_options *options, char **json,
                                   tc_error *err) {
    comparison c = {.of = {.arena = tc_arena_new(), .ctx = tc_ctx_new()}};
    tc_status st = compare(w, task, options, &c, json, err);
    tc_fleet_leave(c.fleet);
    api_sides_free(&c.of);
    return st;
}

tctune_status tctune_compare_show(const tctune_work *work, int task, const tctune_compare_options *options, char **json,
                                  char *error, size_t error_size) {
    api_find_worker();
    API_DOCUMENT(err, error, error_size, json, compare_and_close(work, task, options, json, &err));
}
