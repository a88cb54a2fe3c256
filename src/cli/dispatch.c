/* The command `tctune`. It finds the subcommand, parses the options by the subcommand's table, runs the subcommand, and prints its
 * error. Exit status: 0 done; 1 failed; 2 command line not understood; 128 + n ended early by signal n, with all measurements
 * saved. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/face/face.h"
#include "support/guess.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/stop.h"

static const tc_cli_command *const commands[] = {TC_CLI_COMMANDS(TC_CLI_LISTED)};

/* Whether a command belongs to a family ("db stats" to "db"). len: the letters of the family's name. */
static bool is_of(const tc_cli_command *c, const char *family, size_t len) {
    return strncmp(c->name, family, len) == 0 && c->name[len] == ' ';
}

/* All of them, or those of a family. */
static void print_commands(FILE *f, const char *family) {
    size_t len = strlen(family);
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (!commands[i]->hidden && (!len || is_of(commands[i], family, len)))
            tc_cli_list(f, commands[i]->name, commands[i]->summary);
}

static void print_overview(FILE *f) {
    tc_say(f,
           "usage: tctune COMMAND [options]\n"
           "       tctune MODEL.onnx|KERNEL.te --trials N [options]   the same as tctune tune\n"
           "       tctune help COMMAND\n"
           "       tctune --version\n\n"
           "Finds fast schedules for tensor programs by measuring on this machine, and builds models from them.\n\ncommands:\n");
    print_commands(f, "");
    tc_say(f,
           "\nexamples:\n"
           "      tctune zoo mlp\n"
           "      tctune tune mlp.onnx --trials 200 -o mlp.so\n"
           "      tctune bench mlp.so\n"
           "\n`tctune COMMAND --help` describes a command and its options. The beginning of a command or of an option is enough "
           "where no "
           "other one begins so. TCTUNE_LOG=info or debug prints more messages, TCTUNE_LOG=error fewer.\n");
}

/* ---- finding the command ---- */

/* Words that may stand at one place of the command line. */
typedef struct words {
    char text[TC_LEN(commands)][32];
    size_t n;
} words;

static void add_word(words *w, const char *text) {
    size_t len = strcspn(text, " ");
    for (size_t i = 0; i < w->n; i++)
        if (strlen(w->text[i]) == len && memcmp(w->text[i], text, len) == 0)
            return;
    snprintf(w->text[w->n++], sizeof w->text[0], "%.*s", (int)len, text);
}

/* The first words of all names, or the second words of a family's. */
static words words_of(const char *family) {
    words w = {0};
    size_t len = strlen(family);
    for (size_t i = 0; i < TC_LEN(commands); i++) {
        if (len && is_of(commands[i], family, len))
            add_word(&w, commands[i]->name + len + 1);
        else if (!len && !commands[i]->hidden)
            add_word(&w, commands[i]->name);
    }
    return w;
}

static int no_such_word(const words *w, const char *family, const char *typed, tc_error *err) {
    char text[TC_GUESS_TEXT];
    tc_guess g = tc_guess_new(typed, strlen(typed));
    for (size_t i = 0; i < w->n; i++)
        tc_guess_add(&g, w->text[i]);
    return tc_cli_usage(err, "there is no command '%s%s%s'%s", family, *family ? " " : "", typed,
                        tc_guess_say(&g, "", "`tctune --help` lists the commands", text));
}

/* Finds the word that the user means: the typed word itself, or the only word that begins with it. TC_CLI_DONE, or TC_CLI_USAGE. */
static int find_word(const words *w, const char *family, const char *typed, const char **out, tc_error *err) {
    const char *fits[TC_CLI_SHOWN];
    size_t n = 0;
    for (size_t i = 0; i < w->n; i++) {
        *out = w->text[i];
        if (strcmp(*out, typed) == 0)
            return TC_CLI_DONE;
        if (strncmp(*out, typed, strlen(typed)) != 0)
            continue;
        if (n < TC_CLI_SHOWN)
            fits[n] = *out;
        n++;
    }
    if (n > 1)
        return tc_cli_ambiguous(err, "", typed, strlen(typed), fits, n);
    *out = n ? fits[0] : NULL;
    return n ? TC_CLI_DONE : no_such_word(w, family, typed, err);
}

static const tc_cli_command *command_of(const char *name) {
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

/* What the first arguments name. */
typedef struct found {
    const tc_cli_command *command; /* NULL: a family without a second word, or with --help behind it */
    char name[64];                 /* of the command, or of the family */
    int words;                     /* how many arguments the name takes */
} found;

/* TC_CLI_DONE, or TC_CLI_USAGE. argc > 0. */
static int find_command(int argc, char **argv, found *out, tc_error *err) {
    const char *first, *second;
    *out = (found){.command = command_of(argv[0]), .words = 1};
    if (out->command)
        return TC_CLI_DONE;
    words all = words_of("");
    int status = find_word(&all, "", argv[0], &first, err);
    if (status != TC_CLI_DONE)
        return status;
    snprintf(out->name, sizeof out->name, "%s", first);
    out->command = command_of(first);
    if (out->command || argc < 2 || argv[1][0] == '-')
        return TC_CLI_DONE;
    words own = words_of(first);
    status = find_word(&own, first, argv[1], &second, err);
    if (status != TC_CLI_DONE)
        return status;
    snprintf(out->name, sizeof out->name, "%s %s", first, second);
    *out = (found){.command = command_of(out->name), .words = 2};
    return TC_CLI_DONE;
}

/* ---- output ---- */

/* The reader of standard output is gone: the output is a pipe whose other end is closed. */
static bool reader_left(void) {
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return poll(&out, 1, 0) == 1 && (out.revents & POLLERR);
}

/* Checks that all output was written: a report on a full disk is not a report. If the reader of a pipe has closed it (`| head`),
 * the reader has what it wanted. Then no message is printed, and the status is as if SIGPIPE had ended the command. */
static int finish_output(int status) {
    bool lost = fflush(stdout) != 0 || ferror(stdout);
    if (!lost || status != TC_CLI_DONE)
        return status;
    if (reader_left())
        return 128 + SIGPIPE;
    bool closed = !(fcntl(STDOUT_FILENO, F_GETFL) & (O_WRONLY | O_RDWR));
    tc_say(stderr, "tctune: standard output could not be written: %s\n", closed ? "it is closed" : "is the disk full?");
    return TC_CLI_FAILED;
}

static void print_family(FILE *f, const char *name) {
    tc_say(f, "usage: tctune %s COMMAND [options]\n\ncommands:\n", name);
    print_commands(f, name);
}

/* ---- running it ---- */

/* Once, here. */
static void decide_on_cache(bool none) {
    char why[1024];
    if (tctune_cache_use(none ? "off" : NULL, why, sizeof why) != TCTUNE_OK)
        tc_log(TC_LOG_WARN, "%s", why);
}

static void print_version(void) {
    tc_say(stdout, "tctune %s (LLVM %s)\n", tctune_version(), tctune_llvm_version());
}

static int parse_and_run(const tc_cli_command *c, int argc, char **argv, tc_error *err) {
    tc_cli_common *args;
    FILE *out = stdout;
    int status = tc_cli_parse(c, argc, argv, &args, err);
    if (status == TC_CLI_DONE && args->help) {
        tc_cli_help(stdout, c);
    } else if (status == TC_CLI_DONE && args->version) {
        print_version();
    } else if (status == TC_CLI_DONE) {
        decide_on_cache(args->no_cache);
        if (args->writes_stdout)
            stdout = stderr; /* receives the command's own output when a file goes to standard output */
        status = c->run(args, err);
        if (args->writes_stdout && status == TC_CLI_FAILED && reader_left()) {
            err->msg[0] = 0;
            status = 128 + SIGPIPE;
        }
        stdout = out;
    }
    tc_cli_args_free(c, args);
    return status;
}

/* What a signal ended early has not failed. */
static int status_of(int status) {
    int signal = tc_raised_to(tc_cli_stop_flag());
    return status == TC_CLI_FAILED && signal ? 128 + signal : status;
}

static int run_command(const tc_cli_command *c, int argc, char **argv) {
    tc_error err = {0};
    int status = TC_CLI_FAILED;
    if (tc_memory_begin(&err) == TC_OK) {
        status = parse_and_run(c, argc, argv, &err);
        if (tc_memory_end(TC_OK, &err) != TC_OK)
            status = TC_CLI_FAILED;
    }
    if (status != TC_CLI_DONE)
        fflush(stdout); /* a table comes before the error that ends it */
    if (status != TC_CLI_DONE && err.msg[0])
        tc_say(stderr, "tctune %s: %s\n", c->name, err.msg);
    if (status == TC_CLI_FAILED && tc_raised_to(tc_cli_stop_flag()) == SIGXCPU)
        tc_say(stderr, "tctune: the CPU time that this process may have (ulimit -t) is used up\n");
    if (status == TC_CLI_USAGE)
        tc_say(stderr, "`tctune %s --help` lists the options.\n", c->name);
    return finish_output(status_of(status));
}

/* A command line that names no command: its error is printed. */
static int refuse(const tc_error *err) {
    tc_say(stderr, "tctune: %s\n`tctune --help` lists the commands.\n", err->msg);
    return TC_CLI_USAGE;
}

/* `tctune help`, with the words behind it. */
static int help(int argc, char **argv) {
    found what;
    tc_error err;
    if (argc == 0)
        print_overview(stdout);
    else if (find_command(argc, argv, &what, &err) != TC_CLI_DONE)
        return refuse(&err);
    else if (what.command)
        tc_cli_help(stdout, what.command);
    else
        print_family(stdout, what.name);
    return finish_output(TC_CLI_DONE);
}

/* A family without a second word is an error that lists the family's commands. With --help the list is the answer. */
static int family(const char *name, const char *second) {
    bool asked = second && (strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0);
    print_family(asked ? stdout : stderr, name);
    return finish_output(asked ? TC_CLI_DONE : TC_CLI_USAGE);
}

/* The first argument is an option, a model or a kernel, not a command: runs `tctune tune`. */
static bool is_for_tune(const char *first) {
    return first[0] == '-' || (!command_of(first) && tc_cli_source_option(first));
}

int tc_cli_main(int argc, char **argv) {
    found what;
    tc_error err;
    tc_cli_mend_inherited();
    if (!getenv("TCTUNE_LOG")) /* the command prints warnings for the user; the library alone is silent */
        tc_log_set_level(TC_LOG_WARN);
    if (argc < 2) {
        print_overview(stderr);
        return TC_CLI_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
        return help(argc - 2, argv + 2);
    if (strcmp(first, "version") == 0) {
        print_version();
        return finish_output(TC_CLI_DONE);
    }
    if (is_for_tune(first))
        return run_command(&tc_cli_tune, argc - 1, argv + 1);
    if (find_command(argc - 1, argv + 1, &what, &err) != TC_CLI_DONE)
        return refuse(&err);
    if (!what.command)
        return family(what.name, argc > 2 ? argv[2] : NULL);
    return run_command(what.command, argc - 1 - what.words, argv + 1 + what.words);
}
