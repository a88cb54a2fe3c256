#!/bin/sh
# What a search gains over the default schedules, network by network, and whether any kernel became slower:
# benchmarks/gain.sh --help. Needs node. TCTUNE names the command; else build/release is built.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
need_node
need_built
exec node "$here/gain.js" "$@"
