/* A library that `tctune build` made, opened by its file: whatever its functions' names begin with. */
#ifndef BENCHMARKS_BUSY_LIBRARY_H
#define BENCHMARKS_BUSY_LIBRARY_H

/* An open library. Symbols are looked up by how their names end: "_context_run". Local ones are found as long as the file was not
 * stripped. On an error, each function says what is wrong on standard error and ends the process. */
typedef struct library {
    const char *path;
    unsigned char *file; /* its bytes */
    char *base;          /* where address 0 of the file lies in memory */
} library;

/* Opens a library, which stays open. */
library library_open(const char *path);

/* The address of the only exported symbol whose name ends so; where none does, of the only local one. */
void *library_symbol(const library *l, const char *ending);

/* Ends the process with a message of the form "PROGRAM: ...". */
_Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
