/* What say.h describes: a small printf whose texts are escaped. Numbers are left to snprintf. */
#include "support/say.h"

#include <assert.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "support/numbers.h"
#include "support/vec.h"

/* ---- characters ---- */

size_t tc_utf8_next(const char *s, size_t n, uint32_t *code) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)*s;
    size_t len = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF8 ? 4 : 0;
    *code = len == 1 ? first : first & (0x7Fu >> len);
    if (!len || len > n)
        return 0;
    for (size_t i = 1; i < len; i++) {
        if (((unsigned char)s[i] & 0xC0) != 0x80)
            return 0;
        *code = *code << 6 | ((unsigned char)s[i] & 0x3F);
    }
    bool is_surrogate = *code >= 0xD800 && *code < 0xE000;
    return *code < least[len] || *code > 0x10FFFF || is_surrogate ? 0 : len;
}

size_t tc_utf8_fault(const char *s, size_t n) {
    uint32_t code;
    size_t at = 0;
    for (size_t len; at < n; at += len) {
        len = (signed char)s[at] >= 0 ? 1 : tc_utf8_next(s + at, n - at, &code);
        if (!len)
            break;
    }
    return at;
}

/* Control characters, and those that a reader cannot see or that reorder what the reader sees: Unicode's Bidi_Control, zero-width
 * characters, separators of lines, and tags. */
static bool is_escaped(uint32_t code) {
    static const struct {
        uint32_t first, last;
    } ranges[] = {{0, 0x1F},        {0x7F, 0x9F},     {0xAD, 0xAD},     {0x61C, 0x61C},   {0x200B, 0x200F},  {0x2028, 0x202E},
                  {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xFFFE, 0xFFFF}, {0xE0000, 0xE007F}};
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && code >= ranges[i].first; i++)
        if (code <= ranges[i].last)
            return true;
    return false;
}

enum { ESCAPE = 16 }; /* bytes of an escape at most, its NUL counted */

static int escape(char out[ESCAPE], uint32_t code) {
    const char *letter = code && code < 0x80 ? strchr("\nn\tt\rr", (int)code) : NULL;
    if (letter)
        return snprintf(out, ESCAPE, "\\%c", letter[1]);
    return snprintf(out, ESCAPE, code < 0x80 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)code);
}

/* JSON has escapes of 16 bits alone. */
static int escape_json(char out[ESCAPE], uint32_t code) {
    if (code < 0x10000)
        return snprintf(out, ESCAPE, "\\u%04x", (unsigned)code);
    code -= 0x10000;
    return snprintf(out, ESCAPE, "\\u%04x\\u%04x", 0xD800 + (unsigned)(code >> 10), 0xDC00 + (unsigned)(code & 0x3FF));
}

/* ---- where the text goes ---- */

typedef struct sink {
    char *out;
    size_t cap, used; /* used < cap, unless cap is 0 */
    size_t wanted;    /* bytes of the whole text */
    size_t longest;   /* bytes of a text that something follows; 0: any number */
} sink;

/* All of these bytes, or none from here on. */
static void put(sink *k, const char *s, size_t n) {
    if (k->used == k->wanted && n < k->cap - k->used) {
        memcpy(k->out + k->used, s, n);
        k->used += n;
    }
    k->wanted += n;
}

/* Of a format, which may be cut between its characters. */
static void put_own(sink *k, const char *s, size_t n) {
    uint32_t code;
    for (size_t len; n && k->used == k->wanted && n >= k->cap - k->used; s += len, n -= len) {
        len = TC_MAX(tc_utf8_next(s, n, &code), 1);
        put(k, s, len);
    }
    put(k, s, n);
}

static void pad(sink *k, int n) {
    for (int i = 0; i < n; i++)
        put(k, " ", 1);
}

typedef enum form { ONE_LINE, LINES, JSON } form;

/* Puts at most `most` characters of s[0, n); returns how many. k NULL: counts alone. */
static int put_text(sink *k, const char *s, size_t n, int most, form as) {
    int written = 0;
    for (size_t at = 0; at < n && written < most;) {
        uint32_t code;
        char text[ESCAPE];
        size_t len = tc_utf8_next(s + at, n - at, &code);
        bool stays = len && (!is_escaped(code) || (as != ONE_LINE && (code == '\n' || code == '\t')));
        int escaped = stays        ? 0
                      : !len       ? snprintf(text, sizeof text, "\\x%02x", (unsigned)(unsigned char)s[at])
                      : as == JSON ? escape_json(text, code)
                                   : escape(text, code);
        if (written + TC_MAX(escaped, 1) > most)
            break;
        if (k)
            put(k, stays ? s + at : text, stays ? len : (size_t)escaped);
        written += TC_MAX(escaped, 1);
        at += TC_MAX(len, 1);
    }
    return written;
}

/* ---- formats ---- */

typedef struct spec {
    char flags[8];
    int width, precision; /* precision -1: none */
    char length;          /* 'q': ll; 'H': hh; 0: none */
    char conversion;
} spec;

/* A va_list that functions can share. */
typedef struct arguments {
    va_list ap;
} arguments;

static int read_number(const char **p, arguments *a) {
    int n = 0;
    if (**p == '*') {
        (*p)++;
        return va_arg(a->ap, int);
    }
    for (; **p >= '0' && **p <= '9'; (*p)++)
        n = 10 * n + (**p - '0');
    return n;
}

/* The specification behind a '%'. */
static spec read_spec(const char **p, arguments *a) {
    spec s = {.precision = -1};
    size_t n = strspn(*p, "-+ #0");
    assert(n < sizeof s.flags - 1);
    memcpy(s.flags, *p, n);
    *p += n;
    s.width = read_number(p, a);
    if (s.width < 0) {
        s.flags[n] = '-';
        s.width = -s.width;
    }
    if (**p == '.') {
        (*p)++;
        s.precision = read_number(p, a);
    }
    if (**p && strchr("hljzt", **p)) {
        s.length = *(*p)++;
        if (**p == s.length) {
            (*p)++;
            s.length = s.length == 'l' ? 'q' : 'H';
        }
    }
    s.conversion = *(*p)++;
    return s;
}

/* The precision cuts a character apart before byte n. What lies behind byte n is not read: a text need not end there. */
static bool is_inside(const char *text, size_t n) {
    uint32_t code;
    size_t begin = n;
    while (begin > 0 && n - begin < 3 && ((unsigned char)text[begin - 1] & 0xC0) == 0x80)
        begin--;
    begin -= begin > 0;
    unsigned char first = (unsigned char)text[begin];
    size_t len = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    return tc_utf8_next(text + begin, n - begin, &code) == 0 && first < 0xF8 && len > n - begin;
}

static void put_string(sink *k, const spec *s, const char *text, bool is_last) {
    if (!text)
        text = "(null)";
    int most = s->precision < 0 ? INT_MAX : s->precision;
    size_t n = s->precision < 0 ? strlen(text) : strnlen(text, (size_t)s->precision);
    bool is_cut = k->longest && !is_last && n > k->longest;
    if (is_cut)
        n = k->longest;
    while (n && (is_cut || n == (size_t)s->precision) && is_inside(text, n))
        n--;
    int blanks = s->width ? TC_MAX(0, s->width - put_text(NULL, text, n, most, ONE_LINE)) : 0;
    bool left = strchr(s->flags, '-') != NULL;
    pad(k, left ? 0 : blanks);
    put_text(k, text, n, most, ONE_LINE);
    put(k, "...", is_cut ? 3 : 0);
    pad(k, left ? blanks : 0);
}

static intmax_t signed_argument(char length, arguments *a) {
    switch (length) {
    case 'l':
        return va_arg(a->ap, long);
    case 'q':
        return va_arg(a->ap, long long);
    case 'j':
        return va_arg(a->ap, intmax_t);
    case 'z':
        return (intmax_t)va_arg(a->ap, size_t);
    case 't':
        return va_arg(a->ap, ptrdiff_t);
    case 'h':
        return (short)va_arg(a->ap, int);
    case 'H':
        return (signed char)va_arg(a->ap, int);
    default:
        return va_arg(a->ap, int);
    }
}

static uintmax_t unsigned_argument(char length, arguments *a) {
    switch (length) {
    case 'l':
        return va_arg(a->ap, unsigned long);
    case 'q':
        return va_arg(a->ap, unsigned long long);
    case 'j':
        return va_arg(a->ap, uintmax_t);
    case 'z':
        return va_arg(a->ap, size_t);
    case 't':
        return (uintmax_t)va_arg(a->ap, ptrdiff_t);
    case 'h':
        return (unsigned short)va_arg(a->ap, unsigned);
    case 'H':
        return (unsigned char)va_arg(a->ap, unsigned);
    default:
        return va_arg(a->ap, unsigned);
    }
}

/* The largest double has 309 digits before the point. */
enum { NUMBER = 512 };

static void put_number(sink *k, const spec *s, arguments *a) {
    char fmt[40], text[NUMBER];
    const char *length = strchr("diuoxX", s->conversion) ? "j" : "";
    if (s->precision < 0)
        snprintf(fmt, sizeof fmt, "%%%s*%s%c", s->flags, length, s->conversion);
    else
        snprintf(fmt, sizeof fmt, "%%%s*.%d%s%c", s->flags, s->precision, length, s->conversion);
    if (strchr("di", s->conversion))
        snprintf(text, sizeof text, fmt, s->width, signed_argument(s->length, a));
    else if (*length)
        snprintf(text, sizeof text, fmt, s->width, unsigned_argument(s->length, a));
    else if (s->conversion == 'p')
        snprintf(text, sizeof text, fmt, s->width, va_arg(a->ap, void *));
    else
        tc_snprintf(text, sizeof text, fmt, s->width, va_arg(a->ap, double));
    put(k, text, strlen(text));
}

static void put_spec(sink *k, const spec *s, arguments *a, bool is_last) {
    if (s->conversion == '%') {
        put(k, "%", 1);
    } else if (s->conversion == 's') {
        put_string(k, s, va_arg(a->ap, const char *), is_last);
    } else if (s->conversion == 'c') {
        char one = (char)va_arg(a->ap, int);
        put_text(k, &one, 1, INT_MAX, ONE_LINE);
    } else {
        assert(s->conversion && strchr("diuoxXpfFeEgGaA", s->conversion));
        put_number(k, s, a);
    }
}

static int say_to(sink k, const char *fmt, va_list ap) {
    arguments a;
    va_copy(a.ap, ap);
    while (*fmt) {
        const char *percent = strchrnul(fmt, '%');
        put_own(&k, fmt, (size_t)(percent - fmt));
        fmt = percent;
        if (!*fmt)
            break;
        fmt++;
        spec s = read_spec(&fmt, &a);
        put_spec(&k, &s, &a, !*fmt);
    }
    va_end(a.ap);
    if (k.cap)
        k.out[k.used] = 0;
    return (int)k.wanted;
}

int tc_vsay_to(char *out, size_t cap, const char *fmt, va_list ap) {
    return say_to((sink){.out = out, .cap = cap}, fmt, ap);
}

int tc_vsay_message(char *out, size_t cap, const char *fmt, va_list ap) {
    return say_to((sink){.out = out, .cap = cap, .longest = cap / 4}, fmt, ap);
}

int tc_say_to(char *out, size_t cap, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int n = tc_vsay_to(out, cap, fmt, ap);
    va_end(ap);
    return n;
}

/* An escape is longer than what it stands for. */
bool tc_is_plain(const char *text) {
    return (size_t)tc_say_to(NULL, 0, "%s", text) == strlen(text);
}

bool tc_is_plain_lines(const char *text) {
    sink k = {0};
    put_text(&k, text, strlen(text), INT_MAX, LINES);
    return k.wanted == strlen(text);
}

/* ---- growable text, and files ---- */

/* The formatted text: in `some`, or in *all where it is longer, which the caller frees; NULL: there is no memory for it. */
static const char *format(char *some, size_t cap, char **all, size_t *n, const char *fmt, va_list ap) {
    *all = NULL;
    *n = (size_t)tc_vsay_to(some, cap, fmt, ap);
    if (*n < cap)
        return some;
    *all = tc_try_malloc(*n + 1);
    if (*all)
        tc_vsay_to(*all, *n + 1, fmt, ap);
    return *all;
}

void tc_sb_vsay(tc_strbuf *b, const char *fmt, va_list ap) {
    char some[512], *all;
    size_t n;
    const char *text = format(some, sizeof some, &all, &n, fmt, ap);
    if (text)
        tc_sb_addn(b, text, n);
    free(all);
}

void tc_sb_say(tc_strbuf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_sb_vsay(b, fmt, ap);
    va_end(ap);
}

/* Stretches that stay as they are, with the escapes between them. */
static void add_escaped(tc_strbuf *b, const char *text, form as) {
    while (*text) {
        uint32_t code;
        size_t n = 0;
        for (; text[n] && (((unsigned char)text[n] >= ' ' && (unsigned char)text[n] < 0x7F) || text[n] == '\n'); n++)
            ;
        tc_sb_addn(b, text, n);
        text += n;
        if (!*text)
            break;
        char one[ESCAPE];
        sink k = {.out = one, .cap = sizeof one};
        size_t len = TC_MAX(tc_utf8_next(text, strnlen(text, 4), &code), 1);
        put_text(&k, text, len, INT_MAX, as);
        tc_sb_addn(b, one, k.used);
        text += len;
    }
}

void tc_sb_say_lines(tc_strbuf *b, const char *text) {
    add_escaped(b, text, LINES);
}

void tc_sb_say_json(tc_strbuf *b, const char *json) {
    add_escaped(b, json, JSON);
}

/* Whoever closes the file asks it for errors. */
int tc_say(FILE *f, const char *fmt, ...) {
    char some[1024], *all;
    size_t n;
    va_list ap;
    va_start(ap, fmt);
    const char *text = format(some, sizeof some, &all, &n, fmt, ap);
    va_end(ap);
    if (text)
        fwrite(text, 1, n, f);
    free(all);
    return (int)n;
}

void tc_say_lines(FILE *f, const char *text) {
    tc_strbuf b = {0};
    tc_sb_say_lines(&b, text);
    fwrite(tc_sb_str(&b), 1, b.len, f);
    tc_strbuf_free(&b);
}
