/* Quantities as people read them. */
#ifndef TC_SUPPORT_UNITS_H
#define TC_SUPPORT_UNITS_H

/* "12.3 us", "1.23 ms", "4.56 s", "-" when not finite. All return buf. */
char *tc_text_time(char buf[24], double seconds);
char *tc_text_duration(char buf[24], double seconds); /* "1:02:03", "4:05" */
char *tc_text_bytes(char buf[24], double n);          /* "12.3 MiB" */

#endif
