#!/bin/sh
# Builds tctune and runs every test, then the unit tests again under the address and undefined-behaviour sanitizers.
#   ./test.sh           all of it
#   ./test.sh --fast    the first half only
# Needs Debian 12 and git; whatever else is missing is installed (scripts/install-deps.sh).
set -eu
cd "$(dirname "$0")"
started=$(date +%s)
jobs=$(nproc)

step() {
    echo
    echo "== $* ($(($(date +%s) - started)) s)"
}

finish() {
    status=$?
    echo
    if [ "$status" -eq 0 ]; then
        echo "test.sh: all tests passed in $(($(date +%s) - started)) s"
    else
        echo "test.sh: FAILED in '$doing' after $(($(date +%s) - started)) s"
    fi
}
trap finish EXIT

doing="installing packages"
step "$doing"
scripts/install-deps.sh

doing="building (release)"
step "$doing"
cmake --preset release
cmake --build --preset release -j "$jobs"

doing="the tests (release)"
step "$doing"
ctest --test-dir build/release --output-on-failure -j "$jobs"

[ "${1:-}" != --fast ] || exit 0

doing="the differential test"
step "$doing"
if [ -d benchmarks/ort/node_modules/onnxruntime-node ]; then
    TCTUNE=$PWD/build/release/bin/tctune tests/differential/run
else
    echo "left out: it needs ONNX Runtime for Node (tests/differential/run fetches it)"
fi

doing="building (dev: sanitizers, verifier on)"
step "$doing"
cmake --preset dev
cmake --build --preset dev -j "$jobs"

doing="the unit tests (dev)"
step "$doing"
ctest --test-dir build/dev -L unit --output-on-failure -j "$jobs"
