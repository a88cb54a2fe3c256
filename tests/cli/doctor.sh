# What the doctor says of this machine, whatever that is: it ends well, and its two forms say the same.
. "$(dirname "$0")/check.sh"

ok "$TCTUNE" doctor --quick
for check in governor turbo smt "cpu limit" "huge pages" clock perf sandbox "memory limits"; do
    says "$check"
done
says "nothing was measured"
lines=$(grep -cE '^(ok|unknown|note|warning) ' out)
ok "$TCTUNE" doctor --quick --json
[ "$(grep -c '"check"' out)" -eq "$lines" ] || fail "the forms tell of different findings"
json out warnings >/dev/null
json out findings.0.level >/dev/null
! "$JSON" out measured >/dev/null 2>&1 || fail "--quick measured"

ok "$TCTUNE" doctor --json
for key in spread slowdown one_thread_gflops peak_gflops triad_gbs last_cache_reported_bytes; do
    json out measured.$key >/dev/null
done
ok "$TCTUNE" doctor --threads 1
says "noise" "last cache" "GFLOP/s" "foreign load"

# A limit that this process has is found.
(
    ulimit -S -s 512
    ok "$TCTUNE" doctor --quick
    says "512 KiB (ulimit -s)" "the header of a built library"
) || exit 1
refused 2 "doctor has no option --model" "$TCTUNE" doctor --model x
echo "$checks checks"
