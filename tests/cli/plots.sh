# Pictures of searches, networks and databases: what a document says is in the picture, and nothing in it has no place.
. "$(dirname "$0")/check.sh"

sound() { # FILE
    [ "$(head -c 4 "$1")" = '<svg' ] && [ "$(tail -n 1 "$1")" = '</svg>' ] || fail "$1 is no SVG"
    ! grep -q 'nan\|inf\|"-' "$1" || fail "something in $1 has no place"
}
bars() { # FILE: those of the first colour
    grep -c '<rect x=.*fill="#2171b5"' "$1"
}

# ---- a search ----
ok "$TCTUNE" zoo mlp
cp mlp.onnx 'a&b<c.onnx'
ok "$TCTUNE" --model mlp.onnx --trials 24 --stop-at-roof 9 --threads 1 --db t.db --plot tune.svg
sound tune.svg
[ "$(grep -c '<polyline' tune.svg)" -eq 2 ] || fail "there is not a curve over trials and one over time"
[ "$(bars tune.svg)" -eq 4 ] || fail "there is not a bar for each of the 4 tasks"
grep -q '>Softmax f32\[10\]<' tune.svg || fail "no bar says which task it is of"
grep '<circle cx=' tune.svg | head -1 | grep -q '<title>0: ' || fail "the sum is not known from the first trial on"
grep -q '<title>24: \|<title>[0-9]*: [0-9.]* [un]s<' tune.svg || fail "no point of the curve says its trials and time"
ok "$TCTUNE" --model mlp.onnx --trials 24 --stop-at-roof 9 --threads 1 --db t.db --plot again.svg
[ ! -e again.svg ] || sound again.svg
refused 1 'no/x.svg' "$TCTUNE" --model mlp.onnx --trials 24 --threads 1 --db new.db --plot no/x.svg

# A budget that leaves tasks without a time: the sum is that of the others, which is said.
ok "$TCTUNE" tune --model mlp.onnx --trials 2 --batch 1 --threads 1 --db few.db --plot few.svg
sound few.svg
grep -q 'without a time do not count' few.svg || fail "it is not said that tasks are missing in the sum"

# ---- a network ----
ok "$TCTUNE" bench --model 'a&b<c.onnx' --db t.db --threads 1 --repeats 3 --plot bench.svg --json
sound bench.svg
[ "$(bars bench.svg)" -eq 4 ] || fail "there is not a bar for each of the 4 kernels"
grep -q '>a&amp;b&lt;c.onnx<' bench.svg || fail "the picture does not say what it is of, or breaks at a name"
[ "$(json out kernels.0.name)" = "Gemm+Relu f32[512]" ] || fail "--plot changes the document"
refused 2 '--plot draws the kernels' "$TCTUNE" bench --te gemm.te --plot x.svg

# ---- a database ----
ok "$TCTUNE" db stats --db t.db --plot stats.svg
sound stats.svg
"$TCTUNE" db stats --db t.db --json >stats.json
[ "$(bars stats.svg)" -eq "$(grep -c '"best_ms"' stats.json)" ] || fail "there is not a bar for each workload in each mode"
"$TCTUNE" export --db t.db --out t.json >/dev/null
sed 's/"error":"ok","median":[^,]*,"times":\[[^]]*\]/"error":"run_crash","times":[]/
    s/"verified":true/"verified":false/; s/"rounds":[0-9]*/"rounds":0/' t.json >failed.json
ok "$TCTUNE" import --db failures.db failed.json
ok "$TCTUNE" db stats --db failures.db --plot failures.svg
sound failures.svg
grep -q 'fill="#fdae6b"' failures.svg || fail "failures are not told apart"
refused 1 'none.db' "$TCTUNE" db stats --db none.db --plot x.svg
[ ! -e x.svg ] || fail "a refused picture was written"

echo "$checks checks"
