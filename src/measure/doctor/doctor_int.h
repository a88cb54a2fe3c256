/* Inside the doctor's room: small files beneath a root. */
#ifndef TC_MEASURE_DOCTOR_DOCTOR_INT_H
#define TC_MEASURE_DOCTOR_DOCTOR_INT_H

#include "measure/doctor/doctor.h"

/* The file's beginning, without blanks at its end, in the arena; NULL: there is none. */
const char *tc_doctor_file(tc_arena *a, const char *root, const char *fmt, ...) TC_PRINTF(3, 4);
/* The number that it begins with; -1: there is no file, or no number. */
double tc_doctor_number(tc_arena *a, const char *root, const char *path);
/* How many numbers a list such as "0-3,8" has; 0: it is none. */
int tc_doctor_count(const char *list);
void tc_doctor_judge_tiles(tc_doctor *d, const char *root, bool work); /* of the process: system.c knows the flags */
/* Behind `key` in a file of lines "key: value" or "key value": the rest of the line, in the arena; NULL. */
const char *tc_doctor_value(tc_arena *a, const char *text, const char *key);

#endif
