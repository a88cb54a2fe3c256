/* What all of tctune's C API shares: outcomes, versions, and how its structs grow.
 *
 * Errors. Every function that can fail returns TCTUNE_OK or another status, and writes a sentence that names the file, the node
 * and the remedy to `error`, a buffer of the caller's of `error_size` characters (NULL, 0: not wanted).
 *
 * Threads. A handle serves one call at a time, different ones may be used in different threads, and calls that take a pointer to
 * const may run at once on one handle, where nothing else is said.
 *
 * Structs that say what is wanted, or that are filled in, begin with struct_size, which the caller sets to sizeof the struct that
 * it was compiled with:
 *     tctune_build_options o = {.struct_size = sizeof o, .threads = 2};
 * Later versions add fields at their ends and change none, so a program finds what it knows in every library of the same first
 * two version numbers (before 1.0; the same first number from then on), newer or older. What an older library does not know must
 * be zero, else TCTUNE_BAD_INPUT. A field that is zero means its default. Strings of options are copied. */
#ifndef TCTUNE_BASE_H
#define TCTUNE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* What the library exports. */
#define TCTUNE_API __attribute__((visibility("default")))
#else
/* What the library exports. */
#define TCTUNE_API
#endif

/* How a call ended. */
typedef enum tctune_status {
    TCTUNE_OK = 0,
    TCTUNE_BAD_INPUT = 2,   /* what was given is wrong */
    TCTUNE_ENVIRONMENT = 3, /* disk, memory, compiler, linker, worker processes */
    TCTUNE_STOPPED = 4      /* as the caller asked; what was measured until then is kept */
} tctune_status;

/* The version of these headers. Before 1.0, programs must be compiled again when one of the first two numbers changes. */
#define TCTUNE_VERSION_MAJOR 0
/* It changes when functions or fields are added, and before 1.0 also when some are changed. */
#define TCTUNE_VERSION_MINOR 2
/* It changes when something was mended. */
#define TCTUNE_VERSION_PATCH 0
/* The three of them, as tctune_version() has the library's. */
#define TCTUNE_VERSION_STRING "0.2.0"

/* The library's version, "0.2.0". */
TCTUNE_API const char *tctune_version(void);

/* "TCTUNE_BAD_INPUT": how a status is spelt here; "unknown status" for a number that is none. */
TCTUNE_API const char *tctune_status_name(tctune_status status);

/* Which lines of the log are wanted: those of a level and of the levels before it. */
typedef enum tctune_log_level {
    TCTUNE_LOG_LEVEL_DEFAULT, /* as the environment variable TCTUNE_LOG says; no lines where it is not set */
    TCTUNE_LOG_LEVEL_NONE,
    TCTUNE_LOG_LEVEL_ERROR,
    TCTUNE_LOG_LEVEL_WARN,
    TCTUNE_LOG_LEVEL_INFO,
    TCTUNE_LOG_LEVEL_DEBUG
} tctune_log_level;

/* Takes a line of the log, without a newline at its end. The line lives until the call returns. Any thread that works for the
 * library may make the call; calls come one at a time. Lines that the function causes itself by calling the library are dropped. */
typedef void tctune_on_log(void *user, tctune_log_level level, const char *line);

/* Sends the lines of the log up to `level` to `callback`; NULL: to standard error, where they go from the start. Holds for the
 * whole process; any thread may call it. Once it returns, the previous callback is not called any more. Worker processes have
 * logs of their own, which do not come here. TCTUNE_BAD_INPUT: there is no such level, or the callback itself made this call. */
TCTUNE_API tctune_status tctune_set_log(tctune_log_level level, tctune_on_log *callback, void *user, char *error,
                                        size_t error_size);

/* Where this process, and the workers that it starts from then on, keep what serves later ones: compiled kernels, and what was
 * measured of the machine. A folder, made when something is first kept; "off": nothing is kept, and nothing that was kept is
 * used; NULL: as TCTUNE_CACHE says, else tctune's own in the user's cache, which is so too where nobody calls this.
 * TCTUNE_ENVIRONMENT: the folder is not used, because others could put code there; then nothing is kept. It changes the
 * environment of the process: it is called before there are other threads. */
TCTUNE_API tctune_status tctune_cache_use(const char *folder, char *error, size_t error_size);

/* Gives back a text that a function of the API made; NULL is fine. */
TCTUNE_API void tctune_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
