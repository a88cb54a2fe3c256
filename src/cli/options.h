/* Options of commands. Each command has a struct of its own and a table with a row for each option. A row names the field that gets
 * the value, the group that lists the option, the spelling, and the text in --help. Options that several commands share form a
 * small struct with its own rows, below.
 *
 *   typedef struct zoo_args {
 *       tc_cli_common common;
 *       const char *out;
 *   } zoo_args;
 *   static const tc_cli_option options[] = {TC_CLI_OUT_OPTION(zoo_args, out)};
 *
 * A row names its group after the field, without TC_CLI_IN_ (TC_CLI_GROUPS lists the groups):
 *
 *   TC_CLI_COUNT(tune_args, trials, BUDGET, "trials", "N", "how many candidates to measure")
 *
 * The text of `argument` also tells the shell completions which values are possible. Alternatives are words in small letters, with
 * | between them. A range of numbers is 0..3, a file with a suffix is FILE.onnx, any file is FILE, and a folder is DIR.
 *
 * --help lists the groups in their order, and the rows of a group in the order of the table. Every command also takes --help and
 * --version, which are in no table. */
#ifndef TC_CLI_OPTIONS_H
#define TC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/face/face.h"

/* ---- groups ---- */

/* X(id, heading): the groups of options, with the heading of each in --help, the manual pages and the reference. */
#define TC_CLI_GROUPS(X)                                                                                                         \
    X(WHAT, "model and kernel")                                                                                                  \
    X(BUDGET, "budget")                                                                                                          \
    X(RESULT, "results")                                                                                                         \
    X(RECORDS, "records")                                                                                                        \
    X(MACHINE, "machine")                                                                                                        \
    X(FLEET, "fleet of machines")                                                                                                \
    X(ACCURACY, "accuracy")                                                                                                      \
    X(EXPERT, "for experts")                                                                                                     \
    X(HELP, "help")
#define TC_CLI_GROUP_ID(id, heading) TC_CLI_IN_##id,
typedef enum tc_cli_group { TC_CLI_GROUPS(TC_CLI_GROUP_ID) TC_CLI_NGROUP } tc_cli_group;
#undef TC_CLI_GROUP_ID
const char *tc_cli_heading(tc_cli_group g);

/* ---- rows ---- */

typedef struct tc_cli_option tc_cli_option;

/* Reads the value v of an option into its field: TC_CLI_DONE, or TC_CLI_USAGE with err. A flag has no value. */
typedef int tc_cli_take(const tc_cli_option *o, const char *v, void *field, tc_error *err);

struct tc_cli_option {
    tc_cli_group group;
    const char *name;
    const char *argument; /* for --help; NULL: it takes none */
    const char *help;
    tc_cli_take *take;
    size_t offset; /* of the field in the command's struct */
};

tc_cli_take tc_cli_take_format, tc_cli_take_json, tc_cli_take_flag, tc_cli_take_text, tc_cli_take_input, tc_cli_take_inputs,
    tc_cli_take_output, tc_cli_take_named, tc_cli_take_library, tc_cli_take_choice, tc_cli_take_count, tc_cli_take_level,
    tc_cli_take_seed, tc_cli_take_real, tc_cli_take_list;

/* The place of a field of type T in struct S; a field of another type does not compile. */
#define TC_CLI_PLACE(S, field, T) (offsetof(S, field) + 0 * sizeof((T *)0 == &((S *)0)->field))

/* The row of an option whose field is of type T. */
#define TC_CLI_ROW(S, field, group, T, take, name, argument, help)                                                               \
    { TC_CLI_IN_##group, name, argument, help, take, TC_CLI_PLACE(S, field, T) }

#define TC_CLI_FLAG(S, field, group, name, help) TC_CLI_ROW(S, field, group, bool, tc_cli_take_flag, name, NULL, help)
#define TC_CLI_TEXT(S, field, group, name, argument, help)                                                                       \
    TC_CLI_ROW(S, field, group, const char *, tc_cli_take_text, name, argument, help)
/* One of the words that the argument lists, between bars. */
#define TC_CLI_CHOICE(S, field, group, name, argument, help)                                                                     \
    TC_CLI_ROW(S, field, group, const char *, tc_cli_take_choice, name, argument, help)
/* A whole number from 1. */
#define TC_CLI_COUNT(S, field, group, name, argument, help)                                                                      \
    TC_CLI_ROW(S, field, group, int, tc_cli_take_count, name, argument, help)
/* A number that is not negative. */
#define TC_CLI_REAL(S, field, group, name, argument, help)                                                                       \
    TC_CLI_ROW(S, field, group, double, tc_cli_take_real, name, argument, help)
/* A file that is read from beginning to end; `-` is standard input. INPUTS: it may be given more than once. */
#define TC_CLI_INPUT(S, field, group, name, argument, help)                                                                      \
    TC_CLI_ROW(S, field, group, const char *, tc_cli_take_input, name, argument, help)
#define TC_CLI_INPUTS(S, field, group, name, argument, help)                                                                     \
    TC_CLI_ROW(S, field, group, tc_cli_texts, tc_cli_take_inputs, name, argument, help)
/* A file that is read or changed in any order, which no pipe allows: it cannot be `-`. */
#define TC_CLI_NAMED(S, field, group, name, argument, help)                                                                      \
    TC_CLI_ROW(S, field, group, const char *, tc_cli_take_named, name, argument, help)
/* A file to write; `-` is standard output, and what the command prints then goes to standard error. */
#define TC_CLI_OUTPUT(S, field, group, name, argument, help)                                                                     \
    TC_CLI_ROW(S, field, group, const char *, tc_cli_take_output, name, argument, help)
/* The option may be given more than once. A NULL follows the last value. */
#define TC_CLI_LIST(S, field, group, name, argument, help)                                                                       \
    TC_CLI_ROW(S, field, group, tc_cli_texts, tc_cli_take_list, name, argument, help)

/* ---- what commands share ---- */

/* The first member of every command's struct. */
typedef struct tc_cli_common {
    tc_cli_texts operands;
    bool help, version, no_cache;
    bool reads_stdin, writes_stdout; /* `-` was given for a file to read, for a file to write */
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
    tc_cli_texts fixed; /* --input */
    bool in_place_cache;
    const char *weights; /* --shape-weights */
    tc_cli_pass_args passes;
    bool varying; /* no option: the command accepts kernels with symbols that have no value */
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

/* The tolerance for floats against expected values; negative: not given. */
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

/* Fields whose value is not zero when the option is not given. */
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
    TC_CLI_LIST(S, f, WHAT, "shape", "NAME=1,128",                                                                               \
                "the shape of the input NAME. With one number: the value of the size NAME (a symbol of the model or of the "     \
                "kernel). NAME=LEAST..MOST is a range of sizes, NAME=LEAST..MOST:N the multiples of N in it. May be repeated")
#define TC_CLI_FIXED_OPTION(S, f)                                                                                                \
    TC_CLI_LIST(S, f, WHAT, "input", "NAME=VALUE",                                                                               \
                "the input NAME has this value in each run: a number, or NAME=V0,V1,... for an array. The model then has no "    \
                "such input, and branches that the value decides disappear. May be repeated")
#define TC_CLI_SOURCE_OPTIONS(S, g)                                                                                              \
    TC_CLI_NAMED(                                                                                                                \
        S, g.model, WHAT, "model", "FILE.onnx|FILE.so",                                                                          \
        "the network, an ONNX file; for run, bench, trace and show also a library that build made. `--model` may be left out"),  \
        TC_CLI_INPUT(S, g.te, WHAT, "te", "FILE.te",                                                                             \
                     "one kernel instead of a network, as a tensor expression. `--te` may be left out"),                         \
        TC_CLI_SHAPE_OPTION(S, g.shape), TC_CLI_FIXED_OPTION(S, g.fixed),                                                        \
        TC_CLI_FLAG(S, g.in_place_cache, EXPERT, "in-place-cache",                                                               \
                    "for models that decode: an output that is an input with new rows behind it (keys, values) shares the "      \
                    "buffer of this input. A run then writes the new rows only")
#define TC_CLI_PASS_OPTIONS(S, g)                                                                                                \
    TC_CLI_ROW(S, g.level, EXPERT, int, tc_cli_take_level, "opt-level", "0..3",                                                  \
               "which graph passes run. 0: those that correctness needs; 1: also those that save work; 2: also those that "      \
               "choose layouts and algorithms (default); 3: also those that change results slightly"),                           \
        TC_CLI_LIST(S, g.disable, EXPERT, "disable-pass", "NAME", "do not run this graph pass. May be repeated"),                \
        TC_CLI_FLAG(S, g.times, EXPERT, "print-pass-times", "print the time of each graph pass to standard error"),              \
        TC_CLI_TEXT(S, g.dump, EXPERT, "dump-graph", "PASS",                                                                     \
                    "print the graph before and after this graph pass to standard error; `all`: of every pass")

#define TC_CLI_DB_OPTION(S, f)                                                                                                   \
    TC_CLI_NAMED(S, f, RECORDS, "db", "FILE.db", "the database of records; default tctune.db in the current folder")
#define TC_CLI_UNTUNED_OPTION(S, f) TC_CLI_FLAG(S, f, RECORDS, "untuned", "use the default schedules, and no records")
#define TC_CLI_TARGET_OPTION(S, f)                                                                                               \
    TC_CLI_TEXT(S, f, MACHINE, "target", "CPU",                                                                                  \
                "the processor that code is made for: native (this machine's; default), a name such as znver4, or \"llvm "       \
                "-mtriple=... -mcpu=...\"")
/* g: a tc_cli_accuracy_args */
#define TC_CLI_ACCURACY_OPTIONS(S, g)                                                                                            \
    TC_CLI_CHOICE(S, g.accuracy, ACCURACY, "accuracy", "strict|default|fast",                                                    \
                  "strict: kernels round as the model's own operators do. default: they may use faster algorithms that keep "    \
                  "rows apart. Winograd's convolution changes the outputs of a network by up to 5e-4. fast: also algorithms "    \
                  "that mix rows. In Strassen's product a row of large numbers spoils rows of small ones, and an infinity or "   \
                  "NaN reaches other rows"),                                                                                     \
        TC_CLI_CHOICE(S, g.precision, ACCURACY, "precision", "f32|bf16|auto",                                                    \
                      "f32 (default); bf16: matmuls and convolutions may round their operands to bf16 and sum in f32, where "    \
                      "this is faster; auto: like bf16, and build rounds only as many kernels as --error-budget allows")
#define TC_CLI_THREADS_OPTION(S, f)                                                                                              \
    TC_CLI_COUNT(S, f, MACHINE, "threads", "N", "how many threads run the kernels; default one for each core")
#define TC_CLI_SEED_OPTION(S, f)                                                                                                 \
    TC_CLI_ROW(S, f, EXPERT, uint64_t, tc_cli_take_seed, "seed", "S", "the seed of the search and of random values; default 0")
#define TC_CLI_TIMING_OPTION(S, f)                                                                                               \
    TC_CLI_CHOICE(S, f, EXPERT, "mode", "auto|hot|cold",                                                                         \
                  "how kernels are timed. hot: called again and again on the same data. cold: the constants are removed from "   \
                  "the caches before each call, as in a network whose weights do not fit into them. auto (default): cold if "    \
                  "the constants of the kernel are larger than half of the last cache. Also cold if the constants of the "       \
                  "network are larger than the last cache, and the constants of the kernel larger than the caches of a core. "   \
                  "Else hot. A database can hold records of both, and build prefers the cold ones")

#define TC_CLI_OUT_OPTION(S, f, argument, help) TC_CLI_OUTPUT(S, f, RESULT, "out", argument, help)
/* A library, which cannot be written to standard output. */
#define TC_CLI_LIBRARY_OPTION(S, f, help) TC_CLI_ROW(S, f, RESULT, const char *, tc_cli_take_library, "out", "FILE", help)
#define TC_CLI_NAME_OPTION(S, f)                                                                                                 \
    TC_CLI_TEXT(S, f, RESULT, "name", "PREFIX",                                                                                  \
                "how the names of the library's functions begin; default from the name of its file")
#define TC_CLI_COMPLETE_OPTION(S, f)                                                                                             \
    TC_CLI_FLAG(S, f, RECORDS, "require-complete", "fail where a kernel has no record in the database")
#define TC_CLI_BUDGET_OPTION(S, f)                                                                                               \
    TC_CLI_REAL(                                                                                                                 \
        S, f, ACCURACY, "error-budget", "E",                                                                                     \
        "with --precision auto: the largest error that rounding to bf16 may add to an output, max |rounded - f32| / max |f32|. " \
        "It is measured on --inputs, or on random inputs. Kernels that save most time for their error are rounded first")
#define TC_CLI_INPUTS_OPTION(S, f)                                                                                               \
    TC_CLI_NAMED(                                                                                                                \
        S, f, WHAT, "inputs", "FILE.npz|DIR",                                                                                    \
        "the inputs: a .npz file with arrays called NAME or in.NAME, or a folder of input_N.pb files; default random values")
#define TC_CLI_TOLERANCE_OPTIONS(S, g)                                                                                           \
    TC_CLI_REAL(S, g.rtol, ACCURACY, "rtol", "R", "the relative tolerance of floats; default 1e-3 (16-bit floats: 1e-2)"),       \
        TC_CLI_REAL(S, g.atol, ACCURACY, "atol", "A",                                                                            \
                    "the absolute tolerance, also of integers; default 1e-5 (16-bit floats: 1e-3)")
#define TC_CLI_AT_OPTION(S, f)                                                                                                   \
    TC_CLI_LIST(S, f, WHAT, "at", "NAME=SIZE",                                                                                   \
                "where sizes vary: the value of the size NAME. May be repeated. Sizes that are not given get their smallest "    \
                "positive value")
#define TC_CLI_WEIGHTS_OPTION(S, f)                                                                                              \
    TC_CLI_INPUT(                                                                                                                \
        S, f, EXPERT, "shape-weights", "FILE",                                                                                   \
        "where sizes vary: how much each size counts, as lines of NAME=SIZE .. WEIGHT; default by the logarithm of the size")
#define TC_CLI_REPEATS_OPTION(S, f)                                                                                              \
    TC_CLI_COUNT(S, f, BUDGET, "repeats", "N", "how many runs are timed; the result is their median. Default 30")
#define TC_CLI_KERNEL_OPTION(S, f)                                                                                               \
    TC_CLI_TEXT(S, f, WHAT, "kernel", "NAME|INDEX|NODE",                                                                         \
                "a kernel of the network: its name, its number, or an ONNX node in it. `tctune show MODEL.onnx` lists them")
#define TC_CLI_SCHED_OPTION(S, f) TC_CLI_INPUT(S, f, WHAT, "sched", "FILE.sched", "use this schedule instead of the best record")
/* g: a tc_cli_fleet_args */
#define TC_CLI_ACCESS_OPTIONS(S, g)                                                                                              \
    TC_CLI_TEXT(S, g.creds, FLEET, "creds", "FILE", "a file with the user's credentials for the server"),                        \
        TC_CLI_TEXT(S, g.nkey, FLEET, "nkey", "FILE",                                                                            \
                    "a file with the user's public key and seed for the server, as deploy/fleet-user writes it"),                \
        TC_CLI_TEXT(S, g.ca, FLEET, "tls-ca", "FILE",                                                                            \
                    "a file with the certificates that the server's certificate is checked against")
#define TC_CLI_NATS_OPTIONS(S, g)                                                                                                \
    TC_CLI_TEXT(S, g.url, FLEET, "nats", "URL", "the NATS server of the fleet: nats://HOST:PORT or tls://HOST:PORT"),            \
        TC_CLI_ACCESS_OPTIONS(S, g)
#define TC_CLI_FLEET_OPTIONS(S, g)                                                                                               \
    TC_CLI_TEXT(S, g.url, FLEET, "fleet", "URL",                                                                                 \
                "let the workers of a fleet measure, not this machine. URL is the NATS server of the fleet: nats://HOST:PORT "   \
                "or tls://HOST:PORT"),                                                                                           \
        TC_CLI_TEXT(S, g.key, FLEET, "key", "PATTERN",                                                                           \
                    "only workers whose key matches, with * and ? as wildcards (`tctune fleet status` lists keys); default "     \
                    "workers for this target and number of threads"),                                                            \
        TC_CLI_COUNT(S, g.workers, FLEET, "workers", "K",                                                                        \
                     "how many jobs the fleet gets at once; default two for each worker, shared among the tuners"),              \
        TC_CLI_COUNT(S, g.weight, FLEET, "weight", "N",                                                                          \
                     "this tuner's share of the workers, against the weights of other tuners: 1 to 1000; default 1"),            \
        TC_CLI_FLAG(S, g.fallback, FLEET, "fleet-fallback",                                                                      \
                    "measure on this machine if at the start no server answers or no worker fits. Without it this is an error"), \
        TC_CLI_ACCESS_OPTIONS(S, g)
#define TC_CLI_NO_CACHE_OPTION(S)                                                                                                \
    TC_CLI_FLAG(S, common.no_cache, EXPERT, "no-cache",                                                                          \
                "compile every kernel anew, and keep no compiled kernels ($TCTUNE_CACHE, else ~/.cache/tctune)")
/* g: a tc_cli_progress_args */
#define TC_CLI_PROGRESS_OPTIONS(S, g)                                                                                            \
    TC_CLI_CHOICE(S, g.how, RESULT, "progress", "text|json|none",                                                                \
                  "how progress is told on standard error: text (default), json (one event a line), or none"),                   \
        TC_CLI_COUNT(S, g.fd, RESULT, "progress-fd", "N",                                                                        \
                     "with --progress json: the number of the open file that events go to; default 2, standard error")
#define TC_CLI_JSON_OPTION(S, f) TC_CLI_FLAG(S, f, RESULT, "json", "print the result as one JSON object")
/* Of commands that print tables; f: a tc_cli_format */
#define TC_CLI_FORMAT_OPTIONS(S, f)                                                                                              \
    TC_CLI_ROW(S, f, RESULT, tc_cli_format, tc_cli_take_format, "format", "table|markdown|csv|json",                             \
               "how to print tables; default table, with sentences around it. csv: bare numbers, with units in the heading. "    \
               "json: everything, as one object"),                                                                               \
        TC_CLI_ROW(S, f, RESULT, tc_cli_format, tc_cli_take_json, "json", NULL, "the same as --format json")

/* ---- commands ---- */

/* An example: a command line that works if its files exist, and its purpose. */
typedef struct tc_cli_example {
    const char *purpose, *line;
} tc_cli_example;

typedef struct tc_cli_command {
    const char *name, *summary;
    const char
        *source; /* "MODEL.onnx|KERNEL.te": a file that may stand without --model or --te, for commands with these options; NULL:
                  * none */
    const char *operands; /* "DIR...": at least one operand is required; "[FILE]": none is required; NULL: none is accepted */
    const char *synopsis; /* the options that the usage line shows, behind the operands; NULL: none */
    const char *details;  /* a paragraph for --help, or NULL */
    size_t size;          /* of the command's struct */
    const tc_cli_option *options;
    size_t noption;
    const void *defaults; /* such a struct, or NULL: all zero */
    const char *required; /* an option that must be given, or NULL */
    bool hidden;          /* not in the list of commands */
    bool reads_stdin;     /* an operand `-` is standard input */
    tc_cli_example examples[2];
    /* Runs the command with its struct, and returns the exit status. A message in err is printed, with a hint at --help for
     * TC_CLI_USAGE. */
    int (*run)(const void *args, tc_error *err);
} tc_cli_command;

/* The number of options of a command: the rows of its table, then --help and --version. */
size_t tc_cli_num_options(const tc_cli_command *c);
/* Option i of them. */
const tc_cli_option *tc_cli_option_at(const tc_cli_command *c, size_t i);
/* The next option of a group, from number *i on. *i then is the number behind it. NULL: there is none. */
const tc_cli_option *tc_cli_next_of(const tc_cli_command *c, tc_cli_group g, size_t *i);
/* Whether it may be given more than once. */
bool tc_cli_is_list(const tc_cli_option *o);
/* Its letter ('o' of --out); 0: it has none. */
char tc_cli_letter(const tc_cli_option *o);
/* "MODEL.onnx -o FILE [options]": what follows the command's name in a usage line. */
void tc_cli_synopsis(tc_strbuf *b, const tc_cli_command *c);

/* Parts of a command's description: its struct, which begins with tc_cli_common, and its table. */
#define TC_CLI_ARGS(S, table)                                                                                                    \
    .size = sizeof(S) + 0 * sizeof(char[offsetof(S, common) == 0 ? 1 : -1]), .options = table, .noption = TC_LEN(table)

/* *args becomes the command's struct: free it with tc_cli_args_free in any case. TC_CLI_DONE, or TC_CLI_USAGE with err. argv[0]
 * is the first argument after the command's name. */
int tc_cli_parse(const tc_cli_command *c, int argc, char **argv, tc_cli_common **args, tc_error *err);
void tc_cli_args_free(const tc_cli_command *c, tc_cli_common *args);
/* How many columns a line has: $COLUMNS, else the terminal's, else 80; 120 at most. */
int tc_cli_width(FILE *f);
/* Prints a row of a list: a name, and its description beside it. */
void tc_cli_list(FILE *f, const char *name, const char *text);
/* What --help prints (help.c). */
void tc_cli_help(FILE *f, const tc_cli_command *c);
/* The option that a file belongs to, by its suffix, else by how it begins: "model" (an ONNX file or a library), "te" (a kernel), or
 * NULL. */
const char *tc_cli_source_option(const char *path);

/* How many names a message lists at most. */
enum { TC_CLI_SHOWN = 6 };
/* Fills err and returns TC_CLI_USAGE: `typed` is the beginning of n names, of which `fits` has TC_CLI_SHOWN at most. `before` is printed
 * before each name. */
int tc_cli_ambiguous(tc_error *err, const char *before, const char *typed, size_t len, const char *const *fits, size_t n);
/* Fills err and returns TC_CLI_USAGE. */
int tc_cli_usage(tc_error *err, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
