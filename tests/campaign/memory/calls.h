/* The calls of the library that memory is refused to, and what is to hold after each. */
#ifndef TC_TESTS_MEMORY_CALLS_H
#define TC_TESTS_MEMORY_CALLS_H

#include "support/status.h"

/* All report by `err`, and return TC_OK, or what is wrong. */
typedef struct call {
    const char *name;
    /* Before each: what it changes is as it was. */
    tc_status (*prepare)(tc_error *err);
    /* The call itself, and the release of what it made. */
    tc_status (*run)(tc_error *err);
    /* After it said that it was done. */
    tc_status (*right)(tc_error *err);
    /* After it said that it failed. */
    tc_status (*unharmed)(tc_error *err);
} call;

extern const call calls[];
extern const int ncalls;

/* Makes what the calls need in the present folder; `data`: that of the models which are imported. */
tc_status calls_setup(const char *data, tc_error *err);
void calls_free(void);

#endif
