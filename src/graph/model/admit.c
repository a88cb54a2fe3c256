/* Decides which records may run in this process, where nobody checks their results and nothing isolates them. A record may run if
 * the database knows that its results were right on this machine with this build (measure/records/admission.h). Every other record
 * first runs in a worker process, on the workload of the kernel's form in this program. Its result must agree with the
 * reference. */
#include "graph/model/admit.h"
#include "graph/model/parts.h"
#include "measure/measure.h"
#include "measure/process/process.h"
#include "measure/records/admission.h"
#include "measure/records/maintain.h"
#include "support/log.h"
#include "te/text.h"
#include "tir_lower/program/program.h"
#include "tune/kernel/kernel.h"

#include <string.h>

typedef enum state { UNKNOWN, RIGHT, OUT } state;

typedef struct candidate {
    tc_record record;
    const char *workload; /* text of the form that it is of */
    state state;
} candidate;

typedef struct list {
    candidate *data;
    int n, want;         /* want: how many take part */
    const char *why;     /* of the last one that is out */
    const int64_t *upto; /* of a kernel whose sizes vary: then all take part, or none */
} list;

typedef struct admission {
    const tc_graph_program *p;
    const tc_graph_build_options *o;
    const tc_graph_choice *given; /* by task: records that stand in no database; NULL: those of o->db */
    int k;
    double byte_time;
    tc_arena *a;
    tc_meas *m;
    list *lists; /* by task */
    TC_VEC(tc_graph_refusal) refused;
    TC_VEC(tc_meas_program) admitted; /* now */
} admission;

/* ---- candidates ---- */

static const char *form_text(const tc_graph_unit *u, const char *hash, tc_arena *a) {
    for (int f = 0; f < u->nform; f++)
        if (strcmp(u->form[f].hash.hex, hash) == 0)
            return tc_te_text(a, u->form[f].workload);
    return "";
}

static bool same_schedule(const tc_record *x, const tc_record *y) {
    return strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0 && strcmp(x->trace, y->trace) == 0;
}

/* One that was timed in several ways is one. */
static void take(list *l, const tc_record *r, const tc_graph_unit *u, tc_arena *a) {
    for (int i = 0; i < l->n; i++)
        if (same_schedule(&l->data[i].record, r))
            return;
    l->data[l->n++] = (candidate){.record = *r, .workload = form_text(u, r->workload_hash.hex, a)};
}

static tc_meas_program program_of(const admission *x, const candidate *c, uint64_t hash) {
    return (tc_meas_program){.workload = c->workload,
                             .target = x->o->target->text,
                             .trace = c->record.trace,
                             .threads = tc_graph_threads_of(x->o),
                             .hash = hash};
}

static tc_status find_admitted(const admission *x, list *l, tc_error *err) {
    for (int i = 0; i < l->n; i++) {
        tc_meas_program p = program_of(x, &l->data[i], 0);
        bool is;
        TC_TRY(tc_meas_db_is_admitted(x->o->db, &p, &is, err));
        if (is)
            l->data[i].state = RIGHT;
    }
    return TC_OK;
}

/* What serves the sizes of a task that vary. */
static tc_status find_variants(admission *x, int task, tc_error *err) {
    list *l = &x->lists[task];
    tc_graph_choice c;
    TC_TRY(tc_graph_variants_of(x->p, task, x->o, x->a, &c, err));
    l->data = TC_NEW_N(x->a, candidate, c.n);
    l->n = l->want = c.n;
    l->why = c.why;
    l->upto = c.upto;
    for (int i = 0; i < c.n; i++)
        l->data[i] = (candidate){.record = c.records[i], .workload = c.records[i].workload};
    return find_admitted(x, l, err);
}

/* More than take part, for those that are left out. */
static tc_status find_candidates(admission *x, int task, tc_error *err) {
    enum { SPARE = 8 };
    tc_graph_unit u = {0};
    x->lists[task].want = x->k;
    if (x->p->tasks[task].workload->nsymbol)
        return find_variants(x, task, err);
    tc_meas_records r;
    tc_graph_list_forms(x->p, task, tc_graph_accuracy_of(x->o, task), &u);
    tc_status s = tc_graph_ranked_records(&u, x->o, x->byte_time, x->a, (size_t)x->k + SPARE, &r, err);
    if (s == TC_OK) {
        x->lists[task].data = TC_NEW_N(x->a, candidate, r.len);
        for (size_t i = 0; i < r.len; i++)
            take(&x->lists[task], &r.data[i], &u, x->a);
        s = find_admitted(x, &x->lists[task], err);
    }
    tc_ctx_free(u.ctx);
    tc_ctx_free(u.forms);
    return s;
}

/* Of these nothing is known. */
static void take_given(admission *x, int task) {
    const tc_graph_choice *c = &x->given[task];
    list *l = &x->lists[task];
    tc_graph_unit u = {0};
    tc_graph_list_forms(x->p, task, tc_graph_accuracy_of(x->o, task), &u);
    l->data = TC_NEW_N(x->a, candidate, c->n);
    l->want = c->n;
    for (int i = 0; i < c->n; i++)
        take(l, &c->records[i], &u, x->a);
    tc_ctx_free(u.ctx);
    tc_ctx_free(u.forms);
}

/* ---- checking ---- */

/* What messages call it. */
static const char *name_of(const admission *x, const candidate *c) {
    return x->given ? "the schedule" : tc_arena_printf(x->a, "record %lld", (long long)c->record.id);
}

/* Another record of a program that failed: one failure is enough. */
static bool same_program(const tc_record *x, const tc_record *y) {
    return x->program != 0 && x->program == y->program && strcmp(x->workload_hash.hex, y->workload_hash.hex) == 0;
}

static void leave_out(admission *x, int task, candidate *c, const tc_record *now) {
    list *l = &x->lists[task];
    c->state = OUT;
    l->why = tc_arena_printf(x->a, "%s failed when it was checked: %s: %s", name_of(x, c), tc_meas_error_meaning(now->error),
                             now->message);
    tc_push(&x->refused, ((tc_graph_refusal){x->p->tasks[task].name, c->record, *now}));
    for (int i = 0; i < l->n && tc_meas_disproves(now->error); i++)
        if (same_program(&l->data[i].record, &c->record))
            l->data[i].state = OUT;
}

typedef struct query {
    int task;
    candidate *c;
} query;
typedef TC_VEC(query) queries;

/* Those that would take part and were not looked at. */
static void ask_for(admission *x, queries *q) {
    for (int task = 0; task < x->p->ntask; task++) {
        list *l = &x->lists[task];
        for (int i = 0, n = 0; i < l->n && n < l->want; i++) {
            n += l->data[i].state != OUT;
            if (l->data[i].state == UNKNOWN)
                tc_push(q, ((query){task, &l->data[i]}));
        }
    }
}

/* The program that this process makes of it; 0: none. */
static uint64_t own_program(const admission *x, const candidate *c) {
    tc_ctx *ctx = tc_ctx_new();
    tc_machine machine = x->o->target->machine;
    const tc_workload *w;
    tc_tir_program p = {0};
    machine.cores = tc_graph_threads_of(x->o);
    if (tc_te_parse(ctx, "workload", c->workload, &w, NULL) == TC_OK) {
        tc_tir_origin from = {.workload = w, .machine = &machine, .text = c->record.trace, .name = "record"};
        if (tc_tir_program_make(ctx, &from, TC_TIR_HASH, &p, NULL) != TC_OK)
            p.hash = 0;
    }
    tc_ctx_free(ctx);
    return p.hash;
}

/* It was right in a worker, which may be another executable (of a library): the worker's program must be this process's. */
static void let_in(admission *x, int task, candidate *c, const tc_record *now) {
    if (now->program != own_program(x, c)) {
        c->state = OUT;
        x->lists[task].why =
            tc_arena_printf(x->a, "%s could not be checked: the worker process makes another program from it", name_of(x, c));
        return;
    }
    c->state = RIGHT;
    tc_push(&x->admitted, program_of(x, c, now->program));
}

static tc_status judge(admission *x, const queries *q, const tc_record *r, tc_error *err) {
    bool stopped = false;
    for (size_t i = 0; i < q->len; i++) {
        candidate *c = q->data[i].c;
        if (r[i].error == TC_MEAS_INTERRUPTED)
            stopped = true;
        else if (!tc_record_ok(&r[i]) || !r[i].verified)
            leave_out(x, q->data[i].task, c, &r[i]);
        else if (c->state == UNKNOWN)
            let_in(x, q->data[i].task, c, &r[i]);
    }
    return stopped ? tc_fail(err, TC_ENV, "interrupted while checking records; nothing was written") : TC_OK;
}

static tc_status check(admission *x, const queries *q, tc_error *err) {
    tc_meas_input *in = TC_NEW_N(x->a, tc_meas_input, q->len);
    tc_record *r = TC_NEW_N(x->a, tc_record, q->len);
    for (size_t i = 0; i < q->len; i++) {
        const candidate *c = q->data[i].c;
        in[i] = (tc_meas_input){
            .workload = c->workload, .workload_hash = c->record.workload_hash, .trace = c->record.trace, .again = true};
        if (x->lists[q->data[i].task].upto)
            in[i].sizes = c->record.sizes;
    }
    TC_TRY(tc_meas_batch(x->m, in, q->len, x->a, r, NULL, NULL, err));
    return judge(x, q, r, err);
}

/* Every call is checked, and times are of no interest: two calls each, and nobody is raced against anybody. */
static tc_status open_measurer(admission *x, tc_error *err) {
    tc_meas_options o = {.target = x->o->target->text,
                         .threads = tc_graph_threads_of(x->o),
                         .samples = 1,
                         .min_sample = 1e-9,
                         .budget = 1e-9,
                         .early_stop = -1,
                         .deadline = x->o->deadline,
                         .stop = x->o->stop};
    return tc_meas_new(&o, &x->m, err);
}

/* Nobody can say whether they are right. */
static void leave_all_out(admission *x, const queries *q) {
    for (size_t i = 0; i < q->len; i++) {
        q->data[i].c->state = OUT;
        x->lists[q->data[i].task].why =
            tc_arena_printf(x->a,
                            "%s was not measured by this build on this machine, and there is no worker process to check it: put "
                            "tctune-worker of the same build into the folder tctune beside the library",
                            name_of(x, q->data[i].c));
    }
}

static tc_status check_all(admission *x, tc_error *err) {
    tc_status s = TC_OK;
    for (bool more = true; more && s == TC_OK;) {
        queries q = {0};
        ask_for(x, &q);
        more = q.len > 0;
        if (!tc_meas_worker_there())
            leave_all_out(x, &q);
        else if (more && !x->m)
            s = open_measurer(x, err);
        if (more && s == TC_OK && tc_meas_worker_there())
            s = check(x, &q, err);
        tc_vec_free(&q);
    }
    return s;
}

static tc_graph_choice choice_of(const admission *x, const list *l) {
    tc_record *r = TC_NEW_N(x->a, tc_record, l->want);
    tc_graph_choice c = {.records = r, .why = l->why, .upto = l->upto};
    for (int i = 0; i < l->n && c.n < l->want; i++)
        if (l->data[i].state == RIGHT)
            r[c.n++] = l->data[i].record;
    if (l->upto && c.n < l->want)
        c.n = 0;
    return c;
}

/* ---- remembering ---- */

/* One whose program failed when it ran is not used by any command any more; of others only this one knows. */
static void note_refusal(tc_meas_db *db, bool file, const tc_graph_refusal *r, tc_arena *a) {
    const char *noted = file ? tc_tune_note_failure(tc_meas_db_path(db), &r->record, &r->now, a) : "";
    tc_error why = {0};
    if (!file && tc_meas_db_note_failure(db, r->record.id, &r->now, &why) != TC_OK)
        noted = why.msg;
    tc_log(TC_LOG_WARN, "%s: record %lld failed when it was checked, and is left out: %s: %s%s%s", r->kernel,
           (long long)r->record.id, tc_meas_error_meaning(r->now.error), r->now.message, *noted ? "; " : "", noted);
}

static void remember(admission *x) {
    tc_error why = {0};
    for (size_t i = 0; i < x->refused.len; i++)
        note_refusal(x->o->db, !tc_meas_db_writable(x->o->db), &x->refused.data[i], x->a);
    if (tc_meas_db_admit(x->o->db, x->admitted.data, x->admitted.len, &why) != TC_OK)
        tc_log(TC_LOG_INFO,
               "%zu records were checked and are right, but this could not be stored, so the next build checks them again: %s",
               x->admitted.len, why.msg);
}

static tc_status admit(admission *x, tc_error *err) {
    for (int task = 0; task < x->p->ntask && x->given; task++)
        take_given(x, task);
    if (x->given)
        return check_all(x, err);
    x->byte_time = tc_graph_byte_time(x->p, x->o);
    for (int task = 0; task < x->p->ntask; task++)
        TC_TRY(find_candidates(x, task, err));
    tc_status s = check_all(x, err);
    remember(x);
    return s;
}

static tc_status admit_for(admission *x, tc_graph_admission *out, tc_error *err) {
    int n = x->p->ntask;
    x->lists = TC_NEW_N(x->a, list, n);
    *out = (tc_graph_admission){.nkernel = n, .k = x->k, .choices = TC_NEW_N(x->a, tc_graph_choice, n)};
    tc_status s = admit(x, err);
    for (int task = 0; task < n && s == TC_OK; task++)
        out->choices[task] = choice_of(x, &x->lists[task]);
    out->nrefused = (int)x->refused.len;
    out->refused = tc_arena_dup(x->a, x->refused.data, x->refused.len * sizeof *x->refused.data);
    tc_vec_free(&x->refused);
    tc_vec_free(&x->admitted);
    tc_meas_free(x->m);
    return s;
}

tc_status tc_graph_admit(const tc_graph_program *p, const tc_graph_build_options *o, int k, tc_arena *a, tc_graph_admission *out,
                         tc_error *err) {
    admission x = {.p = p, .o = o, .k = k, .a = a};
    return admit_for(&x, out, err);
}

tc_status tc_graph_admit_given(const tc_graph_program *p, const tc_graph_build_options *o, const tc_graph_choice *given,
                               tc_arena *a, tc_graph_admission *out, tc_error *err) {
    admission x = {.p = p, .o = o, .given = given, .k = 1, .a = a};
    return admit_for(&x, out, err);
}
