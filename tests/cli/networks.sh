# Every topology of SHARED/models: weights filled in, imported, built, and run from the library within 1e-4 of the reference; and the
# light models of SHARED/onnx. Skipped, saying so, where that folder or the tools to fill in the weights are missing.
. "$(dirname "$0")/check.sh"

python=/usr/bin/python3
if [ ! -f "$SHARED/models/fill_weights.py" ]; then
    echo "skipped: there is no $SHARED/models"
    exit 77
fi
if ! $python -c 'import onnx, numpy' 2>/dev/null; then
    echo "skipped: python3-onnx and python3-numpy, which fill in the weights, are not installed"
    exit 77
fi

for topology in "$SHARED"/models/*.topology.onnx; do
    name=$(basename "$topology" .topology.onnx)
    reference=$SHARED/models/$name.reference.npz
    [ -f "$reference" ] || continue
    shapes=
    case $name in *_dyn) shapes="--shape batch=1 --shape sequence=128" ;; esac
    $python "$SHARED/models/fill_weights.py" "$topology" "$name.onnx"
    # shellcheck disable=SC2086 # options
    ok "$TCTUNE" build --model "$name.onnx" --untuned -o "$name.so" $shapes
    ok "$TCTUNE" run --model "./$name.so" --inputs "$reference" --check "$reference" --rtol 1e-3 --atol 1e-4 --json
    n=0
    while "$FIXTURE" json out outputs.$n.error >value 2>/dev/null; do
        awk -v e="$(cat value)" 'BEGIN { exit !(e <= 1e-4) }' || fail "$name: error $(cat value)"
        n=$((n + 1))
    done
    [ $n -gt 0 ] || fail "$name: no outputs"
    rm "$name.onnx" "$name.so" "$name.h"
    echo "$name: right"
done

if [ -d "$SHARED/onnx/light" ]; then
    ok "$TCTUNE" verify "$SHARED/onnx/light"
    grep -q " 0 failed" out || fail "light models fail"
    tail -n 1 out
fi
echo "$checks checks"
