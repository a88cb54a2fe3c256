# Models and inputs that are wrong: the message names file, node and remedy, and nothing is written.
. "$(dirname "$0")/check.sh"

tune() { # MODEL
    set -- "$1" --trials 4 --db new.db --out new.so
    "$TCTUNE" tune --model "$@"
}

refused 1 "operator.onnx|FancyOp|fancy_7|not supported" tune "$models/operator.onnx"
refused 1 "attribute.onnx|soft_3|temperature|not supported" tune "$models/attribute.onnx"
refused 1 "external.onnx|weights.bin" tune "$models/external.onnx"
refused 1 "none.onnx|no such file" tune "$models/none.onnx"
head -c 4000 "$models/dense.onnx" >"$models/cut.onnx"
refused 1 "cut.onnx|truncated" tune "$models/cut.onnx"
echo "not a model" >"$models/text.onnx"
refused 1 "text.onnx|not an ONNX model" tune "$models/text.onnx"
: >"$models/empty.onnx"
refused 1 "empty.onnx|empty" tune "$models/empty.onnx"
refused 1 "models|it is a folder" tune "$models"
for command in bench run show; do
    refused 1 "operator.onnx|FancyOp" "$TCTUNE" $command --model "$models/operator.onnx"
done
refused 1 "operator.onnx|FancyOp" "$TCTUNE" build --model "$models/operator.onnx" --out new.so

# Symbolic dimensions: with --shape they are fine; a wrong name or shape is not.
ok "$TCTUNE" run --model "$models/symbolic.onnx" --shape batch=3
says "y: f32[3,40]"
ok "$TCTUNE" run --model "$models/symbolic.onnx" --shape x=5,48
says "y: f32[5,40]"
refused 1 "symbolic.onnx|batch|--shape" "$TCTUNE" run --model "$models/symbolic.onnx" --shape bitch=3
refused 1 "symbolic.onnx|--shape" "$TCTUNE" run --model "$models/symbolic.onnx" --shape x=5
refused 2 "--shape|batch" "$TCTUNE" run --model "$models/symbolic.onnx" --shape batch
refused 2 "--shape|many" "$TCTUNE" run --model "$models/symbolic.onnx" --shape batch=many

# The value of an input.
refused 2 "--input x|NAME=VALUE" "$TCTUNE" run --model "$models/symbolic.onnx" --input x
refused 1 "symbolic.onnx|--input z=1|has no input|only x" "$TCTUNE" run --model "$models/symbolic.onnx" --input z=1
refused 1 "symbolic.onnx|--input x=1,2|2 values do not fill" "$TCTUNE" show --model "$models/symbolic.onnx" --input x=1,2
for command in "build --out new.so" bench "tune --trials 5"; do
    refused 2 "--input x|NAME=VALUE" "$TCTUNE" $command --model "$models/symbolic.onnx" --input x
done
refused 2 "--input x|NAME=VALUE" "$TCTUNE" verify "$models" --input x
refused 1 "--input x|NAME=VALUE" "$TCTUNE" quantize "$models/symbolic.onnx" --out q.onnx --weights 8 --input x

# Inputs.
refused 1 "shape.npz|'x'|[8,48]|[8,49]" "$TCTUNE" run --model "$models/dense.onnx" --inputs "$models/shape.npz" --outputs y.npz
refused 1 "name.npz|x|z" "$TCTUNE" run --model "$models/dense.onnx" --inputs "$models/name.npz" --outputs y.npz
refused 1 "none.npz" "$TCTUNE" run --model "$models/dense.onnx" --inputs none.npz --outputs y.npz
refused 1 "dense.onnx" "$TCTUNE" run --model "$models/dense.onnx" --inputs "$models/dense.onnx" --outputs y.npz
refused 1 "name.npz|y" "$TCTUNE" run --model "$models/dense.onnx" --inputs "$models/x.npz" --check "$models/name.npz"

# An array for an input of a fixed value must have this value.
for inputs in in.npz .; do
    set -- --model "$models/scaled/model.onnx" --inputs "$models/scaled/$inputs"
    ok "$TCTUNE" run "$@" --check "$models/scaled"
    ok "$TCTUNE" run "$@" --check "$models/scaled" --input s=2
    refused 1 "scaled/$inputs|the array 's' is f32[] = 2|--input fixes this input at 3" "$TCTUNE" run "$@" --input s=3
    ok "$TCTUNE" bench "$@" --input s=2 --untuned --repeats 1 --threads 1
    refused 1 "scaled/$inputs|the array 's'" "$TCTUNE" bench "$@" --input s=3 --untuned --repeats 1 --threads 1
done

# Kernels and schedules.
echo "tensor X[4, f32" >bad.te
refused 1 "bad.te:1:" "$TCTUNE" --te bad.te --trials 4 --db new.db
refused 1 "none.te" "$TCTUNE" --te none.te --trials 4 --db new.db
cat >varying.te <<'TE'
symbol N 1..64
tensor X[N, 32] f32
compute Y[i:N, j:32] = X[i, j] * 2.0
output Y
TE
refused 1 "varying.te|size N varies|--shape N=64" "$TCTUNE" bench --te varying.te --untuned
refused 1 "varying.te|from 1 to 64" "$TCTUNE" bench --te varying.te --shape N=65 --untuned
refused 1 "varying.te|--shape M|no symbol of that name; there is only N" "$TCTUNE" bench --te varying.te --shape M=1 --untuned
refused 1 "--shape NN|did you mean N?" "$TCTUNE" bench --te varying.te --shape NN=1 --untuned
refused 1 "varying.te|--shape N|one number" "$TCTUNE" bench --te varying.te --shape N=1..8 --untuned
ok "$TCTUNE" bench --te varying.te --shape N=17 --untuned --threads 1
ok "$TCTUNE" show --te varying.te --print workload,nest,tir,asm
says "symbol s0 1..64"
echo "vectorize Y.nothing" >bad.sched
refused 1 "bad.sched|nothing" "$TCTUNE" bench --te gemm.te --sched bad.sched
refused 1 "bad.sched|nothing" "$TCTUNE" show --te gemm.te --sched bad.sched
refused 2 "--kernel|'nothing'" "$TCTUNE" show --model "$models/dense.onnx" --kernel nothing

echo "$checks checks"
