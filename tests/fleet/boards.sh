# A board that does not compile, and builders for it, on a server of the test's own. TCTUNE: the command; NATS_SERVER: the server's
# program; LLVM_OPENED_LATE: the name by which LLVM's library is opened when something is compiled; empty if programs load it at
# their start.
set -eu
# shellcheck source=tests/fleet/scene.sh
. "$(dirname "$0")/scene.sh"
echo 'parallel Y.i' >y.sched
echo 'parallel Y.nowhere' >bad.sched
stop() { # PROCESS: it leaves by itself
    kill -TERM "$1"
    wait "$1" || fail "a worker's exit status is not 0"
}

# ---- what does not go together ----
run 2 "$TCTUNE" worker --nats nats://127.0.0.1:1 --role cook
says err "both, build or measure"
run 2 "$TCTUNE" worker --nats nats://127.0.0.1:1 --key k
says err "goes with --role build"
run 1 "$TCTUNE" worker --nats nats://127.0.0.1:1 --role build --key k --threads 1
says err "a key contains target and threads"
run 1 "$TCTUNE" worker --nats nats://127.0.0.1:1 --role build --key 'a.b'
says err "is not a key"

serve -1
key=$("$TCTUNE" worker --print-key --threads 1)
board() { # NAME [OPTIONS...]
    name=$1
    shift
    "$TCTUNE" worker --nats "$url" --name "$name" --threads 1 --lease 2 "$@" >"$name.log" 2>&1 &
    until_it_says "$name.log" "$name serves $key"
}
builder() { # NAME
    "$TCTUNE" worker --nats "$url" --name "$1" --role build --key "$key" --lease 2 >"$1.log" 2>&1 &
    until_it_says "$1.log" "$1 serves $key"
}
measure() { # STATUS SCHEDULE DB
    run "$1" "$TCTUNE" measure --te gemm.te --sched "$2" --threads 1 --repeats 3 --db "$3" --fleet "$url"
}
same() { # what of records does not depend on who measured them, and when
    "$TCTUNE" db export --db "$1" --out records.json >/dev/null
    sed 's/.*"error":"\([^"]*\)".*"program":"\([^"]*\)".*/\1 \2/' records.json | sort
}

# ---- a worker that does all: what the others are compared with ----
board both
both=$!
workers=$both
measure 0 y.sched both.db
says out "verified"
measure 1 bad.sched none.db
cp err bad.both
stop $both

# ---- a board alone takes no jobs, and says why; so do those who look, and a tuner ----
board board --role measure
workers=$!
until_it_says board.log "this worker takes no jobs: no builder for key $key"
run 0 "$TCTUNE" fleet status --nats "$url"
says out "waiting"
says out "no builder for key $key: start \`tctune worker --role build\`"

# ---- with a builder it is as good ----
builder smith
smith=$!
workers="$workers $smith"
until_it_says board.log "a builder for this worker is there"
measure 0 y.sched board.db
says out "verified"
[ -n "$(same both.db)" ] && [ "$(same both.db)" = "$(same board.db)" ] ||
    fail "a board that does not compile has another record than a worker that does"
measure 1 bad.sched none.db
cmp -s err bad.both || fail "a failure to build says something else"
run 0 "$TCTUNE" tune --te gemm.te --trials 4 --batch 4 --threads 1 --start-from none --db tuned.db --fleet "$url"
"$TCTUNE" db export --db tuned.db --out records.json >/dev/null
[ "$(grep -c '"host":"board@' records.json)" -eq 4 ] || fail "records do not name the board"
run 0 "$TCTUNE" fleet status --nats "$url"
says out "measure"
says out "build"
run 0 "$TCTUNE" fleet status --nats "$url" --json
says out '"role": "build"'
says out '"builders": 1'

# What runs kernels opens no compiler, also where there is one.
board=${workers%% *}
runners=$(cat "/proc/$board/task/$board/children")
[ -n "$runners" ] || fail "the board has no process that runs kernels"
for process in ${LLVM_OPENED_LATE:+$runners}; do
    ! grep -q libLLVM "/proc/$process/maps" || fail "a process that runs kernels has loaded LLVM"
done

# ---- orders are for builders, too: where the last one leaves, the board waits again ----
run 0 "$TCTUNE" fleet drain smith --nats "$url"
wait "$smith" || fail "a drained builder's exit status is not 0"
until_it_says board.log "this worker takes no jobs: no builder for key $key: start"
tries=0
until "$TCTUNE" fleet status --nats "$url" | grep -q "^board .* waiting"; do
    tries=$((tries + 1))
    [ "$tries" -lt 1200 ] || fail "the board does not come to wait again"
    sleep 0.1
done

# ---- a board that cannot even open LLVM's library: the loader looks first in a folder where something else has its name ----
[ -n "$LLVM_OPENED_LATE" ] || exit 0
mkdir none
: >"none/$LLVM_OPENED_LATE"
bare() { LD_LIBRARY_PATH="$work/none${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "$@"; }
run 1 bare "$TCTUNE" measure --te gemm.te --sched y.sched --threads 1 --db none.db
says err "compiling needs LLVM's library"
says err "$LLVM_OPENED_LATE"
[ "$(bare "$TCTUNE" worker --print-key --threads 1)" = "$key" ] || fail "without LLVM a machine has another key"
stop "${workers%% *}" # the builder has left
workers=
LD_LIBRARY_PATH="$work/none${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" \
    "$TCTUNE" worker --nats "$url" --name bare --role measure --threads 1 --lease 2 >bare.log 2>&1 &
bare=$!
workers=$bare
until_it_says bare.log "this worker takes no jobs: no builder for key $key"
builder mason
workers="$workers $!"
until_it_says bare.log "a builder for this worker is there"
measure 0 y.sched bare.db
says out "verified"
[ "$(same both.db)" = "$(same bare.db)" ] || fail "a board without LLVM has another record than a worker that does all"
measure 1 bad.sched none.db
cmp -s err bad.both || fail "a failure to build says something else without LLVM"
run 0 "$TCTUNE" tune --te gemm.te --trials 4 --batch 4 --threads 1 --start-from none --db bare-tuned.db --fleet "$url"
"$TCTUNE" db export --db bare-tuned.db --out records.json >/dev/null
[ "$(grep -c '"host":"bare@' records.json)" -eq 4 ] || fail "records do not name the board without LLVM"
for process in $bare $(cat "/proc/$bare/task/$bare/children"); do
    ! grep -q libLLVM "/proc/$process/maps" || fail "a process of the board without LLVM has it"
done
