/* Results, and what workers tell of themselves, as documents. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/message_int.h"
#include "measure/records/check.h"

enum { MESSAGE = 4096 /* bytes of a message at most */ };

/* Stands for a deviation that no number is large enough for. */
#define HUGE_ERROR 1e300

/* Of operations or bytes a second, in thousands of millions. */
#define MOST_RATE 1e9

static const char *const roles[TC_FLEET_NROLES] = {
    [TC_FLEET_BOTH] = "both", [TC_FLEET_MEASURE] = "measure", [TC_FLEET_BUILD] = "build"};

const char *tc_fleet_role_text(tc_fleet_role role) {
    return roles[role];
}

bool tc_fleet_role_parse(const char *word, tc_fleet_role *out) {
    for (int i = 0; i < TC_FLEET_NROLES; i++)
        if (strcmp(roles[i], word) == 0) {
            *out = (tc_fleet_role)i;
            return true;
        }
    return false;
}

/* ---- writing ---- */

static json_t *record_of(const tc_record *r) {
    char program[24];
    json_t *o = tc_json_object(), *times = tc_json_array();
    snprintf(program, sizeof program, "%016" PRIx64, r->program);
    for (size_t i = 0; i < r->ntimes; i++)
        tc_json_append(times, tc_json_real(r->times[i]));
    char message[MESSAGE];
    snprintf(message, sizeof message, "%s", r->message);
    fleet_put_text(o, "error", tc_meas_error_text(r->error));
    fleet_put_text(o, "message", message);
    fleet_put_text(o, "program", program);
    tc_json_set(o, "times", times);
    tc_json_set(o, "verified", json_boolean(r->verified));
    tc_json_set(o, "stopped_early", json_boolean(r->stopped_early));
    tc_json_set(o, "max_error", tc_json_real(isfinite(r->max_error) ? r->max_error : HUGE_ERROR));
    tc_json_set(o, "build_seconds", tc_json_real(r->build_seconds));
    tc_json_set(o, "run_seconds", tc_json_real(r->run_seconds));
    tc_json_set(o, "signal", tc_json_integer(r->signal));
    tc_json_set(o, "rounds", tc_json_integer(r->rounds));
    return o;
}

void tc_fleet_result_write(const tc_fleet_result *r, tc_strbuf *out) {
    json_t *o = fleet_begin("result"), *records = tc_json_array(), *seconds = tc_json_array();
    for (size_t i = 0; i < r->n; i++)
        tc_json_append(records, record_of(&r->record[i]));
    for (size_t i = 0; r->seconds && i < r->n * (size_t)r->done; i++)
        tc_json_append(seconds, tc_json_real(r->seconds[i]));
    fleet_put_text(o, "id", r->id);
    fleet_put_text(o, "worker", r->worker);
    fleet_put_text(o, "host", r->host);
    fleet_put_text(o, "refused", r->refused);
    tc_json_set(o, "lost", json_boolean(r->lost));
    tc_json_set(o, "records", records);
    tc_json_set(o, "seconds", seconds);
    tc_json_set(o, "done", tc_json_integer(r->done));
    tc_json_set(o, "slowdown", tc_json_real(r->slowdown));
    tc_json_set(o, "reference", tc_json_real(r->reference));
    tc_json_set(o, "references", tc_json_integer(r->references));
    fleet_end(o, out);
}

/* Beside the multiply-adds, which stand for themselves. */
static json_t *rates_of(const tc_meas_rates *r) {
    json_t *o = tc_json_object(), *units = tc_json_object(), *footprints = tc_json_array();
    for (int i = 0; i < TC_NINTRINSICS; i++)
        if (r->peak.unit_gops[i] > 0)
            tc_json_set(units, tc_intrinsic_row((tc_intrinsic_id)i)->text, tc_json_real(r->peak.unit_gops[i]));
    for (int i = 0; i < r->n; i++)
        tc_json_append(footprints, tc_json_pack("{s:I, s:f, s:f}", "bytes", (json_int_t)r->at[i].bytes, "read_gbytes",
                                                r->at[i].read_gbs, "triad_gbytes", r->at[i].triad_gbs));
    fleet_put_text(o, "isa", r->peak.isa ? r->peak.isa : "");
    tc_json_set(o, "triad_gbytes", tc_json_real(r->peak.triad_gbs));
    tc_json_set(o, "units", units);
    tc_json_set(o, "footprints", footprints);
    return o;
}

void tc_fleet_worker_write(const tc_fleet_worker *w, tc_strbuf *out) {
    json_t *o = fleet_begin("worker");
    fleet_put_text(o, "name", w->name);
    fleet_put_text(o, "key", w->key);
    fleet_put_text(o, "host", w->host);
    fleet_put_text(o, "target", w->target);
    fleet_put_text(o, "build", w->build);
    fleet_put_text(o, "role", tc_fleet_role_text(w->role));
    fleet_put_text(o, "state", w->state);
    fleet_put_text(o, "why", w->why);
    tc_json_set(o, "threads", tc_json_integer(w->threads));
    tc_json_set(o, "jobs", tc_json_integer(w->jobs));
    tc_json_set(o, "l1", tc_json_integer(w->l1));
    tc_json_set(o, "l2", tc_json_integer(w->l2));
    tc_json_set(o, "l3", tc_json_integer(w->l3));
    tc_json_set(o, "gflops", tc_json_real(w->rates.peak.f32_gflops));
    tc_json_set(o, "gbytes", tc_json_real(w->gbytes));
    tc_json_set(o, "rates", rates_of(&w->rates));
    tc_json_set(o, "load", tc_json_real(w->load));
    tc_json_set(o, "reference", tc_json_real(w->reference));
    tc_json_set(o, "spread", tc_json_real(w->spread));
    tc_json_set(o, "busy", json_boolean(w->busy));
    fleet_end(o, out);
}

static json_t *ranking_of(const tc_fleet_ranking *k) {
    json_t *o = tc_json_object();
    fleet_put_text(o, "first", k->worker[0]);
    fleet_put_text(o, "second", k->worker[1]);
    tc_json_set(o, "pairs", tc_json_integer((json_int_t)k->flips.pairs));
    tc_json_set(o, "flipped", tc_json_integer((json_int_t)k->flips.flipped));
    return o;
}

void tc_fleet_tuner_write(const tc_fleet_tuner *t, tc_strbuf *out) {
    json_t *o = fleet_begin("tuner");
    fleet_put_text(o, "name", t->name);
    fleet_put_text(o, "key", t->key);
    tc_json_set(o, "weight", tc_json_real(t->weight));
    json_t *rankings = tc_json_array();
    for (size_t i = 0; i < TC_MIN(t->rankings.len, (size_t)TC_FLEET_RANKINGS); i++)
        tc_json_append(rankings, ranking_of(&t->rankings.data[i]));
    tc_json_set(o, "rankings", rankings);
    fleet_end(o, out);
}

/* ---- reading ---- */

static void spoil(fleet_reader *r, const char *what) {
    if (!r->bad)
        tc_fail(r->err, TC_BAD_INPUT, "%s", what);
    r->bad = true;
}

static uint64_t read_program(fleet_reader *r, const json_t *o) {
    const char *text = fleet_word(r, o, "program");
    if (strlen(text) != 16 || strspn(text, "0123456789abcdef") != 16)
        spoil(r, "its program is not 16 hex digits");
    return strtoull(text, NULL, 16);
}

static tc_meas_error read_error(fleet_reader *r, const json_t *o) {
    tc_meas_error e = TC_MEAS_NONE;
    const char *text = fleet_text(r, o, "error", (fleet_text_limits){.most = TC_FLEET_NAME, .shown = FLEET_LINE});
    if (!tc_meas_error_parse(text, &e))
        spoil(r, "its error is not an error of measuring");
    return e;
}

static void read_record(fleet_reader *r, const json_t *o, tc_record *out) {
    double year = 3e7;
    *out = tc_meas_record_empty();
    out->error = read_error(r, o);
    out->message = fleet_text(r, o, "message", (fleet_text_limits){.most = MESSAGE, .may_be_empty = true, .shown = FLEET_LINES});
    out->program = read_program(r, o);
    out->times = fleet_times(r, o, "times", 0, TC_FLEET_MANY, &out->ntimes);
    out->verified = fleet_flag(r, o, "verified");
    out->stopped_early = fleet_flag(r, o, "stopped_early");
    out->max_error = fleet_real(r, o, "max_error", 0, HUGE_ERROR);
    out->build_seconds = fleet_real(r, o, "build_seconds", 0, year);
    out->run_seconds = fleet_real(r, o, "run_seconds", 0, year);
    out->signal = (int)fleet_whole(r, o, "signal", 0, 1024);
    out->rounds = (int)fleet_whole(r, o, "rounds", 0, TC_FLEET_MANY);
    out->threads = 1; /* the tuner's to say */
    tc_error why = {0};
    if (tc_meas_check_numbers(out, &why) != TC_OK)
        spoil(r, why.msg);
}

static void read_records(fleet_reader *r, const json_t *o, size_t n, tc_fleet_result *out) {
    size_t wanted = *out->refused || out->lost ? 0 : n, have;
    const json_t *all = fleet_list(r, o, "records", wanted, wanted, &have);
    out->n = have;
    out->record = TC_NEW_N(r->a, tc_record, have + 1);
    for (size_t i = 0; i < have; i++)
        read_record(r, json_array_get(all, i), &out->record[i]);
}

tc_status tc_fleet_result_read(const char *text, size_t n, tc_arena *a, tc_fleet_result *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    size_t nseconds;
    *out = (tc_fleet_result){0};
    json_t *o = fleet_open(&r, text, "result");
    if (!o)
        return TC_BAD_INPUT;
    out->id = fleet_word(&r, o, "id");
    out->worker = fleet_word(&r, o, "worker");
    out->host = fleet_text(&r, o, "host", (fleet_text_limits){.most = 4 * TC_FLEET_NAME, .shown = FLEET_LINE});
    out->refused = fleet_text(&r, o, "refused", (fleet_text_limits){.most = MESSAGE, .may_be_empty = true, .shown = FLEET_LINES});
    out->lost = fleet_flag(&r, o, "lost");
    out->done = (int)fleet_whole(&r, o, "done", 0, TC_FLEET_MANY);
    out->slowdown = fleet_real(&r, o, "slowdown", 0, 1e6);
    out->reference = fleet_real(&r, o, "reference", 0, 1e6);
    out->references = fleet_whole(&r, o, "references", 0, INT64_MAX);
    read_records(&r, o, n, out);
    out->seconds = fleet_times(&r, o, "seconds", 0, out->n * (size_t)out->done, &nseconds);
    if (nseconds != out->n * (size_t)out->done)
        spoil(&r, "it lacks times: each candidate needs a time for each round");
    json_decref(o);
    return fleet_outcome(&r);
}

static void read_units(fleet_reader *r, const json_t *o, tc_meas_peak *out) {
    const json_t *units = json_object_get(o, "units");
    if (!json_is_object(units))
        spoil(r, "its units are not an object");
    for (int i = 0; i < TC_NINTRINSICS; i++) { /* those that only another tctune knows are left out */
        const char *name = tc_intrinsic_row((tc_intrinsic_id)i)->text;
        if (json_object_get(units, name))
            out->unit_gops[i] = fleet_real(r, units, name, 0, MOST_RATE);
    }
}

static void read_footprints(fleet_reader *r, const json_t *o, tc_meas_rates *out) {
    size_t n;
    const json_t *all = fleet_list(r, o, "footprints", 0, TC_MEAS_RATES, &n);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(all, i);
        out->at[i] = (tc_meas_stream){.bytes = fleet_whole(r, x, "bytes", i ? out->at[i - 1].bytes + 1 : 1, INT64_MAX - 1),
                                      .read_gbs = fleet_real(r, x, "read_gbytes", 0, MOST_RATE),
                                      .triad_gbs = fleet_real(r, x, "triad_gbytes", 0, MOST_RATE)};
    }
    out->n = (int)n;
}

/* Workers of an older tctune leave the object out. */
static void read_rates(fleet_reader *r, const json_t *o, tc_fleet_worker *out) {
    const json_t *rates = json_object_get(o, "rates");
    tc_meas_peak *p = &out->rates.peak;
    p->f32_gflops = fleet_real(r, o, "gflops", 0, MOST_RATE);
    p->threads = out->threads;
    p->isa = "";
    if (!rates)
        return;
    p->isa = fleet_text(r, rates, "isa", (fleet_text_limits){.most = TC_FLEET_NAME, .may_be_empty = true, .shown = FLEET_LINE});
    p->triad_gbs = fleet_real(r, rates, "triad_gbytes", 0, MOST_RATE);
    read_units(r, rates, p);
    read_footprints(r, rates, &out->rates);
}

static void read_machine(fleet_reader *r, const json_t *o, tc_fleet_worker *out) {
    out->l1 = fleet_whole(r, o, "l1", 0, INT64_MAX);
    out->l2 = fleet_whole(r, o, "l2", 0, INT64_MAX);
    out->l3 = fleet_whole(r, o, "l3", 0, INT64_MAX);
    out->gbytes = fleet_real(r, o, "gbytes", 0, MOST_RATE);
    read_rates(r, o, out);
    out->load = fleet_real(r, o, "load", 0, 1e6);
    out->reference = fleet_real(r, o, "reference", 0, 1e6);
    out->spread = fleet_real(r, o, "spread", 0, 1e6);
}

/* Those of before there were any do both. */
static tc_fleet_role read_role(fleet_reader *r, const json_t *o) {
    tc_fleet_role role = TC_FLEET_BOTH;
    if (json_object_get(o, "role") && !tc_fleet_role_parse(fleet_word(r, o, "role"), &role))
        spoil(r, "its role is not a role of a worker");
    return role;
}

tc_status tc_fleet_worker_read(const char *text, tc_arena *a, tc_fleet_worker *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_worker){0};
    json_t *o = fleet_open(&r, text, "worker");
    if (!o)
        return TC_BAD_INPUT;
    out->name = fleet_word(&r, o, "name");
    out->key = fleet_word(&r, o, "key");
    out->host = fleet_text(&r, o, "host", (fleet_text_limits){.most = 4 * TC_FLEET_NAME, .shown = FLEET_LINE});
    out->role = read_role(&r, o);
    out->target =
        fleet_text(&r, o, "target",
                   (fleet_text_limits){.most = TC_FLEET_TEXT, .may_be_empty = out->role == TC_FLEET_BUILD, .shown = FLEET_LINE});
    out->build = fleet_text(&r, o, "build", (fleet_text_limits){.most = TC_FLEET_NAME, .shown = FLEET_LINE});
    out->state = fleet_word(&r, o, "state");
    out->why = fleet_text(&r, o, "why", (fleet_text_limits){.most = MESSAGE, .may_be_empty = true, .shown = FLEET_LINES});
    out->threads = (int)fleet_whole(&r, o, "threads", 1, 1 << 14);
    out->jobs = fleet_whole(&r, o, "jobs", 0, INT64_MAX);
    read_machine(&r, o, out);
    out->busy = fleet_flag(&r, o, "busy");
    json_decref(o);
    return fleet_outcome(&r);
}

/* Tuners that have nothing to tell of workers leave the list out. */
static tc_fleet_rankings read_rankings(fleet_reader *r, const json_t *o) {
    size_t n = 0;
    const json_t *all = json_object_get(o, "rankings") ? fleet_list(r, o, "rankings", 0, TC_FLEET_RANKINGS, &n) : NULL;
    tc_fleet_rankings out = {.data = TC_NEW_N(r->a, tc_fleet_ranking, n), .len = n};
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(all, i);
        tc_fleet_ranking *k = &out.data[i];
        k->worker[0] = fleet_word(r, x, "first");
        k->worker[1] = fleet_word(r, x, "second");
        k->flips.pairs = (size_t)fleet_whole(r, x, "pairs", 1, INT32_MAX);
        k->flips.flipped = (size_t)fleet_whole(r, x, "flipped", 0, (int64_t)k->flips.pairs);
    }
    return out;
}

tc_status tc_fleet_tuner_read(const char *text, tc_arena *a, tc_fleet_tuner *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_tuner){0};
    json_t *o = fleet_open(&r, text, "tuner");
    if (!o)
        return TC_BAD_INPUT;
    out->name = fleet_word(&r, o, "name");
    out->key = fleet_word(&r, o, "key");
    out->weight = fleet_real(&r, o, "weight", 1.0 / TC_FLEET_HEAVIEST, TC_FLEET_HEAVIEST);
    out->rankings = read_rankings(&r, o);
    json_decref(o);
    return fleet_outcome(&r);
}
