#!/bin/sh
# Installs every Debian 12 package that building, testing and running tctune needs; does nothing when all are there.
#   scripts/install-deps.sh               what ./test.sh and ./quickstart.sh need
#   scripts/install-deps.sh --benchmarks  and what benchmarks/ needs to measure peers
#   scripts/install-deps.sh --clang       and Clang 19, which builds tctune as GCC does, and with its thread sanitizer
#   scripts/install-deps.sh --musl        and musl, with which ./test.sh --full builds what constructs schedules
#   scripts/install-deps.sh --python      and PyTorch, whose modules the Python package compiles, and mypy
#   scripts/install-deps.sh --packages    and what tests/packages needs
#   scripts/install-deps.sh --docs        and what scripts/docs makes HTML of the documentation with
#   scripts/install-deps.sh --browser     and Chromium, in which the test of the report looks at its page
#   scripts/install-deps.sh --abi         and what tests/api/abi/run compares ABIs with
#   scripts/install-deps.sh --list        only prints the names; options may be given together
set -eu

# C compiler (with OpenMP's libgomp) and build tools; tctune itself calls the compiler's linker when it builds a model. The presets
# build with Ninja, a bare `cmake -S . -B build` with Make.
packages="gcc libc6-dev cmake make ninja-build mold pkg-config"
# Code generation, cost model, database, hashes that are trusted, the sandbox of workers.
packages="$packages llvm-19-dev libxgboost-dev libsqlite3-dev libb2-dev libseccomp-dev"
# Reading models: ONNX's own schema and the generator of its C reader; JSON; .npz; the tensor exchange header.
packages="$packages libonnx-dev protobuf-c-compiler libprotobuf-c-dev libjansson-dev libzip-dev libdlpack-dev"
# D3, which pages of `tctune report` are drawn with (node-d3-scale and node-d3-shape bring what these need).
packages="$packages node-d3-array node-d3-axis node-d3-format node-d3-scale node-d3-selection node-d3-shape"
# A fleet of machines that measure, and the keys of its users; cables that tests pull.
packages="$packages libnats-dev nats-server openssl iproute2"
# Tests: Python writes networks for them, and the ONNX project's test cases.
packages="$packages libcmocka-dev clang-format-14 python3-numpy python3-onnx libonnx-testdata zstd locales"
# The Python package, what installs and tests it, and what it uses where that is there.
packages="$packages python3-cffi python3-pytest python3-pip python3-setuptools python3-wheel python3-tqdm python3-pandas"
# Tests of manual pages and of what shells propose.
packages="$packages mandoc zsh fish"
# Tests of the programs of benchmarks/. A Node that is there already stays, wherever it is from.
command -v node >/dev/null || packages="$packages nodejs"
# Debuggers find the lines of kernels.
packages="$packages gdb"
# Kernels for other CPUs run under qemu in the tests (78 MB to download; without them those tests say so and are skipped).
packages="$packages qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-riscv64-linux-gnu libc6-dev-riscv64-cross"
benchmark_packages="libdnnl-dev libopenblas-dev"
package_packages="dpkg-dev fakeroot file lintian mmdebstrap"
docs_packages="doxygen python3-sphinx python3-breathe python3-myst-parser"
clang_packages="clang-19 libclang-rt-19-dev libomp-19-dev"

# ONNX Runtime's package asks for Node 16. One that is there already stays, wherever it is from: Debian's npm would not go with it.
has_node() {
    command -v npm >/dev/null && node -e 'process.exit(process.versions.node.split(".")[0] >= 16 ? 0 : 1)' 2>/dev/null
}

list=false
for option in "$@"; do
    case "$option" in
        --list) list=true ;;
        --benchmarks)
            packages="$packages $benchmark_packages"
            has_node || packages="$packages nodejs npm"
            ;;
        --clang) packages="$packages $clang_packages" ;;
        --docs) packages="$packages $docs_packages" ;;
        --packages) packages="$packages $package_packages" ;;
        --musl) packages="$packages musl-tools" ;;
        --browser) packages="$packages chromium fonts-dejavu-core" ;;
        --abi) packages="$packages abigail-tools xz-utils" ;;
        --python) packages="$packages python3-torch python3-mypy mypy" ;;
        *)
            echo "usage: $0 [--abi] [--benchmarks] [--browser] [--clang] [--docs] [--musl] [--packages] [--python] [--list]" >&2
            exit 2
            ;;
    esac
done
if $list; then
    echo "$packages"
    exit 0
fi

installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' | sed -n 's/^installed //p')
missing=
for package in $packages; do
    case "
$installed
" in
        *"
$package
"*) ;;
        *) missing="$missing $package" ;;
    esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "install-deps: these packages are missing and there is no sudo; install them as root:$missing" >&2
        exit 1
    fi
    as_root=sudo
fi
echo "installing:$missing"
$as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
# shellcheck disable=SC2086 # a list of names
$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing
# Debian starts a server that it installs, for all the network; tests start their own.
case "$missing " in
    *" nats-server "*)
        if command -v systemctl >/dev/null; then
            $as_root systemctl disable --now nats-server >/dev/null 2>&1 || true
        fi
        ;;
esac
