# A team's databases: a tuner's, and those that follow it by the command, one of them killed. TCTUNE: the command; NATS_SERVER: the
# server's program.
set -eu
# shellcheck source=tests/fleet/scene.sh
. "$(dirname "$0")/scene.sh"
tune() { # TRIALS DB [OPTIONS...]
    trials=$1
    db=$2
    shift 2
    "$TCTUNE" tune --te gemm.te --trials "$trials" --batch 4 --threads 1 --deterministic-measure --start-from none --db "$db" "$@"
}
records() { # DB: all that is in it
    "$TCTUNE" db export --db "$1" --out exported >out 2>err || fail "$1 cannot be read"
    sort exported
}
same() { # DB DB
    records "$1" >one
    records "$2" >two
    cmp -s one two || fail "$1 has other records than $2"
    "$TCTUNE" db verify --db "$2" >out 2>err || fail "$2 is not sound"
}

# ---- nobody to follow ----
run 1 "$TCTUNE" db follow nats://127.0.0.1:1 --db none.db
says err "no NATS server answers there"
[ ! -e none.db ] || fail "a database was made for nothing"
run 2 "$TCTUNE" db follow
says err "db follow needs URL"
run 2 "$TCTUNE" db follow nats://127.0.0.1:1 nats://127.0.0.1:2
says err "db follow takes one server only"
serve -1
run 1 "$TCTUNE" db follow "$url" --db none.db --once
says err "there is no stream of records"
says err "tctune tune --fleet"

# ---- two follow from the beginning, one is killed in the middle and comes back ----
for name in one two; do
    "$TCTUNE" worker --nats "$url" --name $name --threads 1 --lease 2 >worker-$name.log 2>&1 &
    workers="$workers $!"
    until_it_says worker-$name.log "$name serves"
done
"$TCTUNE" db follow "$url" --db ann.db >ann.out 2>ann.log &
ann=$!
"$TCTUNE" db follow "$url" --db bob.db >bob.out 2>bob.log &
bob=$!
followers="$ann $bob"
tune 16 desk.db --fleet "$url" >tune.log 2>&1 || fail "the search failed"
until_it_says ann.log "ann.db: 16 records added"
kill -KILL $bob
wait $bob 2>/dev/null || true
tune 28 desk.db --fleet "$url" >tune.log 2>&1 || fail "the search does not go on"
until_it_says ann.log "ann.db: 28 records added"
"$TCTUNE" db follow "$url" --db bob.db >bob.out 2>again.log &
bob=$!
followers="$ann $bob"
until_it_says again.log "records added"

# ---- the server is killed and comes back: they wait for it ----
kill -KILL "$server"
wait "$server" 2>/dev/null || true
until_it_says ann.log "waits for the server"
serve "${url##*:}"
tune 32 desk.db --fleet "$url" >tune.log 2>&1 || fail "the search does not go on with the server that came back"
until_it_says ann.log "ann.db: 32 records added"
run 0 "$TCTUNE" db follow "$url" --db bob.db --once
kill -TERM $ann
wait $ann || fail "a follower that is told to end has exit status $?"
says ann.out "ann.db: 32 records added, 0 were there, " # and some changed: kernels that were timed in turns
says ann.out "changed, 0 refused"
kill -INT $bob
wait $bob || fail "a follower that is interrupted has exit status $?"
followers=
same desk.db ann.db
same desk.db bob.db
"$TCTUNE" db stats --db ann.db >out 2>err
says out "0 cost models"

# ---- one who comes late has all; of another key nothing ----
run 0 "$TCTUNE" db follow "$url" --db late.db --key 'another-*' --once
says out "late.db: 0 records added, 0 were there, 0 changed, 0 refused, 32 of others"
run 0 "$TCTUNE" db follow "$url" --db late.db --once --progress json
says err '{"event":"followed","stored":'
same desk.db late.db

# ---- the server's disk is lost: a tuner that has nothing to measure puts its records there again ----
kill -KILL "$server"
wait "$server" 2>/dev/null || true
rm -rf store
serve "${url##*:}"
run 1 "$TCTUNE" db follow "$url" --db late.db --once
says err "there is no stream of records"
tries=0
until [ "$("$TCTUNE" fleet status --nats "$url" 2>/dev/null | grep -c -e "^one" -e "^two")" -eq 2 ]; do
    tries=$((tries + 1))
    [ "$tries" -lt 2400 ] || fail "the workers do not come back"
    sleep 0.1
done
run 0 tune 32 desk.db --fleet "$url"
run 0 "$TCTUNE" db follow "$url" --db new.db --once
same desk.db new.db
run 0 "$TCTUNE" db follow "$url" --db late.db --once
says out "late.db: 0 records added, 32 were there"
same desk.db late.db
