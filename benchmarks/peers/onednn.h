/* What the peers that are oneDNN share. */
#ifndef TC_PEERS_ONEDNN_H
#define TC_PEERS_ONEDNN_H

#include <dnnl.h>
#include <stdio.h>

/* In a function that says whether it went well: leaves it where a call did not. */
#define TRY(call)                                                                                                                \
    do {                                                                                                                         \
        dnnl_status_t status_ = (call);                                                                                          \
        if (status_ != dnnl_success) {                                                                                           \
            fprintf(stderr, "oneDNN: %s ended with status %d\n", #call, (int)status_);                                           \
            return false;                                                                                                        \
        }                                                                                                                        \
    } while (0)

#endif
