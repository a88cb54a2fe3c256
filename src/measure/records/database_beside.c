/* Files beside a database. SQLite takes FILE-journal for the remains of an unfinished change: it writes them back into the
 * file, and then deletes whatever file the journal's end names (its "super-journal"). FILE-wal and FILE-shm are read and
 * written. Whoever sends a database can send these files too.
 *
 * Our databases keep a log (FILE-wal). They have a journal only while they are changed to that: when they are made, or after
 * others made them. A journal that is left then puts back at most one page, and changes no size. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "measure/records/database_int.h"

/* A journal begins with this, and ends with it where it names another file. */
static const unsigned char MAGIC[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
enum { HEADER = 28, LARGEST = 65536 /* page, and sector */, AROUND = 8 /* bytes around a page in it */ };

static int64_t number_at(const unsigned char *p) {
    return (int64_t)p[0] << 24 | p[1] << 16 | p[2] << 8 | p[3];
}

/* Whether it puts back no more than ours does; `head`: its header, bytes: of the database. */
static bool is_small(const unsigned char *head, int64_t size, int64_t bytes) {
    int64_t pages = number_at(head + 16), sector = number_at(head + 20), page = number_at(head + 24);
    bool fits = sector <= LARGEST && page <= LARGEST && size <= sector + page + AROUND;
    return fits && (pages * page == bytes || (pages == 0 && bytes <= page));
}

/* One that does not begin, as that of a change that is only beginning, or was finished, SQLite does not act on. */
static bool is_harmless(int fd, int64_t size, int64_t bytes) {
    unsigned char head[HEADER] = {0}, end[sizeof MAGIC] = {0};
    ssize_t got = pread(fd, head, sizeof head, 0);
    if (got <= 0 || head[0] == 0)
        return got >= 0;
    if (size >= (int64_t)sizeof end && pread(fd, end, sizeof end, size - (int64_t)sizeof end) != sizeof end)
        return false;
    if (size > (int64_t)sizeof end && !memcmp(end, MAGIC, sizeof end))
        return false;
    return got < HEADER || memcmp(head, MAGIC, sizeof MAGIC) != 0 || is_small(head, size, bytes);
}

static tc_status check_journal(const tc_meas_db *db, const char *name, tc_error *err) {
    struct stat st, file = {0};
    int fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return TC_OK;
    bool harmless = fd >= 0 && fstat(fd, &st) == 0 &&
                    (stat(sqlite3_db_filename(db->sql, "main"), &file) == 0 || errno == ENOENT) &&
                    is_harmless(fd, st.st_size, file.st_size);
    if (fd >= 0)
        close(fd);
    if (harmless)
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: has a journal beside it (%s) that is not tctune's. SQLite would change the database from this journal, "
                   "and might delete other files. Remove the journal if it came with the database, or if you do not know it. If "
                   "another program was interrupted here while it changed the database, let that program finish",
                   db->path, name);
}

static tc_status check_kind(const tc_meas_db *db, const char *name, tc_error *err) {
    struct stat st;
    if (lstat(name, &st) != 0 || S_ISREG(st.st_mode))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT, "%s: %s beside it is not a file. Remove it, or give another database with --db", db->path,
                   name);
}

/* Names are those that SQLite uses: beside what a link leads to. */
tc_status tc_meas_db_check_beside(tc_meas_db *db, tc_error *err) {
    const char *file = sqlite3_db_filename(db->sql, "main");
    if (!file || !*file) /* in memory */
        return TC_OK;
    tc_strbuf shm = {0};
    tc_sb_printf(&shm, "%s-shm", file);
    tc_status s = check_kind(db, sqlite3_filename_wal(file), err);
    if (s == TC_OK)
        s = check_kind(db, tc_sb_str(&shm), err);
    if (s == TC_OK)
        s = check_kind(db, sqlite3_filename_journal(file), err);
    if (s == TC_OK)
        s = check_journal(db, sqlite3_filename_journal(file), err);
    tc_strbuf_free(&shm);
    return s;
}
