/* Tunes a network, builds it with the records, saves the library and runs it, all by the public API, in the locale that the
 * environment names:
 *
 *   caller NETWORK.onnx DATABASE LIBRARY.so
 *
 * The status is 1, with the library's own message, where any of these fails. Without arguments it prints the locale's decimal
 * point. */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <tctune/tctune.h>

static char error[1024];

static int failed(const char *what) {
    fprintf(stderr, "caller: %s: %s\n", what, error);
    return 1;
}

/* A dense tensor of f32, of zeros. */
static DLTensor tensor(DLDataType type, int ndim, const int64_t *shape) {
    size_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= (size_t)shape[d];
    return (DLTensor){
        .data = calloc(n, sizeof(float)), .device = {kDLCPU, 0}, .ndim = ndim, .dtype = type, .shape = (int64_t *)(size_t)shape};
}

static int tune(const char *network, const char *database) {
    tctune_work_options wo = {.struct_size = sizeof wo, .model = network};
    tctune_tune_options to = {.struct_size = sizeof to, .database = database, .trials = 2, .stop_at_roof = 9, .threads = 1};
    tctune_work *work = NULL;
    tctune_session *session = NULL;
    tctune_status s = tctune_open(&wo, &work, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_session_new(work, &to, &session, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_session_run(session, error, sizeof error);
    tctune_session_free(session);
    tctune_work_free(work);
    return s == TCTUNE_OK ? 0 : failed("tune");
}

static int run(tctune_model *m) {
    const int64_t *shape;
    int ndim;
    DLDataType type;
    tctune_model_input(m, 0, &type, &ndim, &shape);
    DLTensor in = tensor(type, ndim, shape);
    tctune_model_output(m, 0, &type, &ndim, &shape);
    DLTensor out = tensor(type, ndim, shape);
    tctune_status s = tctune_model_run(m, &in, &out, error, sizeof error);
    free(in.data);
    free(out.data);
    return s == TCTUNE_OK ? 0 : failed("run");
}

static int build(const char *network, const char *database, const char *library) {
    tctune_model *m;
    tctune_build_options o = {.struct_size = sizeof o, .threads = 1, .database = database};
    if (tctune_build_file(network, &o, &m, error, sizeof error) != TCTUNE_OK)
        return failed("build");
    int status = tctune_model_save(m, library, "net", error, sizeof error) == TCTUNE_OK ? run(m) : failed("save");
    tctune_model_free(m);
    return status;
}

int main(int argc, char **argv) {
    setlocale(LC_ALL, "");
    if (argc != 4)
        return puts(localeconv()->decimal_point), argc == 1 ? 0 : 2;
    int status = tune(argv[1], argv[2]);
    return status ? status : build(argv[1], argv[2], argv[3]);
}
