/* The sketches themselves: their text, and that they replay.
 *
 * cases/NAME.te is a workload and NAME.sketches what the space makes of it: every parallel sketch for one machine, and for
 * several machines digests of all texts, of the schedules constructed and of some that are drawn. Traces of them are in
 * databases, so none may change by accident. TC_UPDATE_GOLDENS=1 rewrites the expectations. */
#include "families.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/random_workload.h"
#include "support/hash.h"
#include "support/system/fs.h"
#include "support/vec.h"

#define CASES TCTUNE_TEST_DIR "/cases"

enum { MOST_CONSTRUCTED = 64, DRAWS = 8, RANDOM_WORKLOADS = 12 };

static const struct {
    const char *name;
    tc_machine m;
} MACHINES[] = {
    {"64 bytes, 2 cores",
     {.vector_bytes = 64,
      .vector_regs = 32,
      .masks = true,
      .fma = true,
      .intrinsics = TC_INTRINSICS_ALL,
      .cores = 2,
      .l1 = 32 << 10,
      .l2 = 1 << 20,
      .l3 = 32 << 20,
      .line = 64}},
    {"64 bytes, 1 core",
     {.vector_bytes = 64,
      .vector_regs = 32,
      .masks = true,
      .fma = true,
      .cores = 1,
      .l1 = 32 << 10,
      .l2 = 1 << 20,
      .l3 = 16 << 20,
      .line = 64}},
    {"32 bytes, 8 cores",
     {.vector_bytes = 32,
      .vector_regs = 16,
      .fma = true,
      .cores = 8,
      .l1 = 32 << 10,
      .l2 = 256 << 10,
      .l3 = 8 << 20,
      .line = 64}},
    {"16 bytes, 4 cores, load and store",
     {.vector_bytes = 16,
      .vector_regs = 32,
      .fma = true,
      .load_store = true,
      .cores = 4,
      .l1 = 64 << 10,
      .l2 = 1 << 20,
      .l3 = 16 << 20,
      .line = 64}},
    {"16 bytes, 2 cores, no fma",
     {.vector_bytes = 16, .vector_regs = 16, .cores = 2, .l1 = 32 << 10, .l2 = 256 << 10, .l3 = 4 << 20, .line = 64}},
};

static tc_space *space_of(const tc_workload *w, const tc_machine *m) {
    tc_space *s = NULL;
    tc_error err = {0};
    if (tc_space_new(w, m, &s, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return s;
}

/* The trace with the decisions that the replay of t makes; t must be legal. */
static tc_trace *replayed(tc_ctx *scratch, const tc_workload *w, const char *name, const tc_trace *t, tc_rng *rng) {
    tc_sched *s;
    tc_error err = {0};
    tc_ctx_reset(scratch);
    if (tc_sch_replay(scratch, w, t, rng, &s, &err) == TC_OK)
        return s->trace;
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    tc_trace_print(&b, t);
    fail_msg("%s does not replay: %s\n%s", name, err.msg, tc_sb_str(&b));
    return NULL;
}

static uint64_t digest(uint64_t h, const tc_trace *t) {
    tc_strbuf b = {0};
    tc_trace_print(&b, t);
    h = tc_hash64(tc_sb_str(&b), b.len, h);
    tc_strbuf_free(&b);
    return h;
}

static tc_rng seed_of(int sketch, int draw) {
    return tc_rng_seed((uint64_t)(sketch * 100 + draw));
}

/* Every sketch with any decisions, and everything that is constructed. */
static void check_replays(const tc_workload *w, const tc_space *s) {
    tc_ctx *scratch = tc_ctx_child(w->ctx);
    tc_arena *a = tc_arena_new();
    for (int k = 0; k < tc_space_nsketch(s); k++)
        for (int d = 0; d < DRAWS; d++) {
            tc_rng r = seed_of(k, d);
            replayed(scratch, w, tc_space_sketch_name(s, k), tc_space_sketch(s, k), &r);
        }
    tc_trace *t[MOST_CONSTRUCTED];
    int n = tc_space_construct(s, a, t, MOST_CONSTRUCTED);
    assert_true(n > 0);
    for (int i = 0; i < n; i++)
        replayed(scratch, w, "a constructed schedule", t[i], NULL);
    tc_arena_free(a);
    tc_ctx_free(scratch);
}

static void check_replays_everywhere(const tc_workload *w) {
    for (size_t m = 0; m < TC_LEN(MACHINES); m++) {
        tc_space *s = space_of(w, &MACHINES[m].m);
        check_replays(w, s);
        tc_space_free(s);
    }
}

/* ---- goldens ---- */

static void describe_machine(tc_strbuf *out, const tc_workload *w, size_t m) {
    tc_space *s = space_of(w, &MACHINES[m].m);
    tc_ctx *scratch = tc_ctx_child(w->ctx);
    tc_arena *a = tc_arena_new();
    uint64_t text = 0, constructed = 0, drawn = 0;
    for (int k = 0; k < tc_space_nsketch(s); k++) {
        tc_rng r = seed_of(k, 0);
        text = digest(text, tc_space_sketch(s, k));
        drawn = digest(drawn, replayed(scratch, w, tc_space_sketch_name(s, k), tc_space_sketch(s, k), &r));
    }
    tc_trace *t[MOST_CONSTRUCTED];
    int n = tc_space_construct(s, a, t, MOST_CONSTRUCTED);
    for (int i = 0; i < n; i++)
        constructed = digest(constructed, t[i]);
    tc_sb_printf(out, "%s: %d sketches %016llx, %d constructed %016llx, drawn %016llx\n", MACHINES[m].name, tc_space_nsketch(s),
                 (unsigned long long)text, n, (unsigned long long)constructed, (unsigned long long)drawn);
    tc_arena_free(a);
    tc_ctx_free(scratch);
    tc_space_free(s);
}

static void describe(tc_strbuf *out, const tc_workload *w) {
    for (size_t m = 0; m < TC_LEN(MACHINES); m++)
        describe_machine(out, w, m);
    tc_space *s = space_of(w, &MACHINES[0].m);
    for (int k = 0; k < tc_space_nsketch(s); k++) {
        if (strstr(tc_space_sketch_name(s, k), "+serial"))
            continue;
        tc_sb_printf(out, "\n%s\n", tc_space_sketch_name(s, k));
        tc_trace_print(out, tc_space_sketch(s, k));
    }
    tc_space_free(s);
}

static char *read_text(const char *path) {
    char *data = NULL;
    tc_error err = {0};
    if (tc_fs_read(path, &data, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return data;
}

static void check_case(const char *name) {
    char te[512], golden[512];
    tc_error err = {0};
    const tc_workload *w;
    snprintf(te, sizeof te, CASES "/%s.te", name);
    snprintf(golden, sizeof golden, CASES "/%s.sketches", name);
    char *text = read_text(te);
    tc_ctx *c = tc_ctx_new();
    if (tc_te_parse(c, te, text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    tc_strbuf got = {0};
    describe(&got, w);
    if (getenv("TC_UPDATE_GOLDENS") && tc_fs_write(golden, tc_sb_str(&got), got.len, &err) != TC_OK)
        fail_msg("%s", err.msg);
    char *want = read_text(golden);
    if (strcmp(want, tc_sb_str(&got)) != 0)
        fail_msg("%s: expected\n%s\ngot\n%s", golden, want, tc_sb_str(&got));
    free(want);
    free(text);
    tc_strbuf_free(&got);
    tc_ctx_free(c);
}

static int is_te(const struct dirent *d) {
    const char *dot = strrchr(d->d_name, '.');
    return dot && strcmp(dot, ".te") == 0;
}

static void test_goldens(void **state) {
    (void)state;
    struct dirent **files;
    int n = scandir(CASES, &files, is_te, alphasort);
    assert_true(n > 0);
    for (int i = 0; i < n; i++) {
        *strrchr(files[i]->d_name, '.') = 0;
        check_case(files[i]->d_name);
        free(files[i]);
    }
    free(files);
}

/* ---- replays ---- */

static void test_families_replay(void **state) {
    (void)state;
    for (size_t f = 0; f < TC_LEN(family); f++) {
        tc_ctx *c = tc_ctx_new();
        check_replays_everywhere(workload_of(c, family[f]));
        tc_ctx_free(c);
    }
}

static void test_random_workloads_replay(void **state) {
    (void)state;
    for (int kind = 0; kind < tc_test_nworkload_kinds(); kind++)
        for (int i = 0; i < RANDOM_WORKLOADS; i++) {
            tc_ctx *c = tc_ctx_new();
            tc_rng r = tc_rng_seed((uint64_t)(kind * RANDOM_WORKLOADS + i));
            check_replays_everywhere(tc_test_workload_of_kind(c, &r, kind));
            tc_ctx_free(c);
        }
}

/* Every kernel that is recorded, in turns for one of the machines. */
static void test_recorded_workloads_replay(void **state) {
    (void)state;
    tc_map known = {0};
    char *log = read_text(TCTUNE_SOURCE_DIR "/tuning_logs/znver4.jsonl"), *rest = log;
    for (char *line; (line = strtok_r(rest, "\n", &rest));) {
        json_t *record = json_loads(line, 0, NULL);
        const char *text = json_string_value(json_object_get(record, "workload"));
        assert_non_null(text);
        if (tc_map_put(&known, tc_hash64(text, strlen(text), 0), 1)) {
            tc_ctx *c = tc_ctx_new();
            tc_error err = {0};
            const tc_workload *w;
            if (tc_te_parse(c, "recorded", text, &w, &err) != TC_OK)
                fail_msg("%s", err.msg);
            tc_space *s = space_of(w, &MACHINES[known.len % TC_LEN(MACHINES)].m);
            check_replays(w, s);
            tc_space_free(s);
            tc_ctx_free(c);
        }
        json_decref(record);
    }
    assert_true(known.len > 100);
    tc_map_free(&known);
    free(log);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_families_replay),
        cmocka_unit_test(test_random_workloads_replay),
        cmocka_unit_test(test_recorded_workloads_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
