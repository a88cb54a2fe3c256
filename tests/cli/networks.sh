# Whole networks: imported, built, and run from the library within the tolerance of outputs that others computed. Argument: small,
# the project's own networks (NETWORKS, which tests/models writes; NumPy's outputs), and in ./test.sh --full the small ones of
# SHARED where that is there (ONNX Runtime's outputs); or large, the large ones of SHARED, which take minutes.
. "$(dirname "$0")/check.sh"

python=/usr/bin/python3

# close NAME REFERENCE OPTIONS TOLERANCES: each output of NAME.so by its largest error, and element by element by the options.
# TOLERANCES: a command that prints the largest error of the output that it is given.
close() {
    # shellcheck disable=SC2086 # options
    ok "$TCTUNE" run --model "./$1.so" --inputs "$2" --check "$2" $3 --json
    n=0
    while "$JSON" out outputs.$n.error >value 2>/dev/null; do
        most=$($4 "$1" "$(json out outputs.$n.name)")
        awk -v e="$(cat value)" -v most="$most" 'BEGIN { exit !(e <= most) }' || fail "$1: error $(cat value), more than $most"
        n=$((n + 1))
    done
    [ $n -gt 0 ] || fail "$1: no outputs"
}

# ---- the project's own ----

# A rounding that another order of additions moves to the next integer is an error of a step.
own_tolerance() {
    case $1 in
    *_dynq | *_qop | *_qdq) echo 1e-2 ;;
    *) echo 1e-4 ;;
    esac
}

# NAME.b2_s7.npz: --shape batch=2 --shape sequence=7
shapes_of() {
    basename "$1" .npz | sed -n 's/^[^.]*\.//p' | tr _ '\n' |
        sed 's/^b/--shape batch=/; s/^s/--shape sequence=/; s/^p/--shape past=/' | tr '\n' ' '
}

if [ "$1" = small ]; then
    for reference in "$NETWORKS"/*.npz; do
        name=$(basename "$reference" .npz)
        name=${name%%.*}
        elements="--rtol 1e-3 --atol $(own_tolerance "$name")"
        # shellcheck disable=SC2046 # options
        ok "$TCTUNE" build --model "$NETWORKS/$name.onnx" --untuned -o "$name.so" $(shapes_of "$reference")
        close "$name" "$reference" "$elements" own_tolerance
        rm "$name.so" "$name.h"
        echo "$(basename "$reference" .npz): right"
    done
fi
if [ ! -f "$SHARED/models/fill_weights.py" ] || [ -z "${TCTUNE_TEST_FULL:-}" ]; then
    echo "$checks checks"
    exit 0
fi

# ---- SHARED ----

shared_tolerance() { # MODEL OUTPUT
    "$JSON" "$SHARED/models/$1.json" "tolerance.$2" 2>/dev/null || "$JSON" "$SHARED/models/$1.json" tolerance 2>/dev/null ||
        echo 1e-4
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
        continue # a reference for each of several sizes: tests/graph/onnx/test_models.c
    fi
    shapes=
    case $name in *_dyn) shapes="--shape batch=1 --shape sequence=128" ;; esac
    $python "$SHARED/models/fill_weights.py" "$topology" "$name.onnx"
    # shellcheck disable=SC2086 # options
    ok "$TCTUNE" build --model "$name.onnx" --untuned -o "$name.so" $shapes
    elements="--rtol 1e-3 --atol 1e-4"
    ! "$JSON" "$SHARED/models/$name.json" tolerance >/dev/null 2>&1 || elements="--rtol 1 --atol 1e9"
    close "$name" "$reference" "$elements" shared_tolerance
    rm "$name.onnx" "$name.so" "$name.h"
    echo "$name: right"
done

if [ "$1" = large ] && [ -d "$SHARED/onnx/light" ]; then
    ok "$TCTUNE" verify "$SHARED/onnx/light"
    says "5 passed, 0 failed, 0 skipped"
    tail -n 1 out
fi
echo "$checks checks"
