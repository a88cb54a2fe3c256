# Progress as events: what --progress json writes, a JSON object a line, and where.
. "$(dirname "$0")/check.sh"
export TCTUNE_LOG=error # a busy machine is warned of, in a line that is no event

# Each line of FILE is one JSON object with an event; its names go to `events`, one a line.
events_of() { # FILE
    : >events
    [ -s "$1" ] || fail "no event in $1"
    while IFS= read -r line; do
        printf '%s\n' "$line" >line
        "$JSON" line event >>events || fail "no event: $line"
    done <"$1"
}
last() { # FILE NAME: the last event of that name, as the file `event`
    grep "\"event\":\"$2\"" "$1" | tail -1 >event
    [ -s event ] || fail "no event $2 in $1"
}

# ---- a search, to standard error ----
ok "$TCTUNE" zoo mlp
ok "$TCTUNE" tune --model mlp.onnx --trials 16 --batch 4 --threads 1 --db t.db --out mlp.so --progress json
mv err search
says "16 of 16 trials" "mlp.so is built"
events_of search
[ "$(head -1 events)" = started ] || fail "the first event is not that it started"
for name in round_started measured round_done searched building built; do
    grep -qx $name events || fail "no event $name"
done
[ "$(grep -cx measured events)" -eq 16 ] || fail "not an event for each of 16 candidates"
[ "$(grep -cx round_started events)" -eq "$(grep -cx round_done events)" ] || fail "a round does not end"
last search searched
[ "$(json event trials)" -eq 16 ] && [ "$(json event target_trials)" -eq 16 ] || fail "not 16 trials"
[ "$(json event end)" = trials ] || fail "why it ended"
json event latency_ms >/dev/null
last search round_done
json event state.best_ms >/dev/null
[ "$(json event state.trials)" -ge 4 ] || fail "the state of the task"
last search building
[ "$(json event total)" -eq 4 ] && [ "$(json event done)" -eq 3 ] || fail "not 4 kernels"
json event kernel >/dev/null

# ---- beside what else is said ----
"$TCTUNE" build --model mlp.onnx --db t.db --threads 1 --out two.so --progress json --progress-fd 3 >out 2>err 3>build ||
    fail "it failed"
[ ! -s err ] || fail "something is said beside the events"
events_of build
[ "$(sort -u events | tr '\n' ' ')" = "building built " ] || fail "what is told of a build: $(cat events)"
"$TCTUNE" bench --model mlp.onnx --db t.db --threads 1 --repeats 2 --json --progress json --progress-fd 3 >out 2>err 3>bench ||
    fail "it failed"
json out median_ms >/dev/null
events_of bench
# A reader that is gone does not end what it looked at.
"$TCTUNE" build --model mlp.onnx --db t.db --threads 1 --out three.so --progress json --progress-fd 3 3>&1 >out 2>err | true
[ -s three.so ] || fail "a closed pipe ended the build"

# ---- none, and what goes with what ----
ok "$TCTUNE" tune --model mlp.onnx --trials 20 --batch 4 --threads 1 --db t.db --progress none
[ ! -s err ] || fail "--progress none says something"
refused 2 "--progress-fd 9: no file is open for writing" "$TCTUNE" build --model mlp.onnx --out x.so --progress json \
    --progress-fd 9
refused 2 "goes with --progress json" "$TCTUNE" tune --model mlp.onnx --trials 1 --progress-fd 2
refused 2 "--progress needs text, json or none" "$TCTUNE" bench --model mlp.onnx --progress xml

echo "$checks checks"
