/* Writes the manual pages and the completions of shells: tctune-manual PROSE-FOLDER CODE-FOLDER FOLDER. The build of tctune runs
 * this program; it is never installed.
 *
 * The prose of a command's page is PROSE-FOLDER/tctune-COMMAND.man. The prose of the common page is PROSE-FOLDER/tctune.man.
 * CODE-FOLDER holds the code of the completions. */
#include <stdio.h>
#include <stdlib.h>

#include "cli/manual/manual.h"
#include "support/say.h"
#include "support/system/fs.h"

typedef struct places {
    const char *prose, *code, *out;
    tc_arena *arena;
} places;

static tc_status read_text(const places *p, const char *path, const char **out, tc_error *err) {
    char *text;
    TC_TRY(tc_fs_read(path, &text, NULL, err));
    *out = tc_arena_strdup(p->arena, text);
    free(text);
    return TC_OK;
}

/* PROSE-FOLDER/NAME.man; "" where there is none. */
static tc_status read_prose(const places *p, const char *name, const char **out, tc_error *err) {
    const char *path = tc_arena_printf(p->arena, "%s/%s.man", p->prose, name);
    *out = "";
    return tc_fs_exists(path) ? read_text(p, path, out, err) : TC_OK;
}

static tc_status write_text(const places *p, const char *name, tc_strbuf *text, tc_error *err) {
    tc_status st = tc_fs_write(tc_arena_printf(p->arena, "%s/%s", p->out, name), text->data, text->len, err);
    tc_strbuf_free(text);
    return st;
}

static tc_status write_page(const places *p, const tc_cli_command *c, tc_error *err) {
    const char *prose;
    tc_strbuf page = {0}, name = {0};
    manual_page_name(&name, c);
    const char *kept = tc_sb_keep(&name, p->arena);
    TC_TRY(read_prose(p, kept, &prose, err));
    manual_page(&page, c, prose);
    return write_text(p, tc_arena_printf(p->arena, "%s.1", kept), &page, err);
}

static tc_status write_pages(const places *p, tc_error *err) {
    size_t n;
    const tc_cli_command *const *all = manual_commands(&n);
    const char *prose;
    tc_strbuf page = {0};
    for (size_t i = 0; i < n; i++)
        TC_TRY(write_page(p, all[i], err));
    TC_TRY(read_prose(p, "tctune", &prose, err));
    manual_overview(&page, prose);
    return write_text(p, "tctune.1", &page, err);
}

static tc_status write_completion(const places *p, const char *shell, void (*tables)(tc_strbuf *), const char *name,
                                  tc_error *err) {
    const char *code;
    tc_strbuf text = {0};
    TC_TRY(read_text(p, tc_arena_printf(p->arena, "%s/shell.%s", p->code, shell), &code, err));
    tables(&text);
    tc_sb_add(&text, code);
    return write_text(p, name, &text, err);
}

static tc_status write_reference(const places *p, tc_error *err) {
    tc_strbuf page = {0};
    manual_reference(&page);
    return write_text(p, "options.md", &page, err);
}

static tc_status write_all(const places *p, tc_error *err) {
    TC_TRY(write_completion(p, "bash", manual_bash, "tctune.bash", err));
    TC_TRY(write_completion(p, "zsh", manual_zsh, "_tctune", err));
    TC_TRY(write_completion(p, "fish", manual_fish, "tctune.fish", err));
    TC_TRY(write_reference(p, err));
    return write_pages(p, err);
}

int main(int argc, char **argv) {
    tc_error err = {0};
    if (argc != 4) {
        tc_say(stderr, "usage: tctune-manual PROSE-FOLDER CODE-FOLDER FOLDER\n");
        return TC_CLI_USAGE;
    }
    places p = {argv[1], argv[2], argv[3], tc_arena_new()};
    tc_status st = write_all(&p, &err);
    tc_arena_free(p.arena);
    if (st != TC_OK)
        tc_say(stderr, "tctune-manual: %s\n", err.msg);
    return st == TC_OK ? TC_CLI_DONE : TC_CLI_FAILED;
}
