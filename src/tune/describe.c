/* Features of programs that searches of a form have met. Later searches meet half of them again, and need not lower them to
 * score them. Two tables in turn bound the memory: a full recent table becomes the older one, and an entry that is found in
 * the older table moves to the recent one. */
#include <stdlib.h>

#include "tune/propose.h"

enum { MOST = 1024 }; /* of each table; some 2 KB each. Chosen, for 4 MB a form at most */

static const tc_cost_rows *find(const tc_tune_programs *p, uint64_t program) {
    const uintptr_t *at = tc_map_get(&p->at, program);
    return at ? &p->rows.data[*at] : NULL;
}

const tc_cost_rows *tc_tune_described(const form *k, uint64_t program) {
    const tc_cost_rows *r = find(&k->recent, program);
    return r ? r : find(&k->older, program);
}

static void release(tc_tune_programs *p) {
    for (size_t i = 0; i < p->rows.len; i++)
        tc_cost_rows_free(&p->rows.data[i]);
    tc_vec_free(&p->rows);
    tc_map_free(&p->at);
    *p = (tc_tune_programs){0};
}

void tc_tune_describe(form *k, uint64_t program, const tc_cost_rows *rows) {
    if (find(&k->recent, program))
        return;
    if (k->recent.rows.len == MOST) {
        release(&k->older);
        k->older = k->recent;
        k->recent = (tc_tune_programs){0};
    }
    tc_cost_rows copy = {0};
    tc_cost_rows_copy(&copy, rows);
    tc_map_put(&k->recent.at, program, k->recent.rows.len);
    tc_push(&k->recent.rows, copy);
}

void tc_tune_forget_descriptions(form *k) {
    release(&k->recent);
    release(&k->older);
}
