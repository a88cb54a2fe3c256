# Records that fail when they are run again, whoever runs them: a worker that spoils one candidate stands for a record that lies.
. "$(dirname "$0")/check.sh"

cat >product.te <<'TE'
tensor X[24, 32] f32
tensor W[32, 48] f32
compute Y[i:24, j:48] = sum(k:32) X[i, k] * W[k, j]
output Y
TE
ok "$TCTUNE" --te product.te --trials 12 --threads 1 --stop-at-roof 9 --db good.db
ok "$TCTUNE" export --db good.db --out good.jsonl

mkdir -m 777 free # where anybody may write
used() { # WHAT OPTIONS...: of the kernel that is built; as C source, which needs no linker
    what=$1
    shift
    "$TCTUNE" build --te product.te --threads 1 -o used.c --json "$@" >used.json
    json used.json kernels.0.$what
}
record_of() { # DATABASE: the one that is used
    used record --db "$1"
}
if [ "$(used trace_hash --db good.db)" = "$(used trace_hash --untuned)" ]; then # what is spoiled must be one party alone
    sed -i "$(record_of good.db)d" good.jsonl
    rm good.db*
    ok "$TCTUNE" import good.jsonl --db good.db
fi
victim=$(record_of good.db)
[ "$victim" -gt 0 ] || fail "no record is used"
sed -n "${victim}p" good.jsonl >victim.json
{ json victim.json workload && json victim.json trace; } | head -c -1 >free/trace

# flaky FAULT COMMAND...: with code that goes wrong in the victim's first run
flaky() {
    fault=$1
    shift
    rm -f free/trace.runs
    TCTUNE_CACHE=off TCTUNE_FLAKY_STATE="$work/free/trace" TCTUNE_FLAKY_FAULT=$fault TCTUNE_FLAKY_FROM=1 "$@"
}

warned() { # TEXT...: on stderr
    for text in "$@"; do
        grep -qF -e "$text" err || fail "stderr does not say '$text'"
    done
}

# marked DATABASE ERROR: the victim is a failure of that kind there, and another record is used
marked() {
    ok "$TCTUNE" export --db "$1" --out marked.jsonl
    sed -n "${victim}p" marked.jsonl >marked.json
    [ "$(json marked.json error)" = "$2" ] || fail "record $victim of $1 is $(json marked.json error), not $2"
    [ "$(json marked.json verified)" = false ] || fail "record $victim of $1 is still verified"
    [ "$(record_of "$1")" != "$victim" ] || fail "record $victim of $1 is still used"
}

# ---- in the network: what fails its check takes no part ----
contest() { # FAULT DATABASE [OPTIONS...]
    fault=$1
    shift
    ok flaky "$fault" "$FLAKY" build --te product.te --threads 1 -o in_graph.so --top-k-in-graph 3 --json --db "$@"
    [ "$fault" != hang ] || [ "$(json out kernels.0.record)" != "$victim" ] || return 0 # on a busy machine it is tried again
    [ "$(json out kernels.0.source)" = record ] || fail "the other records are not used"
    [ "$(json out kernels.0.record)" != "$victim" ] || fail "what failed was built in"
    [ "$(json out left_out.0.record)" = "$victim" ] || fail "what failed is not listed"
    [ "$(json out in_graph.0.2.record)" -gt 0 ] || fail "no other record took its place"
    warned "record $victim failed when it was checked, and is left out"
}
for pair in wrong:wrong_result crash:run_crash; do
    cp good.db t.db
    contest ${pair%%:*} t.db
    [ "$(json out left_out.0.error)" = "${pair#*:}" ] || fail "the error is not told"
    warned "record $victim of t.db is marked as failed"
    marked t.db "${pair#*:}"
done
cp good.db t.db
contest hang t.db # may be the machine's fault
[ "$(json out kernels.0.record)" = "$victim" ] || [ "$(json out left_out.0.error)" = run_timeout ] || fail "the error is not told"
! grep -q "marked as failed" err || fail "a timeout is marked as a failure"
ok "$TCTUNE" build --te product.te --threads 1 -o in_graph.so --top-k-in-graph 3 --db t.db
! grep -q "left out" err || fail "a good record is left out"

# ---- where no record is left ----
sed -n "${victim}p" good.jsonl >one.jsonl
ok "$TCTUNE" import one.jsonl --db one.db
ok flaky crash "$FLAKY" build --te product.te --threads 1 -o in_graph.so --top-k-in-graph 2 --db one.db
says "0 of 1 kernels from records" "record 1 failed when it was checked"
rm one.db
ok "$TCTUNE" import one.jsonl --db one.db
rm in_graph.so in_graph.h
run 1 flaky wrong "$FLAKY" build --te product.te --threads 1 -o in_graph.so --top-k-in-graph 2 --db one.db --require-complete
warned "record 1 failed when it was checked" "have no record"
[ ! -e in_graph.so ] || fail "an incomplete library was written"

# ---- alone, and beside another ----
for pair in wrong:wrong_result crash:run_crash; do
    cp good.db t.db
    run 1 flaky ${pair%%:*} "$FLAKY" bench --te product.te --threads 1 --db t.db
    warned "could not be measured" "record $victim of t.db is marked as failed"
    marked t.db ${pair#*:}
done
# ---- in the command's own process: nothing runs there that a worker of the same build did not find right ----
for command in run build; do
    cp good.db t.db
    ok flaky wrong "$FLAKY" $command --te product.te --threads 1 --db t.db $([ $command = build ] && echo -o own.so)
    warned "record $victim failed when it was checked, and is left out" "record $victim of t.db is marked as failed"
    marked t.db wrong_result
done
# The same of a network, by every command that runs one.
network=$models/cases/right/model.onnx
ok "$TCTUNE" tune --model "$network" --trials 8 --threads 1 --stop-at-roof 9 --db network.db
ok "$TCTUNE" build --model "$network" --threads 1 --db network.db -o own.so --json
liar=$(json out kernels.0.record)
ok "$TCTUNE" export --db network.db --out network.jsonl
cp free/trace product.trace
sed -n "${liar}p" network.jsonl >liar.json
{ json liar.json workload && json liar.json trace; } | head -c -1 >free/trace
for command in "run --model $network" "bench --model $network --repeats 3" "build --model $network -o own.so" \
    "verify $models/cases/right"; do
    cp network.db t.db
    # shellcheck disable=SC2086 # words of a command
    ok flaky wrong "$FLAKY" $command --threads 1 --db t.db
    warned "record $liar failed when it was checked, and is left out" "record $liar of t.db is marked as failed"
    ok "$TCTUNE" export --db t.db --out marked.jsonl
    sed -n "${liar}p" marked.jsonl >marked.json
    # The code is another kernel's.
    [ "$(json marked.json verified)" = false ] || fail "record $liar is still verified after '$command'"
done
cp product.trace free/trace
for victim_is in "$victim@t.db" best; do
    cp good.db t.db
    run 1 flaky wrong "$FLAKY" compare default "$victim_is" --te product.te --threads 1 --repeats 11 --db t.db
    warned "$victim_is could not be measured" "record $victim of t.db is marked as failed"
    marked t.db wrong_result
done
cp good.db t.db # with other threads it is another program
run 1 flaky wrong "$FLAKY" compare default "$victim@t.db" --te product.te --threads 2 --repeats 11
warned "could not be measured" "stays as it is"
[ "$(record_of t.db)" = "$victim" ] || fail "a record of other threads is marked"

# ---- a database that cannot be written to ----
reader() { # COMMAND...: without the right to write here
    if [ "$(id -u)" -eq 0 ]; then
        setpriv --reuid=65534 --regid=65534 --clear-groups env TMPDIR="$work/free" "$@"
    else
        "$@"
    fi
}
chmod a+rx "$work"
cp good.db read_only.db
chmod a-w,a+r read_only.db
if reader test -x "$FLAKY" -a ! -w read_only.db; then
    ok flaky wrong reader "$FLAKY" build --te product.te --threads 1 -o free/in_graph.so --top-k-in-graph 3 --db read_only.db --json
    [ "$(json out kernels.0.record)" != "$victim" ] || fail "what failed was built in"
    warned "record $victim of read_only.db could not be marked as failed: read_only.db: "
    run 1 flaky wrong reader "$FLAKY" bench --te product.te --threads 1 --db read_only.db
    warned "could not be measured" "record $victim of read_only.db could not be marked as failed"
    run 1 flaky wrong reader "$FLAKY" compare best default --te product.te --threads 1 --repeats 11 --db read_only.db
    warned "could not be measured" "record $victim of read_only.db could not be marked as failed"
else
    echo "skipped: a database that cannot be written to (nobody here is without the right)"
fi

echo "$checks checks"
