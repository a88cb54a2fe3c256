/* The parts of the page as bytes: page.html, page.css, D3 and the script. The build joins the files of D3 and the files of the
 * script. */
#include "report/page/page_int.h"

#define PART(name, file)                                                                                                         \
    __asm__(".pushsection .rodata\n"                                                                                             \
            "tc_page_" #name "_begin: .incbin \"" file "\"\n"                                                                    \
            "tc_page_" #name "_end: .byte 0\n"                                                                                   \
            ".popsection\n");                                                                                                    \
    extern const char tc_page_##name##_begin[] __attribute__((visibility("hidden")));                                            \
    extern const char tc_page_##name##_end[] __attribute__((visibility("hidden")));

PART(markup, TCTUNE_PAGE_MARKUP)
PART(style, TCTUNE_PAGE_STYLE)
PART(d3, TCTUNE_PAGE_D3)
PART(script, TCTUNE_PAGE_SCRIPT)

const char *page_part_of(page_part part, size_t *size) {
    const struct {
        const char *begin, *end;
    } parts[] = {[PAGE_MARKUP] = {tc_page_markup_begin, tc_page_markup_end},
                 [PAGE_STYLE] = {tc_page_style_begin, tc_page_style_end},
                 [PAGE_D3] = {tc_page_d3_begin, tc_page_d3_end},
                 [PAGE_SCRIPT] = {tc_page_script_begin, tc_page_script_end}};
    *size = (size_t)(parts[part].end - parts[part].begin);
    return parts[part].begin;
}
