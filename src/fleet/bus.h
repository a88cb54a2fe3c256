/* A NATS server with JetStream, as a fleet uses it (boards that do not compile: bus_build.h):
 *
 *   tctune.work.KEY.TUNER      jobs, a work queue: each is given to one of the workers that serve the key, and again to another one
 *                              where it is neither answered nor said to be under way for a lease
 *   tctune.result.KEY.WORKER.TUNER.ID
 *                              results, kept for a day: a tuner that was started again finds its own
 *   tctune.record.KEY.JOB      what a tuner has recorded of a job, the last word on it, kept for thirty days: others' databases
 *                              follow it
 *   bucket tctune_workers      who serves which key, as KEY.WORKER; an entry goes when its worker is silent
 *   bucket tctune_begun        what a worker began and has not ended, as KEY.WORKER.ID: in which run of its machine, or that this
 *                              ended
 *   bucket tctune_tuners       who waits for results; an entry goes when its tuner is silent
 *   bucket tctune_orders       what workers are told to do, as KEY.WORKER
 *
 * A subject names the worker that may write to it, so that a server can keep workers from writing in each other's names.
 *
 * Messages are texts (message.h); what is in them the bus does not know. A connection that is lost is made again by itself, and
 * calls that wait go on waiting. Functions return TC_ENV with what the server said and what to do about it. */
#ifndef TC_FLEET_BUS_H
#define TC_FLEET_BUS_H

#include <stdint.h>

#include "support/arena.h"
#include "support/status.h"

/* Which server, and who is let in. Files and names are as the command has them; NULL: none. */
typedef struct tc_fleet_access {
    const char *url;   /* nats://HOST:PORT, tls://..., several with commas between them */
    const char *creds; /* file of a user's JWT and seed */
    /* File of a user's public key and seed, as deploy/fleet-user writes and `nk -gen user -pubout` prints them; replies then come
     * to _INBOX.PUBLICKEY, so that the server can keep them from others */
    const char *nkey;
    const char *ca; /* certificates by which the server's is checked */
    double answer;  /* seconds for which a request waits for its answer; 0: 2 */
} tc_fleet_access;

typedef struct tc_fleet_bus tc_fleet_bus;

/* Connects, and makes streams and buckets where there are none. `name`: of the connection, for whoever watches the server. */
TC_NODISCARD tc_status tc_fleet_bus_open(const tc_fleet_access *access, const char *name, tc_fleet_bus **out, tc_error *err);
/* The same, but nothing is made, and only records are read: for a user who may do no more. */
TC_NODISCARD tc_status tc_fleet_bus_connect(const tc_fleet_access *access, const char *name, tc_fleet_bus **out, tc_error *err);
void tc_fleet_bus_close(tc_fleet_bus *b); /* NULL is fine */
bool tc_fleet_bus_connected(const tc_fleet_bus *b);
/* The server's addresses without passwords, for messages. */
const char *tc_fleet_bus_url(const tc_fleet_bus *b);

/* ---- the tuner's ---- */

/* Seconds after which the jobs of a tuner that says nothing are nobody's. */
enum { TC_FLEET_TUNER_LEASE = 60 };

/* Says that a tuner is there, which its text describes, until it is silent or leaves. */
TC_NODISCARD tc_status tc_fleet_bus_attend(tc_fleet_bus *b, const char *tuner, const char *text, tc_error *err);
void tc_fleet_bus_depart(tc_fleet_bus *b, const char *tuner);
/* From now on results of workers of the key that are sent to `tuner` are received. */
TC_NODISCARD tc_status tc_fleet_bus_listen(tc_fleet_bus *b, const char *key, const char *tuner, tc_error *err);
/* Puts a job into the queue of a key. One of the same tuner and id that was put there within the last minutes is in it once;
 * `asked`: makes it another one. *number: of it in the queue; they grow. NULL: nobody asks. */
TC_NODISCARD tc_status tc_fleet_bus_ask(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, int asked,
                                        const char *text, uint64_t *number, tc_error *err);
/* Number up to which workers of the key have ended all that the server gave them, and to which it will not go back. A job that is
 * in the queue still was passed over: nobody will be given it. nats-server 2.9 does that now and then, where jobs of several
 * tuners are in one queue and are ended in another order than they came in. (Its pull requests 5266 and 6526 mend such faults of
 * later versions.) 0: nothing was given yet. */
TC_NODISCARD tc_status tc_fleet_bus_ended(tc_fleet_bus *b, const char *key, uint64_t *number, tc_error *err);
/* Takes the job of such a number out of the queue. False: it was not there. */
bool tc_fleet_bus_take_out(tc_fleet_bus *b, uint64_t number);

/* What a worker sent, by the name that the server lets it have. */
typedef struct tc_fleet_mail {
    const char *worker, *id; /* whose, and of which job, by the subject */
    const char *text;        /* NULL: nothing */
} tc_fleet_mail;

/* The next result that arrives within `seconds`. */
TC_NODISCARD tc_status tc_fleet_bus_hear(tc_fleet_bus *b, double seconds, tc_arena *a, tc_fleet_mail *out, tc_error *err);
/* The last result of a job, if there is one already. */
TC_NODISCARD tc_status tc_fleet_bus_find(tc_fleet_bus *b, const char *key, const char *tuner, const char *id, tc_arena *a,
                                         tc_fleet_mail *out, tc_error *err);
/* How many jobs of the tuner are in the queue of a key, waiting or under way; -1: the server did not answer in time. */
TC_NODISCARD tc_status tc_fleet_bus_asked(tc_fleet_bus *b, const char *key, const char *tuner, int64_t *n, tc_error *err);
/* Takes the tuner's jobs that nobody has begun out of the queue of a key. */
void tc_fleet_bus_withdraw(tc_fleet_bus *b, const char *key, const char *tuner);

/* ---- the worker's ---- */

/* From now on jobs of the key can be fetched. lease: seconds after which one of which nothing is heard is given to another
 * worker, and twice, four times... as long when that happens again; the last worker that says one decides for the key. Once more,
 * it makes what was deleted meanwhile. */
TC_NODISCARD tc_status tc_fleet_bus_serve(tc_fleet_bus *b, const char *key, double lease, tc_error *err);

/* A job that was given to this worker. It is ended by one of done, back, refuse. */
typedef struct tc_fleet_delivery tc_fleet_delivery;

/* One job, within `seconds`; *out NULL: there is none. */
TC_NODISCARD tc_status tc_fleet_bus_fetch(tc_fleet_bus *b, double seconds, tc_fleet_delivery **out, tc_error *err);
const char *tc_fleet_delivery_text(const tc_fleet_delivery *d);
int tc_fleet_delivery_times(const tc_fleet_delivery *d); /* that it was given to a worker, this one included */
/* Says that it is under way: the lease begins anew. From any thread. */
void tc_fleet_delivery_touch(tc_fleet_delivery *d);
/* It was answered: it leaves the queue. Frees d, as the two below. */
void tc_fleet_delivery_done(tc_fleet_delivery *d);
/* It goes to another worker, after so many seconds. */
void tc_fleet_delivery_back(tc_fleet_delivery *d, double seconds);
/* It is no job, and is given to nobody any more. */
void tc_fleet_delivery_refuse(tc_fleet_delivery *d);
/* No jobs are to come to this worker until it serves again: d, if it is not NULL, and what the server has given it besides go to
 * others. */
void tc_fleet_bus_rest(tc_fleet_bus *b, tc_fleet_delivery *d);

/* Whether the queue of the key is there to be fetched from; it was made by serve. */
bool tc_fleet_bus_is_served(tc_fleet_bus *b, const char *key);
/* Whether a tuner waits for results; of a job, which it wants for so many seconds, whether it last said so within that time of
 * asking for it (0: however long it takes). Both are times of the server: no clock of another machine's is asked. True also where
 * that cannot be told now. */
bool tc_fleet_bus_is_awaited(tc_fleet_bus *b, const char *tuner, const tc_fleet_delivery *d, double wanted);

/* A worker, in one run of its machine. */
typedef struct tc_fleet_self {
    const char *key, *name, *boot;
} tc_fleet_self;

/* Notes that this worker begins a job; and that it ended, or goes to another worker, with this one alive. `here`: how often this
 * worker's machine ended with it before (tc_fleet_losses). */
TC_NODISCARD tc_status tc_fleet_bus_begin(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int here, tc_error *err);
void tc_fleet_bus_end(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, int here);

/* Workers that began a job and did not end it. */
typedef struct tc_fleet_losses {
    int died;     /* times that one's machine began anew since */
    int here;     /* of them, this worker's own */
    int vanished; /* others of whom that is not known: their connection, they, or their machines are lost */
} tc_fleet_losses;

TC_NODISCARD tc_status tc_fleet_bus_losses(tc_fleet_bus *b, const tc_fleet_self *self, const char *id, tc_fleet_losses *out,
                                           tc_error *err);
/* A worker has started: what it began in this run of its machine, when it was another process, says nothing of those jobs, and is
 * forgotten; what it began in an earlier one, the machine did not survive. */
TC_NODISCARD tc_status tc_fleet_bus_come_back(tc_fleet_bus *b, const tc_fleet_self *self, tc_error *err);

/* Sends the result of a job or of one of its candidates; it is in the stream when this returns. */
TC_NODISCARD tc_status tc_fleet_bus_answer(tc_fleet_bus *b, const tc_fleet_self *self, const char *tuner, const char *id,
                                           const char *text, tc_error *err);

/* ---- who is there ---- */

enum { TC_FLEET_SILENCE = 30 /* seconds after which a worker that says nothing is gone */ };

/* What a worker tells of itself, until it is silent or leaves. From any thread. */
TC_NODISCARD tc_status tc_fleet_bus_announce(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err);
void tc_fleet_bus_leave(tc_fleet_bus *b, const char *key, const char *name);
/* One worker's text, and seconds since it came. */
typedef void tc_fleet_seen(void *user, const char *text, double age);
TC_NODISCARD tc_status tc_fleet_bus_workers(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err);
/* Entries of a bucket, as such a function is told of them. */
TC_NODISCARD tc_status tc_fleet_bus_tuners(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err);
/* What the worker is told to do; *text NULL: nothing. *number: of the order, which no other one of the bucket has; 0: there is
 * none. From any thread. */
TC_NODISCARD tc_status tc_fleet_bus_order(tc_fleet_bus *b, const char *key, const char *name, tc_arena *a, const char **text,
                                          uint64_t *number, tc_error *err);
/* All orders that stand. */
TC_NODISCARD tc_status tc_fleet_bus_orders(tc_fleet_bus *b, tc_fleet_seen *seen, void *user, tc_error *err);
/* Tells it; NULL: that is over. */
TC_NODISCARD tc_status tc_fleet_bus_tell(tc_fleet_bus *b, const char *key, const char *name, const char *text, tc_error *err);
/* Jobs that wait for a worker of the key, and those that one has. Both 0 where nobody ever served it. */
TC_NODISCARD tc_status tc_fleet_bus_queue(tc_fleet_bus *b, const char *key, int64_t *waiting, int64_t *under_way, tc_error *err);

/* ---- records that tuners share ---- */

enum { TC_FLEET_RECORD = 1 << 20 /* bytes of one at most */ };

/* The stream of records. */
typedef struct tc_fleet_kept {
    bool there;
    int64_t made;  /* when: another one has another time */
    uint64_t last; /* number of the last message; numbers grow */
    uint64_t n;    /* messages */
} tc_fleet_kept;

TC_NODISCARD tc_status tc_fleet_bus_records(tc_fleet_bus *b, tc_fleet_kept *out, tc_error *err);
/* Makes it where there is none. */
TC_NODISCARD tc_status tc_fleet_bus_keep_records(tc_fleet_bus *b, tc_error *err);
/* Whether a record of so many bytes can be put there at all. */
bool tc_fleet_bus_takes(const tc_fleet_bus *b, size_t bytes);
/* Puts the text of a job's record there, in place of what was said of it before; it is there when this returns. `once`: texts of
 * one such word are one message, within minutes. */
TC_NODISCARD tc_status tc_fleet_bus_keep(tc_fleet_bus *b, const char *key, const char *job, const char *once, const char *text,
                                         tc_error *err);

typedef struct tc_fleet_shared {
    const char *key, *job; /* by the subject; "": it has another form */
    const char *text;      /* NULL: there is none; "" where it has more than TC_FLEET_RECORD bytes */
    size_t bytes;
    uint64_t number;
} tc_fleet_shared;

/* What is said of a job. */
TC_NODISCARD tc_status tc_fleet_bus_kept(tc_fleet_bus *b, const char *key, const char *job, tc_arena *a, tc_fleet_shared *out,
                                         tc_error *err);
/* The first message behind a number. */
TC_NODISCARD tc_status tc_fleet_bus_next_kept(tc_fleet_bus *b, uint64_t after, tc_arena *a, tc_fleet_shared *out, tc_error *err);

/* A result that a worker sent. */
typedef struct tc_fleet_logged {
    const char *key, *worker, *tuner, *id; /* by its subject */
    const char *text;
    int64_t when_ms; /* since 1970, by the server's clock */
} tc_fleet_logged;

typedef void tc_fleet_heard(void *user, const tc_fleet_logged *l);
/* The last `most` results that are kept, at least 1, those that came last first; worker: only this one's; NULL: all. */
TC_NODISCARD tc_status tc_fleet_bus_log(tc_fleet_bus *b, const char *worker, size_t most, tc_fleet_heard *heard, void *user,
                                        tc_error *err);

#endif
