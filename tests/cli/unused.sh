# Records that a database has of a network, and that a command does not use: it says once which option would use them.
. "$(dirname "$0")/check.sh"

warns() { # TEXT...: one warning on stderr, which says all these
    [ "$(grep -c '^warning: ' err)" -eq 1 ] || fail "there are $(grep -c '^warning: ' err) warnings, not one"
    for text in "$@"; do
        grep '^warning: ' err | grep -qF -e "$text" || fail "the warning does not say '$text'"
    done
}

silent() {
    ! grep -q '^warning: ' err || fail "there is a warning"
}

ok "$TCTUNE" zoo mlp --out mlp.onnx
ok "$TCTUNE" tune --model mlp.onnx --trials 8 --threads 1 --db t.db

# ---- threads ----
ok "$TCTUNE" build --model mlp.onnx --db t.db --threads 1 --out m.so
silent
ok "$TCTUNE" build --model mlp.onnx --db t.db --threads 2 --out m.so
warns "4 of 4 kernels use a default schedule" "for another number of threads" "add --threads 1,"
ok "$TCTUNE" build --model mlp.onnx --db t.db --threads 2 --out m.so --json
warns "add --threads 1,"
[ "$(json out unused_records.why)" = threads ] && [ "$(json out unused_records.option)" = "--threads 1" ] &&
    [ "$(json out unused_records.kernels)" -eq 4 ] && [ "$(json out unused_records.recorded)" = 1 ] ||
        fail "$(json out unused_records)"
ok "$TCTUNE" build --model mlp.onnx --db t.db --threads 1 --out m.so --json
[ "$(json out unused_records)" = null ] || fail "all records are used, and yet $(json out unused_records)"
for command in "bench --repeats 1" "run" "trace --out trace.json"; do
    # shellcheck disable=SC2086 # words of a command
    ok "$TCTUNE" $command --model mlp.onnx --db t.db --threads 2
    warns "add --threads 1,"
done
# What was asked for is no reason to warn: no records, and a database without any of the network.
ok "$TCTUNE" build --model mlp.onnx --untuned --threads 2 --out m.so
silent
ok "$TCTUNE" build --te gemm.te --db t.db --threads 2 --out m.so
! grep -q "add --" err || fail "a kernel without records is said to have some"

# ---- another target; this machine's has a short name ----
ok "$TCTUNE" build --model mlp.onnx --db t.db --threads 1 --target rv64gcv --out m.o
warns "for another target" "add --target native,"

# ---- a form that the accuracy or the precision leaves out ----
only() { # DB HASH NEW: a new database with the records of all workloads of DB but that one
    ok "$TCTUNE" export --db "$1" --out all.jsonl
    grep -v "\"workload_hash\": *\"$2\"" all.jsonl >some.jsonl || true
    [ -s some.jsonl ] || fail "$1 has no record of another form"
    rm -f "$3"
    ok "$TCTUNE" import some.jsonl --db "$3"
}
cat >wide.te <<'TE'
tensor X[64, 256] f32
tensor W[256, 256] f32 const
compute Y[i:64, j:256] = sum(k:256) X[i, k] * W[k, j]
output Y
TE
ok "$TCTUNE" show --te wide.te --print workload --json
direct=$(json out hash)
ok "$TCTUNE" tune --te wide.te --trials 30 --threads 1 --precision bf16 --db all.db --start-from none
only all.db "$direct" others.db
ok "$TCTUNE" build --te wide.te --db others.db --threads 1 --accuracy strict --out w.so
warned=$(grep -c "for another \(precision\|accuracy\)" err) || true
[ "$warned" -eq 1 ] || fail "records of another form are not told of"
option=$(sed -n 's/.*; add \(--[a-z]* [a-z0-9]*\),.*/\1/p' err)
# shellcheck disable=SC2086 # an option and its value
ok "$TCTUNE" build --te wide.te --db others.db --threads 1 --out w.so $option
says "1 of 1 kernels from records"

# ---- a form that mixes rows ----
ok "$TCTUNE" tune --te wide.te --trials 16 --threads 1 --accuracy fast --db fast.db --start-from none
only fast.db "$direct" mixing.db
ok "$TCTUNE" build --te wide.te --db mixing.db --threads 1 --out w.so
grep -q "1 of 1 kernels use a default schedule.*for another accuracy; add --accuracy fast," err ||
    fail "a form that mixes rows is left out without a word"
# Beside slower records of the direct form.
ok "$TCTUNE" export --db fast.db --out all.jsonl
slower() {
    /usr/bin/python3 - "$direct" <<'PY'
import json
import sys
for line in open("all.jsonl"):
    r = json.loads(line)
    if r["workload_hash"] == sys.argv[1]:
        r["times"], r["median"] = [1000 * t for t in r["times"]], 1000 * r["median"]
    print(json.dumps(r))
PY
}
slower >slower.jsonl
ok "$TCTUNE" import slower.jsonl --db slower.db
ok "$TCTUNE" build --te wide.te --db slower.db --threads 1 --out w.so
says "1 of 1 kernels from records"
grep -q "1 of 1 kernels do not use their fastest record: it is of a form that mixes rows.*add --accuracy fast " err ||
    fail "a faster form that mixes rows is left out without a word"
for level in strict fast; do
    ok "$TCTUNE" build --te wide.te --db slower.db --threads 1 --accuracy $level --out w.so
    says "1 of 1 kernels from records"
    ! grep -q "do not use their fastest record" err || fail "there is a warning at --accuracy $level"
done

# ---- other sizes ----
sed 's/64/48/g' wide.te >less.te
ok "$TCTUNE" build --te less.te --db all.db --threads 1 --out w.so
grep -qF "give the --shape that was tuned" err || fail "records of other sizes are not told of"

# ---- constants that nobody gave ----
grep -qF "warning: random numbers stand for the constants W of less.te: give their values with --inputs FILE.npz" err ||
    fail "drawn constants are not told of"
ok "$TCTUNE" build --te less.te --untuned --threads 1 --out w.so --json
[ "$(json out drawn_constants)" = '["W"]' ] || fail "drawn constants are $(json out drawn_constants)"
ok "$TCTUNE" build --model mlp.onnx --untuned --threads 1 --out m.so --json
[ "$(json out drawn_constants)" = '[]' ] || fail "a network's constants are in its file"

echo "$checks checks"
