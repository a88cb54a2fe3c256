# A network from import to library: tuned, built, run, compared, measured, verified.
. "$(dirname "$0")/check.sh"
model=$models/dense.onnx

# ---- untuned ----
ok "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --outputs y.npz
says "y: f32[8,40]"
ok "$TCTUNE" bench --model "$model" --repeats 5
says default "GFLOP/s" "median"
ok "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0
says "ok"
ok "$TCTUNE" show --model "$model"
ok "$TCTUNE" show --model "$model" --kernel 0 --print workload
says tensor

# ---- tuned and built in one command ----
ok "$TCTUNE" --model "$model" --trials 8 --stop-at-roof 9 --threads 2 --db m.db --out dense.so
says "8 of 8 trials" dense.so
[ -s dense.so ] && [ -s dense.h ] || fail "no library"
ok "$TCTUNE" run --model dense.so --inputs "$models/x.npz" --check y.npz
says "ok"
ok "$TCTUNE" run --model dense.so --inputs "$models/x.npz" --check y.npz --json
[ "$(json out ok)" = true ] || fail "the built library is wrong"
ok "$TCTUNE" run --model "$model" --db m.db --threads 2 --inputs "$models/x.npz" --check y.npz
ok "$TCTUNE" bench --model dense.so --repeats 5 --json
json out median_ms >/dev/null
for source in dense.so "$model"; do
    ok "$TCTUNE" bench --model $source --inputs "$models/x.npz" --repeats 3 --json
    json out median_ms >/dev/null
    ok "$TCTUNE" bench --model $source --inputs "$models/cases/right/test_data_set_0" --repeats 3
    refused 1 "y.npz|has the inputs x" "$TCTUNE" bench --model $source --inputs y.npz --repeats 3
done
ok "$TCTUNE" bench --model "$model" --db m.db --threads 2 --repeats 5 --json
for key in median_ms gflops peak_gflops threads kernels.0.name kernels.0.gflops kernels.0.of_peak; do
    json out $key >/dev/null
done

# ---- one kernel of it, by itself ----
ok "$TCTUNE" zoo mlp
ok "$TCTUNE" bench --model mlp.onnx --kernel 1 --threads 1 --repeats 3 --json
json out median_ms >/dev/null
hash=$(json out kernels.0.hash)
ok "$TCTUNE" show --model mlp.onnx --kernel 1 --json
[ "$(json out hash)" = "$hash" ] || fail "another kernel is timed"
ok "$TCTUNE" bench --model mlp.onnx --kernel 1 --threads 1 --repeats 3 --mode cold
says "schedule: default" "cold runs"
ok "$TCTUNE" show --model mlp.onnx --kernel 1 --print schedule
cp out one.sched
ok "$TCTUNE" bench --model mlp.onnx --kernel 1 --sched one.sched --threads 1 --repeats 3
refused 2 "has no kernel '9'|tctune show" "$TCTUNE" bench --model mlp.onnx --kernel 9
refused 2 "--kernel times one kernel by itself" "$TCTUNE" bench --model mlp.onnx --kernel 1 --plot x.svg
refused 2 "--sched goes with --te or --kernel" "$TCTUNE" bench --model mlp.onnx --sched one.sched
refused 2 "built library" "$TCTUNE" bench --model dense.so --kernel 0

# ---- build says what it used ----
ok "$TCTUNE" build --model "$model" --db m.db --threads 2 --out two.so --name two --require-complete
says "record" "0 from the default schedule"
# Where a library is from stands in its file.
ok "$TCTUNE" show --model two.so
says "library 'two' for at most 2 threads" "bytes of each thread" "database m.db" "accuracy default" "x  f32[8,48]" "MatMul+Relu"
ok "$TCTUNE" show --model two.so --json
says '"provenance"' '"workload"' '"trace"' '"seconds"'
refused 2 "two.so|--kernel" "$TCTUNE" show --model two.so --kernel 0
ok "$TCTUNE" build --model "$model" --db m.db --threads 1 --out one.so
says "default" "threads"
refused 1 "threads" "$TCTUNE" build --model "$model" --db m.db --threads 1 --out complete.so --require-complete
[ ! -e complete.so ] && [ ! -e complete.h ] || fail "an incomplete library was written"
ok "$TCTUNE" build --model "$model" --db m.db --threads 2 -o top.so --top-k-in-graph 2 --print-memory-plan
says "in network" "used" "of intermediates in"
"$TCTUNE" db stats --db m.db | grep -q "in-graph" || fail "what the network said was not kept"
cp m.db read_only.db
chmod a-w read_only.db
if [ ! -w read_only.db ]; then # not so for root
    ok "$TCTUNE" build --model "$model" --db read_only.db --threads 2 -o top.so --top-k-in-graph 2
    grep -q "but could not be stored" err || fail "a choice that cannot be kept is not told"
fi
ok "$TCTUNE" build --model "$model" --db m.db --threads 2 -o object.o
ok "$TCTUNE" build --model "$model" --db m.db --threads 2 -o source.c
[ -s object.o ] && [ -s object.h ] && [ -s source.c ] && [ -s source.h ] || fail "no object or source"
ok "$TCTUNE" build --model "$model" --db m.db --threads 2 --out two.so --json
json out kernels.0.source >/dev/null

# ---- the library from C ----
if command -v cc >/dev/null; then
    cat >call.c <<'C'
#include <math.h>
#include <stdio.h>
#include "two.h"

enum { ROWS = 8, INNER = 48, COLS = 40 };

static float entry(int i) {
    return (float)((i * 7 + 3) % 23 - 11) / 16;
}

int main(void) {
    static float x[ROWS * INNER], y[ROWS * COLS];
    const void *in[] = {x};
    void *out[] = {y};
    double worst = 0;
    for (int i = 0; i < ROWS * INNER; i++)
        x[i] = entry(i);
    if (two_run(in, out) != 0)
        return 1;
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++) {
            double sum = 0;
            for (int k = 0; k < INNER; k++)
                sum += x[i * INNER + k] * entry(k * COLS + j);
            worst = fmax(worst, fabs(y[i * COLS + j] - fmax(sum, 0)));
        }
    printf("%g\n", worst);
    return worst < 1e-5 ? 0 : 1;
}
C
    ok cc -std=c17 -Wall -Werror call.c -o call ./two.so -Wl,-rpath,. -lm
    ok ./call
else
    echo "skipped: the library from C (there is no cc)"
fi

# ---- differences are a failure ----
run 1 "$TCTUNE" run --model "$model" --inputs "$models/cases/right/test_data_set_0" --check "$models/wrong/case/test_data_set_0"
grep -q "output 'y'" err || fail "the message does not name the output"

# ---- verify ----
ok "$TCTUNE" verify "$models/cases"
says "1 passed, 0 failed, 1 skipped" FancyOp
ok "$TCTUNE" verify "$models/cases/right" --json
[ "$(json out passed)" -eq 1 ] || fail "verify --json"
run 1 "$TCTUNE" verify "$models/cases" "$models/wrong"
says "1 passed, 1 failed, 1 skipped" "elements differ"
! grep -q "given as constant" out || fail "no case needs constants"
ok "$TCTUNE" verify "$models/cases/right" "$models/asks" # build has no data to take the shape from
says "with 'shape' given as constant; without: node 'only'" "2 passed, 0 failed, 0 skipped; 1 had inputs given as constants"
ok "$TCTUNE" verify "$models/cases/right" "$models/asks" --json
[ "$(json out with_constants)" -eq 1 ] || fail "verify --json does not count constants"
[ "$(json out cases.1.constants.0)" = shape ] || fail "verify --json does not name the constants"
[ "$(json out cases.0.constants)" = "[]" ] || fail "verify --json names constants of a case that needs none"
json out cases.1.without_constants | grep -q "when the model is imported" || fail "verify --json does not say why"
run 1 "$TCTUNE" verify "$models/cases/right" "$models/asks" --no-constants
says "1 passed, 1 failed, 0 skipped" "when the model is imported"
run 1 "$TCTUNE" build --model "$models/asks/model.onnx" -o asks.so
grep -q "when the model is imported" err || fail "build says something else"
ok "$TCTUNE" verify "$models/symbols" # of 20 rows, where 16 are the most that is assumed
says "1 passed"
ok "$TCTUNE" verify "$models/symbols" --shape batch=1..32
says "1 passed"
run 1 "$TCTUNE" verify "$models/symbols" --shape batch=1..8
says "0 passed, 1 failed" "is 20"
mkdir none
refused 1 "none|there is no test case" "$TCTUNE" verify none

# ---- bf16 where it is asked for ----
ok "$TCTUNE" --model "$model" --trials 8 --stop-at-roof 9 --threads 2 --db b.db --precision bf16
ok "$TCTUNE" build --model "$model" --db b.db --threads 2 --precision auto --error-budget 0.05 --inputs "$models/x.npz" -o b.so \
    --json
for key in precision.error precision.kernels kernels.0.form; do
    json out $key >/dev/null
done
ok "$TCTUNE" run --model b.so --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0.2
ok "$TCTUNE" build --model "$model" --db b.db --threads 2 --precision auto --error-budget 0 -o b.so
says "budget 0, on random inputs"
ok "$TCTUNE" run --model b.so --inputs "$models/x.npz" --check y.npz
ok "$TCTUNE" build --model "$model" --db b.db --threads 2 -o b.so
ok "$TCTUNE" run --model b.so --inputs "$models/x.npz" --check y.npz
ok "$TCTUNE" tune --model "$model" --trials 8 --stop-at-roof 9 --threads 2 --db b.db --precision auto --error-budget 0.05 \
    --inputs "$models/x.npz" -o t.so
says "budget 0.05, on $models/x.npz" "t.so is built from them"
ok "$TCTUNE" run --model t.so --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0.2
ok "$TCTUNE" tune --model "$model" --trials 8 --stop-at-roof 9 --threads 2 --db b.db --precision auto --error-budget 0 -o t.so \
    --json
[ "$(json out precision.error)" = 0.0 ] || [ "$(json out precision.error)" = 0 ] || fail "tune --json does not have the error"
refused 2 "--error-budget|--out" "$TCTUNE" tune --model "$model" --trials 8 --db b.db --precision auto --error-budget 0.1
refused 2 "--inputs|--error-budget" "$TCTUNE" tune --model "$model" --trials 8 --db b.db --precision auto --inputs "$models/x.npz"
refused 1 "none.npz" "$TCTUNE" tune --model "$model" --trials 8 --db b.db --precision auto --error-budget 0.1 --inputs none.npz \
    -o n.so
refused 2 "--error-budget|--precision" "$TCTUNE" build --model "$model" --db b.db --error-budget 0.1 -o n.so
refused 2 "--precision|f8" "$TCTUNE" build --model "$model" --db b.db --precision f8 -o n.so
refused 1 "shape.npz|[8,49]" "$TCTUNE" build --model "$model" --db b.db --precision auto --error-budget 0.1 \
    --inputs "$models/shape.npz" -o n.so

echo "$checks checks"
