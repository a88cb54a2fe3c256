/* Every kernel of benchmarks/ops and benchmarks/search/apart parses, prints and parses to the same workload, and has a default
 * schedule that lowers to a verified program. Programs without vectors are named, not refused: the space decides what is fast.
 * TCTUNE_OPS_REPORT=1 prints a line per kernel.
 *
 *     test_ops_parse [[--but] WORD]      only files whose name contains the word, or only others */
#include "support/cmocka_all.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search_space/space.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "te/text.h"
#include "tir_lower/program/program.h"
#include "tir_lower/verify/verify.h"

static const char *const folders[] = {TCTUNE_SOURCE_DIR "/benchmarks/ops", TCTUNE_SOURCE_DIR "/benchmarks/search/apart"};

static const tc_machine machine = {.vector_bytes = 64,
                                   .vector_regs = 32,
                                   .masks = true,
                                   .fma = true,
                                   .cores = 2,
                                   .l1 = 32768,
                                   .l2 = 1 << 20,
                                   .l3 = 32 << 20,
                                   .line = 64};

typedef TC_VEC(char *) file_list;

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef struct choice {
    const char *word; /* NULL: all files */
    bool but;
} choice;

static bool wanted(const char *name, const choice *c) {
    size_t n = strlen(name);
    return n > 3 && strcmp(name + n - 3, ".te") == 0 && (!c->word || (strstr(name, c->word) != NULL) != c->but);
}

static void list_files(const char *folder, file_list *files, const choice *c) {
    DIR *d = opendir(folder);
    if (!d)
        fail_msg("%s cannot be read", folder);
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        if (wanted(e->d_name, c))
            tc_push(files, tc_xstrdup(e->d_name));
    closedir(d);
    qsort(files->data, files->len, sizeof *files->data, by_name);
}

/* What the report says of a lowered program. */
typedef struct facts {
    int stores, vector_stores, loops, parallel;
} facts;

static void gather(const tc_stmt *s, facts *f) {
    if (!s)
        return;
    switch (s->kind) {
    case TC_STMT_SEQ:
        for (int i = 0; i < s->u.seq.n; i++)
            gather(s->u.seq.s[i], f);
        break;
    case TC_STMT_FOR:
        f->loops++;
        f->parallel += s->u.loop.kind == TC_FOR_PARALLEL;
        gather(s->u.loop.body, f);
        break;
    case TC_STMT_IF:
        gather(s->u.cond.then, f);
        gather(s->u.cond.otherwise, f);
        break;
    case TC_STMT_STORE:
        f->stores++;
        f->vector_stores += s->u.store.value->lanes > 1;
        break;
    case TC_STMT_ALLOC:
        gather(s->u.alloc.body, f);
        break;
    case TC_STMT_PREFETCH:
    case TC_STMT_INTRIN:
    case TC_NSTMTS:
        break;
    }
}

static const tc_workload *parse(tc_ctx *c, const char *file, const char *text) {
    const tc_workload *w;
    tc_error err;
    if (tc_te_parse(c, file, text, &w, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return w;
}

static const tc_workload *read_file(tc_ctx *c, const char *folder, const char *name) {
    char path[512], *text;
    tc_error err;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (tc_fs_read(path, &text, NULL, &err) != TC_OK)
        fail_msg("%s", err.msg);
    const tc_workload *w = parse(c, path, text);
    free(text);
    return w;
}

static void check_round_trip(tc_ctx *c, const char *name, const tc_workload *w) {
    tc_strbuf b = {0};
    tc_te_print(&b, w);
    tc_digest was = tc_te_hash(w), is = tc_te_hash(parse(c, name, tc_sb_str(&b)));
    tc_strbuf_free(&b);
    assert_string_equal(was.hex, is.hex);
}

/* Schedules, lowers and verifies. False with err. */
static bool lower_default(const tc_workload *w, tc_ctx *c, tc_arena *a, facts *f, tc_error *err) {
    tc_space *space;
    tc_trace *t = NULL;
    tc_tir_program p;
    tc_tir_origin from = {.workload = w, .machine = &machine};
    if (tc_space_new(w, &machine, &space, err) != TC_OK)
        return false;
    bool ok = tc_space_default(space, a, &t, err) == TC_OK;
    from.trace = t;
    ok = ok && tc_tir_program_make(c, &from, TC_TIR_LOWERED, &p, err) == TC_OK && tc_tir_verify(c, p.lowered, err) == TC_OK;
    tc_space_free(space);
    if (ok)
        gather(p.lowered->body, f);
    return ok;
}

/* A line for the report, or one for the failure. */
static bool check_default(const char *name, const tc_workload *w) {
    tc_error err = {0};
    tc_arena *a = tc_arena_new();
    tc_ctx *c = tc_ctx_child(w->ctx);
    facts f = {0};
    bool ok = lower_default(w, c, a, &f, &err);
    if (!ok)
        print_error("%s: %s\n", name, err.msg);
    else if (!f.vector_stores)
        print_message("%s: no store of the default schedule is a vector\n", name);
    else if (getenv("TCTUNE_OPS_REPORT"))
        print_message("%-12s %8.1f MFLOP  %3d loops, %d parallel, %3d of %3d stores are vectors\n", name, tc_te_flops(w) / 1e6,
                      f.loops, f.parallel, f.vector_stores, f.stores);
    tc_ctx_free(c);
    tc_arena_free(a);
    return ok;
}

static void check_folder(const char *folder, const choice *which) {
    file_list files = {0};
    size_t bad = 0;
    list_files(folder, &files, which);
    assert_true(files.len > 0 || which->word);
    for (size_t i = 0; i < files.len; i++) {
        tc_ctx *c = tc_ctx_new();
        const tc_workload *w = read_file(c, folder, files.data[i]);
        check_round_trip(c, files.data[i], w);
        bad += !check_default(files.data[i], w);
        tc_ctx_free(c);
        free(files.data[i]);
    }
    if (bad)
        fail_msg("%zu of %zu kernels have no default schedule that lowers", bad, files.len);
    tc_vec_free(&files);
}

static void test_every_file(void **state) {
    for (size_t i = 0; i < TC_LEN(folders); i++)
        check_folder(folders[i], *state);
}

int main(int argc, char **argv) {
    choice c = {.word = argc > 1 ? argv[argc - 1] : NULL, .but = argc > 2 && strcmp(argv[1], "--but") == 0};
    const struct CMUnitTest tests[] = {cmocka_unit_test_prestate(test_every_file, &c)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
