/* A fleet whose machines have drawn names: a server, and what workers and tuners say there. Whoever may write
 * to a server may write anything, so the texts are written as they are, whether or not tctune would write them. */
#ifndef TC_TESTS_CAMPAIGN_NAMES_FLEET_H
#define TC_TESTS_CAMPAIGN_NAMES_FLEET_H

#include <stdbool.h>

/* The texts that are drawn. HOST to REASON are texts that people are shown: tctune refuses them unless they are plain. NAME, KEY and
 * TUNER are words: tctune refuses all others. */
#define NAMES_FLEET_TEXTS(TEXT)                                                                                                  \
    TEXT(HOST) TEXT(BUILD) TEXT(TARGET) TEXT(ISA) TEXT(WHY) TEXT(MESSAGE) TEXT(REASON) TEXT(NAME) TEXT(KEY) TEXT(TUNER)
typedef enum names_fleet_text {
#define TEXT(id) NAMES_FLEET_##id,
    NAMES_FLEET_TEXTS(TEXT)
#undef TEXT
        NAMES_FLEET_COUNT
} names_fleet_text;

/* Starts the server, whose address it returns; NULL: there is none on this machine. It ends with the process. */
const char *names_fleet_start(void);
/* Says all that there, in place of what was said before. Each text has a worker of its own, whose name ends with the text's number:
 * "w0" has a drawn host. `record`: a line of JSON, in which names are drawn. NULL: it is done; else why not. */
const char *names_fleet_say(const char *const text[NAMES_FLEET_COUNT], const char *record);
void names_fleet_stop(void);

#endif
