/* src/cli/manual owns manual pages, the page docs/reference/options.md and shell completions, made from the commands' tables when
 * tctune is built. Not here: the prose of the pages (docs/man).
 *
 * The folder is a program that the build runs. */
#ifndef TC_CLI_MANUAL_MANUAL_H
#define TC_CLI_MANUAL_MANUAL_H

#include "cli/options.h"
#include "support/strbuf.h"

/* ---- commands ---- */

/* Those that are listed, in their order, and how many. */
const tc_cli_command *const *manual_commands(size_t *n);
/* The first word of a name of two ("db" of "db stats"), in `family`; false: it has one. */
bool manual_family(const char *name, char family[32]);
/* Whether no command before number i is of the same family. */
bool manual_first_of_family(size_t i);
/* "tctune-db-stats" */
void manual_page_name(tc_strbuf *b, const tc_cli_command *c);

/* ---- values ---- */

/* What a value can be, by how it is written (options.h), as words with spaces between: FILE and DIR, suffixes with their point, and
 * words that are meant as they stand. "": nothing is known of it. */
void manual_values(tc_strbuf *b, const char *argument);
/* The same of what stands behind a command's name: models and kernels, operands. "": nothing is known, or nothing may stand
 * there. */
void manual_operands(tc_strbuf *b, const tc_cli_command *c);
/* The first sentence or clause of a help text, for a line of a list. */
void manual_short(tc_strbuf *b, const char *help);
/* Text in quotes as sh and zsh read it; a quote within is '\''. */
void manual_quote(tc_strbuf *b, const char *text);

/* ---- writers ---- */

/* The page of a command. `prose`: sections in roff that come behind what the table says; "" for none. */
void manual_page(tc_strbuf *b, const tc_cli_command *c, const char *prose);
/* The page of all: `prose` is its source, in which the line `.COMMANDS` stands for the list and `.PAGES` for references. */
void manual_overview(tc_strbuf *b, const char *prose);
/* All options of all commands, in Markdown (reference.c). */
void manual_reference(tc_strbuf *b);
/* What shells are asked for, without the code that asks (shell.bash, shell.zsh, shell.fish), which comes behind it. */
void manual_bash(tc_strbuf *b);
void manual_zsh(tc_strbuf *b);
void manual_fish(tc_strbuf *b);

#endif
