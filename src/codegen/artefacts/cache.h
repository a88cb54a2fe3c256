/* Objects on disk: the same program is never compiled twice for the same target by the same tctune.
 *
 * The key is a seal (BLAKE2b) of the lowered program's text, the target, and this program's build (its linker's build id): a
 * changed code generator finds nothing of the old one, and nobody can make a program that is given another one's object. The
 * kernel's symbol is no part of it: objects are kept under one and are given the caller's, so that what tuning compiled serves a
 * build. A file holds the seal of its object under its key, so that a torn or damaged one is a miss and is removed.
 *
 * Objects run in this process: folders that others own or can write to are not used (support/system/user_folder.h), nor are files
 * in them that are not ours, or links. Writing goes to a temporary file that is renamed: any number of processes may
 * share a folder. The cache never fails a command: what cannot be read or written is compiled and not kept.
 */
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
