#include "lab.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *arguments;
} parts[] = {
    {"worker", lab_worker, "URL NAME THREADS SECONDS LEASE [faster|wrong]"},
    {"tuner", lab_tuner, "URL NAME THREADS COUNT SECONDS SEED [WEIGHT]"},
    {"proxy", lab_proxy, "ADDRESS PORT SERVER PORT SEED [garbage]"},
};

int main(int argc, char **argv) {
    size_t n = sizeof parts / sizeof *parts;
    for (size_t i = 0; i < n; i++)
        if (argc > 1 && strcmp(argv[1], parts[i].name) == 0) {
            int status = parts[i].run(argc - 2, argv + 2);
            if (status >= 0)
                return status;
        }
    for (size_t i = 0; i < n; i++)
        fprintf(stderr, "usage: fleet_lab %s %s\n", parts[i].name, parts[i].arguments);
    return 2;
}
