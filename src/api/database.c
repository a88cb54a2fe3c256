/* Databases and their records (include/tctune/database.h). */
#include <string.h>

#include "api/api_int.h"
#include "measure/records/exchange.h"
#include "support/guess.h"

static tc_status open_database(const char *file, tctune_access access, tctune_database **out, tc_error *err) {
    static const tc_meas_db_mode modes[] = {[TCTUNE_ACCESS_READ] = TC_MEAS_DB_READ,
                                            [TCTUNE_ACCESS_CHANGE] = TC_MEAS_DB_CHANGE,
                                            [TCTUNE_ACCESS_CREATE] = TC_MEAS_DB_WRITE};
    if ((size_t)access >= TC_LEN(modes))
        return tc_fail(err, TC_BAD_INPUT, "%s: there is no access %d: give a TCTUNE_ACCESS_...", file, (int)access);
    *out = tc_xcalloc(1, sizeof **out);
    (*out)->holders = 1;
    return tc_meas_db_open(file, modes[access], &(*out)->db, err);
}

tctune_status tctune_database_open(const char *file, tctune_access access, tctune_database **database, char *error,
                                   size_t error_size) {
    *database = NULL;
    API_CALL(err, error, error_size, open_database(file, access, database, &err),
             (tctune_database_close(*database), *database = NULL));
}

void tctune_database_close(tctune_database *d) {
    if (!d || --d->holders > 0)
        return;
    tc_meas_db_close(d->db);
    free(d);
}

/* ---- records ---- */

static tc_status no_mode(const char *mode, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(mode, strlen(mode));
    for (int m = 0; m < TC_MEAS_NMODES; m++)
        tc_guess_add(&g, tc_meas_mode_text((tc_meas_mode)m));
    return tc_fail(err, TC_BAD_INPUT, "there is no mode '%s'%s", mode, tc_guess_say(&g, "", NULL, text));
}

static tc_status read_query(const tctune_query *query, tc_meas_filter *out, tc_error *err) {
    tctune_query q;
    tc_meas_mode mode;
    TC_TRY(API_OPTIONS(q, query, err));
    if (q.mode && !tc_meas_mode_parse(q.mode, &mode))
        return no_mode(q.mode, err);
    if ((unsigned)q.order > TCTUNE_ORDER_BY_RANK)
        return tc_fail(err, TC_BAD_INPUT, "there is no order %d: give a TCTUNE_ORDER_...", (int)q.order);
    *out = (tc_meas_filter){.workload_hash = q.workload_hash,
                            .target_hash = q.target_hash,
                            .mode = q.mode,
                            .threads = q.threads,
                            .ok = q.valid != 0,
                            .verified = q.verified != 0,
                            .after_id = q.after_id,
                            .limit = q.limit};
    switch (q.order) {
    case TCTUNE_ORDER_BY_ID:
        out->order = TC_MEAS_BY_ID;
        break;
    case TCTUNE_ORDER_BY_MEDIAN:
        out->order = TC_MEAS_BY_MEDIAN;
        break;
    case TCTUNE_ORDER_BY_RANK:
        out->order = TC_MEAS_BY_RANK;
        break;
    }
    return TC_OK;
}

static tctune_records *new_records(void) {
    tctune_records *r = tc_xcalloc(1, sizeof *r);
    r->arena = tc_arena_new();
    return r;
}

static tc_status select_records(tctune_database *d, const tctune_query *query, tctune_records **out, tc_error *err) {
    tc_meas_filter f;
    TC_TRY(read_query(query, &f, err));
    *out = new_records();
    return tc_meas_db_select(d->db, (*out)->arena, &f, &(*out)->list, err);
}

tctune_status tctune_database_records(tctune_database *d, const tctune_query *query, tctune_records **records, char *error,
                                      size_t error_size) {
    *records = NULL;
    API_CALL(err, error, error_size, select_records(d, query, records, &err), (tctune_records_free(*records), *records = NULL));
}

tctune_records *api_records_of(const tc_record *r) {
    tctune_records *l = new_records();
    l->list.data = TC_NEW(l->arena, tc_record);
    l->list.len = 1;
    *l->list.data = tc_meas_record_copy(l->arena, r);
    return l;
}

size_t tctune_records_count(const tctune_records *l) {
    return l->list.len;
}

static tc_status get_record(const tctune_records *l, size_t i, tctune_record *out, tc_error *err) {
    if (i >= l->list.len)
        return tc_fail(err, TC_BAD_INPUT, "there is no record %zu: the list has %zu", i, l->list.len);
    const tc_record *r = &l->list.data[i];
    tctune_record record = {.id = r->id,
                            .workload = r->workload,
                            .target = r->target,
                            .trace = r->trace,
                            .workload_hash = r->workload_hash.hex,
                            .program = r->program,
                            .times = r->times,
                            .ntimes = r->ntimes,
                            .median = r->median,
                            .mode = tc_meas_mode_text(r->mode),
                            .outcome = tc_meas_error_text(r->error),
                            .message = r->message,
                            .verified = r->verified,
                            .max_error = r->max_error,
                            .threads = r->threads,
                            .rounds = r->rounds,
                            .build_seconds = r->build_seconds,
                            .run_seconds = r->run_seconds,
                            .when_ms = r->when_ms,
                            .host = r->host,
                            .version = r->tctune_version,
                            .sizes = r->sizes};
    return API_FILL(out, record, err);
}

tctune_status tctune_records_get(const tctune_records *l, size_t i, tctune_record *record, char *error, size_t error_size) {
    tc_error err = {0};
    return api_answer(get_record(l, i, record, &err), &err, error, error_size);
}

void tctune_records_free(tctune_records *l) {
    if (!l)
        return;
    tc_arena_free(l->arena);
    free(l);
}

static tc_status export_records(tctune_database *d, const tctune_query *query, const char *file, size_t *written, tc_error *err) {
    tc_meas_filter f;
    size_t n;
    TC_TRY(read_query(query, &f, err));
    return tc_meas_export(d->db, &f, file, written ? written : &n, err);
}

tctune_status tctune_database_export(tctune_database *d, const tctune_query *query, const char *file, size_t *written,
                                     char *error, size_t error_size) {
    API_CALL(err, error, error_size, export_records(d, query, file, written, &err), (void)0);
}
