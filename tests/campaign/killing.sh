# Read by the campaigns that kill: `kill -9`, or Ctrl-C twice, at moments that a seed decides, and checks of what the killed process
# left.
# TCTUNE names the command; that of the release build unless it is set.
set -eu
root=$(cd "$(dirname "$0")/../../.." && pwd)
TCTUNE=${TCTUNE:-$root/build/release/bin/tctune}
LC_ALL=C
export LC_ALL
work=$(mktemp -d "${TMPDIR:-/tmp}/kill-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
cd "$work"
mkdir -m 0700 scratch cache
export TMPDIR="$work/scratch" TCTUNE_CACHE="$work/cache"
cat >gemm.te <<'TE'
tensor X[16, 16] f32
tensor W[16, 16] f32 const
compute Y[i:16, j:16] = sum(k:16) X[i, k] * W[k, j]
output Y
TE

draw() { # N: $drawn is less than that
    state=$(((state * 1103515245 + 12345) % 2147483648))
    drawn=$((state / 256 % $1))
}

now_ms() {
    echo $(($(date +%s%N) / 1000000))
}

sleep_ms() {
    sleep "$(printf '%d.%03d' $(($1 / 1000)) $(($1 % 1000)))"
}

# What is started with setsid is a session of its own, named by its first process: whether anything of that still runs.
session_runs() { # PID
    cat /proc/[0-9]*/stat 2>/dev/null | sed 's/.*) //' | awk -v session="$1" '$4 == session && $1 != "Z" { n++ } END { exit !n }'
}

# A session whose first process is gone ends by itself. After it end the processes that sweep its scratch folders; they are visible
# only once they have begun.
wait_for_end() { # PID
    while session_runs "$1"; do
        sleep 0.05 # to look takes four processes, which is as long
    done
    idle=0
    while [ -n "$(ls -A scratch)" ] && [ $idle -lt 200 ]; do
        sleep 0.05
        idle=$((idle + 1))
        ! grep -qsz "^$work/scratch/" /proc/[0-9]*/cmdline || idle=0
    done
}

# To the first process alone, or to all of its group.
signal_it() { # SIGNAL PID GROUP
    if [ "$3" -eq 0 ]; then
        kill "-$1" "$2" 2>/dev/null || true
    else
        kill "-$1" "-$2" 2>/dev/null || true
    fi
}

# What that leaves, too, has come to its end then. $status is that of the command.
kill_it() { # PID GROUP
    signal_it KILL "$@"
    status=0
    wait "$1" 2>/dev/null || status=$?
}

# Ctrl-C twice: the second time while it ends because of the first, at once or after some milliseconds.
interrupt_it() { # PID GROUP
    signal_it INT "$@"
    draw 2
    [ "$drawn" -eq 0 ] || draw 60
    sleep_ms "$drawn"
    signal_it INT "$@"
    status=0
    wait "$1" 2>/dev/null || status=$?
}

# The records of a database, in order; none where there is no database yet, or nothing in it.
records_of() { # DATABASE FILE
    rm -f exported
    : >"$2"
    if [ -s "$1" ]; then
        if "$TCTUNE" db export --db "$1" --out exported >/dev/null 2>unread; then
            sort exported >"$2"
        else
            grep -q "the database is empty" unread || fail "the database cannot be read: $(cat unread)"
        fi
    fi
}

# Prints the records of one list that are not in another. A contest adds times to a record, so a record is known by its trace and
# the time of its first measurement.
lost() { # FROM IN
    for list in "$1" "$2"; do
        sed 's/.*"trace_hash":"\([^"]*\)".*"when_ms":\([0-9]*\).*/\1 \2/' "$list" | sort >"$list.known"
    done
    comm -23 "$1.known" "$2.known"
}

count() { # FILE
    grep -c . "$1" || true
}

count_trials() { # FILE of records: without those of the comparison at the end
    grep -vc '"mode":"in-graph"' "$1" || true
}

# A process that is killed before its first transaction leaves an empty file.
sound() { # DATABASE
    [ ! -s "$1" ] || "$TCTUNE" db verify --db "$1" >verified 2>&1 || grep -q "the database is empty" verified ||
        fail "the database is not sound: $(cat verified)"
}
