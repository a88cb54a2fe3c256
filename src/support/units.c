#include "support/units.h"

#include <math.h>
#include <stdio.h>

#include "support/numbers.h"

static char *scaled(char buf[24], double v, const char *const *units, int n, double step) {
    int u = 0;
    while (u < n - 1 && v >= 999.5) {
        v /= step;
        u++;
    }
    tc_snprintf(buf, 24, "%.*f %s", v < 9.995 ? 2 : v < 99.95 ? 1 : 0, v, units[u]);
    return buf;
}

char *tc_text_time(char buf[24], double seconds) {
    static const char *const units[] = {"us", "ms", "s"};
    if (!isfinite(seconds)) {
        snprintf(buf, 24, "-");
        return buf;
    }
    return scaled(buf, seconds * 1e6, units, 3, 1000);
}

char *tc_text_bytes(char buf[24], double n) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    return scaled(buf, n, units, 4, 1024);
}

char *tc_text_duration(char buf[24], double seconds) {
    if (!(seconds >= 0) || seconds > 1e8) {
        snprintf(buf, 24, "-");
        return buf;
    }
    long s = lround(seconds);
    if (s >= 3600)
        snprintf(buf, 24, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(buf, 24, "%ld:%02ld", s / 60, s % 60);
    return buf;
}
