#!/bin/sh
# Tunes a network and times it beside ONNX Runtime, in turns: benchmarks/model.sh --help. Needs scripts/install-deps.sh
# --benchmarks. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/model.js" "$@"
