/* Work for long computations to do now and then, so that others do not wait for them. */
#ifndef TC_SUPPORT_MEANWHILE_H
#define TC_SUPPORT_MEANWHILE_H

/* All zero: no function. The thread that got the struct calls it, between parallel loops. It does not change the computation. */
typedef struct tc_meanwhile {
    void (*call)(void *user);
    void *user;
} tc_meanwhile;

static inline void tc_meanwhile_do(const tc_meanwhile *m) {
    if (m->call)
        m->call(m->user);
}

#endif
