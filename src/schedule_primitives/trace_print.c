/* Prints a trace as `.sched` text, one step a line. trace_parse.c reads the text back to an equal trace. */
#include "schedule_primitives/sch_int.h"

static void print_list(tc_strbuf *b, int n, const int64_t *v) {
    tc_sb_addc(b, '[');
    for (int i = 0; i < n; i++)
        tc_sb_printf(b, "%s%lld", i ? ", " : "", (long long)v[i]);
    tc_sb_addc(b, ']');
}

static void print_int(tc_strbuf *b, const tc_int_arg *a) {
    switch (a->kind) {
    case TC_ARG_LITERAL:
        tc_sb_printf(b, "%lld", (long long)a->value);
        break;
    case TC_ARG_INFER:
        tc_sb_addc(b, '_');
        break;
    case TC_ARG_REF:
        tc_sb_add(b, a->ref);
        if (a->part >= 0)
            tc_sb_printf(b, ".%d", a->part);
        break;
    }
}

static void print_ints(tc_strbuf *b, const tc_instr *in) {
    static const char *const TILE[] = {"parts=", "max_inner="};
    tc_sch_ints style = tc_sch_form_of(in->prim)->ints;
    if (style == TC_INTS_NONE)
        return;
    tc_sb_add(b, style == TC_INTS_LIST ? " [" : " ");
    for (int i = 0; i < in->nints; i++) {
        if (i)
            tc_sb_add(b, style == TC_INTS_LIST ? ", " : " ");
        if (style == TC_INTS_TILE)
            tc_sb_add(b, TILE[i]);
        print_int(b, &in->ints[i]);
    }
    if (style == TC_INTS_LIST)
        tc_sb_addc(b, ']');
}

static void print_decision(tc_strbuf *b, const tc_instr *in) {
    if (!tc_prim_sampled(in->prim) || !in->ndec)
        return;
    tc_sb_add(b, " ~");
    if (in->prim == TC_PRIM_SAMPLE_TILE)
        print_list(b, in->ndec, in->dec);
    else if (in->prim == TC_PRIM_SAMPLE_LOCATION)
        tc_sb_add(b, in->dec_loc);
    else
        tc_sb_printf(b, "%lld", (long long)in->dec[0]);
}

void tc_sch_print_step(tc_strbuf *b, const tc_instr *in) {
    for (int i = 0; i < in->nouts; i++)
        tc_sb_printf(b, "%s%s", i ? ", " : "", in->outs[i]);
    tc_sb_printf(b, "%s%s", in->nouts ? " = " : "", tc_prim_text(in->prim));
    for (int i = 0; i < in->nnames; i++)
        tc_sb_printf(b, " %s", in->names[i]);
    /* pragma's key stands before its value, which is its only integer. */
    if (in->text)
        tc_sb_printf(b, " %s", in->text);
    print_ints(b, in);
    print_decision(b, in);
}

void tc_trace_print(tc_strbuf *b, const tc_trace *t) {
    for (int i = 0; i < t->n; i++) {
        tc_sch_print_step(b, &t->steps[i]);
        tc_sb_addc(b, '\n');
    }
}

const char *tc_trace_text(tc_arena *a, const tc_trace *t) {
    tc_strbuf b = {0};
    tc_trace_print(&b, t);
    return tc_sb_keep(&b, a);
}
