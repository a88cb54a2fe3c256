/* Builds the model through libtctune and prints its first output for the same input as kernels.c. With a database every kernel
 * must come from a record of it. */
#include <stdio.h>
#include <tctune/tctune.h>

int main(int argc, char **argv) {
    char error[1024];
    tctune_model *m;
    static float image[28 * 28], scores[10];
    int64_t shape_in[] = {1, 1, 28, 28}, shape_out[] = {1, 10};
    tctune_build_options o = {
        .struct_size = sizeof o, .threads = 1, .database = argc == 3 ? argv[2] : NULL, .require_complete = argc == 3};
    if (argc < 2 || tctune_build_file(argv[1], argc == 3 ? &o : NULL, &m, error, sizeof error) != TCTUNE_OK) {
        fprintf(stderr, "%s\n", argc >= 2 ? error : "usage: library MODEL [DATABASE]");
        return 1;
    }
    for (int i = 0; i < 28 * 28; i++)
        image[i] = (float)(i % 7) / 7.0f;
    DLTensor in = {.data = image, .device = {kDLCPU, 0}, .ndim = 4, .dtype = {kDLFloat, 32, 1}, .shape = shape_in};
    DLTensor out = {.data = scores, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape_out};
    if (tctune_model_run(m, &in, &out, error, sizeof error) != TCTUNE_OK) {
        fprintf(stderr, "%s\n", error);
        return 2;
    }
    printf("%g\n", (double)scores[0]);
    tctune_model_free(m);
    return 0;
}
