/* Finds records in the database for a model's kernels that a build does not use. For each it names the option that would use it. */
#include <string.h>

#include "graph/model/parts.h"
#include "te/text.h"

static tc_graph_unused made(tc_graph_model *m, tc_graph_obstacle what, const char *recorded) {
    return (tc_graph_unused){what, tc_arena_strdup(m->arena, recorded)};
}

/* Finds the best record of the task's forms that `all` allows. If the build does not allow its form: which level would. */
static tc_status find_other_form(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_accuracy all,
                                 tc_graph_model *m, tc_arena *a, tc_error *err) {
    tc_graph_unit u = {0};
    tc_meas_records best;
    tc_accuracy allowed = tc_graph_accuracy_of(o, task);
    tc_graph_list_forms(p, task, all, &u);
    tc_status s = tc_graph_ranked_records(&u, o, tc_graph_byte_time(p, o), a, 1, &best, err);
    const tc_graph_form *f = s == TC_OK && best.len ? tc_graph_form_of(&u, &best.data[0]) : NULL;
    tc_accuracy lacks = f && f->alternative ? f->alternative->needs & ~allowed : 0;
    if (lacks & TC_ACCURACY_BF16)
        m->kernels[task].unused = made(m, TC_GRAPH_OTHER_PRECISION, tc_accuracy_precision_text(TC_ACCURACY_BF16));
    else if (lacks & TC_ACCURACY_FAST)
        m->kernels[task].unused = made(m, TC_GRAPH_OTHER_ACCURACY, tc_accuracy_text(lacks));
    tc_ctx_free(u.ctx);
    tc_ctx_free(u.forms);
    return s;
}

/* Only for the level `default`: who asks for `strict` expects slower kernels. But a database may come from a search at `fast`, and
 * its records of forms that mix rows would be left out without a word. */
tc_status tc_graph_find_faster_form(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_graph_model *m,
                                    tc_error *err) {
    tc_accuracy allowed = tc_graph_accuracy_of(o, task);
    if (!o->db || (allowed & TC_ACCURACY_FAST) != TC_ACCURACY_DEFAULT)
        return TC_OK;
    tc_arena *a = tc_arena_new();
    tc_status s = find_other_form(p, task, o, allowed | TC_ACCURACY_FAST, m, a, err);
    if (m->kernels[task].unused.obstacle == TC_GRAPH_OTHER_ACCURACY)
        m->kernels[task].unused.obstacle = TC_GRAPH_FASTER_FORM;
    tc_arena_free(a);
    return s;
}

tc_status tc_graph_find_obstacle(const tc_graph_program *p, int task, const tc_graph_build_options *o, tc_graph_model *m,
                                 tc_error *err) {
    tc_arena *a = tc_arena_new();
    tc_meas_key key = {
        .workload = p->hashes[task], .target = tc_meas_text_hash(o->target->text), .threads = tc_graph_threads_of(o)};
    tc_meas_near near;
    tc_graph_unused *out = &m->kernels[task].unused;
    tc_status s = tc_meas_db_nearest(o->db, a, &key, tc_te_text(a, p->tasks[task].workload), &near, err);
    if (s == TC_OK && near.kind == TC_MEAS_NEAR_THREADS)
        *out = made(m, TC_GRAPH_OTHER_THREADS, tc_arena_printf(a, "%d", near.record.threads));
    else if (s == TC_OK && near.kind == TC_MEAS_NEAR_TARGET)
        *out = made(m, TC_GRAPH_OTHER_TARGET, near.record.target);
    else if (s == TC_OK && near.kind == TC_MEAS_NEAR_SHAPE)
        *out = made(m, TC_GRAPH_OTHER_SHAPE, near.why);
    if (s == TC_OK && (out->obstacle == TC_GRAPH_NO_OBSTACLE || out->obstacle == TC_GRAPH_OTHER_SHAPE))
        s = find_other_form(p, task, o, TC_ACCURACY_ALL, m, a, err);
    tc_arena_free(a);
    return s;
}

/* Kernels that want the same option, and all of a network when it is sizes: one kernel resembles another there anyway. */
static int count(const tc_graph_model *m, const tc_graph_unused *like) {
    int n = 0, recorded = 0;
    for (int i = 0; i < m->nkernel; i++) {
        const tc_graph_unused *x = &m->kernels[i].unused;
        bool same = like->obstacle == TC_GRAPH_OTHER_SHAPE || strcmp(x->recorded ? x->recorded : "", like->recorded) == 0;
        n += x->obstacle == like->obstacle && same;
        recorded += m->kernels[i].source == TC_GRAPH_FROM_RECORD;
    }
    return like->obstacle == TC_GRAPH_OTHER_SHAPE && recorded ? 0 : n;
}

int tc_graph_model_unused(const tc_graph_model *m, tc_graph_unused *out) {
    int most = 0;
    for (int i = 0; i < m->nkernel; i++) {
        const tc_graph_unused *x = &m->kernels[i].unused;
        int n = x->obstacle == TC_GRAPH_NO_OBSTACLE ? 0 : count(m, x);
        if (n > most) {
            most = n;
            *out = *x;
        }
    }
    return most;
}

int tc_graph_model_drawn(const tc_graph_model *m, const char *const **names) {
    *names = m->program ? m->program->drawn.data : NULL;
    return m->program ? (int)m->program->drawn.len : 0;
}
