# How kernels are timed: hot or cold by the size of their constants, unless --mode says which; and what becomes of records of both.
. "$(dirname "$0")/check.sh"

kernel() { # ROWS of W
    cat >large.te <<TE
tensor X[2, $1] f32
tensor W[$1, 1024] f32 const
compute Y[i:2, j:1024] = sum(k:$1) X[i, k] * W[k, j]
output Y
TE
}
# W takes three quarters of the last cache that tctune counts with here: what the first three walks find of it together.
kernel 2056
for walk in 1 2 3; do
    ok "$TCTUNE" bench --te large.te --threads 1 --repeats 1 --json
done
kernel $(($(json out caches.measured_bytes) * 3 / 4 / 4096 + 8))
large() { # TRIALS [OPTIONS...]
    trials=$1
    shift
    "$TCTUNE" --te large.te --trials "$trials" --threads 1 --batch 2 --stop-at-roof 9 --start-from none "$@"
}
modes() { # FILE: the modes of its candidates
    "$TCTUNE" export --db "$1" --out modes.json >/dev/null
    sed '/"mode":"in-graph"/d; s/.*"mode":"\([^"]*\)".*/\1/' modes.json | sort -u | tr '\n' ' '
}
ok "$TCTUNE" --te gemm.te --trials 2 --stop-at-roof 9 --batch 2 --threads 1 --start-from none --db small.db
[ "$(modes small.db)" = "hot " ] || fail "a small kernel was timed $(modes small.db)"
ok large 2 --db large.db
says " cold" "reads its constants"
[ "$(modes large.db)" = "cold " ] || fail "a kernel with large constants was timed $(modes large.db)"
ok large 2 --db large.db --json
[ "$(json out tasks.0.mode)" = cold ] || fail "the mode of the task"
[ "$(json out measured)" -eq 0 ] || fail "cold records were not found again"
[ "$(json out caches.walks)" -ge 1 ] && [ "$(json out caches.measured_bytes)" -le "$(json out caches.reported_bytes)" ] ||
    fail "the walk that chose the mode is not in the report"
ok large 2 --db large.db
says "nothing to do: all trials are spent"
ok "$TCTUNE" bench --te large.te --db large.db --threads 1 --repeats 3
says "cold runs" "GB/s" "that the system reports"
ok "$TCTUNE" bench --te large.te --db large.db --threads 1 --repeats 3 --mode hot
says "hot runs"
ok "$TCTUNE" compare default best --te large.te --db large.db --threads 1 --repeats 11
says "11 rounds in turns, cold"
ok large 2 --db large.db --mode hot --json
[ "$(json out tasks.0.mode)" = hot ] || fail "--mode hot is not obeyed"
[ "$(json out measured)" -eq 2 ] || fail "hot trials: $(json out measured)"
[ "$(modes large.db)" = "cold hot " ] || fail "large.db has records $(modes large.db)"
ok "$TCTUNE" show --te large.te --db large.db --threads 1 --print schedule
grep -v "^#" out >shown.sched
"$TCTUNE" export --db large.db --out all.json >/dev/null
sed -n '/"mode":"cold"/p' all.json >cold.json
ok "$TCTUNE" import cold.json --db cold.db
ok "$TCTUNE" show --te large.te --db cold.db --threads 1 --print schedule
grep -v "^#" out | cmp -s - shown.sched || fail "cold records do not come before hot ones"
sed -n '/"mode":"hot"/p' all.json >hot.json # as an older version left it
ok "$TCTUNE" import hot.json --db hot.db
ok "$TCTUNE" show --te large.te --db hot.db --threads 1 --print schedule
! grep -q "default schedule" out || fail "hot records of a cold kernel are not used"
ok large 2 --db hot.db --json
grep -q "all records are of hot runs" err || fail "no word on why a tuned kernel is tuned again"
[ "$(json out measured)" -eq 2 ] || fail "hot records count as cold trials"
[ "$(json out phases.transfer.tried)" -gt 0 ] || fail "the search did not begin with the hot records"
ok large 2 --db hot.db
! grep -q "hot runs" err || fail "a kernel with cold records is said to have none"
ok "$TCTUNE" db verify --db hot.db --rerun
says "(hot, 1 threads)" "(cold, 1 threads)"
refused 2 "--mode" "$TCTUNE" --te gemm.te --trials 4 --mode cold --deterministic-measure
refused 2 "measured times" "$TCTUNE" --te gemm.te --trials 4 --deterministic-measure --out x.so

echo "$checks checks"
