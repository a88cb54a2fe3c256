/* Constants as an object file, streamed: networks' weights are too large to pass through an assembler.
 *
 * LLVM makes the object with a section of a few bytes, which carries whatever the target asks of an object; the section is then
 * pointed at the end of the file, where the bytes themselves are appended. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/artefacts/artefacts_int.h"
#include "codegen/artefacts/library.h"
#include "support/strbuf.h"

/* Pages of their own: the weights are mapped from the library's file, and share no page with what is written or relocated. */
enum { BLOB_ALIGN = 4096 };

static tc_status make_template(const tc_target *t, const char *symbol, int64_t bytes, LLVMMemoryBufferRef *out, tc_error *err) {
    LLVMTargetMachineRef tm;
    TC_TRY(tc_cg_machine(t, true, &tm, err));
    tc_strbuf b = {0};
    tc_sb_printf(&b,
                 ".section .rodata.%s,\"a\",@progbits\n.balign %d\n.globl %s\n.type %s,@object\n.size %s,%lld\n%s:\n.zero 8\n",
                 symbol, BLOB_ALIGN, symbol, symbol, symbol, (long long)bytes, symbol);
    tc_sb_printf(&b,
                 ".section .rodata\n.balign 8\n.globl %s_size\n.type %s_size,@object\n.size %s_size,8\n%s_size:\n.quad %lld\n",
                 symbol, symbol, symbol, symbol, (long long)bytes);
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef mod = LLVMModuleCreateWithNameInContext(symbol, ctx);
    LLVMSetTarget(mod, t->triple);
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

static tc_status write_file(const char *out, const char *head, size_t size, int64_t at, int64_t bytes, tc_cg_fill *fill,
                            void *user, tc_error *err) {
    FILE *f = fopen(out, "wb");
    errno = 0;
    bool ok = f && fwrite(head, 1, size, f) == size && fseek(f, (long)at, SEEK_SET) == 0;
    tc_status s = ok ? fill(user, f, err) : write_failed(out, bytes, err);
    if (ok && s != TC_OK)
        tc_error_prefix(err, "%s: ", out);
    if (s == TC_OK && ftell(f) != at + bytes)
        s = write_failed(out, bytes, err);
    if (f && fclose(f) != 0 && s == TC_OK)
        s = write_failed(out, bytes, err);
    if (s != TC_OK)
        remove(out);
    return s;
}

tc_status tc_cg_write_blob(const tc_target *t, const char *symbol, int64_t bytes, tc_cg_fill *fill, void *user, const char *out,
                           tc_error *err) {
    LLVMMemoryBufferRef b;
    TC_TRY(make_template(t, symbol, bytes, &b, err));
    size_t size = LLVMGetBufferSize(b);
    char *head = tc_xmalloc(size);
    memcpy(head, LLVMGetBufferStart(b), size);
    LLVMDisposeMemoryBuffer(b);
    tc_strbuf name = {0};
    tc_sb_printf(&name, ".rodata.%s", symbol);
    Elf64_Shdr *section = find_section(head, size, tc_sb_str(&name));
    tc_strbuf_free(&name);
    tc_status s;
    if (section) {
        int64_t at = ((int64_t)size + BLOB_ALIGN - 1) / BLOB_ALIGN * BLOB_ALIGN;
        section->sh_offset = (uint64_t)at;
        section->sh_size = (uint64_t)bytes;
        s = write_file(out, head, size, at, bytes, fill, user, err);
    } else {
        s = tc_fail(err, TC_ENV,
                    "target '%s': its objects are not 64-bit little-endian ELF files, the only kind that constants "
                    "are written to",
                    t->text);
    }
    free(head);
    return s;
}
