/* The stack that compiled functions take, as LLVM laid it out. */
#ifndef TC_CODEGEN_CODE_FRAMES_H
#define TC_CODEGEN_CODE_FRAMES_H

#include "codegen/code/builder.h"
#include "support/vec.h"

typedef struct tc_cg_frame {
    char name[256];
    int64_t bytes;
} tc_cg_frame;
/* What LLVM tells while it compiles a module: frames, and the first error that it would end the process with. */
typedef struct tc_cg_frames {
    TC_VEC(tc_cg_frame) list;
    char error[256];
} tc_cg_frames;

/* fn's frame is to be told. */
void tc_cg_ask_for_frame(LLVMContextRef ctx, tc_val fn);
/* From now on what LLVM tells goes to *frames, which must live as long as modules of ctx are compiled. */
void tc_cg_listen_to_frames(LLVMContextRef ctx, tc_cg_frames *frames);
void tc_cg_frames_free(tc_cg_frames *frames);
/* Bytes of stack that a call of the module's functions takes at most, on the thread that calls as well as on those that run parts
 * of a parallel loop; without what functions of other modules take. */
int64_t tc_cg_stack_of(const tc_cg_frames *frames, LLVMModuleRef mod);

#endif
