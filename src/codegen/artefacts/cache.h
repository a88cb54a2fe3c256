/* Compiled objects on disk: one tctune never compiles the same program twice for the same target.
 *
 * The key is a seal (BLAKE2b) of the lowered program's text, the target, and this program's build (its linker's build id). So
 * a changed code generator finds nothing of the old one, and nobody can make a program that gets another program's object. The
 * kernel's symbol is not part of the key. Objects are kept under one symbol and get the caller's, so what tuning compiled
 * serves a build. A file holds the seal of its object under its key: a torn or damaged file is a miss, and is removed.
 *
 * Objects run in this process. Folders that others own or can write to are not used (support/system/user_folder.h), nor links,
 * nor files that are not this user's. A file is written under a temporary name and renamed, so any number of processes may
 * share a folder. The cache never fails a command: where it cannot be read or written, programs are compiled and not kept. */
#ifndef TC_CODEGEN_ARTEFACTS_CACHE_H
#define TC_CODEGEN_ARTEFACTS_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "codegen/target/target.h"
#include "support/status.h"
#include "tir_lower/tir.h"

typedef struct tc_cg_cache tc_cg_cache;

/* The user's cache, in tc_user_folder: 512 MiB. NULL when there is none, which every function here takes. Free with
 * tc_cg_cache_close. Safe from several threads. */
tc_cg_cache *tc_cg_cache_open(void);
/* The same in a folder of one's own, created when it is not there, of at most max_bytes. */
tc_cg_cache *tc_cg_cache_open_at(const char *dir, int64_t max_bytes);
/* Removes what was used longest ago when the folder has grown over its bound, which is looked at for each sixteenth of it that
 * all processes stored. */
void tc_cg_cache_close(tc_cg_cache *c);
/* Objects taken from the cache and objects compiled since it was opened. */
void tc_cg_cache_counts(const tc_cg_cache *c, int64_t *hits, int64_t *misses);

/* tc_cg_emit_object of one function, from the cache where it is there. The bytes do not depend on whether it was. *stack: bytes
 * that a call takes. */
TC_NODISCARD tc_status tc_cg_cached_object(tc_cg_cache *c, const tc_target *t, const tc_func *f, const char *symbol, void **obj,
                                           size_t *size, int64_t *stack, tc_error *err);

#endif
