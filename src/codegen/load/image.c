/* The image of an object: where its sections go, the mapping, the addresses of its symbols, and what the pages may do in the
 * end. */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen/load/load_int.h"
#include "support/inputs.h"
#include "support/system/fs.h"
#include "support/vec.h"

/* Distances within an image fit in 32 bits with a sign. */
static const uint64_t MOST = TC_BYTES_OBJECT;

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64 };
#else
enum { MACHINE = EM_NONE }; /* relocations of others are not known */
#endif

/* ---- layout ---- */

/* `at` to a multiple of align, and n bytes from there; false: the image would be too large. */
static bool take(uint64_t *at, uint64_t align, uint64_t n, uint64_t *place) {
    if (align > 1)
        *at = (*at + align - 1) & ~(align - 1);
    *place = *at;
    if (*at > MOST || n > MOST - *at)
        return false;
    *at += n;
    return true;
}

static bool place_sections(tc_load_file *f, tc_load_part part, uint64_t *at) {
    for (size_t i = 1; i < f->nsection; i++) {
        tc_load_section *s = &f->sections[i];
        if (s->part == part && !take(at, s->h.sh_addralign, s->h.sh_size, &s->at))
            return false;
    }
    return true;
}

static tc_status lay_out(tc_load_file *f, tc_load_image *m, tc_error *err) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t at = 0;
    bool ok = true;
    for (int part = 0; part < TC_LOAD_NPARTS && ok; part++) {
        ok = take(&at, page, 0, &m->begin[part]) && place_sections(f, (tc_load_part)part, &at);
        if (ok && part == TC_LOAD_CODE)
            ok = take(&at, TC_LOAD_STUB_BYTES, (uint64_t)m->nstub * TC_LOAD_STUB_BYTES, &m->stubs);
        if (ok && part == TC_LOAD_CONSTANTS)
            ok = take(&at, 8, (uint64_t)m->nslot * 8, &m->slots);
    }
    if (!ok || !take(&at, page, 0, &m->begin[TC_LOAD_NPARTS]))
        return tc_refuse(err, TC_ERROR_UNSUPPORTED, "the object needs more than 1 GiB of memory");
    m->bytes = at;
    return TC_OK;
}

static tc_status map(const tc_load_file *f, tc_load_image *m, tc_error *err) {
    if (m->bytes == 0)
        return tc_fail(err, TC_BAD_INPUT, "the object has no section to load");
    void *base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED)
        return tc_fail(err, TC_ENV, "cannot map %zu bytes of memory for an object's code: %s", m->bytes, tc_fs_reason(errno));
    m->base = base;
    for (size_t i = 1; i < f->nsection; i++) {
        const tc_load_section *s = &f->sections[i];
        if (s->part != TC_LOAD_LEFT_OUT && s->h.sh_type != SHT_NOBITS && s->h.sh_size)
            memcpy(m->base + s->at, f->data + s->h.sh_offset, s->h.sh_size);
    }
    return TC_OK;
}

/* ---- symbols ---- */

/* RTLD_NEXT: what this library is linked with, also where the program that loaded it is not. */
static void *in_process(const char *name) {
    void *at = dlsym(RTLD_DEFAULT, name);
    return at ? at : dlsym(RTLD_NEXT, name);
}

static tc_status find_addresses(const tc_load_file *f, const tc_load_image *m, tc_error *err) {
    for (size_t i = 0; i < f->nsymbol; i++) {
        tc_load_symbol *s = &f->symbols[i];
        if (!s->wanted)
            continue;
        if (tc_load_is_inside(f, s))
            s->address = (uint64_t)(uintptr_t)m->base + f->sections[s->s.st_shndx].at + s->s.st_value;
        else if (s->s.st_shndx == SHN_ABS)
            s->address = s->s.st_value;
        else if (!(s->address = (uint64_t)(uintptr_t)in_process(s->name)))
            return tc_fail(err, TC_BAD_INPUT, "the object needs '%.200s', which this process does not define", s->name);
    }
    return TC_OK;
}

static bool is_export(const tc_load_file *f, const tc_load_symbol *s) {
    return ELF64_ST_BIND(s->s.st_info) != STB_LOCAL && *s->name && tc_load_is_inside(f, s);
}

static void note_exports(const tc_load_file *f, tc_load_image *m) {
    TC_VEC(struct tc_load_export) all = {0};
    for (size_t i = 0; i < f->nsymbol; i++) {
        const tc_load_symbol *s = &f->symbols[i];
        if (!is_export(f, s))
            continue;
        struct tc_load_export e = {tc_xstrdup(s->name), m->base + f->sections[s->s.st_shndx].at + s->s.st_value};
        tc_push(&all, e);
    }
    m->exports = all.data;
    m->nexport = all.len;
}

/* ---- protection ---- */

static tc_status protect(const tc_load_image *m, tc_error *err) {
    static const int MAY[] = {PROT_READ | PROT_EXEC, PROT_READ, PROT_READ | PROT_WRITE};
    for (int part = 0; part < TC_LOAD_NPARTS; part++) {
        const uint64_t n = m->begin[part + 1] - m->begin[part];
        if (n && mprotect(m->base + m->begin[part], n, MAY[part]))
            return tc_fail(err, TC_ENV, "the system refuses to make the object's code executable: %s", tc_fs_reason(errno));
    }
    return TC_OK;
}

/* ---- all of it ---- */

static tc_status fill(tc_load_file *f, tc_load_image *m, tc_error *err) {
    TC_TRY(tc_load_survey(f, m, err));
    TC_TRY(lay_out(f, m, err));
    TC_TRY(map(f, m, err));
    TC_TRY(find_addresses(f, m, err));
    TC_TRY(tc_load_relocate(f, m, err));
    char *code = (char *)m->base + m->begin[TC_LOAD_CODE];
    __builtin___clear_cache(code, code + (m->begin[TC_LOAD_CODE + 1] - m->begin[TC_LOAD_CODE]));
    note_exports(f, m);
    return protect(m, err);
}

tc_status tc_load_for(const void *object, size_t size, unsigned machine, tc_load_image **out, tc_error *err) {
    tc_load_file f;
    tc_load_image *m = tc_xcalloc(1, sizeof *m);
    tc_status s = tc_load_open(&f, object, size, machine, err);
    if (s == TC_OK)
        s = fill(&f, m, err);
    tc_load_close(&f);
    if (s == TC_OK)
        *out = m;
    else
        tc_load_free(m);
    return s;
}

tc_status tc_load_object(const void *object, size_t size, tc_load_image **out, tc_error *err) {
    return tc_load_for(object, size, MACHINE, out, err);
}

void *tc_load_find(const tc_load_image *m, const char *name) {
    for (size_t i = 0; i < m->nexport; i++)
        if (!strcmp(m->exports[i].name, name))
            return m->exports[i].at;
    return NULL;
}

void tc_load_free(tc_load_image *m) {
    if (!m)
        return;
    if (m->base)
        munmap(m->base, m->bytes);
    for (size_t i = 0; i < m->nexport; i++)
        free(m->exports[i].name);
    free(m->exports);
    free(m);
}
