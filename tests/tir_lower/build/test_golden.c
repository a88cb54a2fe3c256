/* NAME.te + NAME.sched -> NAME.tir, for every NAME.sched beside this file. The nest must print as the golden file says, read back
 * to the same text, verify, and compute what the workload says; so must the fully lowered function. TC_UPDATE_GOLDENS=1 rewrites.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/system/fs.h"
#include "te/text.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/program/program.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

typedef struct one {
    tc_ctx *ctx;
    const char *name;
    tc_error err;
} one;

static char *read_file(one *t, const char *ext, tc_status *s) {
    char path[256], *text = NULL;
    snprintf(path, sizeof path, "build/%s%s", t->name, ext);
    *s = tc_fs_read(path, &text, NULL, &t->err);
    return text;
}

static tc_status check_golden(one *t, const char *text) {
    char path[256];
    tc_status s;
    snprintf(path, sizeof path, "build/%s.tir", t->name);
    const char *update = getenv("TC_UPDATE_GOLDENS");
    if (update && *update == '1')
        return tc_fs_write(path, text, strlen(text), &t->err);
    char *want = read_file(t, ".tir", &s);
    if (s == TC_OK && strcmp(want, text) != 0)
        s = tc_fail(&t->err, TC_BAD_INPUT, "differs from %s (TC_UPDATE_GOLDENS=1 rewrites it). Got:\n%.1200s", path, text);
    free(want);
    return s;
}

/* parse(print(f)) prints the same, and still verifies. */
static tc_status check_round_trip(one *t, const char *text) {
    tc_func *again;
    tc_strbuf b = {0};
    tc_ctx *c = tc_ctx_new();
    tc_status s = tc_tir_parse(c, "printed.tir", text, &again, &t->err);
    if (s == TC_OK) {
        tc_tir_print(&b, again);
        if (strcmp(tc_sb_str(&b), text) != 0)
            s = tc_fail(&t->err, TC_BAD_INPUT, "the text does not round-trip:\n%.1200s", tc_sb_str(&b));
    }
    if (s == TC_OK)
        s = tc_tir_verify(c, again, &t->err);
    tc_strbuf_free(&b);
    tc_ctx_free(c);
    return s;
}

static tc_status check_func(one *t, const oracle *o, const tc_func *f, bool golden) {
    tc_strbuf b = {0};
    tc_tir_print(&b, f);
    tc_status s = golden ? check_golden(t, tc_sb_str(&b)) : TC_OK;
    if (s == TC_OK)
        s = check_round_trip(t, tc_sb_str(&b));
    /* Interpreting a big example takes minutes; its text is what it is here for. */
    if (s == TC_OK && o->want)
        s = oracle_check(o, t->ctx, f, golden ? 0 : 7, &t->err);
    else if (s == TC_OK)
        s = tc_tir_verify(t->ctx, f, &t->err);
    tc_strbuf_free(&b);
    return s;
}

static tc_status lower(one *t, const char *te, const char *sched, const tc_workload **w, tc_func **built) {
    char file[256];
    tc_tir_program p;
    snprintf(file, sizeof file, "%s.te", t->name);
    TC_TRY(tc_te_parse(t->ctx, file, te, w, &t->err));
    snprintf(file, sizeof file, "%s.sched", t->name);
    tc_tir_origin from = {.workload = *w, .machine = &test_machine, .text = sched, .name = file};
    tc_status s = tc_tir_program_make(t->ctx, &from, TC_TIR_NEST, &p, &t->err);
    *built = p.nest;
    return s;
}

static tc_status check_both(one *t, const oracle *o, const tc_func *built) {
    tc_func *lowered;
    TC_TRY(check_func(t, o, built, true));
    TC_TRY(tc_tir_lower(t->ctx, &test_machine, built, NULL, &lowered, &t->err));
    tc_status s = check_func(t, o, lowered, false);
    if (s != TC_OK)
        tc_error_prefix(&t->err, "lowered: ");
    return s;
}

static tc_status check_refusal(one *t, tc_status got, const char *want) {
    size_t n = strcspn(want, "\n");
    if (got == TC_OK)
        return tc_fail(&t->err, TC_BAD_INPUT, "is lowered, but must be refused: %s", want);
    if (strncmp(t->err.msg, want, n) == 0 && t->err.msg[n] == 0)
        return TC_OK;
    tc_error_prefix(&t->err, "expected the refusal '%.*s', got: ", (int)n, want);
    return got;
}

/* Where sizes vary: at the least, the largest and middle ones. */
static tc_status run_at(one *t, const tc_workload *w, int how, const tc_func *built) {
    enum { MAX_SYMBOLS = 8 };
    int64_t sizes[MAX_SYMBOLS];
    oracle o = {.w = w};
    bool small = tc_te_flops(w) < 1e6;
    tc_ctx *own = tc_ctx_new();
    tc_status s = TC_OK;
    for (int i = 0; i < w->nsymbol && i < MAX_SYMBOLS; i++) {
        int64_t least = w->symbols[i]->least, most = w->symbols[i]->most;
        sizes[i] = how == 0 ? least : how == 1 ? most : (least + most) / 2;
    }
    if (small)
        s = w->nsymbol ? oracle_open_at(&o, own, w, sizes, 1, &t->err) : oracle_open(&o, w, 1, &t->err);
    if (s == TC_OK)
        s = check_both(t, &o, built);
    if (small)
        oracle_close(&o);
    tc_ctx_free(own);
    return s;
}

static tc_status run(one *t) {
    tc_status s;
    char *te = read_file(t, ".te", &s), *sched = s == TC_OK ? read_file(t, ".sched", &s) : NULL;
    const tc_workload *w;
    tc_func *built;
    tc_error ignored;
    char path[256], *refusal = NULL;
    snprintf(path, sizeof path, "build/%s.err", t->name);
    if (s != TC_OK)
        goto out;
    if (tc_fs_read(path, &refusal, NULL, &ignored) == TC_OK) {
        s = check_refusal(t, lower(t, te, sched, &w, &built), refusal);
        goto out;
    }
    s = lower(t, te, sched, &w, &built);
    if (s != TC_OK)
        goto out;
    for (int how = 0; how < (w->nsymbol ? 3 : 1) && s == TC_OK; how++)
        s = run_at(t, w, how, built);
out:
    free(te);
    free(sched);
    free(refusal);
    return s;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
    char *names[512];
    int n = 0, failed = 0;
    DIR *d = opendir("build");
    for (struct dirent *e; d && (e = readdir(d)) && n < 512;) {
        size_t len = strlen(e->d_name);
        if (len > 6 && strcmp(e->d_name + len - 6, ".sched") == 0)
            names[n++] = strndup(e->d_name, len - 6);
    }
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        one t = {.ctx = tc_ctx_new(), .name = names[i]};
        bool wanted = argc < 2 || strcmp(argv[1], names[i]) == 0;
        if (wanted && run(&t) != TC_OK) {
            fprintf(stderr, "FAILED %s: %s\n", names[i], t.err.msg);
            failed++;
        }
        tc_ctx_free(t.ctx);
        free(names[i]);
    }
    printf("%d goldens, %d failed\n", n, failed);
    return failed || n == 0;
}
