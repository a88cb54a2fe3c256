/* Matmuls of other libraries, timed in turns with ours. They run in the benchmarks' program `gemm_peers`, which is built where
 * these libraries are installed. tctune itself links none of them. */
#ifndef TC_MEASURE_PEER_H
#define TC_MEASURE_PEER_H

#include <signal.h>

#include "te/te.h"

/* C[m, n] = A[m, k] * B[k, n] */
typedef struct tc_meas_gemm {
    int64_t m, n, k;
} tc_meas_gemm;

/* TC_BAD_INPUT, with the reason, for a workload that is not one f32 matmul of that form. */
TC_NODISCARD tc_status tc_meas_gemm_of(const tc_workload *w, tc_meas_gemm *out, tc_error *err);

/* "onednn" and "openblas", NULL-terminated: what a peer may be called. */
const char *const *tc_meas_peer_names(void);

typedef struct tc_meas_peer tc_meas_peer;

/* Starts the program: $TCTUNE_PEERS, else gemm_peers beside this executable, else on the PATH. TC_ENV, with what to do, when
 * there is none or it lacks the library. */
TC_NODISCARD tc_status tc_meas_peer_open(const char *name, const tc_meas_gemm *g, int threads, const volatile sig_atomic_t *stop,
                                         tc_meas_peer **out, tc_error *err);
/* A turn for tc_meas_guest: the median of several calls after an untimed one. `peer` is a tc_meas_peer. */
TC_NODISCARD tc_status tc_meas_peer_turn(void *peer, double *seconds, tc_error *err);
const char *tc_meas_peer_version(const tc_meas_peer *p);
void tc_meas_peer_close(tc_meas_peer *p); /* NULL is fine */

#endif
