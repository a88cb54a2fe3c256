/* Constants as an object file, streamed: networks' weights are too large to pass through an assembler.
 *
 * LLVM makes the object with a section of a few bytes, which has everything that the target requires of an object. Then the section
 * is made to point at the end of the file, and the bytes are appended there. Or the section has no bytes in the file, like zeros. A
 * linker that places it among other read-only data leaves a hole for it in the library (ld.bfd, lld), and the bytes are written
 * into the hole after linking. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "support/strbuf.h"

/* Pages of their own: the weights are mapped from the library's file, and share no page with what is written or relocated. */
enum { BLOB_ALIGN = 4096 };

/* Only x86-64 has sections for that, which linkers place behind everything else. */
bool tc_cg_blob_is_far(const tc_target *t, int64_t bytes) {
    return bytes > TC_CG_REACH / 2 && !strncmp(t->triple, "x86_64", 6);
}

static void add_section_name(tc_strbuf *b, const tc_cg_blob *c) {
    tc_sb_printf(b, ".%srodata.%s", tc_cg_blob_is_far(c->target, c->bytes) ? "l" : "", c->symbol);
}

static tc_status make_template(const tc_cg_blob *c, LLVMMemoryBufferRef *out, tc_error *err) {
    LLVMTargetMachineRef tm;
    TC_TRY(tc_cg_machine(c->target, true, &tm, err));
    const char *symbol = c->symbol;
    tc_strbuf b = {0};
    tc_sb_add(&b, ".section ");
    add_section_name(&b, c);
    tc_sb_printf(&b, ",\"a%s\",@progbits\n.balign %d\n.globl %s\n.type %s,@object\n.size %s,%lld\n%s:\n.zero 8\n",
                 tc_cg_blob_is_far(c->target, c->bytes) ? "l" : "", BLOB_ALIGN, symbol, symbol, symbol, (long long)c->bytes,
                 symbol);
    tc_sb_printf(&b,
                 ".section .rodata\n.balign 8\n.globl %s_size\n.type %s_size,@object\n.size %s_size,8\n%s_size:\n.quad %lld\n",
                 symbol, symbol, symbol, symbol, (long long)c->bytes);
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef mod = LLVMModuleCreateWithNameInContext(symbol, ctx);
    LLVMSetTarget(mod, c->target->triple);
    LLVMSetModuleInlineAsm2(mod, tc_sb_str(&b), b.len);
    char *msg = NULL;
    tc_status s = TC_OK;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, mod, LLVMObjectFile, &msg, out)) {
        s = tc_fail(err, TC_ENV, "constants '%s': %s", symbol, msg);
        LLVMDisposeMessage(msg);
    }
    LLVMDisposeModule(mod);
    LLVMContextDispose(ctx);
    LLVMDisposeTargetMachine(tm);
    tc_strbuf_free(&b);
    return s;
}

/* The header of section `name` in an ELF file of 64 bits, little-endian; NULL when there is none. */
static Elf64_Shdr *find_section(char *data, size_t size, const char *name) {
    Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)data;
    if (size < sizeof *h || memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
        h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_shoff + (uint64_t)h->e_shnum * sizeof(Elf64_Shdr) > size)
        return NULL;
    Elf64_Shdr *s = (Elf64_Shdr *)(void *)(data + h->e_shoff);
    const char *names = data + s[h->e_shstrndx].sh_offset;
    for (int i = 0; i < h->e_shnum; i++)
        if (!strcmp(names + s[i].sh_name, name))
            return &s[i];
    return NULL;
}

static tc_status write_failed(const char *out, int64_t bytes, tc_error *err) {
    return tc_fail(err, TC_ENV,
                   "%s: writing %lld bytes of constants failed: %s; free space there or set TMPDIR to a larger folder", out,
                   (long long)bytes, strerror(errno ? errno : ENOSPC));
}

/* The bytes, from `at` on; closes the file. */
static tc_status write_bytes(const tc_cg_blob *c, FILE *f, const char *out, int64_t at, tc_error *err) {
    bool ok = fseek(f, (long)at, SEEK_SET) == 0;
    tc_status s = ok ? c->fill(c->user, f, err) : write_failed(out, c->bytes, err);
    if (ok && s != TC_OK)
        tc_error_prefix(err, "%s: ", out);
    if (s == TC_OK && ftell(f) != at + c->bytes)
        s = write_failed(out, c->bytes, err);
    if (fclose(f) != 0 && s == TC_OK)
        s = write_failed(out, c->bytes, err);
    return s;
}

/* The template as it is, then, from `at` on, the bytes, unless that is 0. */
static tc_status write_object(const tc_cg_blob *c, const char *head, size_t size, int64_t at, const char *out, tc_error *err) {
    errno = 0;
    FILE *f = fopen(out, "wb");
    bool ok = f && fwrite(head, 1, size, f) == size;
    tc_status s = ok ? TC_OK : write_failed(out, c->bytes, err);
    if (ok && at)
        s = write_bytes(c, f, out, at, err);
    else if (f && fclose(f) != 0 && s == TC_OK)
        s = write_failed(out, c->bytes, err);
    if (s != TC_OK)
        remove(out);
    return s;
}

static tc_status write_blob(const tc_cg_blob *c, bool place, const char *out, tc_error *err) {
    LLVMMemoryBufferRef b;
    TC_TRY(make_template(c, &b, err));
    size_t size = LLVMGetBufferSize(b);
    char *head = tc_xmalloc(size);
    memcpy(head, LLVMGetBufferStart(b), size);
    LLVMDisposeMemoryBuffer(b);
    tc_strbuf name = {0};
    add_section_name(&name, c);
    Elf64_Shdr *section = find_section(head, size, tc_sb_str(&name));
    tc_strbuf_free(&name);
    tc_status s;
    if (section) {
        int64_t at = place ? 0 : ((int64_t)size + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
        section->sh_size = (uint64_t)c->bytes;
        if (place)
            section->sh_type = SHT_NOBITS;
        else
            section->sh_offset = (uint64_t)at;
        s = write_object(c, head, size, at, out, err);
    } else {
        s = tc_fail(
            err, TC_ENV,
            "target '%s': its objects are not 64-bit little-endian ELF files, and constants can be written to no other kind",
            c->target->text);
    }
    free(head);
    return s;
}

tc_status tc_cg_write_blob(const tc_cg_blob *c, const char *out, tc_error *err) {
    return write_blob(c, false, out, err);
}

tc_status tc_cg_write_blob_place(const tc_cg_blob *c, const char *out, tc_error *err) {
    return write_blob(c, true, out, err);
}

/* ---- a linked library ---- */

tc_status tc_cg_check_blob_fits(const tc_cg_blob *c, const char *library, tc_error *err) {
    errno = 0;
    int fd = open(library, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool fits = fd >= 0 && ftruncate(fd, c->bytes) == 0;
    tc_status s = fits ? TC_OK : write_failed(library, c->bytes, err);
    if (fd >= 0)
        close(fd);
    unlink(library);
    return s;
}

/* n bytes at `at` of the file, malloc'ed; NULL: it has no such bytes. */
static void *bytes_at(int fd, uint64_t at, uint64_t n) {
    enum { MOST = 64 << 20 }; /* of tables of sections and symbols */
    void *p = n > 0 && n <= MOST ? malloc(n) : NULL;
    if (p && pread(fd, p, n, (off_t)at) == (ssize_t)n)
        return p;
    free(p);
    return NULL;
}

/* Where in the file the symbol's bytes lie, from symbols of one table; 0: that does not say it, or the file has none for them. */
static int64_t offset_by(int fd, const tc_cg_blob *c, const Elf64_Ehdr *h, const Elf64_Shdr *sections, const Elf64_Shdr *table) {
    int64_t at = 0;
    uint64_t n = table->sh_size / sizeof(Elf64_Sym), length = 0;
    Elf64_Sym *symbols = bytes_at(fd, table->sh_offset, table->sh_size);
    char *names = NULL;
    if (table->sh_link < h->e_shnum) {
        length = sections[table->sh_link].sh_size;
        names = bytes_at(fd, sections[table->sh_link].sh_offset, length);
    }
    for (uint64_t i = 0; symbols && names && i < n; i++) {
        const Elf64_Sym *x = &symbols[i];
        if (x->st_name >= length || strncmp(names + x->st_name, c->symbol, length - x->st_name) != 0 || x->st_shndx >= h->e_shnum)
            continue;
        const Elf64_Shdr *in = &sections[x->st_shndx];
        uint64_t behind = x->st_value - in->sh_addr;
        if (in->sh_type == SHT_PROGBITS && behind <= in->sh_size && (uint64_t)c->bytes <= in->sh_size - behind)
            at = (int64_t)(in->sh_offset + behind);
    }
    free(symbols);
    free(names);
    return at;
}

static int64_t offset_in(int fd, const tc_cg_blob *c) {
    int64_t at = 0;
    Elf64_Ehdr h;
    if (pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
        h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB || h.e_shentsize != sizeof(Elf64_Shdr))
        return 0;
    Elf64_Shdr *sections = bytes_at(fd, h.e_shoff, (uint64_t)h.e_shnum * sizeof *sections);
    for (int i = 0; sections && i < h.e_shnum && at == 0; i++)
        if (sections[i].sh_type == SHT_SYMTAB)
            at = offset_by(fd, c, &h, sections, &sections[i]);
    free(sections);
    struct stat st;
    return fstat(fd, &st) == 0 && at + c->bytes <= st.st_size ? at : 0;
}

tc_status tc_cg_fill_blob_place(const tc_cg_blob *c, const char *library, bool *filled, tc_error *err) {
    errno = 0;
    FILE *f = fopen(library, "r+b");
    int64_t at = f ? offset_in(fileno(f), c) : 0;
    *filled = at > 0;
    if (!f)
        return write_failed(library, c->bytes, err);
    if (*filled)
        return write_bytes(c, f, library, at, err);
    fclose(f);
    return TC_OK;
}
