# Why a schedule is as fast as it is: what is told, and what is refused. Which cause is found depends on the clock, and is not asked
# for here (benchmarks/explain does); nor is it that a busy machine has the time for enough rounds.
. "$(dirname "$0")/check.sh"

cat >ffn.te <<'TE'
tensor X[50, 70] f32
tensor W[70, 48] f32 const
tensor B[48] f32 const
compute D[i:50, j:48] = sum(k:70) X[i, k] * W[k, j]
compute Y[i:50, j:48] = relu(D[i, j] + B[j])
output Y
TE
printf 'jo, jv = split Y.j [_, 16]\nvectorize Y.jv\n' >hand.sched

# ---- a schedule by hand ----
ok "$TCTUNE" explain --te ffn.te --sched hand.sched --threads 1 --seconds 8 --json
for key in answer busy slowdown spread waited kernel hash spec origin threads mode schedule nest asm_facts.instructions seconds \
    causes.0.cause causes.0.meaning causes.0.remedy causes.0.evidence causes.0.estimate trials.0.kind trials.0.decision \
    trials.0.what trials.0.schedule; do
    json out $key >/dev/null
done
[ "$(json out spec)" = hand.sched ] || fail "spec"
[ "$(json out threads)" -eq 1 ] || fail "threads"
"$JSON" out trials.0.low >/dev/null || fail "an interval"
if [ "$(json out busy)" = true ]; then # whoever else is at work here
    grep -q '"answer": ".*[Bb]usy' out || fail "the answer does not say that the machine is busy"
    says '"cause": null'
    ! grep -q '"is_cause": true' out || fail "a cause that is certain on a disturbed machine"
fi
if ! grep -q '"unmeasured": "' out; then
    json out counters.0.missing >/dev/null
    grep -q '"name": "page faults"' out || fail "no counters"
    [ "$(json out counters.0.name)" = cycles ] || fail "the first counter"
    [ "$(json out counters.0.of_call)" != null ] || says '"missing": "'
fi
grep -q '"no vectors"' out || fail "a scalar sum is not suspected to have no vectors"
grep -q '"vectors along t0.i1"' out || fail "vectors for the sum were not tried"
ok "$TCTUNE" explain --te ffn.te --sched hand.sched --threads 1 --seconds 5
says "kernel ffn: hand.sched" "# ---- causes that are suspected" "no vectors"
head -n 1 out | grep -q '\.$' || fail "the first line is no sentence"
[ ! -e tctune.db ] || fail "explaining made a database"

# ---- a record: its kernel and threads; one of another machine is shown ----
ok "$TCTUNE" measure --te ffn.te --sched hand.sched --threads 1 --repeats 5
ok "$TCTUNE" explain --sched 1 --seconds 5 --json
[ "$(json out threads)" -eq 1 ] || fail "the record's threads are not used"
says '"origin": "record 1 of tctune.db'
ok "$TCTUNE" explain --te ffn.te --target neoverse-n1 --sched hand.sched --threads 2 --json
says "does not run on this machine" "Nothing was measured"
[ "$(json out causes.0.measured)" = false ] || fail "something was measured"
ok "$TCTUNE" explain --te ffn.te --target neoverse-n1 --sched hand.sched --threads 2
says "Nothing was measured" "one thread"

# ---- what is refused ----
refused 2 "'soup' is nothing to explain" "$TCTUNE" explain --te ffn.te --sched soup
refused 2 "onednn is a library" "$TCTUNE" explain --te gemm.te --sched onednn
refused 2 "no kernel is named" "$TCTUNE" explain --sched default
refused 2 "seconds must be at least 5" "$TCTUNE" explain --te ffn.te --sched default --seconds 1
refused 2 "denormal must be a share" "$TCTUNE" explain --te ffn.te --sched default --denormal 2
refused 1 "has no record 99" "$TCTUNE" explain --sched 99
refused 1 "none.db" "$TCTUNE" explain --sched 1@none.db
refused 1 "no verified record" "$TCTUNE" explain --te gemm.te --sched best --db tctune.db
printf 'ja, jb = split Y.j [_, 16]\n  vectorize Y.j\n' >illegal.sched
refused 1 "illegal.sched|step 2" "$TCTUNE" explain --te ffn.te --sched illegal.sched
refused 1 "none.sched" "$TCTUNE" explain --te ffn.te --sched none.sched
refused 1 "record 1 of tctune.db is of another kernel" "$TCTUNE" explain --te gemm.te --sched 1

echo "$checks checks"
