/* What allotted.h describes. */
#include "measure/process/allotted.h"

#include <dirent.h>
#include <stdio.h>

#include "support/system/fs.h"

static void add_thread(pid_t pid, const char *thread, tc_meas_allotted *sum) {
    char path[64], text[96];
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/%d/task/%.16s/schedstat", (int)pid, thread);
    text[tc_fs_read_head(path, text, sizeof text - 1)] = 0;
    if (sscanf(text, "%llu %llu", &ran, &waited) != 2)
        return;
    sum->ran += 1e-9 * (double)ran;
    sum->waited += 1e-9 * (double)waited;
}

tc_meas_allotted tc_meas_allotted_of(pid_t pid) {
    char path[48];
    tc_meas_allotted sum = {0};
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *threads = opendir(path);
    for (const struct dirent *e; threads && (e = readdir(threads));)
        if (e->d_name[0] != '.')
            add_thread(pid, e->d_name, &sum);
    if (threads)
        closedir(threads);
    return sum;
}

double tc_meas_allotted_share(const tc_meas_allotted *from, const tc_meas_allotted *to) {
    double ran = to->ran - from->ran, waited = to->waited - from->waited; /* below 0: of threads that ended */
    return ran > 0 && waited > 0 ? ran / (ran + waited) : 1;
}
