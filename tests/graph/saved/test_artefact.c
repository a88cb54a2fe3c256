/* The library as a file: what it takes on disk and in memory beside its weights, that equal builds give equal bytes, and how it
 * is refused when something is wrong with it. No times are looked at. */
#include <elf.h>
#include <malloc.h>
#include <math.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codegen/artefacts/library.h"
#include "graph/graph_text.h"
#include "graph/lower_common.h"
#include "graph/saved/saved.h"
#include "support/rng.h"
#include "support/system/fs.h"
#include "tctune/tctune.h"
#include "te/text.h"

/* 16 MiB of weights that are packed, and a table of 1 MiB that is read as it is. */
static const char WEIGHTS[] = "tensor X[64, 1024] f32\n"
                              "tensor W[1024, 4096] f32 const\n"
                              "tensor T[64, 4096] f32 const\n"
                              "compute D[i:64, j:4096] = sum(k:1024) X[i, k] * W[k, j]\n"
                              "compute Y[i:64, j:4096] = D[i, j] + T[i, j]\n"
                              "output Y\n";

typedef struct artefact {
    tc_ctx *ctx;
    tc_target *target;
    tc_graph_program *program;
    tc_graph_memory memory;
    int64_t file;
} artefact;

static int64_t file_bytes(const char *path) {
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_size;
}

static void open_artefact(artefact *a, const char *te) {
    const tc_workload *w;
    a->ctx = tc_ctx_new();
    assert_ok(tc_target_parse("native", &a->target, err));
    assert_ok(tc_te_parse(a->ctx, "weights.te", te, &w, err));
    assert_ok(tc_graph_program_of_workload(w, "weights", NULL, 0, 7, &a->program, err));
}

static void save_of(artefact *a, const char *path, tc_graph_build_options o) {
    tc_graph_model *m;
    o.target = a->target;
    o.threads = 2;
    assert_ok(tc_graph_model_build(a->program, &o, &m, err));
    assert_ok(tc_graph_model_save(m, path, "weights", err));
    a->memory = tc_graph_model_memory(m);
    a->file = file_bytes(path);
    tc_graph_model_free(m);
}

static void save(artefact *a, const char *path, bool object_only) {
    save_of(a, path, (tc_graph_build_options){.object_only = object_only});
}

static void close_artefact(artefact *a) {
    tc_graph_program_free(a->program);
    tc_target_free(a->target);
    tc_ctx_free(a->ctx);
}

/* Kilobytes by `field` of what is mapped of `path`; "": of what is of no file. */
static long mapped(const char *path, const char *field) {
    char line[4400], format[64];
    long sum = 0, kb;
    bool in = false;
    FILE *f = fopen("/proc/self/smaps", "r");
    snprintf(format, sizeof format, "%s: %%ld", field);
    while (f && fgets(line, sizeof line, f)) {
        if (strchr(line, '-') && strchr(line, '-') < strchr(line, ' '))
            in = *path ? strstr(line, path) != NULL : strchr(line, '/') == NULL;
        else if (in && sscanf(line, format, &kb) == 1)
            sum += kb;
    }
    if (f)
        fclose(f);
    return sum;
}

/* Kilobytes in memory because of a model: its library's pages, and what was allocated; not the code of other libraries, of which
 * the system brings in as much as it likes. */
static long resident(void) {
    return mapped("artefact_memory.so", "Rss") + mapped("", "Rss");
}

/* Loaded and run by the public API: weights are the file's pages, and all else is under a tenth of them and the intermediates. */
static void test_memory(void **state) {
    (void)state;
    artefact a;
    tctune_model *m;
    char error[512] = "";
    open_artefact(&a, WEIGHTS);
    save(&a, SCRATCH("artefact_memory.so"), true);
    assert_true(a.memory.constants >= (16 << 20) + (1 << 20));
    assert_true(a.file < a.memory.constants + a.memory.constants / 20);
    close_artefact(&a);
    static float x[64 * 1024], y[64 * 4096];
    memset(x, 1, sizeof x);
    memset(y, 1, sizeof y);
    int64_t in_shape[] = {64, 1024}, out_shape[] = {64, 4096};
    DLTensor in = {.data = x, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = in_shape};
    DLTensor out = {.data = y, .device = {kDLCPU, 0}, .ndim = 2, .dtype = {kDLFloat, 32, 1}, .shape = out_shape};
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* a heap that grows by a page would grow by 2 MiB */
    mallopt(M_TRIM_THRESHOLD, 1 << 30);    /* what small blocks took, the heap keeps: */
    mallopt(M_MMAP_THRESHOLD, 1 << 20);    /* what is seen to come are large ones */
    /* The thread's first call sets memory aside for when there is none (support/alloc.h). */
    assert_int_not_equal(tctune_load(SCRATCH("artefact_none.so"), 0, &m, error, sizeof error), TCTUNE_OK);
    long before = resident();
    assert_int_equal(tctune_load(SCRATCH("artefact_memory.so"), 0, &m, error, sizeof error), TCTUNE_OK);
    assert_int_equal(tctune_model_run(m, &in, &out, error, sizeof error), TCTUNE_OK);
    long kb = resident() - before, planned = (long)((a.memory.constants + a.memory.arena) >> 10);
    print_message("%ld KiB for %ld KiB of weights and intermediates; %ld KiB of the library's pages written\n", kb, planned,
                  mapped("artefact_memory.so", "Private_Dirty"));
    assert_true(mapped("artefact_memory.so", "Private_Dirty") < 256);
#if !defined(__SANITIZE_ADDRESS__)
    assert_true(kb < planned + planned / 10);
#endif
    tctune_model_free(m);
    remove(SCRATCH("artefact_memory.so"));
    remove(SCRATCH("artefact_memory.h"));
}

static void expect_equal_files(const char *x, const char *y) {
    char *a, *b;
    size_t n, m;
    assert_ok(tc_fs_read(x, &a, &n, err));
    assert_ok(tc_fs_read(y, &b, &m, err));
    assert_int_equal(n, m);
    assert_memory_equal(a, b, n);
    free(a);
    free(b);
}

/* Twice, and once from packed constants in memory: the same bytes, whatever the scratch folder's name was. */
static void test_same_bytes(void **state) {
    (void)state;
    artefact a;
    open_artefact(&a, WEIGHTS);
    tc_fs_remove_tree(SCRATCH("artefact_again")); /* of a run that was ended */
    assert_int_equal(mkdir(SCRATCH("artefact_again"), 0777), 0);
    save(&a, SCRATCH("artefact_same.so"), true);
    save(&a, SCRATCH("artefact_again/artefact_same.so"), true);
    expect_equal_files(SCRATCH("artefact_same.so"), SCRATCH("artefact_again/artefact_same.so"));
    save(&a, SCRATCH("artefact_again/artefact_same.so"), false);
    expect_equal_files(SCRATCH("artefact_same.so"), SCRATCH("artefact_again/artefact_same.so"));
    close_artefact(&a);
    tc_fs_remove_tree(SCRATCH("artefact_again"));
    remove(SCRATCH("artefact_same.so"));
    remove(SCRATCH("artefact_same.h"));
}

static int64_t constant_bytes(const tc_graph *g) {
    int64_t sum = 0;
    for (size_t i = 0; i < g->values.len; i++)
        if (g->values.data[i]->constant)
            sum += tc_graph_aligned((int64_t)tc_graph_tensor_bytes(g->values.data[i]->constant));
    return sum;
}

/* What a network's constants take in its library, with what they take in its graph. */
static tc_graph_memory memory_of(const char *network, const char *path, int64_t *graph) {
    tc_target *t;
    tc_graph *g;
    tc_graph_program *p;
    tc_graph_model *m;
    assert_ok(tc_target_parse("native", &t, err));
    assert_ok(graph_of_text("network", network, &g, err));
    assert_ok(tc_graph_passes(g, NULL, err));
    *graph = constant_bytes(g);
    assert_ok(tc_graph_program_new(g, &p, err));
    assert_ok(tc_graph_model_build(p, &(tc_graph_build_options){.target = t, .threads = 2, .object_only = true}, &m, err));
    assert_ok(tc_graph_model_save(m, path, "weights", err));
    tc_graph_memory r = tc_graph_model_memory(m);
    tc_graph_model_free(m);
    tc_graph_program_free(p);
    tc_graph_free(g);
    tc_target_free(t);
    return r;
}

/* Queries, keys and values: the matrices beside each other stand for those that they are made of. */
static void test_combined_weights(void **state) {
    (void)state;
    enum { MATRIX = 256 * 256 * 4 };
    int64_t graph;
    const char *path = SCRATCH("artefact_qkv.so");
    tc_graph_memory m = memory_of("input %x : f32[32,256]\n"
                                  "const %wq : f32[256,256]\n"
                                  "const %wk : f32[256,256]\n"
                                  "const %wv : f32[256,256]\n"
                                  "%q = MatMul(%x, %wq)\n"
                                  "%k = MatMul(%x, %wk)\n"
                                  "%v = MatMul(%x, %wv)\n"
                                  "%s = Mul(%q, %k)\n"
                                  "%y = Add(%s, %v)\n"
                                  "output y = %y\n",
                                  path, &graph);
    assert_int_equal(graph, 3 * MATRIX);
    assert_int_equal(m.constants, 3 * MATRIX);
    assert_true(file_bytes(path) < 3 * MATRIX + MATRIX / 2);
    remove(path);
    remove(SCRATCH("artefact_qkv.h"));
}

/* Two kernels, of which one ends in an activation, read the same matrix in the same layout. */
static void test_shared_weights(void **state) {
    (void)state;
    enum { MATRIX = 256 * 256 * 4 };
    int64_t graph;
    const char *path = SCRATCH("artefact_tied.so");
    tc_graph_memory m = memory_of("input %a : f32[32,256]\n"
                                  "input %b : f32[32,256]\n"
                                  "const %w : f32[256,256]\n"
                                  "%x = MatMul(%a, %w)\n"
                                  "%p = MatMul(%b, %w)\n"
                                  "%y = Relu(%p)\n"
                                  "output x = %x\n"
                                  "output y = %y\n",
                                  path, &graph);
    assert_int_equal(graph, MATRIX);
    assert_int_equal(m.constants, MATRIX);
    remove(path);
    remove(SCRATCH("artefact_tied.h"));
}

static void test_truncated(void **state) {
    (void)state;
    artefact a;
    tc_graph_model *m;
    const char *path = SCRATCH("artefact_cut.so");
    open_artefact(&a, WEIGHTS);
    save(&a, path, true);
    for (int64_t keep = a.file - 1; keep > 100; keep /= 3) {
        assert_int_equal(truncate(path, keep), 0);
        assert_fails(TC_BAD_INPUT, tc_graph_model_load(path, 0, &m, err), "artefact_cut.so", "truncated");
    }
    close_artefact(&a);
    remove(path);
    remove(SCRATCH("artefact_cut.h"));
}

/* A CPU of this architecture that has what this one has not. */
static void test_other_cpu(void **state) {
    (void)state;
    static const char *const cpus[] = {"sapphirerapids", "graniterapids", "znver5", NULL};
    artefact a;
    tc_graph_model *m;
    open_artefact(&a, WEIGHTS);
    tc_target_free(a.target);
    for (int i = 0; cpus[i]; i++) {
        tc_error local;
        if (tc_target_parse(tc_arena_printf(tc_ctx_arena(a.ctx), "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=%s", cpus[i]),
                            &a.target, &local) != TC_OK)
            continue;
        if (!a.target->native && strstr(a.target->triple, "x86_64")) {
            save(&a, SCRATCH("artefact_cpu.so"), true);
            tc_status s = tc_graph_model_load(SCRATCH("artefact_cpu.so"), 0, &m, &local);
            assert_int_equal(s, TC_BAD_INPUT);
            assert_true(strstr(local.msg, "this CPU") ||
                        strstr(local.msg, "not a library")); /* or it is of another architecture */
        }
        tc_target_free(a.target);
    }
    a.target = NULL;
    close_artefact(&a);
    remove(SCRATCH("artefact_cpu.so"));
    remove(SCRATCH("artefact_cpu.h"));
}

/* Compiles a library whose constructor leaves a file, with this text as its metadata (NULL: none). */
static void compile_eager(const char *metadata) {
    tc_strbuf c = {0};
    tc_sb_printf(&c, "#include <stdio.h>\n__attribute__((constructor)) static void run(void) { fclose(fopen(\"%s\", \"w\")); }\n",
                 SCRATCH("artefact_ran"));
    if (metadata)
        tc_sb_printf(&c,
                     "static const struct { int n[3]; char owner[8], text[%zu]; } note "
                     "__attribute__((section(\".note.tctune\"), aligned(4), used)) = {{7, %zu, 1}, \"tctune\", \"%s\"};\n",
                     strlen(metadata) + 1, strlen(metadata) + 1, metadata);
    assert_ok(tc_fs_write(SCRATCH("artefact_eager.c"), c.data, c.len, err));
    tc_strbuf_free(&c);
    assert_int_equal(system("cc -shared -fPIC -o " SCRATCH("artefact_eager.so") " " SCRATCH("artefact_eager.c")), 0);
}

/* What is refused is refused before any code of it runs. */
static void test_nothing_runs_before(void **state) {
    (void)state;
    static const struct {
        const char *metadata, *says;
    } cases[] = {
        {NULL, "not a library that tctune built"},
        {"{", "metadata are damaged"},
        {"{\\\"format\\\": 1}", "another version"},
        {"{\\\"format\\\": 3, \\\"abi\\\": 77}", "version 77 of the kernels' runtime"},
        {"{\\\"format\\\": 3, \\\"abi\\\": 1}", "metadata are damaged"},
        {"{\\\"format\\\": 3, \\\"abi\\\": 1, \\\"name\\\": \\\"n\\\", \\\"inputs\\\": [], \\\"outputs\\\": [], "
         "\\\"threads\\\": 1, "
         "\\\"target\\\": \\\"llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1\\\"}",
         "it was built for neoverse-n1"},
    };
    tc_graph_model *m;
    for (size_t i = 0; i < TC_LEN(cases); i++) {
        compile_eager(cases[i].metadata);
        assert_fails(TC_BAD_INPUT, tc_graph_model_load(SCRATCH("artefact_eager.so"), 0, &m, err), "artefact_eager.so",
                     cases[i].says);
        assert_false(tc_fs_exists(SCRATCH("artefact_ran")));
    }
    remove(SCRATCH("artefact_eager.c"));
    remove(SCRATCH("artefact_eager.so"));
}

/* Thousands of files: the disk need not have them. */
static void put_unsynced(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* Headers and notes that were damaged anywhere: read or refused, never beyond the file. */
static void test_damaged_headers(void **state) {
    (void)state;
    enum { HEAD = 4096, CASES = 3000 };
    artefact a;
    char *data, *text;
    size_t size, taken = 0;
    open_artefact(&a, "tensor X[8] f32\ncompute Y[i:8] = X[i] + 1\noutput Y\n");
    save(&a, SCRATCH("artefact_damage.so"), true);
    assert_ok(tc_fs_read(SCRATCH("artefact_damage.so"), &data, &size, err));
    assert_ok(tc_cg_read_metadata(SCRATCH("artefact_damage.so"), &text, err));
    assert_non_null(strstr(text, "\"provenance\""));
    assert_non_null(strstr(text, "\"accuracy\":\"strict\""));
    assert_non_null(strstr(text, "\"workload\""));
    free(text);
    tc_rng r = tc_rng_seed(7);
    for (int i = 0; i < CASES; i++) {
        char *damaged = malloc(size);
        memcpy(damaged, data, size);
        for (int64_t k = tc_rng_below(&r, 4); k >= 0; k--) {
            static const unsigned char often[] = {0, 1, 4, 127, 128, 255};
            damaged[tc_rng_below(&r, i % 2 ? 64 + 56 * 9 : HEAD)] = (char)often[tc_rng_below(&r, sizeof often)];
        }
        put_unsynced(SCRATCH("artefact_damage.so"), damaged, i % 5 ? size : (size_t)tc_rng_below(&r, HEAD));
        if (tc_cg_read_metadata(SCRATCH("artefact_damage.so"), &text, NULL) == TC_OK)
            taken++;
        free(text);
        free(damaged);
    }
    assert_true(taken > 0 && taken < CASES);
    free(data);
    close_artefact(&a);
    remove(SCRATCH("artefact_damage.so"));
    remove(SCRATCH("artefact_damage.h"));
}

/* Segments that lie in one place: each is small enough, and reading all of them would take an hour. */
static void test_endless_notes(void **state) {
    (void)state;
    enum { SEGMENTS = 60000, NOTES = 60 << 20 };
    static Elf64_Phdr segments[SEGMENTS];
    Elf64_Ehdr head = {.e_type = ET_DYN, .e_phoff = sizeof head, .e_phentsize = sizeof *segments, .e_phnum = SEGMENTS};
    char *text;
    memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = ELFCLASS64;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    for (int i = 0; i < SEGMENTS; i++)
        segments[i] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = sizeof head + sizeof segments, .p_filesz = NOTES, .p_align = 4};
    FILE *f = fopen(SCRATCH("artefact_notes.so"), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(&head, sizeof head, 1, f) + fwrite(segments, sizeof segments, 1, f), 2);
    assert_int_equal(ftruncate(fileno(f), (off_t)(sizeof head + sizeof segments + NOTES)), 0); /* a hole */
    assert_int_equal(fclose(f), 0);
    assert_fails(TC_BAD_INPUT, tc_cg_read_metadata(SCRATCH("artefact_notes.so"), &text, err), "artefact_notes.so",
                 "its notes are too long");
    remove(SCRATCH("artefact_notes.so"));
}

/* How many segments for storage of threads a library has. */
static int count_thread_storage(const char *path) {
    enum { ALIGN = 64 };
    Elf64_Ehdr head;
    int found = 0;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(&head, sizeof head, 1, f), 1);
    assert_int_equal(fseek(f, (long)head.e_phoff, SEEK_SET), 0);
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr p;
        assert_int_equal(fread(&p, sizeof p, 1, f), 1);
        if (p.p_type == PT_TLS) {
            assert_int_equal(p.p_align, ALIGN);
            found++;
        }
    }
    fclose(f);
    return found;
}

/* Storage of a thread, which a library with OpenMP's team has, never begins 16 bytes into a page, where the leak sanitizer of GCC 12
 * misreads it and crashes. */
static void test_thread_storage(void **state) {
    (void)state;
    artefact a;
    open_artefact(&a, WEIGHTS);
    save(&a, SCRATCH("artefact_threads.so"), true);
    assert_int_equal(count_thread_storage(SCRATCH("artefact_threads.so")), 0);
    save_of(&a, SCRATCH("artefact_threads.so"), (tc_graph_build_options){.object_only = true, .team = TC_GRAPH_TEAM_OPENMP});
    assert_int_equal(count_thread_storage(SCRATCH("artefact_threads.so")), 1);
    close_artefact(&a);
    remove(SCRATCH("artefact_threads.so"));
    remove(SCRATCH("artefact_threads.h"));
}

/* Ids within the table, masks of ones, and the rest of sane scale. */
static const char DRAWN[] = "tensor ids[6] i64\n"
                            "tensor key_mask[6] i64\n"
                            "tensor float_Mask[6] f32\n"
                            "tensor steps[6] i32\n"
                            "tensor X[6, 4] f32\n"
                            "tensor T[40, 4] f32 const\n"
                            "compute Y[i:6, j:4] = T[ids[i], j] * f32(key_mask[i]) + X[i, j] * float_Mask[i] + f32(steps[i])\n"
                            "output Y\n";

static void test_drawn_inputs(void **state) {
    (void)state;
    enum { N = 5 };
    artefact a;
    tc_graph_model *m[2];
    tc_graph_tensor in[2][N];
    tc_te_range want[N] = {{0, 40}, {1, 2}, {1, 2}, {-8, 8}, {0, 0}};
    open_artefact(&a, DRAWN);
    save(&a, SCRATCH("artefact_drawn.so"), true);
    assert_ok(tc_graph_model_build(a.program, &(tc_graph_build_options){.target = a.target, .threads = 1}, &m[0], err));
    assert_ok(tc_graph_model_load(SCRATCH("artefact_drawn.so"), 0, &m[1], err));
    for (int k = 0; k < 2; k++)
        assert_ok(tc_graph_model_random_inputs(m[k], NULL, 5, in[k], err));
    for (int i = 0; i < N; i++) {
        const tc_graph_port *port[2];
        for (int k = 0; k < 2; k++) {
            assert_int_equal(tc_graph_model_inputs(m[k], &port[k]), N);
            assert_int_equal(port[k][i].drawn.low, want[i].low);
            assert_int_equal(port[k][i].drawn.high, want[i].high);
        }
        for (int64_t e = 0; e < tc_graph_tensor_count(&in[0][i]); e++) {
            const tc_graph_tensor *t = &in[0][i];
            bool uniform = want[i].low == want[i].high;
            double v = tc_dtype_is_float(t->dtype) ? tc_load_f(t->dtype, t->data, e) : (double)tc_load_i(t->dtype, t->data, e);
            assert_true(v >= (uniform ? -1 : (double)want[i].low) && v < (uniform ? 1 : (double)want[i].high));
        }
        assert_memory_equal(in[0][i].data, in[1][i].data, tc_graph_tensor_bytes(&in[0][i]));
    }
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < N; i++)
            tc_graph_tensor_free(&in[k][i]);
        tc_graph_model_free(m[k]);
    }
    close_artefact(&a);
    remove(SCRATCH("artefact_drawn.so"));
    remove(SCRATCH("artefact_drawn.h"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_combined_weights),
        cmocka_unit_test(test_shared_weights),
        cmocka_unit_test(test_truncated),
        cmocka_unit_test(test_other_cpu),
        cmocka_unit_test(test_nothing_runs_before),
        cmocka_unit_test(test_damaged_headers),
        cmocka_unit_test(test_endless_notes),
        cmocka_unit_test(test_thread_storage),
        cmocka_unit_test(test_drawn_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
