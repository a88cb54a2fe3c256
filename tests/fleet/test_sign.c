/* Users who sign what a server asks them to sign. The server is a thread of this program, which chooses what that is: some
 * signatures begin with a 0, and what the client's library makes of such a one (bus.c) a server refuses. Connections are made,
 * and made again, all the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <nats/nats.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "fleet/bus.h"
#include "support/system/fs.h"

/* Of nobody: made for this test. */
#define SEED "SUAGSLY2OW3LSGQ33JLXRC2SXLQL6VEWHAYBUDOQ34Q7GVEMIW4F4WHZ4M"
#define PUBLIC "UBZUWAKFSHLWYF2PKVDADHXBUU5C3URJV6FR3XKVWHIB5GQBDZG3IDUB"

enum { NONCE = 32 };

typedef struct fake {
    int listener, port;
    const char *plan;      /* of each connection: 0 or x, whether what it is asked to sign begins with a 0 then */
    char nonce[2][NONCE];  /* what is signed with something else in front, and with a 0 */
    atomic_int let_in;     /* connections that were */
    atomic_bool cut, over; /* whoever was let in is left; nobody is served any more */
} fake;

static tc_error err;

/* ---- the server ---- */

/* What is signed with a 0 in front, or not. */
static void choose(char nonce[NONCE], bool zero) {
    bool is;
    int number = 0;
    do {
        unsigned char *signature;
        int n;
        snprintf(nonce, NONCE, "nonce-%d", number++);
        if (nats_Sign(SEED, nonce, &signature, &n) != NATS_OK)
            abort();
        is = signature[0] == 0;
        free(signature);
    } while (is != zero);
}

static void say(int fd, const char *text) {
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

/* What comes from a client until it has said all that it says at first; false: it leaves before. */
static bool listen_to(int fd, char *text, size_t room) {
    size_t n = 0;
    while (n + 1 < room) {
        ssize_t got = read(fd, text + n, room - 1 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        text[n] = '\0';
        if (strstr(text, "PING\r\n"))
            return true;
    }
    return false;
}

static void nap(void) {
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* One whose nonce was signed is let in until it is cut. */
static void serve(fake *f, int fd, bool zero) {
    char info[512], text[8192];
    snprintf(info, sizeof info,
             "INFO {\"server_id\":\"S\",\"version\":\"2.9.0\",\"proto\":1,\"host\":\"127.0.0.1\",\"port\":%d,\"headers\":true,"
             "\"max_payload\":1048576,\"auth_required\":true,\"nonce\":\"%s\"}\r\n",
             f->port, f->nonce[zero]);
    say(fd, info);
    if (!listen_to(fd, text, sizeof text))
        return;
    const char *signature = strstr(text, "\"sig\":\"");
    if (!signature || signature[strlen("\"sig\":\"")] == '"') {
        say(fd, "-ERR 'Authorization Violation'\r\n");
        return;
    }
    atomic_fetch_add(&f->let_in, 1);
    say(fd, "PONG\r\n");
    while (!atomic_load(&f->over) && !atomic_exchange(&f->cut, false))
        nap();
}

static void *be_server(void *user) {
    fake *f = user;
    for (size_t i = 0; !atomic_load(&f->over); i++) {
        int fd = accept(f->listener, NULL, NULL);
        if (fd < 0)
            break;
        serve(f, fd, i < strlen(f->plan) && f->plan[i] == '0');
        close(fd);
    }
    return NULL;
}

static pthread_t begin(fake *f, const char *plan) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    pthread_t thread;
    *f = (fake){.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .plan = plan};
    assert_true(f->listener >= 0 && bind(f->listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(f->listener, 8) == 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&at, &n), 0);
    f->port = ntohs(at.sin_port);
    for (int zero = 0; zero < 2; zero++) /* now: clients do not wait for long */
        choose(f->nonce[zero], zero);
    assert_int_equal(pthread_create(&thread, NULL, be_server, f), 0);
    return thread;
}

static void end(fake *f, pthread_t thread) {
    atomic_store(&f->over, true);
    shutdown(f->listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(f->listener);
}

/* ---- tests ---- */

/* Users by what they give. */
static const char *file_of(const char *name, const char *text) {
    static char path[600];
    snprintf(path, sizeof path, "%s/%s", TCTUNE_TEST_TMP, name);
    unlink(path);
    assert_int_equal(tc_fs_write_scratch(path, text, strlen(text), &err), TC_OK);
    return path;
}

static tc_fleet_access by_nkey(void) {
    return (tc_fleet_access){.nkey = file_of("user.nk", SEED "\n" PUBLIC "\n")};
}

static tc_fleet_access by_creds(void) {
    return (tc_fleet_access){.creds = file_of("user.creds",
                                              "-----BEGIN NATS USER JWT-----\neyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ."
                                              "e30.c2ln\n------END NATS USER JWT------\n\n-----BEGIN USER NKEY SEED-----\n" SEED
                                              "\n------END USER NKEY SEED------\n")};
}

static void stay_connected(tc_fleet_access a) {
    fake f;
    char url[64];
    tc_fleet_bus *b;
    pthread_t server = begin(&f, "00x000x");
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", f.port);
    a.url = url;
    if (tc_fleet_bus_connect(&a, "test", &b, &err) != TC_OK)
        fail_msg("%s", err.msg);
    assert_int_equal(atomic_load(&f.let_in), 1);
    atomic_store(&f.cut, true); /* and three more that cannot be signed before it is let in again */
    for (int tries = 0; tries < 6000 && (atomic_load(&f.let_in) < 2 || !tc_fleet_bus_connected(b)); tries++)
        nap();
    assert_int_equal(atomic_load(&f.let_in), 2);
    assert_true(tc_fleet_bus_connected(b));
    end(&f, server);
    tc_fleet_bus_close(b);
}

static void an_nkey_signs_what_can_be_sent(void **state) {
    (void)state;
    stay_connected(by_nkey());
}

static void so_do_credentials(void **state) {
    (void)state;
    stay_connected(by_creds());
}

static void credentials_have_all_they_need(void **state) {
    (void)state;
    fake f;
    char url[64];
    tc_fleet_bus *b;
    pthread_t server = begin(&f, "");
    snprintf(url, sizeof url, "nats://127.0.0.1:%d", f.port);
    tc_fleet_access a = {.url = url, .creds = file_of("seed.creds", SEED "\n")};
    assert_int_not_equal(tc_fleet_bus_connect(&a, "test", &b, &err), TC_OK);
    assert_non_null(strstr(err.msg, "there is no user's JWT"));
    a.creds = file_of("jwt.creds", "eyJ0eXAiOiJKV1QiLCJhbGciOiJlZDI1NTE5LW5rZXkifQ.e30.c2ln\n");
    assert_int_not_equal(tc_fleet_bus_connect(&a, "test", &b, &err), TC_OK);
    assert_non_null(strstr(err.msg, "there is no seed"));
    assert_int_equal(atomic_load(&f.let_in), 0);
    end(&f, server);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_nkey_signs_what_can_be_sent), cmocka_unit_test(so_do_credentials),
                                       cmocka_unit_test(credentials_have_all_they_need)};
    return nats_Open(-1) == NATS_OK ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}
