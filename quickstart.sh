#!/bin/sh
# From a bare Debian 12 with git to a tuned BERT: installs, builds, writes a model, tunes it, measures it.
#   ./quickstart.sh [MODEL.onnx]     another model than the one it writes itself
# TRIALS (default 300) is how many candidates are measured; THREADS (default: all cores) how many cores they run on.
set -eu
cd "$(dirname "$0")"
trials=${TRIALS:-300}
threads=${THREADS:-$(nproc)}

scripts/install-deps.sh
cmake --preset release
cmake --build --preset release -j "$(nproc)" --target tctune
tctune=build/release/bin/tctune

mkdir -p build/quickstart
model=${1:-build/quickstart/bert-base.onnx}
[ -n "${1:-}" ] || [ -f "$model" ] || "$tctune" zoo bert-base --out "$model"

"$tctune" --model "$model" --trials "$trials" --threads "$threads" --db build/quickstart/tuning.db \
    --out build/quickstart/model.so
"$tctune" bench --model "$model" --db build/quickstart/tuning.db --threads "$threads"
