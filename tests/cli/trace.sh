# The timeline of a run: a network's, a library's and a kernel's, with one and two threads.
. "$(dirname "$0")/check.sh"
model=$models/dense.onnx

timeline() { # FILE TEXT: what the events are
    "$TIMELINE" "$1" >timeline.out || fail "$1 is no timeline"
    grep -q "$2" timeline.out || fail "$1 is not '$2': $(cat timeline.out)"
    checks=$((checks + 1))
}

ok "$TCTUNE" zoo bert-tiny
ok "$TCTUNE" build --model bert-tiny.onnx --untuned --threads 2 -o bert.so --json
built=$(grep -c '"source"' out)
[ "$built" -gt 4 ] || fail "build lists no kernels"

# ---- a network and its library ----
ok "$TCTUNE" trace --model bert-tiny.onnx --untuned --threads 2 -o net.json
says "net.json: one run of" "2 threads" "perfetto"
timeline net.json "^2 threads 2 names $built kernels"
ok "$TCTUNE" trace bert.so -o library.json --json
[ "$(json out threads)" = 2 ] && [ "$(json out out)" = library.json ] || fail "the report is wrong"
timeline library.json "^2 threads 2 names $built kernels"
# The first kernel, behind the names of the process and of two threads, says what it is.
for key in workload schedule flops bytes GFLOP/s of_peak of_roof; do
    json library.json "traceEvents.3.args.$key" >/dev/null
done
name=$(json library.json traceEvents.3.name)
ok "$TCTUNE" bench --model bert.so --repeats 3
says "$name"
json library.json otherData.peak_gflops >/dev/null
ok "$TCTUNE" trace --model "$model" --untuned --threads 2 --inputs "$models/x.npz" -o dense.json
timeline dense.json " 1 kernels"

# ---- one thread: nothing forks, or one part is all ----
ok "$TCTUNE" trace --model bert.so --threads 1 -o one.json
timeline one.json "^1 threads 1 names $built kernels"

# ---- a kernel, and one of a record ----
ok "$TCTUNE" trace --te gemm.te --untuned --threads 2 -o kernel.json
# A thread that lost its core leaves parts to the other.
timeline kernel.json "^2 threads 2 names 1 kernels [2-9] fork [2-9] work [1-9] wait"
ok "$TCTUNE" tune --te gemm.te --trials 4 --stop-at-roof 9 --threads 2 --db t.db
ok "$TCTUNE" trace --te gemm.te --db t.db --threads 2 -o tuned.json
json tuned.json traceEvents.3.args.record >/dev/null

# ---- sizes that vary: rates are not told of smaller ones ----
cat >rows.te <<'TE'
symbol N 1..64
tensor X[N, 64] f32
compute Y[i:N, j:64] = X[i, j] + 1.0
output Y
TE
ok "$TCTUNE" trace --te rows.te --untuned --threads 2 --at N=64 -o largest.json
json largest.json traceEvents.3.args.flops >/dev/null
ok "$TCTUNE" trace --te rows.te --untuned --threads 2 --at N=5 -o small.json
! "$JSON" small.json traceEvents.3.args.flops >/dev/null 2>&1 || fail "operations of the largest size are told of a smaller one"

# ---- what is refused ----
refused 2 "--out" "$TCTUNE" trace bert.so
refused 2 "--model|--te" "$TCTUNE" trace -o t.json
refused 2 "one model" "$TCTUNE" trace bert.so --model bert.so -o t.json
refused 2 "one model" "$TCTUNE" trace bert.so bert.so -o t.json
refused 1 "missing.so" "$TCTUNE" trace missing.so -o t.json
refused 1 "nowhere" "$TCTUNE" trace bert.so -o nowhere/t.json
refused 2 "--at|--inputs" "$TCTUNE" trace bert.so -o t.json --at N=1 --inputs "$models/x.npz"
head -c 3000 bert.so >cut.so
refused 1 "cut.so" "$TCTUNE" trace cut.so -o t.json
echo "$checks checks"
