/* The K-blocked form of the tiling rule: accumulators rest in a cache block between blocks of the reduction.
 *
 *   for batch: for k_o: for v_o, row_o..:              # over the block
 *     for other reductions, k_m, k_u:                  # k_u unrolled
 *       acc[row_r][v_v] += ..                          # rows unrolled, vectors: the tile in registers */
#include "search_space/anchor_int.h"

static factor sample_block(emitter *e, int id, int64_t extent) {
    enum { LEAST = 32, MOST = 1024 };
    int64_t v[8];
    int n = 0;
    for (int64_t f = TC_MIN(extent - 1, MOST); f >= LEAST && n < 8; f--)
        if (extent % f == 0)
            v[n++] = f;
    if (n == 0)
        v[n++] = extent;
    return chosen(tc_space_sample_choice(&e->b, ROLE_BLOCK_K, id, n, v, extent));
}

/* Row tiles of the K-blocked form: registers of rows per axis; only the last row axis gets more than one. */
static factor sample_reg_rows(emitter *e, int id, int64_t extent) {
    int n = 0;
    while (n < TILE_ROWS && tc_space_tile_rows[n] <= extent)
        n++;
    return chosen(tc_space_sample_choice(&e->b, ROLE_REG_ROW, id, n, tc_space_tile_rows, extent));
}

/* Divides the reduction, into k[0] blocks of k[1] unrolled steps of k[2], each of k[3] where a dot instruction takes so many, and
 * the vector axis. */
static void split_reduction(emitter *e, const anchor_plan *p, int id, loop_ref *k, loop_ref *v) {
    const tc_compute *op = p->op;
    const tc_axis *last = &op->raxes[op->nraxis - 1];
    factor block = sample_block(e, id, last->extent), width = chosen(p->width);
    tc_space_split(&e->b, loop_of(p->acc, last), "ob", &block, k);
    factor steps[] = {tc_space_sample_unroll(e, id, 4), fixed(p->group)};
    tc_space_split(&e->b, k[1], p->group > 1 ? "muq" : "mu", steps, k + 1);
    tc_space_split(&e->b, loop_of(p->acc, &op->axes[p->acc_vec]), "ov", &width, v);
}

loop_ref tc_space_emit_blocked(emitter *e, const anchor_plan *p, int id) {
    const tc_compute *op = p->op;
    loop_ref k[4], v[2], x[2];
    loop_list order = {0}, out = {0}, in = {0};
    split_reduction(e, p, id, k, v);
    for (int a = 0; a < op->naxis; a++) {
        loop_ref whole = loop_of(p->acc, &op->axes[a]);
        if (a == p->acc_vec)
            continue;
        if (tc_space_is_batch(op, a)) {
            tc_space_list(&order, whole);
            continue;
        }
        factor rows = sample_reg_rows(e, id, op->axes[a].extent);
        tc_space_split(&e->b, whole, "or", &rows, x);
        tc_space_list(&out, x[0]);
        tc_space_list(&in, x[1]);
    }
    tc_space_list(&order, k[0]);
    tc_space_list(&order, v[0]);
    tc_space_list_all(&order, &out);
    tc_space_list_axes(&order, p->acc, op->raxes, op->nraxis - 1);
    tc_space_list(&order, k[1]);
    tc_space_list(&order, k[2]);
    tc_space_list_all(&order, &in);
    tc_space_list(&order, v[1]);
    if (p->group > 1)
        tc_space_list(&order, k[3]);
    tc_space_reorder(&e->b, &order);
    if (p->group > 1)
        tc_space_unroll(&e->b, k[3]);
    tc_space_unroll(&e->b, k[2]);
    tc_space_unroll_all(&e->b, &in);
    tc_space_vectorize(&e->b, v[1]);
    return k[0];
}
