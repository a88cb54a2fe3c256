# What tuning draws on a terminal: in windows of several sizes, and in one that changes while it draws.
. "$(dirname "$0")/check.sh"

status=0
"$SCREEN" 80 24 true >out 2>err || status=$?
[ "$status" -ne 77 ] || { echo "skipped: $(cat err)"; exit 77; }
network=$models/dense.onnx
for size in "200 50" "80 24" "40 10" "21 3" "20 4" "9 2"; do
    rm -f t.db
    ok "$SCREEN" $size "$TCTUNE" --model "$network" --trials 12 --threads 1 --db t.db --deterministic-measure
done

# Enough room shows everything, little what matters most.
rm -f t.db
ok "$SCREEN" 200 50 "$TCTUNE" --model "$network" --trials 12 --stop-at-roof 9 --threads 1 --db t.db
says "valid" "12 of 12 trials" "spent" "the search is over" "tried (that became the best): construct"
grep -q "$(printf '\033\[2m')" out || fail "there are no colours"
rm -f t.db
LC_ALL=C.UTF-8 NO_COLOR=1 ok "$SCREEN" 200 50 "$TCTUNE" --model "$network" --trials 12 --stop-at-roof 9 --threads 1 --db t.db
! grep -q "$(printf '\033\[[0-9]*m')" out || fail "NO_COLOR is not obeyed"
says "12 of 12 trials" "▁"
rm -f t.db
ok "$SCREEN" 60 10 "$TCTUNE" --model "$network" --trials 12 --stop-at-roof 9 --threads 1 --db t.db
says "12 of 12 trials" "left"
! grep -q "valid\|spent" out || fail "a narrow window shows what has no room"

for sizes in "120 30 to 30 5" "30 5 to 120 30" "100 4 to 100 30"; do
    rm -f t.db
    ok "$SCREEN" $sizes "$TCTUNE" --model "$network" --trials 24 --stop-at-roof 9 --threads 1 --db t.db
done
echo "$checks checks"
