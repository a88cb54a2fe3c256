/* JSON documents (message.h) between boards that do not compile and builders: candidates to build, and the result of one
 * candidate. Its object stands elsewhere, in chunks (objects/objects.h). */
#ifndef TC_FLEET_BUILD_H
#define TC_FLEET_BUILD_H

#include "fleet/message.h"

enum {
    TC_FLEET_BUILDS = 8,               /* candidates of a job at most: as many as tuners ask for at once */
    TC_FLEET_OBJECT = TC_BYTES_ANSWER, /* bytes of an object: what a building process may answer at most */
    TC_FLEET_CHUNK = 512 << 10,        /* of a chunk: half of what a server takes in one message unless it is told otherwise */
    TC_FLEET_CHUNKS = 4096,            /* of an object */
    TC_FLEET_SEAL = 64                 /* characters of a digest: tc_seal, of the bytes */
};

typedef struct tc_fleet_build_job {
    const char *board;         /* who asks */
    const char *const *barred; /* names of builders that are not to build it, nbarred of them */
    size_t nbarred;
    int asked; /* how often it was: at least 1. More: what is there already may be lost or damaged, and is put there again */
    const char *target;
    int threads;
    double limit;            /* seconds for a candidate */
    const tc_meas_input *in; /* n of them, of which workload and trace are sent */
    size_t n;
} tc_fleet_build_job;

/* What the i-th candidate comes to is known by this word, which follows from workload, trace, target, threads, limit and the
 * versions of this build: nobody can ask for something under the word of something else. */
const char *tc_fleet_build_id(tc_arena *a, const tc_fleet_build_job *j, size_t i);
void tc_fleet_build_job_write(const tc_fleet_build_job *j, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_build_job_read(const char *text, tc_arena *a, tc_fleet_build_job *out, tc_error *err);

/* What a candidate came to. */
typedef struct tc_fleet_built {
    const char *id, *builder;
    tc_meas_made made;        /* but for the object itself: its size. A failure is one of building */
    const char *whole;        /* digest of the object; "" where there is none */
    const char *const *chunk; /* nchunk digests: the object is these chunks, one behind the other */
    size_t nchunk;
} tc_fleet_built;

void tc_fleet_built_write(const tc_fleet_built *b, tc_strbuf *out);
TC_NODISCARD tc_status tc_fleet_built_read(const char *text, tc_arena *a, tc_fleet_built *out, tc_error *err);

#endif
