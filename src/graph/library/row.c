/* Library kernels that collect rows: each trip of a loop gives a row. */
#include <string.h>

#include "graph/library/kernels.h"

/* Row number `number` of rows that lie densely behind each other. Parameters, of its own: bytes of a row but for its sizes that
 * vary, how many of these there are, by which it is multiplied. Arguments: parameters, row, number i64, sizes i64..., rows. */
TC_LIB_KERNEL int32_t tc_lib_row(void *const *args, uint8_t *workspace, const tc_rt *rt) {
    const int64_t *p = args[0], number = *(const int64_t *)args[2];
    int64_t bytes = p[0];
    (void)workspace;
    (void)rt;
    for (int64_t i = 0; i < p[1]; i++)
        bytes *= *(const int64_t *)args[3 + i];
    memcpy((uint8_t *)args[3 + p[1]] + number * bytes, args[1], (size_t)bytes);
    return 0;
}
