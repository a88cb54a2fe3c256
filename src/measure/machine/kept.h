/* What was measured of this machine, kept for later commands: one file of JSON in the user's folder for each kind and key. */
#ifndef TC_MEASURE_MACHINE_KEPT_H
#define TC_MEASURE_MACHINE_KEPT_H

#include "support/json/json.h"

/* FOLDER/KIND-HASH.json, the hash being that of the host's name, of the processor's, of `key`, and of whether the processor is
 * emulated. NULL: nothing is kept. malloc'ed. */
char *tc_meas_kept_path(const char *kind, const char *key);
/* NULL: there is none, or it was damaged. path NULL is fine. */
json_t *tc_meas_kept_load(const char *path);
/* Frees j. A failure is for the log only. path NULL is fine. */
void tc_meas_kept_store(const char *path, json_t *j);

#endif
