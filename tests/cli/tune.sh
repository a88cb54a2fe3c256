# Tuning one kernel: trials, resuming, interruption, kill -9; then what can be done with the records.
. "$(dirname "$0")/check.sh"

tune() { # TRIALS [OPTIONS...]; of an hour, contests at the end may take six minutes
    trials=$1
    shift
    "$TCTUNE" --te gemm.te --trials "$trials" --minutes 60 --threads 1 --db t.db --batch 4 --stop-at-roof 9 "$@"
}

records() { # of candidates; a verdict on one and the default schedule is two more
    "$TCTUNE" export --db t.db --out records.json >/dev/null 2>&1 || return 0
    grep -vc '"mode":"in-graph"' records.json || true
}

# ---- trials, and the same command again ----
ok tune 16
says gemm "16 of 16 trials" "of peak" "trials/s" "valid" "duplicates" t.db
grep -q "\[16/16\]" err || fail "no line of progress per round"
[ "$(records)" -eq 16 ] || fail "$(records) records, not 16"
ok tune 16 --json
[ "$(json out measured)" -eq 0 ] || fail "trials were repeated"
[ "$(json out trials)" -eq 16 ] || fail "trials were forgotten"
ok tune 24 --json
[ "$(json out measured)" -eq 8 ] || fail "resuming measured $(json out measured), not 8"
json out tasks.0.best_ms >/dev/null
json out trials_per_second >/dev/null
json out peak_gflops >/dev/null

# ---- minutes, the roof, and a kernel that is tuned already ----
for minutes in 0.05 0.1 0.5 2; do # on a busy machine the time may be up before anything was measured
    "$TCTUNE" --te gemm.te --minutes $minutes --stop-at-roof 9 --threads 1 --db minutes.db --json >out 2>err && break
    grep -q "the time was up" err || fail "--minutes $minutes: $(cat err)"
done
[ "$(json out end)" = time ] || fail "--minutes did not end the run"
[ "$(json out measured)" -gt 0 ] || fail "nothing was measured in $minutes minutes"
for minutes in 0.02 0.1 0.5 2; do # again
    "$TCTUNE" --te gemm.te --minutes $minutes --stop-at-roof 9 --threads 1 --db minutes.db >out 2>err || fail "--minutes again"
    ! grep -q " left" err || break
done
grep -q " left" err || fail "progress does not show the time left"
ok tune 24
says "nothing to do: all trials are spent"
ok "$TCTUNE" --te gemm.te --trials 1000 --minutes 10 --stop-at-roof 0.0001 --threads 1 --db t.db --json
[ "$(json out end)" = at_roof ] || fail "the roof did not end the run"
[ "$(json out measured)" -eq 0 ] || fail "a tuned kernel was measured again"

# ---- computed times: the same search every time, and nothing is built from it ----
for n in 1 2; do
    ok "$TCTUNE" --te gemm.te --trials 24 --threads 1 --seed 7 --deterministic-measure --db "same$n.db"
    ok "$TCTUNE" export --db "same$n.db" --out same.json
    sed 's/"when_ms":[0-9]*,//' same.json >"same$n.json"
done
cmp same1.json same2.json || fail "one seed made two searches"
ok "$TCTUNE" show --te gemm.te --db same1.db --threads 1 --print schedule
says "default schedule"
mkdir logs
echo '{"damaged' >logs/damaged.jsonl
TCTUNE_LOGS=logs "$TCTUNE" --te gemm.te --trials 4 --threads 1 --deterministic-measure --db damaged.db >/dev/null 2>warned ||
    fail "a damaged file of records ended the run"
[ "$(grep -c "not used to start from" warned)" = 1 ] || fail "a damaged file of records was not told of, once"
# A long one of few constants: they are put out of the caches before each call, and a sample of short ones has thousands.
cat >bias.te <<'TE'
tensor X[1000, 480] f32
tensor B[480] f32 const
compute Y[i:1000, j:480] = X[i, j] + B[j]
output Y
TE
ok "$TCTUNE" --te bias.te --trials 2 --stop-at-roof 9 --batch 2 --threads 1 --mode cold --db modes.db --start-from none
ok "$TCTUNE" --te bias.te --trials 2 --stop-at-roof 9 --batch 2 --threads 1 --db modes.db --start-from none
ok "$TCTUNE" db stats --db modes.db
says " hot " " cold "
refused 2 "auto, hot or cold" "$TCTUNE" --te gemm.te --trials 4 --mode warm

# ---- phases, plain searches, and records to start from ----
ok "$TCTUNE" --te gemm.te --trials 24 --threads 1 --deterministic-measure --phases construct,descent --start-from none \
    --db phases.db --json
[ "$(json out phases.evolution.tried)" -eq 0 ] || fail "--phases did not leave evolution out"
[ "$(json out phases.descent.tried)" -gt 0 ] || fail "no descent"
for search in random ansor; do
    ok "$TCTUNE" --te gemm.te --trials 24 --threads 1 --deterministic-measure --search $search --start-from none --db $search.db \
        --json
    [ "$(json out measured)" -eq 24 ] || fail "--search $search measured $(json out measured)"
done
sed 's/48/56/g' gemm.te >similar.te
ok "$TCTUNE" --te similar.te --trials 12 --threads 1 --deterministic-measure --start-from phases.db --db similar.db --json
[ "$(json out phases.transfer.tried)" -gt 0 ] || fail "nothing was taken over from a similar kernel"
ok "$TCTUNE" --te similar.te --trials 12 --threads 1 --deterministic-measure --start-from same.json --db similar2.db
refused 2 "there are construct, transfer, descent and evolution" "$TCTUNE" --te gemm.te --trials 4 --phases construct,luck
refused 2 "--search needs phases, random or ansor" "$TCTUNE" --te gemm.te --trials 4 --search luck
run 1 "$TCTUNE" --te gemm.te --trials 4 --start-from none.jsonl --db bad.db
grep -q "none.jsonl" err || fail "the message does not name the file"
[ ! -e bad.db ] || fail "a command that could not begin made a database"

# ---- Ctrl-C and kill -9 ----
start() { # in the background, as process $pid
    "$TCTUNE" --te gemm.te --trials 100000 --threads 1 --db t.db --batch 4 --stop-at-roof 9 >out 2>err &
    pid=$!
}
wait_for_records() { # MORE THAN
    i=0
    while [ "$(records || echo 0)" -le "$1" ]; do
        i=$((i + 1))
        [ $i -lt 3000 ] || fail "nothing was recorded in 600 s"
        sleep 0.2
    done
}
for signal in INT TERM; do
    before=$(records)
    start
    wait_for_records "$before"
    kill -s $signal $pid
    status=0
    wait $pid || status=$?
    [ "$status" -gt 128 ] || fail "exit status $status after SIG$signal"
    says "of peak" "of 100000 trials"
    grep -q "the records are in t.db" err || fail "no word on what was saved"
    [ "$(records)" -gt "$before" ] || fail "nothing was saved"
done
before=$(records)
start
wait_for_records "$before"
kill -9 $pid
wait $pid || true
n=$(records)
[ "$n" -gt "$before" ] || fail "kill -9 lost what was measured"
ok tune $((n + 4)) --json
[ "$(json out measured)" -eq 4 ] || fail "after kill -9, resuming measured $(json out measured), not 4"

# ---- a run in which nothing can be measured fails, with the reason ----
cat >huge.te <<'TE'
tensor X[65536, 65536] f32
tensor Y[65536, 65536] f32
compute Z[i:65536, j:65536] = X[i, j] + Y[i, j]
output Z
TE
run 1 "$TCTUNE" --te huge.te --trials 2 --threads 1 --db huge.db
grep -q "could be measured\|nothing was measured" err || fail "no reason"

# ---- bench ----
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 1
says "record" "median" "GFLOP/s" "of the peak"
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 1 --repeats 5 --json
for key in median_ms gflops peak_gflops threads kernels.0.name kernels.0.time_ms kernels.0.gflops; do
    json out $key >/dev/null
done
[ "$(json out threads)" -eq 1 ] || fail "threads"
[ "$(json out kernels.0.source)" = record ] || fail "the record is not used"
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 2 --repeats 3
says "default schedule" "threads"
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 1 --repeats 5 --mode cold
says "cold runs"
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 1 --repeats 5 --mode cold --json
[ "$(json out mode)" = cold ] || fail "bench --mode"
ok "$TCTUNE" bench --te gemm.te --db t.db --threads 1 --repeats 5
says "hot runs"
refused 2 "--mode goes with --te" "$TCTUNE" bench --model "$models/dense.onnx" --mode cold
refused 2 "hot or cold" "$TCTUNE" bench --te gemm.te --mode warm

# ---- show ----
ok "$TCTUNE" show --te gemm.te --db t.db --threads 1
says "# ---- schedule" "# ---- loop nest" "record" "# --print all"
! grep -q "# ---- [^sl]" out || fail "show prints more than schedule and loop nest: $(grep '# ---- [^sl]' out)"
ok "$TCTUNE" show --te gemm.te --db t.db --threads 1 --print all
says "# ---- workload" "# ---- schedule" "# ---- stages" "# ---- loop nest" "# ---- lowered loop nest" "# ---- LLVM IR, optimised" \
    "# ---- LLVM IR as generated" "# ---- assembly" "record" "define" "ret"
! grep -qF -e "--print all" out || fail "all that there is comes with a hint at more"
for part in workload schedule stages nest tir ir raw-ir asm; do
    ok "$TCTUNE" show --te gemm.te --db t.db --threads 1 --print $part
    [ -s out ] || fail "show --print $part is empty"
done
ok "$TCTUNE" show --te gemm.te --dump all --print nest
grep -q "after" err || fail "--dump prints nothing"
ok "$TCTUNE" show --te gemm.te --json --print workload
json out workload >/dev/null
ok "$TCTUNE" show --te gemm.te --target neoverse-n1 --print asm
says fmla

# A schedule that was shown can be changed and measured.
ok "$TCTUNE" show --te gemm.te --db t.db --threads 1 --print schedule
cp out best.sched
ok "$TCTUNE" bench --te gemm.te --sched best.sched --threads 1 --repeats 5
says best.sched
printf 'io, ii = split Y.i [_, 8]\nparallel Y.io\n' >hand.sched
ok "$TCTUNE" bench --te gemm.te --sched hand.sched --threads 1 --repeats 3
ok "$TCTUNE" show --te gemm.te --sched hand.sched --print nest
says "parallel"

# ---- records travel ----
ok "$TCTUNE" export --db t.db --out all.json
ok "$TCTUNE" import all.json --db copy.db
says "$(wc -l <all.json) records added"
ok "$TCTUNE" import all.json --db copy.db
says "0 records added"
refused 1 "none.json" "$TCTUNE" import none.json --db copy2.db
echo '{"half": ' >half.json
run 1 "$TCTUNE" import half.json --db copy.db
grep -q "half.json:1" err || fail "the message does not name the line"

echo "$checks checks"
