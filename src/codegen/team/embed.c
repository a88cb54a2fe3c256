/* The compiled team.c, and its source, as bytes. */
#include "codegen/team/embed.h"

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        "tc_team_object_begin: .incbin \"" TCTUNE_TEAM_OBJECT "\"\n"
        "tc_team_object_end: .byte 0\n"
        "tc_team_text_begin: .incbin \"" TCTUNE_TEAM_SOURCE "\"\n"
        "tc_team_text_end: .byte 0\n"
        ".popsection\n");

extern const char tc_team_object_begin[] __attribute__((visibility("hidden")));
extern const char tc_team_object_end[] __attribute__((visibility("hidden")));
extern const char tc_team_text_begin[] __attribute__((visibility("hidden")));
extern const char tc_team_text_end[] __attribute__((visibility("hidden")));

void tc_team_object(const void **bytes, size_t *size) {
    *bytes = tc_team_object_begin;
    *size = (size_t)(tc_team_object_end - tc_team_object_begin);
}

void tc_team_text(const char **text, size_t *size) {
    *text = tc_team_text_begin;
    *size = (size_t)(tc_team_text_end - tc_team_text_begin);
}
