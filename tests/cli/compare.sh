# Measuring schedules by hand, and comparing: records, files, the default, other libraries; and what is refused.
. "$(dirname "$0")/check.sh"

cat >ffn.te <<'TE'
tensor X[50, 70] f32
tensor W[70, 48] f32 const
tensor B[48] f32 const
compute D[i:50, j:48] = sum(k:70) X[i, k] * W[k, j]
compute Y[i:50, j:48] = relu(D[i, j] + B[j])
output Y
TE

# ---- measure: in the kernel's own names, with names that get in the way of canonical ones, open decisions, new stages ----
cat >hand.sched <<'SCHED'
v = sample_categorical [16, 32, 48] ~16
jo, jv = split Y.j [_, v]
i0, t1 = split Y.i [_, 5]
reorder Y.jo Y.i0 Y.t1 Y.jv
compute_at D Y.i0
set_scope D local
unroll Y.t1
vectorize Y.jv
ko, ku = split D.k [_, 2]
reorder D.ko D.ku D.i D.j
unroll D.ku
unroll D.i
vectorize D.j
transform_layout W (k, j) -> (j / v, k, j % v)
SCHED
ok "$TCTUNE" measure --te ffn.te --sched hand.sched --threads 1 --repeats 5
says "ffn with hand.sched" "verified" "record 1 of tctune.db" "the first record of this kernel"
ok "$TCTUNE" measure --te ffn.te --sched hand.sched --threads 1 --repeats 5 --db tctune.db --json
[ "$(json out record)" -eq 2 ] || fail "the second record is $(json out record)"
json out median_ms >/dev/null
json out best_before_ms >/dev/null
ok "$TCTUNE" show --te ffn.te --threads 1 --print schedule
says "record" "compute_at t0 t1.own_i0" "split t1.i1 [_, v]"
cp out shown.sched
ok "$TCTUNE" measure --te ffn.te --sched shown.sched --threads 1 --repeats 5
cat >open.sched <<'SCHED'
L = cache_write D local
R = cache_read X L global
ko, ki = split L.k [_, 7]
F = rfactor L.ki
SCHED
ok "$TCTUNE" measure --te ffn.te --sched open.sched --threads 1 --repeats 5
says "record 4"
ok "$TCTUNE" build --te ffn.te --threads 1 --out ffn.so --require-complete
says "record"

# ---- what is refused: nothing is recorded, no database appears ----
printf '# a comment\nja, jb = split Y.j [_, 16\n' >bad.sched
refused 1 "bad.sched:2:26|expected ']'" "$TCTUNE" measure --te ffn.te --sched bad.sched --db new.db
printf 'ja, jb = split Y.j [_, 16]\n  vectorize Y.j\n' >illegal.sched
refused 1 "illegal.sched|step 2|line 2, column 3|vectorize Y.j|split into ja, jb" "$TCTUNE" measure --te ffn.te \
    --sched illegal.sched --db new.db
refused 1 "none.sched" "$TCTUNE" measure --te ffn.te --sched none.sched --db new.db
refused 2 "--sched" "$TCTUNE" measure --te ffn.te --db new.db
refused 2 "no model and no kernel is named" "$TCTUNE" measure --sched hand.sched --db new.db
refused 2 "does not run on this machine" "$TCTUNE" measure --te ffn.te --sched hand.sched --db new.db --target rv64gcv
[ ! -e new.db ] || fail "a refused schedule made a database"

# ---- compare ----
ok "$TCTUNE" compare 1 default --te ffn.te --threads 1 --repeats 11
says "# ---- schedules" "# ---- loop nests" "# ---- cost-model features that differ" "# ---- hot loops" "# ---- roofline" \
    "# ---- verdict" "record 1 of tctune.db" "fused multiply-adds" "FLOP per byte" "11 rounds in turns" "95 % interval"
grep -q " is faster by .* % ± \| × as fast as \|not distinguishable" out || fail "no verdict"
ok "$TCTUNE" compare 1@tctune.db shown.sched --json --repeats 11
[ "$(json out verdict.same_program)" = true ] || fail "a record and the file it came from are not the same program"
[ "$(json out threads)" -eq 1 ] || fail "the record's threads are not used"
for key in kernel hash a.spec a.origin a.schedule a.nest a.asm_facts.fma a.asm_facts.spills a.median_ms a.of_roof b.median_ms \
    roofline.intensity roofline.bound_by verdict.ratio verdict.low verdict.high verdict.sign_p; do
    json out $key >/dev/null
done
printf 'jo, jv = split Y.j [_, 16]\n' >slow.sched
ok "$TCTUNE" compare slow.sched best --te ffn.te --threads 1 --repeats 41 --json
[ "$(json out verdict.faster)" = B ] || fail "a scalar schedule is not slower than the best record"
awk -v x="$(json out verdict.speedup)" -v p="$(json out verdict.percent)" 'BEGIN { d = 100 * (x - 1) - p; exit d * d > 1e-6 }' ||
    fail "the speedup and its percentage differ"

# ---- compare speaks of the kernel as its file does, also of a record, and says first what came out ----
ok "$TCTUNE" compare hand.sched best --te ffn.te --threads 1 --repeats 11
says "jo, jv = split Y.j" "compute_at D Y.i0" "Y["
! grep -q '\b\(p[0-9]\|t0\|k0\|own_[it0-9]*\)\b' out || fail "canonical names are printed"
[ "$(grep -n '^# ---- ' out | head -n 1 | cut -d: -f2)" = "# ---- verdict ----" ] || fail "the verdict is not told first"
ok "$TCTUNE" compare default default --te gemm.te --repeats 11 --threads 1
says "(the same)" "A and B become the same program"

says "11 rounds in turns, hot"
# A long one of few constants: they are put out of the caches before each call, and a sample of short ones has thousands.
cat >bias.te <<'TE'
tensor X[1000, 480] f32
tensor B[480] f32 const
compute Y[i:1000, j:480] = X[i, j] + B[j]
output Y
TE
printf 'jo, jv = split Y.j [_, 16]\n' >bias.sched
ok "$TCTUNE" compare default bias.sched --te bias.te --repeats 11 --threads 1 --mode cold
says "11 rounds in turns, cold" "the bytes are those of the constants"
ok "$TCTUNE" measure --te bias.te --sched bias.sched --threads 1 --repeats 5 --mode cold --db cold.db
ok "$TCTUNE" compare 1@cold.db default --repeats 11 --json
[ "$(json out mode)" = cold ] || fail "the record's mode is not used"
ok "$TCTUNE" compare 1@cold.db default --repeats 11 --mode hot --json
[ "$(json out mode)" = hot ] || fail "compare --mode"
refused 2 "mode cold goes with two schedules" "$TCTUNE" compare default onednn --te gemm.te --mode cold

refused 2 "compare takes two schedules" "$TCTUNE" compare default --te ffn.te
refused 2 "compare takes two schedules" "$TCTUNE" compare default default default --te ffn.te
# ---- two forms of one kernel ----
cat >conv.te <<'TE'
tensor X[1, 10, 10, 16] f32
tensor W[3, 3, 16, 16] f32 const
compute C[n:1, h:8, w:8, o:16] = sum(rh:3, rw:3, c:16) X[n, h + rh, w + rw, c] * W[rh, rw, c, o]
output C
TE
ok "$TCTUNE" tune --te conv.te --trials 16 --stop-at-roof 9 --threads 1 --db conv.db --start-from none
ok "$TCTUNE" export --db conv.db --out conv.jsonl
forms=$(awk 'match($0, /"workload_hash": *"[0-9a-f]+"/) { hash = substr($0, RSTART, RLENGTH) }
             /"error": *"ok"/ && /"verified": *true/ && !(hash in seen) { seen[hash] = 1; print NR }' conv.jsonl)
set -- $forms
[ $# -ge 2 ] || fail "tuning a convolution has records of $# forms"
ok "$TCTUNE" compare "$1@conv.db" "$2@conv.db" --te conv.te --threads 1 --repeats 11
says "winograd" "rounds"
refused 1 "two forms of one kernel" "$TCTUNE" compare "$2@conv.db" "$1@conv.db" --threads 1 --repeats 11

refused 2 "'foo' is nothing to compare" "$TCTUNE" compare foo default --te ffn.te
refused 2 "no kernel is named" "$TCTUNE" compare default hand.sched
refused 2 "at least 11 rounds" "$TCTUNE" compare default hand.sched --te ffn.te --repeats 5
refused 2 "one of the two must be a schedule" "$TCTUNE" compare onednn openblas --te gemm.te
refused 1 "has no record 99" "$TCTUNE" compare 99 default --te ffn.te
refused 1 "none.db" "$TCTUNE" compare 1@none.db default --te ffn.te
refused 1 "none.sched" "$TCTUNE" compare none.sched default --te ffn.te
refused 1 "illegal.sched|step 2" "$TCTUNE" compare default illegal.sched --te ffn.te
refused 1 "record 1 of tctune.db is of another kernel" "$TCTUNE" compare 1 default --te gemm.te
refused 1 "no verified record" "$TCTUNE" compare best default --te gemm.te
refused 1 "plain matmul" "$TCTUNE" compare default onednn --te ffn.te
refused 1 "cannot compare with onednn|/nonexistent/gemm_peers|TCTUNE_PEERS" env TCTUNE_PEERS=/nonexistent/gemm_peers \
    "$TCTUNE" compare default onednn --te gemm.te
refused 1 "without an answer" env TCTUNE_PEERS=/bin/true "$TCTUNE" compare default openblas --te gemm.te

# With a stand-in for the library: what it answers is what is compared.
cat >peer <<'SH'
#!/bin/sh
echo '{"ready": true, "peer": "onednn", "version": "9.9", "threads": 1}'
while read -r word count; do
    [ "$word" = run ] || exit 0
    echo '{"times_ms": [5000, 5001, 5002]}'
done
SH
chmod +x peer
ok env TCTUNE_PEERS="$PWD/peer" "$TCTUNE" compare default onednn --te gemm.te --threads 1 --repeats 11 --json
[ "$(json out verdict.faster)" = A ] || fail "5 s are not slower"
[ "$(json out b.origin)" = 9.9 ] || fail "the library's version is not told"
ok env TCTUNE_PEERS="$PWD/peer" "$TCTUNE" compare openblas default --te gemm.te --threads 1 --repeats 11
grep -q '^B is [0-9]* × as fast as A (95 % interval [0-9]* to [0-9]*)$' out || fail "a large difference is not told as a factor"

# ---- show marks the hot loop ----
ok "$TCTUNE" show --te ffn.te --sched hand.sched --threads 1 --print asm
says "hot loop:" "accumulators" "vector spills" "more loops compute"
grep -q '^| ' out || fail "no loop is marked"
[ ! -s err ] || fail "what LLVM tells of frames is printed"
ok "$TCTUNE" show --te ffn.te --sched hand.sched --threads 1 --print asm --json
json out asm >/dev/null
json out asm_facts.hot_loop.name >/dev/null
json out asm_facts.fma_share >/dev/null

echo "$checks checks"
