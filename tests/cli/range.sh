#!/bin/sh
# A kernel whose size varies: tuned for its range, shown, and what is refused.
. "$(dirname "$0")/check.sh"

cat >layer.te <<'TE'
symbol N 1..12
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
weights 'M=3 1\n' 1 'weights:1|nothing has a size M|there are N'
weights 'N=3 1\nN=13 1\n' 1 'weights:2|N is 13|from 1 to 12'
weights 'N=3 -1\n' 1 'weights:1|the weight is -1'
weights 'N=3\n' 1 'weights:1|expected NAME=SIZE'
printf 'N=3 1\n' >weights
refused 1 'all sizes are fixed' "$TCTUNE" --te fixed.te --trials 4 --db bad.db --shape-weights weights
refused 1 'none.txt' "$TCTUNE" --te layer.te --trials 4 --db bad.db --shape-weights none.txt
refused 1 'size N varies|--shape N=12' "$TCTUNE" --te layer.te --trials 4 --db bad.db --out layer.so

# ---- tuning ----
ok "$TCTUNE" --te layer.te --trials 12 --threads 1 --db t.db --start-from none
says "layer N=" "for N = 1..12" "variant 1:" "slower than the best of each size"
ok "$TCTUNE" --te layer.te --trials 12 --threads 1 --db t.db --start-from none --json
[ "$(json out ranges.0.held)" = false ] || fail "a contest was repeated"
[ "$(json out ranges.0.points.0.sizes.N)" -eq 1 ] || fail "the contest has not the least size"
[ "$(json out ranges.0.range.N.1)" -eq 12 ] || fail "the range is not told"
[ "$(json out ranges.0.tuned.1.N)" -gt 1 ] || fail "tuned sizes are not told"
ok "$TCTUNE" db stats --db t.db
says " sizes "
ok "$TCTUNE" db verify --db t.db
ok "$TCTUNE" db export --db t.db --out t.jsonl
grep -q '"sizes":"12"' t.jsonl || fail "no record says its sizes"
[ "$(grep -v '"sizes"' t.jsonl | grep -c 'symbol')" -eq 0 ] || fail "a record of what varies has no sizes"

# ---- records that do not fit ----
ok "$TCTUNE" db import --db copy.db t.jsonl
sed 's/"sizes":"12"/"sizes":"13"/' t.jsonl >bad.jsonl
refused 1 'bad.jsonl:|s0 = 13, but s0 runs from 1 to 12' "$TCTUNE" db import --db other.db bad.jsonl
sed 's/"sizes":"12",//' t.jsonl >bad.jsonl
refused 1 'bad.jsonl:|size s0 of its workload varies' "$TCTUNE" db import --db other.db bad.jsonl

# ---- weights choose the sizes ----
printf '# two lengths\nN=5 3\nN=10 1\n' >weights
ok "$TCTUNE" --te layer.te --trials 8 --threads 1 --db w.db --start-from none --shape-weights weights --json
[ "$(json out ranges.0.tuned.0.N)" -eq 5 ] || fail "the heavier size was not tuned"
[ "$(json out ranges.0.points.1.sizes.N)" -eq 5 ] || fail "the heavier size was not compared at"

echo "$checks checks"
