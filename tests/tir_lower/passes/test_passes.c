/* passes/NAME.in.tir -> passes/NAME.out.tir: what single passes do. The first line of an input, `# run: PASS ...`, names them.
 * Input and output must verify, compute the same, and the output's text must round-trip. TC_UPDATE_GOLDENS=1 rewrites the
 * outputs. Then the passes' contracts: each refuses a program that lacks what it requires. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/rng.h"
#include "support/system/fs.h"
#include "support/vec.h"
#include "tir_lower/interp/interp.h"
#include "tir_lower/oracle.h"
#include "tir_lower/passes/passes.h"
#include "tir_lower/text/text.h"
#include "tir_lower/verify/verify.h"

enum { MAX_PARAMS = 8, MAX_SYMBOLS = 4 };

typedef struct arrays {
    int n;
    void *data[MAX_PARAMS + 1]; /* the sizes come last */
    int64_t sizes[MAX_SYMBOLS];
} arrays;

/* Inputs by seed, integers small enough to be indices; outputs poisoned. Sizes that vary are 3 below their most, so that a tile
 * is cut. */
static void make_arrays(const tc_func *f, arrays *r) {
    *r = (arrays){.n = f->nparam};
    tc_rng rng = tc_rng_seed(1);
    for (int i = 0; i < f->nsymbol && i < MAX_SYMBOLS; i++)
        r->sizes[i] = f->symbols[i]->most - 3;
    for (int i = 0; i < f->nparam; i++) {
        const tc_buffer *b = f->params[i].buffer;
        size_t bytes = (size_t)b->size * (size_t)tc_dtype_bytes(b->dtype);
        r->data[i] = tc_xmalloc(bytes);
        memset(r->data[i], 0x7b, bytes);
        if (f->params[i].kind != TC_PARAM_OUT)
            tc_te_random_fill(b->dtype, r->data[i], b->size, &rng, 16);
    }
    r->data[f->nparam] = r->sizes;
}

static void free_arrays(arrays *a) {
    for (int i = 0; i < a->n; i++)
        free(a->data[i]);
}

static tc_status same(const tc_func *f, const arrays *a, const arrays *b, tc_error *err) {
    for (int i = 0; i < a->n; i++) {
        tc_dtype t = f->params[i].buffer->dtype;
        for (int64_t k = 0; k < f->params[i].buffer->size; k++) {
            double x = tc_load_f(t, a->data[i], k), y = tc_load_f(t, b->data[i], k);
            bool equal = tc_dtype_is_float(t) ? x == y || fabs(x - y) <= 1e-5 * fmax(1, fabs(x))
                                              : tc_load_i(t, a->data[i], k) == tc_load_i(t, b->data[i], k);
            if (!equal)
                return tc_fail(err, TC_BAD_INPUT, "%s[%lld] is %g, was %g", f->params[i].buffer->name, (long long)k, y, x);
        }
    }
    return TC_OK;
}

static tc_status check_equal(tc_ctx *c, const tc_func *in, const tc_func *out, tc_error *err) {
    TC_TRY(tc_tir_verify(c, in, err));
    tc_status s = tc_tir_verify(c, out, err);
    if (s != TC_OK) {
        tc_error_prefix(err, "result: ");
        return s;
    }
    arrays a, b;
    make_arrays(in, &a);
    make_arrays(out, &b);
    s = tc_tir_interp(in, a.data, err);
    if (s == TC_OK)
        s = tc_tir_interp_shuffled(out, b.data, 3, err);
    if (s == TC_OK)
        s = same(in, &a, &b, err);
    free_arrays(&a);
    free_arrays(&b);
    return s;
}

static tc_status run_pass(tc_ctx *c, const char *name, tc_func **f, tc_error *err) {
    for (int i = 0; i < tc_tir_npasses; i++)
        if (strcmp(tc_tir_passes[i].name, name) == 0)
            return tc_tir_passes[i].run(c, &test_machine, *f, f, err);
    return tc_fail(err, TC_BAD_INPUT, "no pass %s", name);
}

static tc_status run_passes(tc_ctx *c, const char *text, tc_func **f, tc_error *err) {
    char line[256], *save = NULL;
    if (sscanf(text, "# run: %255[^\n]", line) != 1)
        return tc_fail(err, TC_BAD_INPUT, "the first line is not `# run: PASS ...`");
    for (char *name = strtok_r(line, " ", &save); name; name = strtok_r(NULL, " ", &save))
        TC_TRY(run_pass(c, name, f, err));
    return TC_OK;
}

static tc_status compare_text(const char *path, const char *got, tc_error *err) {
    const char *update = getenv("TC_UPDATE_GOLDENS");
    if (update && *update == '1')
        return tc_fs_write(path, got, strlen(got), err);
    char *want;
    TC_TRY(tc_fs_read(path, &want, NULL, err));
    tc_status s = TC_OK;
    if (strcmp(want, got) != 0)
        s = tc_fail(err, TC_BAD_INPUT, "differs from %s (TC_UPDATE_GOLDENS=1 rewrites it). Got:\n%.1300s", path, got);
    free(want);
    return s;
}

static tc_status round_trip(tc_ctx *c, const char *text, tc_error *err) {
    tc_func *again;
    tc_strbuf b = {0};
    TC_TRY(tc_tir_parse(c, "printed.tir", text, &again, err));
    tc_tir_print(&b, again);
    tc_status s = strcmp(tc_sb_str(&b), text) == 0 ? TC_OK : tc_fail(err, TC_BAD_INPUT, "the text does not round-trip");
    tc_strbuf_free(&b);
    return s;
}

static tc_status check_file(const char *name, tc_error *err) {
    char path[300], *text;
    snprintf(path, sizeof path, "passes/%s.in.tir", name);
    TC_TRY(tc_fs_read(path, &text, NULL, err));
    tc_ctx *c = tc_ctx_new();
    tc_func *in, *out;
    tc_strbuf b = {0};
    tc_status s = tc_tir_parse(c, path, text, &in, err);
    out = in;
    if (s == TC_OK)
        s = run_passes(c, text, &out, err);
    if (s == TC_OK) {
        tc_tir_print(&b, out);
        snprintf(path, sizeof path, "passes/%s.out.tir", name);
        s = compare_text(path, tc_sb_str(&b), err);
    }
    if (s == TC_OK)
        s = round_trip(c, tc_sb_str(&b), err);
    if (s == TC_OK)
        s = check_equal(c, in, out, err);
    tc_strbuf_free(&b);
    tc_ctx_free(c);
    free(text);
    return s;
}

/* ---- contracts ---- */

/* A program that is seen to lack a property; what is not seen is only said to be lacking. */
static const char *program_without(int property) {
    static const char *const PLAIN = "func f\nparam Y f32[8] out 0 align 64\nbody\nfor i in 8 {\n  Y[i] = 1.0\n}\n";
    static const char *const LACKING[TC_TIR_NPROPERTIES] = {
        [TC_TIR_NO_UNROLL] = "func f\nparam Y f32[8] out 0 align 64\nbody\nunrolled i in 8 {\n  Y[i] = 1.0\n}\n",
        [TC_TIR_NO_VECTOR] = "func f\nparam Y f32[8] out 0 align 64\nbody\nvectorized i in 8 {\n  Y[i] = 1.0\n}\n",
        [TC_TIR_NO_HINTS] = "func f\nparam Y f32[8] out 0 align 64\nbody\nfor i in 8 {\n  prefetch Y[i]\n  Y[i] = 1.0\n}\n",
    };
    return LACKING[property] ? LACKING[property] : PLAIN;
}

static tc_status refuses_without(tc_ctx *c, const tc_tir_pass *p, int property, tc_error *err) {
    tc_func *f, *out;
    TC_TRY(tc_tir_parse(c, "t.tir", program_without(property), &f, err));
    bool seen = strcmp(program_without(property), program_without(TC_TIR_PLACED)) != 0;
    unsigned have = ~tc_tir_refuted(f) & (seen ? ~0u : ~(1u << property)), before = have;
    tc_error why = {0};
    if (tc_tir_run_pass(p, c, &test_machine, f, &have, &out, &why) != TC_ILLEGAL || have != before)
        return tc_fail(err, TC_BAD_INPUT, "pass %s runs on a program not %s", p->name,
                       tc_tir_property_text((tc_tir_property)property));
    if (!strstr(why.msg, p->name) || !strstr(why.msg, tc_tir_property_text((tc_tir_property)property)))
        return tc_fail(err, TC_BAD_INPUT, "pass %s does not say what it requires: %s", p->name, why.msg);
    return TC_OK;
}

/* With all that it requires the pass runs, and what it provides and breaks is known of the result. */
static tc_status keeps_books(tc_ctx *c, const tc_tir_pass *p, tc_error *err) {
    tc_func *f, *out;
    TC_TRY(tc_tir_parse(c, "t.tir", program_without(TC_TIR_PLACED), &f, err));
    unsigned have = p->requires | p->breaks;
    TC_TRY(tc_tir_run_pass(p, c, &test_machine, f, &have, &out, err));
    if (have != ((p->requires & ~p->breaks) | p->provides))
        return tc_fail(err, TC_BAD_INPUT, "pass %s leaves properties %x", p->name, have);
    return TC_OK;
}

/* A property that nobody requires says nothing; one that nothing provides can never be had. */
static tc_status check_property(int property, tc_error *err) {
    unsigned required = tc_tir_lowered, provided = tc_tir_built, bit = 1u << property;
    for (int i = 0; i < tc_tir_npasses; i++) {
        required |= tc_tir_passes[i].requires;
        provided |= tc_tir_passes[i].provides;
    }
    if (!(required & provided & bit))
        return tc_fail(err, TC_BAD_INPUT, "%s: nobody %s it", tc_tir_property_text((tc_tir_property)property),
                       required & bit ? "provides" : "requires");
    return TC_OK;
}

static tc_status check_contracts(tc_error *err) {
    tc_status s = TC_OK;
    for (int k = 0; k < TC_TIR_NPROPERTIES && s == TC_OK; k++)
        s = check_property(k, err);
    for (int i = 0; i < tc_tir_npasses && s == TC_OK; i++) {
        const tc_tir_pass *p = &tc_tir_passes[i];
        tc_ctx *c = tc_ctx_new();
        s = keeps_books(c, p, err);
        for (int k = 0; k < TC_TIR_NPROPERTIES && s == TC_OK; k++)
            if (p->requires >> k & 1)
                s = refuses_without(c, p, k, err);
        tc_ctx_free(c);
    }
    return s;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv) {
    static const char EXT[] = ".in.tir";
    char *names[256];
    int n = 0, failed = 0;
    DIR *d = opendir("passes");
    for (struct dirent *e; d && (e = readdir(d)) && n < 256;) {
        size_t len = strlen(e->d_name), ext = sizeof EXT - 1;
        if (len > ext && strcmp(e->d_name + len - ext, EXT) == 0)
            names[n++] = strndup(e->d_name, len - ext);
    }
    if (d)
        closedir(d);
    qsort(names, (size_t)n, sizeof *names, by_name);
    for (int i = 0; i < n; i++) {
        tc_error err = {0};
        bool wanted = argc < 2 || strcmp(argv[1], names[i]) == 0;
        if (wanted && check_file(names[i], &err) != TC_OK) {
            fprintf(stderr, "FAILED %s: %s\n", names[i], err.msg);
            failed++;
        }
        free(names[i]);
    }
    tc_error err = {0};
    if (check_contracts(&err) != TC_OK) {
        fprintf(stderr, "FAILED contracts: %s\n", err.msg);
        failed++;
    }
    printf("%d passes, %d failed\n", n, failed);
    return failed || n == 0;
}
