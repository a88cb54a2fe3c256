/* The schedule as text, for people and tests: what each stage computes, where, and in which loops. No parser reads this text
 * back. The trace is the form that round-trips. */
#include "schedule_primitives/sch_int.h"
#include "te/intrinsic.h"

static void print_axes(tc_strbuf *b, int n, const tc_axis *axes) {
    for (int i = 0; i < n; i++)
        if (axes[i].symbol)
            tc_sb_printf(b, "%s%s:%s", i ? ", " : "", axes[i].var->name, axes[i].symbol->name);
        else
            tc_sb_printf(b, "%s%s:%lld", i ? ", " : "", axes[i].var->name, (long long)axes[i].extent);
}

static void print_op(tc_strbuf *b, const tc_compute *op) {
    for (int o = 0; o < op->nout; o++)
        tc_sb_printf(b, "%s%s", o ? ", " : "  ", op->out[o]->name);
    tc_sb_addc(b, '[');
    print_axes(b, op->naxis, op->axes);
    tc_sb_add(b, "] = ");
    if (op->reducer != TC_RED_NONE) {
        tc_sb_printf(b, "%s(", tc_reducer_name(op->reducer));
        print_axes(b, op->nraxis, op->raxes);
        tc_sb_add(b, ") ");
    }
    for (int o = 0; o < op->nout; o++) {
        tc_sb_add(b, o ? ", " : op->nout > 1 ? "(" : "");
        tc_expr_print(b, op->body[o]);
    }
    tc_sb_add(b, op->nout > 1 ? ")\n" : "\n");
}

static void print_rel(tc_strbuf *b, const tc_sched *s, const tc_rel *r) {
    tc_sb_printf(b, "  %s", r->kind == TC_REL_SPLIT ? "split" : "fuse");
    if (r->kind == TC_REL_SPLIT)
        tc_sb_printf(b, " %s ->", s->loops[r->whole].name);
    for (int i = 0; i < r->n; i++) {
        tc_sb_printf(b, "%s %s", i ? "," : "", s->loops[r->parts[i]].name);
        if (r->kind == TC_REL_SPLIT && i)
            tc_sb_printf(b, ":%lld", (long long)r->factor[i]);
    }
    if (r->kind == TC_REL_FUSE)
        tc_sb_printf(b, " -> %s", s->loops[r->whole].name);
    tc_sb_addc(b, '\n');
}

static void print_layout(tc_strbuf *b, const tc_layout *l) {
    for (int i = 0; i < l->nin; i++)
        tc_sb_printf(b, "%s%s", i ? ", " : "(", l->var[i]->name);
    for (int i = 0; i < l->nout; i++) {
        tc_sb_add(b, i ? ", " : ") -> (");
        tc_expr_print(b, l->to[i]);
    }
    tc_sb_add(b, ")\n");
}

static void print_place(tc_strbuf *b, const tc_sched *s, const tc_stage *st) {
    tc_sb_printf(b, "stage %s", st->name);
    switch (st->attach) {
    case TC_ATTACH_ROOT:
        tc_sb_add(b, " at root");
        break;
    case TC_ATTACH_INLINE:
        tc_sb_add(b, " inline");
        break;
    case TC_ATTACH_AT:
        tc_sb_printf(b, " at %s.%s", s->stages[st->at_stage].name, s->loops[st->at_loop].name);
        break;
    }
    tc_sb_printf(b, "%s%s\n", st->scope == TC_SCOPE_LOCAL ? " local" : "", st->is_output ? " output" : "");
}

static void print_loops(tc_strbuf *b, const tc_sched *s, const tc_stage *st) {
    for (int i = 0; i < st->nrel; i++)
        print_rel(b, s, &st->rel[i]);
    for (int i = 0; i < st->nleaf; i++) {
        const tc_loop_info *l = &s->loops[st->leaf[i]];
        tc_sb_printf(b, "  for %s < %lld%s", l->name, (long long)l->extent, l->reduce ? " reduce" : "");
        if (l->kind != TC_FOR_SERIAL)
            tc_sb_printf(b, " %s", tc_prim_text(tc_for_info_of(l->kind)->made_by));
        if (l->unit)
            tc_sb_printf(b, " %s", l->unit->text);
        tc_sb_addc(b, '\n');
    }
}

static void print_stage(tc_strbuf *b, const tc_sched *s, const tc_stage *st) {
    print_place(b, s, st);
    print_op(b, st->op);
    if (st->attach == TC_ATTACH_INLINE)
        return;
    print_loops(b, s, st);
    if (st->layout) {
        tc_sb_add(b, "  layout ");
        print_layout(b, st->layout);
    }
    if (st->align_dim >= 0)
        tc_sb_printf(b, "  align %d %lld\n", st->align_dim, (long long)st->align_factor);
    for (int i = 0; i < st->npragma; i++)
        tc_sb_printf(b, "  pragma %s %lld\n", st->pragma[i].key, (long long)st->pragma[i].value);
}

void tc_sch_print(tc_strbuf *b, const tc_sched *s) {
    for (int i = 0; i < s->npacked; i++) {
        const tc_tensor *t = s->packed[i].packed;
        tc_sb_printf(b, "packed %s[", t->name);
        for (int d = 0; d < t->ndim; d++)
            tc_sb_printf(b, "%s%lld", d ? ", " : "", (long long)t->shape[d]);
        tc_sb_printf(b, "] of %s ", s->packed[i].original->name);
        print_layout(b, s->packed[i].layout);
        if (s->packed[i].ahead)
            tc_sb_printf(b, "  prefetched %lld bytes ahead\n", (long long)s->packed[i].ahead);
    }
    for (int i = 0; i < s->nstage; i++)
        print_stage(b, s, &s->stages[i]);
}
