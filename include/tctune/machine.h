/* The machine: what it can do, and what of it hurts measurements. Results are JSON texts, whose fields docs/json.md describes;
 * they are given back with tctune_text_free. Measuring takes the machine to itself: what else runs meanwhile is disturbed, and
 * disturbs. */
#ifndef TCTUNE_MACHINE_H
#define TCTUNE_MACHINE_H

#include <tctune/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* "19.1.7": of LLVM, which makes the code. */
TCTUNE_API const char *tctune_llvm_version(void);

/* What tctune_machine tells of. */
typedef struct tctune_machine_options {
    size_t struct_size;
    const char *target; /* NULL: this machine */
    int threads;        /* 0: every core */
    int measure;        /* not 0: peaks and bandwidths too, in about a second; only of a target that runs here */
} tctune_machine_options;

/* What code for a target is made for: CPU, features, cores, caches; and, measured, what this machine can do. options may be
 * NULL. */
TCTUNE_API tctune_status tctune_machine(const tctune_machine_options *options, char **json, char *error, size_t error_size);

/* What tctune_doctor looks at. */
typedef struct tctune_doctor_options {
    size_t struct_size;
    int threads; /* that kernels will have; 0: every core */
    int quick;   /* not 0: only what files and the process tell; else it measures for about four seconds */
} tctune_doctor_options;

/* What of this machine hurts measurements, and what to do about it: a list of findings. Nothing is changed. A child process is
 * forked, which tries the sandbox of workers. options may be NULL. */
TCTUNE_API tctune_status tctune_doctor(const tctune_doctor_options *options, char **json, char *error, size_t error_size);

#ifdef __cplusplus
}
#endif

#endif
