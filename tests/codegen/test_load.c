/* The loader of objects: what each relocation becomes, in code that runs here and in AArch64's instructions, which are taken
 * apart again; what pages may do; and objects that are damaged, field by field and byte by byte, of which none may do harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "codegen/load/load_int.h"
#include "load_object.h"
#include "support/vec.h"

static tc_load_image *loaded(const object *o) {
    tc_load_image *m = NULL;
    tc_error err = {0};
    if (tc_load_for(o, sizeof *o, o->head.e_machine, &m, &err) != TC_OK)
        fail_msg("%s", err.msg);
    return m;
}

static uint64_t address(const tc_load_image *m, const char *name) {
    void *at = tc_load_find(m, name);
    assert_non_null(at);
    return (uint64_t)(uintptr_t)at;
}

/* ---- x86-64: code that runs ---- */

typedef struct code {
    const char *bytes;
    size_t n;
    int at; /* of the relocation */
    unsigned symbol, type;
    int64_t addend;
    long argument, result;
} code;

#define CODE(bytes, at, symbol, type, addend, argument, result)                                                                  \
    { bytes, sizeof bytes - 1, at, symbol, type, addend, argument, result }

static const code CODES[] = {
    /* mov eax, [rip + ...] of constants; of data */
    CODE("\x8b\x05\0\0\0\0\xc3", 2, RODATA_START, R_X86_64_PC32, 8 - 4, 0, 1234),
    CODE("\x8b\x05\0\0\0\0\xc3", 2, VALUE, R_X86_64_PC32, -4, 0, 77),
    /* call of what is far away, and of what is here */
    CODE("\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", 5, LABS, R_X86_64_PLT32, -4, -5, 5),
    CODE("\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", 5, INNER, R_X86_64_PLT32, -4, 8, 9),
    CODE("\x48\x83\xec\x08\xe8\0\0\0\0\x48\x83\xc4\x08\xc3", 5, INNER, R_X86_64_PC32, -4, 8, 9),
    /* jmp *[rip + ...]; mov rax, [rip + ...], and what is there */
    CODE("\xff\x25\0\0\0\0", 2, LABS, R_X86_64_GOTPCRELX, -4, -6, 6),
    CODE("\xff\x25\0\0\0\0", 2, INNER, R_X86_64_GOTPCREL, -4, -6, -5),
    CODE("\x48\x8b\x05\0\0\0\0\x48\x8b\x00\xc3", 3, VALUE, R_X86_64_REX_GOTPCRELX, -4, 0, 77),
    /* movabs rax, and what is there; the same by a distance */
    CODE("\x48\xb8\0\0\0\0\0\0\0\0\x48\x8b\x00\xc3", 2, VALUE, R_X86_64_64, 0, 0, 77),
    CODE("\x48\x8d\x05\0\0\0\0\x48\xba\0\0\0\0\0\0\0\0\x48\x01\xd0\x48\x8b\x00\xc3", 9, VALUE, R_X86_64_PC64, 2, 0, 77),
    /* numbers */
    CODE("\xb8\0\0\0\0\xc3", 1, SEVEN, R_X86_64_32, 3, 0, 10),
    CODE("\x48\xc7\xc0\0\0\0\0\xc3", 3, SEVEN, R_X86_64_32S, -10, 0, -3),
};

static void code_runs(void **state) {
    (void)state;
#ifdef __x86_64__
    for (size_t i = 0; i < TC_LEN(CODES); i++) {
        const code *c = &CODES[i];
        object o;
        object_make(&o, EM_X86_64);
        memcpy(o.text, c->bytes, c->n);
        memcpy(o.text + INNER_AT, "\x48\x8d\x47\x01\xc3", 5); /* lea rax, [rdi + 1] */
        object_relocate(&o, 0, (uint64_t)c->at, c->symbol, c->type, c->addend);
        tc_load_image *m;
        tc_error err = {0};
        assert_int_equal(tc_load_object(&o, sizeof o, &m, &err), TC_OK);
        long (*f)(long) = (long (*)(long))(uintptr_t)address(m, "start");
        if (f(c->argument) != c->result)
            fail_msg("code %zu: %ld of %ld, not %ld", i, f(c->argument), c->argument, c->result);
        tc_load_free(m);
    }
#endif
}

/* mov [rip + memory], rdi; mov rax, [rip + memory]; memory begins with zeros, and data may hold addresses. */
static void memory_is_written(void **state) {
    (void)state;
#ifdef __x86_64__
    object o;
    object_make(&o, EM_X86_64);
    memcpy(o.text, "\x48\x8b\x05\0\0\0\0\x48\x89\x3d\0\0\0\0\xc3", 15);
    object_relocate(&o, 0, 3, MEMORY, R_X86_64_PC32, -4);
    object_relocate(&o, 1, 10, MEMORY, R_X86_64_PC32, -4);
    o.data_rela[0] = (Elf64_Rela){.r_offset = 24, .r_info = ELF64_R_INFO((uint64_t)VALUE, R_X86_64_64), .r_addend = 1};
    tc_load_image *m = loaded(&o);
    long (*swap)(long) = (long (*)(long))(uintptr_t)address(m, "start");
    assert_int_equal(swap(41), 0);
    assert_int_equal(swap(42), 41);
    uint64_t there;
    memcpy(&there, (char *)tc_load_find(m, "value") + 8, sizeof there);
    assert_true(there == address(m, "value") + 1);
    tc_load_free(m);
#endif
}

/* ---- AArch64: instructions taken apart ---- */

typedef enum shape { S_ADR, S_ADRP, S_LOW, S_B26, S_B19, S_B14, S_WORD32, S_WORD64 } shape;

static int64_t extended(uint64_t v, int bits) {
    return (int64_t)(v << (64 - bits)) >> (64 - bits);
}

/* What is at `at` says where it leads. `drop`: the low bits that are not written. */
static uint64_t taken_apart(shape s, uint64_t at, int drop) {
    uint32_t w;
    uint64_t q;
    memcpy(&w, (void *)(uintptr_t)at, sizeof w);
    const int64_t adr = extended((uint64_t)(w >> 5 & 0x7ffff) << 2 | (w >> 29 & 3), 21);
    switch (s) {
    case S_ADR:
        return at + (uint64_t)adr;
    case S_ADRP:
        return (at & ~(uint64_t)0xfff) + ((uint64_t)adr << 12);
    case S_LOW:
        return (uint64_t)(w >> 10 & 0xfff) << drop;
    case S_B26:
        return at + (uint64_t)extended((uint64_t)(w & 0x3ffffff) << 2, 28);
    case S_B19:
        return at + (uint64_t)extended((uint64_t)(w >> 5 & 0x7ffff) << 2, 21);
    case S_B14:
        return at + (uint64_t)extended((uint64_t)(w >> 5 & 0x3fff) << 2, 16);
    case S_WORD32:
        return at + (uint64_t)extended(w, 32);
    case S_WORD64:
        memcpy(&q, (void *)(uintptr_t)at, sizeof q);
        return q;
    }
    return 0;
}

static void instructions_of_aarch64(void **state) {
    (void)state;
    static const struct {
        unsigned type;
        shape shape;
        int drop;
        uint64_t mask; /* the bits of the address that it says */
    } ROWS[] = {
        {R_AARCH64_ADR_PREL_LO21, S_ADR, 0, ~UINT64_C(0)}, {R_AARCH64_ADR_PREL_PG_HI21, S_ADRP, 0, ~UINT64_C(0xfff)},
        {R_AARCH64_ADD_ABS_LO12_NC, S_LOW, 0, 0xfff},      {R_AARCH64_LDST8_ABS_LO12_NC, S_LOW, 0, 0xfff},
        {R_AARCH64_LDST16_ABS_LO12_NC, S_LOW, 1, 0xfff},   {R_AARCH64_LDST32_ABS_LO12_NC, S_LOW, 2, 0xfff},
        {R_AARCH64_LDST64_ABS_LO12_NC, S_LOW, 3, 0xfff},   {R_AARCH64_LDST128_ABS_LO12_NC, S_LOW, 4, 0xfff},
        {R_AARCH64_CALL26, S_B26, 0, ~UINT64_C(0)},        {R_AARCH64_JUMP26, S_B26, 0, ~UINT64_C(0)},
        {R_AARCH64_CONDBR19, S_B19, 0, ~UINT64_C(0)},      {R_AARCH64_LD_PREL_LO19, S_B19, 0, ~UINT64_C(0)},
        {R_AARCH64_TSTBR14, S_B14, 0, ~UINT64_C(0)},       {R_AARCH64_PREL32, S_WORD32, 0, ~UINT64_C(0)},
        {R_AARCH64_ABS64, S_WORD64, 0, ~UINT64_C(0)},
    };
    for (size_t i = 0; i < TC_LEN(ROWS); i++)
        for (int64_t addend = -16; addend <= 32; addend += 16) {
            object o;
            object_make(&o, EM_AARCH64);
            object_relocate(&o, 0, 8, VALUE, ROWS[i].type, addend);
            tc_load_image *m = loaded(&o);
            const uint64_t to = address(m, "value") + (uint64_t)addend;
            const uint64_t says = taken_apart(ROWS[i].shape, address(m, "start") + 8, ROWS[i].drop);
            if (says != (to & ROWS[i].mask))
                fail_msg("relocation %u: leads to %#llx, not to %#llx", ROWS[i].type, (unsigned long long)says,
                         (unsigned long long)to);
            tc_load_free(m);
        }
}

/* Bits of an instruction that are not its operand's stay as they were. */
static void other_bits_stay(void **state) {
    (void)state;
    static const struct {
        unsigned type;
        uint32_t others;
    } ROWS[] = {{R_AARCH64_ADR_PREL_PG_HI21, 0x9f00001f},
                {R_AARCH64_ADD_ABS_LO12_NC, 0xffc003ff},
                {R_AARCH64_CALL26, 0xfc000000},
                {R_AARCH64_CONDBR19, 0xff00001f},
                {R_AARCH64_TSTBR14, 0xfff8001f}};
    for (size_t i = 0; i < TC_LEN(ROWS); i++)
        for (int ones = 0; ones < 2; ones++) {
            object o;
            uint32_t now;
            object_make(&o, EM_AARCH64);
            memset(o.text + 8, ones ? 0xff : 0, 4);
            object_relocate(&o, 0, 8, VALUE, ROWS[i].type, 0);
            tc_load_image *m = loaded(&o);
            memcpy(&now, (char *)tc_load_find(m, "start") + 8, sizeof now);
            assert_int_equal(now & ROWS[i].others, ones ? ROWS[i].others : 0);
            tc_load_free(m);
        }
}

static uint64_t quad(uint64_t at) {
    return taken_apart(S_WORD64, at, 0);
}

/* A call goes to a stub, which goes on by way of the table of addresses: adrp x16; ldr x16, [x16, low]; br x16. */
static void far_callees_of_aarch64(void **state) {
    (void)state;
    object o;
    uint32_t w[3];
    object_make(&o, EM_AARCH64);
    object_relocate(&o, 0, 0, LABS, R_AARCH64_CALL26, 0);
    object_relocate(&o, 1, 4, LABS, R_AARCH64_ADR_GOT_PAGE, 0);
    object_relocate(&o, 2, 8, LABS, R_AARCH64_LD64_GOT_LO12_NC, 0);
    tc_load_image *m = loaded(&o);
    const uint64_t start = address(m, "start"), stub = taken_apart(S_B26, start, 0);
    memcpy(w, (void *)(uintptr_t)stub, sizeof w);
    assert_int_equal(w[0] & 0x9f00001f, 0x90000010);
    assert_int_equal(w[1] & 0xffc003ff, 0xf9400210);
    assert_int_equal(w[2], 0xd61f0200);
    const uint64_t slot = taken_apart(S_ADRP, stub, 0) + taken_apart(S_LOW, stub + 4, 3);
    assert_true(quad(slot) == (uint64_t)(uintptr_t)labs);
    assert_true(slot == taken_apart(S_ADRP, start + 4, 0) + taken_apart(S_LOW, start + 8, 3));
    assert_int_equal(m->nslot, 1);
    assert_int_equal(m->nstub, 1);
    tc_load_free(m);
}

/* ---- what does not fit ---- */

static void refuses(const void *o, size_t size, unsigned machine, const char *says, bool unsupported) {
    tc_load_image *m = NULL;
    tc_error err = {0};
    if (tc_load_for(o, size, machine, &m, &err) == TC_OK)
        fail_msg("loaded, but should say '%s'", says);
    assert_int_equal(err.status, TC_BAD_INPUT);
    if (!strstr(err.msg, says) || tc_error_unsupported(&err) != unsupported)
        fail_msg("says '%s', not '%s'", err.msg, says);
    assert_null(m);
}

static void out_of_reach(void **state) {
    (void)state;
    static const struct {
        unsigned machine, type, symbol;
        int64_t addend;
    } ROWS[] = {{EM_X86_64, R_X86_64_PC32, VALUE, INT64_C(1) << 33},
                {EM_X86_64, R_X86_64_PLT32, LABS, -(INT64_C(1) << 33)},
                {EM_X86_64, R_X86_64_32, SEVEN, -8},
                {EM_X86_64, R_X86_64_32, SEVEN, INT64_C(1) << 32},
                {EM_X86_64, R_X86_64_32S, SEVEN, INT64_C(1) << 31},
                {EM_AARCH64, R_AARCH64_CALL26, VALUE, 1 << 28},
                {EM_AARCH64, R_AARCH64_CALL26, VALUE, 2},
                {EM_AARCH64, R_AARCH64_CONDBR19, VALUE, 1 << 21},
                {EM_AARCH64, R_AARCH64_TSTBR14, VALUE, 1 << 17},
                {EM_AARCH64, R_AARCH64_ADR_PREL_LO21, VALUE, 1 << 21},
                {EM_AARCH64, R_AARCH64_ADR_PREL_PG_HI21, VALUE, INT64_C(1) << 33},
                {EM_AARCH64, R_AARCH64_LDST16_ABS_LO12_NC, VALUE, 1},
                {EM_AARCH64, R_AARCH64_LDST128_ABS_LO12_NC, VALUE, 8},
                {EM_AARCH64, R_AARCH64_ABS32, SEVEN, INT64_C(1) << 32}};
    for (size_t i = 0; i < TC_LEN(ROWS); i++) {
        object o;
        object_make(&o, ROWS[i].machine);
        object_relocate(&o, 0, 8, ROWS[i].symbol, ROWS[i].type, ROWS[i].addend);
        refuses(&o, sizeof o, ROWS[i].machine, "cannot reach", false);
    }
}

static void missing_callee(void **state) {
    (void)state;
    object o;
    object_make(&o, EM_X86_64);
    o.symbol[LABS].st_name = object_name(&o, "no_such_function_anywhere");
    tc_load_free(loaded(&o)); /* nothing wants it */
    object_relocate(&o, 0, 8, LABS, R_X86_64_PLT32, -4);
    refuses(&o, sizeof o, EM_X86_64, "needs 'no_such_function_anywhere'", false);
}

/* ---- pages ---- */

static void pages_say(uint64_t at, const char *expected) {
    FILE *f = fopen("/proc/self/maps", "r");
    char line[512], may[8] = "";
    unsigned long long from, to;
    assert_non_null(f);
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "%llx-%llx %7s", &from, &to, may) == 3 && at >= from && at < to)
            break;
    fclose(f);
    assert_string_equal(may, expected);
}

static void nothing_is_writable_and_code(void **state) {
    (void)state;
    object o;
    object_make(&o, EM_X86_64);
    object_relocate(&o, 0, 8, LABS, R_X86_64_PLT32, -4);
    tc_load_image *m = loaded(&o);
    const uint64_t base = (uint64_t)(uintptr_t)m->base;
    pages_say(base + m->begin[TC_LOAD_CODE], "r-xp");
    pages_say(base + m->stubs, "r-xp");
    pages_say(base + m->begin[TC_LOAD_CONSTANTS], "r--p");
    pages_say(base + m->slots, "r--p");
    pages_say(base + m->begin[TC_LOAD_DATA], "rw-p");
    pages_say(base + m->bytes - 1, "rw-p");
    assert_null(tc_load_find(m, "inner"));
    assert_null(tc_load_find(m, "labs"));
    tc_load_free(m);
}

/* ---- damage ---- */

typedef struct damage {
    size_t at, bytes;
    uint64_t value;
    const char *says;
    bool unsupported;
} damage;

#define FIELD(field, value, says, unsupported)                                                                                   \
    { offsetof(object, field), sizeof((object *)0)->field, value, says, unsupported }

static const damage DAMAGES[] = {
    FIELD(head.e_ident[0], 0, "does not begin like an ELF file", false),
    FIELD(head.e_ident[EI_CLASS], ELFCLASS32, "64-bit little-endian", false),
    FIELD(head.e_ident[EI_DATA], ELFDATA2MSB, "64-bit little-endian", false),
    FIELD(head.e_ident[EI_VERSION], 2, "version 1", false),
    FIELD(head.e_type, ET_DYN, "ELF of type 3", false),
    FIELD(head.e_machine, EM_RISCV, "ELF machine 243", true),
    FIELD(head.e_shentsize, 40, "size of its section headers", false),
    FIELD(head.e_shnum, 0, "0 sections", true),
    FIELD(head.e_shnum, 0xffff, "65535 sections", true),
    FIELD(head.e_shnum, 1000, "outside of it", false),
    FIELD(head.e_shoff, sizeof(object), "outside of it", false),
    FIELD(head.e_shoff, UINT64_MAX - 8, "outside of it", false),
    FIELD(head.e_shstrndx, 200, "names", false),
    FIELD(head.e_shstrndx, TEXT, "names", false),
    FIELD(section[TEXT].sh_name, 4000, "name of its section 1", false),
    FIELD(section[TEXT].sh_offset, sizeof(object) - 8, "section 1 lies outside", false),
    FIELD(section[TEXT].sh_size, UINT64_MAX, "section 1 lies outside", false),
    FIELD(section[TEXT].sh_size, 8, "symbol 3 lies outside", false),
    FIELD(section[TEXT].sh_flags, SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR, "both writable and code", false),
    FIELD(section[TEXT].sh_flags, SHF_ALLOC | SHF_EXECINSTR | SHF_TLS, "thread-local memory", true),
    FIELD(section[TEXT].sh_flags, SHF_ALLOC | SHF_COMPRESSED, "compressed", true),
    FIELD(section[TEXT].sh_type, SHT_INIT_ARRAY, "has a type", true),
    FIELD(section[TEXT].sh_addralign, 24, "no power of two", false),
    FIELD(section[TEXT].sh_addralign, UINT64_C(1) << 63, "aligned to more", true),
    FIELD(section[BSS].sh_size, UINT64_C(1) << 31, "more than 1 GiB", true),
    FIELD(section[BSS].sh_size, UINT64_MAX - 4096, "more than 1 GiB", true),
    FIELD(section[SYMBOLS].sh_type, SHT_PROGBITS, "no table of symbols", false),
    FIELD(section[UNWIND].sh_type, SHT_SYMTAB, "two tables of symbols", false),
    FIELD(section[SYMBOLS].sh_entsize, 23, "size of the entries", false),
    FIELD(section[SYMBOLS].sh_size, 23, "size of the entries", false),
    FIELD(section[SYMBOLS].sh_size, 0, "a symbol that does not exist", false),
    FIELD(section[SYMBOLS].sh_link, TEXT, "symbols have no table of names", false),
    FIELD(section[SYMBOLS].sh_link, 77, "symbols have no table of names", false),
    FIELD(section[NAMES].sh_size, 0, "names", false),
    FIELD(section[NAMES].sh_size, 60, "name", false),
    FIELD(names[sizeof((object *)0)->names - 1], 'x', "names", false),
    FIELD(section[RELA_TEXT].sh_type, SHT_REL, "without addends", true),
    FIELD(section[RELA_TEXT].sh_entsize, 16, "does not have ELF's form", false),
    FIELD(section[RELA_TEXT].sh_size, 25, "does not have ELF's form", false),
    FIELD(section[RELA_TEXT].sh_link, TEXT, "does not have ELF's form", false),
    FIELD(section[RELA_TEXT].sh_info, NSECTIONS, "for a section that does not exist", false),
    FIELD(section[RELA_TEXT].sh_info, BSS, "no content", false),
    FIELD(section[RELA_TEXT].sh_info, RODATA, "cannot reach", false), /* where the place is another */
    FIELD(symbol[VALUE].st_name, sizeof((object *)0)->names, "symbol 4 has a name outside", false),
    FIELD(symbol[VALUE].st_shndx, NSECTIONS, "symbol 4 is in a section that does not exist", false),
    FIELD(symbol[VALUE].st_shndx, SHN_COMMON, "special section 0xfff2", true),
    FIELD(symbol[VALUE].st_shndx, SHN_XINDEX, "special section 0xffff", true),
    FIELD(symbol[VALUE].st_shndx, UNWIND, "a section that is not loaded", false),
    FIELD(symbol[VALUE].st_value, 65, "symbol 4 lies outside", false),
    FIELD(symbol[VALUE].st_value, UINT64_MAX, "symbol 4 lies outside", false),
    FIELD(symbol[VALUE].st_size, 49, "symbol 4 lies outside", false),
    FIELD(symbol[VALUE].st_size, UINT64_MAX - 15, "symbol 4 lies outside", false),
    FIELD(symbol[VALUE].st_info, ELF64_ST_INFO(STB_GLOBAL, STT_TLS), "has type 6", true),
    FIELD(symbol[VALUE].st_info, ELF64_ST_INFO(STB_GLOBAL, STT_GNU_IFUNC), "has type 10", true),
    FIELD(rela[0].r_offset, 125, "lies outside the section", false),
    FIELD(rela[0].r_offset, UINT64_MAX - 1, "lies outside the section", false),
    FIELD(rela[0].r_info, ELF64_R_INFO(UINT64_C(0xffffffff), R_X86_64_PC32), "a symbol that does not exist", false),
    FIELD(rela[0].r_info, ELF64_R_INFO(UINT64_C(0), R_X86_64_PC32), "neither a place nor a name", false),
    FIELD(rela[0].r_info, ELF64_R_INFO((uint64_t)FRAMES, R_X86_64_PC32), "not loaded", false),
    FIELD(rela[0].r_info, ELF64_R_INFO((uint64_t)VALUE, R_X86_64_TPOFF32), "has type 23, which this loader", true),
    FIELD(data_rela[0].r_info, ELF64_R_INFO((uint64_t)VALUE, 250), "has type 250", true),
};

static void refuses_damage(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(DAMAGES); i++) {
        const damage *d = &DAMAGES[i];
        object o;
        object_make(&o, EM_X86_64);
        object_relocate(&o, 0, 8, VALUE, R_X86_64_PC32, 0);
        object_relocate(&o, 1, 16, VALUE, R_X86_64_64, 0);
        if (!strcmp(d->says, "cannot reach"))
            o.rela[0].r_addend = INT64_C(1) << 40;
        memcpy((char *)&o + d->at, &d->value, d->bytes);
        refuses(&o, sizeof o, EM_X86_64, d->says, d->unsupported);
    }
}

static void refuses_damage_of_instructions(void **state) {
    (void)state;
    object o;
    object_make(&o, EM_AARCH64);
    object_relocate(&o, 0, 6, VALUE, R_AARCH64_CALL26, 0);
    refuses(&o, sizeof o, EM_AARCH64, "is for an instruction, but no instruction can be there", false);
    object_make(&o, EM_AARCH64);
    o.data_rela[0] = (Elf64_Rela){.r_offset = 8, .r_info = ELF64_R_INFO((uint64_t)VALUE, R_AARCH64_CALL26)};
    refuses(&o, sizeof o, EM_AARCH64, "is for an instruction, but no instruction can be there", false);
}

/* Whatever a byte becomes, there is an error with a message or an image. The copy is as long as the object, so that a sanitizer
 * sees what is read behind it. */
static void try(const object *o, size_t size) {
    tc_load_image *m = NULL;
    tc_error err = {0};
    void *copy = malloc(size + !size);
    memcpy(copy, o, size);
    tc_status s = tc_load_for(copy, size, o->head.e_machine, &m, &err);
    assert_true(s == TC_OK ? m != NULL : m == NULL && *err.msg);
    tc_load_free(m);
    free(copy);
}

static void any_byte(void **state) {
    (void)state;
    static const unsigned MACHINES[] = {EM_X86_64, EM_AARCH64}, TYPES[] = {R_X86_64_PLT32, R_AARCH64_CALL26};
    static const unsigned char FLIPS[] = {0x10, 0x81};
    for (size_t k = 0; k < TC_LEN(MACHINES); k++) {
        object whole;
        object_make(&whole, MACHINES[k]);
        object_relocate(&whole, 0, 8, LABS, TYPES[k], 0);
        object_relocate(&whole, 1, 16, VALUE, TYPES[k], 0);
        for (size_t n = 0; n < sizeof whole; n++)
            try(&whole, n);
        for (size_t at = EI_VERSION; at < sizeof whole; at++)
            for (size_t f = 0; f < TC_LEN(FLIPS); f++) {
                object o = whole;
                ((unsigned char *)&o)[at] ^= FLIPS[f];
                o.head.e_machine = (Elf64_Half)MACHINES[k];
                if (o.section[BSS].sh_size < 1 << 20) /* others would only make the test slow */
                    try(&o, sizeof o);
            }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(code_runs),
        cmocka_unit_test(memory_is_written),
        cmocka_unit_test(instructions_of_aarch64),
        cmocka_unit_test(other_bits_stay),
        cmocka_unit_test(far_callees_of_aarch64),
        cmocka_unit_test(out_of_reach),
        cmocka_unit_test(missing_callee),
        cmocka_unit_test(nothing_is_writable_and_code),
        cmocka_unit_test(refuses_damage),
        cmocka_unit_test(refuses_damage_of_instructions),
        cmocka_unit_test(any_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
