# BERT through the command: within 1e-4 of the reference's outputs before tuning, after it, and from the built library. Argument:
# small, the project's own network (NETWORKS, which tests/models writes), and in ./test.sh --full the small ones of SHARED where
# that is there; or large, BERT-base of SHARED.
. "$(dirname "$0")/check.sh"

python=/usr/bin/python3

close() { # [OPTIONS...]: runs $name with its reference; every output's error must be at most 1e-4
    ok "$TCTUNE" run "$@" --inputs "$reference" --check "$reference" --rtol 1e-3 --atol 1e-4 --json
    n=0
    while "$JSON" out outputs.$n.error >value 2>/dev/null; do
        awk -v e="$(cat value)" 'BEGIN { exit !(e <= 1e-4) }' || fail "$name: error $(cat value)"
        n=$((n + 1))
    done
    [ $n -eq 2 ] || fail "$name: $n outputs"
}

tuned() { # NAME REFERENCE TRIALS [OPTIONS...]
    name=$1
    reference=$2
    trials=$3
    shift 3
    close --model $name.onnx --untuned "$@"
    ok "$TCTUNE" --model $name.onnx --trials "$trials" --stop-at-roof 9 --threads 2 --db $name.db --out $name.so "$@"
    close --model $name.onnx --db $name.db --threads 2 "$@"
    close --model ./$name.so
    ok "$TCTUNE" bench --model $name.onnx --db $name.db --threads 2 --repeats 3 --json "$@"
    json out median_ms >/dev/null
    rm $name.onnx $name.so
    echo "$name: right"
}

shared() { # NAME TRIALS [OPTIONS...]
    $python "$SHARED/models/fill_weights.py" "$SHARED/models/$1.topology.onnx" "$1.onnx"
    model=$1
    most=$2
    shift 2
    tuned "$model" "$SHARED/models/$model.reference.npz" "$most" "$@"
}

if [ "$1" = large ]; then
    shared bert_base_s128 88
else
    cp "$NETWORKS/bert.onnx" .
    tuned bert "$NETWORKS/bert.b1_s16.npz" 22 --shape batch=1 --shape sequence=16
    if [ -f "$SHARED/models/fill_weights.py" ] && [ -n "${TCTUNE_TEST_FULL:-}" ]; then
        shared bert_tiny 22
        shared bert_tiny_dyn 11 --shape batch=1 --shape sequence=128
    fi
fi

echo "$checks checks"
