/* Relocatable objects, as the loader reads them: of this machine and, up to running, of the other one that it knows. */
#include <stdlib.h>
#include <string.h>

#include "codegen/load/load_int.h"
#include "support/vec.h"
#include "targets.h"

static void load(const void *object, size_t size, unsigned machine) {
    tc_load_image *m = NULL;
    tc_error err = {0};
    if (!fuzz_good(tc_load_for(object, size, machine, &m, &err), &err))
        return;
    for (size_t i = 0; i < m->nexport; i++) {
        const unsigned char *at = tc_load_find(m, m->exports[i].name);
        if (!at || at < m->base || at > m->base + m->bytes)
            fuzz_wrong("'%s' is not in the image", m->exports[i].name);
    }
    tc_load_free(m);
}

void fuzz_read_object(const char *data, size_t size) {
    static const unsigned MACHINES[] = {EM_X86_64, EM_AARCH64};
    char *copy = malloc(size + !size); /* so that a sanitizer sees what is read behind it */
    if (!copy)
        return;
    memcpy(copy, data, size);
    for (size_t i = 0; i < TC_LEN(MACHINES); i++)
        load(copy, size, MACHINES[i]);
    free(copy);
}
