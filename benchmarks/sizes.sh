#!/bin/sh
# Times one library for a range of sizes beside ONNX Runtime and beside libraries of one size each, in turns: benchmarks/sizes.sh --help.
# Needs scripts/install-deps.sh --benchmarks. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/sizes.js" "$@"
