# The end of a search: the default schedules in turns with the best records, the verdicts in the database, and the last line.
. "$(dirname "$0")/check.sh"

headline() { # what the last line of a search is
    tail -n 1 out
}

# ---- a record that claims a good time and is slow: a loop nest as it is written ----
ok "$TCTUNE" zoo mlp
printf '# no step\n' >plain.sched
ok "$TCTUNE" measure --model mlp.onnx --kernel 0 --sched plain.sched --threads 1 --db plain.db
ok "$TCTUNE" db export --db plain.db --out plain.jsonl
ok "$TCTUNE" bench --model mlp.onnx --untuned --threads 1 --repeats 5 --json
default=$(json out kernels.0.schedule)
claim=$(json out kernels.0.time_ms | awk '{ printf "%.12g", 0.6e-3 * $1 }')
sed "s/\"times\":\[[^]]*\]/\"times\":[$claim,$claim,$claim]/; s/\"median\":[^,}]*/\"median\":$claim/
    s/\"rounds\":0/\"rounds\":28/" plain.jsonl >planted.jsonl

# The loop nest is what a build would take.
plant() { # DATABASE
    ok "$TCTUNE" db import planted.jsonl --db "$1"
    ok "$TCTUNE" bench --model mlp.onnx --db "$1" --threads 1 --repeats 3 --json
    [ "$(json out kernels.0.source)" = record ] || fail "the planted record is not used"
    [ "$(json out kernels.0.schedule)" != "$default" ] || fail "the planted record is the default schedule"
}

is_default() { # DATABASE: kernel 0 keeps its default schedule, from a record
    ok "$TCTUNE" bench --model mlp.onnx --db "$1" --threads 1 --repeats 3 --json
    [ "$(json out kernels.0.schedule)" = "$default" ] || fail "a slower record than the default schedule is used"
    [ "$(json out kernels.0.source)" = record ] || fail "the default schedule is not used from a record"
}

# ---- in the network ----
plant network.db
ok "$TCTUNE" --model mlp.onnx --trials 9 --minutes 20 --stop-at-roof 9 --threads 1 --db network.db --start-from none
grep -q "run in turns: at most" err || fail "the contests are not announced"
case $(headline) in
untuned*", 4 kernels"*", none slower" | "as fast as untuned"*) ;;
*) fail "the last line is '$(headline)'" ;;
esac
is_default network.db
"$TCTUNE" db stats --db network.db | grep -q in-graph || fail "the verdict was not kept"

# The verdict stands when nothing is left to do, and when more is found of other kernels.
ok "$TCTUNE" --model mlp.onnx --trials 9 --minutes 20 --stop-at-roof 9 --threads 1 --db network.db --start-from none
says "nothing to do"
is_default network.db
ok "$TCTUNE" --model mlp.onnx --trials 13 --minutes 20 --stop-at-roof 9 --threads 1 --db network.db --start-from none --json
[ "$(json out gain.kernels)" -eq 4 ] || fail "the document does not tell what was compared"
[ "$(json out gain.kept)" -ge 1 ] || fail "no kernel keeps its default schedule"
is_default network.db
ok "$TCTUNE" --model mlp.onnx --trials 17 --minutes 20 --stop-at-roof 9 --threads 1 --db network.db -o mlp.so --progress json
case $(headline) in
untuned* | "as fast as untuned"*) ;;
*) fail "with a library, the last line is '$(headline)'" ;;
esac
grep -q '"event": *"closing"' err && grep -q '"event": *"gained"' err || fail "events do not tell of the contests"

# ---- a kernel that stands alone ----
plant kernel.db
ok "$TCTUNE" show --model mlp.onnx --kernel 0 --print workload
cp out kernel.te
ok "$TCTUNE" --te kernel.te --trials 3 --minutes 20 --stop-at-roof 9 --threads 1 --db kernel.db --start-from none --json
[ "$(json out gain.kernels)" -eq 1 ] || fail "a kernel alone was not compared"
[ "$(json out gain.kept)" -eq 1 ] || fail "a slow record replaces the default schedule"
is_default kernel.db

# ---- a record that is faster is used, and the line says by how much ----
cat >heavy.te <<'TE'
tensor X[64, 256] f32
tensor W[256, 200] f32 const
compute Y[i:64, j:200] = sum(k:256) X[i, k] * W[k, j]
output Y
TE
ok "$TCTUNE" --te heavy.te --trials 4 --minutes 20 --stop-at-roof 9 --threads 1 --db heavy.db --start-from none --json
if [ "$(json out gain.kept)" -eq 0 ]; then
    json out gain.speedup_low | awk '{ exit !($1 > 1) }' || fail "a record is used that is not faster beyond doubt"
fi

# ---- nothing is compared that was not timed here ----
ok "$TCTUNE" --te heavy.te --trials 4 --threads 1 --deterministic-measure --db computed.db --json
run 1 "$JSON" out gain
ok "$TCTUNE" --te heavy.te --trials 4 --threads 1 --deterministic-measure --db computed2.db
case $(headline) in
"records are in computed2.db") ;;
*) fail "computed times say '$(headline)'" ;;
esac

echo "$checks checks"
