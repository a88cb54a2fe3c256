/* What all of tctune's C API shares: outcomes, versions, and how its structs grow.
 *
 * Errors. Every function that can fail returns TCTUNE_OK or another status, and writes a sentence that names the file, the node and the
 * remedy to `error`, a buffer of the caller's of `error_size` characters (NULL, 0: not wanted).
 *
 * Threads. A handle serves one call at a time, different ones may be used in different threads, and calls that take a pointer to const
 * may run at once on one handle, where nothing else is said.
 *
 * Structs that say what is wanted, or that are filled in, begin with struct_size, which the caller sets to sizeof the struct that it was
 * compiled with:
 *     tctune_build_options o = {.struct_size = sizeof o, .threads = 2};
 * Later versions add fields at their ends and change none, so a program finds what it knows in every library of the same major version,
 * newer or older. What an older library does not know must be zero, else TCTUNE_BAD_INPUT. A field that is zero means its default. Strings
 * of options are copied. */
#ifndef TCTUNE_BASE_H
#define TCTUNE_BASE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
/* What the library exports. */
#define TC_API __attribute__((visibility("default")))
#else
/* What the library exports. */
#define TC_API
#endif

/* How a call ended. */
typedef enum tctune_status {
    TCTUNE_OK = 0,
    TCTUNE_BAD_INPUT = 2,   /* what was given is wrong */
    TCTUNE_ENVIRONMENT = 3, /* disk, memory, compiler, linker, worker processes */
    TCTUNE_STOPPED = 4      /* as the caller asked; what was measured until then is kept */
} tctune_status;

/* The version of these headers: it changes when programs must be compiled again. */
#define TCTUNE_VERSION_MAJOR 0
/* It changes when there is more than before. */
#define TCTUNE_VERSION_MINOR 1
/* It changes when something was mended. */
#define TCTUNE_VERSION_PATCH 0
/* The three of them, as tctune_version() has the library's. */
#define TCTUNE_VERSION_STRING "0.1.0"

/* The library's version, "0.1.0". */
TC_API const char *tctune_version(void);

/* Where this process, and the workers that it starts from then on, keep what serves later ones: compiled kernels, and what was measured of the
 * machine. A folder, made when something is first kept; "off": nothing is kept, and nothing that was kept is used; NULL: as TCTUNE_CACHE says, else
 * tctune's own in the user's cache, which is so too where nobody calls this. TCTUNE_ENVIRONMENT: the folder is not used, because others could put
 * code there; then nothing is kept. It changes the environment of the process: it is called before there are other threads. */
TC_API tctune_status tctune_cache_use(const char *folder, char *error, size_t error_size);

/* Gives back a text that a function of the API made; NULL is fine. */
TC_API void tctune_text_free(char *text);

#ifdef __cplusplus
}
#endif

#endif
