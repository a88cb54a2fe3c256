#!/bin/sh
# Tunes a matmul with constant weights and times it beside oneDNN and OpenBLAS, in turns: benchmarks/gemm.sh --help. Needs
# scripts/install-deps.sh --benchmarks. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
[ -n "${PEERS:-}" ] || need_built gemm_peers
exec node "$here/gemm.js" "$@"
