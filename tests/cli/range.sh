# A kernel whose size varies: tuned for its range, shown, and what is refused.
. "$(dirname "$0")/check.sh"

cat >layer.te <<'TE'
symbol N 1..6
tensor X[N, 32] f32
tensor W[32, 48] f32 const
compute Y[i:N, j:48] = sum(k:32) X[i, k] * W[k, j]
output Y
TE
sed '/symbol/d; s/N/9/g' layer.te >fixed.te

# ---- bad files, before anything is written ----
weights() { # LINE STATUS TEXT
    printf '%b' "$1" >weights
    refused "$2" "$3" "$TCTUNE" --te layer.te --trials 4 --db bad.db --shape-weights weights
}
weights '' 1 'weights|has no sizes'
weights 'M=3 1\n' 1 'weights:1|nothing has a size M|there is only N'
weights 'N=3 1\nN=7 1\n' 1 'weights:2|N is 7|from 1 to 6'
weights 'N=3 -1\n' 1 'weights:1|the weight is -1'
weights 'N=3\n' 1 'weights:1|expected NAME=SIZE'
printf 'N=3 1\n' >weights
refused 1 'all sizes are fixed' "$TCTUNE" --te fixed.te --trials 4 --db bad.db --shape-weights weights
refused 1 'none.txt' "$TCTUNE" --te layer.te --trials 4 --db bad.db --shape-weights none.txt
refused 1 'size N varies|--shape N=6' "$TCTUNE" --te layer.te --trials 4 --db bad.db --out layer.so

# ---- tuning ----
ok "$TCTUNE" --te layer.te --trials 12 --stop-at-roof 9 --threads 1 --db t.db --start-from none
says "layer N=" "for N = 1..6" "variant 1:" "slower than the best of each size"
ok "$TCTUNE" --te layer.te --trials 12 --stop-at-roof 9 --threads 1 --db t.db --start-from none --json
[ "$(json out ranges.0.held)" = false ] || fail "a contest was repeated"
[ "$(json out ranges.0.points.0.sizes.N)" -eq 1 ] || fail "the contest has not the least size"
[ "$(json out ranges.0.range.N.1)" -eq 6 ] || fail "the range is not told"
[ "$(json out ranges.0.tuned.1.N)" -gt 1 ] || fail "tuned sizes are not told"
ok "$TCTUNE" db stats --db t.db
says " sizes "
ok "$TCTUNE" db verify --db t.db
ok "$TCTUNE" db export --db t.db --out t.jsonl
grep -q '"sizes":"6"' t.jsonl || fail "no record says its sizes"
[ "$(grep -v '"sizes"' t.jsonl | grep -c 'symbol')" -eq 0 ] || fail "a record of what varies has no sizes"

# ---- what serves which sizes ----
ok "$TCTUNE" show --te layer.te --threads 1 --db t.db --at N=4 --print schedule
grep -q "variant . of ., of .* programs at .* sizes in t.db" out || fail "show does not say which variant it is"
ok "$TCTUNE" bench --te layer.te --threads 1 --db t.db --at N=4 --repeats 3
says "layer N=4:" "schedule: variant"
ok "$TCTUNE" bench --te layer.te --threads 1 --untuned --at N=6 --repeats 3 --json
[ "$(json out name)" = "layer N=6" ] || fail "bench --json does not name the size"
ok "$TCTUNE" compare best default --te layer.te --threads 1 --db t.db --at N=3 --repeats 11
says "rounds in turns" "variant"
id=$(awk -F'"' '/"sizes":"6"/ { print NR; exit }' t.jsonl) # they are exported in order
ok "$TCTUNE" compare "$id" default --threads 1 --db t.db --repeats 11 --json
[ "$(json out kernel | grep -c "s0=6")" -eq 1 ] || fail "a record is not compared at its sizes"
refused 2 '--at M=3|N = 1..6' "$TCTUNE" bench --te layer.te --at M=3
refused 2 '--at N=7|must be from 1 to 6' "$TCTUNE" bench --te layer.te --at N=7
refused 2 '--at N=3|given once' "$TCTUNE" bench --te layer.te --at N=3 --at N=3
refused 2 '--at N=-3|expected NAME=SIZE' "$TCTUNE" compare best default --te layer.te --at N=-3
refused 2 '--at N=3|no size of the kernel varies' "$TCTUNE" show --te fixed.te --at N=3
refused 1 'size N varies|--shape N=6' "$TCTUNE" bench --te layer.te

# ---- records that do not fit ----
ok "$TCTUNE" db import --db copy.db t.jsonl
sed 's/"sizes":"6"/"sizes":"7"/' t.jsonl >bad.jsonl
refused 1 'bad.jsonl:|s0 = 7, but s0 runs from 1 to 6' "$TCTUNE" db import --db other.db bad.jsonl
sed 's/"sizes":"6",//' t.jsonl >bad.jsonl
refused 1 'bad.jsonl:|symbol s0 of its workload varies' "$TCTUNE" db import --db other.db bad.jsonl

ok "$TCTUNE" --te layer.te --trials 6 --threads 1 --db det.db --start-from none --deterministic-measure
says "one schedule for N = 1..6 (times: they were simulated" "no variants are chosen: times are computed"

# ---- weights choose the sizes, and the variants ----
printf 'N=2 3\nN=5 1\n' >weights
ok "$TCTUNE" show --te layer.te --threads 1 --db t.db --shape-weights weights --at N=2 --print schedule
refused 1 'nothing has a size N' "$TCTUNE" show --te fixed.te --threads 1 --db t.db --shape-weights weights
printf '# two lengths\nN=2 3\nN=5 1\n' >weights
ok "$TCTUNE" --te layer.te --trials 8 --stop-at-roof 9 --threads 1 --db w.db --start-from none --shape-weights weights --json
[ "$(json out ranges.0.tuned.0.N)" -eq 2 ] || fail "the heavier size was not tuned"
[ "$(json out ranges.0.points.1.sizes.N)" -eq 2 ] || fail "the heavier size was not compared at"

# ---- a network's: its kernel has other sizes than it ----
joined="--model $models/joined.onnx --shape past=0..8 --shape sequence=2..6:2 --threads 1"
printf 'past=4 sequence=2 3\npast=8 sequence=6 total=14 1\n' >weights
ok "$TCTUNE" tune $joined --trials 4 --stop-at-roof 9 --db n.db --start-from none --shape-weights weights --json
[ "$(json out ranges.0.tuned.0.s0)" -eq 4 ] || fail "the network's size did not reach its kernel"
[ "$(json out ranges.0.points.1.weight)" = 0.75 ] || fail "the network's weight did not reach its kernel"
ok "$TCTUNE" build $joined --db n.db --shape-weights weights -o n.so
ok "$TCTUNE" show $joined --db n.db --shape-weights weights --kernel 0 --at s0=4 --at s1=2 --print schedule
says "programs at 3 sizes in n.db"
ok "$TCTUNE" bench $joined --db n.db --shape-weights weights --at past=4 --at sequence=2 --repeats 3
refused 2 'n.so|give --shape-weights to' "$TCTUNE" bench --model n.so --shape-weights weights
printf 'past=4 total=9 1\n' >weights
for command in "build -o x.so" "tune --trials 4" bench show; do
    refused 1 'weights:1|does not say the size of sequence' "$TCTUNE" $command $joined --db n.db --shape-weights weights
done
printf 'past=4 sequence=2 total=9 1\n' >weights
refused 1 "weights:1|'total' must be|which is 6 (sequence is 2, past is 4)" "$TCTUNE" build $joined --untuned \
    --shape-weights weights -o x.so
[ ! -e x.so ] || fail "a refused build wrote something"

echo "$checks checks"
