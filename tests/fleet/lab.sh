# Read by scripts that need a fleet of many machines. Each machine is a network namespace with a cable to one switch. All are on
# this machine, in a namespace of their own that has no way out; it vanishes when the script ends, however that happens. The server
# answers at nats://$server:4222. Before it stands a wire that can lose messages (lab_proxy.c), at $url. Workers are given $url, or
# $lab_url where that is set.
# TCTUNE and FLEET_LAB name the command and the program tests/fleet/fleet_lab; those of the release build unless they are set.
set -eu
lab_root=$(cd "$(dirname "$lab")/../.." && pwd) # $lab: this file
TCTUNE=${TCTUNE:-$lab_root/build/release/bin/tctune}
FLEET_LAB=${FLEET_LAB:-$lab_root/build/release/tests/fleet/fleet_lab}
NATS_SERVER=${NATS_SERVER:-$(PATH=$PATH:/usr/sbin:/sbin command -v nats-server || true)}
LC_ALL=C
export LC_ALL
server=10.77.0.2
url=nats://10.77.0.1:4222
lab_threads=1
lab_lease=${lab_lease:-2}

lab_skip() {
    echo "skipped: $*"
    exit 77
}

# Starts the script again, as the first process of namespaces of its own: all processes that it starts end with it. Call it first,
# with the script's arguments.
lab_enter() {
    [ -z "${LAB_INSIDE:-}" ] || return 0
    [ -n "$NATS_SERVER" ] || lab_skip "there is no nats-server"
    for user in "" --map-root-user; do
        # shellcheck disable=SC2086 # an option, or none
        if lab_why=$(unshare $user --net --mount --pid --fork --mount-proc ip link add name probe type veth 2>&1); then
            LAB_INSIDE=1 exec unshare $user --net --mount --pid --fork --kill-child --mount-proc sh "$0" "$@"
        fi
    done
    lab_skip "network namespaces cannot be made here: $lab_why"
}

# The switch and the server's machine. $work: a scratch folder, with a private one for the command's own.
lab_begin() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/lab-XXXXXX")
    trap lab_leave EXIT
    trap 'exit 1' HUP INT TERM
    cd "$work"
    mkdir -m 0700 scratch cache store
    export TMPDIR="$work/scratch" TCTUNE_CACHE="$work/cache"
    mount -t tmpfs lab /run
    ip netns add switch
    ip -n switch link set lo up
    ip -n switch link add name hub type bridge
    ip -n switch link set hub up
    ip -n switch addr add 10.77.0.1/16 dev hub
    lab_machine server 0 2
}

# The other processes end with this one.
lab_leave() {
    [ -z "${server_pid:-}" ] || lab_kill "$server_pid" # it writes
    cd /
    umount "$work/store" 2>/dev/null || true # where it is a disk of its own
    rm -rf "$work"
}

lab_machine() { # NAME HIGH LOW: with the address 10.77.HIGH.LOW
    ip netns add "$1"
    ip -n "$1" link add name cable type veth peer name "$1" netns switch
    ip -n switch link set "$1" master hub up
    ip -n "$1" addr add "10.77.$2.$3/16" dev cable
    ip -n "$1" link set cable up
    ip -n "$1" link set lo up
}

lab_on() { # MACHINE COMMAND...: it becomes that command
    lab_where=$1
    shift
    exec nsenter --net="/run/netns/$lab_where" "$@"
}

lab_until_it_says() { # FILE TEXT
    lab_tries=0
    until grep -qF -- "$2" "$1" 2>/dev/null; do
        lab_tries=$((lab_tries + 1))
        [ "$lab_tries" -lt 1200 ] || fail "$1 does not come to say: $2"
        sleep 0.05
    done
}

lab_start_server() {
    : >nats.log
    (lab_on server "$NATS_SERVER" --addr $server --port 4222 --jetstream --store_dir "$work/store" --log "$work/nats.log") &
    server_pid=$!
    lab_until_it_says nats.log "Server is ready"
}

lab_kill() { # PID
    kill -KILL "$1" 2>/dev/null || true
    wait "$1" 2>/dev/null || true
}

lab_stop() { # PID: a worker, which says that it leaves
    kill -TERM "$1"
    wait "$1" || true
}

# Faults are ordered through the file descriptor 9, and what they struck stands in struck.
lab_start_wire() { # SEED
    mkfifo orders
    : >struck
    (lab_on switch "$FLEET_LAB" proxy 10.77.0.1 4222 $server 4222 "$1") <orders >struck 2>wire.log &
    exec 9>orders
    lab_until_it_says wire.log "listens"
}

lab_start_worker() { # NUMBER SECONDS [LIE]: w1, w2, ...; its process is $worker_N
    [ -e "/run/netns/w$1" ] || lab_machine "w$1" 1 "$1"
    rm -f "w$1.log" # what the worker before it said
    (export TCTUNE_LOG=debug # the log then says why a worker waits for its server
        lab_on "w$1" "$FLEET_LAB" worker "${lab_url:-$url}" "w$1" $lab_threads "$2" "$lab_lease" ${3:+"$3"}) >"w$1.log" 2>&1 9>&- &
    eval "worker_$1=\$!"
}

# Those up to the number have come.
lab_await_workers() { # NUMBER
    lab_i=0
    while [ $lab_i -lt "$1" ]; do
        lab_i=$((lab_i + 1))
        lab_until_it_says "w$lab_i.log" "w$lab_i serves"
    done
}

# Tuners are told of so many.
lab_await_known() { # NUMBER
    lab_tries=0
    until [ "$(nsenter --net=/run/netns/switch "$TCTUNE" fleet status --nats "$url" 2>/dev/null | grep -c "^w[0-9]")" -ge "$1" ]; do
        lab_tries=$((lab_tries + 1))
        [ "$lab_tries" -lt 2400 ] || fail "tuners are not told of $1 workers"
        sleep 0.1
    done
}

lab_link() { # MACHINE up|down
    ip -n switch link set "$1" "$2"
}

# ---- the search that tests disturb: its times are computed, so that it is the same wherever it is measured ----

# A kernel, gemm.te.
lab_gemm() {
    cat >gemm.te <<'TE'
tensor X[64, 96] f32
tensor W[96, 80] f32 const
compute Y[i:64, j:80] = sum(k:96) X[i, k] * W[k, j]
output Y
TE
}

lab_tune() { # TRIALS DATABASE [OPTIONS...]: on the machine that $on says
    lab_trials=$1
    lab_db=$2
    shift 2
    ${on:-} "$TCTUNE" tune --te gemm.te --trials "$lab_trials" --batch 16 --rounds-at-once 2 --threads 1 --deterministic-measure \
        --start-from none --stop-at-roof 9 --db "$lab_db" "$@"
}
