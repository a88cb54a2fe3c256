/* Checks of this process: the clock's steps, the floating-point mode, tiles, and the sandbox of workers. */
#include "measure/doctor/doctor_int.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/target/target.h"
#include "measure/sandbox/sandbox.h"
#include "support/clock/clock.h"
#include "support/strbuf.h"
#include "support/system/child.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
static unsigned float_mode(void) {
    return _mm_getcsr();
}
#else
static unsigned float_mode(void) {
    return 0;
}
#endif

/* In a child: nothing of a sandbox can be taken back. The text's last zero is written too, and says that it is whole. */
static void try_sandbox(int to) {
    tc_strbuf lacks = {0};
    tc_sandbox s = {.threads = 1};
    tc_sandbox_enter(&s, &lacks);
    const char *text = tc_sb_str(&lacks);
    for (size_t n = strlen(text) + 1; n;) {
        ssize_t k = write(to, text, n);
        if (k <= 0)
            break;
        text += k;
        n -= (size_t)k;
    }
    _exit(0);
}

static const char *sandbox_lacks(tc_arena *a) {
    tc_strbuf b = {0};
    int ends[2], ignored;
    bool whole = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return "The sandbox could not be tried: no pipe could be made. ";
    pid_t child = fork();
    if (child == 0)
        try_sandbox(ends[1]);
    close(ends[1]);
    char part[512];
    for (ssize_t n; child > 0 && (n = read(ends[0], part, sizeof part)) > 0;) {
        whole = part[n - 1] == 0;
        tc_sb_addn(&b, part, (size_t)(n - whole));
    }
    close(ends[0]);
    if (child > 0)
        (void)tc_child_wait(child, &ignored);
    if (!whole)
        tc_sb_add(&b, "The process that tried the sandbox failed. ");
    return tc_sb_keep(&b, a);
}

tc_doctor_process tc_doctor_ask_process(const tc_target *t, tc_arena *a) {
    tc_intrinsic_set tiles = tc_intrinsic_alone(tc_intrinsic_named("amx_u8s8"));
    return (tc_doctor_process){.clock_step = tc_clock_step(),
                               .mxcsr = float_mode(),
                               .tiles_work = (t->machine.intrinsics & tiles) != 0,
                               .sandbox_lacks = sandbox_lacks(a)};
}

static void denormals(tc_doctor *d, unsigned mxcsr) {
    enum { DENORMALS_ARE_ZEROS = 1 << 6, FLUSH_TO_ZERO = 1 << 15 };
    if (!(mxcsr & (DENORMALS_ARE_ZEROS | FLUSH_TO_ZERO)))
        return;
    tc_doctor_say(d, TC_DOCTOR_DENORMALS, TC_DOCTOR_WARNING, "the process starts with %s%s%s set",
                  mxcsr & FLUSH_TO_ZERO ? "flush-to-zero" : "",
                  (mxcsr & FLUSH_TO_ZERO) && (mxcsr & DENORMALS_ARE_ZEROS) ? " and " : "",
                  mxcsr & DENORMALS_ARE_ZEROS ? "denormals-are-zeros" : "");
}

static void clock_step(tc_doctor *d, double step) {
    static const double fine = 1e-6;
    if (isinf(step))
        tc_doctor_say(d, TC_DOCTOR_CLOCK, TC_DOCTOR_WARNING, "the clock stands still: nothing can be timed");
    else
        tc_doctor_say(d, TC_DOCTOR_CLOCK, step <= fine ? TC_DOCTOR_GOOD : TC_DOCTOR_WARNING, "the clock goes in steps of %.3g us",
                      step * 1e6);
}

void tc_doctor_judge_process(tc_doctor *d, const char *root, const tc_doctor_process *p) {
    clock_step(d, p->clock_step);
    denormals(d, p->mxcsr);
    tc_doctor_judge_tiles(d, root, p->tiles_work);
    if (*p->sandbox_lacks)
        tc_doctor_say(d, TC_DOCTOR_SANDBOX, TC_DOCTOR_WARNING, "%s", p->sandbox_lacks);
    else
        tc_doctor_say(d, TC_DOCTOR_SANDBOX, TC_DOCTOR_GOOD, "complete");
}
