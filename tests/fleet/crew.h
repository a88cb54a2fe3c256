/* Workers of a test: processes of their own, the test's program started as one. */
#ifndef TC_TESTS_FLEET_CREW_H
#define TC_TESTS_FLEET_CREW_H

#include <sys/types.h>

enum { TEST_CREW = 8 };

/* program: the test's own; the rest begins as 0. */
typedef struct test_crew {
    const char *program;
    pid_t worker[TEST_CREW];
    int n;
} test_crew;

/* PROGRAM worker ARGUMENT..., a list that ends with NULL, four at most. It ends with the thread that started it. */
pid_t test_crew_start(test_crew *c, const char *const *arguments);
/* Waits for it, whose status it returns; sig: sent to it before; 0: none. */
int test_crew_finish(test_crew *c, pid_t p, int sig);
/* It is waited for by somebody else. */
void test_crew_forget(test_crew *c, pid_t p);
/* Ends those that are left, at once. */
void test_crew_end(test_crew *c);

#endif
