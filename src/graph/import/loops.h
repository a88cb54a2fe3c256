/* Loops and scans: written out trip by trip, or as a node whose body is a graph. */
#ifndef TC_GRAPH_IMPORT_LOOPS_H
#define TC_GRAPH_IMPORT_LOOPS_H

#include "graph/import/frames.h"

/* What Scan walks. */
typedef struct tc_graph_import_scan {
    size_t n;
    tc_graph_value **in;
    const int64_t *axes, *directions, *out_axes, *out_directions;
    int *axis;            /* of each, not negative */
    int64_t length;       /* the largest, where */
    tc_graph_value *size; /* depends on data; else NULL */
    bool fill;            /* results have as many rows as the inputs are long: zeros after the last trip */
} tc_graph_import_scan;

/* A Loop, or a Scan as one. */
typedef struct tc_graph_import_trips {
    tc_graph_import_place *at;
    const char *name; /* of the node; NULL: it has none */
    const tc_graph_import_body *body;
    const bool *wanted;   /* [nstate + nscan]: does somebody read the result? */
    tc_graph_infer_ctx c; /* in the graph around it */
    tc_graph_emitter e;
    size_t nstate, nscan;       /* values carried from trip to trip; results that every trip adds to */
    tc_graph_number limit;      /* the largest number of trips; value NULL: there is none */
    tc_graph_value *cond;       /* before the first trip; NULL: it holds */
    tc_graph_value **state;     /* [nstate] */
    tc_graph_import_scan *scan; /* NULL: a Loop */
    /* where it is written out: */
    bool data;                 /* go on where the data decide about trips */
    tc_graph_value **rows;     /* [trips * nscan], with room for more */
    tc_graph_value *go, *done; /* does this trip count? NULL: yes. How many did: an i64 scalar; NULL: all */
    int64_t trips, room;
} tc_graph_import_trips;

/* Adds the trips: written out, or as a node. *out: the results, [nstate + nscan]; NULL where nobody wants one. */
TC_NODISCARD tc_status tc_graph_import_add_trips(tc_graph_import_trips *l, tc_graph_value ***out, tc_error *err);
/* v, which may be NULL, is one element of that type. */
TC_NODISCARD tc_status tc_graph_import_one_of_type(const tc_graph_value *v, tc_dtype t, const char *what, tc_error *err);
/* Result k's rows, [n, ..], with the axis and in the direction that the node asks for. */
TC_NODISCARD tc_status tc_graph_import_turn_rows(tc_graph_import_trips *l, size_t k, tc_graph_value **v, tc_error *err);

/* ---- run_time.c ---- */
/* Adds a node that runs the body at run time. *out: as above. On failure, nothing but dead nodes has been added. */
TC_NODISCARD tc_status tc_graph_import_trips_at_run_time(tc_graph_import_trips *l, tc_graph_value ***out, tc_error *err);

#endif
