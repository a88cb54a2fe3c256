#!/bin/sh
# Builds tctune and runs the tests: the unit tests under the address and undefined-behaviour sanitizers, slow ones and all others in the
# release build.
#   ./test.sh                    both
#   ./test.sh --fast             the unit tests without sanitizers, and none of the others
#   ./test.sh --full [MINUTES]   all three, and then what takes long, as far as it ends within so many minutes more
# What failed and what was left out is named at the end; the last line counts both.
# Needs Debian 12 and git; whatever else is missing is installed (scripts/install-deps.sh).
set -eu
cd "$(dirname "$0")"
started=$(date +%s)
jobs=$(nproc)
at_once=$((jobs + (jobs + 1) / 2)) # tests also wait: for workers, disks and clocks
mode=${1:-}
limit=${2:-}
case $mode in
"" | --fast | --full) ;;
*)
    echo "usage: $0 [--fast | --full [MINUTES]]" >&2
    exit 2
    ;;
esac
passed=0 failed=0 skipped=0
notes= # a line for each that failed or was left out

seconds() {
    echo $(($(date +%s) - started))
}

step() {
    doing=$*
    echo
    echo "== $* ($(seconds) s)"
}

note() {
    notes="$notes$*
"
}

# left_out PART: WHY
left_out() {
    skipped=$((skipped + 1))
    note "skipped: $*"
}

finish() {
    status=$?
    if [ "$status" -ne 0 ]; then
        failed=$((failed + 1))
        note "FAILED: $doing"
    fi
    printf '\n%s' "$notes"
    echo "test.sh: $(seconds) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] || exit 1
}
trap finish EXIT

build() { # PRESET [OPTION...]
    step "building ($1)"
    cmake --preset "$1"
    cmake --build --preset "$@" -j "$jobs"
}

# One test.
check() { # NAME COMMAND...
    step "$1"
    shift
    if "$@"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        note "FAILED: $doing"
    fi
}

# The tests of a preset.
suite() { # NAME PRESET [OPTION...]
    step "$1"
    report=build/$2/junit.xml
    preset=$2
    shift 2
    rm -f "$report"
    status=0
    ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$at_once" --output-junit junit.xml "$@" || status=$?
    counted=$(awk -v part="$doing" -f scripts/count-tests.awk "$report")
    lines=$(echo "$counted" | sed '$d')
    [ -z "$lines" ] || note "$lines"
    # shellcheck disable=SC2086 # counts PASSED FAILED SKIPPED
    set -- ${counted##*counts}
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$status" -ne 0 ] && [ "$2" -eq 0 ]; then
        failed=$((failed + 1))
        note "FAILED: $doing: ctest ended with status $status"
    fi
}

# What the differential test needs is fetched by tests/differential/run, not by the way.
differential() { # CASES
    if [ -d benchmarks/ort/node_modules/onnxruntime-node ]; then
        TCTUNE=$PWD/build/release/bin/tctune check "the differential test, $1 cases" tests/differential/run --cases "$1"
    else
        left_out "the differential test: it needs ONNX Runtime for Node (tests/differential/run fetches it)"
    fi
}

# Clang has libFuzzer; GCC has nothing of the kind.
fuzzing() { # MINUTES
    if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | clang-19 -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null; then
        check "fuzzing, $1 minute for each target" tests/campaign/fuzz/run --minutes "$1" --jobs "$jobs"
    else
        left_out "fuzzing: it needs Clang 19 and libFuzzer (scripts/install-deps.sh --clang)"
    fi
}

# Clang's OpenMP tells the thread sanitizer of its barriers; GCC's does not.
threads() {
    if echo 'int main(void) { return 0; }' | clang-19 -fsanitize=thread -fopenmp -x c -o /dev/null - 2>/dev/null; then
        build tsan --target api_tests
        suite "the public API under the thread sanitizer" tsan -R "^api_"
    else
        left_out "the public API under the thread sanitizer: it needs Clang 19 (scripts/install-deps.sh --clang)"
    fi
}

# Packages are made and judged by others' programs.
packages() {
    step "the Debian packages, in a clean Debian"
    status=0
    tests/packages/run || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) left_out "the Debian packages: something that makes or judges them is not here" ;;
    *)
        failed=$((failed + 1))
        note "FAILED: $doing"
        ;;
    esac
}

# Namespaces may be forbidden.
fleet() {
    step "a fleet that loses things: 30 faults in 500 jobs"
    status=0
    tests/campaign/fleet/run --faults 30 --jobs 500 || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) left_out "a fleet that loses things: network namespaces or nats-server are missing" ;;
    *)
        failed=$((failed + 1))
        note "FAILED: $doing"
        ;;
    esac
}

# A mirror of Debian may be out of reach.
emulated() {
    step "a worker for aarch64 under qemu"
    status=0
    tests/fleet/emulated || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) left_out "a worker for aarch64 under qemu: the compiler, qemu, nats-server or the libraries are missing" ;;
    *)
        failed=$((failed + 1))
        note "FAILED: $doing"
        ;;
    esac
}

[ "$mode" != --full ] || export TCTUNE_TEST_FULL=1 # tests/common/test_size.h
step "installing packages"
scripts/install-deps.sh
# Parts that lack something say so and are left out.
[ "$mode" != --full ] || scripts/install-deps.sh --abi --browser --clang --docs --musl --packages --python || true
if [ "$mode" = --fast ]; then
    build release --target unit_tests
    suite "the unit tests (release)" release -L unit
    exit 0
fi
build release --target other_tests
suite "the tests of the command, of kernels and of networks, and slow ones (release)" release -LE "long|unit"
build dev --target unit_tests
suite "the unit tests (dev: sanitizers, verifier on)" dev -L unit
[ "$mode" = --full ] || exit 0

build release
suite "the unit tests (release)" release -L unit
full_started=$(seconds)

# Whether a part may begin that takes about so many minutes on two cores.
room() { # MINUTES NAME
    [ -n "$limit" ] || return 0
    [ $(($(seconds) - full_started + $1 * 60)) -gt $((limit * 60)) ] || return 0
    left_out "$2: no room in $limit minutes"
    return 1
}

# Random cases, shared out among the cores.
spread() { # CASES PROGRAM
    share=$((($1 + jobs - 1) / jobs))
    first=1
    pids=
    while [ "$first" -le "$1" ]; do
        "$2" $share $first &
        pids="$pids $!"
        first=$((first + share))
    done
    status=0
    for pid in $pids; do
        wait "$pid" || status=1
    done
    return $status
}
random() { # MINUTES CASES WHAT PROGRAM
    ! room "$1" "$2 $3" || check "$2 $3" spread "$2" "build/release/tests/$4"
}

random 1 100000 "random schedules, replayed" schedule_primitives/test_schedule_random
random 2 10000 "random schedules, compiled" codegen/test_cg_property
random 10 100000 "random schedules, lowered" tir_lower/test_tir_property
random 3 100000 "broken kernels and schedules" search_space/test_ill_typed

if ! command -v musl-gcc >/dev/null; then
    left_out "schedules constructed with musl: it needs musl-gcc (scripts/install-deps.sh --musl)"
else
    ! room 1 "schedules constructed with musl" ||
        check "schedules constructed with musl" tests/search_space/musl build/release/tests/search_space/constructed
fi
if ! command -v abidiff >/dev/null; then
    left_out "the ABI of libtctune: it needs abidiff (scripts/install-deps.sh --abi)"
elif room 1 "the ABI of libtctune"; then
    check "the ABI of libtctune" tests/api/abi/run build/release
    check "that changes of the ABI are seen" tests/api/abi/test
fi
! room 5 "large networks, and more CPUs" || suite "large networks, more CPUs, clocks that leap, and interrupts" release -L long
if room 15 "the other tests under sanitizers"; then
    build dev
    suite "the other tests under sanitizers" dev -L "cli|release|slow"
fi
if room 8 "hostile"; then
    build hostile --target unit_tests other_tests
    suite "hostile: tiny arena chunks, colliding hashes" hostile -L "unit|slow"
fi
! room 8 "the public API under the thread sanitizer" || threads
! room 10 "the Debian packages" || packages
! room 5 "hostile code" || check "hostile code in workers, 1000 cases" tests/campaign/hostile_code/run
! room 4 "kills" || check "kills, 40 of each command" tests/campaign/kills/run --cases 40
! room 6 "clocks" || check "clocks that cannot be trusted, stops, and load" tests/campaign/clock/run --cases 6
! room 8 "memory" || check "memory refused to calls, 100 requests of each" tests/campaign/memory/run --points 50
! room 2 "sharing" || check "8 tuners on each of 8 databases, killed" tests/campaign/sharing/run --cases 8
! room 2 "a fleet that loses things" || fleet
! room 10 "a worker for aarch64 under qemu" || emulated
! room 10 "fuzzing" || fuzzing 1
! room 5 "the differential test, 10000 cases" || differential 10000
