/* A wire between NATS clients and their server that loses, holds up and repeats messages. It knows as much of the protocol as
 * that takes: a frame is a line, and where that begins with PUB, HPUB, MSG or HMSG it ends with the number of bytes that follow.
 * Everything but such messages passes as it is.
 *
 * Faults are ordered by lines of the standard input, `drop`, `twice` or `delay MS`: each strikes one message, a few further on in
 * whatever direction, and what was struck is printed. Its end ends the program. With `garbage`, whoever is behind it sends
 * results that are none: where times begin stands what JSON does not allow there. */
#include "lab.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/log.h"
#include "support/rng.h"
#include "support/strbuf.h"
#include "support/vec.h"

enum {
    MOST_PAIRS = 256,
    WAITING = 16, /* faults that were ordered and have struck nothing yet */
    FURTHER = 12  /* messages that pass before one is struck, at most */
};

typedef struct fault {
    char what[8];
    double seconds; /* of a delay */
} fault;

/* Bytes that came from one side, and those that go to the other. */
typedef struct way {
    tc_strbuf in, out;
    double held; /* nothing goes out before (tc_now) */
} way;

typedef struct pair {
    int side[2];    /* the client's socket, the server's */
    way from[2];    /* what came from each */
    bool connected; /* to the server */
} pair;

typedef struct proxy {
    struct sockaddr_in server;
    int listener;
    bool over; /* no more orders */
    bool garbage;
    TC_VEC(pair) pairs;
    tc_strbuf orders;
    fault fault[WAITING];
    int nfault, before; /* messages that still pass before the first of them strikes */
    tc_rng rng;
} proxy;

/* ---- orders ---- */

static void take_order(proxy *p, const char *line) {
    fault f = {0};
    double ms = 0;
    if (sscanf(line, "%7s %lf", f.what, &ms) < 1 || p->nfault == WAITING)
        return;
    f.seconds = ms / 1e3;
    if (p->nfault == 0)
        p->before = (int)tc_rng_below(&p->rng, FURTHER);
    p->fault[p->nfault++] = f;
}

static void cut_front(tc_strbuf *b, size_t n) {
    memmove(b->data, b->data + n, b->len - n);
    b->len -= n;
}

static void read_orders(proxy *p) {
    char text[256];
    ssize_t n = read(STDIN_FILENO, text, sizeof text);
    p->over = n <= 0;
    if (n > 0)
        tc_sb_addn(&p->orders, text, (size_t)n);
    for (char *end; p->orders.len && (end = memchr(p->orders.data, '\n', p->orders.len));) {
        *end = '\0';
        take_order(p, p->orders.data);
        cut_front(&p->orders, (size_t)(end + 1 - p->orders.data));
    }
}

/* ---- frames ---- */

static bool carries_message(const char *line) {
    static const char *const verbs[] = {"PUB ", "HPUB ", "MSG ", "HMSG "};
    for (size_t i = 0; i < TC_LEN(verbs); i++)
        if (strncmp(line, verbs[i], strlen(verbs[i])) == 0)
            return true;
    return false;
}

/* Bytes of the first frame; 0: it is not whole yet. *message: it is one. */
static size_t frame(const tc_strbuf *b, bool *message) {
    char line[512];
    const char *end = b->len ? memchr(b->data, '\n', b->len) : NULL;
    if (!end)
        return 0;
    size_t n = (size_t)(end + 1 - b->data), shown = TC_MIN(n, sizeof line - 1);
    memcpy(line, b->data, shown);
    line[shown] = '\0';
    *message = carries_message(line);
    if (!*message)
        return n;
    line[strcspn(line, "\r\n")] = '\0';
    const char *last = strrchr(line, ' ');
    n += strtoul(last ? last : "0", NULL, 10) + 2;
    return b->len >= n ? n : 0;
}

static void say(const fault *f, const tc_strbuf *b) {
    int n = (int)strcspn(b->data, "\r\n");
    printf("%s %.*s\n", f->what, n < 200 ? n : 200, b->data);
    fflush(stdout);
}

/* The fault that strikes the next message; NULL: it passes. */
static const fault *next_fault(proxy *p, fault *f) {
    if (p->nfault == 0 || p->before-- > 0)
        return NULL;
    *f = p->fault[0];
    p->nfault--;
    memmove(p->fault, p->fault + 1, (size_t)p->nfault * sizeof *p->fault);
    p->before = (int)tc_rng_below(&p->rng, FURTHER);
    return f;
}

/* Of the first n bytes, where they are a result. */
static void spoil(const proxy *p, const tc_strbuf *b, size_t n) {
    static const char result[] = "HPUB tctune.result.", times[] = "\"times\":";
    if (!p->garbage || n < sizeof result || memcmp(b->data, result, sizeof result - 1) != 0)
        return;
    for (char *at = b->data; (at = memmem(at, (size_t)(b->data + n - at), times, sizeof times - 1));) {
        at += sizeof times - 1;
        *at = '}';
    }
}

/* Moves whole frames on, up to one that is held up. */
static void pass(proxy *p, way *w) {
    bool message;
    for (size_t n; tc_now() >= w->held && (n = frame(&w->in, &message)) > 0;) {
        fault room;
        const fault *f = message ? next_fault(p, &room) : NULL;
        if (f)
            say(f, &w->in);
        if (f && strcmp(f->what, "delay") == 0) {
            w->held = tc_now() + f->seconds;
            return;
        }
        spoil(p, &w->in, n);
        int times = !f ? 1 : strcmp(f->what, "twice") == 0 ? 2 : 0;
        while (times-- > 0)
            tc_sb_addn(&w->out, w->in.data, n);
        cut_front(&w->in, n);
    }
}

/* ---- connections ---- */

static void accept_one(proxy *p) {
    pair c = {.side = {accept4(p->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC),
                       socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)}};
    bool on_way = c.side[0] >= 0 && c.side[1] >= 0 && p->pairs.len < MOST_PAIRS &&
                  (connect(c.side[1], (struct sockaddr *)&p->server, sizeof p->server) == 0 || errno == EINPROGRESS);
    if (on_way) {
        tc_push(&p->pairs, c);
        return;
    }
    for (int i = 0; i < 2; i++)
        if (c.side[i] >= 0)
            close(c.side[i]);
}

static void end_pair(proxy *p, size_t i) {
    pair *c = &p->pairs.data[i];
    for (int k = 0; k < 2; k++) {
        close(c->side[k]);
        tc_strbuf_free(&c->from[k].in);
        tc_strbuf_free(&c->from[k].out);
    }
    *c = p->pairs.data[--p->pairs.len];
}

/* False: that side is gone. */
static bool receive(way *w, int fd) {
    char bytes[1 << 16];
    ssize_t n = read(fd, bytes, sizeof bytes);
    if (n > 0)
        tc_sb_addn(&w->in, bytes, (size_t)n);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool transmit(way *w, int fd) {
    if (w->out.len == 0)
        return true;
    ssize_t n = send(fd, w->out.data, w->out.len, MSG_NOSIGNAL);
    if (n > 0)
        cut_front(&w->out, (size_t)n);
    return n >= 0 || errno == EAGAIN || errno == EINTR;
}

static short wanted(const pair *c, int side) {
    bool to_send = c->from[1 - side].out.len > 0 || (side == 1 && !c->connected);
    return (short)((side == 0 && !c->connected ? 0 : POLLIN) | (to_send ? POLLOUT : 0));
}

/* False: it has ended. events: what poll found of each side. */
static bool serve_pair(proxy *p, pair *c, const struct pollfd events[2]) {
    bool alive = true;
    if (events[1].revents & POLLOUT)
        c->connected = true;
    for (int k = 0; k < 2; k++)
        if (events[k].revents & (POLLIN | POLLHUP | POLLERR))
            alive = alive && receive(&c->from[k], c->side[k]);
    for (int k = 0; k < 2; k++) {
        pass(p, &c->from[k]);
        if (c->connected)
            alive = alive && transmit(&c->from[k], c->side[1 - k]);
    }
    return alive;
}

static void serve_once(proxy *p) {
    enum { TICK_MS = 10 /* in which what was held up may go on */ };
    size_t n = p->pairs.len;
    struct pollfd *all = tc_xcalloc(2 + 2 * n, sizeof *all);
    all[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    all[1] = (struct pollfd){.fd = p->listener, .events = POLLIN};
    bool held = false;
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            const pair *c = &p->pairs.data[i];
            held = held || c->from[k].in.len > 0;
            all[2 + 2 * i + (size_t)k] = (struct pollfd){.fd = c->side[k], .events = wanted(c, k)};
        }
    poll(all, 2 + 2 * n, held ? TICK_MS : -1);
    for (size_t i = n; i-- > 0;) /* the last one takes the place of one that ends */
        if (!serve_pair(p, &p->pairs.data[i], &all[2 + 2 * i]))
            end_pair(p, i);
    if (all[1].revents & POLLIN)
        accept_one(p);
    if (all[0].revents)
        read_orders(p);
    free(all);
}

static bool at(struct sockaddr_in *out, const char *address, const char *port) {
    *out = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    return inet_pton(AF_INET, address, &out->sin_addr) == 1;
}

int lab_proxy(int argc, char **argv) {
    struct sockaddr_in here;
    proxy p = {.listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    int yes = 1;
    if (argc < 5 || argc > 6 || !at(&here, argv[0], argv[1]) || !at(&p.server, argv[2], argv[3]))
        return -1;
    p.garbage = argc == 6 && strcmp(argv[5], "garbage") == 0;
    p.rng = tc_rng_seed(strtoull(argv[4], NULL, 10));
    setsockopt(p.listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(p.listener, (struct sockaddr *)&here, sizeof here) != 0 || listen(p.listener, MOST_PAIRS) != 0) {
        fprintf(stderr, "%s:%s cannot be listened at: %s\n", argv[0], argv[1], strerror(errno));
        return 1;
    }
    fprintf(stderr, "listens\n");
    while (!p.over)
        serve_once(&p);
    while (p.pairs.len)
        end_pair(&p, p.pairs.len - 1);
    tc_vec_free(&p.pairs);
    tc_strbuf_free(&p.orders);
    close(p.listener);
    return 0;
}
