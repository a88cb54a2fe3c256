/* ONNX import: file -> checked message -> typed, folded graph. The order is that of the messages a user wants to see: first
 * whether it is a model at all, then whether all of its operators are known, then types, then nodes one by one. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "graph/ir/budget.h"
#include "graph/ir/sizes.h"
#include "graph/onnx/import.h"
#include "graph/onnx/import_int.h"
#include "support/log.h"
#include "support/system/fs.h"

/* ONNX IR versions: opsets came with 3; 13 is the newest known (opsets 25 and 26 came with it). */
enum { IR_MIN = 1, IR_WITH_OPSETS = 3, IR_MAX = 13 };

/* ---- whole-model checks ---- */

bool tc_graph_import_default_domain(const char *domain) {
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static bool has_default_operator(const Onnx__GraphProto *g) {
    for (size_t i = 0; i < g->n_node; i++)
        if (tc_graph_import_default_domain(g->node[i]->domain))
            return true;
    return false;
}

static tc_status check_versions(tc_graph_importer *im, tc_error *err) {
    const Onnx__ModelProto *m = im->model;
    if (m->ir_version < IR_MIN || m->ir_version > IR_MAX)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "ONNX IR version %" PRId64 " is not supported (%d to %d are); export with an older version",
                         m->ir_version, IR_MIN, IR_MAX);
    int64_t opset = m->ir_version < IR_WITH_OPSETS ? 1 : 0;
    for (size_t i = 0; i < m->n_opset_import; i++)
        if (tc_graph_import_default_domain(m->opset_import[i]->domain))
            opset = m->opset_import[i]->version;
    if (opset == 0 && (m->n_opset_import == 0 || has_default_operator(im->proto)))
        return tc_fail(err, TC_BAD_INPUT, "the model does not say which opset it uses: the file is truncated or damaged");
    opset = opset ? opset : TC_GRAPH_OPSET_MAX;
    if (opset < TC_GRAPH_OPSET_MIN || opset > TC_GRAPH_OPSET_MAX)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "opset %" PRId64 " of the default domain is not supported (%d to %d are); export with opset_version=17",
                         opset, TC_GRAPH_OPSET_MIN, TC_GRAPH_OPSET_MAX);
    im->at.g->opset = (int)opset;
    if (im->proto->n_sparse_initializer)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "sparse initializers are not supported");
    return TC_OK;
}

/* Also an operator newer than the model's opset is unknown to it. */
int tc_graph_import_opset(const tc_graph_importer *im) {
    return im->scope ? im->scope->opset : im->at.root->opset;
}

/* Of the node's domain. A dot in a name stands behind a domain. */
static bool find_operator(const Onnx__NodeProto *n, tc_graph_op *op) {
    char name[128];
    if (!n->op_type || strchr(n->op_type, '.'))
        return false;
    if (tc_graph_import_default_domain(n->domain))
        return tc_graph_op_find(n->op_type, op);
    int len = snprintf(name, sizeof name, "%s.%s", n->domain, n->op_type);
    return len < (int)sizeof name && tc_graph_op_find(name, op);
}

bool tc_graph_import_known_operator(const tc_graph_importer *im, const Onnx__NodeProto *n, tc_graph_op *op) {
    return find_operator(n, op) && tc_graph_op_in_opset(*op, tc_graph_import_opset(im));
}

bool tc_graph_import_control(size_t i, tc_graph_import_op *out) {
    static const tc_graph_import_op flow[] = {{"If", 1, 1, 1}, {"Loop", 1, 2, -1}, {"Scan", 8, 1, -1}};
    if (i >= TC_LEN(flow))
        return tc_graph_import_sequence_op(i - TC_LEN(flow), out);
    *out = flow[i];
    return true;
}

bool tc_graph_import_is_if(const Onnx__NodeProto *n) {
    return n->op_type && tc_graph_import_default_domain(n->domain) && strcmp(n->op_type, "If") == 0;
}

bool tc_graph_import_is_loop(const Onnx__NodeProto *n) {
    return n->op_type && tc_graph_import_default_domain(n->domain) &&
           (strcmp(n->op_type, "Loop") == 0 || strcmp(n->op_type, "Scan") == 0);
}

/* "11:com.exampleNorm": of an operator or function. */
static const char *full_name(tc_strbuf *b, const char *domain, const char *name) {
    domain = tc_graph_import_default_domain(domain) ? "" : domain;
    tc_sb_clear(b);
    tc_sb_printf(b, "%zu:%s%s", strlen(domain), domain, name);
    return tc_sb_str(b);
}

/* Of two functions of one name the first is called. */
static void note_functions(tc_graph_importer *im) {
    tc_strbuf b = {0};
    for (size_t i = im->model->n_functions; i-- > 0;) {
        const Onnx__FunctionProto *f = im->model->functions[i];
        if (f->name)
            tc_map_puts(&im->functions, full_name(&b, f->domain, f->name), (uintptr_t)f);
    }
    tc_strbuf_free(&b);
}

/* The function of the model's own that n calls, or NULL. */
const Onnx__FunctionProto *tc_graph_import_called_function(const tc_graph_importer *im, const Onnx__NodeProto *n) {
    tc_strbuf b = {0};
    uintptr_t *f = im->functions.len && n->op_type ? tc_map_gets(&im->functions, full_name(&b, n->domain, n->op_type)) : NULL;
    tc_strbuf_free(&b);
    return f ? (const Onnx__FunctionProto *)*f : NULL;
}

/* Unknown operators, for a message. */
enum { SHOWN_OPERATORS = 8 };
typedef struct unknown_operators {
    tc_map count;                                  /* by full name */
    const Onnx__NodeProto *first[SHOWN_OPERATORS]; /* of each that is shown */
} unknown_operators;

static void note_unknown(unknown_operators *u, const Onnx__NodeProto *n) {
    tc_strbuf b = {0};
    const char *name = full_name(&b, n->domain, n->op_type ? n->op_type : "(no type)");
    uintptr_t *count = tc_map_gets(&u->count, name);
    if (count)
        ++*count;
    else if (u->count.len < SHOWN_OPERATORS)
        u->first[u->count.len] = n;
    if (!count)
        tc_map_puts(&u->count, name, 1);
    tc_strbuf_free(&b);
}

static const char *name_of(const Onnx__NodeProto *n) {
    return n->name && *n->name ? n->name : n->n_output ? n->output[0] : "(unnamed)";
}

static tc_status refuse_unknown(const tc_graph_importer *im, const unknown_operators *u, tc_error *err) {
    tc_strbuf b = {0}, others = {0};
    for (size_t k = 0; k < u->count.len && k < SHOWN_OPERATORS; k++) {
        const Onnx__NodeProto *n = u->first[k];
        tc_sb_printf(&b, "%s%s (domain %s, first in node '%s'; %zu in all)", k ? ", " : "", n->op_type ? n->op_type : "(no type)",
                     tc_graph_import_default_domain(n->domain) ? "ai.onnx" : n->domain, name_of(n),
                     (size_t)u->count.entries[k].value);
    }
    if (u->count.len > SHOWN_OPERATORS)
        tc_sb_printf(&others, ", and %zu others", u->count.len - SHOWN_OPERATORS);
    tc_status s =
        tc_refuse(err, TC_ERROR_UNSUPPORTED,
                  "operators that are not supported at opset %d: %s%s. docs/reference/operators.md lists the operators that are",
                  im->at.g->opset, tc_sb_str(&b), tc_sb_str(&others)); /* a long list is cut, but not how many it has */
    tc_strbuf_free(&b);
    tc_strbuf_free(&others);
    return s;
}

/* All unknown operators at once: each with its domain, count and first node. */
static tc_status check_operators(tc_graph_importer *im, tc_error *err) {
    unknown_operators u = {0};
    const Onnx__GraphProto *p = im->proto;
    tc_graph_op op;
    for (size_t i = 0; i < p->n_node; i++) {
        const Onnx__NodeProto *n = p->node[i];
        if (!tc_graph_import_known_operator(im, n, &op) && !tc_graph_import_is_if(n) && !tc_graph_import_is_loop(n) &&
            !tc_graph_import_is_sequence_operator(im, n) && !tc_graph_import_called_function(im, n))
            note_unknown(&u, n);
    }
    tc_status s = u.count.len ? refuse_unknown(im, &u, err) : TC_OK;
    tc_map_free(&u.count);
    return s;
}

tc_status tc_graph_import_duplicate(const char *name, const char *what, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the name '%s' is given twice (%s); every value of an ONNX graph has one source", name,
                   what);
}

/* Every value is made once. */
static tc_status name_producers(tc_graph_importer *im, tc_error *err) {
    const Onnx__GraphProto *p = im->proto;
    for (size_t i = 0; i < p->n_node; i++)
        for (size_t k = 0; k < p->node[i]->n_output; k++) {
            const char *name = p->node[i]->output[k];
            if (*name && !tc_map_puts(&im->producers, name, 1))
                return tc_graph_import_duplicate(name, "as the output of two nodes", err);
        }
    return TC_OK;
}

/* ---- initializers and inputs ---- */

tc_status tc_graph_import_initializer(tc_graph_importer *im, Onnx__TensorProto *p, const char *name, tc_error *err) {
    tc_graph_tensor t;
    TC_TRY(tc_onnx_read_tensor(p, im->dir, true, &t, err));
    tc_graph_budget_grow(im->at.g->budget, tc_graph_tensor_bytes(&t));
    tc_graph_add_constant(im->at.g, name, &t);
    return TC_OK;
}

static tc_status add_initializers(tc_graph_importer *im, tc_error *err) {
    Onnx__GraphProto *p = im->proto;
    for (size_t i = 0; i < p->n_initializer; i++) {
        const char *name = p->initializer[i]->name;
        if (!name || !*name)
            return tc_fail(err, TC_BAD_INPUT, "initializer %zu has no name", i);
        if (tc_graph_find_value(im->at.g, name) || tc_map_gets(&im->producers, name))
            return tc_graph_import_duplicate(name, "an initializer", err);
        TC_TRY(tc_graph_import_initializer(im, p->initializer[i], name, err));
    }
    return TC_OK;
}

/* An output for each element of the list, or of the sequence that the optional holds. */
static tc_status add_list_output(tc_graph_importer *im, const char *name, const tc_graph_value *v, tc_error *err) {
    const tc_graph_sequence *s = v->sequence;
    if (s->optional && s->n && s->v[0]->sequence)
        return add_list_output(im, name, s->v[0], err);
    if (s->rows)
        return tc_refuse(
            err, TC_ERROR_NOT_CONSTANT,
            "the number of elements of the graph's output '%s' depends on data; it must be known when the model is imported",
            name);
    for (size_t i = 0; i < s->n; i++) {
        const char *item = tc_arena_printf(im->at.g->arena, "%s[%zu]", name, i);
        if (s->v[i]->sequence)
            TC_TRY(add_list_output(im, item, s->v[i], err));
        else
            tc_graph_add_output(im->at.g, item, s->v[i]);
    }
    return TC_OK;
}

static tc_status add_outputs(tc_graph_importer *im, tc_error *err) {
    const Onnx__GraphProto *p = im->proto;
    if (p->n_output == 0)
        return tc_fail(err, TC_BAD_INPUT, "the graph has no outputs");
    for (size_t i = 0; i < p->n_output; i++) {
        const char *name = p->output[i]->name ? p->output[i]->name : "";
        tc_graph_value *v = tc_graph_find_value(im->at.g, name);
        if (!v)
            return tc_fail(err, TC_BAD_INPUT, "no node makes the graph's output '%s'", name);
        if (v->sequence && im->opts && im->opts->list_outputs) {
            TC_TRY(add_list_output(im, name, v, err));
            continue;
        }
        if (v->sequence)
            return tc_refuse(
                err, TC_ERROR_UNSUPPORTED,
                "the graph's output '%s' is a sequence or optional (of %zu elements%s): a model gives tensors only; export it "
                "with the elements as outputs, or with them concatenated",
                name, v->sequence->n, v->sequence->rows ? " and more" : "");
        tc_graph_add_output(im->at.g, name, v);
    }
    tc_graph_add_sizes(im->at.g);
    return TC_OK;
}

/* ---- entry ---- */

/* What a branch relies on may be needed by nodes behind it. What they fail for, as what the branch gives is not there, says
 * nothing. */
static void look_behind(tc_graph_importer *im, size_t failed) {
    tc_graph_sizes *sizes = im->at.root->sizes;
    if (!sizes || !sizes->wanted.x)
        return;
    for (size_t i = failed + 1; i < im->proto->n_node && !sizes->again && !im->at.root->budget->is_over; i++) {
        tc_error unread = {0};
        (void)!tc_graph_import_node(im, im->proto->node[i], &unread);
    }
    tc_graph_sizes_find_wanted(sizes);
    if (!sizes->again && !sizes->guards)
        sizes->again = sizes->guards = true;
}

static tc_status add_nodes(tc_graph_importer *im, tc_error *err) {
    for (size_t i = 0; i < im->proto->n_node; i++) {
        tc_status s = tc_graph_import_node(im, im->proto->node[i], err);
        if (s == TC_OK)
            continue;
        look_behind(im, i);
        return s;
    }
    return TC_OK;
}

static tc_status fill_graph(tc_graph_importer *im, tc_error *err) {
    TC_TRY(check_versions(im, err));
    TC_TRY(check_operators(im, err));
    TC_TRY(name_producers(im, err));
    im->at.g->reserved = &im->producers;
    TC_TRY(add_initializers(im, err));
    TC_TRY(tc_graph_import_inputs(im, err));
    TC_TRY(tc_graph_import_sort(im->model, err));
    TC_TRY(add_nodes(im, err));
    TC_TRY(add_outputs(im, err));
    if (im->at.root->sizes)
        tc_graph_sizes_find_ends(im->at.root->sizes);
    tc_graph_simplify(im->at.g);
    return tc_graph_check_budget(im->at.g, err);
}

/* What would help is said where sizes are import's own assumption. */
static void explain_failure(const char *path, const tc_graph_sizes *known, tc_error *err) {
    tc_strbuf assumed = {0};
    if (known)
        tc_graph_sizes_print_assumed(&assumed, known);
    if (assumed.len)
        tc_error_prefix(err, "with the sizes %s, which are assumed and can be given with --shape NAME=LEAST..MOST or NAME=SIZE: ",
                        tc_sb_str(&assumed));
    tc_error_prefix(err, "%s: ", path);
    tc_strbuf_free(&assumed);
}

/* The bytes of the model's file; weights beside it are added as they are read. */
static uint64_t bytes_of_file(const char *path, const tc_graph_import_options *opts) {
    struct stat st;
    if (opts && opts->bytes)
        return opts->nbytes;
    return stat(path, &st) == 0 && st.st_size > 0 ? (uint64_t)st.st_size : 0;
}

/* The graph and its bodies are made. */
static void leave_budget(tc_graph *g) {
    g->budget = NULL;
    for (size_t i = 0; i < g->bodies.len; i++)
        leave_budget(g->bodies.data[i]);
}

/* known: of symbols, by an attempt before; after it, by this one, if that is to be followed by another. */
static tc_status import_once(const char *path, const tc_graph_import_options *opts, tc_graph_budget *budget,
                             tc_graph_sizes **known, tc_graph **out, tc_error *err) {
    tc_graph_importer im = {.opts = opts, .at = {.path = path}};
    tc_graph_sizes *before = *known;
    *known = NULL;
    bool in_memory = opts && opts->bytes;
    budget->model_bytes = 0;
    tc_graph_budget_grow(budget, bytes_of_file(path, opts));
    tc_status s = in_memory ? tc_onnx_read_bytes(opts->bytes, opts->nbytes, path, NULL, &im.model, err)
                            : tc_onnx_read_model(path, NULL, &im.model, err);
    if (s != TC_OK) {
        tc_graph_sizes_free(before);
        return s;
    }
    im.proto = im.model->graph;
    im.at.g = im.at.root = tc_graph_new(path);
    note_functions(&im);
    im.at.g->sizes = before;
    im.at.g->budget = budget;
    im.takes_other = before && before->takes_other;
    im.at.g->in_place_cache = opts && opts->in_place_cache;
    if (im.proto->name && *im.proto->name)
        im.at.g->name = tc_arena_strdup(im.at.g->arena, im.proto->name);
    im.used_shapes = tc_xcalloc(opts ? opts->nshapes + 1 : 1, sizeof *im.used_shapes);
    im.used_fixed = tc_xcalloc(opts ? opts->nfixed + 1 : 1, sizeof *im.used_fixed);
    char *dir = in_memory ? NULL : tc_fs_dirname(path);
    im.dir = opts && opts->folder ? opts->folder : dir;
    s = tc_graph_spend(budget, TC_GRAPH_BUDGET_ATTEMPTS, 1, err);
    if (s == TC_OK)
        s = tc_graph_spend(budget, TC_GRAPH_BUDGET_NODES, im.proto->n_input, err); /* each input may begin another attempt */
    if (s == TC_OK)
        s = fill_graph(&im, err);
    leave_budget(im.at.g);
    im.at.g->reserved = NULL;
    tc_map_free(&im.producers);
    tc_map_free(&im.functions);
    tc_map_free(&im.places);
    tc_map_free(&im.body_constants);
    free(im.used_shapes);
    free(im.used_fixed);
    free(dir);
    onnx__model_proto__free_unpacked(im.model, NULL);
    for (size_t i = 0; i < im.notes.len && s == TC_OK && !(im.at.root->sizes && im.at.root->sizes->again); i++)
        tc_log(TC_LOG_WARN, "%s: %s", path, im.notes.data[i]);
    tc_vec_free(&im.notes);
    bool may_go_on = s != TC_OK && !budget->is_over && im.at.root->sizes && !im.at.root->sizes->again;
    if (may_go_on)
        tc_graph_sizes_reconsider(im.at.root->sizes);
    if (may_go_on && im.chose && !im.takes_other && !im.at.root->sizes->again) {
        explain_failure(path, im.at.root->sizes, err); /* which is said if the other branches do not fit, either */
        im.at.root->sizes->again = im.at.root->sizes->takes_other = true;
    }
    const tc_graph_sizes *sizes = im.at.root->sizes;
    bool again = sizes && sizes->again && !budget->is_over; /* also where there was another way than what failed then */
    if (s == TC_OK && !again) {
        *out = im.at.root;
        return TC_OK;
    }
    if (again)
        *known = tc_graph_sizes_take(im.at.root);
    else
        explain_failure(path, im.at.root->sizes, err);
    tc_graph_free(im.at.root);
    return s;
}

tc_status tc_graph_import(const char *path, const tc_graph_import_options *opts, tc_graph **out, tc_error *err) {
    double start = tc_now();
    tc_graph_sizes *known = NULL;
    tc_graph_budget budget = {0};
    tc_error first = {0};
    bool others = false; /* first: the failure without them */
    tc_status s;
    *out = NULL;
    do { /* ends: each attempt leaves a symbol fewer that is free, or fewer sizes of one, or relies on a limit more */
        s = import_once(path, opts, &budget, &known, out, err);
        if (known && known->takes_other && !others && err)
            first = *err;
        others |= known && known->takes_other;
    } while (known);
    if (s != TC_OK && others && !budget.is_over && err)
        *err = first;
    if (s == TC_OK)
        tc_log(TC_LOG_INFO, "imported %s: %zu nodes in %.2f s", path, (*out)->nodes.len, tc_now() - start);
    return s;
}
