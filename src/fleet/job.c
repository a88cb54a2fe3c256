/* Jobs as documents. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "codegen/target/target.h"
#include "fleet/message_int.h"
#include "measure/records/check.h"

static const fleet_text_limits some_text = {.most = TC_FLEET_TEXT}, any_text = {.most = TC_FLEET_TEXT, .may_be_empty = true},
                               one_word = {.most = TC_FLEET_NAME, .word = true};

/* Also times the best at which a candidate may be given up. */
#define MOST_SECONDS TC_FLEET_LONGEST

/* ---- keys ---- */

const char *tc_fleet_build(tc_arena *a) {
    return tc_arena_printf(a, "%s/%s", TCTUNE_VERSION, tc_cg_llvm_version());
}

/* The CPU's name in a target's text, as a word. */
static const char *cpu_of(tc_arena *a, const char *target) {
    enum { MOST = 24 };
    const char *at = strstr(target, "-mcpu=");
    size_t n = at ? strcspn(at + 6, " ") : 0;
    char *cpu = n ? tc_arena_strndup(a, at + 6, n < MOST ? n : MOST) : tc_arena_strdup(a, "generic");
    for (char *c = cpu; *c; c++)
        if (!tc_fleet_is_word((char[]){*c, '\0'}))
            *c = '_';
    return cpu;
}

const char *tc_fleet_key(tc_arena *a, const char *target, int threads, const char *build) {
    const char *all = tc_arena_printf(a, "%s\n%d\n%s", target, threads, build);
    return tc_arena_printf(a, "%s-%dt-%.16s", cpu_of(a, target), threads, tc_digest_of(all, strlen(all)).hex);
}

const char *tc_fleet_emulated_key(tc_arena *a, const char *key) {
    return tc_arena_printf(a, TC_FLEET_EMULATED "-%s", key);
}

bool tc_fleet_key_is_emulated(const char *key) {
    static const char word[] = TC_FLEET_EMULATED "-";
    return strncmp(key, word, strlen(word)) == 0;
}

/* ---- writing ---- */

static json_t *inputs_of(const tc_fleet_job *j) {
    const tc_meas_call *c = &j->call;
    json_t *all = tc_json_array();
    for (size_t i = 0; i < c->n; i++) {
        const tc_meas_input *in = &c->in[i];
        json_t *o = tc_json_object();
        if (j->each)
            fleet_put_text(o, "id", j->each[i]);
        fleet_put_text(o, "workload", in->workload);
        fleet_put_text(o, "trace", in->trace);
        fleet_put_text(o, "sizes", in->sizes ? in->sizes : "");
        tc_json_set(o, "best", tc_json_real(in->best));
        tc_json_set(o, "cold", json_boolean(in->cold));
        tc_json_set(o, "samples", tc_json_integer(in->samples));
        tc_json_append(all, o);
    }
    return all;
}

static json_t *texts_of(const char *const *text, size_t n) {
    json_t *all = tc_json_array();
    for (size_t i = 0; i < n; i++)
        tc_json_append(all, tc_json_string(text[i]));
    return all;
}

static void put_measure(json_t *o, const tc_meas_options *m) {
    fleet_put_text(o, "target", m->target);
    fleet_put_text(o, "mode", tc_meas_mode_text(m->mode));
    tc_json_set(o, "threads", tc_json_integer(m->threads));
    tc_json_set(o, "seed", tc_json_integer((json_int_t)m->seed));
    tc_json_set(o, "samples", tc_json_integer(m->samples));
    tc_json_set(o, "build_limit", tc_json_real(m->build_limit));
    tc_json_set(o, "run_limit", tc_json_real(m->run_limit));
    tc_json_set(o, "prepare_limit", tc_json_real(m->prepare_limit));
    tc_json_set(o, "min_sample", tc_json_real(m->min_sample));
    tc_json_set(o, "budget", tc_json_real(m->budget));
    tc_json_set(o, "early_stop", tc_json_real(m->early_stop));
    tc_json_set(o, "verify", json_boolean(!m->no_verify));
}

void tc_fleet_job_write(const tc_fleet_job *j, tc_strbuf *out) {
    json_t *o = fleet_begin("job");
    fleet_put_text(o, "id", j->id);
    fleet_put_text(o, "tuner", j->tuner);
    tc_json_set(o, "barred", texts_of(j->barred, j->nbarred));
    tc_json_set(o, "second", json_boolean(j->second));
    tc_json_set(o, "asked", tc_json_integer(j->asked));
    if (j->wanted > 0)
        tc_json_set(o, "wanted", tc_json_real(j->wanted));
    tc_json_set(o, "way", tc_json_integer(j->call.way));
    tc_json_set(o, "rounds", tc_json_integer(j->call.rounds));
    tc_json_set(o, "inputs", inputs_of(j));
    tc_json_set(o, "points", texts_of(j->call.sizes, j->call.npoint));
    put_measure(o, &j->measure);
    fleet_end(o, out);
}

/* What a candidate is raced against is no part of it: a tuner that was started again may know another best. Nor is whom it is
 * for, or how long it is wanted. */
const char *tc_fleet_job_id(tc_arena *a, const tc_fleet_job *j, uint64_t nonce) {
    tc_strbuf b = {0};
    tc_fleet_job plain = *j;
    tc_meas_input *in = tc_arena_dup(a, j->call.in, j->call.n * sizeof *in);
    for (size_t i = 0; i < j->call.n; i++)
        in[i].best = 0;
    plain.id = plain.tuner = "x";
    plain.each = NULL;
    plain.nbarred = 0;
    plain.asked = 1;
    plain.wanted = 0;
    plain.call.in = in;
    tc_fleet_job_write(&plain, &b);
    tc_sb_printf(&b, "\n%" PRIx64, nonce);
    const char *id = tc_arena_strdup(a, tc_digest_of(b.data, b.len).hex);
    tc_strbuf_free(&b);
    return id;
}

/* ---- reading ---- */

static void read_input(fleet_reader *r, const json_t *o, tc_meas_input *in) {
    *in = (tc_meas_input){.workload = fleet_text(r, o, "workload", some_text),
                          .trace = fleet_text(r, o, "trace", any_text),
                          .sizes = fleet_text(r, o, "sizes", any_text),
                          .best = fleet_real(r, o, "best", 0, MOST_SECONDS),
                          .cold = fleet_flag(r, o, "cold"),
                          .samples = (int)fleet_whole(r, o, "samples", 0, TC_FLEET_MANY),
                          .again = true /* whether it was measured before the tuner decides */};
    in->sizes = *in->sizes ? in->sizes : NULL;
    in->workload_hash = tc_digest_of(in->workload, strlen(in->workload));
}

/* `one`: what an element is called in messages. */
static const char *const *read_texts(fleet_reader *r, const json_t *o, const char *name, const char *one, size_t most,
                                     fleet_text_limits limits, size_t *n) {
    const json_t *all = fleet_list(r, o, name, 0, most, n);
    const char **out = TC_NEW_N(r->a, const char *, *n + 1);
    for (size_t i = 0; i < *n; i++) {
        json_t *element = tc_json_pack("{s:O}", one, json_array_get(all, i));
        out[i] = fleet_text(r, element, one, limits);
        json_decref(element);
    }
    return out;
}

static void read_ids(fleet_reader *r, const json_t *o, tc_fleet_job *j) {
    const json_t *all = json_object_get(o, "inputs");
    const char **each = TC_NEW_N(r->a, const char *, j->call.n + 1);
    for (size_t i = 0; i < j->call.n; i++)
        each[i] = fleet_word(r, json_array_get(all, i), "id");
    j->each = each;
}

static void read_call(fleet_reader *r, const json_t *o, tc_meas_call *c) {
    c->way = (tc_meas_way)fleet_whole(r, o, "way", 0, TC_MEAS_NWAYS - 1);
    c->rounds = (int)fleet_whole(r, o, "rounds", c->way == TC_MEAS_WAY_BATCH ? 0 : 1, TC_FLEET_MANY);
    const json_t *all = fleet_list(r, o, "inputs", 1, TC_FLEET_MANY, &c->n);
    tc_meas_input *in = TC_NEW_N(r->a, tc_meas_input, c->n + 1);
    for (size_t i = 0; i < c->n; i++)
        read_input(r, json_array_get(all, i), &in[i]);
    c->in = in;
    c->sizes = read_texts(r, o, "points", "point", TC_FLEET_MANY, some_text, &c->npoint);
    if (!r->bad && (c->way == TC_MEAS_WAY_SIZES) != (c->npoint > 0)) {
        tc_fail(r->err, TC_BAD_INPUT, "it has %zu points, which does not fit its way of measuring", c->npoint);
        r->bad = true;
    }
}

static void read_mode(fleet_reader *r, const json_t *o, tc_meas_options *m) {
    const char *mode = fleet_text(r, o, "mode", (fleet_text_limits){.most = TC_FLEET_NAME, .shown = FLEET_LINE});
    if (r->bad || (tc_meas_mode_parse(mode, &m->mode) && m->mode != TC_MEAS_IN_GRAPH))
        return;
    tc_fail(r->err, TC_BAD_INPUT, "its mode '%s' is not a mode of measuring", mode);
    r->bad = true;
}

static void read_measure(fleet_reader *r, const json_t *o, tc_meas_options *m) {
    enum { MOST_THREADS = 1 << 14 };
    m->target = fleet_text(r, o, "target", some_text);
    m->threads = (int)fleet_whole(r, o, "threads", 1, MOST_THREADS);
    m->seed = (uint64_t)fleet_whole(r, o, "seed", INT64_MIN, INT64_MAX);
    m->samples = (int)fleet_whole(r, o, "samples", 1, TC_FLEET_MANY);
    m->build_limit = fleet_real(r, o, "build_limit", 1e-3, MOST_SECONDS);
    m->run_limit = fleet_real(r, o, "run_limit", 1e-3, MOST_SECONDS);
    m->prepare_limit = fleet_real(r, o, "prepare_limit", 1e-3, MOST_SECONDS);
    m->min_sample = fleet_real(r, o, "min_sample", 1e-9, MOST_SECONDS);
    m->budget = fleet_real(r, o, "budget", 1e-9, MOST_SECONDS);
    m->early_stop = fleet_real(r, o, "early_stop", -MOST_SECONDS, MOST_SECONDS);
    m->no_verify = !fleet_flag(r, o, "verify");
    read_mode(r, o, m);
}

tc_status tc_fleet_job_read(const char *text, tc_arena *a, tc_fleet_job *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_job){0};
    json_t *o = fleet_open(&r, text, "job");
    if (!o)
        return TC_BAD_INPUT;
    out->id = fleet_word(&r, o, "id");
    out->tuner = fleet_word(&r, o, "tuner");
    out->barred = read_texts(&r, o, "barred", "name", TC_FLEET_BARRED, one_word, &out->nbarred);
    out->second = fleet_flag(&r, o, "second");
    out->asked = (int)fleet_whole(&r, o, "asked", 1, TC_FLEET_MANY);
    out->wanted = json_object_get(o, "wanted") ? fleet_real(&r, o, "wanted", 0, MOST_SECONDS) : 0;
    read_call(&r, o, &out->call);
    if (!r.bad && out->call.way == TC_MEAS_WAY_BATCH)
        read_ids(&r, o, out);
    read_measure(&r, o, &out->measure);
    json_decref(o);
    return fleet_outcome(&r);
}
