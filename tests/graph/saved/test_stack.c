/* The stack that built models take: runs in a thread whose stack of 256 KiB lies above a page that nobody may touch give what they
 * give elsewhere, and take no more than the header says. OpenMP's threads, which libraries of C source have, get stacks of that
 * size too (OMP_STACKSIZE, set for this test). */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codegen/artefacts/library.h"
#include "common/test_size.h"
#include "graph/saved/built_models.h"
#include "graph/saved/saved.h"
#include "support/system/fs.h"

#define STATED "_STACK_BYTES "
enum { STACK = 256 << 10, PAINT = 0xA5, OURS = 1024 /* frames of what paints */ };

typedef struct job {
    const built_library *l;
    built_arrays *first, *second; /* what NAME_run and a context's run read and write */
    char *stack;                  /* its lowest byte */
    int64_t used;
    bool ok;
} job;

/* Below its own frame the stack is painted, and what is not any more was used; what took less than OURS cannot be told. */
__attribute__((noinline)) static void *run_painted(void *user) {
    job *j = user;
    char *top = (char *)__builtin_frame_address(0) - OURS;
    memset(j->stack, PAINT, (size_t)(top - j->stack));
    void *context = j->l->create();
    j->ok = context && j->l->run(j->first->in, j->first->out) == 0 && j->l->run_in(context, j->second->in, j->second->out) == 0;
    j->l->release(context);
    char *low = j->stack;
    while (low < top && *low == (char)PAINT)
        low++;
    j->used = (char *)__builtin_frame_address(0) - low;
    return NULL;
}

static int64_t run_in_thread(job *j) {
    pthread_t thread;
    pthread_attr_t attr;
    size_t guard = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = mmap(NULL, STACK + guard, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    assert_true(memory != MAP_FAILED);
    assert_int_equal(mprotect(memory, guard, PROT_NONE), 0);
    j->stack = memory + guard;
    pthread_attr_init(&attr);
    assert_int_equal(pthread_attr_setstack(&attr, j->stack, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attr, run_painted, j), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attr);
    munmap(memory, STACK + guard);
    assert_true(j->ok);
    return j->used;
}

/* What the header of a library says. */
static int64_t stated(const char *header) {
    char *text;
    assert_ok(tc_fs_read(header, &text, NULL, err));
    const char *at = strstr(text, STATED);
    assert_non_null(at);
    int64_t bytes = strtoll(at + sizeof STATED - 1, NULL, 10);
    free(text);
    return bytes;
}

/* Returns what was used. */
static int64_t check(const built *b, const char *path, const char *header, const char *compile) {
    built_library l = built_load(b, path, compile);
    int64_t bound = stated(header), most = 0;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        built_arrays want = built_draw(b, seed), first = built_draw(b, seed), second = built_draw(b, seed);
        job j = {.l = &l, .first = &first, .second = &second};
        void *context = l.create();
        assert_int_equal(l.run_in(context, want.in, want.out), 0);
        l.release(context);
        int64_t used = run_in_thread(&j);
        most = TC_MAX(most, used);
        assert_true(built_equal(b, &want, &first) && built_equal(b, &want, &second));
        built_forget(b, &want);
        built_forget(b, &first);
        built_forget(b, &second);
    }
    print_message("%s, %s: %lld bytes of stack used, %lld stated\n", b->name, compile ? compile : "library", (long long)most,
                  (long long)bound);
    assert_true(most <= bound);
    assert_true(compile || bound <= STACK / 2);
    dlclose(l.handle);
    remove(header);
    return most;
}

static void test_libraries(void **state) {
    (void)state;
    int64_t most = 0;
    for (size_t i = 0; i < TC_LEN(built_sources); i++) {
        built b = built_open((int)i);
        int64_t used = check(&b, SCRATCH("stack.so"), SCRATCH("stack.h"), NULL);
        most = TC_MAX(most, used);
        built_close(&b);
    }
    assert_true(most > 2 * OURS); /* attention has arrays of that size: the paint was looked at */
}

static void test_source(void **state) {
    (void)state;
    for (size_t i = 0; i < TC_LEN(built_sources); i += test_is_full() ? 1 : 3) {
        built b = built_open((int)i);
        check(&b, SCRATCH("stack_source.so"), SCRATCH("stack_source.so.h"), "gcc -O1 -fopenmp");
        built_close(&b);
    }
}

/* Whoever only has the file can ask it. */
static void test_metadata(void **state) {
    (void)state;
    char *text, want[64];
    built b = built_open(0);
    assert_ok(tc_graph_model_save(b.model, SCRATCH("stack_note.so"), NULL, err));
    assert_ok(tc_cg_read_metadata(SCRATCH("stack_note.so"), &text, err));
    snprintf(want, sizeof want, "\"stack\":%lld,", (long long)stated(SCRATCH("stack_note.h")));
    assert_non_null(strstr(text, want));
    free(text);
    remove(SCRATCH("stack_note.so"));
    remove(SCRATCH("stack_note.h"));
    built_close(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_libraries),
        cmocka_unit_test(test_source),
        cmocka_unit_test(test_metadata),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
