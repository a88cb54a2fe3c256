/* Records that tuners share, as documents: the record as files of JSON lines have it, and whose word it is. */
#include <stdlib.h>
#include <string.h>

#include "fleet/message_int.h"

enum { MOST_NAME = 256 /* bytes of a version or a host */, MOST_MESSAGE = 64 << 10 };

void tc_fleet_entry_write(const tc_fleet_entry *e, tc_strbuf *out) {
    tc_strbuf line = {0};
    json_t *o = fleet_begin("record");
    tc_meas_record_to_json(&e->record, &line);
    json_t *record = tc_json_read_own(tc_sb_str(&line));
    fleet_put_text(o, "tuner", e->tuner);
    tc_json_set(o, "record", record ? record : json_null());
    fleet_end(o, out);
    tc_strbuf_free(&line);
}

static tc_status check_text(const char *name, const char *text, size_t most, fleet_shown shown, tc_error *err) {
    if (strlen(text) > most)
        return tc_fail(err, TC_BAD_INPUT, "its %s has more than %zu bytes", name, most);
    if (!fleet_shows(text, shown))
        return tc_fail(err, TC_BAD_INPUT, "its %s has control characters, or others that do not show as they are", name);
    return TC_OK;
}

/* What no record that a worker measured has, though one of a file may have it. */
static tc_status check_limits(const tc_record *r, tc_error *err) {
    TC_TRY(check_text("workload", r->workload, TC_FLEET_TEXT, FLEET_PARSED, err));
    TC_TRY(check_text("target", r->target, TC_FLEET_TEXT, FLEET_LINE, err));
    TC_TRY(check_text("trace", r->trace, TC_FLEET_TEXT, FLEET_PARSED, err));
    TC_TRY(check_text("message", r->message, MOST_MESSAGE, FLEET_LINES, err));
    TC_TRY(check_text("host", r->host, MOST_NAME, FLEET_LINE, err));
    TC_TRY(check_text("tctune_version", r->tctune_version, MOST_NAME, FLEET_LINE, err));
    TC_TRY(check_text("llvm_version", r->llvm_version, MOST_NAME, FLEET_LINE, err));
    if (r->ntimes > TC_FLEET_MANY)
        return tc_fail(err, TC_BAD_INPUT, "it has %zu times, more than %d", r->ntimes, TC_FLEET_MANY);
    if (!*r->job)
        return tc_fail(err, TC_BAD_INPUT, "it belongs to no job");
    if (r->mode == TC_MEAS_IN_GRAPH || r->mode == TC_MEAS_BESIDE)
        return tc_fail(err, TC_BAD_INPUT, "it is a comparison in a network ('%s'), but jobs make no comparisons in networks",
                       tc_meas_mode_text(r->mode));
    if (r->error == TC_MEAS_INTERRUPTED)
        return tc_fail(err, TC_BAD_INPUT, "it says that nothing was measured: %s", tc_meas_error_meaning(r->error));
    return TC_OK;
}

static tc_status read_record(const json_t *o, tc_arena *a, tc_record *out, tc_error *err) {
    char *line = tc_json_text(json_object_get(o, "record"), JSON_COMPACT | JSON_REAL_PRECISION(17));
    tc_status s = tc_meas_record_from_json(a, "its record", line ? line : "", out, err);
    free(line);
    return s == TC_OK ? check_limits(out, err) : s;
}

tc_status tc_fleet_entry_read(const char *text, tc_arena *a, tc_fleet_entry *out, tc_error *err) {
    fleet_reader r = {.a = a, .err = err};
    *out = (tc_fleet_entry){.tuner = ""};
    json_t *o = fleet_open(&r, text, "record");
    if (!r.bad)
        out->tuner = fleet_word(&r, o, "tuner");
    tc_status s = r.bad ? TC_BAD_INPUT : read_record(o, a, &out->record, err);
    json_decref(o);
    return s;
}

bool tc_fleet_is_of_key(const tc_record *r, const char *key) {
    tc_arena *a = tc_arena_new();
    const char *build = tc_arena_printf(a, "%s/%s", r->tctune_version, r->llvm_version),
               *machine = tc_fleet_key(a, r->target, r->threads, build), *emulated = tc_fleet_emulated_key(a, machine);
    bool of_machine = strcmp(key, machine) == 0, of_emulated = strcmp(key, emulated) == 0,
         is = r->mode == TC_MEAS_EMULATED    ? of_emulated
              : r->mode == TC_MEAS_SIMULATED ? of_machine || of_emulated /* whoever computes the times */
                                             : of_machine;
    tc_arena_free(a);
    return is;
}

/* ---- the last word ---- */

bool tc_fleet_same_measurement(const tc_record *x, const tc_record *y) {
    return strcmp(x->job, y->job) == 0 && x->when_ms == y->when_ms && x->mode == y->mode && strcmp(x->host, y->host) == 0 &&
           strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0 && strcmp(x->target_hash.hex, y->target_hash.hex) == 0 &&
           strcmp(x->trace, y->trace) == 0 && strcmp(x->sizes, y->sizes) == 0;
}

tc_fleet_news tc_fleet_news_of(const tc_record *had, const tc_record *now) {
    if (!tc_fleet_same_measurement(had, now))
        return TC_FLEET_NO_NEWS;
    if (had->error != TC_MEAS_NONE)
        return TC_FLEET_NO_NEWS;
    if (now->error != TC_MEAS_NONE)
        return TC_FLEET_FAILED;
    if (had->verified && !now->verified)
        return TC_FLEET_DISOWNED;
    return now->rounds > had->rounds ? TC_FLEET_RETIMED : TC_FLEET_NO_NEWS;
}
