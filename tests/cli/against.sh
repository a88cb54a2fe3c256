# What was before against what is now: a slow-down ends with status 3 and is named, and a base is not believed. Schedules that are
# told apart differ by an order of magnitude, so that a busy machine does not decide.
. "$(dirname "$0")/check.sh"

cat >gemm.te <<'TE'
tensor X[64, 96] f32
tensor W[96, 128] f32
compute D[i:64, j:128] = sum(k:96) X[i, k] * W[k, j]
output D
TE
printf 'jo, jv = split D.j [_, 4]\n' >slow.sched
told=41 # rounds: with 11, the fewest of which any is believed, one that something disturbed leaves nothing told apart
bench() {
    "$TCTUNE" bench --threads 1 "$@"
}

# ---- one kernel ----
ok bench --te gemm.te --repeats 3 --json
cp out fast.json
[ "$(json fast.json accuracy)/$(json fast.json precision)" = default/f32 ] || fail "the conditions are not told"
[ "$(json fast.json kernels.0.form_hash)" = "$(json fast.json kernels.0.hash)" ] || fail "a kernel's own form has another hash"
ok bench --te gemm.te --repeats 3 --sched slow.sched --json
cp out slow.json
[ "$(json slow.json kernels.0.schedule)" = "jo, jv = split t0.i1 [_, 4]" ] || fail "a schedule is not told in canonical names"
ok "$TCTUNE" measure --te gemm.te --sched slow.sched --threads 1 --repeats 3 --db slow.db

ok bench --te gemm.te --against fast.json --repeats 11
says "unchanged, so nothing was timed"
ok bench --te gemm.te --db slow.db --against slow.json --repeats 11
says "unchanged"
ok bench --te gemm.te --against slow.json --repeats $told
says "faster"
run 3 bench --te gemm.te --db slow.db --against fast.json --repeats $told
says "kernel 0, gemm f32[64,128], is slower" "schedule (record)" "only now: jo, jv = split t0.i1 [_, 4]" "only the base: "
grep -q 'slower than the base beyond doubt: gemm f32\[64,128\] (+.*the whole (+' err ||
    fail "the message does not name what is slower"
run 3 bench --te gemm.te --db slow.db --against fast.json --repeats $told --json
[ "$(json out slower)/$(json out network.verdict)/$(json out kernels.0.verdict)" = true/slower/slower ] || fail "verdicts"
[ "$(json out kernels.0.rounds)" -eq $told ] || fail "rounds"
for key in name base base_name target threads network.base_ms network.now_ms network.ratio network.low network.high network.sign_p \
    kernels.0.then_ms kernels.0.schedule kernels.0.base_schedule kernels.0.form kernels.0.base_form kernels.0.record \
    kernels_slower; do
    json out $key >/dev/null
done

# One decision is another: it is named with both values. The row tile is one row, which loads each value of W for one product.
sed 's/\(sample_tile t0.i0 parts=3 max_inner=[0-9]* ~\)\[[0-9]*, [0-9]*\]/\1[64, 1]/' fast.json >decided.json
! cmp -s fast.json decided.json || fail "the default schedule has no row tile"
bench --te gemm.te --against decided.json --repeats $told --json >out 2>err || [ $? -eq 3 ] || fail "a base with another decision"
[ "$(json out kernels.0.changed.0.base | sed 's/.*~//')" = "[64, 1]" ] || fail "the decision of the base is not told"
json out kernels.0.changed.0.now | grep -q '^ti.* = sample_tile t0.i0 ' || fail "the decision of now is not told"
! "$JSON" out kernels.0.changed.1 >/dev/null 2>&1 || fail "more than that decision is told"

# ---- a network ----
ok bench --model models/dense.onnx --untuned --repeats 3 --json
cp out dense.json
printf 'a, b = split t1.i1 [_, 4]\n' >row.sched
ok "$TCTUNE" measure --model models/dense.onnx --kernel 0 --sched row.sched --threads 1 --repeats 3 --db dense.db
run 3 bench --model models/dense.onnx --db dense.db --against dense.json --repeats $told
says "kernel 0, MatMul+Relu f32[8,40], is slower" "only now: a, b = split t1.i1 [_, 4]"
ok bench --model models/dense.onnx --db dense.db --repeats 3 --json
cp out dense-slow.json
ok bench --model models/dense.onnx --untuned --against dense-slow.json --repeats $told
says "faster"

# What is on one side only is said.
ok "$TCTUNE" zoo mlp
ok bench --model mlp.onnx --untuned --repeats 3 --json
cp out base.json
sed '0,/"hash": "[0-9a-f]*"/s//"hash": "00000000000000000000000000000000"/' base.json >other.json
ok bench --model mlp.onnx --untuned --against other.json --repeats 11
says "added" "removed" "unchanged"

# ---- a base is not believed ----
sed 's/"schedule": "t0_acc/"schedule": "vectorize t0.i9\\nt0_acc/' fast.json >illegal.json
run 1 bench --te gemm.te --against illegal.json --repeats 11
says "was not compared: the schedule failed when it was checked"
grep -q "did not run here" err || fail "the message does not say that there is no verdict"
sed 's/"form_hash": "[0-9a-f]*"/"form_hash": "00000000000000000000000000000000"/' fast.json >form.json
run 1 bench --te gemm.te --against form.json --repeats 11
says "has no form 'direct' with this workload any more"
# base FILE 'TEXT|TEXT' SED; of the file itself tests/graph/trials/test_base.c has more.
base() {
    sed "$3" fast.json >"$1"
    ! cmp -s fast.json "$1" || fail "$1 is as it was"
    refused 1 "$1|$2" bench --te gemm.te --against "$1" --repeats 11
}
base schedule.json "kernels[0].schedule" 's/"schedule": "t0_acc = cache_write/"schedule": "t0_acc = cash_write/'
base huge.json "huge.json:" 's/"threads": 1/"threads": 999999999999999999999999/'
base target.json "target 'llvm|same conditions" 's/"target": "llvm [^"]*"/"target": "llvm -mtriple=aarch64-linux-gnu"/'
base threads.json "ran with 64 threads, but this run has 1" 's/"threads": 1/"threads": 64/'
base accuracy.json "accuracy 'strict'|add --accuracy 'strict'" 's/"accuracy": "default"/"accuracy": "strict"/'
base workload.json "another network|no kernel in common" 's/"hash": "[0-9a-f]*"/"hash": "00000000000000000000000000000000"/'
head -c 700 fast.json >short.json
refused 1 "short.json:" bench --te gemm.te --against short.json
echo '<!DOCTYPE html><html><body>404</body></html>' >page.json
refused 1 "page.json:1|bench --json" bench --te gemm.te --against page.json
refused 1 "none.json" bench --te gemm.te --against none.json
refused 1 "no kernel in common" bench --model models/dense.onnx --untuned --against fast.json
refused 1 "at least 11" bench --te gemm.te --against fast.json --repeats 10
refused 2 "leave out --plot" bench --te gemm.te --against fast.json --sched slow.sched
ok "$TCTUNE" build --model models/dense.onnx --untuned --threads 1 --out dense.so
refused 1 "does not contain its schedules" bench --model dense.so --against dense.json
cat >varying.te <<'TE'
symbol N 1..48
tensor X[N, 64] f32
compute Y[i:N, j:64] = X[i, j] + 1
output Y
TE
refused 1 "varying" bench --te varying.te --against fast.json

# ---- Ctrl-C: a shell's children in the background do not hear of it, timeout's do ----
run 130 timeout --preserve-status -s INT 2 "$TCTUNE" bench --threads 1 --te gemm.te --db slow.db --against fast.json \
    --repeats 1000000

echo "$checks checks"
