/* The compiled profile.c, as bytes. */
#include "codegen/profile/profile.h"

__asm__(".pushsection .rodata\n"
        ".balign 64\n"
        "tc_cg_profile_begin: .incbin \"" TCTUNE_PROFILE_OBJECT "\"\n"
        "tc_cg_profile_end: .byte 0\n"
        ".popsection\n");

extern const char tc_cg_profile_begin[] __attribute__((visibility("hidden")));
extern const char tc_cg_profile_end[] __attribute__((visibility("hidden")));

void tc_cg_profile_object(const void **bytes, size_t *size) {
    *bytes = tc_cg_profile_begin;
    *size = (size_t)(tc_cg_profile_end - tc_cg_profile_begin);
}
