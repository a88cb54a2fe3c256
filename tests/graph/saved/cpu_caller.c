/* A program that calls each function of a model's header and prints what it returns. test_other_cpu.c compiles it with the header,
 * for this machine and for others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 18, POISON = 0x5a };

static char *x, *y;

static const char *written(void) {
    int is = 0;
    for (int i = 0; i < BYTES; i++)
        is |= y[i] != POISON;
    memset(y, POISON, BYTES);
    return is ? "written" : "untouched";
}

int main(void) {
    x = aligned_alloc(64, BYTES);
    y = aligned_alloc(64, BYTES);
    memset(x, 0, BYTES);
    memset(y, POISON, BYTES);
    const void *in[] = {x};
    void *out[] = {y};
    for (int i = 0; i < 2; i++) { /* the answer is kept */
        int status = (int)small_run(in, out);
        printf("run %d %s\n", status, written());
    }
    small_context *c = small_context_new();
    printf("context %s\n", c ? "made" : "NULL");
    int status = (int)small_context_run(c, in, out);
    printf("context_run %d %s\n", status, written());
    status = (int)small_context_run(NULL, in, out);
    printf("context_run without a context %d %s\n", status, written());
    small_context_free(c);
    small_context_free(NULL);
#ifdef RUN_IN
    void *memory = aligned_alloc(64, small_MEMORY);
    status = (int)small_run_in(in, out, memory);
    printf("run_in %d %s\n", status, written());
    status = (int)small_run_in(in, out, NULL);
    printf("run_in without memory %d %s\n", status, written());
    free(memory);
#endif
    free(x);
    free(y);
    return 0;
}
