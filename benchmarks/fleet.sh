#!/bin/sh
# What it costs when a worker measures candidates, not the tuner's own processes: searches of one kernel here, and by a fleet of one
# worker on this machine (deploy/fleet-up: TLS, users), in turns.
#   fleet.sh [--record] [TRIALS [ROUNDS [KERNEL.te]]]      200 trials, 5 rounds, ops/GMM_2.te
# --record puts the figures into benchmarks/results and RESULTS.md. TCTUNE: the command; default ../build/release/bin/tctune.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
recorded=
if [ "${1:-}" = --record ]; then
    recorded=1
    shift
fi
tctune=${TCTUNE:-$here/../build/release/bin/tctune}
trials=${1:-200} rounds=${2:-5} kernel=${3:-$here/ops/GMM_2.te}
work=$(mktemp -d)
PATH=$(dirname "$tctune"):$PATH
export TCTUNE_CACHE="$work/cache" # none of what was built before
up=
leave() {
    [ -z "$up" ] || kill -TERM "$up" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT

"$here/../deploy/fleet-up" "$work/lab" 1 24333 >"$work/up.log" 2>&1 &
up=$!
until grep -q serves "$work/up.log"; do
    kill -0 "$up" 2>/dev/null || { cat "$work/up.log" >&2; exit 1; }
    sleep 0.1
done
fleet=$(sed -n 's/^tune with: //p' "$work/up.log")

rate() { # OPTIONS...: trials a second of a search from nothing
    rm -rf "$TCTUNE_CACHE"
    "$tctune" tune --te "$kernel" --trials "$trials" --start-from none --stop-at-roof 9 --db "$work/$i.db" "$@" >"$work/out" 2>&1 ||
        { cat "$work/out" >&2; exit 1; }
    sed -n 's/.* trials in .*, \([0-9.]*\) trials\/s.*/\1/p' "$work/out"
}
i=0
while [ "$i" -lt "$rounds" ]; do
    i=$((i + 1))
    # Of a search with a database file that it knows a fleet remembers the results.
    # shellcheck disable=SC2086 # an address and options
    echo "$(rate) $(i=$i-fleet rate $fleet)"
done | tee "$work/rates" | awk '{ printf "round %d: here %s, by a worker %s trials/s: %.2f\n", NR, $1, $2, $2 / $1 }'
awk '{ print $2 / $1 }' "$work/rates" | sort -n | awk '{ r[NR] = $1 } END {
    median = NR % 2 ? r[(NR + 1) / 2] : (r[NR / 2] + r[NR / 2 + 1]) / 2
    printf "by a worker over here: %.2f (median of %d)\n", median, NR }'
[ -z "$recorded" ] || awk '{
    printf "{\"round\": %d, \"here\": %s, \"by_worker\": %s, \"ratio\": %.3f}\n", NR, $1, $2, $2 / $1 }' "$work/rates" |
    record fleet
