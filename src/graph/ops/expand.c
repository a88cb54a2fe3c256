/* The interpreter of expansions.txt, which states the language: it runs the texts that expand_read.c has read. */
#include <inttypes.h>
#include <string.h>

#include "graph/ir/budget.h"
#include "graph/ops/expand_syntax.h"
#include "graph/ops/functions.h"

enum { MAX_LEVEL = 16 };

typedef tc_graph_term term;
typedef tc_graph_syntax syntax;
typedef tc_graph_scan scan;

typedef struct frame {
    tc_graph_emitter *e;
    const tc_graph_text *t;
    term *local; /* [nlocals] */
    int level;   /* of calls */
} frame;

static const term nothing = {.kind = TC_GRAPH_NOTHING};

bool tc_graph_term_holds(const term *a) {
    switch (a->kind) {
    case TC_GRAPH_NOTHING:
        return false;
    case TC_GRAPH_INT:
        return a->i != 0;
    case TC_GRAPH_FLOAT:
        return a->f != 0;
    case TC_GRAPH_TEXT:
        return *a->text;
    case TC_GRAPH_LIST:
        return a->n > 0;
    case TC_GRAPH_VALUE:
    case TC_GRAPH_DTYPE:
        return true;
    }
    return false;
}

/* A mistake of the text at s; the first failure stays. */
static term mistake(frame *f, const syntax *s, const char *fmt, ...) TC_PRINTF(3, 4);
static term mistake(frame *f, const syntax *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (f->e->status == TC_OK)
        f->e->status = tc_graph_text_fail(f->t->x, s->at, f->e->c->err, fmt, ap);
    va_end(ap);
    return nothing;
}

static term run(frame *f, const syntax *s);

/* ---- arithmetic ---- */

static bool is_number(const term *a) {
    return a->kind == TC_GRAPH_INT || a->kind == TC_GRAPH_FLOAT;
}

static term of_values(frame *f, const syntax *s, tc_graph_op op, term a, term b) {
    tc_graph_value *like = a.kind == TC_GRAPH_VALUE ? a.v : b.v;
    if ((a.kind != TC_GRAPH_VALUE && !is_number(&a)) || (b.kind != TC_GRAPH_VALUE && !is_number(&b)))
        return mistake(f, s, "an operand is neither a value nor a number");
    if (is_number(&a))
        a.v = tc_graph_term_scalar(f->e, like->dtype, &a);
    if (is_number(&b))
        b.v = tc_graph_term_scalar(f->e, like->dtype, &b);
    return tc_graph_term_value(tc_graph_em_op(f->e, op, a.v, b.v));
}

static term joined(frame *f, term a, term b) {
    tc_graph_emitter *e = f->e;
    e->status = tc_graph_want_bytes(e->c->g, (double)(a.n + b.n) * sizeof(term), e->c->err);
    if (e->status != TC_OK)
        return nothing;
    term r = {.kind = TC_GRAPH_LIST, .n = a.n + b.n, .list = TC_NEW_N(e->c->g->arena, term, a.n + b.n + 1)};
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = i < a.n ? a.list[i] : b.list[i - a.n];
    return r;
}

tc_status tc_graph_term_refuse(tc_graph_emitter *e) {
    return tc_graph_node_refuse(e->c, TC_ERROR_DATA_DEPENDENT,
                                "a size of an operand varies, but this operator needs it to be known when the model is imported; "
                                "give a single size with --shape");
}

tc_graph_value *tc_graph_term_scalar(tc_graph_emitter *e, tc_dtype t, const term *a) {
    bool whole = a->kind == TC_GRAPH_INT && tc_dtype_is_int(t);
    return a->size ? tc_graph_em_cast(e, a->size, t)
           : whole ? tc_graph_em_ints(e, t, &(tc_graph_shape){0}, &a->i)
                   : tc_graph_em_scalar(e, t, tc_graph_term_number(a));
}

/* The numbers may be the model's. */
term tc_graph_term_arithmetic(tc_graph_emitter *e, char sign, tc_graph_op op, const term *x, const term *y) {
    int64_t a = x->i, b = y->i, r = 0;
    bool fits = sign == '+'   ? !__builtin_add_overflow(a, b, &r)
                : sign == '-' ? !__builtin_sub_overflow(a, b, &r)
                : sign == '*' ? !__builtin_mul_overflow(a, b, &r)
                : sign == '<' ? (r = TC_MIN(a, b), true)
                : sign == '>' ? (r = TC_MAX(a, b), true)
                              : b != 0 && !(b == -1 && a == INT64_MIN);
    if (!fits) {
        e->status = tc_graph_node_fail(e->c, "%" PRId64 " %c %" PRId64 " is no integer of 64 bits", a, sign, b);
        return nothing;
    }
    term result = tc_graph_term_int(sign == '/' ? a / b : sign == '%' ? a % b : r);
    if (x->size || y->size) {
        tc_graph_number n = tc_graph_em_known(e, tc_graph_em_op(e, op, tc_graph_term_size(e, x), tc_graph_term_size(e, y)));
        result.size = n.constant ? NULL : n.value;
        result.i = n.constant ? n.most : result.i;
    }
    return result;
}

static term arithmetic(frame *f, const syntax *s, char op, tc_graph_op value_op, term a, term b) {
    if (f->e->status != TC_OK)
        return nothing;
    if (a.kind == TC_GRAPH_VALUE || b.kind == TC_GRAPH_VALUE)
        return of_values(f, s, value_op, a, b);
    if (op == '+' && a.kind == TC_GRAPH_LIST && b.kind == TC_GRAPH_LIST)
        return joined(f, a, b);
    if (!is_number(&a) || !is_number(&b))
        return mistake(f, s, "an operand is no number");
    double x = tc_graph_term_number(&a), y = tc_graph_term_number(&b);
    bool is_float = a.kind == TC_GRAPH_FLOAT || b.kind == TC_GRAPH_FLOAT;
    if (is_float && (a.size || b.size)) {
        f->e->status = tc_graph_term_refuse(f->e);
        return nothing;
    }
    if (is_float)
        return tc_graph_term_float(op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y);
    return tc_graph_term_arithmetic(f->e, op, value_op, &a, &b);
}

static bool same(const term *a, const term *b) {
    if (is_number(a) && is_number(b))
        return a->kind == TC_GRAPH_INT && b->kind == TC_GRAPH_INT ? a->i == b->i
                                                                  : tc_graph_term_number(a) == tc_graph_term_number(b);
    if (a->kind != b->kind)
        return false;
    bool equal = a->n == b->n;
    for (int64_t i = 0; a->kind == TC_GRAPH_LIST && equal && i < a->n; i++)
        equal = same(&a->list[i], &b->list[i]);
    return a->kind == TC_GRAPH_TEXT    ? strcmp(a->text, b->text) == 0
           : a->kind == TC_GRAPH_DTYPE ? a->dtype == b->dtype
           : a->kind == TC_GRAPH_VALUE ? a->v == b->v
                                       : equal;
}

static term compared(frame *f, const syntax *s, const term *a, const term *b) {
    const char *sign = s->sign->text;
    if (sign[1] == '=' && (*sign == '=' || *sign == '!'))
        return tc_graph_term_int(same(a, b) == (*sign == '='));
    if (!is_number(a) || !is_number(b))
        return mistake(f, s, "numbers are compared; of values, Less and Equal are");
    double x = tc_graph_term_number(a), y = tc_graph_term_number(b);
    return tc_graph_term_int((*sign == '<' ? x < y : x > y) || (sign[1] == '=' && x == y));
}

/* What follows `and` or `or` is run only where it counts. */
static term run_sign(frame *f, const syntax *s) {
    tc_graph_binds binds = s->sign->binds;
    term a = run(f, s->part[0]);
    if (binds <= TC_GRAPH_ALL)
        return tc_graph_term_holds(&a) == (binds == TC_GRAPH_ALL) ? run(f, s->part[1]) : a;
    term b = run(f, s->part[1]);
    return binds == TC_GRAPH_COMPARED ? compared(f, s, &a, &b) : arithmetic(f, s, *s->sign->text, s->sign->op, a, b);
}

/* ---- calls ---- */

static term list_of(frame *f, const term *v, int64_t n) {
    return (term){.kind = TC_GRAPH_LIST, .n = n, .list = tc_arena_dup(f->e->c->g->arena, v, (size_t)n * sizeof *v)};
}

static term *run_parts(frame *f, const syntax *s) {
    term *v = TC_NEW_N(f->e->c->g->arena, term, s->n);
    for (int k = 0; k < s->n; k++)
        v[k] = run(f, s->part[k]);
    return v;
}

static void set_attribute(frame *f, const syntax *s, tc_graph_node *n, tc_graph_attr_id id, term v) {
    tc_graph *g = f->e->c->g;
    tc_graph_attr_kind kind = tc_graph_attr_kind_of(id);
    if (kind == TC_GRAPH_ATTR_INT && v.kind == TC_GRAPH_INT)
        tc_graph_set_int(g, n, id, v.i);
    else if (kind == TC_GRAPH_ATTR_INT && v.kind == TC_GRAPH_DTYPE)
        tc_graph_set_int(g, n, id, tc_graph_dtype_to_onnx(v.dtype));
    else if (kind == TC_GRAPH_ATTR_FLOAT && is_number(&v))
        tc_graph_set_float(g, n, id, tc_graph_term_number(&v));
    else if (kind == TC_GRAPH_ATTR_STRING && v.kind == TC_GRAPH_TEXT)
        tc_graph_set_str(g, n, id, v.text);
    else if (kind == TC_GRAPH_ATTR_INTS && v.kind == TC_GRAPH_LIST)
        tc_graph_set_ints(g, n, id, tc_graph_term_ints(f->e, &v), (size_t)v.n);
    else if (v.kind != TC_GRAPH_NOTHING)
        mistake(f, s, "attribute %s is not %s", tc_graph_attr_name(id), tc_graph_attr_kind_name(kind));
}

/* The node's operands; a number has the type of the first value that is not bool. */
static tc_graph_value **operands(frame *f, const syntax *s, const term *arg) {
    tc_graph_value **in = TC_NEW_N(f->e->c->g->arena, tc_graph_value *, s->n + 1), *like = NULL;
    for (int k = 0; k < s->n && !like; k++)
        like = arg[k].kind == TC_GRAPH_VALUE && arg[k].v->dtype != TC_BOOL ? arg[k].v : NULL;
    for (int k = 0; k < s->n; k++) {
        if (arg[k].kind == TC_GRAPH_VALUE)
            in[k] = arg[k].v;
        else if (is_number(&arg[k]) && like)
            in[k] = tc_graph_term_scalar(f->e, like->dtype, &arg[k]);
        else if (arg[k].kind != TC_GRAPH_NOTHING)
            mistake(f, s, "operand %d is no value", k);
    }
    return in;
}

static term run_operator(frame *f, const syntax *s) {
    const tc_graph_syntax_attributes *a = s->attributes;
    term v[TC_GRAPH_MAX_ATTRS], made[TC_GRAPH_MAX_RESULTS], *arg;
    tc_graph_value *out[TC_GRAPH_MAX_RESULTS];
    for (int i = 0; a && i < a->n; i++)
        v[i] = run(f, a->v[i]);
    arg = run_parts(f, s);
    tc_graph_value **in = operands(f, s, arg);
    if (f->e->status != TC_OK)
        return nothing;
    for (int i = 0; a && i < a->n; i++)
        if (a->id[i] == TC_ATTR_axes && v[i].n == 0) /* along no axes */
            return arg[0];
    tc_graph_node *n = s->op == TC_GRAPH_OP_COUNT ? tc_graph_em_copy(f->e, in, s->n) : tc_graph_em_node(f->e, s->op, in, s->n);
    if (a && a->window)
        tc_graph_em_copy_window(f->e, n);
    for (int i = 0; a && i < a->n; i++)
        set_attribute(f, s, n, a->id[i], v[i]);
    if (s->i == 1)
        return tc_graph_term_value(tc_graph_em_place(f->e, n));
    tc_graph_em_place_all(f->e, n, out, s->i);
    for (int k = 0; k < s->i; k++)
        made[k] = tc_graph_term_value(out[k]);
    return list_of(f, made, s->i);
}

static bool fits(char takes, const term *a) {
    switch (takes) {
    case 'v':
        return a->kind == TC_GRAPH_VALUE;
    case 'o':
        return a->kind == TC_GRAPH_VALUE || a->kind == TC_GRAPH_NOTHING;
    case 'i':
        return a->kind == TC_GRAPH_INT;
    case 'n':
        return is_number(a);
    case 'l':
        return a->kind == TC_GRAPH_LIST;
    case 'd':
        return a->kind == TC_GRAPH_DTYPE;
    case 't':
        return a->kind == TC_GRAPH_TEXT;
    default:
        return true;
    }
}

static term run_function(frame *f, const syntax *s) {
    term arg[TC_GRAPH_MAX_PARTS] = {{0}};
    const char *takes = s->function->takes;
    for (int k = 0; k < s->n; k++, takes++) {
        takes += *takes == '|';
        arg[k] = run(f, s->part[k]);
        if (!fits(*takes, &arg[k]))
            mistake(f, s, "argument %d of %s is of another kind", k + 1, s->function->name);
    }
    return f->e->status == TC_OK ? s->function->run(f->e, arg) : nothing;
}

/* ---- texts ---- */

static tc_status want_type(tc_graph_infer_ctx *c, const tc_graph_text *t, int k) {
    const tc_graph_value *v = tc_graph_in(c, k);
    switch (t->in[k].type) {
    case TC_GRAPH_ANY_TYPE:
        return TC_OK;
    case TC_GRAPH_FLOAT_TYPE:
        return tc_graph_want_float(c, k);
    case TC_GRAPH_BYTE_TYPE:
        if (!v || v->dtype == TC_U8 || v->dtype == TC_I8)
            return TC_OK;
        return tc_graph_node_fail(c, "input %d ('%s') must be u8 or i8, but is %s", k, v->name, tc_dtype_name(v->dtype));
    case TC_GRAPH_LIKE_TYPE:
        return tc_graph_want_same_type(c, t->in[k].like, k);
    }
    return TC_OK;
}

/* Input k of the node is what the text says of it. */
static tc_status want_input(tc_graph_infer_ctx *c, const tc_graph_text *t, int k) {
    if (!t->in[k].optional && !t->in[k].rest)
        TC_TRY(tc_graph_want_input(c, k));
    return want_type(c, t, k);
}

/* The inputs or arguments get their names. */
static void bind(frame *f, const syntax *s, const term *arg, int n) {
    const tc_graph_text *t = f->t;
    for (int k = 0; k < t->nin && f->e->status == TC_OK; k++) {
        term *own = &f->local[t->nattrs + k];
        if (t->in[k].rest) {
            *own = list_of(f, arg + TC_MIN(k, n), TC_MAX(n - k, 0));
            n = k + 1;
        } else {
            *own = k < n ? arg[k] : nothing;
        }
        if (t->is_operator)
            f->e->status = want_input(f->e->c, t, k);
        else if (!t->in[k].optional && k >= n)
            mistake(f, s, "argument %d is missing", k);
    }
    if (n > t->nin)
        mistake(f, s, "there are %d arguments too many", n - t->nin);
}

static void open_frame(frame *f, tc_graph_emitter *e, const tc_graph_text *t, int level) {
    *f = (frame){.e = e, .t = t, .level = level, .local = TC_NEW_N(e->c->g->arena, term, t->nlocals + 1)};
}

/* The outputs of the text that s calls, in e's graph; a list where it has several. */
static term call_text(frame *f, tc_graph_emitter *e, const syntax *s, const term *arg, int n) {
    term out[TC_GRAPH_MAX_RESULTS + 1];
    frame own;
    if (f->level == MAX_LEVEL)
        return mistake(f, s, "calls are nested too deeply");
    if (f->e->status != TC_OK || e->status != TC_OK) /* an argument has failed */
        return nothing;
    const tc_graph_text *t = tc_graph_text_at(e->c->g, s->i, &e->status, e->c->err);
    if (!t)
        return nothing;
    open_frame(&own, e, t, f->level + 1);
    bind(&own, t->body, arg, n);
    run(&own, t->body);
    for (int k = 0; k < t->nout; k++)
        out[k] = own.local[t->out[k]];
    return e->status != TC_OK ? nothing : t->nout == 1 ? out[0] : list_of(f, out, t->nout);
}

/* scan step(count, backward, [state, ..], more, ..) */
enum { SCAN_COUNT, SCAN_BACKWARD, SCAN_STATES, SCAN_MORE };

typedef struct stepping {
    frame *f;
    const syntax *s;
    const scan *scan;
} stepping;

static term step(void *of, tc_graph_emitter *e, const term *arg) {
    const stepping *x = of;
    term r = call_text(x->f, e, x->s, arg, 1 + x->scan->nstate + x->scan->nmore);
    if (e->status == TC_OK && (r.kind != TC_GRAPH_LIST || r.n != x->scan->nstate + 1))
        e->status = tc_graph_node_fail(e->c, "a step gives its states and a row, but they are %lld", (long long)r.n);
    return r;
}

static term run_scan(frame *f, const syntax *s) {
    const term *arg = run_parts(f, s);
    if (f->e->status != TC_OK)
        return nothing;
    if (arg[SCAN_STATES].kind != TC_GRAPH_LIST ||
        (arg[SCAN_COUNT].kind != TC_GRAPH_INT && arg[SCAN_COUNT].kind != TC_GRAPH_VALUE))
        return mistake(f, s, "a scan takes a number of steps, a direction and a list of states");
    scan all = {.e = f->e, .count = arg[SCAN_COUNT], .backward = tc_graph_term_holds(&arg[SCAN_BACKWARD]), .step = step};
    all.nstate = (int)arg[SCAN_STATES].n;
    all.state = arg[SCAN_STATES].list;
    all.nmore = s->n - SCAN_MORE;
    all.more = arg + SCAN_MORE;
    all.of = &(stepping){f, s, &all};
    return tc_graph_scan_run(&all);
}

/* ---- expressions ---- */

/* list[1], list[-1], list[2:], list[:-1] */
static term element(frame *f, const syntax *s) {
    const term *v = run_parts(f, s);
    bool range = s->kind == TC_GRAPH_SYNTAX_RANGE;
    term list = v[0];
    int64_t i[2] = {v[1].kind == TC_GRAPH_INT ? v[1].i : 0, range && v[2].kind == TC_GRAPH_INT ? v[2].i : list.n};
    for (int k = 0; k < 2; k++)
        i[k] += i[k] < 0 ? list.n : 0;
    if (list.kind != TC_GRAPH_LIST || i[0] < 0 || (range ? i[0] > i[1] || i[1] > list.n : i[0] >= list.n))
        return mistake(f, s, "the list has no such element");
    return range ? list_of(f, list.list + i[0], i[1] - i[0]) : list.list[i[0]];
}

static term not_holds(const term *a) {
    return tc_graph_term_int(!tc_graph_term_holds(a));
}

/* ---- statements ---- */

static void print(tc_strbuf *out, const term *v) {
    switch (v->kind) {
    case TC_GRAPH_NOTHING:
        tc_sb_add(out, "none");
        break;
    case TC_GRAPH_VALUE:
        tc_sb_printf(out, "'%s'", v->v->name);
        break;
    case TC_GRAPH_INT:
        tc_sb_printf(out, "%" PRId64, v->i);
        break;
    case TC_GRAPH_FLOAT:
        tc_sb_printf(out, "%g", v->f);
        break;
    case TC_GRAPH_TEXT:
        tc_sb_add(out, v->text);
        break;
    case TC_GRAPH_DTYPE:
        tc_sb_add(out, tc_dtype_name(v->dtype));
        break;
    case TC_GRAPH_LIST:
        for (int64_t i = 0; i < v->n; i++) {
            tc_sb_add(out, i ? "," : "");
            print(out, &v->list[i]);
        }
    }
}

static term message(frame *f, const syntax *s) {
    tc_strbuf out = {0};
    for (int k = 0; k < s->n; k++) {
        term v = run(f, s->part[k]);
        print(&out, &v);
    }
    term r = tc_graph_term_text(tc_arena_strdup(f->e->c->g->arena, tc_sb_str(&out)));
    tc_strbuf_free(&out);
    return r;
}

static void expect(frame *f, const syntax *s) {
    term holds = run(f, s->part[0]);
    if (f->e->status != TC_OK || tc_graph_term_holds(&holds))
        return;
    term why = run(f, s->part[1]);
    if (f->e->status == TC_OK)
        f->e->status = s->code == TC_ERROR_PLAIN ? tc_graph_node_fail(f->e->c, "%s", why.text)
                                                 : tc_graph_node_refuse(f->e->c, s->code, "%s", why.text);
}

static void set(frame *f, const syntax *s) {
    term v = run(f, s->part[0]);
    if (s->nset > 1 && (v.kind != TC_GRAPH_LIST || v.n < s->nset)) {
        mistake(f, s, "it gives no %d values", s->nset);
        return;
    }
    for (int k = 0; k < s->nset; k++)
        f->local[s->set[k]] = s->nset == 1 ? v : v.list[k];
}

static void each(frame *f, const syntax *s) {
    term list = run(f, s->part[0]);
    if (list.kind != TC_GRAPH_LIST)
        mistake(f, s, "it is no list");
    for (int64_t i = 0; i < list.n && f->e->status == TC_OK; i++) {
        f->local[s->i] = list.list[i];
        run(f, s->part[1]);
        if (f->e->status == TC_OK)
            f->e->status = tc_graph_check_budget(f->e->c->g, f->e->c->err);
    }
}

/* A statement gives nothing, and so does everything after a failure. */
static term run(frame *f, const syntax *s) {
    tc_graph_infer_ctx *c = f->e->c;
    term v;
    if (!s || f->e->status != TC_OK)
        return nothing;
    switch (s->kind) {
    case TC_GRAPH_SYNTAX_TERM:
        return s->term;
    case TC_GRAPH_SYNTAX_LOCAL:
        return f->local[s->i];
    case TC_GRAPH_SYNTAX_OPSET:
        return tc_graph_term_int(c->opset);
    case TC_GRAPH_SYNTAX_ASKED:
        return tc_graph_term_int(s->i < c->nout && c->names[s->i]);
    case TC_GRAPH_SYNTAX_LIST:
        return (term){.kind = TC_GRAPH_LIST, .n = s->n, .list = run_parts(f, s)};
    case TC_GRAPH_SYNTAX_MESSAGE:
        return message(f, s);
    case TC_GRAPH_SYNTAX_OPERATOR:
        return run_operator(f, s);
    case TC_GRAPH_SYNTAX_FUNCTION:
        return run_function(f, s);
    case TC_GRAPH_SYNTAX_TEXT:
        return call_text(f, f->e, s, run_parts(f, s), s->n);
    case TC_GRAPH_SYNTAX_SCAN:
        return run_scan(f, s);
    case TC_GRAPH_SYNTAX_ELEMENT:
    case TC_GRAPH_SYNTAX_RANGE:
        return element(f, s);
    case TC_GRAPH_SYNTAX_MINUS:
        v = run(f, s->part[0]);
        return arithmetic(f, s, '-', TC_GRAPH_OP_SUB, tc_graph_term_int(0), v);
    case TC_GRAPH_SYNTAX_NOT:
        v = run(f, s->part[0]);
        return not_holds(&v);
    case TC_GRAPH_SYNTAX_SIGN:
        return run_sign(f, s);
    case TC_GRAPH_SYNTAX_CHOICE:
        v = run(f, s->part[0]);
        return run(f, s->part[tc_graph_term_holds(&v) ? 1 : 2]);
    case TC_GRAPH_SYNTAX_SET:
        set(f, s);
        break;
    case TC_GRAPH_SYNTAX_EACH:
        each(f, s);
        break;
    case TC_GRAPH_SYNTAX_EXPECT:
        expect(f, s);
        break;
    case TC_GRAPH_SYNTAX_BLOCK:
        for (int k = 0; k < s->n && f->e->status == TC_OK; k++)
            run(f, s->part[k]);
        break;
    }
    return nothing;
}

/* ---- operators ---- */

static term attribute_of(tc_graph *g, const tc_graph_attr *a) {
    term r = {.kind = TC_GRAPH_LIST, .n = (int64_t)a->len};
    tc_graph_tensor view;
    switch (tc_graph_attr_kind_of(a->id)) {
    case TC_GRAPH_ATTR_INT:
        return tc_graph_term_int(a->i);
    case TC_GRAPH_ATTR_FLOAT:
        return tc_graph_term_float(a->f);
    case TC_GRAPH_ATTR_STRING:
        return tc_graph_term_text(a->s);
    case TC_GRAPH_ATTR_TENSOR:
        if (a->tensor)
            view = tc_graph_tensor_view(a->tensor->dtype, &a->tensor->shape, a->tensor->data);
        return tc_graph_term_value(a->tensor ? tc_graph_add_constant(g, tc_graph_fresh_name(g, "value"), &view) : NULL);
    case TC_GRAPH_ATTR_INTS:
    case TC_GRAPH_ATTR_FLOATS:
        break;
    }
    if (!a->ints && !a->floats)
        return nothing;
    r.list = TC_NEW_N(g->arena, term, r.n + 1);
    for (int64_t i = 0; i < r.n; i++)
        r.list[i] = a->ints ? tc_graph_term_int(a->ints[i]) : tc_graph_term_float((double)a->floats[i]);
    return r;
}

/* The attributes get their names. */
static void bind_attributes(frame *f) {
    for (int i = 0; i < f->t->nattrs; i++) {
        tc_graph_attr_id id = f->t->attr[i].id;
        const tc_graph_attr *own = tc_graph_attr_find(f->e->c->n, id);
        if (!own && f->t->attr[i].otherwise)
            f->local[i] = run(f, f->t->attr[i].otherwise);
        else
            f->local[i] = attribute_of(f->e->c->g, own ? own : tc_graph_attr_otherwise(id));
    }
}

static bool is_own(const tc_graph_infer_ctx *c, const tc_graph_value *v) {
    return v->producer && v->id >= c->first_own;
}

/* v, which is no other output, is output k > 0. */
static void give(tc_graph_emitter *e, int k, tc_graph_value *v) {
    tc_graph_infer_ctx *c = e->c;
    if (k < c->nout && c->names[k] && is_own(c, v))
        tc_graph_rename_value(c->g, v, c->names[k]);
    else
        tc_graph_em_output(e, k, v);
}

/* Runs the text of the node's operator. *first: output 0; NULL: it is not set. */
static tc_status run_for_node(tc_graph_emitter *e, frame *f, tc_graph_value **first) {
    tc_graph_infer_ctx *c = e->c;
    const tc_graph_text *t = tc_graph_text_of(c->g, c->n->op, &e->status, c->err);
    TC_TRY(e->status);
    term *in = TC_NEW_N(c->g->arena, term, c->n->nin + 1);
    for (int k = 0; k < c->n->nin; k++)
        in[k] = tc_graph_term_value(c->n->in[k]);
    open_frame(f, e, t, 0);
    bind_attributes(f);
    bind(f, t->body, in, c->n->nin);
    run(f, t->body);
    for (int k = 1; k < t->nout && e->status == TC_OK; k++) {
        const term *v = &f->local[t->out[k]];
        if (v->kind == TC_GRAPH_VALUE)
            tc_graph_em_output(e, k, v->v);
        for (int64_t i = 0; v->kind == TC_GRAPH_LIST && i < v->n; i++)
            give(e, k + (int)i, v->list[i].v);
    }
    *first = t->nout && f->local[t->out[0]].kind == TC_GRAPH_VALUE ? f->local[t->out[0]].v : NULL;
    return e->status;
}

/* A node whose text sets no output stays, with its inputs as the text leaves them, and its attributes, if the text always runs. */
static tc_status rewrite(tc_graph_emitter *e, bool always) {
    tc_graph_node *n = e->c->n;
    tc_graph_value *first;
    frame f;
    TC_TRY(run_for_node(e, &f, &first));
    if (first)
        return tc_graph_em_finish(e, first);
    for (int i = 0; always && i < f.t->nattrs; i++)
        set_attribute(&f, f.t->body, n, f.t->attr[i].id, f.local[i]);
    for (int k = 0; k < n->nin && k < f.t->nin; k++) {
        const term *own = &f.local[f.t->nattrs + k];
        if (own->kind == TC_GRAPH_VALUE)
            n->in[k] = own->v;
    }
    return e->status;
}

tc_status tc_graph_rewrite_text(tc_graph_emitter *e) {
    return rewrite(e, false);
}

tc_status tc_graph_rewrite_always(tc_graph_emitter *e) {
    return rewrite(e, true);
}

tc_status tc_graph_infer_expansion(tc_graph_infer_ctx *c) {
    tc_graph_emitter e = {c, TC_OK};
    tc_graph_value *first;
    frame f;
    TC_TRY(run_for_node(&e, &f, &first));
    if (!is_own(c, first))
        return tc_graph_em_finish(&e, first);
    tc_graph_rename_value(c->g, first, c->names[0]);
    first->producer->name = c->n->name;
    c->nout = 0;
    return TC_OK;
}
