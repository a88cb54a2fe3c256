# Every topology of SHARED/models: weights filled in, imported, built, and run from the library within 1e-4 of the reference, or within what
# NAME.json says; and the light models of SHARED/onnx. The argument chooses: `small` ones, or `large` ones that take minutes. Skipped, saying so, where that folder or the tools to fill in the weights are missing.
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

tolerance() { # MODEL OUTPUT
    "$JSON" "$SHARED/models/$1.json" "tolerance.$2" 2>/dev/null || "$JSON" "$SHARED/models/$1.json" tolerance 2>/dev/null || echo 1e-4
}

# Each output of the library by its largest error; without a tolerance of the model's own, also element by element.
close() { # MODEL
    elements="--rtol 1e-3 --atol 1e-4"
    ! "$JSON" "$SHARED/models/$1.json" tolerance >/dev/null 2>&1 || elements="--rtol 1 --atol 1e9"
    # shellcheck disable=SC2086 # options
    ok "$TCTUNE" run --model "./$1.so" --inputs "$reference" --check "$reference" $elements --json
    n=0
    while "$JSON" out outputs.$n.error >value 2>/dev/null; do
        most=$(tolerance "$1" "$(json out outputs.$n.name)")
        awk -v e="$(cat value)" -v most="$most" 'BEGIN { exit !(e <= most) }' || fail "$1: error $(cat value), more than $most"
        n=$((n + 1))
    done
    [ $n -gt 0 ] || fail "$1: no outputs"
}

for topology in "$SHARED"/models/*.topology.onnx; do
    name=$(basename "$topology" .topology.onnx)
    reference=$SHARED/models/$name.reference.npz
    case $name in
    bert_base* | bert_tiny | mobilenet_v2 | resnet50 | mobilenet_v2_qdq_u8 | r3d_18 | resnet50_qdq | unet | vit_b_16) size=large ;;
    *) size=small ;;
    esac
    [ "$size" = "$1" ] || continue
    if [ ! -f "$reference" ]; then
        echo "skipped: $name (its sizes are symbols, and its references one for each size)"
        continue
    fi
    shapes=
    case $name in *_dyn) shapes="--shape batch=1 --shape sequence=128" ;; esac
    $python "$SHARED/models/fill_weights.py" "$topology" "$name.onnx"
    # shellcheck disable=SC2086 # options
    ok "$TCTUNE" build --model "$name.onnx" --untuned -o "$name.so" $shapes
    close "$name"
    rm "$name.onnx" "$name.so" "$name.h"
    echo "$name: right"
done

if [ "$1" = large ] && [ -d "$SHARED/onnx/light" ]; then
    ok "$TCTUNE" verify "$SHARED/onnx/light"
    says "5 passed, 0 failed, 0 skipped"
    tail -n 1 out
fi
echo "$checks checks"
