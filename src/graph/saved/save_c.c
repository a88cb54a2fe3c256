/* Saves a model as C source: the kernels, the weights, and one function that runs the kernels in its own memory or the caller's.
 * Small weights are an array. Compilers need minutes and gigabytes for a large array. So large weights are a file beside the
 * source, which the assembler includes. The only limit then is the 2 GiB within which code reaches its data. */
#include "codegen/artefacts/library.h"
#include "codegen/c_source/c_source.h"
#include "graph/saved/save_int.h"
#include "support/system/fs.h"
#include "support/system/scratch.h"

#include <errno.h>
#include <string.h>

enum { MOST_IN_SOURCE = 1 << 20 };

typedef struct source {
    const tc_graph_model *m;
    const char *name;
    int64_t stack; /* of the kernel that takes most */
    int64_t workspace_at;
    int branch; /* that comes next */
    tc_strbuf b;
} source;

static void operand(source *s, const tc_cg_operand *o) {
    switch (o->where) {
    case TC_CG_INPUT:
        tc_sb_printf(&s->b, "inputs[%lld]", (long long)o->at);
        return;
    case TC_CG_OUTPUT:
        if (o->skip)
            tc_sb_printf(&s->b, "(uint8_t *)outputs[%lld] + %lld", (long long)o->at, (long long)o->skip);
        else
            tc_sb_printf(&s->b, "outputs[%lld]", (long long)o->at);
        return;
    case TC_CG_ARENA:
        tc_sb_printf(&s->b, "arena + %lld", (long long)o->at);
        return;
    case TC_CG_CONST:
        tc_sb_printf(&s->b, "%s_weights + %lld", s->name, (long long)o->at);
        return;
    }
}

static void number(source *s, const char *type, const tc_cg_operand *o) {
    tc_sb_printf(&s->b, "*(%s *)(", type);
    operand(s, o);
    tc_sb_addc(&s->b, ')');
}

/* Steps that decide where to go on. */
static void decision(source *s, const tc_graph_step *x) {
    tc_sb_add(&s->b, "    ");
    if (x->kind == TC_CG_UNLESS) {
        tc_sb_add(&s->b, "if (!");
        number(s, "const uint8_t", &x->args[0]);
        tc_sb_add(&s->b, ") ");
    } else if (x->kind == TC_CG_UNLESS_LESS) {
        tc_sb_add(&s->b, "if (");
        number(s, "const int64_t", &x->args[0]);
        tc_sb_add(&s->b, " >= ");
        number(s, "const int64_t", &x->args[1]);
        tc_sb_add(&s->b, ") ");
    } else if (x->kind == TC_CG_AGAIN) {
        tc_sb_add(&s->b, "++");
        number(s, "int64_t", &x->args[0]);
        tc_sb_add(&s->b, ";\n    ");
    }
    tc_sb_printf(&s->b, "goto step%d;\n", x->target);
}

static bool is_target(const tc_graph_model *m, int step) {
    for (int i = 0; i < m->nstep; i++)
        if (tc_cg_step_decides(m->steps[i].kind) && m->steps[i].target == step)
            return true;
    return false;
}

static void library_step(source *s, const tc_graph_step *x) {
    tc_sb_add(&s->b, "    {\n        void *args[] = {");
    for (int i = 0; i < x->nargs; i++) {
        tc_sb_printf(&s->b, "%s(void *)(uintptr_t)(", i ? ", " : "");
        operand(s, &x->args[i]);
        tc_sb_addc(&s->b, ')');
    }
    tc_sb_printf(&s->b,
                 "};\n        const int32_t status = %s(args, arena + %lld, &%s_rt);\n"
                 "        if (status)\n            return status;\n    }\n",
                 x->library->symbol, (long long)s->m->workspace_at, s->name);
}

/* The branches of the fork at step i, as the cases of a parallel loop. */
static void begin_fork(source *s, int i) {
    const tc_graph_step *all = s->m->steps;
    int n = 0;
    for (int k = i + 1; k < all[i].target; k = all[k].target)
        n++;
    tc_sb_printf(&s->b,
                 "#ifdef _OPENMP\n#pragma omp parallel for schedule(static, 1) num_threads(tc_team(%d))\n#endif\n"
                 "    for (int branch = 0; branch < %d; branch++)\n        switch (branch) {\n",
                 n, n);
    s->branch = 0;
}

static void begin_branch(source *s) {
    tc_sb_printf(&s->b, "%s        case %d:\n", s->branch ? "            break;\n" : "", s->branch);
    s->workspace_at = s->m->workspace_at + s->branch++ * s->m->branch_bytes;
}

static void end_fork(source *s) {
    tc_sb_add(&s->b, "            break;\n        }\n");
    s->workspace_at = s->m->workspace_at;
}

static void step(source *s, int at) {
    const tc_graph_step *x = &s->m->steps[at];
    if (x->kind == TC_CG_FORK) {
        begin_fork(s, at);
        return;
    }
    if (x->kind == TC_CG_BRANCH) {
        begin_branch(s);
        return;
    }
    if (x->kind != TC_CG_DO) {
        decision(s, x);
        return;
    }
    if (x->library) {
        library_step(s, x);
        return;
    }
    if (x->task < 0) {
        tc_sb_add(&s->b, "    memmove((uint8_t *)");
        operand(s, &x->args[1]);
        if (x->nargs == 3) {
            tc_sb_printf(&s->b, " + %lld * ", (long long)x->bytes);
            number(s, "const int64_t", &x->args[2]);
        }
        tc_sb_add(&s->b, ", ");
        operand(s, &x->args[0]);
        tc_sb_printf(&s->b, ", %lld);\n", (long long)x->bytes);
        return;
    }
    tc_sb_printf(&s->b, "    %s(", s->m->kernels[x->task].symbol);
    for (int i = 0; i < x->nargs; i++) {
        if (i == s->m->units[x->task].func->nparam) /* sizes */
            tc_sb_add(&s->b, "(const void *)");
        tc_sb_addc(&s->b, '(');
        operand(s, &x->args[i]);
        tc_sb_add(&s->b, "), ");
    }
    tc_sb_printf(&s->b, "arena + %lld);\n", (long long)s->workspace_at);
}

static void contexts(source *s) {
    const char *n = s->name;
    tc_sb_printf(&s->b, "typedef struct %s_context %s_context;\n%s_context *%s_context_new(void);\n", n, n, n, n);
    tc_sb_printf(&s->b, "void %s_context_free(%s_context *context);\n", n, n);
    tc_sb_printf(&s->b, "int32_t %s_context_run(%s_context *context, const void *const *inputs, void *const *outputs);\n\n", n,
                 n);
    tc_sb_printf(&s->b, "struct %s_context {\n    _Alignas(64) uint8_t memory[%s_MEMORY];\n};\n\n", n, n);
    tc_sb_printf(&s->b,
                 "%s_context *%s_context_new(void) {\n    return %s_cpu() == %d ? aligned_alloc(_Alignof(%s_context), "
                 "sizeof(%s_context)) : 0;\n}\n\n",
                 n, n, n, TC_CG_RIGHT_CPU, n, n);
    tc_sb_printf(&s->b, "void %s_context_free(%s_context *context) {\n    free(context);\n}\n\n", n, n);
    tc_sb_printf(&s->b,
                 "int32_t %s_context_run(%s_context *context, const void *const *inputs, void *const *outputs) {\n"
                 "    return %s_run_in(inputs, outputs, context ? context->memory : 0);\n}\n",
                 n, n, n);
}

/* const int64_t NAME = a op b, where the divisor is above 0 */
static void say_operation(source *s, tc_formula_op op, const char *name, const char *a, const char *b) {
    switch (op) {
    case TC_FORMULA_NUMBER:
    case TC_FORMULA_SIZE:
        break;
    case TC_FORMULA_ADD:
    case TC_FORMULA_SUB:
    case TC_FORMULA_MUL:
        tc_sb_printf(&s->b, "    const int64_t %s = %s %s %s;\n", name, a, tc_formula_text(op), b);
        break;
    case TC_FORMULA_DIV:
        tc_sb_printf(&s->b, "    const int64_t %s = %s / %s - (%s %% %s < 0);\n", name, a, b, a, b);
        break;
    case TC_FORMULA_MOD:
        tc_sb_printf(&s->b, "    const int64_t %s = (%s %% %s + %s) %% %s;\n", name, a, b, b, b);
        break;
    case TC_FORMULA_MIN:
    case TC_FORMULA_MAX:
        tc_sb_printf(&s->b, "    const int64_t %s = %s %s %s ? %s : %s;\n", name, a, op == TC_FORMULA_MIN ? "<" : ">", b, a, b);
        break;
    }
}

/* A variable for each operation; the name or number that is its value. */
static const char *say_formula(source *s, tc_arena *a, const tc_formula *f, int check) {
    const char *stack[TC_FORMULA_STACK + 1] = {0};
    int top = 0;
    for (int i = 0; i < f->n; i++) {
        const tc_formula_step *x = &f->steps[i];
        if (x->op == TC_FORMULA_NUMBER) {
            stack[top++] = tc_arena_printf(a, "INT64_C(%lld)", (long long)x->arg);
        } else if (x->op == TC_FORMULA_SIZE) {
            stack[top++] = tc_arena_printf(a, "size%lld", (long long)x->arg);
        } else {
            const char *name = tc_arena_printf(a, "check%d_%d", check, i);
            bool divides = x->op == TC_FORMULA_DIV || x->op == TC_FORMULA_MOD;
            top--;
            if (divides && f->steps[i - 1].op != TC_FORMULA_NUMBER)
                tc_sb_printf(&s->b, "    if (%s < 1)\n        return -2;\n", stack[top]);
            say_operation(s, x->op, name, stack[top - 1], stack[top]);
            stack[top - 1] = name;
        }
    }
    return stack[0];
}

static void check_ranges(source *s, const tc_cg_size_checks *c) {
    for (int k = 0; k < c->nsize; k++) {
        const tc_cg_size_range *r = &c->range[k];
        tc_sb_printf(&s->b,
                     "    const int64_t size%d = *(const int64_t *)inputs[%d] / %lld;\n"
                     "    if (*(const int64_t *)inputs[%d] %% %lld != 0 || *(const int64_t *)inputs[%d] < %lld || "
                     "*(const int64_t *)inputs[%d] > %lld)\n        return -2;\n",
                     k, c->first + k, (long long)r->multiple, c->first + k, (long long)r->multiple, c->first + k,
                     (long long)r->least, c->first + k, (long long)r->most);
    }
}

/* Returns from a run whose sizes are not what they must be. */
static void check_sizes(source *s) {
    tc_arena *a = tc_arena_new();
    tc_cg_size_checks c = tc_graph_size_checks(&s->m->rules, a);
    check_ranges(s, &c);
    for (int i = 0; i < c.ncheck; i++) {
        const char *value = say_formula(s, a, &c.check[i].formula, i);
        tc_sb_add(&s->b, "    if (");
        if (c.check[i].least != INT64_MIN)
            tc_sb_printf(&s->b, "%s < INT64_C(%lld)%s", value, (long long)c.check[i].least,
                         c.check[i].most == INT64_MAX ? "" : " || ");
        if (c.check[i].most != INT64_MAX)
            tc_sb_printf(&s->b, "%s > INT64_C(%lld)", value, (long long)c.check[i].most);
        tc_sb_add(&s->b, ")\n        return -2;\n");
    }
    for (int k = 0; k < c.nsize; k++) /* not all are in formulas */
        tc_sb_printf(&s->b, "    (void)size%d;\n", k);
    tc_arena_free(a);
}

/* The same where an input is not the output that it must be. */
static void check_shared(source *s) {
    for (int i = 0; i < s->m->nin; i++)
        if (s->m->in[i].shared)
            tc_sb_printf(&s->b, "    if (inputs[%d] != outputs[%d] || (uintptr_t)inputs[%d] %% %d != 0)\n        return -3;\n", i,
                         s->m->in[i].shared - 1, i, TC_RT_ALIGN);
}

static void entry(source *s) {
    const tc_graph_model *m = s->m;
    tc_sb_printf(&s->b, "int32_t %s_run_in(const void *const *inputs, void *const *outputs, void *memory) {\n", s->name);
    tc_sb_printf(&s->b,
                 "    uint8_t *const arena = memory;\n    (void)arena, (void)inputs, (void)outputs;\n"
                 "    if (%s_cpu() != %d)\n        return %s_cpu();\n    if (!arena)\n        return %d;\n",
                 s->name, TC_CG_RIGHT_CPU, s->name, TC_CG_NO_MEMORY);
    check_sizes(s);
    check_shared(s);
    for (int i = 0, end_of_fork = -1; i <= m->nstep; i++) {
        if (i == end_of_fork)
            end_fork(s);
        if (is_target(m, i))
            tc_sb_printf(&s->b, "step%d:;\n", i);
        if (i == m->nstep)
            break;
        end_of_fork = m->steps[i].kind == TC_CG_FORK ? m->steps[i].target : end_of_fork;
        step(s, i);
    }
    tc_sb_printf(&s->b, "    return 0;\n}\n\nint32_t %s_run(const void *const *inputs, void *const *outputs) {\n", s->name);
    tc_sb_printf(&s->b, "    static _Alignas(64) uint8_t arena[%s_MEMORY];\n    return %s_run_in(inputs, outputs, arena);\n}\n\n",
                 s->name, s->name);
    contexts(s);
}

/* What a thread forks with is no team for its child, and OpenMP's runtime must outlive its threads: see the runtime of libraries. */
static void threads(source *s) {
    tc_sb_printf(
        &s->b,
        "#if defined(_OPENMP) && defined(__GLIBC__)\n#include <dlfcn.h>\n#include <omp.h>\n#include <pthread.h>\n\n"
        "#ifndef __USE_GNU\nextern int dladdr(const void *, void *);\n#endif\n#pragma weak dladdr\n#pragma weak dlopen\n\n"
        "static void %s_before_fork(void) {\n    omp_pause_resource_all(omp_pause_soft);\n}\n\n"
        "/* OpenMP's threads wait in the code of its runtime. So that stays loaded when a library with this source is "
        "closed. */\n"
        "__attribute__((constructor)) static void %s_opened(void) {\n"
        "    const char *runtime[4] = {0}; /* a Dl_info: the file's name comes first */\n"
        "    pthread_atfork(%s_before_fork, 0, 0);\n"
        "    if (dladdr && dlopen && dladdr((void *)(uintptr_t)omp_pause_resource_all, (void *)runtime))\n"
        "        dlopen(runtime[0], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);\n}\n#endif\n\n",
        s->name, s->name, s->name);
}

/* ---- library kernels ---- */

static bool uses_library(const tc_graph_model *m) {
    for (int i = 0; i < m->nstep; i++)
        if (m->steps[i].library)
            return true;
    return false;
}

/* Their source, and threads for them: each number of a thread is one's at a time, as their workspaces go by it. */
static void library(source *s) {
    const char *text;
    size_t size;
    tc_graph_library_text(&text, &size);
    tc_sb_add(&s->b, "#define TC_LIB_STATIC\n");
    tc_sb_addn(&s->b, text, size);
    tc_sb_printf(&s->b, "static int32_t %s_parallel_for(const tc_rt *rt, int64_t n, tc_rt_body *body, void *closure) {\n",
                 s->name);
    tc_sb_add(&s->b, "    int32_t team = rt->nthreads;\n#ifdef _OPENMP\n"
                     "#pragma omp parallel for schedule(static) num_threads(tc_team(team))\n#endif\n"
                     "    for (int32_t t = 0; t < team; t++)\n        if (n * t / team < n * (t + 1) / team)\n"
                     "            body(n * t / team, n * (t + 1) / team, t, closure);\n    return 0;\n}\n\n");
    tc_sb_printf(&s->b, "static const tc_rt %s_rt = {TC_RT_ABI, %d, %s_parallel_for, 0};\n\n", s->name, s->m->threads, s->name);
}

/* ---- weights ---- */

static tc_status array(source *s, tc_error *err) {
    char *data = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&data, &size);
    tc_status r = f ? tc_graph_write_constants(s->m, f, err) : tc_fail(err, TC_ENV, "no memory for the weights");
    if (f)
        fclose(f);
    tc_sb_printf(&s->b, "static const _Alignas(64) uint8_t %s_weights[%zu] = {", s->name, size);
    for (size_t i = 0; i < size && r == TC_OK; i++)
        tc_sb_printf(&s->b, "%s%u,", i % 32 ? "" : "\n    ", (unsigned)(uint8_t)data[i]);
    tc_sb_add(&s->b, "\n};\n\n");
    free(data);
    return r;
}

/* The assembler reads this text in quotes, and the compiler before reads what that is in quotes. */
static void add_quoted(tc_strbuf *b, const char *file) {
    for (const char *c = file; *c; c++)
        if ((unsigned char)*c < ' ')
            tc_sb_printf(b, "\\\\%03o", (unsigned)*c);
        else if (*c == '"')
            tc_sb_add(b, "\\\\\\\"");
        else if (*c == '\\')
            tc_sb_add(b, "\\\\\\\\");
        else if (*c == '?') /* no trigraph */
            tc_sb_add(b, "\\?");
        else
            tc_sb_addc(b, *c);
}

static void included(source *s, const char *file) {
    tc_sb_printf(&s->b,
                 "/* The assembler reads these %lld bytes from a file in the current folder or in a folder of -Wa,-I, or from "
                 "the file that\n * -D%s_WEIGHTS='\"PATH\"' names. */\n#ifndef %s_WEIGHTS\n#define %s_WEIGHTS \"",
                 (long long)s->m->blob_bytes, s->name, s->name, s->name);
    add_quoted(&s->b, file);
    tc_sb_add(&s->b, "\"\n#endif\n");
    tc_sb_printf(&s->b,
                 "__asm__(\".section .rodata\\n.balign 64\\n.globl %s_weights\\n.hidden %s_weights\\n%s_weights:\\n"
                 ".incbin \\\"\" %s_WEIGHTS \"\\\"\\n.previous\\n\");\n",
                 s->name, s->name, s->name, s->name);
    tc_sb_printf(&s->b, "extern const uint8_t %s_weights[] __attribute__((visibility(\"hidden\")));\n\n", s->name);
}

/* To a file of its own, which is moved when the source is there. */
static tc_status write_weights(const source *s, const char *temp, tc_error *err) {
    FILE *f = fopen(temp, "wb");
    tc_status r = f ? tc_graph_write_constants(s->m, f, err) : tc_fail(err, TC_ENV, "cannot be written: %s", strerror(errno));
    if (r != TC_OK)
        tc_error_prefix(err, "%s: ", temp);
    if (f && fclose(f) != 0 && r == TC_OK)
        r = tc_fail(err, TC_ENV, "%s: writing the weights failed; free space there or set TMPDIR to a larger folder", temp);
    return r;
}

/* ---- all of it ---- */

static tc_status write_source(source *s, const char *weights_file, tc_error *err) {
    const tc_graph_model *m = s->m;
    tc_sb_printf(
        &s->b, "/* Made by tctune: see the header. C17; OpenMP's threads where the compiler has it switched on (-fopenmp). */\n");
    tc_cg_c_prelude(&s->b);
    tc_sb_printf(&s->b, "enum { %s_MEMORY = %lld };\n", s->name, (long long)TC_MAX(m->arena_bytes, TC_RT_ALIGN));
    tc_sb_printf(&s->b, "int32_t %s_run_in(const void *const *inputs, void *const *outputs, void *memory);\n", s->name);
    tc_sb_printf(&s->b, "int32_t %s_run(const void *const *inputs, void *const *outputs);\n\n", s->name);
    if (weights_file)
        included(s, weights_file);
    else if (m->blob_bytes)
        TC_TRY(array(s, err));
    if (uses_library(m))
        library(s);
    s->stack = uses_library(m) ? TC_GRAPH_LIBRARY_STACK : 0;
    for (int i = 0; i < m->nkernel; i++) {
        int64_t stack;
        TC_TRY(tc_cg_emit_c(m->units[i].func, m->kernels[i].symbol, m->threads, &s->b, &stack, err));
        s->stack = TC_MAX(s->stack, stack);
    }
    threads(s);
    tc_graph_add_cpu_check(s->name, &s->b);
    entry(s);
    return TC_OK;
}

/* What compilers add to what the source declares: spilled registers, frames of the prelude's functions. */
enum { COMPILERS = 16 << 10 };
static const char NOTE[] = " Compile with -O1 or more: 16 KiB are\n * for what compilers add to the variables of the source.";

static void header(const source *s, tc_strbuf *b) {
    tc_graph_header h = {.stack = s->stack + COMPILERS + tc_graph_outer_stack(s->m),
                         .openmp = true,
                         .note = NOTE,
                         .lacks = "the instruction sets that the compiler was told of (-march)"};
    tc_graph_open_header(s->m, s->name, &h, b);
    tc_sb_add(
        b, "/* In static memory: one call at a time. Arrays are aligned to their elements. Returns 0, or a number that is told "
           "above. */\n");
    tc_sb_printf(b, "int32_t %s_run(const void *const *inputs, void *const *outputs);\n", s->name);
    tc_sb_add(b, "/* Runs in the caller's memory, of this many bytes, aligned to 64: several threads may call it at once. */\n");
    tc_sb_printf(b, "enum { %s_MEMORY = %lld };\n", s->name, (long long)TC_MAX(s->m->arena_bytes, TC_RT_ALIGN));
    tc_sb_printf(b, "int32_t %s_run_in(const void *const *inputs, void *const *outputs, void *memory);\n\n", s->name);
    tc_graph_close_header(s->name, b);
}

/* weights: their file, which lies in the scratch folder until then, or NULL. */
static tc_status write_all(source *s, const char *path, const char *weights, const tc_scratch *scratch, tc_error *err) {
    const char *slash = weights ? strrchr(weights, '/') : NULL;
    tc_arena *a = tc_arena_new();
    tc_strbuf b = {0};
    const char *temp = weights ? tc_arena_printf(a, "%s/weights", tc_scratch_path(scratch)) : NULL;
    tc_status r = write_source(s, slash ? slash + 1 : weights, err);
    header(s, &b);
    if (r == TC_OK && weights)
        r = write_weights(s, temp, err);
    tc_fs_new files[] = {{.path = path, .data = s->b.data, .size = s->b.len},
                         {.path = tc_graph_path_beside(a, path, ".h"), .data = b.data, .size = b.len},
                         {.path = weights, .from = temp}};
    if (r == TC_OK)
        r = tc_fs_write_files(files, weights ? 3 : 2, err);
    tc_strbuf_free(&b);
    tc_arena_free(a);
    return r;
}

static tc_status check(const tc_graph_model *m, const char *path, tc_error *err) {
    if (m->blob_bytes > TC_CG_REACH - m->arena_bytes)
        return tc_fail(err, TC_BAD_INPUT,
                       "%s: %lld bytes for intermediate values and %lld bytes of weights are more than the 2 GiB that code can "
                       "reach; build a .so, where weights may be more, or give smaller sizes (--shape)",
                       path, (long long)m->arena_bytes, (long long)m->blob_bytes);
    return TC_OK;
}

tc_status tc_graph_save_c(const tc_graph_model *m, const char *path, const char *name, tc_error *err) {
    source s = {.m = m, .name = name, .workspace_at = m->workspace_at};
    tc_strbuf weights = {0};
    tc_scratch *scratch = NULL;
    TC_TRY(check(m, path, err));
    bool apart = m->blob_bytes > MOST_IN_SOURCE;
    if (apart)
        TC_TRY(tc_scratch_open(&scratch, err));
    tc_sb_printf(&weights, "%.*s.weights", (int)strlen(path) - 2, path);
    tc_status r = write_all(&s, path, apart ? tc_sb_str(&weights) : NULL, scratch, err);
    tc_scratch_close(scratch);
    tc_strbuf_free(&weights);
    tc_strbuf_free(&s.b);
    return r;
}
