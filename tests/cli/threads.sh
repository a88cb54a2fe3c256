# More threads than the machine can start are refused, more than it has cores are warned of, and nothing that they measure is kept
# as what the machine can do. Libraries run with the threads that can be started.
. "$(dirname "$0")/check.sh"

cores=$(nproc)
many=$((cores * 8))
"$TCTUNE" build --te gemm.te --untuned --threads 4 --name net -o net.so >/dev/null 2>&1
"$TCTUNE" build --te gemm.te --untuned --threads 1 --name alone -o alone.so >/dev/null 2>&1
echo "parallel Y.i" >y.sched
mkdir case

# ---- every command that takes --threads refuses what cannot be started ----
line() { # COMMAND: what else it needs
    case $1 in
    tune) echo "tune --te gemm.te --trials 4 --db new.db" ;;
    build) echo "build --te gemm.te --untuned -o new.so" ;;
    run) echo "run --te gemm.te --untuned" ;;
    verify) echo "verify case" ;;
    bench) echo "bench --te gemm.te --untuned" ;;
    trace) echo "trace net.so -o t.json" ;;
    doctor) echo "doctor" ;;
    worker) echo "worker --nats nats://127.0.0.1:1" ;;
    show) echo "show --te gemm.te" ;;
    measure) echo "measure --te gemm.te --sched y.sched --db new.db" ;;
    compare) echo "compare default y.sched --te gemm.te" ;;
    explain) echo "explain --te gemm.te" ;;
    quantize) echo "quantize $models/dense.onnx -o new.onnx --weights-only 8" ;;
    *) return 1 ;;
    esac
}
"$TCTUNE" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' >commands
taking=0
while read -r command; do
    # shellcheck disable=SC2086 # "db stats" is two words
    "$TCTUNE" $command --help | grep -q -e '--threads' || continue
    [ "$command" != report ] || continue # those of records
    taking=$((taking + 1))
    words=$(line "$command") || fail "tctune $command takes --threads, and no test gives it too many"
    status=1
    [ "$command" != verify ] || status=2
    for n in 100000 1000000000; do
        # shellcheck disable=SC2086 # options
        refused $status "$n threads cannot be started|this machine has $cores core" "$TCTUNE" $words --threads $n
    done
done <commands
[ "$taking" -ge 13 ] || fail "only $taking commands take --threads"
for n in 100000 1000000000; do
    refused 1 "$n threads cannot be started" "$TCTUNE" run --model net.so --threads $n
    refused 1 "no machine has $n CPUs" "$TCTUNE" build --te gemm.te --untuned --target neoverse-v1 --threads $n -o new.so
    refused 1 "no machine has $n CPUs" "$TCTUNE" worker --print-key --target neoverse-v1 --threads $n
done
ok "$TCTUNE" build --te gemm.te --untuned --target neoverse-v1 --threads 512 -o other.o
! grep -q "take turns" err || fail "a warning of threads that are another machine's"

# ---- more than there are cores: one warning, and what is measured so is not the machine's ----
TCTUNE_CACHE=$work/cache
export TCTUNE_CACHE
warned() { # COMMAND...
    ok "$@"
    [ "$(grep -c "$many threads take turns on $cores core" err)" -eq 1 ] || fail "not one warning: $*"
}
warned "$TCTUNE" tune --te gemm.te --trials 2 --threads $many --db t.db --start-from none --stop-at-roof 9 --out tuned.so --json
[ "$(json out threads)" -eq "$cores" ] || fail "the machine's peak is of $(json out threads) threads"
warned "$TCTUNE" bench --te gemm.te --untuned --threads $many --repeats 1
warned "$TCTUNE" run --te gemm.te --untuned --threads $many
warned "$TCTUNE" doctor --threads $many --json
[ "$(json out measured.threads)" -eq "$cores" ] || fail "the doctor measured $(json out measured.threads) threads"
walks=$(ls cache/caches-*.json)
ok "$TCTUNE" bench --te gemm.te --untuned --threads "$cores" --repeats 1
! grep -q "take turns" err || fail "as many threads as cores are warned of"
[ "$(ls cache/caches-*.json)" = "$walks" ] || fail "what $many threads measured of the memory is kept beside what $cores did"

# ---- a library in a process that can have one more thread, or none: it computes the same, and the process goes on ----
command -v cc >/dev/null || { echo "skipped: there is no C compiler, so no program used a library"; exit 77; }
cat >few.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "alone.h"
#include "net.h"

static float x[48 * 64], want[48 * 80], y[2][48 * 80];

int main(int argc, char **argv) {
    long pages = 0, stacks = argc > 1 ? atol(argv[1]) : 0;
    struct rlimit stack, space;
    const void *in[] = {x};
    void *out[] = {want}, *other[] = {y[0]}, *last[] = {y[1]};
    for (int i = 0; i < 48 * 64; i++)
        x[i] = (float)(i % 7) - 3;
    if (alone_run(in, out))
        return 1;
    FILE *f = fopen("/proc/self/statm", "r");
    if (!f || fscanf(f, "%ld", &pages) != 1 || getrlimit(RLIMIT_STACK, &stack))
        return 2;
    fclose(f);
    space.rlim_cur = space.rlim_max = (rlim_t)(pages * sysconf(_SC_PAGESIZE)) + (rlim_t)stacks * stack.rlim_cur + (3 << 20);
    if (setrlimit(RLIMIT_AS, &space))
        return 3;
    net_context *c = net_context_new();
    if (!c || net_context_run(c, in, other) || net_run(in, last))
        return 4;
    net_context_free(c);
    if (memcmp(want, y[0], sizeof want) || memcmp(want, y[1], sizeof want))
        return 5;
    puts("the same");
    return 0;
}
C
cc -I. few.c ./net.so ./alone.so -o few
for name in net alone; do # the same as C source
    mkdir "$name"
    ok "$TCTUNE" build --te gemm.te --untuned --threads $([ $name = net ] && echo 4 || echo 1) --name $name -o $name/$name.c
done
cc -O1 -fopenmp -Inet -Ialone few.c net/net.c alone/alone.c -lm -o few_c
for stacks in 0 1 2; do
    for program in few few_c; do
        ok env LD_LIBRARY_PATH=. sh -c "ulimit -s 8192; exec ./$program $stacks"
        says "the same"
        [ ! -s err ] || fail "something is said on stderr"
    done
done
echo "$checks checks"
