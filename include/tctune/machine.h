/* What the machine can do, and what disturbs measurements on it. Results are JSON documents (docs/json.md); give them back with
 * tctune_text_free. A measurement needs the machine to itself: other programs disturb it, and it disturbs them. */
#ifndef TCTUNE_MACHINE_H
#define TCTUNE_MACHINE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the version of LLVM, which generates the code, such as "19.1.7". */
TCTUNE_API const char *tctune_llvm_version(void);

/* What tctune_machine describes. */
typedef struct tctune_machine_options {
    size_t struct_size;
    const char *target; /* NULL: this machine */
    int threads;        /* 0: every core */
    int measure;        /* not 0: also measure peaks and bandwidths, for about a second; only for a target that runs here */
} tctune_machine_options;

/* Describes a target: CPU, features, cores, caches, and, if measured, what this machine can do. options may be NULL. */
TCTUNE_API tctune_status tctune_machine(const tctune_machine_options *options, char **json, char *error, size_t error_size);

/* What tctune_doctor checks. */
typedef struct tctune_doctor_options {
    size_t struct_size;
    int threads; /* threads that kernels will have; 0: every core */
    int quick;   /* not 0: only what files and the process tell; 0: also measure, for about four seconds */
} tctune_doctor_options;

/* Lists what disturbs measurements on this machine, and what to do about it. Changes nothing. Forks a child process, which tries
 * the sandbox of workers. options may be NULL. */
TCTUNE_API tctune_status tctune_doctor(const tctune_doctor_options *options, char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
