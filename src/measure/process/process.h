/* src/measure/process owns worker processes as the tuner sees them: started, watched, ended; what the two say to each
 * other (protocol.h), and what is believed of it. Not here: what a worker does with a request (src/measure/worker).
 *
 * Worker processes are started by exec, never by a bare fork: a copy of a live OpenMP team hangs. They get a time and a
 * memory limit, are killed when they exceed it, are always reaped, and are started again when the next request comes.
 * They die with the tuner. One process serves one request at a time. A handle belongs to the thread that made it, and
 * that thread must live as long as the process: Linux ties a child's life to the thread that started it. */
#ifndef TC_MEASURE_PROCESS_PROCESS_H
#define TC_MEASURE_PROCESS_PROCESS_H

#include <signal.h>
#include <sys/types.h>

#include "measure/process/allotted.h"
#include "measure/process/protocol.h"

typedef struct tc_meas_proc_options {
    const char *exe; /* NULL: what tc_meas_worker_use says */
    const char *arg; /* its argument that makes it a worker; NULL: "worker" */
    /* NULL-terminated "NAME=value" that are put over what it gets (tc_sandbox_environment); may be NULL */
    const char *const *env;
    const char *folder; /* of compiled objects that it may use; it runs no kernels then. NULL: it gets no files at all */
    /* Bytes of heap, anonymous mappings and stacks; 0: none. Ignored in sanitized builds (shadow memory) */
    uint64_t memory_limit;
    double start_limit; /* seconds from exec to READY; 0: 30 */
    int threads;        /* that it has a use for; one that starts many more is killed. 0: one per core */
} tc_meas_proc_options;

/* Names the executable that is started where options name none, for all of this process from now on: NULL, as at first, its own;
 * "": there is none. Not while anything is measured. Keeps the text. */
void tc_meas_worker_use(const char *exe);
bool tc_meas_worker_there(void); /* false: "" was said */

/* How a process ended, as far as can be told. */
typedef struct tc_meas_death {
    int signal; /* that killed it; 0: it exited */
    int exit_code;
    bool memory;    /* it asked for more memory than allowed, or the kernel killed it for memory */
    bool damaged;   /* it broke the protocol and was killed for that */
    bool forbidden; /* it tried what its sandbox forbids */
    bool crowd;     /* it started too many threads and was killed for that */
    bool untold;    /* the system did not tell how it ended (support/system/child.h) */
    char said[512]; /* last words on stderr, "" when silent */
} tc_meas_death;

typedef enum tc_meas_event {
    TC_MEAS_EV_NONE,   /* stopped by the flag */
    TC_MEAS_EV_REPLY,  /* answer is in reply_type, reply, reply_size */
    TC_MEAS_EV_DIED,   /* see `death` */
    TC_MEAS_EV_TIMEOUT /* it was killed */
} tc_meas_event;

typedef struct tc_meas_proc {
    tc_meas_proc_options opt;
    pid_t pid;            /* 0: not running */
    pid_t owner;          /* the process that started it: a process that was forked off since leaves it alone */
    int fd;               /* socket to it */
    int log;              /* memory file that is its stdout and stderr */
    bool busy;            /* a request is out */
    double waited, limit; /* seconds that were waited for the answer, and that may be */
    double had;           /* seconds that it had of the processors when the request was made */
    bool noted;           /* `before` is of this request: of one that takes a while */
    tc_meas_allotted before;
    /* Of the request that was killed for its time: the share of the time in which it wanted a processor that it had one, and whether
     * being late says nothing of what it did, because others kept it from running. One thread that had the time all the same is late
     * by itself; several wait for each other, for any time */
    double share;
    bool hindered;
    size_t starts; /* how often it was started */
    char llvm_version[32];
    char lacks[512]; /* what its sandbox could not be given, in sentences; "" */
    tc_meas_msg reply_type;
    char *reply; /* owned by the process; until the next request */
    size_t reply_size;
    char *in; /* bytes received so far */
    size_t in_len, in_cap;
    tc_meas_death death;
} tc_meas_proc;

/* Nothing is started yet. Strings in `opt` must outlive it. */
void tc_meas_proc_init(tc_meas_proc *p, const tc_meas_proc_options *opt);
/* Kills, reaps and releases. */
void tc_meas_proc_close(tc_meas_proc *p);
/* Kills and reaps; the next request starts a new one. */
void tc_meas_proc_kill(tc_meas_proc *p);
/* Starts it and waits for READY, unless it runs. A process that is killed meanwhile, for memory say, is started some times more.
 * TC_ENV says why it cannot be started. */
TC_NODISCARD tc_status tc_meas_proc_start(tc_meas_proc *p, tc_error *err);
/* Sends a request, starting the process first when needed; the answer must come within `limit` seconds: of those in which this
 * process was not suspended, and in which others did not keep that one from running. It gets up to three times as many where it had
 * the processors for less than half of them, because it was stopped itself, and five times as many at most. A process that dies while
 * it is sent to reports that in the next wait. */
TC_NODISCARD tc_status tc_meas_proc_send(tc_meas_proc *p, tc_meas_msg type, const void *payload, size_t n, double limit,
                                         tc_error *err);
/* Waits until one of the busy processes has an answer, is dead or is late; returns its index, or -1 with TC_MEAS_EV_NONE when
 * *stop became non-zero (looked at ten times a second) or none is busy. Bounded by the deadlines. */
int tc_meas_proc_wait(tc_meas_proc *const *procs, size_t n, const volatile sig_atomic_t *stop, tc_meas_event *ev);
/* "killed by signal 11 (Segmentation fault): LAST WORDS" */
void tc_meas_death_text(const tc_meas_death *d, tc_strbuf *b);

#endif
