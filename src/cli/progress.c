/* What tuning shows while it runs, on stderr: a table that redraws itself on a terminal, else a line per round. */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "support/log.h"

static const double redraw_seconds = 0.1;
enum { BAR = 24, LEAST_ROWS = 6 };

struct tc_cli_progress {
    bool terminal;
    const tc_meas_peak *peak; /* NULL: not known yet */
    int round;
    int drawn; /* lines on the screen that the next drawing replaces */
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
static double seconds_left(const tc_tune_report *r) {
    double trials = NAN, time = NAN;
    if (r->target_trials && r->measured > 0)
        trials = r->seconds / r->measured * (r->target_trials - r->trials);
    if (r->seconds_limit > 0)
        time = fmax(0, r->seconds_limit - r->seconds);
    return fmin(trials, time); /* of a NAN and a number, the number */
}

/* "12 of 64", or "12" without a limit. */
static void put_trials(tc_strbuf *b, const tc_tune_report *r) {
    tc_sb_printf(b, "%d", r->trials);
    if (r->target_trials)
        tc_sb_printf(b, " of %d", r->target_trials);
}

/* "24 trials (23 valid)  best 1.23 ms  456 GFLOP/s (97 % of peak)" */
static void put_task(tc_strbuf *b, const tc_cli_progress *p, const tc_tune_state *s) {
    char time[24];
    double rate = s->flops / s->best / 1e9;
    tc_sb_printf(b, "%5d trials  %5d valid  best %8s", s->trials, s->valid, tc_cli_time(time, s->best));
    if (isfinite(s->best))
        tc_sb_printf(b, "  %7.1f GFLOP/s", rate);
    double peak = p->peak ? tc_meas_peak_of(p->peak, tc_tune_unit(s)) : 0;
    if (isfinite(s->best) && peak > 0)
        tc_sb_printf(b, "  %3.0f %% of peak", 100 * rate / peak);
    if (s->nform > 1 && s->winner >= 0)
        tc_sb_printf(b, "  %s", s->form[s->winner].name);
    if (s->exhausted)
        tc_sb_add(b, "  (all tried)");
    else if (s->at_roof)
        tc_sb_add(b, "  (at its roof)");
    else if (s->settled)
        tc_sb_printf(b, "  (no gain in %d)", s->since_gain);
    else if (!s->valid && s->failure)
        tc_sb_printf(b, "  %.60s", s->failure);
}

static void put_total(tc_strbuf *b, const tc_tune_report *r) {
    char time[24], left[24], spent[24];
    put_trials(b, r);
    tc_sb_printf(b, " trials  %.1f/s  latency %s  %s spent, %s left", r->seconds > 0 ? r->measured / r->seconds : 0,
                 tc_cli_time(time, r->latency), tc_cli_duration(spent, r->seconds), tc_cli_duration(left, seconds_left(r)));
    if (!isnan(r->expected_gain) && r->latency > 0)
        tc_sb_printf(b, ", %.1f %% to gain in a minute", 100 * r->expected_gain / r->latency);
    if (!isnan(r->pairwise))
        tc_sb_printf(b, "  model %.2f", r->pairwise);
    if (r->calm.disturbed)
        tc_sb_printf(b, "  (busy machine: x%.2f, spread %.0f %%)", r->calm.slowdown, 100 * r->calm.spread);
}

/* ---- lines ---- */

static void print_round(tc_cli_progress *p, int task, const tc_tune_report *r) {
    tc_strbuf b = {0};
    const tc_tune_state *s = &r->task[task];
    tc_sb_printf(&b, "[%d", r->trials);
    if (r->target_trials)
        tc_sb_printf(&b, "/%d", r->target_trials);
    tc_sb_printf(&b, "] round %d  %s  ", ++p->round, s->name);
    put_task(&b, p, s);
    tc_sb_add(&b, "  | ");
    put_total(&b, r);
    fprintf(stderr, "%s\n", tc_sb_str(&b));
    tc_strbuf_free(&b);
}

/* ---- a terminal ---- */

/* One line, cut to the width of the screen: a line that wraps would spoil the count of lines to go back. */
static void draw_line(tc_cli_progress *p, tc_strbuf *screen, const char *text, int columns) {
    tc_sb_printf(screen, "\r%.*s\033[K\n", columns - 1, text);
    p->drawn++;
}

static void draw_bar(tc_strbuf *b, const tc_tune_report *r) {
    double trials = r->target_trials ? (double)r->trials / r->target_trials : 0,
           time = r->seconds_limit > 0 ? r->seconds / r->seconds_limit : 0;
    int full = (int)(BAR * fmin(1, fmax(trials, time)));
    tc_sb_addc(b, '[');
    for (int i = 0; i < BAR; i++)
        tc_sb_addc(b, i < full ? '#' : '.');
    tc_sb_add(b, "]  ");
}

static void draw(tc_cli_progress *p, int current, const tc_tune_report *r) {
    struct winsize size = {0};
    tc_strbuf screen = {0}, line = {0};
    bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 && size.ws_row > 2;
    int columns = known ? size.ws_col : 80, rows = TC_MAX((known ? size.ws_row : 24) - 3, LEAST_ROWS);
    int shown = TC_MIN(rows, r->ntask), first = TC_MAX(0, TC_MIN(current - shown / 2, r->ntask - shown));
    if (p->drawn)
        tc_sb_printf(&screen, "\033[%dA", p->drawn);
    p->drawn = 0;
    for (int i = first; i < first + shown; i++) {
        tc_sb_clear(&line);
        tc_sb_printf(&line, "%c %-28.28s x%-3g", i == current ? '>' : ' ', r->task[i].name, r->task[i].weight);
        put_task(&line, p, &r->task[i]);
        draw_line(p, &screen, tc_sb_str(&line), columns);
    }
    tc_sb_clear(&line);
    draw_bar(&line, r);
    put_total(&line, r);
    draw_line(p, &screen, tc_sb_str(&line), columns);
    fputs(tc_sb_str(&screen), stderr);
    fflush(stderr);
    p->drawn_at = tc_now();
    tc_strbuf_free(&screen);
    tc_strbuf_free(&line);
}

void tc_cli_on_progress(void *user, tc_tune_event event, int task, const tc_tune_report *r) {
    tc_cli_progress *p = user;
    p->peak = &r->peak;
    if (p->terminal) {
        if (event != TC_TUNE_MEASURED || tc_now() - p->drawn_at >= redraw_seconds)
            draw(p, task, r);
    } else if (event == TC_TUNE_ROUND_DONE) {
        print_round(p, task, r);
    }
}

void tc_cli_on_build(void *user, int done, int total, const char *kernel) {
    (void)user;
    if (!isatty(STDERR_FILENO))
        return;
    if (done < total)
        fprintf(stderr, "\rbuilding %d of %d: %.48s\033[K", done + 1, total, kernel);
    else
        fprintf(stderr, "\r\033[K");
    fflush(stderr);
}
