# shellcheck shell=sh
# Read by the scripts of this folder: what they need before they can measure, and where figures go. $here is this folder.
root=$(dirname "$here")
: "${TCTUNE_RESULTS_COMMAND:=benchmarks/$(realpath --relative-to="$here" "$0") $*}"
export TCTUNE_RESULTS_COMMAND # what RESULTS.md says that a table comes from

# record SUBJECT: rows of figures from standard input, a JSON object on each line, into results/SUBJECT.json and RESULTS.md.
record() {
    python3 "$here/results.py" record "$1"
}

need_node() {
    command -v node >/dev/null && return
    echo "node is missing: scripts/install-deps.sh --benchmarks installs it" >&2
    exit 1
}

# need_built [TARGET...]: these targets of the release build, and the command unless TCTUNE names one.
need_built() {
    [ -n "${TCTUNE:-}" ] || set -- tctune "$@"
    [ $# -gt 0 ] || return 0
    log=$root/build/benchmarks/build.log
    mkdir -p "$root/build/benchmarks"
    (cd "$root" && cmake --preset release -DTCTUNE_BENCHMARKS=ON && cmake --build --preset release --target "$@") >"$log" 2>&1 &&
        return
    tail -n 40 "$log" >&2
    exit 1
}

# Without install scripts: the package holds what runs on the CPU, and its script would fetch more.
need_onnxruntime() {
    [ -d "$here/ort/node_modules/onnxruntime-node" ] || (cd "$here/ort" && npm install --ignore-scripts --no-audit --no-fund >&2)
}
