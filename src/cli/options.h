/* Options of commands. A command has a struct of its own, and a table with one row for each option that it takes: how the option
 * is spelt, what --help says of it, and which field it goes into. What several commands take alike is a small struct with its own
 * rows: the groups below.
 *
 *   typedef struct zoo_args {
 *       tc_cli_common common;
 *       const char *out;
 *   } zoo_args;
 *   static const tc_cli_option options[] = {TC_CLI_OUT_OPTION(zoo_args, out)};
 *
 * How the value of an option is written (`argument`) tells the completions of shells, too, what it can be: alternatives with | between
 * them, which are words in small letters, numbers from one to another (0..3), files by their suffix (FILE.onnx), FILE and DIR.
 *
 * A table is in the order in which --help lists it. --help itself is in none: every command takes it. */
#ifndef TC_CLI_OPTIONS_H
#define TC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/face/face.h"

/* ---- rows ---- */

typedef struct tc_cli_option tc_cli_option;

/* Reads the value v of an option into its field: TC_CLI_DONE, or TC_CLI_USAGE with err. A flag has no value. */
typedef int tc_cli_take(const tc_cli_option *o, const char *v, void *field, tc_error *err);

struct tc_cli_option {
    const char *name;
    const char *argument; /* for --help; NULL: it takes none */
    const char *help;
    tc_cli_take *take;
    size_t offset; /* of the field in the command's struct */
};

tc_cli_take tc_cli_take_flag, tc_cli_take_text, tc_cli_take_choice, tc_cli_take_count, tc_cli_take_level, tc_cli_take_seed,
    tc_cli_take_real, tc_cli_take_list;

/* The place of a field of type T in struct S; a field of another type does not compile. */
#define TC_CLI_PLACE(S, field, T) (offsetof(S, field) + 0 * sizeof((T *)0 == &((S *)0)->field))

/* The row of an option whose field is of type T. */
#define TC_CLI_ROW(S, field, T, take, name, argument, help)                                                                      \
    { name, argument, help, take, TC_CLI_PLACE(S, field, T) }

#define TC_CLI_FLAG(S, field, name, help) TC_CLI_ROW(S, field, bool, tc_cli_take_flag, name, NULL, help)
#define TC_CLI_TEXT(S, field, name, argument, help) TC_CLI_ROW(S, field, const char *, tc_cli_take_text, name, argument, help)
/* One of the words that the argument lists, between bars. */
#define TC_CLI_CHOICE(S, field, name, argument, help) TC_CLI_ROW(S, field, const char *, tc_cli_take_choice, name, argument, help)
/* A whole number from 1. */
#define TC_CLI_COUNT(S, field, name, argument, help) TC_CLI_ROW(S, field, int, tc_cli_take_count, name, argument, help)
/* A number that is not negative. */
#define TC_CLI_REAL(S, field, name, argument, help) TC_CLI_ROW(S, field, double, tc_cli_take_real, name, argument, help)
/* It may be given more than once; what stands behind the last one is NULL. */
#define TC_CLI_LIST(S, field, name, argument, help) TC_CLI_ROW(S, field, tc_cli_texts, tc_cli_take_list, name, argument, help)

/* ---- what commands share ---- */

/* The first member of every command's struct. */
typedef struct tc_cli_common {
    tc_cli_texts operands;
    bool help, no_cache;
} tc_cli_common;

/* Which graph passes run. */
typedef struct tc_cli_pass_args {
    int level; /* -1: not given */
    tc_cli_texts disable;
    bool times;
    const char *dump;
} tc_cli_pass_args;

/* A network, or one kernel. */
typedef struct tc_cli_source_args {
    const char *model, *te;
    tc_cli_texts shape;
    bool in_place_cache;
    const char *weights; /* --shape-weights */
    tc_cli_pass_args passes;
    bool varying; /* no option: the command takes kernels whose sizes are not given */
} tc_cli_source_args;

typedef struct tc_cli_target_args {
    const char *name; /* NULL: native */
    int threads;      /* 0: one per core */
} tc_cli_target_args;

typedef struct tc_cli_db_args {
    const char *path; /* NULL: the default name */
    bool untuned;
} tc_cli_db_args;

/* A fleet's server, and which of its workers measure. */
typedef struct tc_cli_fleet_args {
    const char *url; /* NULL: this machine measures */
    const char *creds, *nkey, *ca, *key;
    int workers, weight;
    bool fallback;
} tc_cli_fleet_args;

/* Which forms of a kernel there are; NULL: not given. */
typedef struct tc_cli_accuracy_args {
    const char *accuracy, *precision;
} tc_cli_accuracy_args;

/* How far floats may be from what is expected; negative: not given. */
typedef struct tc_cli_tolerance {
    double rtol, atol;
} tc_cli_tolerance;

/* How a command tells what it is doing while it runs. */
typedef struct tc_cli_progress_args {
    const char *how; /* "text" (NULL), "json", "none" */
    int fd;          /* where events go; 0: standard error */
} tc_cli_progress_args;

/* What a model is made from. */
typedef struct tc_cli_model_args {
    tc_cli_source_args source;
    tc_cli_target_args target;
    tc_cli_db_args db;
    tc_cli_accuracy_args accuracy;
    tc_cli_progress_args progress;
    uint64_t seed;
    bool require_complete;
    bool keep;           /* no option: other models are built of the same */
    const char *listing; /* no option: the file that saving writes the lowered programs to, for debuggers; NULL: none */
} tc_cli_model_args;

/* Fields that are not zero where an option is not given. */
#define TC_CLI_PASS_DEFAULTS                                                                                                     \
    { .level = -1 }
#define TC_CLI_SOURCE_DEFAULTS                                                                                                   \
    { .passes = TC_CLI_PASS_DEFAULTS }
#define TC_CLI_MODEL_DEFAULTS                                                                                                    \
    { .source = TC_CLI_SOURCE_DEFAULTS }
#define TC_CLI_TOLERANCE_DEFAULTS                                                                                                \
    { .rtol = -1, .atol = -1 }

/* ---- rows of what they share: S is the command's struct, g a group in it, f a field ---- */

#define TC_CLI_SHAPE_OPTION(S, f)                                                                                                \
    TC_CLI_LIST(                                                                                                                 \
        S, f, "shape", "NAME=1,128",                                                                                             \
        "shape of an input, or with one number the value of a symbolic dimension or of a kernel's symbol; LEAST..MOST is a "     \
        "range of sizes, LEAST..MOST:N the multiples of N in it; may be repeated")
#define TC_CLI_SOURCE_OPTIONS(S, g)                                                                                              \
    TC_CLI_TEXT(S, g.model, "model", "FILE.onnx|FILE.so",                                                                        \
                "the network: an ONNX model (for run and bench also a library that build wrote)"),                               \
        TC_CLI_TEXT(S, g.te, "te", "FILE.te", "one kernel in .te form instead of a network"), TC_CLI_SHAPE_OPTION(S, g.shape),   \
        TC_CLI_FLAG(                                                                                                             \
            S, g.in_place_cache, "in-place-cache",                                                                               \
            "an output that is an input with new rows behind it (keys and values of a model that decodes) is one buffer "        \
            "with that input: a run writes the new rows and copies none of the others")
#define TC_CLI_PASS_OPTIONS(S, g)                                                                                                \
    TC_CLI_ROW(S, g.level, int, tc_cli_take_level, "opt-level", "0..3",                                                          \
               "which graph passes run: 0 what correctness needs, 1 less work, 2 layouts and algorithms too (default), 3 "       \
               "results may differ"),                                                                                            \
        TC_CLI_LIST(S, g.disable, "disable-pass", "NAME", "leave this graph pass out; may be repeated"),                         \
        TC_CLI_FLAG(S, g.times, "print-pass-times", "print the time of each graph pass (to standard error)"),                    \
        TC_CLI_TEXT(S, g.dump, "dump-graph", "PASS",                                                                             \
                    "print the graph before and after this graph pass, or all of them (to standard error)")

#define TC_CLI_DB_OPTION(S, f) TC_CLI_TEXT(S, f, "db", "FILE.db", "tuning database; default tctune.db in the current folder")
#define TC_CLI_UNTUNED_OPTION(S, f) TC_CLI_FLAG(S, f, "untuned", "use default schedules, whatever the database holds")
#define TC_CLI_TARGET_OPTION(S, f)                                                                                               \
    TC_CLI_TEXT(S, f, "target", "T",                                                                                             \
                "what code is made for: native (default), a CPU's name such as znver4, or \"llvm -mtriple=... -mcpu=...\"")
/* g: a tc_cli_accuracy_args */
#define TC_CLI_ACCURACY_OPTIONS(S, g)                                                                                            \
    TC_CLI_CHOICE(S, g.accuracy, "accuracy", "strict|fast",                                                                      \
                  "fast (default): kernels may also be computed by algorithms that round more, where they are faster: "          \
                  "Winograd's convolution, up to 5e-4 of a network's outputs; strict: never"),                                   \
        TC_CLI_CHOICE(                                                                                                           \
            S, g.precision, "precision", "f32|bf16|auto",                                                                        \
            "f32 (default); bf16: matmuls and convolutions may also take operands rounded to bf16, with sums in f32, where "     \
            "that measures faster; auto: the same, of which build uses as much as --error-budget leaves")
#define TC_CLI_THREADS_OPTION(S, f) TC_CLI_COUNT(S, f, "threads", "N", "threads of the kernels; default one per core")
#define TC_CLI_SEED_OPTION(S, f)                                                                                                 \
    TC_CLI_ROW(S, f, uint64_t, tc_cli_take_seed, "seed", "S", "seed of the search and of random inputs; default 0")
#define TC_CLI_TIMING_OPTION(S, f)                                                                                               \
    TC_CLI_CHOICE(                                                                                                               \
        S, f, "mode", "auto|hot|cold",                                                                                           \
        "how kernels are timed: hot, called again and again on the same data; cold, with the constants put out of "              \
        "every cache before each call, as in networks whose weights no cache holds; auto (default): cold where some form "       \
        "of the kernel reads more constants than half of the last cache as it was measured, or, in a network that reads "        \
        "more than all of it, than a core's own caches hold; else hot. Records of both may be in one database; "                 \
        "build prefers cold ones")

#define TC_CLI_OUT_OPTION(S, f) TC_CLI_TEXT(S, f, "out", "FILE", "where the result is written")
#define TC_CLI_NAME_OPTION(S, f)                                                                                                 \
    TC_CLI_TEXT(S, f, "name", "PREFIX", "prefix of the library's symbols; default from the name of the file")
#define TC_CLI_COMPLETE_OPTION(S, f)                                                                                             \
    TC_CLI_FLAG(S, f, "require-complete", "fail unless every kernel has a record in the database")
#define TC_CLI_BUDGET_OPTION(S, f)                                                                                               \
    TC_CLI_REAL(S, f, "error-budget", "E",                                                                                       \
                "with --precision: only as many kernels round to bf16 as keep max |rounded - f32| / max |f32| of every output "  \
                "at most E on the inputs of --inputs (else drawn ones), those first that save most time for their error")
#define TC_CLI_INPUTS_OPTION(S, f)                                                                                               \
    TC_CLI_TEXT(S, f, "inputs", "FILE.npz|DIR",                                                                                  \
                ".npz with the inputs by name (or in.NAME), or a folder of input_N.pb; default seeded random values")
#define TC_CLI_TOLERANCE_OPTIONS(S, g)                                                                                           \
    TC_CLI_REAL(S, g.rtol, "rtol", "R", "relative tolerance of floats; default 1e-3 (1e-2 for 16-bit floats)"),                  \
        TC_CLI_REAL(S, g.atol, "atol", "A", "absolute tolerance; default 1e-5 (1e-3 for 16-bit floats)")
#define TC_CLI_AT_OPTION(S, f) TC_CLI_LIST(S, f, "at", "NAME=SIZE", "where sizes vary: one of them; may be repeated")
#define TC_CLI_WEIGHTS_OPTION(S, f)                                                                                              \
    TC_CLI_TEXT(S, f, "shape-weights", "FILE",                                                                                   \
                "how much each size of what varies counts: lines of NAME=SIZE .. WEIGHT; default by the logarithm of the size")
#define TC_CLI_REPEATS_OPTION(S, f) TC_CLI_COUNT(S, f, "repeats", "N", "timed runs, of which the median is taken; default 30")
#define TC_CLI_KERNEL_OPTION(S, f)                                                                                               \
    TC_CLI_TEXT(S, f, "kernel", "NAME|INDEX|NODE", "a kernel of the network: its name, its number, or an ONNX node in it")
#define TC_CLI_SCHED_OPTION(S, f) TC_CLI_TEXT(S, f, "sched", "FILE.sched", "a schedule in .sched form instead of the best record")
/* g: a tc_cli_fleet_args */
#define TC_CLI_ACCESS_OPTIONS(S, g)                                                                                              \
    TC_CLI_TEXT(S, g.creds, "creds", "FILE", "a user's credentials for the fleet's server"),                                     \
        TC_CLI_TEXT(S, g.nkey, "nkey", "FILE",                                                                                   \
                    "a user's public key and seed for the fleet's server, as deploy/fleet-user writes them"),                    \
        TC_CLI_TEXT(S, g.ca, "tls-ca", "FILE", "certificates by which the fleet's server is checked")
#define TC_CLI_NATS_OPTIONS(S, g)                                                                                                \
    TC_CLI_TEXT(S, g.url, "nats", "URL", "the fleet's server: nats://HOST:PORT or tls://HOST:PORT"), TC_CLI_ACCESS_OPTIONS(S, g)
#define TC_CLI_FLEET_OPTIONS(S, g)                                                                                               \
    TC_CLI_TEXT(S, g.url, "fleet", "URL",                                                                                        \
                "workers of a fleet measure, not this machine: its NATS server, nats://HOST:PORT or tls://HOST:PORT"),           \
        TC_CLI_TEXT(S, g.key, "key", "PATTERN",                                                                                  \
                    "which workers of the fleet, by their key (`tctune fleet status`), with * and ?; default those of this "     \
                    "target and number of threads"),                                                                             \
        TC_CLI_COUNT(S, g.workers, "workers", "K",                                                                               \
                     "jobs of the fleet at once; default this tuner's share of two for each worker"),                            \
        TC_CLI_COUNT(S, g.weight, "weight", "N",                                                                                 \
                     "workers of the fleet are shared by the weights of the tuners that are there, 1000 at most; default 1"),    \
        TC_CLI_FLAG(S, g.fallback, "fleet-fallback",                                                                             \
                    "where no server answers, or no such worker is there, when it starts: measure on this machine; else that "   \
                    "is an error"),                                                                                              \
        TC_CLI_ACCESS_OPTIONS(S, g)
#define TC_CLI_NO_CACHE_OPTION(S)                                                                                                \
    TC_CLI_FLAG(S, common.no_cache, "no-cache", "compile every kernel, and keep no objects ($TCTUNE_CACHE, else ~/.cache/tctune)")
/* g: a tc_cli_progress_args */
#define TC_CLI_PROGRESS_OPTIONS(S, g)                                                                                            \
    TC_CLI_CHOICE(S, g.how, "progress", "text|json|none",                                                                        \
                  "how progress is told on standard error: text (default), json (one event a line), none"),                      \
        TC_CLI_COUNT(S, g.fd, "progress-fd", "N", "with --progress json: the open file that events go to; default 2")
#define TC_CLI_JSON_OPTION(S, f) TC_CLI_FLAG(S, f, "json", "report as one JSON object on standard output")

/* ---- commands ---- */

typedef struct tc_cli_command {
    const char *name, *summary;
    const char *operands; /* "DIR...": at least one is needed; NULL: none are taken */
    const char *details;  /* a paragraph for --help, or NULL */
    size_t size;          /* of the command's struct */
    const tc_cli_option *options;
    size_t noption;
    const void *defaults; /* such a struct, or NULL: all zero */
    const char *required; /* an option that must be given, or NULL */
    bool hidden;          /* not in the list of commands */
    /* Gets the command's struct. The exit status; err is printed unless empty, with a hint at --help for TC_CLI_USAGE. */
    int (*run)(const void *args, tc_error *err);
} tc_cli_command;

/* Its option i from 0 to noption: the last one is --help, which no table has. */
const tc_cli_option *tc_cli_option_at(const tc_cli_command *c, size_t i);

/* Of a command's description: its struct, which begins with tc_cli_common, and its table. */
#define TC_CLI_ARGS(S, table)                                                                                                    \
    .size = sizeof(S) + 0 * sizeof(char[offsetof(S, common) == 0 ? 1 : -1]), .options = table, .noption = TC_LEN(table)

/* *args becomes the command's struct: free it with tc_cli_args_free in any case. TC_CLI_DONE, or TC_CLI_USAGE with err. argv[0]
 * is the first argument after the command's name. */
int tc_cli_parse(const tc_cli_command *c, int argc, char **argv, tc_cli_common **args, tc_error *err);
void tc_cli_args_free(const tc_cli_command *c, tc_cli_common *args);
void tc_cli_help(FILE *f, const tc_cli_command *c);
/* Fills err and returns TC_CLI_USAGE. */
int tc_cli_usage(tc_error *err, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
