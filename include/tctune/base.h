/* What all headers of tctune's C API share: statuses, versions, the log, and structs that grow.
 *
 * Names. A function of a handle begins with the handle's name: tctune_model_run, tctune_work_free. A function that does what a
 * command of the program `tctune` does begins with the command's verb: tctune_build, tctune_bench. An enumerator begins with the
 * name of its type: TCTUNE_EVENT_STARTED. Statuses alone are shorter: TCTUNE_BAD_INPUT.
 *
 * Errors. A function that can fail returns a tctune_status. If the status is not TCTUNE_OK, the function writes a message to
 * `error`, a buffer of `error_size` bytes that belongs to the caller. The message names the file or the node, says what was
 * expected, and what to do. Pass NULL and 0 if you do not want the message. A function that fails sets its results (handles,
 * texts) to NULL.
 *
 * Texts. A function that returns a text in a `char **` hands it over: give it back with tctune_text_free. A `const char *` that
 * is returned, or stands in a struct, belongs to the library; the comment says how long it lives.
 *
 * Threads. One handle serves one call at a time. Different handles may be used in different threads. Calls that take a pointer to
 * a const handle may run at once on the same handle, unless their comment says otherwise.
 *
 * Structs. Options and results begin with the field struct_size. The caller sets it to the size of the struct:
 *     tctune_build_options o = {.struct_size = sizeof o, .threads = 2};
 * A field that is zero has its default. Strings are copied. Later versions add fields at the end of a struct and change no field.
 * So a program runs with newer and older libraries of its version (TCTUNE_VERSION_MAJOR says which). An older library returns
 * TCTUNE_BAD_INPUT if a field that it does not know is not zero. */
#ifndef TCTUNE_BASE_H
#define TCTUNE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* Marks the functions that the library exports. */
#define TCTUNE_API __attribute__((visibility("default")))
#else
/* Marks the functions that the library exports. */
#define TCTUNE_API
#endif

/* How a call ended. */
typedef enum tctune_status {
    TCTUNE_OK = 0,
    TCTUNE_BAD_INPUT = 2,   /* an argument, an option or a file is wrong */
    TCTUNE_ENVIRONMENT = 3, /* the machine failed: disk, memory, compiler, linker, worker processes, server */
    TCTUNE_STOPPED = 4      /* the caller stopped the call; results measured so far are kept */
} tctune_status;

/* The version of these headers. A program must be compiled again when this number changes, and, while it is 0, when the next
 * number changes. */
#define TCTUNE_VERSION_MAJOR 0
/* Changes when functions or fields are added. */
#define TCTUNE_VERSION_MINOR 2
/* Changes when faults are mended. */
#define TCTUNE_VERSION_PATCH 0
/* The three numbers as text. */
#define TCTUNE_VERSION_STRING "0.2.0"

/* Returns the version of the library as text, such as "0.2.0". */
TCTUNE_API const char *tctune_version(void);

/* Returns the enumerator's name, such as "TCTUNE_BAD_INPUT"; "unknown status" for any other number. */
TCTUNE_API const char *tctune_status_name(tctune_status status);

/* Levels of the log. Each level includes the lines of the levels before it. */
typedef enum tctune_log_level {
    TCTUNE_LOG_LEVEL_DEFAULT, /* the level in the environment variable TCTUNE_LOG; without it, NONE */
    TCTUNE_LOG_LEVEL_NONE,    /* no lines */
    TCTUNE_LOG_LEVEL_ERROR,
    TCTUNE_LOG_LEVEL_WARN,
    TCTUNE_LOG_LEVEL_INFO,
    TCTUNE_LOG_LEVEL_DEBUG
} tctune_log_level;

/* Receives one line of the log, without a newline. The line lives until the callback returns. Any thread in which the library
 * works may call it; calls come one at a time. If the callback calls the library, lines that this causes are dropped. */
typedef void tctune_on_log(void *user, tctune_log_level level, const char *line);

/* Sends the lines of the log up to `level` to `callback`. callback NULL: to standard error, where lines go at first. The setting
 * is the whole process's, and any thread may change it. When tctune_set_log returns, the previous callback is not running and
 * will not run again. Worker processes have logs of their own, which do not reach the callback. TCTUNE_BAD_INPUT: the level does
 * not exist, or the callback itself made this call. */
TCTUNE_API tctune_status tctune_set_log(tctune_log_level level, tctune_on_log *callback, void *user, char *error,
                                        size_t error_size);

/* Chooses the folder in which this process, and workers that it starts later, keep compiled kernels and rates measured on the
 * machine. The folder is made when the first file is kept. "off": keep nothing and use nothing kept before. NULL, and without
 * this call: the environment variable TCTUNE_CACHE, else the user's cache folder. TCTUNE_ENVIRONMENT: other users could write to
 * the folder, so it is not used, and nothing is kept. The call sets an environment variable: make it before the program starts
 * threads. */
TCTUNE_API tctune_status tctune_cache_use(const char *folder, char *error, size_t error_size);

/* Releases a text that a function of the API handed over. NULL is allowed. */
TCTUNE_API void tctune_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
