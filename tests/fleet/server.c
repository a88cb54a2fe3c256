#include "server.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "support/system/fs.h"

static int local_socket(int port, bool bound) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = bound ? bind(fd, (struct sockaddr *)&at, sizeof at) : connect(fd, (struct sockaddr *)&at, sizeof at);
    if (failed) {
        close(fd);
        return -1;
    }
    return fd;
}

static int free_port(void) {
    struct sockaddr_in at = {0};
    socklen_t n = sizeof at;
    int fd = local_socket(0, true);
    assert_true(fd >= 0 && getsockname(fd, (struct sockaddr *)&at, &n) == 0);
    close(fd);
    return ntohs(at.sin_port);
}

static void run(const test_server *s) {
    char conf[600], log[600];
    snprintf(conf, sizeof conf, "%s/nats.conf", s->folder);
    snprintf(log, sizeof log, "%s/nats.log", s->folder);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl(TEST_NATS_SERVER, TEST_NATS_SERVER, "--config", conf, "--log", log, (char *)NULL);
    _exit(127);
}

void test_server_restart(test_server *s) {
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0)
        run(s);
    for (int i = 0; i < 6000; i++) { /* until it listens; a server that cannot ends at once */
        int fd = local_socket(s->port, false), status;
        if (fd >= 0) {
            close(fd);
            return;
        }
        assert_int_equal(waitpid(s->pid, &status, WNOHANG), 0);
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    }
    fail_msg("the server does not answer");
}

/* jetstream: its settings; more: other lines. */
static void configure(const test_server *s, const char *jetstream, const char *more) {
    char conf[600], text[4096];
    snprintf(conf, sizeof conf, "%s/nats.conf", s->folder);
    int n = snprintf(text, sizeof text, "host: 127.0.0.1\nport: %d\njetstream { %s }\n%s\n", s->port, jetstream, more);
    unlink(conf);
    assert_int_equal(tc_fs_write_scratch(conf, text, (size_t)n, NULL), TC_OK);
}

void test_server_start(test_server *s, const char *more) {
    char store[600];
    *s = (test_server){.port = free_port()};
    snprintf(s->folder, sizeof s->folder, "%s/nats-%d", TCTUNE_TEST_TMP, s->port);
    tc_fs_remove_tree(s->folder);
    assert_int_equal(mkdir(s->folder, 0700), 0);
    snprintf(s->url, sizeof s->url, "nats://127.0.0.1:%d", s->port);
    snprintf(store, sizeof store, "store_dir: \"%s\"", s->folder);
    configure(s, store, more);
    test_server_restart(s);
}

void test_server_limit(test_server *s, const char *room) {
    char store[700];
    test_server_kill(s);
    snprintf(store, sizeof store, "store_dir: \"%s/small\", max_file_store: %s", s->folder, room);
    configure(s, store, "");
    test_server_restart(s);
}

void test_server_kill(test_server *s) {
    if (s->pid) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
    }
    s->pid = 0;
}

void test_server_stop(test_server *s) {
    test_server_kill(s);
    tc_fs_remove_tree(s->folder);
}
