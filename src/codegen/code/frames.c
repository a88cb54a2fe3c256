/* The stack that compiled functions take. LLVM tells the size of a function's frame, spilled registers included, where the
 * function asks for it (`warn-stack-size`). C hears it only as a diagnostic of the context. */
#include "codegen/code/frames.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/code/code_int.h"

/* Of each function, beside what LLVM counts: the return address, what aligning the frame takes, the 128 bytes below it that leaf
 * functions may use on x86-64. */
enum { AROUND = 256 };

static const char LIMIT[] = "0"; /* bytes of a frame that are not worth telling */

void tc_cg_ask_for_frame(LLVMContextRef ctx, tc_val fn) {
    static const char key[] = "warn-stack-size";
    LLVMAttributeRef a = LLVMCreateStringAttribute(ctx, key, sizeof key - 1, LIMIT, sizeof LIMIT - 1);
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

/* "stack frame size (1234) exceeds limit (0) in function 'NAME'" */
static bool read_frame(const char *text, tc_cg_frame *f) {
    static const char before[] = "stack frame size (", middle[] = "in function '";
    const char *size = strstr(text, before), *name = size ? strstr(size, middle) : NULL, *end = name ? strrchr(name, '\'') : NULL;
    if (!name || end < name + sizeof middle - 1)
        return false;
    name += sizeof middle - 1;
    f->bytes = strtoll(size + sizeof before - 1, NULL, 10);
    snprintf(f->name, sizeof f->name, "%.*s", (int)(end - name), name);
    return true;
}

static void listen(LLVMDiagnosticInfoRef info, void *user) {
    tc_cg_frames *all = user;
    tc_cg_frame f;
    char *text = tc_cg_own_text(LLVMGetDiagInfoDescription(info));
    if (read_frame(text, &f))
        tc_push(&all->list, f);
    else if (LLVMGetDiagInfoSeverity(info) == LLVMDSError && !*all->error)
        snprintf(all->error, sizeof all->error, "%s", text);
    free(text);
}

void tc_cg_listen_to_frames(LLVMContextRef ctx, tc_cg_frames *frames) {
    *frames = (tc_cg_frames){0};
    LLVMContextSetDiagnosticHandler(ctx, listen, frames);
}

void tc_cg_frames_free(tc_cg_frames *frames) {
    tc_vec_free(&frames->list);
}

static int64_t frame_of(const tc_cg_frames *frames, const char *name) {
    for (size_t i = 0; i < frames->list.len; i++)
        if (strcmp(frames->list.data[i].name, name) == 0)
            return frames->list.data[i].bytes + AROUND;
    return AROUND;
}

/* The number of the parallel loop that a function belongs to (parallel.c names them); 0: none. */
static int region_of(const char *name) {
    const char *at = strstr(name, ".par");
    return at ? atoi(at + 4) : 0;
}

/* At most one parallel loop of a kernel runs at a time. */
int64_t tc_cg_stack_of(const tc_cg_frames *frames, LLVMModuleRef mod) {
    int64_t outside = 0, inside = 0, now = 0;
    int region = 0;
    for (tc_val fn = LLVMGetFirstFunction(mod); fn; fn = LLVMGetNextFunction(fn)) {
        size_t n;
        const char *name = LLVMGetValueName2(fn, &n);
        if (LLVMIsDeclaration(fn))
            continue;
        if (!region_of(name)) {
            outside += frame_of(frames, name);
            continue;
        }
        now = (region_of(name) == region ? now : 0) + frame_of(frames, name);
        region = region_of(name);
        inside = TC_MAX(inside, now);
    }
    return outside + inside;
}
