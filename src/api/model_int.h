/* What model.c and run.c share. */
#ifndef TC_API_MODEL_INT_H
#define TC_API_MODEL_INT_H

#include <string.h>

#include "api/api_int.h"

struct tctune_model {
    tctune_work *work; /* NULL: it was loaded, as for arena */
    tc_arena *arena;   /* of what was chosen for it */
    tc_graph_model *model;
};

/* How DLPack names a type. */
DLDataType api_dl_type(tc_dtype t);

#endif
