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
newline='
'

fail() {
    echo "FAILED: $*" >&2
    [ ! -f out ] || sed 's/^/  stdout: /' out >&2
    [ ! -f err ] || sed 's/^/  stderr: /' err >&2
    exit 1
}

# Lists the files in the folder, without this script's own, to see that a refused command wrote nothing. Files that a process in the
# background removes while find looks are left out.
contents() {
    find . -path ./models -prune -o -type f ! -name out ! -name err ! -name "*-shm" ! -name "*-wal" -printf '%s %p\n' || true
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

# The shell looks for texts itself: the scripts do so a thousand times, and a process for each would take as long as the commands.
says() { # in what was printed to stdout
    printed=$(cat out)
    for text in "$@"; do
        case $printed in
        *"$text"*) ;;
        *) fail "stdout does not say '$text'" ;;
        esac
    done
}

# refused STATUS 'TEXT|TEXT' COMMAND...: ends with STATUS, says each TEXT in one paragraph on stderr, and writes nothing.
refused() {
    texts=$2
    there_before=$(contents)
    want_status=$1
    shift 2
    run "$want_status" "$@"
    there_after=$(contents)
    [ "$there_before" = "$there_after" ] || [ "$(echo "$there_before" | sort)" = "$(echo "$there_after" | sort)" ] ||
        fail "something was written by: $* (before: $there_before; after: $there_after)"
    message=$(cat err && echo .) # with all its ends of lines
    saved=$IFS
    IFS='|'
    for text in $texts; do
        case $message in
        *"$text"*) ;;
        *) fail "the message does not say '$text': $*" ;;
        esac
    done
    IFS=$saved
    case $message in
    *"$newline$newline"* | "$newline"*) fail "the message is more than a paragraph: $*" ;;
    *"terminate called"* | *Sanitizer* | *"runtime error"*) fail "the message is a crash: $*" ;;
    esac
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
