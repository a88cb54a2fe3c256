/* Targets by name. Text is canonical: features are merged with those that the CPU's name implies, sorted, and a feature that is
 * off is written only where the name would switch it on. */
#include <ctype.h>
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <string.h>

#include "codegen/target/llvm.h"
#include "codegen/target/needs.h"
#include "codegen/target/target_int.h"
#include "support/guess.h"
#include "support/vec.h"

static const char *const NAMES[] = {"native",
#define CPU(name, isa, features, more) name,
#include "codegen/target/isa.def"
                                    NULL};

const char *const *tc_target_names(void) {
    return NAMES;
}

/* ---- names ---- */

static tc_status unknown(tc_error *err, const char *text, const char *why) {
    return tc_fail(
        err, TC_BAD_INPUT,
        "target '%s': %s. A target is 'native', the name of a CPU such as znver4, or \"llvm -mtriple=TRIPLE [-mcpu=CPU] "
        "[-mattr=+a,-b] [-vector-bytes=16|32|64]\"",
        text, why);
}

static tc_status no_such_cpu(tc_error *err, const char *text, const char *cpu) {
    char guess[TC_GUESS_TEXT], why[128];
    tc_guess g = tc_guess_new(cpu, strlen(cpu));
    for (int i = 0; NAMES[i]; i++)
        tc_guess_add(&g, NAMES[i]);
    if (g.nclose)
        return tc_fail(err, TC_BAD_INPUT, "target '%s': CPU '%s' is not known%s", text, cpu, tc_guess_say(&g, "", NULL, guess));
    snprintf(why, sizeof why, "CPU '%.64s' is not known", cpu);
    return unknown(err, text, why);
}

/* ---- features ---- */

typedef struct feature {
    char *name;
    bool on, implied; /* implied: the CPU's name switches it on */
} feature;
typedef TC_VEC(feature) features;

static void set_feature(features *f, const char *name, size_t len, bool on, bool implied) {
    for (size_t i = 0; i < f->len; i++) {
        if (strlen(f->data[i].name) == len && !strncmp(f->data[i].name, name, len)) {
            f->data[i].on = on;
            return;
        }
    }
    feature x = {tc_xmalloc(len + 1), on, implied};
    memcpy(x.name, name, len);
    x.name[len] = 0;
    tc_push(f, x);
}

static bool is_on(const features *f, const char *name) {
    for (size_t i = 0; i < f->len; i++)
        if (!strcmp(f->data[i].name, name))
            return f->data[i].on;
    return false;
}

/* "a,b" (implied) or "+a,-b". False on something else. */
static bool add_features(features *f, const char *text, bool implied) {
    while (*text) {
        size_t n = strcspn(text, ",");
        bool sign = *text == '+' || *text == '-';
        if (n > (size_t)sign && (sign || implied))
            set_feature(f, text + sign, n - sign, *text != '-', implied);
        else if (n)
            return false;
        text += n + (text[n] == ',');
    }
    return true;
}

/* Switching off a set switches off what is built on it; LLVM would otherwise turn the base on again. */
static void close_features(features *f) {
    static const char *const bases[] = {"avx", "avx2", "avx512f"};
    for (size_t b = 0; b < TC_LEN(bases); b++) {
        bool off = false;
        for (size_t i = 0; i < f->len; i++)
            off |= !f->data[i].on && !strcmp(f->data[i].name, bases[b]);
        for (size_t i = 0; off && i < f->len; i++) {
            const char *n = f->data[i].name;
            bool over = !strncmp(n, "avx512", 6) || (b < 2 && !strncmp(n, "avx", 3) && strcmp(n, "avx")) ||
                        (b < 1 && (!strcmp(n, "fma") || !strcmp(n, "f16c")));
            if (over)
                f->data[i].on = false;
        }
    }
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const feature *)a)->name, ((const feature *)b)->name);
}

/* c: the CPU, where it is one that we know. */
static char *print_features(features *f, const tc_cg_cpu *c) {
    tc_strbuf b = {0};
    close_features(f);
    if (f->len)
        qsort(f->data, f->len, sizeof *f->data, by_name);
    for (size_t i = 0; i < f->len; i++)
        if (f->data[i].on || f->data[i].implied || !c || tc_cg_lists(c->more, f->data[i].name))
            tc_sb_printf(&b, "%s%c%s", b.len ? "," : "", f->data[i].on ? '+' : '-', f->data[i].name);
    char *s = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    return s;
}

static void free_features(features *f) {
    for (size_t i = 0; i < f->len; i++)
        free(f->data[i].name);
    tc_vec_free(f);
}

/* What the system says of this machine is true of all features but tiles. */
static bool works_here(const feature *f) {
    return f->on && (strncmp(f->name, "amx-", 4) != 0 || tc_cg_tiles_work());
}

/* Of the host's many features, those in a set of any CPU we know: the others do not change our code. */
static void add_host_features(features *f, const tc_cg_isa *isa, const char *told) {
    features host = {0}, known = {0};
    int n;
    const tc_cg_cpu *cpus = tc_cg_cpus(&n);
    add_features(&host, told, false);
    for (int i = 0; i < n; i++)
        if (isa && cpus[i].isa == isa->id)
            add_features(&known, cpus[i].features, true);
    for (size_t i = 0; i < host.len; i++) {
        bool listed = !(isa && isa->id == TC_CG_X86) && host.data[i].on;
        for (size_t k = 0; k < known.len && !listed; k++)
            listed = !strcmp(known.data[k].name, host.data[i].name);
        if (listed)
            set_feature(f, host.data[i].name, strlen(host.data[i].name), works_here(&host.data[i]), false);
    }
    free_features(&host);
    free_features(&known);
}

/* A virtual machine may hide features that its processor's name implies: LLVM would use them. */
static void drop_hidden(features *f, const tc_cg_cpu *c, const char *told) {
    features host = {0}, more = {0};
    add_features(&host, told, false);
    add_features(&more, c->more, true);
    for (size_t i = 0; i < more.len; i++)
        if (!is_on(&host, more.data[i].name))
            set_feature(f, more.data[i].name, strlen(more.data[i].name), false, true);
    free_features(&host);
    free_features(&more);
}

/* ---- parsing ---- */

typedef struct request {
    char triple[128], cpu[64], attr[2048];
    long vector_bytes, cores;
    const char *features; /* of this machine, where the CPU is its; or NULL */
} request;

static bool option(const char *word, const char *name, char *out, size_t size) {
    size_t n = strlen(name);
    return !strncmp(word, name, n) && snprintf(out, size, "%s", word + n) < (int)size;
}

static tc_status read_options(const char *text, request *q, tc_error *err) {
    char word[2304], number[32];
    const char *p = text + 4;
    while (*(p += strspn(p, " \t"))) {
        size_t n = strcspn(p, " \t");
        if (n >= sizeof word)
            return unknown(err, text, "an option is too long");
        memcpy(word, p, n);
        word[n] = 0;
        p += n;
        if (option(word, "-mtriple=", q->triple, sizeof q->triple) || option(word, "-mcpu=", q->cpu, sizeof q->cpu) ||
            option(word, "-mattr=", q->attr, sizeof q->attr))
            continue;
        if (option(word, "-vector-bytes=", number, sizeof number))
            q->vector_bytes = strtol(number, NULL, 10);
        else if (option(word, "-cores=", number, sizeof number))
            q->cores = strtol(number, NULL, 10);
        else {
            char why[128];
            snprintf(why, sizeof why, "'%.80s' is not an option of a target", word);
            return unknown(err, text, why);
        }
    }
    if (q->vector_bytes && q->vector_bytes != 16 && q->vector_bytes != 32 && q->vector_bytes != 64)
        return unknown(err, text, "-vector-bytes must be 16, 32 or 64");
    return q->cores < 0 || q->cores > 4096 ? unknown(err, text, "-cores must be between 1 and 4096") : TC_OK;
}

static tc_status host_names(request *q, tc_error *err) {
    const char *cpu;
    TC_TRY(tc_cg_name_host(&cpu, &q->features, err));
    snprintf(q->triple, sizeof q->triple, "%s", tc_cg_this_host()->triple);
    snprintf(q->cpu, sizeof q->cpu, "%s", cpu);
    return TC_OK;
}

/* Completes the request: which triple and CPU are meant. */
static tc_status resolve(const char *text, request *q, tc_error *err) {
    bool llvm = !strncmp(text, "llvm", 4) && (!text[4] || isspace((unsigned char)text[4]));
    if (!strcmp(text, "native"))
        return host_names(q, err);
    if (!llvm) {
        const tc_cg_cpu *c = strlen(text) < sizeof q->cpu ? tc_cg_cpu_named(text) : NULL;
        if (!c)
            return no_such_cpu(err, text, text);
        snprintf(q->triple, sizeof q->triple, "%s", tc_cg_isa_row(c->isa)->triple);
        snprintf(q->cpu, sizeof q->cpu, "%s", text);
        return TC_OK;
    }
    TC_TRY(read_options(text, q, err));
    if (!strcmp(q->cpu, "native") && !*q->triple)
        return host_names(q, err);
    const tc_cg_cpu *c = tc_cg_cpu_named(q->cpu);
    if (!*q->triple && c)
        snprintf(q->triple, sizeof q->triple, "%s", tc_cg_isa_row(c->isa)->triple);
    if (!*q->triple)
        return unknown(err, text, "-mtriple is missing");
    return TC_OK;
}

/* Whether the triple is one of those on which everybody agrees, LLVM, too: one of our instruction sets, for Linux with glibc or
 * musl, with all of its parts. */
static bool is_plain(const char *triple) {
    static const char *const ENDS[] = {"-pc-linux-gnu", "-pc-linux-musl", "-unknown-linux-gnu", "-unknown-linux-musl"};
    const tc_cg_isa *isa = tc_cg_isa_of(triple);
    const size_t n = isa ? strlen(isa->spelling[0]) : 0;
    if (!isa || strncmp(triple, isa->spelling[0], n) != 0)
        return false;
    for (size_t i = 0; i < TC_LEN(ENDS); i++)
        if (!strcmp(triple + n, ENDS[i]))
            return true;
    return false;
}

/* "aarch64" -> "aarch64-unknown-linux-gnu"; the rest as LLVM writes it, which plain ones are. */
static tc_status full_triple(const char *t, char **out, tc_error *err) {
    const tc_cg_isa *isa = tc_cg_isa_of(t);
    if ((!strchr(t, '-') && isa) || is_plain(t)) {
        *out = tc_xstrdup(is_plain(t) ? t : isa->triple);
        return TC_OK;
    }
    TC_TRY(tc_cg_llvm_init(err));
    *out = tc_cg_own_text(LLVMNormalizeTargetTriple(t));
    return TC_OK;
}

static tc_status check_triple(const char *text, const char *triple, tc_error *err) {
    LLVMTargetRef target;
    char *msg = NULL;
    TC_TRY(tc_cg_llvm_init(err));
    if (!LLVMGetTargetFromTriple(triple, &target, &msg))
        return LLVMTargetHasAsmBackend(target) ? TC_OK : unknown(err, text, "this LLVM makes no object code for that triple");
    tc_status s = unknown(err, text, "LLVM does not know that triple");
    LLVMDisposeMessage(msg);
    return s;
}

/* Generated code holds 64-bit pointers and little-endian constants; both are facts of every kernel's calling convention. */
static tc_status check_layout(const char *text, const tc_target *t, tc_error *err) {
    LLVMTargetMachineRef tm;
    TC_TRY(tc_cg_machine(t, true, &tm, err));
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    bool ok = LLVMPointerSize(layout) == 8 && LLVMByteOrder(layout) == LLVMLittleEndian;
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(tm);
    return ok ? TC_OK : unknown(err, text, "only 64-bit little-endian targets are supported");
}

static tc_status no_such_feature(tc_error *err, const char *text, const char *name, const tc_cg_isa *isa) {
    char guess[TC_GUESS_TEXT], why[2048], *next = NULL, *names = tc_xstrdup(isa->features);
    tc_guess g = tc_guess_new(name, strlen(name));
    for (char *f = strtok_r(names, " ", &next); f; f = strtok_r(NULL, " ", &next))
        tc_guess_add(&g, f);
    snprintf(why, sizeof why, "feature '%.60s' is not known for this architecture; -mattr takes%s", name, isa->features);
    tc_status s = g.nclose ? tc_fail(err, TC_BAD_INPUT, "target '%s': feature '%.60s' is not known for this architecture%s", text,
                                     name, tc_guess_say(&g, "", NULL, guess))
                           : unknown(err, text, why);
    free(names);
    return s;
}

/* LLVM warns of a feature that it does not know and goes on; we refuse it. */
static tc_status check_features(const char *text, const features *f, const tc_cg_isa *isa, tc_error *err) {
    for (size_t i = 0; isa && i < f->len; i++) {
        char word[64];
        if (snprintf(word, sizeof word, " %s ", f->data[i].name) >= (int)sizeof word || !strstr(isa->features, word))
            return no_such_feature(err, text, f->data[i].name, isa);
    }
    return TC_OK;
}

/* The width of vectors that was asked for, when the target has registers of that width. */
static tc_status check_width(const char *text, const tc_target *t, int bytes, tc_error *err) {
    int widest = tc_cg_widest_vector(t);
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    char why[160];
    if (bytes <= widest)
        return TC_OK;
    snprintf(why, sizeof why, "-vector-bytes=%d needs wider registers than the target has (%d bytes)%s", bytes, widest,
             isa ? isa->wider : "");
    return unknown(err, text, why);
}

void tc_target_ask_machine(void) {
    if (strstr(tc_cg_this_host()->features, "+amx-tile"))
        tc_cg_tiles_work();
}

bool tc_target_is_host_isa(const char *triple) {
    const tc_cg_isa *here = tc_cg_isa_of(tc_cg_this_host()->triple);
    return here && here == tc_cg_isa_of(triple);
}

/* Runs here: the host's architecture, and all that is on is on in the host. */
static bool runs_here(const char *triple, const features *f) {
    features host = {0};
    bool ok = tc_target_is_host_isa(triple);
    add_features(&host, tc_cg_this_host()->features, false);
    for (size_t i = 0; ok && i < f->len; i++)
        ok = !f->data[i].on || (is_on(&host, f->data[i].name) && works_here(&f->data[i]));
    free_features(&host);
    return ok;
}

static tc_status finish(const char *text, const request *q, tc_target *t, tc_error *err) {
    const bool host = q->features != NULL;
    TC_TRY(full_triple(q->triple, &t->triple, err));
    if (!is_plain(t->triple))
        TC_TRY(check_triple(text, t->triple, err));
    const tc_cg_isa *isa = tc_cg_isa_of(t->triple);
    bool plain = !*q->cpu || !strcmp(q->cpu, "generic");
    const tc_cg_cpu *c = tc_cg_cpu_named(plain && isa && isa->implied_cpu ? isa->implied_cpu : q->cpu);
    if (!host && !plain && !c)
        return no_such_cpu(err, text, q->cpu);
    if (!host && !plain && (!isa || c->isa != isa->id)) {
        char why[160];
        snprintf(why, sizeof why, "CPU '%.64s' is not of that triple's architecture", q->cpu);
        return unknown(err, text, why);
    }
    features f = {0};
    if (c)
        add_features(&f, c->features, true);
    if (host)
        add_host_features(&f, isa, q->features);
    if (host && c)
        drop_hidden(&f, c, q->features);
    bool good = add_features(&f, q->attr, false);
    tc_status s = good && !host ? check_features(text, &f, isa, err) : TC_OK;
    t->features = print_features(&f, c);
    const bool has_features = runs_here(t->triple, &f);
    free_features(&f);
    if (!good)
        return unknown(err, text, "-mattr must be a list like +avx2,-avx512f");
    TC_TRY(s);
    t->cpu = tc_xstrdup(!plain ? tc_cg_llvm_cpu(q->cpu) : isa ? isa->plain_cpu : "generic");
    if (!is_plain(t->triple))
        TC_TRY(check_layout(text, t, err));
    TC_TRY(check_width(text, t, (int)q->vector_bytes, err));
    tc_cg_default_machine(t, (int)q->vector_bytes, &t->machine);
    t->native = has_features && tc_cg_meets(t, tc_cg_this_host());
    if (t->native)
        tc_cg_detect_machine(&t->machine);
    if (q->cores)
        t->machine.cores = (int)q->cores;
    return TC_OK;
}

tc_status tc_target_parse(const char *text, tc_target **out, tc_error *err) {
    request q = {0};
    TC_TRY(resolve(text, &q, err));
    tc_target *t = tc_xcalloc(1, sizeof *t);
    tc_status s = finish(text, &q, t, err);
    if (s != TC_OK) {
        tc_target_free(t);
        return s;
    }
    tc_strbuf b = {0};
    tc_sb_printf(&b, "llvm -mtriple=%s -mcpu=%s", t->triple, t->cpu);
    if (*t->features)
        tc_sb_printf(&b, " -mattr=%s", t->features);
    tc_sb_printf(&b, " -vector-bytes=%d", t->machine.vector_bytes);
    t->text = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    *out = t;
    return TC_OK;
}

void tc_target_free(tc_target *t) {
    if (!t)
        return;
    free(t->text);
    free(t->triple);
    free(t->cpu);
    free(t->features);
    free(t);
}
