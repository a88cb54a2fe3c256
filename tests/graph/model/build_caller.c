/* A program that calls a built model: reads the inputs' bytes from DIR/in.0, DIR/in.1, ... and writes the outputs' to DIR/out.0,
 * ... It is C that compilers find nothing in to warn of. Compiled by build_model.c with the model's header: cc -include bert.h
 * -DMODEL=bert -DNIN=3 -DNOUT=2 -DOUT_BYTES=... build_caller.c bert.so */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GLUE2(a, b) a##b
#define GLUE(a, b) GLUE2(a, b)

static void *take(const char *dir, int i) {
    char path[1000], *data = malloc(1 << 22);
    snprintf(path, sizeof path, "%s/in.%d", dir, i);
    FILE *f = fopen(path, "rb");
    if (!f || !data || fread(data + 1, 1, (1 << 22) - 1, f) == 0)
        exit(1);
    fclose(f);
#ifdef ALIGNED
    return memmove(data, data + 1, (1 << 22) - 1);
#endif
    return data + 1; /* on purpose not aligned */
}

int main(int argc, char **argv) {
    static const size_t bytes[] = {OUT_BYTES};
    const void *in[NIN];
    void *out[NOUT];
    for (int i = 0; i < NIN; i++)
        in[i] = take(argv[argc - 1], i);
    for (int i = 0; i < NOUT; i++)
        out[i] = malloc(bytes[i]);
    /* Twice: with the model's own memory, and with a context. */
    int status = GLUE(MODEL, _run)(in, out);
    GLUE(MODEL, _context) *context = GLUE(MODEL, _context_new)();
    for (int i = 0; i < NOUT; i++)
        memset(out[i], 0, bytes[i]);
    if (status == 0)
        status = context ? (int)GLUE(MODEL, _context_run)(context, in, out) : 1;
    GLUE(MODEL, _context_free)(context);
    for (int i = 0; i < NOUT && status == 0; i++) {
        char path[1000];
        snprintf(path, sizeof path, "%s/out.%d", argv[argc - 1], i);
        FILE *f = fopen(path, "wb");
        status = !f || fwrite(out[i], 1, bytes[i], f) != bytes[i] || fclose(f) != 0;
    }
    return status;
}
