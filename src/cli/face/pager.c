/* Sends long texts through the user's pager when the output is a terminal. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/face/face.h"

static bool is_command(const char *name) {
    tc_strbuf path = {0};
    bool found = false;
    for (const char *p = getenv("PATH"); p && *p && !found;) {
        size_t n = strcspn(p, ":");
        path.len = 0;
        tc_sb_printf(&path, "%.*s/%s", (int)n, p, name);
        found = access(tc_sb_str(&path), X_OK) == 0;
        p += n + (p[n] == ':');
    }
    tc_strbuf_free(&path);
    return found;
}

/* $PAGER if it is set; "" and "cat" mean no pager. Else less, if it is installed. NULL: no pager. */
static const char *command(void) {
    const char *own = getenv("PAGER");
    if (own)
        return *own && strcmp(own, "cat") != 0 ? own : NULL;
    return is_command("less") ? "less" : NULL;
}

/* The value of $LESS if it is not set. F: less ends by itself if the text fits the screen. R: less passes colours. X: less leaves
 * the text there. If the pager cannot be started, the text must still be printed. */
static FILE *start(const char *pager) {
    tc_strbuf line = {0};
    tc_sb_printf(&line, "export LESS=\"${LESS-FRX}\"; %s; [ $? -lt 126 ] || cat", pager);
    FILE *f = popen(tc_sb_str(&line), "we");
    tc_strbuf_free(&line);
    return f;
}

tc_cli_pager tc_cli_pager_begin(void) {
    tc_cli_pager p = {.screen = -1};
    const char *pager = isatty(STDOUT_FILENO) ? command() : NULL;
    if (!pager)
        return p;
    fflush(stdout);
    p.to = start(pager);
    p.screen = p.to ? dup(STDOUT_FILENO) : -1;
    if (p.screen >= 0) {
        dup2(fileno(p.to), STDOUT_FILENO);
        p.interrupt = signal(SIGINT, SIG_IGN); /* it is the pager's */
    } else if (p.to) {
        pclose(p.to);
        p.to = NULL;
    }
    return p;
}

void tc_cli_pager_end(tc_cli_pager *p) {
    if (!p->to)
        return;
    fflush(stdout);
    clearerr(stdout); /* a reader who ends the pager has seen enough */
    dup2(p->screen, STDOUT_FILENO);
    close(p->screen);
    pclose(p->to);
    signal(SIGINT, p->interrupt);
    *p = (tc_cli_pager){.screen = -1};
}
