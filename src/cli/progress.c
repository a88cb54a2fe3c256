/* Shows the progress of tuning on stderr. A terminal shows the tasks, the course of the sum and the current work of the search,
 * redrawn in place. Any other output gets a line per round. */
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/face/course.h"
#include "cli/print.h"
#include "support/log.h"

static const double redraw_seconds = 0.1;
enum {
    BAR = 24,
    NARROW = 96, /* columns: in fewer, a line has only what matters most */
    TALL = 8,    /* rows: a smaller window has no room for the course and the search's current work */
    COURSE = 60  /* characters of the course at most */
};

struct tc_cli_progress {
    bool terminal, colours, utf8;
    int round;
    tc_cli_course *course;
    char doing[160], phases[160]; /* what the search does, and where candidates came from */
    int drawn;                    /* lines on the screen that the next drawing replaces */
    int widest;                   /* of these, in characters */
    double drawn_at;
};

bool tc_cli_speaks_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < TC_LEN(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return false;
}

tc_cli_progress *tc_cli_progress_new(void) {
    tc_cli_progress *p = tc_xcalloc(1, sizeof *p);
    const char *term = getenv("TERM");
    p->terminal = isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
    const char *none = getenv("NO_COLOR"); /* no-color.org: set, and not empty */
    p->colours = !none || !*none;
    p->utf8 = tc_cli_speaks_utf8();
    p->course = tc_cli_course_new();
    return p;
}

void tc_cli_progress_free(tc_cli_progress *p) {
    tc_cli_course_free(p->course);
    free(p);
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
        tc_sb_say(b, "  %s", s->form);
    if (s->exhausted)
        tc_sb_add(b, "  (all tried)");
    else if (s->at_roof)
        tc_sb_add(b, "  (at its roof)");
    else if (s->settled)
        tc_sb_printf(b, "  (no gain in %d)", s->since_gain);
    else if (!s->valid && *s->failure)
        tc_sb_say(b, "  %.60s", s->failure);
}

static void put_total(tc_strbuf *b, const tctune_report *r) {
    char time[24], left[24], spent[24];
    put_trials(b, r);
    tc_sb_printf(b, " trials  %.1f/s  latency %s  %s spent, %s left", r->seconds > 0 ? r->measured / r->seconds : 0,
                 tc_text_time(time, r->latency), tc_text_duration(spent, r->seconds), tc_text_duration(left, r->seconds_left));
    if (!isnan(r->expected_gain) && r->latency > 0)
        tc_sb_printf(b, ", %.1f %% gain expected in a minute", 100 * r->expected_gain / r->latency);
    if (!isnan(r->pairwise))
        tc_sb_printf(b, "  model %.2f", r->pairwise);
    if (!r->quiet)
        tc_sb_printf(b, "  (busy machine: x%.2f, spread %.0f %%)", r->slowdown, 100 * r->spread);
}

/* ---- lines ---- */

void tc_cli_tell_closing(const tctune_event *e, const char *what) {
    char left[24];
    bool ends = isfinite(e->report->seconds_left);
    tc_say(stderr, "%s%s%s\n", what, ends ? ": at most " : "", ends ? tc_text_duration(left, e->report->seconds_left) : "");
}

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
    tc_sb_say(&b, "] round %d  %s  ", ++p->round, s.name);
    put_task(&b, &s);
    tc_sb_add(&b, "  | ");
    put_total(&b, r);
    tc_say(stderr, "%s\n", tc_sb_str(&b));
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

static const char plain[] = "\033[0m", bold[] = "\033[1m", green[] = "\033[32m", faint[] = "\033[2m";

/* One line, cut to fewer characters than the window has columns: a wrapped line would spoil the count of lines to go back. A name
 * may have characters of several bytes, which are not cut apart. Characters that move the cursor are escaped already. */
static void draw_line(tc_cli_progress *p, tc_strbuf *screen, const char *text, const char *colour, int columns) {
    int width = 0;
    bool coloured = p->colours && *colour;
    tc_sb_addc(screen, '\r');
    if (coloured)
        tc_sb_add(screen, colour);
    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        bool begins = (*c & 0xC0) != 0x80;
        if (begins && width + 1 >= columns)
            break;
        width += begins;
        tc_sb_addc(screen, (char)*c);
    }
    if (coloured)
        tc_sb_add(screen, plain);
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

/* A shorter form for narrow windows: "1.23 ms   97 %  12 trials", the most important facts first. */
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
    tc_sb_printf(b, " trials  %s left", tc_text_duration(left, r->seconds_left));
}

static void draw_task(tc_cli_progress *p, tc_strbuf *screen, const tctune_task_state *t, bool current, int columns) {
    tc_strbuf line = {0};
    char mark = current ? '>' : ' ';
    if (columns < NARROW) {
        int name = TC_MAX(4, columns / 3);
        tc_sb_say(&line, "%c %-*.*s ", mark, name, name, t->name);
        put_task_shortly(&line, t);
    } else {
        tc_sb_say(&line, "%c %-28.28s x%-3g", mark, t->name, t->weight);
        put_task(&line, t);
    }
    draw_line(p, screen, tc_sb_str(&line),
              current                      ? bold
              : t->at_roof                 ? green
              : t->exhausted || t->settled ? faint
                                           : "",
              columns);
    tc_strbuf_free(&line);
}

static void draw_total(tc_cli_progress *p, tc_strbuf *screen, const tctune_report *r, int columns) {
    tc_strbuf line = {0};
    draw_bar(&line, r, TC_MIN(BAR, columns / 5));
    if (columns < NARROW)
        put_total_shortly(&line, r);
    else
        put_total(&line, r);
    draw_line(p, screen, tc_sb_str(&line), "", columns);
    tc_strbuf_free(&line);
}

/* ---- the course ---- */

/* The sum at a time: what held last. */
static double sum_at(const tc_cli_moment *m, int n, double seconds) {
    double latency = m[0].latency;
    for (int i = 1; i < n && m[i].seconds <= seconds; i++)
        latency = m[i].latency;
    return latency;
}

static const char *level(const tc_cli_progress *p, double share) {
    static const char *const blocks[] = {"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"},
                             *const letters[] = {"_", ".", "-", "=", "+", "*", "%", "#"};
    int i = (int)fmin(TC_LEN(blocks) - 1, floor(share * TC_LEN(blocks)));
    return p->utf8 ? blocks[i] : letters[i];
}

/* "1.93 ms [##++=-..__] 1.23 ms": the sum over this run's time so far, by the logarithm from its least to its most. */
static void draw_course(tc_cli_progress *p, tc_strbuf *screen, const tctune_report *r, int columns) {
    char first[24], now[24];
    double least = INFINITY, most = 0;
    tc_arena *a = tc_arena_new();
    tc_cli_moment *m;
    int n = tc_cli_course_moments(p->course, a, &m), length = TC_MIN(COURSE, columns - 2 * 12);
    for (int i = 0; i < n; i++) {
        least = fmin(least, m[i].latency);
        most = fmax(most, m[i].latency);
    }
    if (n && length >= 4) {
        tc_strbuf line = {0};
        tc_sb_printf(&line, "%9s [", tc_text_time(first, m[0].latency));
        for (int i = 0; i < length; i++) {
            double v = sum_at(m, n, r->seconds * (i + 1) / length);
            tc_sb_add(&line, level(p, most > least ? log(v / least) / log(most / least) : 0));
        }
        tc_sb_printf(&line, "] %s", tc_text_time(now, m[n - 1].latency));
        draw_line(p, screen, tc_sb_str(&line), "", columns);
        tc_strbuf_free(&line);
    }
    tc_arena_free(a);
}

/* ---- what the search does ---- */

/* "construct 8 (2), descent 24 (1)": candidates by where they came from, and how many became the best. */
static void note_phases(tc_cli_progress *p, const tctune_session *session) {
    char *text;
    tc_error err;
    if (tctune_session_describe(session, &text, TC_CLI_SAY(&err)) != TCTUNE_OK)
        return; /* it was said before */
    json_t *j = tc_cli_document(text), *phase;
    const char *name;
    tc_strbuf b = {0};
    json_object_foreach(json_object_get(j, "phases"), name, phase) {
        if (tc_cli_number(phase, "tried"))
            tc_sb_printf(&b, "%s%s %lld (%lld)", b.len ? ", " : "", name, tc_cli_number(phase, "tried"),
                         tc_cli_number(phase, "improved"));
    }
    tc_say_to(p->phases, sizeof p->phases, "%s", tc_sb_str(&b));
    tc_strbuf_free(&b);
    json_decref(j);
}

/* Comparisons over sizes are no part of what is drawn. */
static void note_doing(tc_cli_progress *p, const tctune_event *e) {
    static const char *const doing[] = {[TCTUNE_EVENT_STARTED] = "looking up earlier records",
                                        [TCTUNE_EVENT_ROUND_STARTED] = "proposing candidates of",
                                        [TCTUNE_EVENT_MEASURED] = "building and running candidates of",
                                        [TCTUNE_EVENT_ROUND_DONE] = "learning from",
                                        [TCTUNE_EVENT_SEARCHED] = "the search is over",
                                        [TCTUNE_EVENT_CLOSING] = "the search is over: the best and its rivals in turns"};
    tc_say_to(p->doing, sizeof p->doing, "%s %s", doing[e->kind], e->task >= 0 ? task_of(e, e->task).name : "");
    if (e->kind == TCTUNE_EVENT_ROUND_DONE)
        note_phases(p, e->session);
}

static void draw_doing(tc_cli_progress *p, tc_strbuf *screen, int columns) {
    tc_strbuf line = {0};
    tc_sb_printf(&line, "%s%s%s", p->doing, *p->phases ? "; candidates tried (that became the best): " : "", p->phases);
    draw_line(p, screen, tc_sb_str(&line), faint, columns);
    tc_strbuf_free(&line);
}

/* Goes back to the first line of the last drawing. If the window has become narrower than that drawing, some terminals wrap its
 * lines. The number of its lines is then unknown, so the next drawing stands below it. */
static void go_back(tc_cli_progress *p, tc_strbuf *screen, int columns) {
    if (p->drawn && p->widest < columns)
        tc_sb_printf(screen, "\033[%dA", p->drawn);
    p->drawn = p->widest = 0;
}

static void draw(tc_cli_progress *p, const tctune_event *e) {
    const tctune_report *r = e->report;
    window w = window_now();
    tc_strbuf screen = {0};
    bool tall = w.rows >= TALL;
    /* Below the tasks are the total and the line of the cursor. If there is room, the course and the search's current work
     * follow. */
    int shown = TC_MAX(0, TC_MIN(w.rows - (tall ? 4 : 2), r->tasks)),
        first = TC_MAX(0, TC_MIN(e->task - shown / 2, r->tasks - shown));
    go_back(p, &screen, w.columns);
    for (int i = first; i < first + shown; i++) {
        tctune_task_state t = task_of(e, i);
        draw_task(p, &screen, &t, i == e->task, w.columns);
    }
    if (tall) {
        draw_course(p, &screen, r, w.columns);
        draw_doing(p, &screen, w.columns);
    }
    draw_total(p, &screen, r, w.columns);
    tc_sb_add(&screen, "\033[J"); /* what a taller drawing has left */
    fputs(tc_sb_str(&screen), stderr);
    fflush(stderr);
    p->drawn_at = tc_now();
    tc_strbuf_free(&screen);
}

void tc_cli_show_progress(tc_cli_progress *p, const tctune_event *e) {
    if (e->kind == TCTUNE_EVENT_CONTEST || e->kind == TCTUNE_EVENT_COMPARED || e->kind == TCTUNE_EVENT_GAINED)
        return;
    if (p->terminal) {
        tc_cli_course_add(p->course, e);
        note_doing(p, e);
        if (e->kind != TCTUNE_EVENT_MEASURED || tc_now() - p->drawn_at >= redraw_seconds)
            draw(p, e);
    } else if (e->kind == TCTUNE_EVENT_ROUND_DONE) {
        print_round(p, e);
    } else if (e->kind == TCTUNE_EVENT_CLOSING && e->task < 0) {
        tc_cli_tell_closing(e, "the best candidates and their rivals run in turns");
    }
}
