/* op_peers PEER PROGRAM: an operator of another library that obeys lines on its standard input, so that its runs can alternate
 * with another program's. It prepares every variant of the program, keeps the fastest and prints {"ready": true, ...}. "run K"
 * takes K samples (after an untimed one) and prints {"times_ms": [...]}; "save" writes the outputs to their files; "quit" ends
 * it. Without arguments it names the peers.
 */
#include "op_peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_SAMPLES = 1000, TRIALS = 9, MOST_CALLS = 100000 };
static const double MIN_SAMPLE_MS = 2;    /* as in tctune's own runner: shorter calls are averaged */
static const double TURN_BUDGET_MS = 400; /* long calls get fewer samples */

static const op_peer *const peers[] = {
#ifdef PEER_ONEDNN
    &op_onednn,
#endif
#ifdef PEER_OPENBLAS
    &op_openblas,
#endif
    &op_library, NULL};

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void die(const char *what, const char *which) {
    fprintf(stderr, "op_peers: %s '%s'\n", what, which);
    exit(2);
}

/* ---- the program ---- */

static int numbers(const char *text, int64_t *out, int most) {
    int n = 0;
    char *end;
    for (const char *p = text; *p && n < most; p = *end ? end + 1 : end) {
        out[n++] = strtoll(p, &end, 10);
        if (end == p || (*end && *end != ','))
            die("not a list of numbers:", text);
    }
    return n;
}

static role role_of(const char *word) {
    static const char *const names[] = {"in", "const", "out", "temp"};
    for (int i = 0; i < 4; i++)
        if (strcmp(word, names[i]) == 0)
            return (role)i;
    die("a memory is in, const, out or temp, not", word);
    return ROLE_TEMP;
}

static void add_memory(program *p, char *const *word, int nword) {
    if (nword < 5 || p->nmemory == MAX_MEMORIES)
        die("too many memories, or too few words for one:", word[1]);
    memory *m = &p->memory[p->nmemory++];
    *m = (memory){.name = word[1], .role = role_of(word[4]), .file = nword > 5 ? word[5] : "", .count = 1};
    m->ndim = numbers(word[2], m->dims, MAX_DIMS);
    if (numbers(word[3], m->strides, MAX_DIMS) != m->ndim)
        die("as many strides as dimensions are needed by memory", m->name);
    for (int i = 0; i < m->ndim; i++)
        m->count *= m->dims[i];
}

static void add_line(program *p, char *const *word, int nword) {
    if (strcmp(word[0], "threads") == 0 && nword == 2) {
        p->threads = atoi(word[1]);
    } else if (strcmp(word[0], "memory") == 0) {
        add_memory(p, word, nword);
    } else if (strcmp(word[0], "variant") == 0 && nword == 2 && p->nvariant < MAX_VARIANTS) {
        p->variant[p->nvariant++] = (variant){.name = word[1]};
    } else {
        variant *v = p->nvariant ? &p->variant[p->nvariant - 1] : NULL;
        if (!v || v->nstep == MAX_STEPS)
            die("no place for the line of", word[0]);
        step *s = &v->step[v->nstep++];
        s->nword = nword;
        for (int i = 0; i < nword; i++)
            s->word[i] = word[i];
    }
}

static char *read_text(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);
    if (!f || !text)
        die("cannot be read:", path);
    text[fread(text, 1, (1 << 16) - 1, f)] = 0;
    fclose(f);
    return text;
}

/* The program's words point into `text`. */
static void parse(program *p, char *text) {
    char *next_line, *next_word;
    for (char *line = strtok_r(text, "\n", &next_line); line; line = strtok_r(NULL, "\n", &next_line)) {
        char *word[MAX_WORDS];
        int n = 0;
        for (char *w = strtok_r(line, " ", &next_word); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &next_word))
            word[n++] = w;
        if (n)
            add_line(p, word, n);
    }
    if (p->threads < 1 || !p->nvariant)
        die("the program needs threads and a variant", "");
}

static void fill(memory *m) {
    size_t bytes = ((size_t)m->count * sizeof *m->data + 63) / 64 * 64;
    m->data = aligned_alloc(64, bytes);
    if (!m->data)
        die("no memory for", m->name);
    memset(m->data, 0, bytes);
    if (m->role != ROLE_IN && m->role != ROLE_CONST)
        return;
    FILE *f = fopen(m->file, "rb");
    if (!f || fread(m->data, sizeof *m->data, (size_t)m->count, f) != (size_t)m->count)
        die("too short, or cannot be read:", m->file);
    fclose(f);
}

int op_memory(const program *p, const char *word) {
    const char *name = word[0] == '?' ? word + 1 : word;
    for (int i = 0; i < p->nmemory; i++)
        if (strcmp(p->memory[i].name, name) == 0)
            return i;
    fprintf(stderr, "op_peers: there is no memory '%s'\n", name);
    return -1;
}

const char *op_value(const step *s, const char *key) {
    size_t n = strlen(key);
    for (int i = 1; i < s->nword; i++)
        if (strncmp(s->word[i], key, n) == 0 && s->word[i][n] == '=')
            return s->word[i] + n + 1;
    return NULL;
}

int op_numbers(const step *s, const char *key, int64_t *out, int most) {
    const char *v = op_value(s, key);
    return v ? numbers(v, out, most) : 0;
}

int64_t op_number(const step *s, const char *key, int64_t otherwise) {
    int64_t n;
    return op_numbers(s, key, &n, 1) ? n : otherwise;
}

/* ---- timing ---- */

static void must(bool ok) {
    if (!ok) {
        fprintf(stderr, "op_peers: a run failed\n");
        exit(1);
    }
}

/* Milliseconds of a call, averaged over so many that the clock does not matter. */
static double sample(const op_peer *p, void *state, double expected_ms) {
    double wanted = MIN_SAMPLE_MS / (expected_ms > 1e-6 ? expected_ms : 1e-6);
    int calls = wanted < 1 ? 1 : wanted > MOST_CALLS ? MOST_CALLS : (int)wanted + 1;
    double started = now_ms();
    for (int i = 0; i < calls; i++)
        must(p->run(state));
    return (now_ms() - started) / calls;
}

static void turn(const op_peer *p, void *state, int samples) {
    double end = now_ms() + TURN_BUDGET_MS, ms = sample(p, state, MIN_SAMPLE_MS);
    printf("{\"times_ms\": [");
    for (int i = 0; i < samples && (i < 3 || now_ms() < end); i++) {
        ms = sample(p, state, ms);
        printf("%s%.7f", i ? ", " : "", ms);
    }
    printf("]}\n");
}

static void save(const program *p, const op_peer *peer, void *state) {
    must(peer->run(state) && (!peer->fetch || peer->fetch(state)));
    for (int i = 0; i < p->nmemory; i++) {
        const memory *m = &p->memory[i];
        if (m->role != ROLE_OUT)
            continue;
        FILE *f = fopen(m->file, "wb");
        if (!f || fwrite(m->data, sizeof *m->data, (size_t)m->count, f) != (size_t)m->count || fclose(f) != 0)
            die("cannot be written:", m->file);
    }
    printf("{\"saved\": true}\n");
}

static void serve(const program *p, const op_peer *peer, void *state) {
    char line[64];
    int samples;
    while (fgets(line, sizeof line, stdin) && strcmp(line, "quit\n") != 0) {
        if (sscanf(line, "run %d", &samples) == 1 && samples > 0 && samples <= MAX_SAMPLES)
            turn(peer, state, samples);
        else if (strcmp(line, "save\n") == 0)
            save(p, peer, state);
        else
            printf("{\"error\": \"no such command: run K, save, quit\"}\n");
        fflush(stdout);
    }
}

/* A variant that could be prepared, and its best sample so far. */
typedef struct candidate {
    const variant *v;
    void *state;
    double ms;
} candidate;

/* In turns, because the machine may be disturbed for a while: {"channels-last": 0.12, ...} is printed. Returns the fastest's
 * index. */
static int compare(const op_peer *peer, candidate *c, int n) {
    int best = 0;
    double end = now_ms() + TURN_BUDGET_MS * n;
    for (int i = 0; i < n; i++)
        c[i].ms = sample(peer, c[i].state, MIN_SAMPLE_MS);
    for (int trial = 0; trial < TRIALS && n > 1 && now_ms() < end; trial++)
        for (int i = 0; i < n; i++) {
            double ms = sample(peer, c[i].state, c[i].ms);
            c[i].ms = ms < c[i].ms ? ms : c[i].ms;
        }
    for (int i = 0; i < n; i++) {
        printf("%s\"%s\": %.6f", i ? ", " : "", c[i].v->name, c[i].ms);
        best = c[i].ms < c[best].ms ? i : best;
    }
    return best;
}

/* Keeps the variant that is fastest in a short trial. NULL when none can be prepared. */
static void *choose(program *p, const op_peer *peer, const variant **chosen) {
    candidate c[MAX_VARIANTS];
    int n = 0;
    printf("{\"ready\": true, \"peer\": \"%s\", \"version\": \"%s\", \"tried\": {", peer->name, peer->version());
    for (int i = 0; i < p->nvariant; i++) {
        void *state = peer->prepare(p, &p->variant[i]);
        if (state)
            c[n++] = (candidate){.v = &p->variant[i], .state = state};
    }
    if (!n)
        return NULL;
    int best = compare(peer, c, n);
    for (int i = 0; i < n; i++)
        if (i != best)
            peer->release(c[i].state);
    *chosen = c[best].v;
    return c[best].state;
}

static const op_peer *find(const char *name) {
    for (int i = 0; peers[i]; i++)
        if (strcmp(peers[i]->name, name) == 0)
            return peers[i];
    die("this build has no peer", name);
    return NULL;
}

static int list_peers(void) {
    for (int i = 0; peers[i]; i++)
        puts(peers[i]->name);
    return 0;
}

int main(int argc, char **argv) {
    static program p; /* large */
    const variant *v = NULL;
    if (argc == 1)
        return list_peers();
    if (argc != 3) {
        fprintf(stderr, "usage: op_peers [PEER PROGRAM]\n");
        return 2;
    }
    const op_peer *peer = find(argv[1]);
    char *text = read_text(argv[2]);
    parse(&p, text);
    for (int i = 0; i < p.nmemory; i++)
        fill(&p.memory[i]);
    void *state = choose(&p, peer, &v);
    if (state) {
        const char *how = peer->chosen ? peer->chosen(state) : "";
        printf("}, \"variant\": \"%s\", \"how\": \"%s\"}\n", v->name, how);
        fflush(stdout);
        serve(&p, peer, state);
        peer->release(state);
    } else {
        printf("}, \"error\": \"cannot do this\"}\n");
    }
    for (int i = 0; i < p.nmemory; i++)
        free(p.memory[i].data);
    free(text);
    return state ? 0 : 1;
}
