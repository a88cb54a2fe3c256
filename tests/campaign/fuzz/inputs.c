/* Reads inputs by the targets that the folders around them name, without libFuzzer: as they are, and damaged.
 *
 *   fuzz_inputs [--damaged N] FOLDER...       FOLDER/TARGET/FILE; each file, and N damaged copies of it
 *   fuzz_inputs --read TARGET FILE            one file
 *
 * What it is at is said on stderr. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/log.h"
#include "support/system/fs.h"
#include "targets.h"

typedef struct totals {
    int damaged; /* copies of each */
    int files, inputs;
} totals;

static const fuzz_target *target_named(const char *name) {
    for (int i = 0; i < fuzz_ntargets; i++)
        if (strcmp(fuzz_targets[i].name, name) == 0)
            return &fuzz_targets[i];
    fprintf(stderr, "fuzz_inputs: there is no target '%s'\n", name);
    exit(2);
}

static void read_damaged(const fuzz_target *t, const char *data, size_t size, unsigned seed) {
    tc_rng r = tc_rng_seed(seed);
    tc_strbuf out = {0};
    t->damage(&r, data, size, &out);
    t->read(tc_sb_str(&out), out.len < t->most ? out.len : t->most);
    tc_strbuf_free(&out);
}

static void read_file(const fuzz_target *t, const char *path, totals *sum) {
    char *data;
    size_t size;
    tc_error err;
    if (tc_fs_read(path, &data, &size, &err) != TC_OK) {
        fprintf(stderr, "fuzz_inputs: %s\n", err.msg);
        exit(2);
    }
    fprintf(stderr, "%s: %s\n", t->name, path);
    t->read(data, size);
    for (int i = 0; i < sum->damaged; i++) {
        fprintf(stderr, "%s: %s damaged, %d\n", t->name, path, i);
        read_damaged(t, data, size, (unsigned)i + 1);
    }
    sum->files++;
    sum->inputs += 1 + sum->damaged;
    free(data);
}

/* The folder of a target; its files are in an order. */
static void read_folder(const fuzz_target *t, const char *folder, totals *sum) {
    struct dirent **names;
    int n = scandir(folder, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        tc_strbuf path = {0};
        tc_sb_printf(&path, "%s/%s", folder, names[i]->d_name);
        if (names[i]->d_name[0] != '.')
            read_file(t, tc_sb_str(&path), sum);
        tc_strbuf_free(&path);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

int main(int argc, char **argv) {
    totals sum = {0};
    tc_log_set_level(TC_LOG_ERROR);
    if (!freopen("/dev/null", "w", stdout)) /* what `show` prints */
        return 2;
    if (argc == 4 && strcmp(argv[1], "--read") == 0) {
        read_file(target_named(argv[2]), argv[3], &sum);
        return 0;
    }
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--damaged") == 0 && i + 1 < argc) {
            sum.damaged = atoi(argv[++i]);
            continue;
        }
        for (int t = 0; t < fuzz_ntargets; t++) {
            tc_strbuf folder = {0};
            tc_sb_printf(&folder, "%s/%s", argv[i], fuzz_targets[t].name);
            read_folder(&fuzz_targets[t], tc_sb_str(&folder), &sum);
            tc_strbuf_free(&folder);
        }
    }
    fprintf(stderr, "%d files, %d inputs\n", sum.files, sum.inputs);
    return sum.files ? 0 : 2;
}
