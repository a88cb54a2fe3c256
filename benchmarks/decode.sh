#!/bin/sh
# Times few rows times quantised weights that come from memory, beside ONNX Runtime and a plain read: benchmarks/decode.sh --help.
# Needs scripts/install-deps.sh --benchmarks. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/decode.js" "$@"
