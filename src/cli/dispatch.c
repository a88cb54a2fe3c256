/* The command `tctune`: finds the subcommand, parses its options by its table, runs it, prints its error. Exit status: 0 done, 1
 * failed, 2 not understood, 128 + n ended early by signal n with everything measured saved. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/face/face.h"
#include "support/log.h"
#include "support/system/memory.h"
#include "support/system/stop.h"

static const tc_cli_command *const commands[] = {TC_CLI_COMMANDS(TC_CLI_LISTED)};

static void print_overview(FILE *f) {
    fprintf(f,
            "usage: tctune COMMAND [options]\n"
            "       tctune --model FILE.onnx --trials N [options]      the same as tctune tune\n\n"
            "Finds fast schedules for tensor programs by measuring on this machine, and builds models from them.\n\ncommands:\n");
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (!commands[i]->hidden)
            fprintf(f, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(f, "\n`tctune COMMAND --help` describes a command's options. Messages for diagnosis: TCTUNE_LOG=info or debug; error "
               "for no warnings.\n");
}

/* The command that the first words are the name of; *words: how many. */
static const tc_cli_command *find_command(int argc, char **argv, int *words) {
    char two[64];
    snprintf(two, sizeof two, "%s %s", argv[0], argc > 1 ? argv[1] : "");
    for (size_t i = 0; i < TC_LEN(commands); i++) {
        *words = 1 + (strchr(commands[i]->name, ' ') != NULL);
        if (strcmp(commands[i]->name, *words == 2 ? two : argv[0]) == 0)
            return commands[i];
    }
    return NULL;
}

/* What was printed must have arrived: a report on a full disk is not a report. */
static int finish_output(int status) {
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TC_CLI_DONE) {
        fprintf(stderr, "tctune: standard output could not be written (is the disk full, or the pipe closed?)\n");
        return TC_CLI_FAILED;
    }
    return status;
}

/* "db" alone, with --help or with anything else that is no command. */
static int family(const char *name, const char *second) {
    bool help = !second || strcmp(second, "--help") == 0 || strcmp(second, "-h") == 0;
    size_t len = strlen(name);
    FILE *f = help && second ? stdout : stderr;
    if (!help)
        fprintf(f, "tctune: there is no command '%s %s'\n", name, second);
    fprintf(f, "usage: tctune %s COMMAND [options]\n\ncommands:\n", name);
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (strncmp(commands[i]->name, name, len) == 0 && commands[i]->name[len] == ' ')
            fprintf(f, "  %-16s %s\n", commands[i]->name, commands[i]->summary);
    return finish_output(help && second ? TC_CLI_DONE : TC_CLI_USAGE);
}

static bool is_family(const char *name) {
    size_t len = strlen(name);
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (strncmp(commands[i]->name, name, len) == 0 && commands[i]->name[len] == ' ')
            return true;
    return false;
}

static int unknown_command(const char *name) {
    fprintf(stderr, "tctune: there is no command '%s'; there are", name);
    for (size_t i = 0; i < TC_LEN(commands); i++)
        if (!commands[i]->hidden)
            fprintf(stderr, "%s %s", i ? "," : "", commands[i]->name);
    fprintf(stderr, ". `tctune --help` says what they do.\n");
    return TC_CLI_USAGE;
}

/* Once, here. */
static void decide_on_cache(bool none) {
    char why[1024];
    if (tctune_cache_use(none ? "off" : NULL, why, sizeof why) != TCTUNE_OK)
        tc_log(TC_LOG_WARN, "%s", why);
}

static int parse_and_run(const tc_cli_command *c, int argc, char **argv, tc_error *err) {
    tc_cli_common *args;
    int status = tc_cli_parse(c, argc, argv, &args, err);
    if (status == TC_CLI_DONE && args->help) {
        tc_cli_help(stdout, c);
    } else if (status == TC_CLI_DONE) {
        decide_on_cache(args->no_cache);
        status = c->run(args, err);
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
        fprintf(stderr, "tctune %s: %s\n", c->name, err.msg);
    if (status == TC_CLI_USAGE)
        fprintf(stderr, "`tctune %s --help` lists the options.\n", c->name);
    return finish_output(status_of(status));
}

static int print_version(void) {
    printf("tctune %s (LLVM %s)\n", tctune_version(), tctune_llvm_version());
    return finish_output(TC_CLI_DONE);
}

int tc_cli_main(int argc, char **argv) {
    json_set_alloc_funcs(tc_xmalloc, free); /* what is printed is whole, or the command fails */
    tc_cli_ignore_write_signals();
    if (!getenv("TCTUNE_LOG")) /* what a user should know is said; the library alone is silent */
        tc_log_set_level(TC_LOG_WARN);
    if (argc < 2) {
        print_overview(stderr);
        return TC_CLI_USAGE;
    }
    const char *first = argv[1];
    if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0)
        return print_version();
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        int words;
        const tc_cli_command *c = argc > 2 ? find_command(argc - 2, argv + 2, &words) : NULL;
        if (!c && argc > 2 && is_family(argv[2]))
            return family(argv[2], "--help");
        if (c)
            tc_cli_help(stdout, c);
        else
            print_overview(stdout);
        return finish_output(TC_CLI_DONE);
    }
    if (first[0] == '-')
        return run_command(&tc_cli_tune, argc - 1, argv + 1);
    int words;
    const tc_cli_command *c = find_command(argc - 1, argv + 1, &words);
    if (!c && is_family(first))
        return family(first, argc > 2 ? argv[2] : NULL);
    return c ? run_command(c, argc - 1 - words, argv + 1 + words) : unknown_command(first);
}
