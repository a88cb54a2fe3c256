/* The parts that all of the API shares: outcomes, structs that grow, targets, and the worker. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_int.h"
#include "measure/process/process.h"
#include "support/log.h"
#include "support/say.h"
#include "support/system/place.h"
#include "support/system/secret.h"
#include "support/system/stop.h"
#include "support/system/threads.h"
#include "support/system/user_folder.h"

const char *tctune_version(void) {
    return TCTUNE_VERSION;
}

void tctune_text_free(char *text) {
    free(text);
}

tctune_status api_answer(tc_status s, const tc_error *e, char *error, size_t size) {
    if (s != TC_OK && error && size)
        tc_say_to(error, size, "%s", e->msg);
    switch (s) {
    case TC_OK:
        return TCTUNE_OK;
    case TC_ILLEGAL:
    case TC_BAD_INPUT:
        return TCTUNE_BAD_INPUT;
    case TC_ENV:
        return TCTUNE_ENVIRONMENT;
    }
    return TCTUNE_ENVIRONMENT;
}

const char *tctune_status_name(tctune_status status) {
    switch (status) {
    case TCTUNE_OK:
        return "TCTUNE_OK";
    case TCTUNE_BAD_INPUT:
        return "TCTUNE_BAD_INPUT";
    case TCTUNE_ENVIRONMENT:
        return "TCTUNE_ENVIRONMENT";
    case TCTUNE_STOPPED:
        return "TCTUNE_STOPPED";
    }
    return "unknown status";
}

/* ---- the log ---- */

static const tc_log_level log_levels[] = {[TCTUNE_LOG_LEVEL_DEFAULT] = TC_LOG_AS_ENVIRONMENT,
                                          [TCTUNE_LOG_LEVEL_NONE] = TC_LOG_SILENT,
                                          [TCTUNE_LOG_LEVEL_ERROR] = TC_LOG_ERROR,
                                          [TCTUNE_LOG_LEVEL_WARN] = TC_LOG_WARN,
                                          [TCTUNE_LOG_LEVEL_INFO] = TC_LOG_INFO,
                                          [TCTUNE_LOG_LEVEL_DEBUG] = TC_LOG_DEBUG};

/* A callback of the caller's. */
typedef struct listener {
    tctune_on_log *callback;
    void *user;
} listener;

static void on_line(void *user, tc_log_level level, const char *line) {
    const listener *l = user;
    for (size_t i = TCTUNE_LOG_LEVEL_ERROR; i < TC_LEN(log_levels); i++)
        if (log_levels[i] == level)
            l->callback(l->user, (tctune_log_level)i, line);
}

static tc_status set_log(tctune_log_level level, tctune_on_log *callback, void *user, tc_error *err) {
    if ((size_t)level >= TC_LEN(log_levels))
        return tc_fail(err, TC_BAD_INPUT, "there is no log level %d: give a TCTUNE_LOG_LEVEL_...", (int)level);
    listener *l = callback ? tc_xmalloc(sizeof *l) : NULL;
    void *before = NULL;
    if (l)
        *l = (listener){callback, user};
    bool used = tc_log_use(l ? on_line : NULL, l, log_levels[level], &before);
    free(used ? before : l);
    return used ? TC_OK
                : tc_fail(err, TC_BAD_INPUT, "tctune_set_log was called by a callback of the log: call it outside of callbacks");
}

tctune_status tctune_set_log(tctune_log_level level, tctune_on_log *callback, void *user, char *error, size_t error_size) {
    API_CALL(err, error, error_size, set_log(level, callback, user, &err), (void)0);
}

/* ---- what is kept ---- */

static tc_status set_folder(const char *folder, tc_error *err) {
    return setenv("TCTUNE_CACHE", folder, 1) == 0 ? TC_OK
                                                  : tc_fail(err, TC_ENV, "TCTUNE_CACHE cannot be set: there is no memory for it");
}

/* Workers inherit these decisions. The secret is no kept object. It is read before the setting that leads to it is lost. */
static tc_status use_folder(const char *folder, tc_error *err) {
    tc_secret secret;
    if (folder && strcmp(folder, "off") == 0) {
        (void)tc_user_secret(&secret);
        return set_folder("off", err);
    }
    if (folder && !*folder)
        return tc_fail(err, TC_BAD_INPUT, "\"\" is not a folder: give the path of a folder, \"off\", or NULL");
    if (folder)
        TC_TRY(set_folder(folder, err));
    tc_status s = tc_user_folder_check(err);
    if (s != TC_OK)
        TC_TRY(set_folder("off", err));
    return s;
}

tctune_status tctune_cache_use(const char *folder, char *error, size_t error_size) {
    API_CALL(err, error, error_size, use_folder(folder, &err), (void)0);
}

/* ---- structs ---- */

/* struct_size of the caller's struct; 0: there is no struct. */
static size_t size_of(const void *given) {
    size_t n;
    memcpy(&n, given, sizeof n);
    return n;
}

static tc_status no_size(const char *name, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "struct_size of %s is not set: set it to sizeof of the struct", name);
}

tc_status api_options(void *own, size_t size, const void *given, const char *name, tc_error *err) {
    memset(own, 0, size);
    if (!given)
        return TC_OK;
    size_t n = size_of(given);
    const char *bytes = given;
    if (n < sizeof n)
        return no_size(name, err);
    for (size_t i = size; i < n; i++)
        if (bytes[i])
            return tc_fail(err, TC_BAD_INPUT,
                           "the options set fields that this library, tctune %s, does not have: install a newer library",
                           TCTUNE_VERSION);
    memcpy(own, given, TC_MIN(n, size));
    return TC_OK;
}

tc_status api_fill(void *given, const void *own, size_t size, const char *name, tc_error *err) {
    size_t n = size_of(given);
    if (n < sizeof n)
        return no_size(name, err);
    memset(given, 0, n);
    memcpy(given, own, TC_MIN(n, size));
    memcpy(given, &n, sizeof n);
    return TC_OK;
}

/* ---- options ---- */

double api_tolerance(double given) {
    return given > 0 ? given : given < 0 ? 0 : -1;
}

size_t api_length(const char *const *texts) {
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

tc_status api_fixed_inputs(const char *const *texts, tc_error *err) {
    for (size_t i = 0; i < api_length(texts); i++)
        TC_TRY(tc_graph_fixed_check(texts[i], err));
    return TC_OK;
}

/* A larger number is a typing error: no known machine has as many. */
static tc_status check_threads_elsewhere(int n, tc_error *err) {
    enum { MOST_CPUS = 8192 /* of Linux on any architecture (CONFIG_NR_CPUS) */ };
    return n <= MOST_CPUS ? TC_OK : tc_fail(err, TC_BAD_INPUT, "no machine has %d CPUs: give at most %d threads", n, MOST_CPUS);
}

tc_status api_target(const char *target, int threads, tc_target **out, tc_error *err) {
    if (threads < 0)
        return tc_fail(err, TC_BAD_INPUT, "a kernel cannot have %d threads: give 1 or more, or 0 for every core", threads);
    TC_TRY(tc_target_parse(target ? target : "native", out, err));
    if (threads)
        (*out)->machine.cores = threads;
    tc_status s = (*out)->native ? tc_threads_check((*out)->machine.cores, err) : check_threads_elsewhere(threads, err);
    if (s != TC_OK) {
        tc_target_free(*out);
        *out = NULL;
    }
    return s;
}

/* Once for each number. */
static void warn_of_turns(int threads) {
    static atomic_int said;
    int cores = tc_threads_cores();
    if (threads > cores && atomic_exchange(&said, threads) != threads)
        tc_log(TC_LOG_WARN,
               "%d threads take turns on %d core%s: they wait for each other, and kernels may run a thousand times slower. Use "
               "%d thread%s or fewer",
               threads, cores, cores == 1 ? "" : "s", cores, cores == 1 ? "" : "s");
}

tc_status api_threads_here(int threads, tc_error *err) {
    TC_TRY(tc_threads_check_now(threads, err));
    warn_of_turns(threads);
    return TC_OK;
}

tc_status api_target_here(const char *target, int threads, tc_target **out, tc_error *err) {
    TC_TRY(api_target(target, threads, out, err));
    tc_status s = (*out)->native ? api_threads_here((*out)->machine.cores, err)
                                 : tc_fail(err, TC_BAD_INPUT,
                                           "code for %s does not run on this machine, so nothing can be timed here", target);
    if (s != TC_OK) {
        tc_target_free(*out);
        *out = NULL;
    }
    return s;
}

tc_status api_accuracy(const char *accuracy, const char *precision, tc_accuracy *out, tc_error *err) {
    *out = TC_ACCURACY_DEFAULT;
    if (accuracy)
        TC_TRY(tc_accuracy_parse(accuracy, out, err));
    return precision ? tc_accuracy_parse_precision(precision, out, err) : TC_OK;
}

tctune_status api_unless_stopped(tctune_status s, const volatile int *stop) {
    return s != TCTUNE_OK && tc_is_raised(stop) ? TCTUNE_STOPPED : s;
}

tc_status api_passes(tctune_level level, const char *const *without, const char *dump, int times, tc_graph_pass_options *out,
                     tc_error *err) {
    static const int levels[] = {[TCTUNE_LEVEL_DEFAULT] = TC_GRAPH_OPT_DEFAULT,
                                 [TCTUNE_LEVEL_0] = 0,
                                 [TCTUNE_LEVEL_1] = 1,
                                 [TCTUNE_LEVEL_2] = 2,
                                 [TCTUNE_LEVEL_3] = 3};
    if ((size_t)level >= TC_LEN(levels))
        return tc_fail(err, TC_BAD_INPUT, "there is no level %d: give a TCTUNE_LEVEL_...", (int)level);
    *out = (tc_graph_pass_options){
        .level = levels[level], .disabled = without, .ndisabled = api_length(without), .dump = dump, .times = times != 0};
    return tc_graph_passes_check(out, err);
}

/* ---- the worker ---- */

static char worker[PATH_MAX];

/* Beside the library, where it is installed and where it is built. A program that this code is part of is its own worker. */
static void find_worker(void) {
    static const char *const places[] = {"tctune/tctune-worker"};
    if (tc_place_is_program())
        return;
    if (!tc_place_find(places, TC_LEN(places), worker))
        *worker = 0;
    tc_meas_worker_use(worker);
}

void api_find_worker(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_worker);
}
