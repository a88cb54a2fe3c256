# Read by tests of the command that begin a server of their own: a scratch folder, which they are in, processes that end with them,
# and what they say. $workers, $followers: lists of processes that are killed in the end. NATS_SERVER: the server's program.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/fleet-XXXXXX")
server= workers= followers=
leave() {
    # shellcheck disable=SC2086 # a list of processes
    [ -z "$workers$followers$server" ] || kill -KILL $workers $followers $server 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    for file in out err *.log; do
        [ ! -f "$file" ] || tail -n 20 "$file" | sed "s/^/  $file: /" >&2
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
        [ "$tries" -lt 2400 ] || fail "$1 does not come to say: $2"
        sleep 0.05
    done
}
serve() { # a port: -1 is any; and options of the server
    port=$1
    shift
    rm -f nats-server_*.ports
    "$NATS_SERVER" "$@" --addr 127.0.0.1 --port "$port" --jetstream --store_dir "$work/store" --ports_file_dir "$work" \
        >nats.log 2>&1 &
    server=$!
    tries=0
    until url=$(sed -n 's/.*"nats":\["\([^"]*\)".*/\1/p' nats-server_$server.ports 2>/dev/null) && [ -n "$url" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 2400 ] || fail "the server does not say where it is"
        sleep 0.05
    done
}
cat >gemm.te <<TE
tensor X[32, 64] f32
tensor W[64, 48] f32 const
compute Y[i:32, j:48] = sum(k:64) X[i, k] * W[k, j]
output Y
TE
