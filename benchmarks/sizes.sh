#!/bin/sh
# Times one library for a range of sizes beside ONNX Runtime and beside libraries of one size each, in turns: benchmarks/sizes.sh
# --help. Needs scripts/install-deps.sh --benchmarks. TCTUNE names the command, whose library is ../lib beside it unless
# TCTUNE_LIBRARY says; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built tctune_shared
need_onnxruntime
exec node "$here/sizes.js" "$@"
