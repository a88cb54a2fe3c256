/* Implements cases.h. */
#include "graph/trials/cases.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "graph/onnx/data.h"
#include "support/hash.h"
#include "support/map.h"
#include "support/system/fs.h"
#include "support/system/stop.h"
#include "support/vec.h"

enum { MAX_DEPTH = 6 };

/* ---- files ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

typedef TC_VEC(const char *) paths;

/* Sorted paths, in `a`, of the folders in `dir` whose names start with `prefix`. */
static paths list_folders(const char *dir, const char *prefix, tc_arena *a) {
    paths v = {0};
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        if (e->d_name[0] == '.' || strncmp(e->d_name, prefix, strlen(prefix)) != 0)
            continue;
        const char *path = tc_arena_printf(a, "%s/%s", dir, e->d_name);
        if (tc_fs_is_dir(path))
            tc_push(&v, path);
    }
    if (d)
        closedir(d);
    if (v.len)
        qsort(v.data, v.len, sizeof *v.data, by_text);
    return v;
}

typedef struct walker {
    tc_arena *a;
    tc_map seen; /* by folder without a model: with how many levels below it it was walked */
    const volatile sig_atomic_t *stop;
    tc_graph_each_case *each;
    void *user;
} walker;

/* Folders may be links to folders around them. A folder is walked again only where more levels below it are left. */
static bool is_new(walker *w, const char *dir, size_t depth) {
    struct stat st;
    if (stat(dir, &st) != 0)
        return false;
    const uint64_t id[2] = {(uint64_t)st.st_dev, (uint64_t)st.st_ino};
    uint64_t key = tc_hash64(id, sizeof id, 0);
    const uintptr_t *before = tc_map_get(&w->seen, key);
    if (before && *before >= depth)
        return false;
    tc_map_put(&w->seen, key, depth);
    return true;
}

static bool walk(walker *w, const char *dir, int depth) {
    bool any = tc_fs_exists(tc_arena_printf(w->a, "%s/model.onnx", dir));
    if (any)
        w->each(w->user, dir);
    if (any || depth == 0 || !is_new(w, dir, (size_t)depth))
        return any;
    paths folders = list_folders(dir, "", w->a);
    for (size_t i = 0; i < folders.len && !tc_is_raised(w->stop); i++)
        any |= walk(w, folders.data[i], depth - 1);
    tc_vec_free(&folders);
    return any;
}

bool tc_graph_cases_walk(const char *dir, const volatile sig_atomic_t *stop, tc_graph_each_case *each, void *user) {
    walker w = {.a = tc_arena_new(), .stop = stop, .each = each, .user = user};
    bool any = walk(&w, dir, MAX_DEPTH);
    tc_map_free(&w.seen);
    tc_arena_free(w.a);
    return any;
}

/* ---- one case ---- */

typedef struct trial {
    const tc_graph_case_options *o;
    const char *model;
    tc_graph_binding *shapes;
    tc_arena *a;
    tc_graph_case *out;
} trial;

/* What the data set has for the input of that name, number i of n: by name, or by position where all are inputs; NULL: nothing. */
static const tc_graph_tensor *given_for(const tc_graph_bundle *in, const char *name, size_t i, size_t n) {
    const tc_graph_tensor *t = tc_graph_bundle_find(in, name);
    return !t && n == in->len ? &in->items[i].t : t;
}

/* Without the path. */
static const char *shorten(const trial *t, const char *why) {
    size_t len = strlen(t->model);
    if (strncmp(why, t->model, len) == 0 && strncmp(why + len, ": ", 2) == 0)
        why += len + 2;
    return tc_arena_strdup(t->a, why);
}

/* Sizes that neither the model nor --shape gives are those of the data set. */
static tc_status import_sized(const trial *t, tc_graph_import_options o, const tc_graph_data_set *d, tc_graph **out,
                              tc_error *err) {
    o.shapes = t->shapes;
    o.nshapes = t->o->nshapes;
    o.fixed = t->o->fixed;
    o.nfixed = t->o->nfixed;
    o.sample = &d->in;
    o.lists = d->lists;
    o.nlists = d->nlists;
    o.list_outputs = true;
    return tc_graph_import(t->model, &o, out, err);
}

static tc_status import_with(const trial *t, const tc_graph_data_set *d, const tc_graph_named *constants, size_t n, tc_graph **g,
                             tc_error *err) {
    t->out->constants = TC_NEW_N(t->a, const char *, n + 1);
    t->out->nconstants = n;
    for (size_t i = 0; i < n; i++)
        t->out->constants[i] = tc_arena_strdup(t->a, constants[i].name ? constants[i].name : "");
    return import_sized(t, (tc_graph_import_options){.constants = constants, .nconstants = n}, d, g, err);
}

/* Is the input's value one of the options' own (--input)? */
static bool is_fixed(const trial *t, const char *name) {
    bool is = false;
    for (size_t i = 0; i < t->o->nfixed && name; i++)
        is |= tc_graph_fixed_values(t->o->fixed[i], name) != NULL;
    return is;
}

/* What one attempt gives as constants: inputs from number `first` on, or only the integers among them. */
typedef struct attempt {
    size_t first;
    bool integers;
} attempt;

static size_t constants_of(const trial *t, const tc_graph_bundle *in, const attempt *a, tc_graph_named *out) {
    size_t n = 0;
    for (size_t i = a->first; i < in->len; i++)
        if (!is_fixed(t, in->items[i].name) && (!a->integers || tc_dtype_is_int(in->items[i].t.dtype)))
            out[n++] = in->items[i];
    return n;
}

/* Import asks for some inputs (axes, shapes) as constants; cases feed them as inputs. Then the integer ones after the first are
 * given as constants, and if that is not enough, all after the first, or all, which leaves nothing to compute. That is another
 * model than build would see: `without` says so. */
static tc_status import_case(const trial *t, const tc_graph_data_set *d, tc_graph **g, tc_error *err) {
    static const attempt attempts[] = {{1, true}, {1, false}, {0, false}};
    tc_status st = import_sized(t, (tc_graph_import_options){0}, d, g, err);
    if (st == TC_OK || !tc_error_wants_constant(err) || t->o->no_constants)
        return st;
    tc_graph_named *constants = TC_NEW_N(t->a, tc_graph_named, d->in.len + 1);
    t->out->without = shorten(t, err->msg);
    for (size_t i = 0, before = 0; i < TC_LEN(attempts) && st != TC_OK; i++) {
        size_t n = constants_of(t, &d->in, &attempts[i], constants);
        if (n > before)
            st = import_with(t, d, constants, n, g, err);
        before = n;
    }
    return st;
}

/* Has every list among the outputs as many elements as in the data set? */
static tc_status check_list_outputs(const tc_graph *g, const tc_graph_data_set *d, tc_error *err) {
    size_t n = g->outputs.len - g->nsizes, i = 0;
    while (i < n && i < d->out.len && strcmp(g->outputs.data[i].name, d->out.items[i].name) == 0)
        i++;
    return i == n && i == d->out.len
               ? TC_OK
               : tc_fail(err, TC_BAD_INPUT,
                         "output %zu is %s, but the data set has %s there: a list has another number of elements", i,
                         i < n ? g->outputs.data[i].name : "missing", i < d->out.len ? d->out.items[i].name : "none");
}

tc_status tc_graph_case_import(const char *model, const tc_graph_case_options *o, const tc_graph_data_set *d, tc_arena *a,
                               tc_graph_case *c, tc_graph **out, tc_error *err) {
    trial t = {.o = o, .model = model, .a = a, .out = c};
    TC_TRY(tc_graph_bindings_parse(o->shapes, o->nshapes, &t.shapes, err));
    tc_status st = import_case(&t, d, out, err);
    tc_graph_bindings_free(t.shapes, o->nshapes);
    if (st == TC_OK && d->list_outputs && (st = check_list_outputs(*out, d, err)) != TC_OK) {
        tc_graph_free(*out);
        *out = NULL;
    }
    return st;
}

/* Inputs in the order of the ports: by position, or by name where some became constants. */
static tc_status arrange(const tc_graph_bundle *in, const tc_graph_port *ports, int n, tc_graph_tensor *out, tc_error *err) {
    for (int i = 0; i < n; i++) {
        const tc_graph_tensor *t = given_for(in, ports[i].name, (size_t)i, (size_t)n);
        if (!t)
            return tc_fail(err, TC_BAD_INPUT, "the data set has no input for '%s'", ports[i].name);
        out[i] = tc_graph_tensor_view(t->dtype, &t->shape, t->data);
    }
    return TC_OK;
}

static tc_status fail_elements(const tc_graph_tensor *got, const tc_graph_tensor *want, const tc_graph_diff *d, tc_error *err) {
    tc_strbuf b = {0};
    tc_sb_printf(&b, "element %lld is ", (long long)d->worst);
    tc_graph_tensor_print_element(&b, got, d->worst);
    tc_sb_add(&b, ", but ");
    tc_graph_tensor_print_element(&b, want, d->worst);
    tc_status s = tc_fail(err, TC_BAD_INPUT, "%lld of %lld elements differ, error %.3g: %s was expected",
                          (long long)d->violations, (long long)tc_graph_tensor_count(want), d->rel, tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

static tc_status compare(const trial *t, const tc_graph_tensor *got, int n, const tc_graph_bundle *want, tc_error *err) {
    if ((size_t)n < want->len)
        return tc_fail(err, TC_BAD_INPUT, "the model has %d outputs, the data set %zu", n, want->len);
    for (size_t i = 0; i < want->len; i++) {
        const tc_graph_tensor *w = &want->items[i].t;
        tc_graph_diff d;
        tc_status st = tc_graph_tensor_within(&got[i], w, &t->o->tolerance, &d, err);
        if (st == TC_OK && d.violations)
            st = fail_elements(&got[i], w, &d, err);
        if (st != TC_OK) {
            tc_error_prefix(err, "output %zu: ", i);
            return st;
        }
    }
    return TC_OK;
}

static tc_status run_set(const trial *t, tc_graph_model *m, const tc_graph_bundle *in, const tc_graph_bundle *want,
                         tc_error *err) {
    const tc_graph_port *ports;
    int nin = tc_graph_model_inputs(m, &ports), nout = tc_graph_model_outputs(m, &(const tc_graph_port *){NULL});
    tc_graph_tensor *src = tc_xcalloc((size_t)nin + 1, sizeof *src), *dst = tc_xcalloc((size_t)nout + 1, sizeof *dst);
    tc_status st = arrange(in, ports, nin, src, err);
    if (st == TC_OK && (st = tc_graph_model_run(m, src, dst, err)) == TC_OK)
        st = compare(t, dst, nout, want, err);
    for (int i = 0; i < nout; i++)
        tc_graph_tensor_free(&dst[i]);
    free(src);
    free(dst);
    return st;
}

/* A refusal to understand the model is a skip; a difference or anything else is a failure. */
static tc_graph_verdict judge(const trial *t, const tc_error *err) {
    if (t->o->no_constants && tc_error_wants_constant(err))
        return TC_GRAPH_CASE_FAILED;
    return tc_error_unsupported(err) ? TC_GRAPH_CASE_SKIPPED : TC_GRAPH_CASE_FAILED;
}

/* ---- data sets ---- */

/* Of a folder's files KIND_0.pb, KIND_1.pb, ..., which hold the values of these ports. */
typedef struct loader {
    const char *dir, *kind;
    const tc_graph_data_port *ports;
    size_t nport;
    tc_arena *a;
    TC_VEC(tc_graph_named) items;
    TC_VEC(tc_graph_list) lists;
    TC_VEC(size_t) first; /* by list: the number of its first item */
} loader;

/* The value of the port: an item, or a list and its items. */
static tc_status load_value(loader *l, const char *path, const tc_graph_data_port *port, tc_error *err) {
    tc_graph_named item = {0};
    tc_graph_bundle items;
    tc_graph_list list;
    if (port->kind == TC_GRAPH_DATA_TENSOR) {
        TC_TRY(tc_graph_pb_load(path, &item.t, &item.name, err));
        if (port->typed && tc_graph_tensor_holds(&item.t, port->dtype)) /* NumPy has no bf16, for example: the file has u16 */
            item.t.dtype = port->dtype;
        tc_push(&l->items, item);
        return TC_OK;
    }
    TC_TRY(tc_graph_pb_load_list(path, port, &list, &items, err));
    list.n = items.len;
    tc_push(&l->lists, list);
    tc_push(&l->first, l->items.len);
    for (size_t i = 0; i < items.len; i++)
        tc_push(&l->items, items.items[i]);
    free(items.items);
    return TC_OK;
}

/* Up to the first file that is missing. */
static tc_status load_values(loader *l, tc_error *err) {
    static const tc_graph_data_port tensor = {.name = "", .kind = TC_GRAPH_DATA_TENSOR};
    for (size_t i = 0;; i++) {
        const char *path = tc_arena_printf(l->a, "%s/%s_%zu.pb", l->dir, l->kind, i);
        if (!tc_fs_exists(path))
            return TC_OK;
        TC_TRY(load_value(l, path, i < l->nport ? &l->ports[i] : &tensor, err));
    }
}

/* The lists, whose items are where they stay, in the loader's arena. */
static tc_graph_list *settle_lists(loader *l) {
    tc_graph_list *lists = tc_arena_dup(l->a, l->lists.data, l->lists.len * sizeof *lists);
    for (size_t i = 0; i < l->lists.len; i++)
        lists[i].items = l->items.data + l->first.data[i];
    return lists;
}

/* Releases what the loader holds; the items are the bundle's in any case. */
static tc_status load_all(loader *l, tc_graph_bundle *items, tc_graph_list **lists, size_t *nlists, tc_error *err) {
    tc_status st = load_values(l, err);
    *items = (tc_graph_bundle){l->items.data, l->items.len};
    *nlists = l->lists.len;
    *lists = l->lists.len ? settle_lists(l) : NULL;
    tc_vec_free(&l->lists);
    tc_vec_free(&l->first);
    return st;
}

tc_status tc_graph_data_set_load(const char *model, const char *dir, tc_arena *a, tc_graph_data_set *out, tc_error *err) {
    tc_graph_data_ports ports;
    tc_graph_list *lists;
    size_t nlists = 0;
    *out = (tc_graph_data_set){0};
    TC_TRY(tc_graph_data_ports_read(model, a, &ports, err));
    loader in = {.dir = dir, .kind = "input", .ports = ports.in, .nport = ports.nin, .a = a};
    loader want = {.dir = dir, .kind = "output", .ports = ports.out, .nport = ports.nout, .a = a};
    TC_TRY(load_all(&in, &out->in, &out->lists, &out->nlists, err));
    TC_TRY(load_all(&want, &out->out, &lists, &nlists, err));
    out->list_outputs = nlists > 0;
    return out->out.len || nlists ? TC_OK : tc_fail(err, TC_BAD_INPUT, "%s: the folder has no output_0.pb", dir);
}

void tc_graph_data_set_free(tc_graph_data_set *d) {
    tc_graph_bundle_free(&d->in);
    tc_graph_bundle_free(&d->out);
}

/* Up to here, what is not supported is found. */
static tc_status understand(const trial *t, const tc_graph_data_set *d, tc_graph **g, tc_graph_program **p, tc_error *err) {
    TC_TRY(tc_graph_case_import(t->model, t->o, d, t->a, t->out, g, err));
    TC_TRY(tc_graph_passes(*g, &t->o->passes, err));
    return tc_graph_program_new(*g, p, err);
}

static void run_data_set(const trial *t, const char *set, tc_error *err) {
    tc_graph_data_set d;
    tc_graph *g = NULL;
    tc_graph_program *p = NULL;
    tc_graph_model *m = NULL;
    tc_graph_build_options o = {
        .target = t->o->target, .threads = t->o->target->machine.cores, .accuracy = t->o->accuracy, .db = t->o->db};
    tc_status st = tc_graph_data_set_load(t->model, set, t->a, &d, err);
    if (st == TC_OK)
        st = understand(t, &d, &g, &p, err);
    t->out->verdict = st == TC_OK ? TC_GRAPH_CASE_FAILED : judge(t, err);
    if (st == TC_OK)
        st = tc_graph_model_build(p, &o, &m, err);
    if (st == TC_OK)
        st = run_set(t, m, &d.in, &d.out, err);
    if (st == TC_OK)
        t->out->verdict = TC_GRAPH_CASE_PASSED;
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_graph_data_set_free(&d);
}

tc_graph_case tc_graph_case_run(const char *dir, const tc_graph_case_options *o, tc_arena *a) {
    tc_graph_case c = {.verdict = TC_GRAPH_CASE_PASSED, .why = ""};
    trial t = {.o = o, .model = tc_arena_printf(a, "%s/model.onnx", dir), .a = a, .out = &c};
    tc_error err = {0};
    paths sets = list_folders(dir, "test_data_set_", a);
    if (sets.len == 0) {
        c.verdict = TC_GRAPH_CASE_SKIPPED;
        tc_fail(&err, TC_BAD_INPUT, "there is no test_data_set_0");
    }
    for (size_t i = 0; i < sets.len && c.verdict == TC_GRAPH_CASE_PASSED; i++)
        run_data_set(&t, sets.data[i], &err);
    if (c.verdict != TC_GRAPH_CASE_PASSED)
        c.why = shorten(&t, err.msg);
    tc_vec_free(&sets);
    return c;
}
