#!/bin/sh
# How a fleet grows: workers whose times are computed and waited for (tests/fleet/lab_worker.c), each in a network namespace of its
# own, so that one machine carries many.
#   fleet-scale.sh [--only 'throughput curve shares searches'] [--workers '1 2 4 16 64'] [--seconds T] [--jobs J] [--minutes M]
#                  [--weights '1 1 1 1 1 1 1 1'] [--kernel FILE.te] [--record]
# throughput: J jobs (20) of T seconds (0.5) for each worker, proposed without a search; the share of the processors that the tuner,
#   the server and all workers together used.
# curve: the best schedule of one kernel (ops/GMM_2.te) after each number of seconds, with 8 workers and with 1, up to M minutes
# (1).
# shares: what each tuner gets of 16 workers within M minutes, by the log of the fleet; one for each of the weights.
# searches: the same of searches of one kernel, each a tuner of its own, by what stands in their databases.
# --record puts the figures into benchmarks/results and RESULTS.md.
# Needs `ip` and `unshare`, and root or user namespaces; a machine with nothing else to do. TCTUNE, FLEET_LAB: those of the release
# build unless set.
lab=$(dirname "$0")/../tests/fleet/lab.sh
. "$lab"
lab_enter "$@"
here=$(cd "$(dirname "$0")" && pwd)
. "$here/setup.sh"
recorded=
only="throughput curve shares searches" counts="1 2 4 16 64" seconds=0.5 jobs=20 minutes=1 weights="1 1 1 1 1 1 1 1" \
    kernel=$here/ops/GMM_2.te
while [ $# -gt 0 ]; do
    case $1 in
        --only) only=$2 ;;
        --workers) counts=$2 ;;
        --seconds) seconds=$2 ;;
        --jobs) jobs=$2 ;;
        --minutes) minutes=$2 ;;
        --weights) weights=$2 ;;
        --kernel) kernel=$(realpath "$2") ;;
        --record)
            recorded=1
            shift
            continue
            ;;
        *)
            echo "usage: $0 [--only 'throughput curve shares searches'] [--workers '1 2 4 16 64'] [--seconds T] [--jobs J]" \
                "[--minutes M] [--weights '1 1 1 1 1 1 1 1'] [--kernel FILE.te] [--record]" >&2
            exit 2
            ;;
    esac
    shift 2
done
fail() {
    echo "$0: $*" >&2
    for file in out err w1.log; do
        [ ! -f "$file" ] || sed "s/^/  $file: /" "$file" >&2
    done
    exit 1
}
lab_lease=30
lab_begin
lab_start_server
url=nats://$server:4222 # nothing between it and the workers
there=0 # workers that serve
with() { # WORKERS
    while [ $there -gt "$1" ]; do
        eval "kill -TERM \$worker_$there; wait \$worker_$there || true"
        there=$((there - 1))
    done
    while [ $there -lt "$1" ]; do
        there=$((there + 1))
        lab_start_worker $there "$seconds"
        [ $((there % 8)) -ne 0 ] || lab_await_workers $there
    done
    lab_await_workers $there
}

# Seconds that processes had of the processors.
processor() { # PID...
    ticks=0
    for pid in "$@"; do
        # shellcheck disable=SC2046 # fields behind the name
        set -- $(sed 's/.*) //' /proc/"$pid"/stat)
        ticks=$((ticks + ${12} + ${13}))
    done
    echo $ticks
}

workers_together() {
    i=0 pids=
    while [ $i -lt $there ]; do
        i=$((i + 1))
        eval "pids=\"\$pids \$worker_$i\""
    done
    # shellcheck disable=SC2086 # a list
    processor $pids
}

propose() { # NAME COUNT SECONDS SEED [WEIGHT]: a tuner without a search
    nsenter --net=/run/netns/switch "$FLEET_LAB" tuner "$url" "$1" "$lab_threads" "$2" "$3" "$4" ${5:+"$5"}
}

throughput() {
    echo "workers, of $seconds s a job | jobs/s | of linear | tuner, server, workers: share of one processor | load"
    first=
    for count in $counts; do
        with "$count"
        busy=$(workers_together) serving=$(processor "$server_pid")
        propose "scale$count" $((count * jobs)) 0 $((count * 1000)) >out 2>err || fail "the tuner failed"
        busy=$(($(workers_together) - busy)) serving=$(($(processor "$server_pid") - serving))
        # shellcheck disable=SC2046 # words
        set -- $(cat out) # measured N failed F seconds S rate R own O
        [ "$2" -eq $((count * jobs)) ] || fail "$2 were measured of $((count * jobs))"
        first=${first:-$(echo "$8 $count" | awk '{ print $1 / $2 }')}
        echo "$count $8 $first $6 ${10} $serving $busy $(getconf CLK_TCK) $(cut -d' ' -f1 /proc/loadavg)" | awk '{
            linear = $2 / ($3 * $1); tuner = $5 / $4; server = $6 / $8 / $4; all = $7 / $8 / $4
            printf "%d | %.2f | %.0f %% | %.1f %%, %.1f %%, %.1f %% | %s\n",
                $1, $2, 100 * linear, 100 * tuner, 100 * server, 100 * all, $9
            printf "{\"job_s\": %s, \"workers\": %d, \"jobs_s\": %.2f, \"linear\": %.3f, ", job, $1, $2, linear >>"throughput.rows"
            printf "\"tuner\": %.4f, \"server\": %.4f, \"all\": %.4f, \"load\": %s}\n", tuner, server, all, $9 >>"throughput.rows"
            }' job="$seconds"
    done
    [ -z "$recorded" ] || record fleet-throughput <throughput.rows
}

# Threads of several tuners on few cores would keep each other from running while they wait.
search_for() { # DATABASE SEED [OPTION...]: until the minutes are over
    db=$1 seed=$2
    shift 2
    OMP_WAIT_POLICY=passive timeout --foreground -s INT "$((minutes * 60))" nsenter --net=/run/netns/switch "$TCTUNE" tune \
        --te "$kernel" --trials 100000 --threads "$lab_threads" --deterministic-measure --start-from none --stop-at-roof 9 \
        --seed "$seed" --db "$db" --fleet "$url" "$@" >"$db.out" 2>"$db.err" || true
}

# Its best after so many seconds since it began.
search() { # WORKERS
    with "$1"
    begun=$(date +%s%3N)
    search_for "curve$1.db" 1 --batch 32
    [ -s "curve$1.db" ] || fail "the search found nothing"
    "$TCTUNE" db export --db "curve$1.db" --out curve.json >/dev/null
    sed -n 's/.*"median":\([0-9.e+-]*\).*"when_ms":\([0-9]*\).*/\2 \1/p' curve.json | sort -n | awk -v begun="$begun" '
        { if (!best || $2 < best) best = $2; n++; at = ($1 - begun) / 1000; print at, best, n }' >"curve$1"
}

curve() {
    search 1
    search 8
    echo "seconds | 1 worker: trials, best | 8 workers: trials, best"
    for share in 5 10 20 30 50 75 100; do
        at=$((minutes * 60 * share / 100))
        echo "$at $(found_by $at curve1) $(found_by $at curve8)"
    done >curve.found
    awk '{ printf "%d | %d, %.1f us | %d, %.1f us\n", $1, $2, $3, $4, $5 }' curve.found
    [ -z "$recorded" ] || awk '{
        printf "{\"seconds\": %d, \"trials_1\": %d, \"best_1\": %.1f, \"trials_8\": %d, \"best_8\": %.1f}\n", $1, $2, $3, $4, $5
        }' curve.found | record fleet-curve
}

found_by() { # SECONDS FILE: trials, and the best in microseconds
    awk -v at="$1" '$1 <= at { n = $3; best = $2 } END { printf "%d %.1f", n, best * 1e6 }' "$2"
}

record_shares() { # KIND: of lines "tuner | number | share %"
    [ -n "$recorded" ] || return 0
    echo "$weights" | awk '{ equal = steps = 1; for (i = 2; i <= NF; i++) { equal = equal && $i == $1; steps = steps && $i == i }
        print equal ? "equal" : steps && $1 == 1 ? "1 to " NF : $0 }' >weights
    awk -F ' *[|] *' -v kind="$1" -v weights="$(cat weights)" -v load="$(cut -d' ' -f1 /proc/loadavg)" '{
        x = $3 / 100; n += $2; all = all (all ? ", " : "") sprintf("%.2f", x)
        if (NR == 1 || x < least) least = x
        if (x > most) most = x
        } END {
            printf "{\"kind\": \"%s\", \"weights\": \"%s\", \"runs\": 1, \"least\": %.3f, \"most\": %.3f, ",
                kind, weights, least, most
            printf "\"trials\": %d, \"load\": \"%s\", \"shares\": \"%s\"}\n", n, load, all }' | record fleet-shares
}

# Who asked for what was measured last: TUNER JOB.
look() {
    nsenter --net=/run/netns/switch "$TCTUNE" fleet log --nats "$url" --last 1000 --json |
        awk -F'"' '/"tuner"/ { t = $4 } /"job":/ { print t, $4 }'
}

# Tuners know of each other after ten seconds, and jobs that they asked for before stay in the queue for longer. So jobs that were
# measured before the first look count for no tuner.
shares() {
    with 16
    pids= i=0
    for weight in $weights; do
        i=$((i + 1))
        propose "share-$i-$weight" 20000 $((minutes * 60)) $((i * 20000)) "$weight" >"share$i" 2>err &
        pids="$pids $!"
    done
    sleep 45
    look | sort -u >before
    : >seen
    looks=$(((minutes * 60 - 50) / 8))
    while [ $looks -gt 0 ]; do
        sleep 8
        look >>seen
        looks=$((looks - 1))
    done
    for pid in $pids; do
        wait "$pid" || fail "a tuner failed"
    done
    echo "tuner, weight | jobs | of its share"
    sort -u seen | comm -13 before - | awk '{ n[$1]++; all++ } END {
        for (t in n) { split(t, word, "-"); weight[t] = word[3]; sum += word[3] }
        for (t in n) printf "%s | %d | %.1f %%\n", substr(t, 7), n[t], 100 * n[t] * sum / all / weight[t] }' |
        sort | tee shares.found
    record_shares proposals <shares.found
}

# As above, nothing counts that was measured before tuners knew of each other.
searches() {
    with 16
    pids= i=0
    known=$(($(date +%s%3N) + 20000))
    for weight in $weights; do
        i=$((i + 1))
        search_for "search-$i-$weight.db" $i --weight "$weight" &
        pids="$pids $!"
    done
    for pid in $pids; do
        wait "$pid"
    done
    for db in search-*.db; do
        "$TCTUNE" db export --db "$db" --out one.json >/dev/null || fail "nothing was found for $db"
        sed -n 's/.*"when_ms":\([0-9]*\).*/\1/p' one.json |
            awk -v known="$known" -v name="${db%.db}" '$1 > known { n++ } END { print name, n + 0 }'
    done >found
    echo "search, weight | trials | of its share"
    awk '{ split($1, word, "-"); n[$1] = $2; weight[$1] = word[3]; all += $2; sum += word[3] } END {
        for (t in n) printf "%s | %d | %.1f %%\n", substr(t, 8), n[t], 100 * n[t] * sum / all / weight[t] }' found |
        sort | tee searches.found
    record_shares searches <searches.found
}

sed -n 's/^model name[^:]*: /processor: /p' /proc/cpuinfo | sort | uniq -c
for part in $only; do
    echo "== $part"
    $part
done
