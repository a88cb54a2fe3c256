/* What model.c and run.c share. */
#ifndef TC_API_MODEL_INT_H
#define TC_API_MODEL_INT_H

#include <string.h>

#include "api/api_int.h"
#include "graph/trials/contest.h"
#include "graph/trials/precision.h"

struct tctune_model {
    tctune_work *work; /* NULL: it was loaded, as for arena */
    tc_arena *arena;   /* of what was chosen for it */
    char *target;
    tc_graph_model *model;
    /* What the network said; NULL: it was not asked. */
    tc_graph_admission *admitted; /* as for contest */
    tc_graph_contest *contest;
    tc_graph_precision *precision;
};

/* How DLPack names a type. */
DLDataType api_dl_type(tc_dtype t);

#endif
