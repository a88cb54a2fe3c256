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

static bool same_domain(const char *a, const char *b) {
    return tc_graph_import_default_domain(a) ? tc_graph_import_default_domain(b) : b && strcmp(a, b) == 0;
}

/* The function of the model's own that n calls, or NULL. */
const Onnx__FunctionProto *tc_graph_import_called_function(const tc_graph_importer *im, const Onnx__NodeProto *n) {
    for (size_t i = 0; i < im->model->n_functions; i++) {
        const Onnx__FunctionProto *f = im->model->functions[i];
        if (n->op_type && f->name && strcmp(f->name, n->op_type) == 0 && same_domain(f->domain, n->domain))
            return f;
    }
    return NULL;
}

/* All unknown operators at once: each with its domain, count and first node. */
static tc_status check_operators(tc_graph_importer *im, tc_error *err) {
    tc_map counts = {0};
    tc_strbuf b = {0};
    const Onnx__GraphProto *p = im->proto;
    tc_graph_op op;
    for (size_t i = 0; i < p->n_node; i++) {
        const Onnx__NodeProto *n = p->node[i];
        if (tc_graph_import_known_operator(im, n, &op) || tc_graph_import_is_if(n) || tc_graph_import_is_loop(n) ||
            tc_graph_import_is_sequence_operator(im, n) || tc_graph_import_called_function(im, n))
            continue;
        const char *domain = tc_graph_import_default_domain(n->domain) ? "ai.onnx" : n->domain;
        const char *key =
            tc_arena_printf(im->at.g->arena, "%s (domain %s, first in node '%s'", n->op_type ? n->op_type : "(no type)", domain,
                            n->name && *n->name ? n->name
                            : n->n_output       ? n->output[0]
                                                : "(unnamed)");
        size_t head = strcspn(key, ",");
        bool seen = false;
        for (size_t k = 0; k < counts.len && !seen; k++)
            if (strncmp(counts.entries[k].str, key, head + 1) == 0) {
                counts.entries[k].value++;
                seen = true;
            }
        if (!seen)
            tc_map_puts(&counts, key, 1);
    }
    for (size_t k = 0; k < counts.len && k < 8; k++)
        tc_sb_printf(&b, "%s%s; %zu in all)", k ? ", " : "", counts.entries[k].str, (size_t)counts.entries[k].value);
    tc_status s = TC_OK;
    if (counts.len)
        s = tc_refuse(
            err, TC_ERROR_UNSUPPORTED,
            "operators that are not supported at opset %d: %s. docs/reference/operators.md lists the operators that are",
            im->at.g->opset, tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_map_free(&counts);
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
    for (size_t i = failed + 1; i < im->proto->n_node && !sizes->again; i++) {
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
    return TC_OK;
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

/* known: of symbols, by an attempt before; after it, by this one, if that is to be followed by another. */
static tc_status import_once(const char *path, const tc_graph_import_options *opts, tc_graph_sizes **known, tc_graph **out,
                             tc_error *err) {
    tc_graph_importer im = {.opts = opts, .at = {.path = path}};
    tc_graph_sizes *before = *known;
    *known = NULL;
    bool in_memory = opts && opts->bytes;
    tc_status s = in_memory ? tc_onnx_read_bytes(opts->bytes, opts->nbytes, path, NULL, &im.model, err)
                            : tc_onnx_read_model(path, NULL, &im.model, err);
    if (s != TC_OK) {
        tc_graph_sizes_free(before);
        return s;
    }
    im.proto = im.model->graph;
    im.at.g = im.at.root = tc_graph_new(path);
    im.at.g->sizes = before;
    im.takes_other = before && before->takes_other;
    im.at.g->in_place_cache = opts && opts->in_place_cache;
    if (im.proto->name && *im.proto->name)
        im.at.g->name = tc_arena_strdup(im.at.g->arena, im.proto->name);
    im.used_shapes = tc_xcalloc(opts ? opts->nshapes + 1 : 1, sizeof *im.used_shapes);
    im.used_fixed = tc_xcalloc(opts ? opts->nfixed + 1 : 1, sizeof *im.used_fixed);
    char *dir = in_memory ? NULL : tc_fs_dirname(path);
    im.dir = opts && opts->folder ? opts->folder : dir;
    s = fill_graph(&im, err);
    im.at.g->reserved = NULL;
    tc_map_free(&im.producers);
    tc_map_free(&im.body_constants);
    free(im.used_shapes);
    free(im.used_fixed);
    free(dir);
    onnx__model_proto__free_unpacked(im.model, NULL);
    for (size_t i = 0; i < im.notes.len && s == TC_OK && !(im.at.root->sizes && im.at.root->sizes->again); i++)
        tc_log(TC_LOG_WARN, "%s: %s", path, im.notes.data[i]);
    tc_vec_free(&im.notes);
    if (s != TC_OK && im.at.root->sizes && !im.at.root->sizes->again)
        tc_graph_sizes_reconsider(im.at.root->sizes);
    if (s != TC_OK && im.chose && !im.takes_other && !im.at.root->sizes->again) {
        explain_failure(path, im.at.root->sizes, err); /* which is said if the other branches do not fit, either */
        im.at.root->sizes->again = im.at.root->sizes->takes_other = true;
    }
    bool again = im.at.root->sizes && im.at.root->sizes->again; /* also where there was another way than what failed then */
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
    tc_error first = {0};
    bool others = false; /* first: the failure without them */
    tc_status s;
    *out = NULL;
    do { /* ends: each attempt leaves a symbol fewer that is free, or fewer sizes of one, or relies on a limit more */
        s = import_once(path, opts, &known, out, err);
        if (known && known->takes_other && !others && err)
            first = *err;
        others |= known && known->takes_other;
    } while (known);
    if (s != TC_OK && others && err)
        *err = first;
    if (s == TC_OK)
        tc_log(TC_LOG_INFO, "imported %s: %zu nodes in %.2f s", path, (*out)->nodes.len, tc_now() - start);
    return s;
}
