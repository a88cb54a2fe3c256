/* See numbers.h. Only the calling thread's locale is changed, for as long as a call of libc takes. */
#include "support/numbers.h"

#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

/* The locale before, for `leave`; 0 where nothing had to be changed, which is nearly always. newlocale allocates nothing for "C". */
static locale_t enter(void) {
    return *nl_langinfo(RADIXCHAR) == '.' ? (locale_t)0 : uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

static void leave(locale_t before) {
    if (before)
        uselocale(before);
}

double tc_strtod(const char *text, char **end) {
    locale_t before = enter();
    double v = strtod(text, end);
    leave(before);
    return v;
}

float tc_strtof(const char *text, char **end) {
    locale_t before = enter();
    float v = strtof(text, end);
    leave(before);
    return v;
}

int tc_vsnprintf(char *out, size_t cap, const char *fmt, va_list ap) {
    locale_t before = enter();
    int n = vsnprintf(out, cap, fmt, ap);
    leave(before);
    return n;
}

int tc_snprintf(char *out, size_t cap, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = tc_vsnprintf(out, cap, fmt, ap);
    va_end(ap);
    return n;
}
