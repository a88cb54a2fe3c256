/* src/measure/doctor owns what of this machine hurts measurements, and what to do about it: one check per line of
 * checks.def. Not here: the rates themselves (src/measure/machine).
 *
 * Checks that read files read them beneath a root, "" on a real machine, so that tests can show any machine. */
#ifndef TC_MEASURE_DOCTOR_DOCTOR_H
#define TC_MEASURE_DOCTOR_DOCTOR_H

#include "codegen/target/target.h"
#include "measure/machine/caches.h"
#include "measure/machine/peak.h"
#include "support/arena.h"
#include "support/vec.h"

typedef enum tc_doctor_check {
#define CHECK(id, name, remedy) TC_DOCTOR_##id,
#include "measure/doctor/checks.def"
#undef CHECK
    TC_NDOCTOR
} tc_doctor_check;

typedef enum tc_doctor_level {
    TC_DOCTOR_GOOD,
    TC_DOCTOR_UNKNOWN, /* nobody tells */
    TC_DOCTOR_NOTE,    /* good to know: it hurts some */
    TC_DOCTOR_WARNING  /* it hurts */
} tc_doctor_level;

typedef struct tc_doctor_finding {
    tc_doctor_check check;
    tc_doctor_level level;
    const char *text;   /* what was found */
    const char *remedy; /* what to do; "" where there is nothing */
} tc_doctor_finding;

typedef struct tc_doctor {
    tc_arena *arena; /* of the texts */
    TC_VEC(tc_doctor_finding) findings;
} tc_doctor;

const char *tc_doctor_name(tc_doctor_check c);       /* "governor" */
const char *tc_doctor_level_name(tc_doctor_level l); /* "ok", "unknown", "note", "warning" */
void tc_doctor_free(tc_doctor *d);                   /* the list; the arena is the caller's */
void tc_doctor_say(tc_doctor *d, tc_doctor_check c, tc_doctor_level l, const char *fmt, ...) TC_PRINTF(4, 5);

/* ---- by files ---- */

/* Clocks, cores, nodes, pages, what perf may, whether it is a virtual machine (system.c). */
void tc_doctor_read_system(tc_doctor *d, const char *root);
/* How much of the machine this process may use (limits.c). */
void tc_doctor_read_limits(tc_doctor *d, const char *root);
/* Whose the processors were between two readings of /proc/stat (load.c): others' while this process did little; the host's while it
 * wanted them, else there is nothing to take. */
typedef struct tc_doctor_ticks {
    int cpus;         /* 0: not told */
    double busy, all; /* of all of them, busy for whomever */
    double steal;     /* for other machines of the host */
    double own;       /* this process */
} tc_doctor_ticks;
tc_doctor_ticks tc_doctor_read_ticks(const char *root);
void tc_doctor_judge_load(tc_doctor *d, const tc_doctor_ticks *before, const tc_doctor_ticks *after);
void tc_doctor_judge_steal(tc_doctor *d, const tc_doctor_ticks *before, const tc_doctor_ticks *after);

/* ---- of this process (process.c) ---- */

typedef struct tc_doctor_process {
    double clock_step; /* seconds (support/clock) */
    unsigned mxcsr;    /* the thread's mode of floating-point, as x86 has it; 0: no such machine */
    bool tiles_work;
    const char *sandbox_lacks; /* what a worker's sandbox could not close, in its words; "": nothing */
} tc_doctor_process;
/* Asks; a child process tries the sandbox, so no thread of OpenMP's may be there yet. t: this machine. */
tc_doctor_process tc_doctor_ask_process(const tc_target *t, tc_arena *a);
void tc_doctor_judge_process(tc_doctor *d, const char *root, const tc_doctor_process *p);

/* ---- measured (measured.c) ---- */

typedef struct tc_doctor_measured {
    int threads;
    double spread;   /* of a fixed piece of work: width of the middle half of its times over their median */
    double slowdown; /* its median over its fastest */
    double alone;    /* GFLOP/s of one thread */
    tc_meas_peak peak;
    tc_meas_caches caches;
} tc_doctor_measured;
/* About three seconds. */
tc_doctor_measured tc_doctor_measure(const tc_target *t);
void tc_doctor_judge_measured(tc_doctor *d, const tc_doctor_measured *m);

/* ---- all of it (examine.c) ---- */

/* Of this machine, which t is, in about four seconds; quick: only what files and the process tell, which measures nothing
 * (threads 0). */
tc_doctor_measured tc_doctor_examine(tc_doctor *d, const tc_target *t, bool quick);

#endif
