/* What tuning shows while it runs, on stderr: a table that redraws itself on a terminal, else a line per round. */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/print.h"
#include "support/log.h"

static const double redraw_seconds = 0.1;
enum { BAR = 24, NARROW = 96 /* columns: in fewer, a line has only what matters most */ };

struct tc_cli_progress {
    bool terminal;
    int round;
    int drawn;  /* lines on the screen that the next drawing replaces */
    int widest; /* of these, in characters */
    double drawn_at;
};

tc_cli_progress *tc_cli_progress_new(void) {
    tc_cli_progress *p = tc_xcalloc(1, sizeof *p);
    const char *term = getenv("TERM");
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    return p;
}

void tc_cli_progress_free(tc_cli_progress *p) {
    free(p);
}

/* Until the first limit is reached; NAN: not known yet. */
static double seconds_left(const tctune_report *r) {
    double trials = NAN, time = NAN;
    if (r->target_trials && r->measured > 0)
        trials = r->seconds / r->measured * (r->target_trials - r->trials);
    if (r->seconds_limit > 0)
        time = fmax(0, r->seconds_limit - r->seconds);
    return fmin(trials, time); /* of a NAN and a number, the number */
}

/* "12 of 64", or "12" without a limit. */
static void put_trials(tc_strbuf *b, const tctune_report *r) {
    tc_sb_printf(b, "%d", r->trials);
    if (r->target_trials)
        tc_sb_printf(b, " of %d", r->target_trials);
}

/* "24 trials (23 valid)  best 1.23 ms  456 GFLOP/s (97 % of peak)" */
static void put_task(tc_strbuf *b, const tctune_task_state *s) {
    char time[24];
    double rate = s->flops / s->best;
    tc_sb_printf(b, "%5d trials  %5d valid  best %8s", s->trials, s->valid, tc_text_time(time, s->best));
    if (isfinite(s->best))
        tc_sb_printf(b, "  %7.1f GFLOP/s", rate / 1e9);
    if (isfinite(s->best) && s->peak > 0)
        tc_sb_printf(b, "  %3.0f %% of peak", 100 * rate / s->peak);
    if (s->forms > 1 && *s->form)
        tc_sb_printf(b, "  %s", s->form);
    if (s->exhausted)
        tc_sb_add(b, "  (all tried)");
    else if (s->at_roof)
        tc_sb_add(b, "  (at its roof)");
    else if (s->settled)
        tc_sb_printf(b, "  (no gain in %d)", s->since_gain);
    else if (!s->valid && *s->failure)
        tc_sb_printf(b, "  %.60s", s->failure);
}

static void put_total(tc_strbuf *b, const tctune_report *r) {
    char time[24], left[24], spent[24];
    put_trials(b, r);
    tc_sb_printf(b, " trials  %.1f/s  latency %s  %s spent, %s left", r->seconds > 0 ? r->measured / r->seconds : 0,
                 tc_text_time(time, r->latency), tc_text_duration(spent, r->seconds), tc_text_duration(left, seconds_left(r)));
    if (!isnan(r->expected_gain) && r->latency > 0)
        tc_sb_printf(b, ", %.1f %% to gain in a minute", 100 * r->expected_gain / r->latency);
    if (!isnan(r->pairwise))
        tc_sb_printf(b, "  model %.2f", r->pairwise);
    if (!r->quiet)
        tc_sb_printf(b, "  (busy machine: x%.2f, spread %.0f %%)", r->slowdown, 100 * r->spread);
}

/* ---- lines ---- */

static tctune_task_state task_of(const tctune_event *e, int i) {
    tctune_task_state t = {.struct_size = sizeof t, .best = INFINITY, .name = "", .form = "", .failure = ""};
    tctune_status s = tctune_session_task(e->session, i, &t, NULL, 0);
    (void)s; /* the report says how many there are */
    return t;
}

static void print_round(tc_cli_progress *p, const tctune_event *e) {
    tc_strbuf b = {0};
    const tctune_report *r = e->report;
    tctune_task_state s = task_of(e, e->task);
    tc_sb_printf(&b, "[%d", r->trials);
    if (r->target_trials)
        tc_sb_printf(&b, "/%d", r->target_trials);
    tc_sb_printf(&b, "] round %d  %s  ", ++p->round, s.name);
    put_task(&b, &s);
    tc_sb_add(&b, "  | ");
    put_total(&b, r);
    fprintf(stderr, "%s\n", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

/* ---- a terminal ---- */

typedef struct window {
    int columns, rows;
} window;

/* As it is now: it may change between two drawings. */
static window window_now(void) {
    struct winsize size = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col && size.ws_row;
    return known ? (window){size.ws_col, size.ws_row} : (window){80, 24};
}

/* One line, cut to fewer characters than the window has columns: a line that wraps would spoil the count of lines to go back. A name may
 * have characters of several bytes, which are not cut apart, or such that move the cursor, which are not let through. */
static void draw_line(tc_cli_progress *p, tc_strbuf *screen, const char *text, int columns) {
    int width = 0;
    tc_sb_addc(screen, '\r');
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool begins = (*c & 0xC0) != 0x80;
        if (begins && width + 1 >= columns)
            break;
        width += begins;
        tc_sb_addc(screen, *c < ' ' || *c == 0x7F ? '?' : (char)*c);
    }
    tc_sb_add(screen, "\033[K\n");
    p->drawn++;
    p->widest = TC_MAX(p->widest, width);
}

static void draw_bar(tc_strbuf *b, const tctune_report *r, int length) {
    double trials = r->target_trials ? (double)r->trials / r->target_trials : 0,
           time = r->seconds_limit > 0 ? r->seconds / r->seconds_limit : 0;
    int full = (int)(length * fmin(1, fmax(trials, time)));
    tc_sb_addc(b, '[');
    for (int i = 0; i < length; i++)
        tc_sb_addc(b, i < full ? '#' : '.');
    tc_sb_add(b, "]  ");
}

/* Where not everything has room: "1.23 ms   97 %  12 trials", what matters most first. */
static void put_task_shortly(tc_strbuf *b, const tctune_task_state *s) {
    char time[24];
    tc_sb_printf(b, "%8s ", tc_text_time(time, s->best));
    if (isfinite(s->best) && s->peak > 0)
        tc_sb_printf(b, "%3.0f %%  ", 100 * s->flops / s->best / s->peak);
    tc_sb_printf(b, "%d trials", s->trials);
}

static void put_total_shortly(tc_strbuf *b, const tctune_report *r) {
    char time[24], left[24];
    tc_sb_printf(b, "%s  ", tc_text_time(time, r->latency));
    put_trials(b, r);
    tc_sb_printf(b, " trials  %s left", tc_text_duration(left, seconds_left(r)));
}

static void draw_task(tc_cli_progress *p, tc_strbuf *screen, const tctune_task_state *t, bool current, int columns) {
    tc_strbuf line = {0};
    char mark = current ? '>' : ' ';
    if (columns < NARROW) {
        int name = TC_MAX(4, columns / 3);
        tc_sb_printf(&line, "%c %-*.*s ", mark, name, name, t->name);
        put_task_shortly(&line, t);
    } else {
        tc_sb_printf(&line, "%c %-28.28s x%-3g", mark, t->name, t->weight);
        put_task(&line, t);
    }
    draw_line(p, screen, tc_sb_str(&line), columns);
    tc_strbuf_free(&line);
}

static void draw_total(tc_cli_progress *p, tc_strbuf *screen, const tctune_report *r, int columns) {
    tc_strbuf line = {0};
    draw_bar(&line, r, TC_MIN(BAR, columns / 5));
    if (columns < NARROW)
        put_total_shortly(&line, r);
    else
        put_total(&line, r);
    draw_line(p, screen, tc_sb_str(&line), columns);
    tc_strbuf_free(&line);
}

/* Back to the first line of the last drawing. Where the window has become narrower than that, its lines may be wrapped or not, as the terminal
 * does it: how many they are now is not known, and the next drawing stands below. */
static void go_back(tc_cli_progress *p, tc_strbuf *screen, int columns) {
    if (p->drawn && p->widest < columns)
        tc_sb_printf(screen, "\033[%dA", p->drawn);
    p->drawn = p->widest = 0;
}

static void draw(tc_cli_progress *p, const tctune_event *e) {
    const tctune_report *r = e->report;
    window w = window_now();
    tc_strbuf screen = {0};
    /* Below the tasks are the total and the line of the cursor. */
    int shown = TC_MAX(0, TC_MIN(w.rows - 2, r->tasks)), first = TC_MAX(0, TC_MIN(e->task - shown / 2, r->tasks - shown));
    go_back(p, &screen, w.columns);
    for (int i = first; i < first + shown; i++) {
        tctune_task_state t = task_of(e, i);
        draw_task(p, &screen, &t, i == e->task, w.columns);
    }
    draw_total(p, &screen, r, w.columns);
    tc_sb_add(&screen, "\033[J"); /* what a taller drawing has left */
    fputs(tc_sb_str(&screen), stderr);
    fflush(stderr);
    p->drawn_at = tc_now();
    tc_strbuf_free(&screen);
}

void tc_cli_show_progress(tc_cli_progress *p, const tctune_event *e) {
    if (e->kind == TCTUNE_CONTEST || e->kind == TCTUNE_COMPARED)
        return;
    if (p->terminal) {
        if (e->kind != TCTUNE_MEASURED || tc_now() - p->drawn_at >= redraw_seconds)
            draw(p, e);
    } else if (e->kind == TCTUNE_ROUND_DONE) {
        print_round(p, e);
    }
}
