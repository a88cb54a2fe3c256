#!/bin/sh
# Runs the examples, each on what those before it left, and looks at what they print; none is longer than 60 lines.
#   examples.sh FOLDER-OF-PROGRAMS NETWORK FOLDER-OF-SOURCES TCTUNE
# In ./test.sh --full they tune for longer, and bert-tiny, which the command writes, is tuned, built and run as well.
set -eu
programs=$1 network=$2 sources=$3 tctune=$4
trials=6
[ -z "${TCTUNE_TEST_FULL:-}" ] || trials=24
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
failed() {
    echo "$1:"
    cat log
    exit 1
}
for f in "$sources"/*.c; do
    [ "$(wc -l <"$f")" -le 60 ] || { echo "$f is longer than 60 lines"; exit 1; }
done
[ "$(wc -l <"$sources/network.c")" -le 30 ] || { echo "network.c is longer than 30 lines"; exit 1; }
"$programs/example_tune" "$network" tuned.db $trials >log 2>&1 || failed tune
grep -q "^latency" log || failed tune
"$programs/example_build_and_run" "$network" tuned.db >log 2>&1 || failed build_and_run
grep -q "us  *1x" log || failed build_and_run
"$programs/example_network" "$network" tuned.db $trials >log 2>&1 || failed network
grep -q "us  *1x" log || failed network
if [ -n "${TCTUNE_TEST_FULL:-}" ]; then
    "$tctune" zoo bert-tiny --out bert.onnx >log 2>&1 || failed zoo
    "$programs/example_network" bert.onnx bert.db 24 >log 2>&1 || failed "network (bert-tiny)"
    grep -q "us  .*Softmax" log || failed "network (bert-tiny)"
fi
"$programs/example_query" tuned.db >log 2>&1 || failed query
[ "$(wc -l <log)" -gt 2 ] || failed query
"$programs/example_by_hand" >log 2>&1 || failed by_hand
grep -q "faster" log || failed by_hand
"$programs/example_service" "$network" 2 50 >log 2>&1 || failed service
grep -q "100 runs" log || failed service
for p in "tune /no/such/file x.db 1" "build_and_run /no/such/file x.db" "network /no/such/file x.db 1" "query /no/such/file" \
    "service /no/such/file 1 1"; do
    # shellcheck disable=SC2086 # words
    if "$programs"/example_$p >log 2>&1; then failed "$p"; fi
    grep -q "/no/such/file" log || failed "$p"
done
