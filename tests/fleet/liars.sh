# A worker that lies, beside an honest one, each in a network namespace: its lies are found, or its name stands
# beside its results. TCTUNE, FLEET_LAB, NATS_SERVER: as in lab.sh, which $lab names.
. "$lab"
lab_enter "$@"
fail() {
    echo "FAILED: $*" >&2
    for file in out err w*.log wire.log; do
        [ ! -f "$file" ] || tail -n 20 "$file" | sed "s/^/  $file: /" >&2
    done
    exit 1
}
lab_begin
lab_gemm
begin() { # NAME
    lab_await_known 2
    rm -f err # what the search before it said
    (on="lab_on switch" lab_tune "${trials:-32}" "$1.db" --fleet "$url" >out 2>err 9>&-) &
    tuner=$!
}
end() { # NAME
    wait $tuner || fail "the search with a worker that lies by $1 failed"
    "$TCTUNE" db export --db "$1.db" --out "$1" >/dev/null
}
who() { # FILE WORKER: how many records are its
    grep -c "\"host\":\"$2@" "$1" || true
}
lab_tune "${trials:-32}" here.db >out 2>err || fail "the search here failed"
"$TCTUNE" db export --db here.db --out here >/dev/null

lab_start_server
lab_start_wire 1
lab_start_worker 1 0.02
lab_await_workers 1

# ---- garbage in the place of results: its wire makes that of them ----
mkfifo others
(lab_on switch "$FLEET_LAB" proxy 10.77.0.1 4223 "$server" 4222 1 garbage) <others >garbled 2>&1 9>&- &
exec 8>others
lab_until_it_says garbled "listens"
lab_url=nats://10.77.0.1:4223
lab_start_worker 2 0.02
lab_await_workers 2
begin garbage
lab_until_it_says err "damaged"
grep -q "the worker w2 .*damaged" err || fail "who sent garbage is not named"
eval "lab_stop \$worker_2" # it is barred, and would only hold up what it gives back
end garbage
[ "$(who garbage w2)" -eq 0 ] || fail "there are records of a worker that sent nothing but garbage"
[ "$(who garbage w1)" -eq 32 ] || fail "the honest worker has $(who garbage w1) records, not 32"
exec 8>&-

lab_url=

# ---- a machine whose times mean little ----
unsteady() {
    eval "lab_stop \$worker_1"
    lab_start_worker 1 0.04
    lab_start_worker 4 0.01 unsteady
    lab_until_it_says w4.log "w4 serves"
    trials=96 # of which it would have more than half, in jobs of four
    begin unsteady
    lab_until_it_says err "the worker w4 gets no more jobs from this tuner: the reference kernel"
    grep -q "its last 8 runs: the middle half of the times spans [0-9]* % of the median, and times are useful up to 15 %" err ||
        fail "the figures of the unsteady worker are not told"
    eval "lab_stop \$worker_4"
    end unsteady
    trials=
    [ "$(($(who unsteady w1) + $(who unsteady w4)))" -eq 96 ] || fail "the unsteady worker cost records"
    eval "lab_stop \$worker_1"
    lab_start_worker 1 0.02
}
if [ -n "${TCTUNE_TEST_FULL:-}" ]; then
    unsteady
fi

# ---- times that are a tenth of what they are, beside one that can say so ----
# Each verified record has the times that it would have here; what was in turns has times of its rivals.
timed() { # FILE
    sed -n 's/.*"times":\(\[[^]]*\]\).*"rounds":0,.*"trace_hash":"\([^"]*\)".*"verified":true.*/\2 \1/p' "$1" | sort
}
tells_the_truth() { # FILE
    timed "$1" >told
    timed here >true
    [ -s told ] && [ -s true ] || fail "no times are found"
    join true told | awk '$2 != $3 { exit 1 }' ||
        fail "a verified record of the search with a worker that lies has other times than here"
}
lab_start_worker 3 0.01 faster
lab_until_it_says w3.log "w3 serves"
begin faster
lab_until_it_says err "the worker w3 gets no more jobs from this tuner: its times are not the times of the programs"
eval "lab_stop \$worker_3"
end faster
[ "$(who faster w1)" -gt 0 ] || fail "the honest worker has no records"
! grep -q "the worker w1 gets" err || fail "the honest worker is not believed"
tells_the_truth faster

[ -n "${TCTUNE_TEST_FULL:-}" ] || exit 0

# ---- and one that begins with the truth, beside two: the one that stands alone, with all it said before ----
lab_kill "$server_pid"
rm -rf store/* # what the searches before told others
lab_start_server
lab_start_worker 5 0.02
lab_start_worker 6 0.01 later
lab_until_it_says w5.log "w5 serves"
lab_until_it_says w6.log "w6 serves"
lab_await_known 3
trials=96
export TCTUNE_LOG=info
(lab_on switch "$TCTUNE" db follow "$url" --db team.db >team.out 2>team.err 9>&-) &
follower=$!
begin later
lab_until_it_says err "the worker w6 gets no more jobs from this tuner: its times are not the times of the programs"
eval "lab_stop \$worker_6"
end later
grep -q "records of w6 are no longer used" err || fail "what the liar said before is not taken back"
grep -q "the workers w[156] and w[156] order [0-9]* of [0-9]* pairs of candidates differently" err ||
    fail "how alike workers rank is not told"
! grep -q "the workers w1 and w5 order [1-9]" err || fail "workers with the same times rank differently"
! grep "the worker w[15] gets" err || fail "an honest worker is not believed"
! grep '"host":"w6@' later | grep -q '"verified":true' || fail "records of the liar are still used"
[ "$(grep -c '"host"' later)" -eq 96 ] || fail "the liar cost records"
lab_tries=0
until "$TCTUNE" db export --db team.db --out team >/dev/null 2>&1 && grep '"job":' later | sort >told &&
    sort team | cmp -s - told; do
    lab_tries=$((lab_tries + 1))
    [ "$lab_tries" -lt 2400 ] || fail "who follows does not come to have the same records, those of the liar not verified"
    sleep 0.1
done
lab_stop $follower
tells_the_truth later
