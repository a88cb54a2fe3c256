/* A kernel that `tctune build` made, timed by the same loop as its peers. Step: call LIBRARY SYMBOL inputs... outputs... */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "op_peers.h"

typedef int32_t entry(const void *const *inputs, void *const *outputs);

typedef struct state {
    void *library;
    entry *entry;
    const void *in[MAX_MEMORIES];
    void *out[MAX_MEMORIES];
} state;

static void release(void *p) {
    state *s = p;
    if (s->library)
        dlclose(s->library);
    free(s);
}

static bool open_library(state *s, const program *p, const step *x) {
    int nin = 0, nout = 0;
    s->library = dlopen(x->word[1], RTLD_NOW | RTLD_LOCAL);
    void *symbol = s->library ? dlsym(s->library, x->word[2]) : NULL;
    if (!symbol) {
        fprintf(stderr, "%s\n", dlerror());
        return false;
    }
    *(void **)&s->entry = symbol;
    for (int i = 3; i < x->nword; i++) {
        int m = op_memory(p, x->word[i]);
        if (m < 0)
            return false;
        if (p->memory[m].role == ROLE_OUT)
            s->out[nout++] = p->memory[m].data;
        else
            s->in[nin++] = p->memory[m].data;
    }
    return true;
}

static void *prepare(program *p, const variant *v) {
    state *s = calloc(1, sizeof *s);
    if (s && v->nstep == 1 && v->step[0].nword > 3 && open_library(s, p, &v->step[0]))
        return s;
    if (s)
        release(s);
    return NULL;
}

static bool run(void *p) {
    state *s = p;
    return s->entry(s->in, s->out) == 0;
}

static const char *version(void) {
    return "";
}

const op_peer op_library = {"library", prepare, run, NULL, release, version, NULL};
