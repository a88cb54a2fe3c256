# What a library says of its time where TCTUNE_PROFILE asks for it, and that it says nothing where it does not.
. "$(dirname "$0")/check.sh"
model=$models/dense.onnx

ok "$TCTUNE" build --model "$model" --untuned --threads 2 --name net -o net.so --json
name=$(json out kernels.0.name)
ok "$TCTUNE" run --model net.so --inputs "$models/x.npz" --outputs y.npz
[ ! -s err ] || fail "a profile that nobody asked for"
for no in "" 0; do
    ok env TCTUNE_PROFILE="$no" "$TCTUNE" run --model net.so --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0
    [ ! -s err ] || fail "'$no' asks for no profile"
done
ok env TCTUNE_PROFILE=1 "$TCTUNE" run --model net.so --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0
grep -q "^net: 1 runs of" err || fail "no profile"
grep -qF "$name (default schedule)" err || fail "the profile has no kernel"

# ---- JSON ----
ok env TCTUNE_PROFILE=net.json "$TCTUNE" run --model net.so --inputs "$models/x.npz"
[ ! -s err ] || fail "the profile is on stderr as well"
[ "$(json net.json library)" = net ] && [ "$(json net.json runs)" = 1 ] && [ "$(json net.json kernels.0.name)" = "$name" ] ||
    fail "the file is wrong: $(cat net.json)"
[ "$(json net.json kernels.0.calls)" = 1 ] || fail "calls"
mkdir files
ok env TCTUNE_PROFILE=files/%n-%p.json "$TCTUNE" run --model net.so --inputs "$models/x.npz"
ls files | grep -q '^net-[0-9]*\.json$' || fail "%n and %p: $(ls files)"
ok env TCTUNE_PROFILE=nowhere/p.json "$TCTUNE" run --model net.so --inputs "$models/x.npz"
grep -q "nowhere/p.json could not be written" err && grep -q '"runs": 1' err || fail "a profile is lost"
# Workers have no files: tuning goes on as ever.
ok env TCTUNE_PROFILE=w.json "$TCTUNE" tune --te gemm.te --trials 2 --stop-at-roof 9 --db t.db
[ ! -e w.json ] || fail "a worker wrote a profile"
# Somebody who watches a run himself gets what he would.
ok env TCTUNE_PROFILE=1 "$TCTUNE" bench --model net.so --repeats 3
says "$name"
ok env TCTUNE_PROFILE=1 "$TCTUNE" trace net.so -o t.json

if ! command -v cc >/dev/null; then
    echo "no C compiler: programs that use libraries were not tried"
    exit 77
fi

# ---- programs: several runs, threads, children, two libraries, objects ----
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name other -o other.so
cat >use.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "net.h"
#include "other.h"

static float x[8 * 48], y[2][8 * 40], a[48 * 64], b[48 * 80];

static void *in_thread(void *out) {
    const void *in[] = {x};
    void *outs[] = {out};
    net_context *c = net_context_new();
    for (int i = 0; i < 20; i++)
        if (net_context_run(c, in, outs))
            abort();
    net_context_free(c);
    return NULL;
}

int main(int argc, char **argv) {
    const void *in[] = {x}, *in2[] = {a};
    void *out[] = {y[0]}, *out2[] = {b};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "five")) {
            for (int k = 0; k < 5; k++)
                net_run(in, out);
        } else if (!strcmp(argv[i], "other")) {
            other_run(in2, out2);
        } else if (!strcmp(argv[i], "threads")) {
            pthread_t t[2];
            for (int k = 0; k < 2; k++)
                pthread_create(&t[k], NULL, in_thread, y[k]);
            for (int k = 0; k < 2; k++)
                pthread_join(t[k], NULL);
        } else if (!strcmp(argv[i], "child")) {
            pid_t child = fork();
            if (child == 0) {
                net_run(in, out);
                exit(0);
            }
            waitpid(child, NULL, 0);
        } else if (!strcmp(argv[i], "idle_child")) {
            pid_t child = fork();
            if (child == 0)
                exit(0);
            waitpid(child, NULL, 0);
        }
    return 0;
}
C
ok cc -std=gnu17 use.c -o use ./net.so ./other.so -Wl,-rpath,. -pthread -lm
prints() { # PROFILE WORDS LINE...: the heads of the tables that are printed, in any order
    ok env TCTUNE_PROFILE="$1" ./use $2
    shift 2
    grep ' runs of ' err | sed 's/ runs of .*//' | sort >heads || true
    : >want
    for line in "$@"; do
        echo "$line"
    done | sort >want
    cmp -s heads want || fail "tables of '$(cat heads)', not '$*'"
}
prints 1 five "net: 5"
prints 1 ""
prints 2 five "net: 2" "net: 4" "net: 5"
prints 5 five "net: 5"
prints 1 "five other" "net: 5" "other: 1"
prints 1 threads "net: 40"
prints 1 "five child" "net: 5" "net: 1"
prints 1 "five idle_child" "net: 5"
ok env TCTUNE_PROFILE=both-%n.json ./use five other
[ "$(json both-net.json runs)" = 5 ] && [ "$(json both-other.json runs)" = 1 ] || fail "two libraries"
# Two models as objects in one program.
ok "$TCTUNE" build --model "$model" --untuned --threads 2 --name net -o net.o
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name other -o other.o
ok cc -std=gnu17 use.c -o use net.o other.o -pthread -lgomp -lm
prints 1 "five other" "net: 5" "other: 1"
echo "$checks checks"
