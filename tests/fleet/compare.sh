# Two schedules compared, and kernels timed, on workers. TCTUNE: the command; NATS_SERVER: the server's program.
set -eu
# shellcheck source=tests/fleet/scene.sh
. "$(dirname "$0")/scene.sh"
echo 'parallel Y.i' >y.sched
compare() { # STATUS A B [OPTIONS...]
    want=$1
    shift
    run "$want" "$TCTUNE" compare "$@" --te gemm.te --repeats 11
}
bench() { # STATUS [OPTIONS...]
    want=$1
    shift
    run "$want" "$TCTUNE" bench --repeats 3 "$@"
}
work_as() { # NAME
    "$TCTUNE" worker --nats "$url" --name "$1" --threads 1 --lease 2 >"$1.log" 2>&1 &
    last=$!
    workers="$workers $last"
    until_it_says "$1.log" "$1 serves"
}

# ---- what does not go together, and nobody who could measure ----
compare 2 default y.sched --workers 2
says err "go with --fleet"
compare 2 default openblas --fleet nats://127.0.0.1:1
says err "compare with openblas on the machine itself, without a fleet"
compare 1 default y.sched --fleet nats://127.0.0.1:1
says err "no NATS server answers there"
bench 2 --te gemm.te --key x
says err "go with --fleet"
bench 1 --te gemm.te --fleet nats://127.0.0.1:1
says err "no NATS server answers there"
for option in "--inputs in.npz" "--plot x.svg" "--against base.json"; do
    # shellcheck disable=SC2086 # an option and its value
    bench 2 --te gemm.te --fleet nats://127.0.0.1:1 $option
    says err "need a run of the whole network"
done
compare 0 default y.sched --threads 1 --fleet nats://127.0.0.1:1 --fleet-fallback --json
says err "this machine measures"
says out '"worker": null'

# ---- a server that lets nobody in without a password ----
serve -1 --user ann --pass secret
open=$url
url="nats://ann:secret@${url#nats://}"
compare 1 default y.sched --fleet "$open"
says err "does not let this user in"
bench 1 --te gemm.te --fleet "$open"
says err "does not let this user in"
compare 1 default y.sched --threads 1 --fleet "$url"
says err "no worker is there at all"

work_as board
board=$last
compare 1 default y.sched --threads 3 --fleet "$url"
says err "served are: $("$TCTUNE" worker --print-key --threads 1)"
bench 1 --te gemm.te --threads 3 --fleet "$url"
says err "served are: $("$TCTUNE" worker --print-key --threads 1)"

# ---- the verdict, and what it is of ----
compare 0 default y.sched --threads 1 --fleet "$url"
says out "11 rounds in turns on board@"
says out "peak and bandwidth are those that the worker measured when it started"
! grep -q "not known" out || fail "the worker does not tell what it can do"
compare 0 default default --fleet "$url" --key '*-1t-*' --json # the threads are the workers'
says out '"worker": "board@'
says out '"threads": 1'
says out '"same_program": true'
says out '"caches": null'
run 1 "$TCTUNE" compare default y.sched --te gemm.te --threads 1 --fleet "$url" --repeats 5000
says err "at most 4096 repeats"
run 0 "$TCTUNE" measure --te gemm.te --sched y.sched --threads 1 --repeats 3 --db r.db --fleet "$url"
compare 0 1 best --db r.db --fleet "$url" # the record's threads
says out "on board@"

# ---- one kernel, and those of a network ----
bench 0 --te gemm.te --threads 1 --fleet "$url" --db r.db --require-complete
says out "measured by the worker board@"
says out "record 1 of r.db"
bench 0 --te gemm.te --threads 1 --fleet "$url" --json
says out '"worker": "board@'
bench 1 --te gemm.te --threads 1 --fleet "$url" --untuned --require-complete
says err "gemm has no record"
run 0 "$TCTUNE" zoo mlp --out mlp.onnx
bench 2 --model mlp.onnx --threads 1 --fleet "$url" --at N=1
says err "the kernels of a network at their largest sizes"
bench 2 --model mlp.onnx --threads 1 --mode hot
says err "--mode goes with --te, --kernel or --fleet"
work_as second
bench 0 --model mlp.onnx --threads 1 --fleet "$url"
says out "To time a whole run"
[ "$(grep -c '@.* direct *default$' out)" -eq 4 ] || fail "not all kernels are timed"
bench 0 --model mlp.onnx --threads 1 --fleet "$url" --mode cold --json
[ "$(grep -c '"mode": "cold"' out)" -eq 4 ] || fail "not all kernels are timed cold"
[ "$(grep -c '"worker": ".*@' out)" -eq 4 ] || fail "not all kernels name their worker"
says out '"failed": 0'
! grep -q '"median_ms"' out || fail "there is a time of the whole network"

# ---- a worker that is lost in the middle: all rounds are another one's; and Ctrl-C ----
kill -TERM "$last"
wait "$last" || fail "the worker's exit status is not 0"
until_it_works() { # PROCESS: it has others at work
    tries=0
    until grep -qs "^PPid:.$1\$" /proc/[0-9]*/status; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || fail "nobody works"
        sleep 0.05
    done
}
until_it_waits() { # a tuner, for results
    tries=0
    until "$TCTUNE" fleet status --nats "$url" --json | grep -q '"weight"'; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || fail "nobody waits"
        sleep 0.05
    done
}
"$TCTUNE" worker --nats "$url" --name lost --threads 1 --lease 2 >lost.log 2>&1 &
last=$!
workers="$board $last"
until_it_says lost.log "lost serves"
kill -TERM "$board"
wait "$board" || fail "the worker's exit status is not 0"
"$TCTUNE" compare default y.sched --te gemm.te --threads 1 --repeats 60 --fleet "$url" --json >out 2>err &
duel=$!
until_it_works "$last"
kill -KILL "$last"
wait "$last" || true
workers=$duel
work_as heir
wait "$duel" || fail "the comparison is lost with its worker"
says out '"worker": "heir@'
says out '"rounds": 60'
"$TCTUNE" compare default y.sched --te gemm.te --threads 1 --repeats 4000 --fleet "$url" >out 2>err &
duel=$!
workers="$last $duel"
until_it_waits
kill -INT "$duel"
status=0
wait "$duel" || status=$?
[ "$status" -eq 130 ] || fail "exit status $status of a comparison that was stopped"
says err "stopped after 0 rounds"

# ---- workers that vanish with it, one after the other: nobody else is put at risk, and nothing is recorded ----
kill -KILL "$last"
wait "$last" || true
records() {
    "$TCTUNE" export --db "$1" --out records.json >/dev/null
    cat records.json
}
vanishes() { # NAME OPTIONS-AND-COMMAND...: in the middle, with two workers; the third one answers
    name=$1
    shift
    "$TCTUNE" "$@" --te gemm.te --threads 1 --fleet "$url" >out 2>err &
    duel=$!
    workers=$duel
    for i in 1 2; do
        "$TCTUNE" worker --nats "$url" --name "$name$i" --threads 1 --lease 1 >"$name$i.log" 2>&1 &
        last=$!
        workers="$duel $last"
        until_it_works "$last"
        kill -KILL "$last"
        wait "$last" || true
    done
    work_as "${name}3"
    status=0
    wait "$duel" || status=$?
    [ "$status" -eq 1 ] || fail "exit status $status of what workers vanished with"
    says err "the workers that had this job vanished"
    says err "Keep kernels that end machines away"
    run 0 "$TCTUNE" fleet log --nats "$url" --worker "${name}3"
    says out lost
    kill -TERM "$last"
    wait "$last" || fail "the worker's exit status is not 0"
}
records r.db >before
vanishes c compare 1 default --db r.db --repeats 4000
records r.db >after
cmp -s before after || fail "the record that workers vanished with is another one"
vanishes m measure --sched y.sched --db lost.db --repeats 4000
[ -z "$(records lost.db)" ] || fail "there is a record of what workers vanished with"
