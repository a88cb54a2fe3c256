/* Prints the best records of a database: query DATABASE */
#include <stdio.h>
#include <tctune/tctune.h>

int main(int argc, char **argv) {
    char error[1024];
    tctune_database *db;
    tctune_records *list = NULL;
    tctune_query q = {.struct_size = sizeof q, .verified = 1, .order = TCTUNE_ORDER_BY_MEDIAN, .limit = 20};
    if (argc < 2)
        return fprintf(stderr, "usage: query DATABASE\n"), 2;
    tctune_status s = tctune_database_open(argv[1], TCTUNE_ACCESS_READ, &db, error, sizeof error);
    if (s == TCTUNE_OK)
        s = tctune_database_records(db, &q, &list, error, sizeof error);
    tctune_database_close(db);
    if (s != TCTUNE_OK)
        return fprintf(stderr, "%s\n", error), 1;
    for (size_t i = 0; i < tctune_records_count(list); i++) {
        tctune_record r = {.struct_size = sizeof r};
        tctune_records_get(list, i, &r, NULL, 0);
        printf("%6lld  %.8s  %9.2f us  %d threads, %s, on %s\n", (long long)r.id, r.workload_hash, r.median * 1e6, r.threads,
               r.mode, r.host);
    }
    tctune_records_free(list);
    return 0;
}
