/* Reads what a library's note says. The note may come from anybody, so nothing in it is believed: each number has a range, each
 * reference must lead to something, and numbers that are said twice must agree. What is wrong first is kept, with its place. */
#include "graph/saved/save_int.h"
#include "support/inputs.h"
#include "support/numbers.h"
#include "te/eval.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- readers ---- */

bool tc_graph_note_wrong(tc_graph_note *n, const char *fmt, ...) {
    size_t used = 0;
    va_list ap;
    if (n->why[0])
        return false;
    if (n->list)
        used = (size_t)snprintf(n->why, sizeof n->why, "%s[%d]: ", n->list, n->item);
    va_start(ap, fmt);
    tc_vsnprintf(n->why + used, sizeof n->why - used, fmt, ap);
    va_end(ap);
    return false;
}

bool tc_graph_note_int(tc_graph_note *n, const json_t *j, const char *what, int64_t least, int64_t most, int64_t *out) {
    *out = json_integer_value(j);
    if (json_is_integer(j) && least <= *out && *out <= most)
        return true;
    *out = least;
    return tc_graph_note_wrong(n, "'%s' must be an integer from %lld to %lld", what, (long long)least, (long long)most);
}

bool tc_graph_note_index(tc_graph_note *n, const json_t *j, const char *what, int least, int most, int *out) {
    int64_t v;
    bool ok = tc_graph_note_int(n, j, what, least, most, &v);
    *out = (int)v;
    return ok;
}

bool tc_graph_note_list(tc_graph_note *n, const json_t *j, const char *what, int *length) {
    *length = (int)json_array_size(j);
    return !j || json_is_array(j) || tc_graph_note_wrong(n, "'%s' must be a list", what);
}

bool tc_graph_note_text(tc_graph_note *n, const json_t *j, const char *what, const char **out) {
    *out = tc_arena_strdup(n->arena, json_is_string(j) ? json_string_value(j) : "");
    return json_is_string(j) || tc_graph_note_wrong(n, "'%s' must be a text", what);
}

/* A time, or a count of operations or bytes. */
static bool read_amount(tc_graph_note *n, const json_t *j, const char *what, double *out) {
    *out = json_number_value(j);
    return (json_is_number(j) && *out >= 0) || tc_graph_note_wrong(n, "'%s' must be a number from 0", what);
}

/* ---- how much there is ---- */

/* Lists and objects take several times the memory of a number. */
bool tc_graph_note_measure(tc_graph_note *n, const char *text) {
    enum { LIST = 4, OBJECT = 8 };
    const tc_json_amount has = tc_json_measure(text);
    int64_t values = 1 + has.members + LIST * has.lists + OBJECT * has.objects;
    if (strlen(text) >= TC_BYTES_NOTE)
        return tc_graph_note_wrong(n, "it is longer than %d bytes", TC_BYTES_NOTE);
    if (has.deepest > TC_DEPTH_NOTE)
        return tc_graph_note_wrong(n, "it nests %lld levels deep, and at most %d are read", (long long)has.deepest,
                                   TC_DEPTH_NOTE);
    if (values > TC_WORK_NOTE)
        return tc_graph_note_wrong(n, "it has %lld values, lists counted as %d and objects as %d, and at most %d are read",
                                   (long long)values, LIST, OBJECT, TC_WORK_NOTE);
    return true;
}

/* ---- inputs and outputs ---- */

static bool read_shape(tc_graph_note *n, const json_t *j, tc_graph_shape *s) {
    int ndim;
    if (!json_is_array(j) || !tc_graph_note_list(n, j, "shape", &ndim) || ndim > TC_GRAPH_MAX_DIMS)
        return tc_graph_note_wrong(n, "'shape' must be a list of at most %d integers", TC_GRAPH_MAX_DIMS);
    *s = (tc_graph_shape){.ndim = ndim};
    for (int d = 0; d < ndim; d++)
        if (!tc_graph_note_int(n, json_array_get(j, (size_t)d), "shape", 0, INT64_MAX, &s->d[d]))
            return false;
    return tc_graph_shape_check(s, NULL) == TC_OK || tc_graph_note_wrong(n, "'shape' has more than 2^59 elements");
}

static bool read_pair(tc_graph_note *n, const json_t *j, const char *what, int64_t least, int64_t most, int64_t pair[2]) {
    if (json_array_size(j) != 2)
        return tc_graph_note_wrong(n, "'%s' must be a list of two integers", what);
    return tc_graph_note_int(n, json_array_get(j, 0), what, least, most, &pair[0]) &&
           tc_graph_note_int(n, json_array_get(j, 1), what, least, most, &pair[1]);
}

/* Absent for floats in [-1, 1). Integers without it, in a library of an earlier version, are drawn from 0 and 1: every table has
 * two rows. */
static bool read_range(tc_graph_note *n, const json_t *j, tc_dtype t, tc_te_range *out) {
    bool is_float = tc_dtype_is_float(t);
    int64_t least = is_float ? INT32_MIN : tc_int_min(t), most = is_float ? INT32_MAX : tc_int_max(t);
    int64_t pair[2] = {0, is_float ? 0 : 2}, past = most < INT64_MAX ? most + 1 : most;
    if (j && (!read_pair(n, j, "drawn", least, past, pair) || pair[0] >= pair[1]))
        return tc_graph_note_wrong(n, "'drawn' must be a range of two integers, the smaller one first");
    *out = (tc_te_range){pair[0], pair[1]};
    return true;
}

/* Absent where the port is a buffer of its own. */
static bool read_shared(tc_graph_note *n, const json_t *j, tc_graph_port *p) {
    int64_t pair[2];
    if (!j)
        return true;
    if (!read_pair(n, j, "shared", 0, INT32_MAX - 1, pair))
        return false;
    if (pair[1] >= p->shape.ndim)
        return tc_graph_note_wrong(n, "'shared' names dimension %lld, but the shape has %d", (long long)pair[1], p->shape.ndim);
    p->shared = (int)pair[0] + 1;
    p->rows = (int)pair[1];
    return true;
}

/* By dimension: which port behind this one is its size. */
static bool read_extents(tc_graph_note *n, const json_t *j, int nport, tc_graph_port *p) {
    const char *key;
    json_t *v;
    if (j && !json_is_object(j))
        return tc_graph_note_wrong(n, "'sizes' must be an object");
    json_object_foreach((json_t *)(uintptr_t)j, key, v) {
        int d = key[0] - '0';
        if (key[0] == 0 || key[1] != 0 || d < 0 || d >= p->shape.ndim)
            return tc_graph_note_wrong(n, "'sizes' names dimension '%.20s', but the shape has %d", key, p->shape.ndim);
        if (!tc_graph_note_index(n, v, "sizes", n->item + 1, nport - 1, &p->extent[d]))
            return false;
    }
    return true;
}
_Static_assert(TC_GRAPH_MAX_DIMS <= 10, "a dimension is one digit");

static bool read_port(tc_graph_note *n, const json_t *j, int nport, tc_graph_port *p) {
    const char *type;
    if (!tc_graph_note_text(n, json_object_get(j, "name"), "name", &p->name) ||
        !tc_graph_note_text(n, json_object_get(j, "dtype"), "dtype", &type))
        return false;
    p->is_dense = json_is_true(json_object_get(j, "dense"));
    return (tc_dtype_parse(type, &p->dtype) || tc_graph_note_wrong(n, "there is no type '%.40s'", type)) &&
           read_shape(n, json_object_get(j, "shape"), &p->shape) &&
           read_range(n, json_object_get(j, "drawn"), p->dtype, &p->drawn) && read_shared(n, json_object_get(j, "shared"), p) &&
           read_extents(n, json_object_get(j, "sizes"), nport, p);
}

/* What is named as a size must be one. */
static bool check_extents(tc_graph_note *n, const tc_graph_port *ports, int nport) {
    for (n->item = 0; n->item < nport; n->item++)
        for (int d = 0; d < ports[n->item].shape.ndim; d++) {
            int at = ports[n->item].extent[d];
            if (at && (ports[at].dtype != TC_I64 || ports[at].shape.ndim != 0))
                return tc_graph_note_wrong(n, "%s[%d] is no size of its dimension %d: a size is one i64", n->list, at, d);
        }
    return true;
}

static bool read_ports(tc_graph_note *n, const json_t *all, const char *list, tc_graph_port **ports, int *nport) {
    const json_t *j = json_object_get(all, list);
    if (!json_is_array(j))
        return tc_graph_note_wrong(n, "'%s' must be a list", list);
    (void)tc_graph_note_list(n, j, list, nport);
    *ports = TC_NEW_N(n->arena, tc_graph_port, *nport);
    n->list = list;
    for (n->item = 0; n->item < *nport; n->item++)
        if (!read_port(n, json_array_get(j, (size_t)n->item), *nport, &(*ports)[n->item]))
            return false;
    bool ok = check_extents(n, *ports, *nport);
    n->list = NULL;
    return ok;
}

/* What an input says of the output that is the same buffer, the output says of the input; and the buffer holds both. */
static bool fits_shared(const tc_graph_model *m, bool is_in, int i) {
    const tc_graph_port *p = is_in ? &m->in[i] : &m->out[i];
    int at = p->shared - 1, d = p->rows;
    if (at >= (is_in ? m->nout : m->nin))
        return false;
    const tc_graph_port *other = is_in ? &m->out[at] : &m->in[at], *in = is_in ? p : other, *out = is_in ? other : p;
    if (other->shared != i + 1 || d != other->rows || in->dtype != out->dtype || out->is_dense ||
        in->shape.d[d] > out->shape.d[d])
        return false;
    tc_graph_shape room = in->shape;
    room.d[d] = out->shape.d[d];
    return tc_graph_shape_equal(&room, &out->shape);
}

static bool check_shared(tc_graph_note *n, const tc_graph_model *m) {
    for (int i = 0; i < m->nin; i++)
        if (m->in[i].shared && !fits_shared(m, true, i))
            return tc_graph_note_wrong(n, "inputs[%d]: 'shared' does not fit the output that it names", i);
    for (int i = 0; i < m->nout; i++)
        if (m->out[i].shared && !fits_shared(m, false, i))
            return tc_graph_note_wrong(n, "outputs[%d]: 'shared' does not fit the input that it names", i);
    return true;
}

/* The sizes of inputs stand in their ports and in the rules. */
static bool check_sized_inputs(tc_graph_note *n, const tc_graph_model *m) {
    const tc_graph_size_rules *r = &m->rules;
    for (int i = 0; i < m->nin; i++)
        for (int d = 0; d < m->in[i].shape.ndim; d++) {
            int at = m->in[i].extent[d], k = i < r->nin ? r->in[i].size[d] : -1;
            if (at && (k < 0 || at != r->nin + k))
                return tc_graph_note_wrong(n, "inputs[%d]: 'sizes' says of dimension %d what 'varying' does not", i, d);
        }
    return true;
}

/* ---- kernels and steps ---- */

/* Absent in libraries of earlier versions. */
static bool read_hash(tc_graph_note *n, const json_t *j, tc_digest *out) {
    const char *hex;
    *out = (tc_digest){0};
    if (!j)
        return true;
    if (!tc_graph_note_text(n, j, "workload", &hex))
        return false;
    if (strlen(hex) >= sizeof out->hex || hex[strspn(hex, "0123456789abcdef")] != 0)
        return tc_graph_note_wrong(n, "'workload' must be a hash of at most %zu hexadecimal digits", sizeof out->hex - 1);
    strcpy(out->hex, hex);
    return true;
}

static bool read_kernel(tc_graph_note *n, const json_t *j, tc_graph_kernel *k) {
    const json_t *bytes = json_object_get(j, "bytes"), *unit = json_object_get(j, "unit"), *record = json_object_get(j, "record");
    *k = (tc_graph_kernel){.symbol = "", .workload = "", .trace = "", .why = ""};
    if (!tc_graph_note_text(n, json_object_get(j, "name"), "name", &k->name) ||
        !tc_graph_note_text(n, json_object_get(j, "form"), "form", &k->form) ||
        !tc_graph_note_index(n, json_object_get(j, "count"), "count", 0, INT32_MAX, &k->count) ||
        !read_amount(n, json_object_get(j, "flops"), "flops", &k->flops) ||
        (bytes && !read_amount(n, bytes, "bytes", &k->bytes)) ||
        (record && !tc_graph_note_int(n, record, "record", 0, INT64_MAX, &k->record)) ||
        !read_hash(n, json_object_get(j, "workload"), &k->hash))
        return false;
    k->source = k->record > 0 ? TC_GRAPH_FROM_RECORD : TC_GRAPH_FROM_DEFAULT;
    k->unit = json_is_string(unit) ? tc_intrinsic_named(json_string_value(unit)) : NULL;
    return true;
}

static bool read_kernels(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    if (!tc_graph_note_list(n, j, "kernels", &m->nkernel))
        return false;
    m->kernels = TC_NEW_N(n->arena, tc_graph_kernel, m->nkernel);
    n->list = "kernels";
    for (n->item = 0; n->item < m->nkernel; n->item++)
        if (!read_kernel(n, json_array_get(j, (size_t)n->item), &m->kernels[n->item]))
            return false;
    n->list = NULL;
    return true;
}

static bool read_others(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    if (!tc_graph_note_list(n, j, "others", &m->nother))
        return false;
    m->others = TC_NEW_N(n->arena, tc_graph_other, m->nother);
    n->list = "others";
    for (n->item = 0; n->item < m->nother; n->item++) {
        const json_t *o = json_array_get(j, (size_t)n->item);
        tc_graph_other *x = &m->others[n->item];
        if (!tc_graph_note_text(n, json_object_get(o, "name"), "name", &x->name) ||
            !tc_graph_note_index(n, json_object_get(o, "count"), "count", 1, INT32_MAX, &x->count))
            return false;
    }
    n->list = NULL;
    return true;
}

/* Each is a kernel, or after those one of the others. */
static bool read_steps(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    if (!tc_graph_note_list(n, j, "steps", &m->nstep))
        return false;
    m->steps = TC_NEW_N(n->arena, tc_graph_step, m->nstep);
    n->list = "steps";
    for (n->item = 0; n->item < m->nstep; n->item++) {
        int what;
        if (!tc_graph_note_index(n, json_array_get(j, (size_t)n->item), "step", 0, m->nkernel + m->nother - 1, &what))
            return false;
        m->steps[n->item].task = what < m->nkernel ? what : -1;
        m->steps[n->item].other = what - m->nkernel;
    }
    n->list = NULL;
    return true;
}

/* Absent where no run is refused. */
static bool read_refusals(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    if (!tc_graph_note_list(n, j, "refusals", &m->nrefusal))
        return false;
    const char **texts = TC_NEW_N(n->arena, const char *, m->nrefusal + 1);
    for (int i = 0; i < m->nrefusal; i++)
        if (!tc_graph_note_text(n, json_array_get(j, (size_t)i), "refusals", &texts[i]))
            return false;
    m->refusals = texts;
    return true;
}

/* ---- all of it ---- */

bool tc_graph_is_identifier(const char *s) {
    return *s && strlen(s) < 256 && strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(s) &&
           !(*s >= '0' && *s <= '9');
}

/* How many of the last outputs are sizes of others; absent: none is. */
static bool read_shown(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    int sizes = 0;
    bool ok = !j || tc_graph_note_index(n, j, "sizes", 0, m->nout, &sizes);
    m->nshown = m->nout - sizes;
    return ok;
}

static bool read_whole(tc_graph_note *n, tc_graph_model *m, const json_t *j) {
    const json_t *stack = json_object_get(j, "stack"), *team = json_object_get(j, "team"); /* earlier versions told neither */
    const char *whose;
    int64_t bytes;
    if (!tc_graph_note_index(n, json_object_get(j, "threads"), "threads", 1, INT32_MAX, &m->threads) ||
        (stack && !tc_graph_note_int(n, stack, "stack", 0, INT64_MAX, &bytes)) ||
        (team && !tc_graph_note_text(n, team, "team", &whose)))
        return false;
    m->library.watched = json_is_true(json_object_get(j, "watched"));
    return true;
}

bool tc_graph_note_read(tc_graph_note *n, const json_t *j, tc_graph_model *m, const char **name, const char **target) {
    return tc_graph_note_text(n, json_object_get(j, "name"), "name", name) &&
           (tc_graph_is_identifier(*name) || tc_graph_note_wrong(n, "'name' must begin symbols of C")) &&
           tc_graph_note_text(n, json_object_get(j, "target"), "target", target) && read_whole(n, m, j) &&
           read_ports(n, j, "inputs", &m->in, &m->nin) && read_ports(n, j, "outputs", &m->out, &m->nout) && check_shared(n, m) &&
           read_shown(n, m, json_object_get(j, "sizes")) && read_kernels(n, m, json_object_get(j, "kernels")) &&
           read_others(n, m, json_object_get(j, "others")) && read_steps(n, m, json_object_get(j, "steps")) &&
           read_refusals(n, m, json_object_get(j, "refusals")) &&
           tc_graph_rules_from_json(n, json_object_get(j, "varying"), m->in, m->nin, &m->rules) && check_sized_inputs(n, m);
}
