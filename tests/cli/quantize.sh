# Models quantised by the command: the forms, the report, and what is refused.
. "$(dirname "$0")/check.sh"
model=$models/dense.onnx

ok "$TCTUNE" quantize "$model" --calibrate "$models/x.npz" -o q.onnx --threads 2
says "dB" "1 of 1 layers quantised" "error of y" "the calibration data" "q.onnx"
ok "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --outputs y.npz
ok "$TCTUNE" run --model q.onnx --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0.1
ok "$TCTUNE" build --model q.onnx --untuned -o q.so
ok "$TCTUNE" bench --model q.so --repeats 2
ok "$TCTUNE" quantize "$model" --calibrate "$models/x.npz" "$models/x.npz" --method entropy --activations s8 -o e.onnx --json
[ "$(json out layers.0.quantised)" = true ] && [ "$(json out layers.0.operator)" = MatMul ] || fail "the report"
json out error >/dev/null
ok "$TCTUNE" quantize "$model" --dynamic -o d.onnx
says "random inputs"
ok "$TCTUNE" quantize "$model" --weights-only 8 --per-tensor -o w.onnx
ok "$TCTUNE" run --model w.onnx --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0.1

# ---- refused: nothing is written ----
refused 2 "--calibrate|--dynamic" "$TCTUNE" quantize "$model" -o n.onnx
refused 2 "--out" "$TCTUNE" quantize "$model" --dynamic
refused 2 "--dynamic|--weights-only" "$TCTUNE" quantize "$model" --dynamic --weights-only 8 -o n.onnx
refused 2 "8 or 4|3" "$TCTUNE" quantize "$model" --weights-only 3 -o n.onnx
refused 2 "--method|median" "$TCTUNE" quantize "$model" --calibrate "$models/x.npz" --method median -o n.onnx
refused 2 "--activations|u4" "$TCTUNE" quantize "$model" --calibrate "$models/x.npz" --activations u4 -o n.onnx
refused 1 "shape.npz|'x'|[8,48]|[8,49]" "$TCTUNE" quantize "$model" --calibrate "$models/shape.npz" -o n.onnx
refused 1 "name.npz|the model's input 'x' is missing; there is only z" \
    "$TCTUNE" quantize "$model" --calibrate "$models/name.npz" -o n.onnx
refused 1 "none.npz" "$TCTUNE" quantize "$model" --calibrate none.npz -o n.onnx
refused 1 "budget" "$TCTUNE" quantize "$model" --calibrate "$models/x.npz" --error-budget 0 -o n.onnx
refused 1 "'nothing'|keep. Layers are" "$TCTUNE" quantize "$model" --dynamic --keep nothing -o n.onnx
refused 1 "symbolic.onnx|--shape bitch|did you mean batch?" "$TCTUNE" quantize "$models/symbolic.onnx" --dynamic \
    --shape bitch=3 -o n.onnx
ok "$TCTUNE" quantize "$models/symbolic.onnx" --dynamic -o s.onnx
ok "$TCTUNE" quantize "$models/symbolic.onnx" --dynamic --shape batch=3 -o s.onnx
ok "$TCTUNE" run --model s.onnx --shape batch=5
says "y: f32[5,40]"

echo "$checks checks"
