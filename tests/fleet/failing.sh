# Kernels of a network go wrong on a worker, which spoils one candidate (tests/tune/flaky_worker.c). The others are timed all the
# same, and a message says which kernels failed, where and why. TCTUNE, FLAKY: the command, and one with such workers; JSON:
# reads documents; NATS_SERVER: the server's program.
set -eu
# shellcheck source=tests/fleet/scene.sh
. "$(dirname "$0")/scene.sh"
json() { # FILE PATH
    "$JSON" "$1" "$2" || fail "$1 has no $2"
}
run 0 "$TCTUNE" zoo mlp --out mlp.onnx
run 0 "$TCTUNE" tune --model mlp.onnx --trials 16 --threads 1 --stop-at-roof 9 --db good.db
run 0 "$TCTUNE" build --model mlp.onnx --threads 1 --db good.db -o mlp.so --json
cp out built.json
n=0 which=
while kernel=$("$JSON" built.json "kernels.$n.name" 2>/dev/null); do
    [ -n "$which" ] || [ "$(json built.json "kernels.$n.source")" != record ] || which=$n
    n=$((n + 1))
done
[ -n "$which" ] || fail "no kernel has a record"
record=$(json built.json "kernels.$which.record")
kernel=$(json built.json "kernels.$which.name")
run 0 "$TCTUNE" export --db good.db --out good.jsonl
sed -n "${record}p" good.jsonl >victim.json
mkdir -m 777 free # where anybody may write
{ json victim.json workload && json victim.json trace; } | head -c -1 >free/trace

serve -1
flaky() { # FAULT: a worker whose first run of that record's program goes wrong so
    rm -f free/trace.runs
    TCTUNE_FLAKY_STATE="$work/free/trace" TCTUNE_FLAKY_FAULT=$1 TCTUNE_FLAKY_FROM=1 \
        "$FLAKY" worker --nats "$url" --name "$1" --threads 1 --lease 2 >"$1.log" 2>&1 &
    workers=$!
    until_it_says "$1.log" "$1 serves"
}
bench() { # STATUS [OPTIONS...]
    want=$1
    shift
    run "$want" "$TCTUNE" bench --model mlp.onnx --threads 1 --repeats 3 --fleet "$url" --db t.db "$@"
}
finish() {
    kill -TERM "$workers"
    wait "$workers" || fail "the worker's exit status is not 0"
    workers=
}

# ---- a wrong result: for people ----
flaky short
cp good.db t.db
bench 1
says err "kernel $which, $kernel, could not be measured by short@"
says err ": wrong_result: "
says err "record $record of t.db is marked as failed"
! grep -q "were not measured either" err || fail "others failed too"
[ "$(grep -c "@.* wrong_result: .*record $record of t.db is marked" out)" -eq 1 ] || fail "the table does not say what failed"
[ "$(grep -c "%.*@" out)" -eq $((n - 1)) ] || fail "the other kernels are not timed"
run 0 "$TCTUNE" export --db t.db --out marked.jsonl
sed -n "${record}p" marked.jsonl >marked.json
[ "$(json marked.json error)" = wrong_result ] || fail "the record is not marked as a failure"
finish

# ---- a crash: for programs ----
flaky crash
cp good.db t.db
bench 1 --json
[ "$(json out failed)" -eq 1 ] || fail "it is not said how many failed"
[ "$(json out "kernels.$which.error")" = run_crash ] || fail "the document does not say what failed"
case $(json out "kernels.$which.worker") in
crash@*) ;;
*) fail "the document does not say who measured" ;;
esac
says err "kernel $which, $kernel, could not be measured by crash@"
bench 0 --json # without the record
[ "$(json out failed)" -eq 0 ] || fail "a kernel still fails"
[ "$("$JSON" out "kernels.$which.record" 2>/dev/null || echo none)" != "$record" ] || fail "the record is used again"
finish

# ---- a build that fails ----
flaky build
cp good.db t.db
bench 1 --json
[ "$(json out failed)" -eq 1 ] || fail "it is not said how many failed"
[ "$(json out "kernels.$which.error")" = build_crash ] || fail "the document does not say what failed"
case $(json out "kernels.$which.worker") in
build@*) ;;
*) fail "the document does not say who measured" ;;
esac
says err "kernel $which, $kernel, could not be measured by build@"
says err ": build_crash: killed by signal 6 (Aborted): this builder dies on purpose"
bench 0 --json # without the record
[ "$(json out failed)" -eq 0 ] || fail "a kernel still fails"
cp good.db t.db
bench 1
says err ": build_crash: "
says err "record $record of t.db is marked as failed"
[ "$(grep -c "%.*@" out)" -eq $((n - 1)) ] || fail "the other kernels are not timed"
finish
