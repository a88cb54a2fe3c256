/* Attention whose queries may see nothing: a mask of false, -inf everywhere, or no valid key. Such a row of the result is 0, never
 * NaN and never the mean of the values. What is right is written out here, in double. */
#include "graph/ops/op_edges.h"
#include "support/rng.h"

enum { BATCH = 2, HEADS = 4, ROWS = 5, KEYS = 7, WIDTH = 8 };

/* Which keys a query sees; the bias is -inf for the others. */
typedef bool sees(int64_t batch, int64_t head, int64_t row, int64_t key);

typedef struct attention {
    const char *op, *domain;
    int64_t shared; /* heads of keys and values */
    sees *sees;
    bool flat; /* [batch, rows, heads * width] */
    void (*attributes)(tc_graph_writer *w, int64_t shared);
    const char *inputs;
} attention;

static bool all(int64_t batch, int64_t head, int64_t row, int64_t key) {
    (void)batch;
    (void)head;
    (void)row;
    (void)key;
    return true;
}

/* Row 1 sees nothing, row 2 one key, others all but the first. */
static bool some(int64_t batch, int64_t head, int64_t row, int64_t key) {
    (void)batch;
    (void)head;
    return row == 2 ? key == 3 : row != 1 && key > 0;
}

/* No row of one head, and of another batch one row less. */
static bool by_head(int64_t batch, int64_t head, int64_t row, int64_t key) {
    return head != 2 && (batch == 0 || row != ROWS - 1) && key != 1;
}

/* The second sequence has no valid key. */
static bool first_batch(int64_t batch, int64_t head, int64_t row, int64_t key) {
    (void)head;
    (void)row;
    (void)key;
    return batch == 0;
}

/* Causal, where the last queries stand at the last keys of 3, so that the first queries have no place. */
static bool causal_of_3(int64_t batch, int64_t head, int64_t row, int64_t key) {
    (void)batch;
    (void)head;
    return key < 3 && key <= row + 3 - ROWS;
}

/* ---- what is right ---- */

static double load(const tc_graph_tensor *t, bool flat, int64_t heads, int64_t n, const int64_t at[4]) {
    int64_t i =
        flat ? ((at[0] * n + at[2]) * heads + at[1]) * WIDTH + at[3] : ((at[0] * heads + at[1]) * n + at[2]) * WIDTH + at[3];
    return tc_load_f(t->dtype, t->data, i);
}

static void attend(const attention *a, const tc_graph_tensor *in, int64_t b, int64_t h, int64_t row, double y[WIDTH]) {
    double score[KEYS], sum = 0, peak = -INFINITY;
    int64_t own = h / (HEADS / a->shared);
    for (int64_t k = 0; k < KEYS; k++) {
        score[k] = 0;
        for (int64_t i = 0; i < WIDTH; i++)
            score[k] += load(&in[0], a->flat, HEADS, ROWS, (int64_t[]){b, h, row, i}) *
                        load(&in[1], a->flat, a->shared, KEYS, (int64_t[]){b, own, k, i}) / sqrt(WIDTH);
        if (a->sees(b, h, row, k))
            peak = fmax(peak, score[k]);
    }
    memset(y, 0, WIDTH * sizeof *y);
    for (int64_t k = 0; k < KEYS; k++)
        sum += a->sees(b, h, row, k) ? exp(score[k] - peak) : 0;
    for (int64_t k = 0; k < KEYS; k++)
        for (int64_t i = 0; i < WIDTH && a->sees(b, h, row, k); i++)
            y[i] += exp(score[k] - peak) / sum * load(&in[2], a->flat, a->shared, KEYS, (int64_t[]){b, own, k, i});
}

static void fill_want(const attention *a, edge_model *m) {
    tc_graph_tensor *y = &m->want[0];
    *y = new_tensor(m->in[0].dtype, m->in[0].shape);
    for (int64_t j = 0; j < BATCH * HEADS * ROWS; j++) {
        int64_t b = j / (HEADS * ROWS), h = j / ROWS % HEADS, row = j % ROWS;
        double v[WIDTH];
        attend(a, m->in, b, h, row, v);
        for (int64_t i = 0; i < WIDTH; i++)
            tc_store_f(y->dtype, y->data, (a->flat ? (b * ROWS + row) * HEADS + h : j) * WIDTH + i, v[i]);
    }
}

/* ---- models ---- */

static void add_attention(tc_graph_writer *w, const void *user) {
    const attention *a = user;
    tc_graph_writer_node(w, a->op, "attention", a->inputs, "y0");
    if (a->domain)
        tc_graph_writer_domain(w, a->domain);
    a->attributes(w, a->shared);
}

static void no_attributes(tc_graph_writer *w, int64_t shared) {
    (void)w;
    (void)shared;
}

static void onnx_heads(tc_graph_writer *w, int64_t shared) {
    tc_graph_writer_int(w, "q_num_heads", HEADS);
    tc_graph_writer_int(w, "kv_num_heads", shared);
}

static void causal(tc_graph_writer *w, int64_t shared) {
    (void)shared;
    tc_graph_writer_int(w, "is_causal", 1);
}

static void microsoft_heads(tc_graph_writer *w, int64_t shared) {
    tc_graph_writer_int(w, "num_heads", HEADS);
    if (shared < HEADS)
        tc_graph_writer_int(w, "kv_num_heads", shared);
}

static tc_graph_tensor random_operand(tc_rng *r, tc_dtype t, const attention *a, int64_t heads, int64_t n) {
    tc_graph_shape flat = {3, {BATCH, n, heads * WIDTH}}, split = {4, {BATCH, heads, n, WIDTH}};
    tc_graph_tensor v = new_tensor(t, a->flat ? flat : split);
    for (int64_t i = 0; i < tc_graph_tensor_count(&v); i++)
        tc_store_f(t, v.data, i, tc_rng_unit(r) * 4 - 2);
    return v;
}

/* bool, or numbers: 0 or -inf. */
static tc_graph_tensor mask_of(const attention *a, tc_dtype t) {
    tc_graph_tensor v = new_tensor(t, (tc_graph_shape){4, {BATCH, HEADS, ROWS, KEYS}});
    for (int64_t i = 0; i < tc_graph_tensor_count(&v); i++) {
        bool seen = a->sees(i / (HEADS * ROWS * KEYS), i / (ROWS * KEYS) % HEADS, i / KEYS % ROWS, i % KEYS);
        if (t == TC_BOOL)
            tc_store_i(t, v.data, i, seen);
        else
            tc_store_f(t, v.data, i, seen ? 0 : -INFINITY);
    }
    return v;
}

/* `extra` is the last input, or has no data. */
static void check(const attention *a, tc_dtype t, tc_graph_tensor extra) {
    tc_rng r = tc_rng_seed(1);
    double eps = t == TC_F64 ? 1e-9 : t == TC_F32 ? 1e-5 : t == TC_F16 ? 2e-3 : 2e-2;
    edge_model m = {.file = SCRATCH("hidden_rows.onnx"), .opset = 24, .nin = 3, .nout = 1, .add_nodes = add_attention, .user = a};
    m.rtol = m.atol = eps;
    m.in[0] = random_operand(&r, t, a, HEADS, ROWS);
    m.in[1] = random_operand(&r, t, a, a->shared, KEYS);
    m.in[2] = random_operand(&r, t, a, a->shared, KEYS);
    if (extra.data)
        m.in[m.nin++] = extra;
    fill_want(a, &m);
    check_edges(&m);
    free_edges(&m);
}

static const tc_dtype types[] = {TC_F32, TC_F64, TC_F16, TC_BF16};

static void test_masks(void **state) {
    (void)state;
    for (size_t k = 0; k < TC_LEN(types); k++) {
        attention a = {"Attention", NULL, HEADS, some, false, no_attributes, "x0,x1,x2,x3"};
        check(&a, types[k], mask_of(&a, TC_BOOL));
        a.sees = by_head;
        check(&a, types[k], mask_of(&a, types[k]));
        a.shared = HEADS / 2;
        check(&a, types[k], mask_of(&a, TC_BOOL));
    }
    attention flat = {"Attention", NULL, HEADS / 2, some, true, onnx_heads, "x0,x1,x2,x3"};
    check(&flat, TC_F32, mask_of(&flat, TC_F32));
    attention none = {"Attention", NULL, HEADS, all, false, no_attributes, "x0,x1,x2"};
    check(&none, TC_F32, (tc_graph_tensor){0});
}

static void test_valid_keys(void **state) {
    (void)state;
    attention a = {"Attention", NULL, HEADS, first_batch, false, no_attributes, "x0,x1,x2,,,,x3"};
    check(&a, TC_F32, I64(DIMS(BATCH), KEYS, 0));
    attention few = {"Attention", NULL, HEADS, causal_of_3, false, causal, "x0,x1,x2,,,,x3"};
    check(&few, TC_F32, I64(DIMS(BATCH), 3, 3));
}

static void test_microsoft(void **state) {
    (void)state;
    for (size_t k = 0; k < TC_LEN(types); k++) {
        attention a = {"MultiHeadAttention", "com.microsoft", HEADS, by_head, true, microsoft_heads, "x0,x1,x2,,,x3"};
        check(&a, types[k], mask_of(&a, types[k]));
    }
}

/* The queries are the last of the keys; all of both sequences are there. */
static void add_group_query(tc_graph_writer *w, const void *user) {
    (void)user;
    tc_graph_writer_node(w, "GroupQueryAttention", "attention", "x0,x1,x2,,,x3,x4,,,,x5", "y0");
    tc_graph_writer_domain(w, "com.microsoft");
    tc_graph_writer_int(w, "num_heads", HEADS);
    tc_graph_writer_int(w, "kv_num_heads", HEADS);
}

/* With a bias of -inf on all keys that a query could see: the result of these rows is 0. */
static void test_group_query(void **state) {
    (void)state;
    enum { N = KEYS };
    static const int32_t lengths[BATCH] = {N - 1, N - 1}, total[1] = {N};
    for (size_t k = 0; k < TC_LEN(types); k++) {
        tc_rng r = tc_rng_seed(2);
        tc_dtype t = types[k];
        edge_model m = {.file = SCRATCH("hidden_rows.onnx"), .opset = 21, .nin = 6, .nout = 1, .add_nodes = add_group_query};
        m.rtol = m.atol = 1e-6;
        for (int i = 0; i < 3; i++) {
            m.in[i] = new_tensor(t, (tc_graph_shape){3, {BATCH, N, HEADS * WIDTH}});
            for (int64_t j = 0; j < tc_graph_tensor_count(&m.in[i]); j++)
                tc_store_f(t, m.in[i].data, j, (double)tc_rng_below(&r, 9) / 4 - 1);
        }
        m.in[3] = tc_graph_tensor_view(TC_I32, &(tc_graph_shape)DIMS(BATCH), (void *)(uintptr_t)lengths);
        m.in[4] = tc_graph_tensor_view(TC_I32, &(tc_graph_shape)DIMS(1), (void *)(uintptr_t)total);
        m.is_const[4] = true;
        m.in[5] = new_tensor(t, (tc_graph_shape){4, {1, 1, N, N}});
        m.want[0] = new_tensor(t, m.in[0].shape);
        for (int64_t i = 0; i < (int64_t)N * N; i++) /* row 2 sees nothing, others themselves alone */
            tc_store_f(t, m.in[5].data, i, i / N == i % N && i / N != 2 ? 0 : -INFINITY);
        for (int64_t i = 0; i < tc_graph_tensor_count(&m.in[0]); i++)
            if (i / (HEADS * WIDTH) % N != 2)
                tc_store_f(t, m.want[0].data, i, tc_load_f(t, m.in[2].data, i));
        check_edges(&m);
        free_edges(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_masks), cmocka_unit_test(test_valid_keys),
                                       cmocka_unit_test(test_microsoft), cmocka_unit_test(test_group_query)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
