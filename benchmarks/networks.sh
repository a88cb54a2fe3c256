#!/bin/sh
# Tunes several networks and times each beside ONNX Runtime, in turns: benchmarks/networks.sh --help. Needs
# scripts/install-deps.sh --benchmarks. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/networks.js" "$@"
