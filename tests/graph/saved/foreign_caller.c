/* A program that calls a library whose sizes vary, at all of them, and prints what comes of it: compiled by test_foreign_sizes.c
 * with the library's header, for this machine and for another. The numbers are whole, so that all CPUs compute the same. */
#include <stdio.h>
#include <string.h>

enum { POISON = 0x5a };

static float x[16], y[16], out[64];

static int is_untouched(void) {
    for (size_t i = 0; i < sizeof out; i++)
        if (((const unsigned char *)out)[i] != POISON)
            return 0;
    return 1;
}

static void call(int64_t n, int64_t m) {
    int64_t rows = -1;
    const void *in[] = {x, y, &n, &m};
    void *outs[] = {out, &rows};
    memset(out, POISON, sizeof out);
    int status = (int)foreign_run(in, outs);
    printf("%d %d: status %d, rows %d, %s", (int)n, (int)m, status, (int)rows, is_untouched() ? "untouched" : "written");
    for (int64_t i = 0; i < rows; i++)
        printf(" %g", (double)out[i]);
    printf("\n");
}

int main(void) {
    for (int i = 0; i < 16; i++) {
        x[i] = (float)(i % 5);
        y[i] = (float)(i % 3 + 1);
    }
    for (int64_t n = 0; n <= 9; n++)
        for (int64_t m = 0; m <= 6; m++)
            call(n, m);
    return 0;
}
