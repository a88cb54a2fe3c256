# Read by every script of this folder: a scratch folder of its own, and what it means for a command to be right.
# TCTUNE: the command; FIXTURE and JSON: fixture.c's program and json.c's.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/cli-XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
cd "$work"
models=$work/models
mkdir "$models"
"$FIXTURE" "$models"
checks=0

fail() {
    echo "FAILED: $*" >&2
    [ ! -f out ] || sed 's/^/  stdout: /' out >&2
    [ ! -f err ] || sed 's/^/  stderr: /' err >&2
    exit 1
}

# What lies in the folder, but for this file's own: to see that a refused command wrote nothing.
contents() {
    find . -path ./models -prune -o -type f ! -name out ! -name err ! -name "*-shm" ! -name "*-wal" -exec ls -ld {} + | awk '{ print $5, $NF }' | sort
}

# run STATUS COMMAND...: the exit status must be STATUS.
run() {
    want=$1
    shift
    status=0
    "$@" >out 2>err || status=$?
    [ "$status" -eq "$want" ] || fail "exit status $status, not $want: $*"
    checks=$((checks + 1))
}

# ok COMMAND...
ok() {
    run 0 "$@"
}

says() { # in what was printed to stdout
    for text in "$@"; do
        grep -qF -e "$text" out || fail "stdout does not say '$text'"
    done
}

# refused STATUS 'TEXT|TEXT' COMMAND...: ends with STATUS, says each TEXT in one paragraph on stderr, and writes nothing.
refused() {
    texts=$2
    contents >models/before
    want_status=$1
    shift 2
    run "$want_status" "$@"
    contents >models/after
    cmp -s models/before models/after || fail "something was written by: $* ($(diff models/before models/after))"
    saved=$IFS
    IFS='|'
    for text in $texts; do
        grep -qF -e "$text" err || fail "the message does not say '$text': $*"
    done
    IFS=$saved
    ! grep -q '^$' err || fail "the message is more than a paragraph: $*"
    ! grep -q 'terminate called\|Sanitizer\|runtime error' err || fail "the message is a crash: $*"
}

json() { # FILE PATH
    "$JSON" "$1" "$2" || fail "$1 has no $2"
}

cat >gemm.te <<'TE'
tensor X[48, 64] f32
tensor W[64, 80] f32 const
compute Y[i:48, j:80] = sum(k:64) X[i, k] * W[k, j]
output Y
TE
