/* Relocations, by relocations.def. First, all relocations are checked, and the places that they need are counted. Then they are
 * written. */
#include <string.h>

#include "codegen/load/load_int.h"
#include "support/vec.h"

typedef enum target { SYMBOL, CALLEE, SLOT } target;
typedef enum value { ABSOLUTE, RELATIVE, PAGES } value;
typedef enum field { QUAD, UNSIGNED, SIGNED, WORD, ADR, LOW0, LOW1, LOW2, LOW3, LOW4, BRANCH14, BRANCH19, BRANCH26 } field;

typedef struct row {
    unsigned machine, type;
    target to;
    value value;
    field field;
} row;

static const row ROWS[] = {
#define RELOCATION(machine, type, to, value, field) {EM_##machine, type, to, value, field},
#include "codegen/load/relocations.def"
};

static const row *find_row(unsigned machine, unsigned type) {
    for (size_t i = 0; i < TC_LEN(ROWS); i++)
        if (ROWS[i].machine == machine && ROWS[i].type == type)
            return &ROWS[i];
    return NULL;
}

/* One relocation of a section that is loaded. */
typedef struct place {
    size_t section;
    uint64_t offset; /* in the section */
    int64_t addend;
    tc_load_symbol *symbol;
    const row *row;
} place;

/* ---- writing a value into its field ---- */

static bool fits_signed(int64_t v, int bits) {
    return v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1);
}

static void put_bits(unsigned char *at, uint32_t mask, uint32_t bits) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    word = (word & ~mask) | (bits & mask);
    memcpy(at, &word, sizeof word);
}

/* n bits of a distance in words, from bit `at_bit` on. */
static bool put_branch(unsigned char *at, int64_t v, int n, int at_bit) {
    if (v % 4 || !fits_signed(v / 4, n))
        return false;
    put_bits(at, (((uint32_t)1 << n) - 1) << at_bit, (uint32_t)(uint64_t)(v / 4) << at_bit);
    return true;
}

/* 2 bits from bit 29 on, and 19 from bit 5 on. */
static bool put_adr(unsigned char *at, int64_t v) {
    if (!fits_signed(v, 21))
        return false;
    uint32_t bits = (uint32_t)(uint64_t)v;
    put_bits(at, UINT32_C(0x60ffffe0), (bits & 3) << 29 | (bits >> 2 & 0x7ffff) << 5);
    return true;
}

static bool put_low(unsigned char *at, uint64_t v, int drop) {
    if (v & (((uint64_t)1 << drop) - 1))
        return false;
    put_bits(at, (uint32_t)0xfff << 10, (uint32_t)((v & 0xfff) >> drop) << 10);
    return true;
}

static bool put_word(unsigned char *at, uint64_t v, bool fits) {
    uint32_t word = (uint32_t)v;
    if (fits)
        memcpy(at, &word, sizeof word);
    return fits;
}

/* False: the value does not fit. */
static bool put(field f, unsigned char *at, uint64_t v) {
    const int64_t s = (int64_t)v;
    switch (f) {
    case QUAD:
        memcpy(at, &v, sizeof v);
        return true;
    case UNSIGNED:
        return put_word(at, v, v <= UINT32_MAX);
    case SIGNED:
        return put_word(at, v, fits_signed(s, 32));
    case WORD:
        return put_word(at, v, v <= UINT32_MAX || fits_signed(s, 32));
    case ADR:
        return put_adr(at, s);
    case LOW0:
    case LOW1:
    case LOW2:
    case LOW3:
    case LOW4:
        return put_low(at, v, (int)f - LOW0);
    case BRANCH14:
        return put_branch(at, s, 14, 5);
    case BRANCH19:
        return put_branch(at, s, 19, 5);
    case BRANCH26:
        return put_branch(at, s, 26, 0);
    }
    return false;
}

static bool is_in_instruction(field f) {
    return f >= ADR;
}

/* ---- reading and checking ---- */

static tc_status bad(const tc_load_file *f, size_t section, size_t i, const char *what, tc_error *err) {
    return tc_fail(err, TC_BAD_INPUT, "the object is damaged: relocation %zu of section %.60s %s", i,
                   tc_load_section_name(f, section), what);
}

/* p->row is NULL where there is nothing to do. */
static tc_status read_place(const tc_load_file *f, const Elf64_Shdr *list, size_t i, place *p, tc_error *err) {
    Elf64_Rela r;
    memcpy(&r, f->data + list->sh_offset + i * sizeof r, sizeof r);
    const unsigned type = (unsigned)ELF64_R_TYPE(r.r_info);
    const uint64_t symbol = ELF64_R_SYM(r.r_info);
    *p = (place){.section = list->sh_info, .offset = r.r_offset, .addend = r.r_addend, .row = find_row(f->machine, type)};
    if (type == 0) /* R_X86_64_NONE, R_AARCH64_NONE */
        return TC_OK;
    if (!p->row)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "relocation %zu of section %.60s has type %u, which this loader does not support", i,
                         tc_load_section_name(f, p->section), type);
    const Elf64_Shdr *in = &f->sections[p->section].h;
    const uint64_t bytes = p->row->field == QUAD ? 8 : 4;
    if (p->offset > in->sh_size || bytes > in->sh_size - p->offset)
        return bad(f, p->section, i, "lies outside the section", err);
    if (is_in_instruction(p->row->field) && (p->offset % 4 || f->sections[p->section].part != TC_LOAD_CODE))
        return bad(f, p->section, i, "is for an instruction, but no instruction can be there", err);
    if (symbol >= f->nsymbol)
        return bad(f, p->section, i, "needs a symbol that does not exist", err);
    p->symbol = &f->symbols[symbol];
    if (p->symbol->s.st_shndx == SHN_UNDEF && !*p->symbol->name)
        return bad(f, p->section, i, "needs a symbol that has neither a place nor a name", err);
    if (p->symbol->s.st_shndx != SHN_UNDEF && p->symbol->s.st_shndx != SHN_ABS && !tc_load_is_inside(f, p->symbol))
        return bad(f, p->section, i, "needs a symbol in a section that is not loaded", err);
    return TC_OK;
}

static tc_status check_list(const tc_load_file *f, const tc_load_section *list, tc_error *err) {
    const tc_load_section *to = &f->sections[list->h.sh_info];
    if (list->h.sh_type == SHT_REL)
        return tc_refuse(err, TC_ERROR_UNSUPPORTED,
                         "the object has relocations without addends, which this loader does not support");
    if (list->h.sh_entsize != sizeof(Elf64_Rela) || list->h.sh_size % sizeof(Elf64_Rela) || list->h.sh_link != f->table)
        return tc_fail(err, TC_BAD_INPUT,
                       "the object is damaged: the list of relocations of section %.60s does not have ELF's form",
                       tc_load_section_name(f, list->h.sh_info));
    if (to->h.sh_type == SHT_NOBITS)
        return tc_fail(err, TC_BAD_INPUT, "the object is damaged: section %.60s has relocations, but no content",
                       tc_load_section_name(f, list->h.sh_info));
    return TC_OK;
}

/* What is done with each relocation. */
typedef tc_status visit(const tc_load_file *f, tc_load_image *m, const place *p, tc_error *err);

static tc_status visit_list(const tc_load_file *f, const tc_load_section *list, visit *v, tc_load_image *m, tc_error *err) {
    TC_TRY(check_list(f, list, err));
    for (size_t i = 0; i < list->h.sh_size / sizeof(Elf64_Rela); i++) {
        place p;
        TC_TRY(read_place(f, &list->h, i, &p, err));
        if (p.row)
            TC_TRY(v(f, m, &p, err));
    }
    return TC_OK;
}

static tc_status visit_all(const tc_load_file *f, visit *v, tc_load_image *m, tc_error *err) {
    for (size_t i = 1; i < f->nsection; i++) {
        const tc_load_section *s = &f->sections[i];
        if (s->h.sh_type != SHT_RELA && s->h.sh_type != SHT_REL)
            continue;
        if (s->h.sh_info >= f->nsection)
            return tc_fail(err, TC_BAD_INPUT, "the object is damaged: it has relocations for a section that does not exist");
        if (f->sections[s->h.sh_info].part != TC_LOAD_LEFT_OUT)
            TC_TRY(visit_list(f, s, v, m, err));
    }
    return TC_OK;
}

static bool wants_stub(const tc_load_file *f, const place *p) {
    return p->row->to == CALLEE && !tc_load_is_inside(f, p->symbol);
}

static tc_status count(const tc_load_file *f, tc_load_image *m, const place *p, tc_error *err) {
    (void)err;
    tc_load_symbol *s = p->symbol;
    s->wanted = true;
    if ((p->row->to == SLOT || wants_stub(f, p)) && !s->slot)
        s->slot = ++m->nslot;
    if (wants_stub(f, p) && !s->stub)
        s->stub = ++m->nstub;
    return TC_OK;
}

tc_status tc_load_survey(tc_load_file *f, tc_load_image *m, tc_error *err) {
    return visit_all(f, count, m, err);
}

/* ---- slots and stubs ---- */

static uint64_t slot_of(const tc_load_image *m, const tc_load_symbol *s) {
    return (uint64_t)(uintptr_t)m->base + m->slots + (uint64_t)(s->slot - 1) * 8;
}

static uint64_t stub_of(const tc_load_image *m, const tc_load_symbol *s) {
    return (uint64_t)(uintptr_t)m->base + m->stubs + (uint64_t)(s->stub - 1) * TC_LOAD_STUB_BYTES;
}

static uint64_t page_of(uint64_t address) {
    return address & ~(uint64_t)0xfff;
}

/* Slots are within the image, whose size is limited, so they are in reach. */
static bool write_stub(const tc_load_file *f, const tc_load_image *m, const tc_load_symbol *s) {
    static const unsigned char X86[] = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc}; /* jmp *slot(%rip) */
    static const uint32_t ARM[] = {0x90000010, 0xf9400210, 0xd61f0200};      /* adrp x16; ldr x16, [x16, low]; br x16 */
    const uint64_t from = stub_of(m, s), to = slot_of(m, s);
    unsigned char *at = (unsigned char *)(uintptr_t)from;
    if (f->machine == EM_X86_64) {
        memcpy(at, X86, sizeof X86);
        return put(SIGNED, at + 2, to - (from + 6));
    }
    memcpy(at, ARM, sizeof ARM);
    return put(ADR, at, (uint64_t)((int64_t)(page_of(to) - page_of(from)) >> 12)) && put(LOW3, at + 4, to);
}

static tc_status write_slots(const tc_load_file *f, const tc_load_image *m, tc_error *err) {
    for (size_t i = 0; i < f->nsymbol; i++) {
        const tc_load_symbol *s = &f->symbols[i];
        if (s->slot)
            memcpy((void *)(uintptr_t)slot_of(m, s), &s->address, sizeof s->address);
        if (s->stub && !write_stub(f, m, s))
            return tc_fail(err, TC_BAD_INPUT, "the object's code is too far from its table of addresses");
    }
    return TC_OK;
}

/* ---- writing ---- */

static uint64_t value_of(const tc_load_file *f, const tc_load_image *m, const place *p, uint64_t at) {
    const tc_load_symbol *s = p->symbol;
    uint64_t to = (p->row->to == SLOT ? slot_of(m, s) : wants_stub(f, p) ? stub_of(m, s) : s->address) + (uint64_t)p->addend;
    switch (p->row->value) {
    case ABSOLUTE:
        return to;
    case RELATIVE:
        return to - at;
    case PAGES:
        return (uint64_t)((int64_t)(page_of(to) - page_of(at)) >> 12);
    }
    return to;
}

static tc_status write_place(const tc_load_file *f, tc_load_image *m, const place *p, tc_error *err) {
    unsigned char *at = m->base + f->sections[p->section].at + p->offset;
    if (put(p->row->field, at, value_of(f, m, p, (uint64_t)(uintptr_t)at)))
        return TC_OK;
    return tc_fail(err, TC_BAD_INPUT,
                   "section %.60s of the object cannot reach '%.100s' from offset %#llx (relocation of type %u)",
                   tc_load_section_name(f, p->section), p->symbol->name, (unsigned long long)p->offset, p->row->type);
}

tc_status tc_load_relocate(const tc_load_file *f, tc_load_image *m, tc_error *err) {
    TC_TRY(write_slots(f, m, err));
    return visit_all(f, write_place, m, err);
}
