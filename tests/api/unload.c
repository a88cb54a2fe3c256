/* A program that is linked with nothing of tctune opens the library, runs a kernel with two threads, and closes the library: threads
 * of OpenMP's runtime wait then, so the library and the runtime stay loaded.
 *
 *     unload LIBTCTUNE */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tctune/tctune.h"

enum { SIDE = 256 };

static void *library;
static char error[1024];

/* *function, a pointer to a function. */
static void find(const char *name, void *function) {
    void *at = dlsym(library, name);
    if (!at) {
        fprintf(stderr, "there is no %s\n", name);
        exit(3);
    }
    memcpy(function, &at, sizeof at);
}

static void must(tctune_status s) {
    if (s == TCTUNE_OK)
        return;
    fprintf(stderr, "%s\n", error);
    exit(4);
}

static void visit(const char *path) {
    static const char TE[] = "tensor X[256, 256] f32\ntensor W[256, 256] f32 const\n"
                             "compute Y[i:256, j:256] = sum(k:256) X[i, k] * W[k, j]\noutput Y\n";
    __typeof__(tctune_open) *open_work;
    __typeof__(tctune_build) *build;
    __typeof__(tctune_model_run) *run;
    __typeof__(tctune_model_free) *model_free;
    __typeof__(tctune_work_free) *work_free;
    tctune_work *w;
    tctune_model *m;
    tctune_work_options from = {.struct_size = sizeof from, .te_text = TE};
    tctune_build_options o = {.struct_size = sizeof o, .threads = 2};
    int64_t shape[] = {SIDE, SIDE};
    DLTensor x = {.data = calloc(SIDE * SIDE, 4), .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = shape, .device = {kDLCPU, 0}},
             y = x;
    y.data = calloc(SIDE * SIDE, 4);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(5);
    }
    find("tctune_open", &open_work);
    find("tctune_build", &build);
    find("tctune_model_run", &run);
    find("tctune_model_free", &model_free);
    find("tctune_work_free", &work_free);
    must(open_work(&from, &w, error, sizeof error));
    must(build(w, &o, &m, error, sizeof error));
    for (int i = 0; i < 10; i++)
        must(run(m, &x, &y, error, sizeof error));
    model_free(m);
    work_free(w);
    dlclose(library);
    if (!dlopen(path, RTLD_NOW | RTLD_NOLOAD)) {
        fprintf(stderr, "the library is gone, and may have taken OpenMP's runtime with it\n");
        exit(6);
    }
    free(x.data);
    free(y.data);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return 2;
    for (int i = 0; i < 3; i++)
        visit(argv[1]);
    usleep(300000);
    puts("lived");
    return 0;
}
