# A fleet that loses what is not lost every day: the server's disk, and room on it. The search ends with the records of one here.
# TCTUNE, FLEET_LAB, NATS_SERVER: as in lab.sh, which $lab names.
. "$lab"
lab_enter "$@"
what=begin
fail() {
    echo "FAILED: $what: $*" >&2
    for file in out err w*.log nats.log; do
        [ ! -f "$file" ] || tail -n 20 "$file" | sed "s/^/  $file: /" >&2
    done
    exit 1
}
lab_begin
url=nats://$server:4222
lab_gemm
start() { # DATABASE: in the background
    rm -f err # what the search before it said
    (on="lab_on switch" lab_tune 48 "$1" --fleet "$url" >out 2>err) &
    tuner=$!
}
records() { # DATABASE FILE
    "$TCTUNE" db export --db "$1" --out exported >/dev/null
    sed 's/"when_ms":[0-9]*//; s/"host":"[^"]*"//; s/"\(build\|run\)_seconds":[^,}]*//g; s/,"job":"[^"]*"//' exported | sort >"$2"
}
same() { # DATABASE
    "$TCTUNE" db verify --db "$1" >verified 2>&1 || fail "the database is not sound: $(cat verified)"
    records "$1" there
    cmp -s here there || fail "the records are others than those of a search here"
}
lab_tune 48 here.db >out 2>err || fail "the search here failed"
records here.db here
lab_start_server
lab_start_worker 1 0.1
lab_start_worker 2 0.1
lab_await_workers 2
lab_await_known 2

what="the server's disk is lost"
start disk.db
lab_until_it_says err "[16/48]"
lab_kill "$server_pid"
rm -rf store/*
lab_start_server
wait $tuner || fail "the tuner gave up"
same disk.db

what="the server's disk is full"
lab_kill "$server_pid"
mount -t tmpfs -o size=64m full store
head -c $((64 * 1024 * 1024 - 256 * 1024)) /dev/zero >store/.filler
lab_start_server
start full.db
status=0
sleep 3
rm store/.filler
wait $tuner || status=$?
if [ $status -ne 0 ]; then # it says so, and the same command goes on
    grep -q "^tctune tune: .*$server" err || fail "it does not say what failed"
    lab_await_known 2
    start full.db
    wait $tuner || fail "with room on the disk again it does not go on"
fi
same full.db
