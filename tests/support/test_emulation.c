/* What runs this program, by itself and by qemu: the test executes itself. */
#include "support/cmocka_all.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/system/emulation.h"

/* The sanitizers' shadow memory is not where the emulator has room. */
#if defined __x86_64__ && !defined TCTUNE_SANITIZED
enum { RIGHT = 42, EMULATED_HERE = 1 };
#else
enum { RIGHT = 42, EMULATED_HERE = 0 };
#endif

static const char *this_program;

static void a_machine_is_not_emulated(void **state) {
    (void)state;
    assert_false(tc_is_emulated());
    assert_null(tc_emulated_command("/proc/self/exe", "again"));
}

static bool says(bool beneath, const char *vendor) {
    uint32_t registers[3];
    memcpy(registers, vendor, sizeof registers);
    return tc_cpuid_is_emulator(beneath ? UINT32_C(0x80202001) : UINT32_C(0x7fffffff), registers);
}

/* Of guests of a hypervisor processors are real. */
static void an_emulated_machine_says_so(void **state) {
    (void)state;
    assert_true(says(true, "TCGTCGTCGTCG"));
    assert_false(says(false, "TCGTCGTCGTCG")); /* a processor without such a leaf answers with another one's */
    static const char *const real[] = {"KVMKVMKVM\0\0\0", "Microsoft Hv", "VMwareVMware", "XenVMMXenVMM", "TCGTCGTCGTCH"};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        assert_false(says(true, real[i]));
}

/* Under the emulator: the command names both, and what it starts is emulated too. */
static int start_again(void) {
    char **other = tc_emulated_command("/no/such/program", "once"), **c = tc_emulated_command("/proc/self/exe", "again");
    size_t n = 0;
    if (!tc_is_emulated() || !c || !other)
        return 1;
    while (c[n])
        n++;
    bool right = n > 2 && strstr(c[0], "qemu") && strcmp(c[n - 1], "again") == 0 && strstr(c[n - 2], "test_support_emulation") &&
                 strcmp(other[n - 2], "/no/such/program") == 0 && strcmp(other[n - 1], "once") == 0 && !other[n];
    if (right)
        execv(c[0], c);
    return 1;
}

static int status_of(const char *const *argv) {
    int status;
    pid_t p = fork();
    if (p == 0) {
        execvp(argv[0], (char **)(uintptr_t)argv);
        _exit(127);
    }
    assert_int_equal(waitpid(p, &status, 0), p);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void an_emulator_is_seen_and_starts_more(void **state) {
    (void)state;
    if (!EMULATED_HERE || status_of((const char *const[]){"qemu-x86_64", "-version", NULL}) != 0)
        skip();
    assert_int_equal(status_of((const char *const[]){"qemu-x86_64", "-cpu", "qemu64", this_program, "first", NULL}), RIGHT);
    setenv("QEMU_CPU", "qemu64", 1);
    assert_int_equal(status_of((const char *const[]){"qemu-x86_64", this_program, "first", NULL}), RIGHT);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_is_not_emulated),
        cmocka_unit_test(an_emulated_machine_says_so),
        cmocka_unit_test(an_emulator_is_seen_and_starts_more),
    };
    this_program = argv[0];
    if (argc == 2 && strcmp(argv[1], "first") == 0)
        return start_again();
    if (argc == 2 && strcmp(argv[1], "again") == 0)
        return tc_is_emulated() ? RIGHT : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
