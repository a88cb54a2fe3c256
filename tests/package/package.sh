#!/bin/sh
# Installs the build into an empty prefix and uses it from there as a user's project would: the CMake package with a model of its
# own, and the library by pkg-config. Both give the same number.
#   package.sh BUILD-FOLDER SOURCE-FOLDER
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }
prefix=$work/prefix
for file in man/man1/tctune.1 man/man1/tctune-db-stats.1 man/man5/tctune-te.5 bash-completion/completions/tctune \
    zsh/site-functions/_tctune fish/vendor_completions.d/tctune.fish; do
    [ -s "$prefix/share/$file" ] || { echo "$file is not installed"; exit 1; }
done
"$prefix/bin/tctune" zoo mlp --out "$work/mlp.onnx" >/dev/null

cmake -S "$source/tests/package/consumer" -B "$work/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DMODEL="$work/mlp.onnx" \
    >"$work/log" 2>&1 &&
    cmake --build "$work/consumer" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
by_kernels=$("$work/consumer/kernels")
by_library=$("$work/consumer/library" "$work/mlp.onnx")
[ "$by_kernels" = "$by_library" ] || { echo "the kernels give $by_kernels, the library $by_library"; exit 1; }

# The prefix in the file is the one chosen when the build was configured; this one stands elsewhere.
pc=$(find "$prefix" -name tctune.pc)
flags=$(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --define-variable=prefix="$prefix" --cflags --libs tctune)
# shellcheck disable=SC2086 # flags
cc "$source/tests/package/consumer/library.c" -o "$work/by_pc" $flags
by_pc=$(LD_LIBRARY_PATH=$(dirname "$pc")/.. "$work/by_pc" "$work/mlp.onnx")
[ "$by_pc" = "$by_library" ] || { echo "pkg-config's program gives $by_pc, CMake's $by_library"; exit 1; }

# Records that this build did not measure here are checked by the worker that is installed beside the library, although the program
# is neither's; without it they are not used. What was checked once needs nobody.
"$prefix/bin/tctune" --model "$work/mlp.onnx" --trials 12 --threads 1 --db "$work/tuned.db" >"$work/log" 2>&1 ||
    { cat "$work/log"; exit 1; }
"$prefix/bin/tctune" db export --db "$work/tuned.db" --out "$work/records.jsonl" >/dev/null
for db in checked unchecked; do
    "$prefix/bin/tctune" db import --db "$work/$db.db" "$work/records.jsonl" >/dev/null
done
worker=$(find "$prefix" -name tctune-worker)
mv "$worker" "$work/worker"
if "$work/consumer/library" "$work/mlp.onnx" "$work/unchecked.db" >"$work/log" 2>&1; then
    echo "records that nobody checked were used"
    exit 1
fi
grep -q "there is no worker process to check it" "$work/log" || { cat "$work/log"; exit 1; }
mv "$work/worker" "$worker"
"$work/consumer/library" "$work/mlp.onnx" "$work/checked.db" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mv "$worker" "$work/worker"
"$work/consumer/library" "$work/mlp.onnx" "$work/checked.db" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
mv "$work/worker" "$worker"

# What is wrong with a model is said when it is built.
echo broken >"$work/broken.onnx"
if cmake -S "$source/tests/package/consumer" -B "$work/bad" -DCMAKE_PREFIX_PATH="$prefix" -DMODEL="$work/broken.onnx" \
    >"$work/log" 2>&1 &&
    cmake --build "$work/bad" >>"$work/log" 2>&1; then
    echo "a file that is no model was built"
    exit 1
fi
grep -q "broken.onnx" "$work/log" || { cat "$work/log"; exit 1; }
echo "package: $by_library"
