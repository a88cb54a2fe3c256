/* A NATS server of the test's own: on a free port of this machine, with its files in a scratch folder. */
#ifndef TC_TESTS_FLEET_SERVER_H
#define TC_TESTS_FLEET_SERVER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct test_server {
    int port;
    pid_t pid; /* 0: it does not run */
    char folder[512], url[64];
} test_server;

/* It answers when this returns. `more`: lines of its configuration; "" where anybody may do anything. */
void test_server_start(test_server *s, const char *more);
/* The same server again, with what it kept. */
void test_server_restart(test_server *s);
/* The same server again with room for so much ("512KB") on its disk, of which it keeps what it had after such a call before, and
 * nothing else. */
void test_server_limit(test_server *s, const char *room);
void test_server_kill(test_server *s); /* at once; its files stay */
/* Ends it, and removes its files. */
void test_server_stop(test_server *s);

#endif
