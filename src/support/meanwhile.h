/* What is to be done now and then by those who compute for long, so that what goes on elsewhere meanwhile does not wait for them. */
#ifndef TC_SUPPORT_MEANWHILE_H
#define TC_SUPPORT_MEANWHILE_H

/* All zero: nothing. It is called by the thread that was given it, between parallel parts, and changes nothing that is computed. */
typedef struct tc_meanwhile {
    void (*call)(void *user);
    void *user;
} tc_meanwhile;

static inline void tc_meanwhile_do(const tc_meanwhile *m) {
    if (m->call)
        m->call(m->user);
}

#endif
