/* How much cache the processes of this machine really get, and how fast the memory behind it is. A virtual machine reports its
 * host's last cache, and gets what the neighbours leave of it: a few MiB of hundreds.
 *
 * Growing footprints are read on all cores at once, page by page and line by line, in an order that no prefetcher follows. The
 * time of a line shows whether most lines are still in a cache when the next pass comes to them. */
#ifndef TC_MEASURE_MACHINE_CACHES_H
#define TC_MEASURE_MACHINE_CACHES_H

#include <stdbool.h>
#include <stdint.h>

#include "tir_lower/tir.h"

typedef struct tc_meas_footprint {
    int64_t bytes; /* of all cores together */
    double ns;     /* a line, read by one core while the others read theirs */
} tc_meas_footprint;

enum { TC_MEAS_FOOTPRINTS = 32 };
typedef struct tc_meas_caches {
    int walks;         /* that it is of */
    bool is_whole;     /* the last walk went beyond the caches; else memory was too scarce, and nothing is kept */
    int64_t reported;  /* the last cache as the system tells of it */
    int64_t last;      /* as measured: no more than that */
    double memory_gbs; /* of reading in order what no cache holds, all cores together */
    int n;
    tc_meas_footprint walk[TC_MEAS_FOOTPRINTS];
} tc_meas_caches;

/* Walks now; `m` says where the walk begins and ends. It takes a second or two. */
tc_meas_caches tc_meas_walk_caches(const tc_machine *m);
/* What the first three calls on this machine found together, each by a walk: one of them may have been disturbed. It is kept in the
 * user's folder (support/system/user_folder.h); where nothing is kept, every call walks. */
tc_meas_caches tc_meas_known_caches(const tc_machine *m);
/* What is kept of walks on this machine, without another. False: nothing. */
bool tc_meas_kept_caches(const tc_machine *m, tc_meas_caches *out);
/* The last cache by the times of a walk: the largest footprint of which more than about half was found in a cache. 0: none was, or
 * the walk did not leave the caches. */
int64_t tc_meas_last_cache(const tc_meas_footprint *walk, int n);

#endif
