#!/bin/sh
# What a parallel loop costs beside its work, the fork and the join of a team, with pauses of 0 to 1000 us between two loops: for
# the team of a library that tctune builds, for OpenMP's, and for threads that spin on flags (the least that the machine allows).
#   benchmarks/forkjoin.sh [--threads N] [--work US] [RUNTIME...]
# --threads: 2 when it is missing. --work: what each thread has to do in a loop, in microseconds (5; 0: nothing).
# A RUNTIME is another library of tctune build (of another version, say), or FILE.so:FUNCTION, a function that is like parallel_for
# in include/tctune/runtime.h. Needs cc. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"

wrong() {
    echo "forkjoin.sh: $1" >&2
    exit 2
}

threads=2 work_us=5
while [ $# -gt 0 ]; do
    case $1 in
        -h | --help)
            sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
            exit
            ;;
        --threads | --work)
            case ${2:-} in
                '' | *[!0-9]*) wrong "$1 wants a number" ;;
            esac
            if [ "$1" = --threads ]; then threads=$2; else work_us=$2; fi
            shift 2
            ;;
        -*) wrong "there is no option $1 (--help lists them)" ;;
        *) break ;;
    esac
done
[ "$threads" -ge 2 ] || wrong "--threads wants a number of at least 2"
need_built
tctune=${TCTUNE:-$root/build/release/bin/tctune}
work=$root/build/benchmarks/forkjoin
mkdir -p "$work"
cc -std=c17 -O2 -fopenmp -pthread -I "$root/include" -o "$work/forkjoin" "$here/busy/forkjoin.c" "$here/busy/library.c" -ldl
"$tctune" zoo mlp --out "$work/mlp.onnx" >/dev/null
"$tctune" build --model "$work/mlp.onnx" --untuned --threads "$threads" --out "$work/mlp.so" >/dev/null
exec "$work/forkjoin" "$threads" 10 "$work_us" flags openmp "$work/mlp.so" "$@"
