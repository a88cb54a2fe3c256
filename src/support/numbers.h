/* Numbers in texts. A program that uses the library may have set a locale whose decimal point is a comma (setlocale). libc then
 * writes "0,5" and reads "0.5" as 0. These functions write and read as in the locale of C, whatever the program has set. */
#ifndef TC_SUPPORT_NUMBERS_H
#define TC_SUPPORT_NUMBERS_H

#include <stdarg.h>
#include <stddef.h>

#define TC_FORMAT(f, a) __attribute__((format(printf, f, a)))

/* strtod and strtof. end: NULL is fine. */
double tc_strtod(const char *text, char **end);
float tc_strtof(const char *text, char **end);
/* snprintf and vsnprintf: for each text that may have a floating-point number in it. */
int tc_snprintf(char *out, size_t cap, const char *fmt, ...) TC_FORMAT(3, 4);
int tc_vsnprintf(char *out, size_t cap, const char *fmt, va_list ap) TC_FORMAT(3, 0);

#endif
