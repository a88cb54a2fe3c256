/* Runs a command on a terminal of COLUMNS and ROWS, and checks what `tctune tune` draws there: every line has fewer characters
 * than there are columns, and a drawing fewer lines than there are rows. With "to COLUMNS ROWS" the window is resized once
 * something is drawn. Standard output is the last drawing. */
#include <pty.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SPACE = 1 << 22, DRAWINGS_BEFORE = 2, NO_TERMINAL = 77 /* exit status */ };
static char text[SPACE];
static const char back[] = "\033[J"; /* ends a drawing */

/* Characters, not bytes, of a line without what erases its end and without what sets colours ("ESC [ ... m"). */
static int width(const char *line, size_t n) {
    int w = 0;
    for (size_t i = 0; i < n; i++)
        if (line[i] == '\033')
            while (i < n && line[i] != 'm')
                i++;
        else
            w += ((unsigned char)line[i] & 0xC0) != 0x80;
    return w;
}

/* Of the lines of one drawing: the widest, and how many. */
static void extent(const char *from, const char *to, int *columns, int *rows) {
    *columns = *rows = 0;
    for (const char *end; (end = strstr(from, "\033[K")) && end < to; from = end + 3) {
        const char *begin = end;
        while (begin > from && begin[-1] != '\r')
            begin--;
        int w = width(begin, (size_t)(end - begin));
        *columns = w > *columns ? w : *columns;
        ++*rows;
    }
}

static int count_drawings(void) {
    int n = 0;
    for (const char *p = text; (p = strstr(p, back)); p++)
        n++;
    return n;
}

/* Whether every drawing fits, after those that were made before the window had its last size (any number where it was resized). */
static int check(struct winsize size, bool resized) {
    int n = 0, fitting = 0;
    const char *from = text, *last = text, *last_end = text;
    for (const char *to; (to = strstr(from, back)); from = to + 3, n++) {
        int columns, rows;
        extent(from, to, &columns, &rows);
        bool fits = rows > 0 && columns < size.ws_col && rows < size.ws_row;
        if (!fits && (fitting || !resized))
            return fprintf(stderr, "drawing %d has %d lines of at most %d characters in a window of %d x %d\n", n, rows, columns,
                           size.ws_col, size.ws_row),
                   1;
        fitting += fits;
        last = from;
        last_end = to;
    }
    fwrite(last, 1, (size_t)(last_end - last), stdout);
    return fitting ? 0 : (fprintf(stderr, "none of %d drawings fits\n", n), 1);
}

static struct winsize size_of(char **args) {
    return (struct winsize){.ws_col = (unsigned short)atoi(args[0]), .ws_row = (unsigned short)atoi(args[1])};
}

int main(int argc, char **argv) {
    if (argc < 4)
        return fprintf(stderr, "usage: screen COLUMNS ROWS [to COLUMNS ROWS] COMMAND...\n"), 2;
    struct winsize size = size_of(argv + 1);
    bool resize = strcmp(argv[3], "to") == 0 && argc > 6;
    char **command = argv + (resize ? 6 : 3);
    int tty, status;
    size_t n = 0;
    pid_t pid = forkpty(&tty, NULL, NULL, &size);
    if (pid < 0)
        return perror("no pseudo-terminal"), NO_TERMINAL;
    if (pid == 0) {
        if (!freopen("/dev/null", "w", stdout))
            _exit(126);
        setenv("TERM", "xterm", 1);
        execvp(command[0], command);
        _exit(127);
    }
    bool resized = false;
    for (ssize_t got; n < SPACE - 1 && (got = read(tty, text + n, SPACE - 1 - n)) > 0;) {
        n += (size_t)got;
        if (resize && !resized && count_drawings() >= DRAWINGS_BEFORE) {
            size = size_of(argv + 4);
            ioctl(tty, TIOCSWINSZ, &size);
            resized = true;
        }
    }
    waitpid(pid, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return fprintf(stderr, "the command failed: %s\n", text), 1;
    return check(size, resized);
}
