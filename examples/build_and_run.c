/* Builds a network with the records of a database, runs it on ones, and prints what its kernels take: build_and_run NETWORK.onnx
 * DATABASE */
#include <stdio.h>
#include <stdlib.h>
#include <tctune/tctune.h>

/* A dense tensor with room for all elements, of a network of f32. */
static DLTensor tensor(DLDataType type, int ndim, const int64_t *shape) {
    size_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    float *data = malloc(n * sizeof *data);
    for (size_t i = 0; i < n && data; i++)
        data[i] = 1;
    return (DLTensor){.data = data, .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(size_t)shape};
}

int main(int argc, char **argv) {
    char error[1024];
    const int64_t *shape;
    int ndim;
    DLDataType type;
    tctune_model *model;
    if (argc != 3)
        return fprintf(stderr, "usage: build_and_run NETWORK.onnx DATABASE\n"), 2;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .database = argv[2]};
    if (tctune_build_file(argv[1], &o, &model, error, sizeof error) != TCTUNE_OK)
        return fprintf(stderr, "%s\n", error), 1;
    tctune_model_input(model, 0, &type, &ndim, &shape);
    DLTensor in = tensor(type, ndim, shape);
    tctune_model_output(model, 0, &type, &ndim, &shape);
    DLTensor out = tensor(type, ndim, shape);
    tctune_kernel_time times[256];
    int kernels = tctune_model_num_kernels(model);
    if (kernels > 256 || tctune_model_run(model, &in, &out, error, sizeof error) != TCTUNE_OK ||
        tctune_model_profile(model, &in, 20, times, error, sizeof error) != TCTUNE_OK)
        return fprintf(stderr, "%s\n", error), 1;
    printf("the first number is %g\n", (double)*(float *)out.data);
    for (int i = 0; i < kernels; i++)
        printf("%10.2f us  %dx  %s\n", times[i].seconds * 1e6, times[i].launches, times[i].name);
    free(in.data);
    free(out.data);
    tctune_model_free(model);
    return 0;
}
