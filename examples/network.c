/* Tunes a network, builds it, runs it on zeros, and prints what its kernels take: network NETWORK.onnx DATABASE TRIALS */
#include <stdio.h>
#include <stdlib.h>
#include <tctune/tctune.h>
int main(int argc, char **argv) {
    char e[1024];
    tctune_work_options wo = {.struct_size = sizeof wo, .model = argv[1]};
    tctune_tune_options to = {.struct_size = sizeof to, .database = argv[argc / 2], .trials = atoi(argv[argc - 1])};
    tctune_build_options bo = {.struct_size = sizeof bo, .database = argv[argc / 2]};
    tctune_work *w = NULL;
    tctune_model *m = NULL;
    DLTensor io[32] = {0}, *t = io; /* 16 inputs, 16 outputs */
    tctune_kernel_time k[256];
    int bad = tctune_open(&wo, &w, e, sizeof e) || tctune_tune(w, &to, e, sizeof e) || tctune_build(w, &bo, &m, e, sizeof e);
    for (int i = 0; !bad && i < 32; t = &io[++i]) {
        if (!(i < 16 ? tctune_model_input : tctune_model_output)(m, i % 16, &t->dtype, &t->ndim, (void *)&t->shape))
            continue;
        size_t n = t->dtype.bits / 8u;
        for (int d = 0; d < t->ndim; d++)
            n *= (size_t)t->shape[d];
        t->data = calloc(n, 1), t->device.device_type = kDLCPU;
    }
    if (bad || tctune_model_num_kernels(m) > 256 || tctune_model_run(m, io, io + 16, e, sizeof e) ||
        tctune_model_profile(m, io, 20, k, e, sizeof e))
        return fprintf(stderr, "%s\n", e), 1;
    for (int i = 0; i < tctune_model_num_kernels(m); i++)
        printf("%10.2f us  %dx  %s\n", k[i].seconds * 1e6, k[i].launches, k[i].name);
    for (tctune_model_free(m), tctune_work_free(w), t = io; t < io + 32; t++)
        free(t->data);
}
