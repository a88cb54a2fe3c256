/* Reading damaged files, as far as they are good. */
#include "targets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/model/program.h"
#include "graph/onnx/import.h"
#include "graph/passes/pass.h"
#include "measure/records/record.h"
#include "schedule_primitives/schedule.h"
#include "support/fs.h"
#include "te/text.h"
#include "tir_lower/tir.h"

/* What is built and run must be small: the interest is in its reading. */
enum { MAX_RUN_BYTES = 1 << 20, MAX_RUN_LAUNCHES = 16, MAX_RUN_TRIPS = 100 };
#define MAX_RUN_FLOPS 1e6

const char *fuzz_extension(fuzz_kind k) {
    static const char *const extensions[] = {".onnx", ".te", ".sched", ".jsonl"};
    return extensions[k];
}

bool fuzz_kind_of(const char *path, fuzz_kind *k) {
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < FUZZ_NKINDS; i++)
        if (strcmp(dot, fuzz_extension((fuzz_kind)i)) == 0) {
            *k = (fuzz_kind)i;
            return true;
        }
    return false;
}

int fuzz_weight(fuzz_kind k) {
    static const int weights[] = {8, 4, 3, 8};
    return weights[k];
}

/* A refusal says something. */
static bool good(tc_status s, const tc_error *err) {
    if (s != TC_OK && !err->msg[0]) {
        fprintf(stderr, "refused with status %d and no message\n", (int)s);
        abort();
    }
    return s == TC_OK;
}

static tc_target *target(void) {
    tc_target *t;
    tc_error err;
    if (tc_target_parse("native", &t, &err) != TC_OK) {
        fprintf(stderr, "%s\n", err.msg);
        exit(2);
    }
    return t;
}

/* ---- models ---- */

/* Every loop has a small constant number of trips: a damaged condition may hold for ever. */
static bool ends(const tc_graph_program *p) {
    for (int i = 0; i < p->nlaunch; i++) {
        if (p->launches[i].kind != TC_CG_AGAIN)
            continue;
        const tc_graph_launch *head = &p->launches[p->launches[i].target];
        const tc_graph_slot *limit = head->kind == TC_CG_UNLESS_LESS ? &p->slots[head->args[1]] : NULL;
        if (!limit || !limit->constant || *(const int64_t *)limit->constant->data > MAX_RUN_TRIPS)
            return false;
    }
    return true;
}

static bool small(const tc_graph_program *p) {
    int64_t bytes = 0;
    for (int i = 0; i < p->nslot; i++)
        bytes += p->slots[i].bytes > MAX_RUN_BYTES ? MAX_RUN_BYTES : p->slots[i].bytes;
    return bytes < MAX_RUN_BYTES && ends(p) && p->nlaunch <= MAX_RUN_LAUNCHES && tc_graph_program_flops(p) < MAX_RUN_FLOPS;
}

static void free_tensors(tc_graph_tensor *t, int n) {
    for (int i = 0; i < n; i++)
        tc_graph_tensor_free(&t[i]);
    free(t);
}

static void build_and_run(const tc_graph_program *p, const tc_target *t) {
    tc_graph_model *m = NULL;
    tc_error err = {0};
    if (!good(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 1}, &m, &err), &err))
        return;
    const tc_graph_port *ports;
    int nin = tc_graph_model_inputs(m, &ports), nout = tc_graph_model_outputs(m, &ports);
    tc_graph_tensor *in = tc_xcalloc((size_t)nin + 1, sizeof *in), *out = tc_xcalloc((size_t)nout + 1, sizeof *out);
    if (good(tc_graph_model_random_inputs(m, 1, in, &err), &err) && good(tc_graph_model_run(m, in, out, &err), &err))
        free_tensors(out, nout);
    else
        free(out);
    free_tensors(in, nin);
    tc_graph_model_free(m);
}

static void read_model(const char *path, tc_rng *r) {
    tc_graph *g = NULL;
    tc_graph_program *p = NULL;
    tc_error err = {0};
    tc_graph_pass_options passes = {.level = (int)tc_rng_below(r, TC_GRAPH_OPT_MAX + 1)};
    tc_status s = tc_graph_import(path, NULL, &g, &err);
    if (good(s, &err)) {
        if (tc_graph_verify(g, &err) != TC_OK) {
            fprintf(stderr, "imported, but wrong: %s\n", err.msg);
            abort();
        }
        s = tc_graph_passes(g, &passes, &err);
        if (good(s, &err) && good(tc_graph_program_new(g, &p, &err), &err) && small(p) && tc_rng_below(r, 3) == 0) {
            tc_target *t = target();
            build_and_run(p, t);
            tc_target_free(t);
        }
    } else if (!strstr(err.msg, path)) {
        fprintf(stderr, "a refusal that does not name the file: %s\n", err.msg);
        abort();
    }
    tc_graph_program_free(p);
    tc_graph_free(g);
}

/* ---- kernels and schedules ---- */

/* Parses what it prints. */
static void read_kernel(const char *path, const char *text) {
    tc_ctx *c = tc_ctx_new();
    const tc_workload *w = NULL, *again = NULL;
    tc_error err = {0};
    if (good(tc_te_parse(c, path, text, &w, &err), &err)) {
        tc_strbuf b = {0};
        tc_te_print(&b, w);
        if (tc_te_parse(c, "printed", tc_sb_str(&b), &again, &err) != TC_OK) {
            fprintf(stderr, "printed, it is refused: %s\n%s", err.msg, tc_sb_str(&b));
            abort();
        }
        tc_strbuf_free(&b);
    }
    tc_ctx_free(c);
}

/* Its first line says of which workload it is, a file beside the original. */
static const tc_workload *workload_of(tc_ctx *c, const char *origin) {
    char *text = NULL, name[128], file[4096], *dir = tc_fs_dirname(origin);
    const tc_workload *w = NULL;
    tc_error err = {0};
    if (tc_fs_read(origin, &text, NULL, &err) == TC_OK && sscanf(text, "# of %127s", name) == 1) {
        free(text);
        text = NULL;
        snprintf(file, sizeof file, "%s/%s", dir, name);
        if (tc_fs_read(file, &text, NULL, &err) != TC_OK || tc_te_parse(c, file, text, &w, &err) != TC_OK)
            w = NULL;
    }
    free(text);
    free(dir);
    return w;
}

static void lower(tc_ctx *c, tc_sched *s) {
    tc_target *t = target();
    tc_func *f = NULL, *lowered = NULL;
    tc_error err = {0};
    if (good(tc_tir_build(s, &t->machine, &f, &err), &err))
        good(tc_tir_lower(c, &t->machine, f, NULL, &lowered, &err), &err);
    tc_target_free(t);
}

static void read_schedule(const char *path, const char *origin, const char *text, tc_rng *r) {
    tc_ctx *c = tc_ctx_new();
    tc_arena *a = tc_arena_new();
    tc_trace *trace = NULL;
    tc_sched *s = NULL;
    tc_error err = {0};
    const tc_workload *w = workload_of(c, origin);
    if (w && good(tc_trace_parse(a, path, text, &trace, &err), &err) && good(tc_sch_replay(c, w, trace, r, &s, &err), &err))
        lower(c, s);
    tc_arena_free(a);
    tc_ctx_free(c);
}

/* ---- records ---- */

static void read_records(const char *path, char *text) {
    tc_arena *a = tc_arena_new();
    char *save = NULL;
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        tc_record rec = tc_meas_record_empty();
        tc_error err = {0};
        good(tc_meas_record_from_json(a, path, line, &rec, &err), &err);
    }
    tc_arena_free(a);
}

void fuzz_read(fuzz_kind k, const char *path, const char *origin, tc_rng *r) {
    char *text = NULL;
    tc_error err = {0};
    if (k == FUZZ_MODEL) {
        read_model(path, r);
        return;
    }
    if (tc_fs_read(path, &text, NULL, &err) != TC_OK) {
        fprintf(stderr, "fuzz: %s\n", err.msg);
        exit(2);
    }
    if (k == FUZZ_KERNEL)
        read_kernel(path, text);
    else if (k == FUZZ_SCHEDULE)
        read_schedule(path, origin, text, r);
    else
        read_records(path, text);
    free(text);
}
