#!/bin/sh
# What an empty parallel loop costs, the fork and the join of a team, with pauses of 0 to 1000 us between two loops: for the team
# of a library that tctune builds, for OpenMP's, and for threads that spin on flags (the least that the machine allows).
#   benchmarks/forkjoin.sh [--threads N] [RUNTIME...]      2 threads
# A RUNTIME is another library of tctune build (of another version, say), or FILE.so:FUNCTION, a function that is like parallel_for
# in include/tctune/runtime.h. Needs cc. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
threads=2
case ${1:-} in
    -h | --help)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit
        ;;
    --threads)
        threads=${2:-}
        shift $(($# < 2 ? $# : 2))
        ;;
    -*)
        echo "forkjoin.sh: there is no option $1 (--help lists them)" >&2
        exit 2
        ;;
esac
case $threads in
    '' | *[!0-9]* | 0 | 1)
        echo "forkjoin.sh: --threads wants a number of at least 2" >&2
        exit 2
        ;;
esac
need_built
tctune=${TCTUNE:-$root/build/release/bin/tctune}
work=$root/build/benchmarks/forkjoin
mkdir -p "$work"
cc -std=c17 -O2 -fopenmp -pthread -I "$root/include" -o "$work/forkjoin" "$here/busy/forkjoin.c" "$here/busy/library.c" -ldl
"$tctune" zoo mlp --out "$work/mlp.onnx" >/dev/null
"$tctune" build --model "$work/mlp.onnx" --untuned --threads "$threads" --out "$work/mlp.so" >/dev/null
exec "$work/forkjoin" "$threads" 10 flags openmp "$work/mlp.so" "$@"
