/* Growable arrays. `TC_VEC(int) v = {0}; tc_push(&v, 3); v.data[i]; v.len; tc_vec_free(&v);` Memory comes from the heap. */
#ifndef TC_SUPPORT_VEC_H
#define TC_SUPPORT_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "support/arena.h"

#define TC_VEC(T)                                                                                                                \
    struct {                                                                                                                     \
        T *data;                                                                                                                 \
        size_t len, cap;                                                                                                         \
    }

#define tc_reserve(v, n)                                                                                                         \
    do {                                                                                                                         \
        if ((v)->cap < (size_t)(n)) {                                                                                            \
            (v)->cap = (size_t)(n) > 2 * (v)->cap ? (size_t)(n) : 2 * (v)->cap;                                                  \
            if ((v)->cap < 8)                                                                                                    \
                (v)->cap = 8;                                                                                                    \
            (v)->data = tc_grow((v)->data, (v)->cap * sizeof *(v)->data);                                                        \
        }                                                                                                                        \
    } while (0)

#define tc_push(v, x)                                                                                                            \
    do {                                                                                                                         \
        tc_reserve((v), (v)->len + 1);                                                                                           \
        (v)->data[(v)->len++] = (x);                                                                                             \
    } while (0)

#define tc_vec_free(v)                                                                                                           \
    do {                                                                                                                         \
        free((v)->data);                                                                                                         \
        (v)->data = NULL;                                                                                                        \
        (v)->len = (v)->cap = 0;                                                                                                 \
    } while (0)

#define TC_LEN(array) (sizeof(array) / sizeof((array)[0]))
#define TC_MIN(a, b) ((a) < (b) ? (a) : (b))
#define TC_MAX(a, b) ((a) > (b) ? (a) : (b))

/* ceil(a / b) for b > 0. */
static inline int64_t tc_ceil_div(int64_t a, int64_t b) {
    return a / b + (a % b > 0);
}

#endif
