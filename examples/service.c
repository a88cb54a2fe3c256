/* A service: threads that run one model at once, each with a context of its own: service NETWORK.onnx THREADS RUNS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tctune/tctune.h>

static tctune_model *model; /* code and weights are shared */
static int runs;

static DLTensor tensor(DLDataType type, int ndim, const int64_t *shape) {
    size_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    return (DLTensor){
        .data = calloc(n, 4), .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(size_t)shape};
}

static void *serve(void *done) {
    char error[1024];
    const int64_t *shape;
    int ndim;
    DLDataType type;
    tctune_context *context;
    if (tctune_context_new(model, &context, error, sizeof error) != TCTUNE_OK)
        return NULL;
    tctune_model_input(model, 0, &type, &ndim, &shape);
    DLTensor in = tensor(type, ndim, shape);
    tctune_model_output(model, 0, &type, &ndim, &shape);
    DLTensor out = tensor(type, ndim, shape);
    for (int i = 0; i < runs; i++)
        *(int *)done += tctune_context_run(context, &in, &out, error, sizeof error) == TCTUNE_OK;
    free(in.data);
    free(out.data);
    tctune_context_free(context);
    return NULL;
}

int main(int argc, char **argv) {
    char error[1024];
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1};
    if (argc != 4)
        return fprintf(stderr, "usage: service NETWORK.onnx THREADS RUNS\n"), 2;
    if (tctune_build_file(argv[1], &o, &model, error, sizeof error) != TCTUNE_OK)
        return fprintf(stderr, "%s\n", error), 1;
    pthread_t thread[64];
    int done[64] = {0}, threads = atoi(argv[2]) < 64 ? atoi(argv[2]) : 64, all = 0;
    runs = atoi(argv[3]);
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, serve, &done[i]);
    for (int i = 0; i < threads; i++) {
        pthread_join(thread[i], NULL);
        all += done[i];
    }
    printf("%d runs by %d threads\n", all, threads);
    tctune_model_free(model);
    return 0;
}
