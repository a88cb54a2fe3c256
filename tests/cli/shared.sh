# PyTorch's BERT exports in SHARED, through the command: within 1e-4 of ONNX Runtime's outputs before tuning, after it, and from the built
# library. Argument: small (small models) or large (BERT-base). The model of symbolic sizes is tuned in ./test.sh --full alone (networks.sh
# builds it). Skipped, saying so, where that folder or the tools to fill in the weights are missing.
. "$(dirname "$0")/check.sh"

python=/usr/bin/python3
if [ ! -f "$SHARED/models/fill_weights.py" ]; then
    echo "skipped: there is no $SHARED/models"
    exit 77
fi
if ! $python -c 'import onnx, numpy' 2>/dev/null; then
    echo "skipped: the BERT models (python3-onnx and python3-numpy fill in their weights and are not installed)"
    exit 0
fi

close() { # [OPTIONS...]: runs $name with its reference; every output's error must be at most 1e-4
    reference=$SHARED/models/$name.reference.npz
    ok "$TCTUNE" run "$@" --inputs "$reference" --check "$reference" --rtol 1e-3 --atol 1e-4 --json
    n=0
    while "$JSON" out outputs.$n.error >value 2>/dev/null; do
        awk -v e="$(cat value)" 'BEGIN { exit !(e <= 1e-4) }' || fail "$name: error $(cat value)"
        n=$((n + 1))
    done
    [ $n -eq 2 ] || fail "$name: $n outputs"
}

bert() { # NAME TRIALS [OPTIONS...]
    name=$1
    trials=$2
    shift 2
    $python "$SHARED/models/fill_weights.py" "$SHARED/models/$name.topology.onnx" $name.onnx
    close --model $name.onnx --untuned "$@"
    ok "$TCTUNE" --model $name.onnx --trials "$trials" --stop-at-roof 9 --threads 2 --db $name.db --out $name.so "$@"
    close --model $name.onnx --db $name.db --threads 2 "$@"
    close --model ./$name.so
    ok "$TCTUNE" bench --model $name.onnx --db $name.db --threads 2 --repeats 3 --json "$@"
    json out median_ms >/dev/null
    rm $name.onnx $name.so
    echo "$name: right"
}

if [ "$1" = small ]; then
    bert bert_tiny 22
    [ -z "${TCTUNE_TEST_FULL:-}" ] || bert bert_tiny_dyn 11 --shape batch=1 --shape sequence=128
else
    bert bert_base_s128 88
fi

echo "$checks checks"
