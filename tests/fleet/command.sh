# The command as tuner and as workers, on a server of the test's own. TCTUNE: the command; NATS_SERVER: the server's program.
set -eu
# shellcheck source=tests/fleet/scene.sh
. "$(dirname "$0")/scene.sh"
echo 'parallel Y.i' >y.sched

# ---- no server, and what does not go together ----
run 1 "$TCTUNE" fleet status --nats nats://127.0.0.1:1
says err "no NATS server answers there"
run 2 "$TCTUNE" tune --te gemm.te --trials 4 --workers 2
says err "go with --fleet"
run 2 "$TCTUNE" worker
says err "--nats"
run 1 "$TCTUNE" tune --te gemm.te --trials 4 --threads 1 --fleet nats://127.0.0.1:1 --weight 1001 --db none.db
says err "weight must be from 0.001 to 1000"
run 2 "$TCTUNE" tune --te gemm.te --trials 4 --weight 2
says err "go with --fleet"
run 2 "$TCTUNE" tune --te gemm.te --trials 4 --fleet-fallback
says err "go with --fleet"

# ---- a tuner without a server fails, unless it may measure here; a worker waits, and says so once ----
alone() { # STATUS [OPTIONS...]
    want=$1
    shift
    run "$want" "$TCTUNE" tune --te gemm.te --trials 4 --threads 1 --deterministic-measure --db alone.db "$@"
}
alone 1 --fleet nats://127.0.0.1:1
says err "no NATS server answers there"
[ ! -s alone.db ] || fail "something was measured"
alone 0 --fleet nats://127.0.0.1:1 --fleet-fallback
says err "this machine measures"
"$TCTUNE" worker --nats nats://127.0.0.1:1 --threads 1 >worker.log 2>&1 &
workers=$!
until_it_says worker.log "waits for its server"
sleep 1
[ "$(wc -l <worker.log)" -eq 1 ] || fail "it says so more than once"
kill -TERM "$workers"
wait "$workers" || fail "a waiting worker's exit status is not 0"
workers=

# ---- a server of our own: it says on which port ----
serve -1
run 0 "$TCTUNE" fleet status --nats "$url"
says out "no worker is there"
run 1 "$TCTUNE" tune --te gemm.te --trials 4 --threads 1 --db none.db --fleet "$url"
says err "no worker is there at all"
alone 0 --fleet "$url" --fleet-fallback
says err "no worker is there at all"

"$TCTUNE" worker --nats "$url" --name board --threads 1 --lease 2 >worker.log 2>&1 &
workers=$!
until_it_says worker.log "board serves"

[ "board serves $("$TCTUNE" worker --print-key --threads 1)" = "$(cat worker.log)" ] || fail "it serves another key than it says"

# ---- the same search, by the fleet and here ----
tune() { # DB [OPTIONS...]
    db=$1
    shift
    run 0 "$TCTUNE" tune --te gemm.te --trials 12 --batch 4 --threads 1 --deterministic-measure --start-from none --db "$db" "$@"
}
records() { # DB: what was measured, in order, without who did and when
    "$TCTUNE" export --db "$1" --out records.json >/dev/null
    sed 's/"when_ms":[0-9]*//; s/"host":"[^"]*"//; s/"job":"[^"]*",//; s/"\(build\|run\)_seconds":[^,}]*//g' records.json | sort
}
tune here.db --rounds-at-once 2
says out "peak"
tune fleet.db --fleet "$url" --key '*-1t-*' --weight 3
! grep -q "^peak" out || fail "this machine's peak is told of what another one measured"
records here.db >here
records fleet.db >there
cmp -s here there || fail "the fleet's records are others"
"$TCTUNE" export --db fleet.db --out records.json >/dev/null
[ "$(grep -c '"host":"board@' records.json)" -eq 12 ] || fail "records do not name their worker"

# ---- measured in earnest, by the worker's own processes ----
run 0 "$TCTUNE" measure --te gemm.te --sched y.sched --threads 1 --repeats 3 --db real.db --fleet "$url"
says out "verified"
run 0 "$TCTUNE" tune --te gemm.te --trials 2 --threads 1 --start-from none --db peak.db --fleet "$url"
! grep -q "nan %" out || fail "the peak that the worker tells of is not used"
run 0 "$TCTUNE" fleet status --nats "$url" --json
says out '"name": "board"'
run 0 "$TCTUNE" fleet status --nats "$url"
says out "board"
run 1 "$TCTUNE" tune --te gemm.te --trials 4 --threads 3 --db none.db --fleet "$url"
says err "served are"

# ---- what it is told ----
run 2 "$TCTUNE" fleet drain --nats "$url"
says err "fleet drain needs WORKER..."
run 1 "$TCTUNE" fleet kick board bord --nats "$url"
says err "no worker has the name or the key bord; there are board of"
run 0 "$TCTUNE" fleet quarantine 'b*' --nats "$url" --why "its fan"
says out "gets the order: quarantine"
until_it_says worker.log "takes no jobs until it is released: its fan"
run 0 "$TCTUNE" fleet status --nats "$url"
says out quarantined
says out "its fan"
run 0 "$TCTUNE" fleet release board --nats "$url" --json
says out '"order": "release"'
until_it_says worker.log "was released"
run 0 "$TCTUNE" fleet log --nats "$url" --last 2
says out board
[ "$(wc -l <out)" -eq 3 ] || fail "two jobs are not three lines"
run 0 "$TCTUNE" fleet log --nats "$url" --worker nobody
says out "no results"

# ---- target and threads are those of the workers whom a key names, unless others are asked for ----
case $(uname -m) in
aarch64) other=cortex-a53 ;;
riscv64) other=generic-rv64 ;;
*) other=x86-64 ;;
esac
"$TCTUNE" worker --nats "$url" --name plain --target $other --threads 3 --lease 2 >plain.log 2>&1 &
plain=$!
workers="$workers $plain"
until_it_says plain.log "plain serves $("$TCTUNE" worker --print-key --target $other --threads 3)"
measure() { # STATUS KEY [OPTIONS...]
    want=$1 key=$2
    shift 2
    run "$want" "$TCTUNE" measure --te gemm.te --sched y.sched --repeats 3 --db keys.db --fleet "$url" --key "$key" "$@"
}
measure 0 '*-1t-*'
says out "samples, 1 threads"
measure 0 "$other-3t-*"
says out "samples, 3 threads"
measure 0 "$other-*t-*" --threads 3
measure 1 "$other-3t-*" --threads 1
says err "with 3 threads, not for"
"$TCTUNE" export --db keys.db --out records.json >/dev/null
[ "$(grep -c -- "\"target\":\"[^\"]*-mcpu=${other}[ \"].*\"host\":\"plain@" records.json)" -eq 2 ] ||
    fail "records are not of the worker's target"
kill -TERM "$plain"
wait "$plain" || fail "the worker's exit status is not 0"
workers=${workers% *}

# ---- it leaves when it is drained ----
run 0 "$TCTUNE" fleet drain board --nats "$url"
wait "$workers" || fail "a drained worker's exit status is not 0"
says worker.log "told to leave (drain)"
"$TCTUNE" worker --nats "$url" --name board --threads 1 >again.log 2>&1 &
workers=$!
until_it_says again.log "board serves"

# ---- it leaves when it is told to ----
kill -TERM "$workers"
wait "$workers" || fail "the worker's exit status is not 0"
workers=
run 0 "$TCTUNE" fleet status --nats "$url"
says out "no worker is there"
