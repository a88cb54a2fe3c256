/* What a library says of itself, in a note of its ELF file: written here, and read from the file, because loading a library
 * already runs its code. Sizes and places in the file are checked, not believed. */
#include "codegen/artefacts/library.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "support/inputs.h"
#include "support/system/fs.h"
#include "support/vec.h"

/* Of all segments together, which may lie in one place. */
static const uint64_t MOST_NOTES = TC_BYTES_NOTE;

typedef struct elf_file {
    const char *path;
    int fd;
    uint64_t size, notes; /* notes: bytes of them that were read */
    Elf64_Ehdr head;
} elf_file;

tc_status tc_cg_not_a_library(const char *path, const char *why, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: this is not a library that tctune built (%s); build one with `tctune build --model M.onnx --out M.so`",
                   path, why);
}

static tc_status cut_short(const elf_file *f, uint64_t want, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT,
                   "%s: the file is truncated: its headers describe %llu bytes, but it has %llu; copy it again, or build it "
                   "again with `tctune build`",
                   f->path, (unsigned long long)want, (unsigned long long)f->size);
}

static bool get(const elf_file *f, uint64_t at, void *to, size_t n) {
    return at <= f->size && n <= f->size - at && pread(f->fd, to, n, (off_t)at) == (ssize_t)n;
}

/* The end of `n` things of a size, UINT64_MAX where there is none. */
static uint64_t end_of(uint64_t at, uint64_t n, uint64_t size) {
    uint64_t bytes, end;
    return __builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(at, bytes, &end) ? UINT64_MAX : end;
}

static tc_status open_elf(elf_file *f, tc_error *err) {
    size_t size;
    TC_TRY(tc_fs_open(f->path, &f->fd, &size, err));
    f->size = size;
    if (!get(f, 0, &f->head, sizeof f->head) || memcmp(f->head.e_ident, ELFMAG, SELFMAG) != 0)
        return tc_cg_not_a_library(f->path, "it is no ELF file", err);
    if (f->head.e_ident[EI_CLASS] != ELFCLASS64 || f->head.e_ident[EI_DATA] != ELFDATA2LSB || f->head.e_type != ET_DYN ||
        f->head.e_phentsize != sizeof(Elf64_Phdr))
        return tc_cg_not_a_library(f->path, "it is no shared library of a 64-bit little-endian machine", err);
    uint64_t end = end_of(f->head.e_phoff, f->head.e_phnum, sizeof(Elf64_Phdr)),
             sections = end_of(f->head.e_shoff, f->head.e_shnum, f->head.e_shentsize);
    end = end > sections ? end : sections;
    return end > f->size ? cut_short(f, end, err) : TC_OK;
}

static uint64_t padded(uint64_t n, uint64_t align) {
    return (n + align - 1) / align * align;
}

/* Our note among those of one segment: a text with its NUL, inside of `notes`. */
static const char *find_note(const char *notes, size_t size, uint64_t align) {
    while (size >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr n;
        memcpy(&n, notes, sizeof n);
        uint64_t text = padded(sizeof n + (uint64_t)n.n_namesz, align), end = padded(text + n.n_descsz, align);
        if (text + n.n_descsz > size)
            return NULL;
        if (n.n_type == TC_CG_NOTE_TYPE && n.n_namesz == sizeof TC_CG_NOTE_OWNER &&
            !memcmp(notes + sizeof n, TC_CG_NOTE_OWNER, sizeof TC_CG_NOTE_OWNER) && n.n_descsz > 0 &&
            notes[text + n.n_descsz - 1] == 0)
            return notes + text;
        if (end >= size)
            return NULL;
        notes += end;
        size -= end;
    }
    return NULL;
}

/* *text stays NULL where the segment has no note of ours. */
_Static_assert(TC_BYTES_NOTE == 32 << 20, "what the message says");
static tc_status read_notes(elf_file *f, const Elf64_Phdr *p, char **text, tc_error *err) {
    if (p->p_filesz > MOST_NOTES - f->notes)
        return tc_cg_not_a_library(f->path, "its notes are too long: more than 32 MiB", err);
    f->notes += p->p_filesz;
    char *notes = malloc(p->p_filesz + 1);
    if (!notes || !get(f, p->p_offset, notes, p->p_filesz)) {
        free(notes);
        return tc_fail(err, TC_ENV, "%s: %llu bytes of notes cannot be read", f->path, (unsigned long long)p->p_filesz);
    }
    const char *found = find_note(notes, p->p_filesz, p->p_align == 8 ? 8 : 4);
    *text = found ? strdup(found) : NULL;
    free(notes);
    return TC_OK;
}

/* All that the headers speak of must be there: the system's loader maps what is missing, and the program dies of it later. */
static tc_status read_segments(elf_file *f, char **text, tc_error *err) {
    for (int i = 0; i < f->head.e_phnum; i++) {
        Elf64_Phdr p;
        if (!get(f, f->head.e_phoff + (uint64_t)i * sizeof p, &p, sizeof p))
            return tc_fail(err, TC_ENV, "%s: its headers cannot be read", f->path);
        uint64_t end = end_of(p.p_offset, p.p_filesz, 1);
        if ((p.p_type == PT_LOAD || p.p_type == PT_NOTE) && end > f->size)
            return cut_short(f, end, err);
        if (p.p_type == PT_NOTE && !*text)
            TC_TRY(read_notes(f, &p, text, err));
    }
    return *text ? TC_OK : tc_cg_not_a_library(f->path, "it has no note of tctune", err);
}

tc_status tc_cg_read_metadata(const char *path, char **text, tc_error *err) {
    elf_file f = {.path = path, .fd = -1};
    *text = NULL;
    tc_status s = open_elf(&f, err);
    if (s == TC_OK)
        s = read_segments(&f, text, err);
    if (f.fd >= 0)
        close(f.fd);
    if (s != TC_OK) {
        free(*text);
        *text = NULL;
    }
    return s;
}

/* ---- writing ---- */

/* The ELF format's: the lengths of owner and text, a type, then both, each padded to 4 bytes. The symbol stands for the text. */
tc_status tc_cg_emit_metadata(const tc_target *t, const char *symbol, const char *text, void **obj, size_t *size, tc_error *err) {
    static const char owner[8] = TC_CG_NOTE_OWNER; /* padded */
    uint32_t bytes = (uint32_t)strlen(text) + 1, pad = (4 - bytes % 4) % 4;
    int64_t stack;
    tc_cg unit, *g = &unit;
    TC_TRY(tc_cg_open_unit(g, t, symbol, err));
    tc_val parts[] = {LLVMConstInt(g->i32, sizeof TC_CG_NOTE_OWNER, 0),
                      LLVMConstInt(g->i32, bytes, 0),
                      LLVMConstInt(g->i32, TC_CG_NOTE_TYPE, 0),
                      LLVMConstStringInContext(g->ctx, owner, sizeof owner, 1),
                      LLVMConstStringInContext(g->ctx, text, bytes - 1, 0),
                      LLVMConstNull(LLVMArrayType2(g->i8, pad))};
    tc_val note = LLVMConstStructInContext(g->ctx, parts, TC_LEN(parts), 1),
           whole = LLVMAddGlobal(g->mod, LLVMTypeOf(note), "note");
    tc_val at[] = {LLVMConstInt(g->i32, 0, 0), LLVMConstInt(g->i32, 4, 0)};
    LLVMSetInitializer(whole, note);
    LLVMSetAlignment(whole, 4);
    LLVMSetLinkage(whole, LLVMInternalLinkage);
    LLVMSetGlobalConstant(whole, 1);
    LLVMSetSection(whole, ".note." TC_CG_NOTE_OWNER);
    LLVMAddAlias2(g->mod, LLVMTypeOf(parts[4]), 0, LLVMConstInBoundsGEP2(LLVMTypeOf(note), whole, at, 2), symbol);
    return tc_cg_close_unit(g, obj, size, &stack);
}
