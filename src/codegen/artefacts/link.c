/* Shared libraries by the system's linker, and C for other architectures by a compiler, run as processes. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "codegen/artefacts/library.h"
#include "codegen/artefacts/link.h"
#include "codegen/target/isa.h"
#include "support/strbuf.h"
#include "support/system/child.h"
#include "support/system/fs.h"
#include "support/system/scratch.h"
#include "support/vec.h"

extern char **environ;

/* A program of $PATH, or one named by a path, that can be executed. */
static bool executable(const char *name) {
    if (strchr(name, '/'))
        return access(name, X_OK) == 0;
    const char *path = getenv("PATH");
    for (path = path ? path : "/usr/bin:/bin"; *path;) {
        size_t n = strcspn(path, ":");
        char full[4096];
        if (n && snprintf(full, sizeof full, "%.*s/%s", (int)n, path, name) < (int)sizeof full && access(full, X_OK) == 0)
            return true;
        path += n + (path[n] == ':');
    }
    return false;
}

/* The architecture's own compiler as distributions name it, whichever vendor the triple names. */
static const char *foreign_compiler(const char *triple) {
    const tc_cg_isa *isa = tc_cg_isa_of(triple);
    return isa && executable(isa->gcc) ? isa->gcc : NULL;
}

/* lld and clang serve every architecture. */
static const char *find_foreign(const char *triple) {
    const char *compiler = foreign_compiler(triple);
    return compiler ? compiler : executable("ld.lld") ? "ld.lld" : NULL;
}

/* Compilers know where the system's libraries are; a bare linker comes last and is told less. */
static const char *find_linker(const tc_cg_link *l) {
    static const char *const names[] = {"cc", "gcc", "clang", "ld.lld", "ld"};
    const char *env = getenv("TCTUNE_LINKER");
    if (l->linker)
        return l->linker;
    if (env && *env)
        return env;
    if (l->triple)
        return find_foreign(l->triple);
    for (size_t i = 0; i < TC_LEN(names); i++)
        if (executable(names[i]))
            return names[i];
    return NULL;
}

/* Not a compiler that calls one. */
static bool is_bare(const char *linker) {
    const char *base = strrchr(linker, '/');
    base = base ? base + 1 : linker;
    return !strncmp(base, "ld", 2) || !strcmp(base, "mold");
}

typedef TC_VEC(char *) words;

static void add_word(words *w, const char *fmt, va_list ap) {
    tc_strbuf b = {0};
    tc_sb_vprintf(&b, fmt, ap);
    char *s = tc_xstrdup(tc_sb_str(&b));
    tc_strbuf_free(&b);
    tc_push(w, s);
}

static void word(words *w, const char *fmt, ...) TC_PRINTF(2, 3);
static void word(words *w, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    add_word(w, fmt, ap);
    va_end(ap);
}

/* A word for the linker, as it is: -Wl would part it at commas. */
static void linker_word(words *w, bool bare, const char *fmt, ...) TC_PRINTF(3, 4);
static void linker_word(words *w, bool bare, const char *fmt, ...) {
    va_list ap;
    if (!bare)
        word(w, "-Xlinker");
    va_start(ap, fmt);
    add_word(w, fmt, ap);
    va_end(ap);
}

static tc_status write_exports(const tc_cg_link *l, const char *path, tc_error *err) {
    tc_strbuf b = {0};
    tc_sb_add(&b, "{ global:");
    for (int i = 0; l->exports[i]; i++)
        tc_sb_printf(&b, " %s;", l->exports[i]);
    tc_sb_add(&b, " local: *; };\n");
    tc_status s = tc_fs_write_scratch(path, b.data, b.len, err);
    tc_strbuf_free(&b);
    return s;
}

static bool is_x86(const tc_cg_link *l) {
#ifdef __x86_64__
    bool here = true;
#else
    bool here = false;
#endif
    const tc_cg_isa *isa = l->triple ? tc_cg_isa_of(l->triple) : NULL;
    return l->triple ? isa && isa->id == TC_CG_X86 : here;
}

static void finish(words *w) {
    char *end = NULL;
    tc_push(w, end);
}

static void list_objects(const tc_cg_link *l, const char *dir, words *w) {
    for (int i = 0; i < l->nobjects; i++)
        word(w, "%s", l->objects[i]);
    if (l->constants)
        word(w, "%s/constants.o", dir);
}

/* The library's own name is its file's, so that programs linked to it look for it by that. File names may hold anything: each is a
 * word of its own that begins with '/' or './' (support/system/scratch.h), or the end of a word. */
static void command(const tc_cg_link *l, const char *linker, const char *dir, const char *out, words *w) {
    bool bare = is_bare(linker);
    const char *slash = strrchr(out, '/');
    word(w, "%s", linker);
    if (l->relocatable) {
        static const char *const flags[] = {"-r", "-nostdlib"};
        for (size_t i = 0; i < TC_LEN(flags) - bare; i++)
            word(w, "%s", flags[i]);
        word(w, "-o");
        word(w, "%s/out.so", dir);
        list_objects(l, dir, w);
        finish(w);
        return;
    }
    word(w, "-shared");
    linker_word(w, bare, "-soname=%s", slash ? slash + 1 : out);
    word(w, "-o");
    word(w, "%s/out.so", dir);
    list_objects(l, dir, w);
    if (l->exports)
        linker_word(w, bare, "--version-script=%s/exports", dir);
    linker_word(w, bare, "--no-undefined");
    linker_word(w, bare, "-z");
    linker_word(w, bare, "noexecstack");
    if (bare) {
        static const char *const dirs[] = {"/lib/x86_64-linux-gnu",
                                           "/usr/lib/x86_64-linux-gnu",
                                           "/lib/aarch64-linux-gnu",
                                           "/usr/lib/aarch64-linux-gnu",
                                           "/lib64",
                                           "/usr/lib64"};
        for (size_t i = 0; i < TC_LEN(dirs); i++)
            word(w, "-L%s", dirs[i]);
    }
    if (l->openmp)
        word(w, "-l:libgomp.so.1");
    word(w, bare ? "-l:libm.so.6" : "-lm");
    if (bare)
        word(w, "-l:libc.so.6");
    if (bare && is_x86(l)) /* has __tls_get_addr */
        word(w, "-l:ld-linux-x86-64.so.2");
    finish(w);
}

static void free_words(words *w) {
    for (size_t i = 0; i < w->len; i++)
        free(w->data[i]);
    tc_vec_free(w);
}

/* Compilers have scratch files of their own, and leave them when they are killed. */
static void environment(const char *dir, words *w) {
    for (char **variable = environ; *variable; variable++)
        if (strncmp(*variable, "TMPDIR=", 7) != 0)
            word(w, "%s", *variable);
    word(w, "TMPDIR=%s", dir);
    finish(w);
}

/* Runs argv, with its scratch files in the folder and its output in the file `log`; *code is the exit status, or that of the
 * signal that ended it below zero. */
static tc_status spawn(char *const *argv, const tc_scratch *scratch, int log, int *code, tc_error *err) {
    posix_spawn_file_actions_t fa;
    words env = {0};
    environment(tc_scratch_path(scratch), &env);
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&fa, log, 1);
    posix_spawn_file_actions_adddup2(&fa, 1, 2);
    if (tc_scratch_watched(scratch) >= 0)
        posix_spawn_file_actions_adddup2(&fa, tc_scratch_watched(scratch), 3);
    int st, e = tc_child_run(argv, env.data, &fa, &st);
    posix_spawn_file_actions_destroy(&fa);
    free_words(&env);
    if (e == ECHILD)
        return tc_fail(
            err, TC_ENV,
            "nothing tells how the linker '%s' ended: a handler of SIGCHLD in this program waits for every child. Let it "
            "wait for the program's own children only",
            argv[0]);
    if (e)
        return tc_fail(err, TC_ENV, "cannot run the linker '%s': %s%s", argv[0], strerror(e), tc_child_remedy(e));
    *code = WIFEXITED(st) ? WEXITSTATUS(st) : -WTERMSIG(st);
    return TC_OK;
}

static tc_status tool_failed(const char *what, const char *tool, int log, int code, tc_error *err) {
    char text[1024];
    if (code < 0)
        return tc_fail(err, TC_ENV, "the %s '%s' was ended by signal %d (%s)", what, tool, -code, strsignal(-code));
    ssize_t n = pread(log, text, sizeof text - 1, 0);
    n = TC_MAX(n, 0);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    text[n] = 0;
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c; /* a message is one line */
    return tc_fail(err, TC_ENV, "the %s '%s' failed with status %d: %.800s", what, tool, code,
                   *text ? text : "it printed nothing; if the disk is full, set TMPDIR to a larger folder");
}

/* Runs a tool, `what`, with its scratch files in the folder. Its output takes no room there: it tells that the folder is full. */
static tc_status run(const char *what, char *const *argv, const tc_scratch *scratch, tc_error *err) {
    int code = 0, log = tc_scratch_file("tctune-tool-log");
    if (log < 0)
        return tc_fail(err, TC_ENV, "no file can be made for the output of the %s '%s': %s", what, argv[0], tc_fs_reason(errno));
    tc_status s = spawn(argv, scratch, log, &code, err);
    if (s == TC_OK && code)
        s = tool_failed(what, argv[0], log, code, err);
    close(log);
    return s;
}

static const char *foreign_objcopy(const char *triple, const char *other) {
    const tc_cg_isa *isa = tc_cg_isa_of(triple);
    return !other && isa && executable(isa->objcopy) ? isa->objcopy : other;
}

/* A linker hides no symbols of an object that is to be linked again. */
static tc_status hide(const tc_cg_link *l, const tc_scratch *scratch, tc_error *err) {
    static const char *const names[] = {"objcopy", "llvm-objcopy", "llvm-objcopy-19"};
    const char *tool = NULL;
    words w = {0};
    for (size_t i = TC_LEN(names); i-- > (l->triple ? 1 : 0);) /* binutils' own is for one architecture */
        if (executable(names[i]))
            tool = names[i];
    if (l->triple)
        tool = foreign_objcopy(l->triple, tool);
    if (!tool)
        return tc_fail(err, TC_ENV, "no objcopy found; it hides the internal symbols of an object: install binutils or llvm");
    word(&w, "%s", tool);
    for (int i = 0; l->exports[i]; i++)
        word(&w, "--keep-global-symbol=%s", l->exports[i]);
    word(&w, "%s/out.so", tc_scratch_path(scratch));
    finish(&w);
    tc_status s = run("objcopy", w.data, scratch, err);
    free_words(&w);
    return s;
}

static tc_status deliver(const tc_cg_link *l, const char *dir, const char *out, tc_error *err) {
    char path[4096];
    snprintf(path, sizeof path, "%s/out.so", dir);
    tc_fs_new *files = tc_xcalloc((size_t)l->nbeside + 1, sizeof *files);
    files[0] = (tc_fs_new){.path = out, .from = path};
    for (int i = 0; i < l->nbeside; i++)
        files[i + 1] = l->beside[i];
    tc_status s = tc_fs_write_files(files, l->nbeside + 1, err);
    free(files);
    return s;
}

static tc_status run_linker(const tc_cg_link *l, const char *linker, const tc_scratch *scratch, const char *out, tc_error *err) {
    words w = {0};
    command(l, linker, tc_scratch_path(scratch), out, &w);
    tc_status s = run("linker", w.data, scratch, err);
    free_words(&w);
    return s;
}

/* Weights are most of a library: a linker reads and writes only their place, unless it has none to give. */
static tc_status link_constants(const tc_cg_link *l, const char *linker, const tc_scratch *scratch, const char *out,
                                tc_error *err) {
    const char *dir = tc_scratch_path(scratch);
    char object[4096], linked[4096];
    bool filled = false;
    snprintf(object, sizeof object, "%s/constants.o", dir);
    snprintf(linked, sizeof linked, "%s/out.so", dir);
    if (!l->relocatable) {
        TC_TRY(tc_cg_check_blob_fits(l->constants, linked, err));
        TC_TRY(tc_cg_write_blob_place(l->constants, object, err));
        TC_TRY(run_linker(l, linker, scratch, out, err));
        TC_TRY(tc_cg_fill_blob_place(l->constants, linked, &filled, err));
    }
    if (filled)
        return TC_OK;
    TC_TRY(tc_cg_write_blob(l->constants, object, err));
    return run_linker(l, linker, scratch, out, err);
}

static tc_status link_in(const tc_cg_link *l, const char *linker, const tc_scratch *scratch, const char *out, tc_error *err) {
    const char *dir = tc_scratch_path(scratch);
    char exports[4096];
    snprintf(exports, sizeof exports, "%s/exports", dir);
    if (l->exports)
        TC_TRY(write_exports(l, exports, err));
    TC_TRY(l->constants ? link_constants(l, linker, scratch, out, err) : run_linker(l, linker, scratch, out, err));
    if (l->relocatable && l->exports)
        TC_TRY(hide(l, scratch, err));
    return deliver(l, dir, out, err);
}

tc_status tc_cg_link_shared(const tc_cg_link *l, const char *out, tc_error *err) {
    TC_TRY(tc_fs_check_writable(out, err));
    const char *linker = find_linker(l);
    if (!linker)
        return tc_fail(err, TC_ENV, "no linker found: install gcc, clang, lld or binutils, or name one in TCTUNE_LINKER");
    tc_scratch *scratch;
    TC_TRY(tc_scratch_open(&scratch, err));
    tc_status s = link_in(l, linker, scratch, out, err);
    tc_scratch_close(scratch);
    return s;
}

/* ---- C for other architectures ---- */

static bool takes_targets(const char *compiler) {
    return strstr(compiler, "clang") != NULL;
}

static const char *find_compiler(const char *triple) {
    const char *env = getenv("TCTUNE_LINKER");
    if (env && *env && !is_bare(env))
        return env;
    const char *compiler = foreign_compiler(triple);
    return compiler ? compiler : executable("clang") ? "clang" : NULL;
}

static tc_status compile_in(const tc_scratch *scratch, const char *compiler, const char *triple, const char *out, tc_error *err) {
    const char *dir = tc_scratch_path(scratch);
    static const char *const flags[] = {"-std=c17", "-O2", "-fPIC", "-fno-stack-protector", "-fvisibility=hidden", "-c"};
    words w = {0};
    word(&w, "%s", compiler);
    if (takes_targets(compiler))
        word(&w, "--target=%s", triple);
    for (size_t i = 0; i < TC_LEN(flags); i++)
        word(&w, "%s", flags[i]);
    word(&w, "%s/in.c", dir);
    word(&w, "-o");
    word(&w, "%s", out);
    finish(&w);
    tc_status s = run("compiler", w.data, scratch, err);
    free_words(&w);
    return s;
}

tc_status tc_cg_compile_c(const char *triple, const char *text, size_t size, const char *out, tc_error *err) {
    const char *compiler = find_compiler(triple);
    if (!compiler)
        return tc_fail(
            err, TC_ENV,
            "there is no C compiler for '%s': install its gcc (Debian: gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu), or "
            "clang, or name one in TCTUNE_LINKER",
            triple);
    tc_scratch *scratch;
    TC_TRY(tc_scratch_open(&scratch, err));
    char path[4096];
    const char *dir = tc_scratch_path(scratch);
    snprintf(path, sizeof path, "%s/in.c", dir);
    tc_status s = tc_fs_write_scratch(path, text, size, err);
    if (s == TC_OK)
        s = compile_in(scratch, compiler, triple, out, err);
    tc_scratch_close(scratch);
    return s;
}

tc_status tc_cg_link_object(const tc_cg_link *l, const char *out, tc_error *err) {
    tc_cg_link object = *l;
    object.relocatable = true;
    return tc_cg_link_shared(&object, out, err);
}
