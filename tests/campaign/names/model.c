/* What model.h describes. Numbers are those of onnx.proto. */
#include "campaign/names/model.h"

static void varint(tc_strbuf *b, size_t v) {
    for (; v >= 128; v >>= 7)
        tc_sb_addc(b, (char)(v | 128));
    tc_sb_addc(b, (char)v);
}

static void number(tc_strbuf *b, unsigned field, size_t v) {
    varint(b, field << 3);
    varint(b, v);
}

static void bytes(tc_strbuf *b, unsigned field, const void *data, size_t n) {
    varint(b, field << 3 | 2);
    varint(b, n);
    tc_sb_addn(b, data, n);
}

static void text(tc_strbuf *b, unsigned field, const tc_strbuf *s) {
    bytes(b, field, tc_sb_str(s), s->len);
}

static void word(tc_strbuf *b, unsigned field, const char *s) {
    tc_strbuf t = {0};
    tc_sb_add(&t, s);
    text(b, field, &t);
    tc_strbuf_free(&t);
}

/* Ends a message, which becomes a field of b. */
static void message(tc_strbuf *b, unsigned field, tc_strbuf *m) {
    text(b, field, m);
    tc_strbuf_free(m);
}

enum { COLUMNS = 4, ROWS = 2 };

/* A matrix of f32, whose rows may vary. */
static void port(tc_strbuf *graph, unsigned field, const names_model *m, const tc_strbuf *name) {
    tc_strbuf info = {0}, type = {0}, tensor = {0}, shape = {0}, rows = {0}, columns = {0};
    if (m->varies)
        text(&rows, 2, &m->name[NAMES_SIZE]);
    else
        number(&rows, 1, ROWS);
    number(&columns, 1, COLUMNS);
    message(&shape, 1, &rows);
    message(&shape, 1, &columns);
    number(&tensor, 1, 1);
    message(&tensor, 2, &shape);
    message(&type, 1, &tensor);
    text(&info, 1, name);
    message(&info, 2, &type);
    message(graph, field, &info);
}

static void weight(tc_strbuf *graph, const names_model *m) {
    static const float values[COLUMNS] = {1, -2, 3, -4};
    tc_strbuf t = {0};
    number(&t, 1, COLUMNS);
    number(&t, 2, 1);
    text(&t, 8, &m->name[NAMES_WEIGHT]);
    bytes(&t, 9, values, sizeof values);
    message(graph, 5, &t);
}

static void first(tc_strbuf *graph, const names_model *m) {
    tc_strbuf n = {0};
    text(&n, 1, &m->name[NAMES_INPUT]);
    text(&n, 1, &m->name[NAMES_WEIGHT]);
    text(&n, 2, &m->name[NAMES_BETWEEN]);
    text(&n, 3, &m->name[NAMES_NODE]);
    word(&n, 4, "Add");
    message(graph, 1, &n);
}

static void second(tc_strbuf *graph, const names_model *m) {
    tc_strbuf n = {0};
    text(&n, 1, &m->name[NAMES_BETWEEN]);
    text(&n, 2, &m->name[NAMES_OUTPUT]);
    text(&n, 3, &m->name[NAMES_SECOND]);
    if (m->kind == NAMES_KNOWN) {
        word(&n, 4, "Relu");
    } else {
        text(&n, 4, &m->name[m->kind == NAMES_UNKNOWN ? NAMES_OPERATOR : NAMES_FUNCTION]);
        text(&n, 7, &m->name[NAMES_DOMAIN]);
    }
    message(graph, 1, &n);
}

static void opset(tc_strbuf *b, unsigned field, const tc_strbuf *domain, size_t version) {
    tc_strbuf o = {0};
    if (domain)
        text(&o, 1, domain);
    number(&o, 2, version);
    message(b, field, &o);
}

static void function(tc_strbuf *model, const names_model *m) {
    tc_strbuf f = {0}, n = {0};
    text(&f, 1, &m->name[NAMES_FUNCTION]);
    text(&f, 4, &m->name[NAMES_ARGUMENT]);
    word(&f, 5, "result");
    text(&n, 1, &m->name[NAMES_ARGUMENT]);
    word(&n, 2, "result");
    text(&n, 4, &m->name[NAMES_OPERATOR]);
    text(&n, 7, &m->name[NAMES_DOMAIN]);
    message(&f, 7, &n);
    opset(&f, 9, NULL, 17);
    opset(&f, 9, &m->name[NAMES_DOMAIN], 1);
    text(&f, 10, &m->name[NAMES_DOMAIN]);
    message(model, 25, &f);
}

void names_model_write(const names_model *m, tc_strbuf *out) {
    tc_strbuf graph = {0}, entry = {0};
    number(out, 1, 8);
    text(out, 2, &m->name[NAMES_PRODUCER]);
    opset(out, 8, NULL, 17);
    if (m->kind != NAMES_KNOWN)
        opset(out, 8, &m->name[NAMES_DOMAIN], 1);
    first(&graph, m);
    second(&graph, m);
    text(&graph, 2, &m->name[NAMES_GRAPH]);
    weight(&graph, m);
    port(&graph, 11, m, &m->name[NAMES_INPUT]);
    port(&graph, 12, m, &m->name[NAMES_OUTPUT]);
    message(out, 7, &graph);
    text(&entry, 1, &m->name[NAMES_KEY]);
    text(&entry, 2, &m->name[NAMES_VALUE]);
    message(out, 14, &entry);
    if (m->kind == NAMES_LOCAL)
        function(out, m);
}
