/* Inputs of the target `row`: changes of columns, one behind the other. A change has a byte each for column, row, kind and length,
 * and then its bytes. Any bytes are a list of changes. */
#ifndef TC_TESTS_FUZZ_ROWS_H
#define TC_TESTS_FUZZ_ROWS_H

#include <stddef.h>

#include "measure/records/database.h"
#include "support/strbuf.h"

typedef struct fuzz_column {
    const char *table, *name;
} fuzz_column;
extern const fuzz_column fuzz_columns[];
extern const int fuzz_ncolumns;

typedef enum fuzz_row_kind {
    FUZZ_ROW_NULL,
    FUZZ_ROW_INTEGER, /* of eight bytes */
    FUZZ_ROW_REAL,    /* the same */
    FUZZ_ROW_TEXT,
    FUZZ_ROW_BLOB,
    FUZZ_ROW_ADD,    /* another row that has only this column */
    FUZZ_ROW_DELETE, /* the row goes */
    FUZZ_ROW_NKINDS
} fuzz_row_kind;

typedef struct fuzz_row_change {
    int column, row;
    fuzz_row_kind kind;
    const char *bytes;
    size_t n;
} fuzz_row_change;

/* The change that the bytes begin with; how many bytes it has, 0: there is none. */
size_t fuzz_row_change_read(const char *data, size_t size, fuzz_row_change *c);
void fuzz_row_change_write(const fuzz_row_change *c, tc_strbuf *out);

/* What the target `database` has too (read_records.c). Asks of a database what commands ask. */
void fuzz_query_database(tc_meas_db *db, tc_arena *a);
/* Merges all that a file has into an empty database. What was taken is a record that lines can say as well. Returns how many records
 * the merge met, -1 where it was refused. */
int64_t fuzz_merge_database(const char *path, tc_arena *a);

#endif
