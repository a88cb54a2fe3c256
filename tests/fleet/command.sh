# The command as tuner and as workers, on a server of the test's own. TCTUNE: the command; NATS_SERVER: the server's program.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/fleet-XXXXXX")
server= workers=
leave() {
    # shellcheck disable=SC2086 # a list of processes
    [ -z "$workers$server" ] || kill -KILL $workers $server 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    for file in out err worker.log; do
        [ ! -f "$file" ] || sed "s/^/  $file: /" "$file" >&2
    done
    exit 1
}
run() { # STATUS COMMAND...
    want=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ "$status" -eq "$want" ] || fail "exit status $status, not $want: $*"
}
says() { # FILE TEXT
    grep -qF -- "$2" "$1" || fail "$1 does not say: $2"
}
until_it_says() { # FILE TEXT
    tries=0
    until grep -qF -- "$2" "$1" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 200 ] || fail "$1 does not come to say: $2"
        sleep 0.05
    done
}

cat >gemm.te <<TE
tensor X[32, 64] f32
tensor W[64, 48] f32 const
compute Y[i:32, j:48] = sum(k:64) X[i, k] * W[k, j]
output Y
TE
echo 'parallel Y.i' >y.sched

# ---- no server, and what does not go together ----
run 1 "$TCTUNE" fleet status --nats nats://127.0.0.1:1
says err "no NATS server answers there"
run 2 "$TCTUNE" tune --te gemm.te --trials 4 --workers 2
says err "go with --fleet"
run 2 "$TCTUNE" worker
says err "--nats"
run 1 "$TCTUNE" tune --te gemm.te --trials 4 --threads 1 --fleet nats://127.0.0.1:1 --weight 1001 --db none.db
says err "weight is from 0.001 to 1000"
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
"$NATS_SERVER" --addr 127.0.0.1 --port -1 --jetstream --store_dir "$work/store" --ports_file_dir "$work" --log "$work/nats.log" &
server=$!
tries=0
until url=$(sed -n 's/.*"nats":\["\([^"]*\)".*/\1/p' nats-server_$server.ports 2>/dev/null) && [ -n "$url" ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 200 ] || fail "the server does not say where it is"
    sleep 0.05
done
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
says err "no worker is called bord, and none is of such a key; there are board of"
run 0 "$TCTUNE" fleet quarantine 'b*' --nats "$url" --why "its fan"
says out "is told: quarantine"
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
run 0 "$TCTUNE" fleet drain board --nats "$url"
wait "$workers" || fail "a drained worker's exit status is not 0"
says worker.log "told to leave (drain)"
"$TCTUNE" worker --nats "$url" --name board --threads 1 >worker.log 2>&1 &
workers=$!
until_it_says worker.log "board serves"

# ---- it leaves when it is told to ----
kill -TERM "$workers"
wait "$workers" || fail "the worker's exit status is not 0"
workers=
run 0 "$TCTUNE" fleet status --nats "$url"
says out "no worker is there"
