#!/bin/sh
# Fails when a network got slower since its last release. For a CI job: it needs tctune on the PATH, and nothing else.
#   MODEL=model.onnx DB=tctune.db BASE=base.json THREADS=1 no-slower.sh
# DB holds the records of the network's kernels; BASE says which schedules the last release had. Without the file BASE nothing is
# compared: the script writes the file, to be kept with the release.
# Status 0: nothing is slower. 3: a kernel or the network is slower beyond doubt. 1: something could not be compared.
# verdict.json has the figures, for whatever the CI service shows.
set -eu
model=${MODEL:-model.onnx} db=${DB:-tctune.db} base=${BASE:-base.json} threads=${THREADS:-1} repeats=${REPEATS:-30}
if [ ! -e "$base" ]; then
    tctune bench --model "$model" --db "$db" --threads "$threads" --json >"$base.new"
    mv "$base.new" "$base"
    echo "$base was made: keep it with the release"
    exit 0
fi
# What makes times scatter on this machine stands in the log of the job.
tctune doctor --quick | sed -n 's/^warning */machine: /p'
status=0
tctune bench --model "$model" --db "$db" --threads "$threads" --repeats "$repeats" --against "$base" --json >verdict.json ||
    status=$?
case $status in
0) echo "nothing is slower than in $base" ;;
3) echo "slower than in $base: verdict.json says which kernels, and by which decisions" >&2 ;;
*) echo "something could not be compared with $base; make a new one once it is clear why" >&2 ;;
esac
exit "$status"
