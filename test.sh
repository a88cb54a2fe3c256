#!/bin/sh
# Builds tctune and runs its tests: the unit tests under the address and undefined-behaviour sanitizers, all others in the
# release build.
#   ./test.sh            both
#   ./test.sh --fast     only the unit tests, without sanitizers
#   ./test.sh --full     both, and then all that takes long (tests/long/run), which takes hours
# The end names each test that failed and each test that was left out; the last line counts them.
# Needs Debian 12 and git; whatever else is missing is installed (scripts/install-deps.sh).
set -eu
cd "$(dirname "$0")"
mode=${1:-}
case $mode in
"" | --fast | --full) ;;
*)
    echo "usage: $0 [--fast | --full]" >&2
    exit 2
    ;;
esac
. tests/long/parts.sh
trap finish EXIT

step "installing packages"
scripts/install-deps.sh
if [ "$mode" = --fast ]; then
    build release --target unit_tests
    suite "the unit tests (release)" release -L unit -LE full
    exit 0
fi

# Tests wait half of their time: for workers, disks and clocks. So the sanitized build is made and tested beside the
# release build's tests.
build release --target other_tests
sanitized_log=$(mktemp)
{ build dev --target unit_tests && run_tests dev -L unit -LE full; } >"$sanitized_log" 2>&1 &
sanitized=$!
suite "the tests of the command, of kernels and of networks (release)" release -LE "full|long|unit"
step "the unit tests (dev: sanitizers, verifier on)"
status=0
wait $sanitized || status=$?
cat "$sanitized_log"
rm -f "$sanitized_log"
count_tests "$doing" dev "$status"
[ "$mode" = --full ] || exit 0

step "all that takes long"
counted_run long tests/long/run --all
