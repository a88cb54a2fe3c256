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
/* Copies the first word of a two-word name ("db" of "db stats") to `family`. False: the name has one word. */
bool manual_family(const char *name, char family[32]);
/* Whether no command before number i is of the same family. */
bool manual_first_of_family(size_t i);
/* "tctune-db-stats" */
void manual_page_name(tc_strbuf *b, const tc_cli_command *c);

/* ---- values ---- */

/* The possible values of an option, from its argument text (options.h), as words separated by spaces: FILE and DIR, suffixes with
 * their point, and literal words. "": unknown. */
void manual_values(tc_strbuf *b, const char *argument);
/* The same for the arguments after a command's name: models and kernels, operands. "": unknown, or no arguments are accepted. */
void manual_operands(tc_strbuf *b, const tc_cli_command *c);
/* The first sentence or clause of a help text, for a line of a list. */
void manual_short(tc_strbuf *b, const char *help);
/* Text in quotes as sh and zsh read it; a quote within is '\''. */
void manual_quote(tc_strbuf *b, const char *text);

/* ---- writers ---- */

/* The page of a command. `prose`: sections in roff that follow the text from the table; "" for none. */
void manual_page(tc_strbuf *b, const tc_cli_command *c, const char *prose);
/* The page of all: `prose` is its source, in which the line `.COMMANDS` stands for the list and `.PAGES` for references. */
void manual_overview(tc_strbuf *b, const char *prose);
/* All options of all commands, in Markdown (reference.c). */
void manual_reference(tc_strbuf *b);
/* The data of the completions, without the code that reads them (shell.bash, shell.zsh, shell.fish). The code follows the data. */
void manual_bash(tc_strbuf *b);
void manual_zsh(tc_strbuf *b);
void manual_fish(tc_strbuf *b);

#endif
