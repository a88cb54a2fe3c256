/* An ELF file that is nothing but the note of a library, with any text. */
#ifndef TC_TESTS_COMMON_NOTE_FILE_H
#define TC_TESTS_COMMON_NOTE_FILE_H

#include <elf.h>
#include <string.h>

#include "codegen/artefacts/library.h"
#include "support/strbuf.h"

static inline void note_file(const char *text, size_t size, tc_strbuf *out) {
    static const char owner[8] = TC_CG_NOTE_OWNER;
    Elf64_Nhdr note = {.n_namesz = sizeof TC_CG_NOTE_OWNER, .n_descsz = (Elf64_Word)size + 1, .n_type = TC_CG_NOTE_TYPE};
    uint64_t padded = (size + 1 + 3) / 4 * 4, bytes = sizeof note + sizeof owner + padded;
    Elf64_Phdr segment = {.p_type = PT_NOTE, .p_offset = sizeof(Elf64_Ehdr) + sizeof segment, .p_filesz = bytes, .p_align = 4};
    Elf64_Ehdr head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
                       .e_type = ET_DYN,
                       .e_phoff = sizeof head,
                       .e_phentsize = sizeof segment,
                       .e_phnum = 1};
    tc_sb_addn(out, (const char *)&head, sizeof head);
    tc_sb_addn(out, (const char *)&segment, sizeof segment);
    tc_sb_addn(out, (const char *)&note, sizeof note);
    tc_sb_addn(out, owner, sizeof owner);
    tc_sb_addn(out, text, size);
    tc_sb_addn(out, "\0\0\0\0", padded - size);
}

#endif
