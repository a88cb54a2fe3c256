/* A program without OpenMP that opens a library, runs its model and closes it, again and again: alternately in its first thread and
 * in a thread that then ends. test_unload.c compiles it.
 *
 *     unload_caller LIBRARY NAME TIMES */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BYTES = 1 << 18 };

typedef int32_t run_fn(const void *const *inputs, void *const *outputs);

static const char *path, *name;
static int most; /* threads that there were at once */

static int threads(void) {
    int n = -2; /* . and .. */
    DIR *d = opendir("/proc/self/task");
    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static void *visit(void *unused) {
    char symbol[200];
    run_fn *run;
    void *in = aligned_alloc(64, BYTES), *out = aligned_alloc(64, BYTES), *library = dlopen(path, RTLD_NOW | RTLD_LOCAL), *at;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        exit(3);
    }
    snprintf(symbol, sizeof symbol, "%s_run", name);
    at = dlsym(library, symbol);
    memcpy(&run, &at, sizeof run);
    memset(in, 0, BYTES);
    int32_t status = run((const void *const[]){in}, (void *const[]){out});
    int now = threads();
    most = now > most ? now : most;
    if (status != 0 || dlclose(library) != 0)
        exit(4);
    library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    if (library) {
        fprintf(stderr, "the library is still loaded\n");
        exit(5);
    }
    free(in);
    free(out);
    return unused;
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    path = argv[1];
    name = argv[2];
    for (int i = 0; i < atoi(argv[3]); i++) {
        pthread_t thread;
        if (i % 2 == 0)
            visit(NULL);
        else if (pthread_create(&thread, NULL, visit, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return 6;
    }
    usleep(300000); /* threads that wait wake up, if they can */
    if (most < 2) {
        fprintf(stderr, "no team had a second thread\n");
        return 7;
    }
    puts("lived");
    return 0;
}
