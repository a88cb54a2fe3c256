#!/bin/sh
# Several tuners at once on this machine, each with a database of its own; then, alone, what their records are worth:
# benchmarks/crowd.sh --help. Needs scripts/install-deps.sh --benchmarks, and cc. TCTUNE names the command; else build/release is
# built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
need_onnxruntime
exec node "$here/crowd.js" "$@"
