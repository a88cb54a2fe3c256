#!/bin/sh
# Times runs of small networks beside ONNX Runtime's, in turns, alone and where others keep the cores busy: benchmarks/busy.sh
# --help. Needs scripts/install-deps.sh --benchmarks, and cc. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/busy.js" "$@"
