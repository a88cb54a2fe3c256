# Read by test.sh, tests/long/run and .ci/run: how a part of the tests is run, counted and named at the end. A part that fails does
# not end the run. The last line counts the tests of all parts, as test runners do.
started=${started:-$(date +%s)}
jobs=$(nproc)
at_once=$((jobs + (jobs + 1) / 2)) # tests also wait: for workers, disks and clocks
passed=0 failed=0 skipped=0
notes= # a line for each test that failed or was left out

seconds() {
    echo $(($(date +%s) - started))
}

step() {
    doing=$*
    echo
    echo "== $* ($(seconds) s)"
}

note() {
    notes="$notes$*
"
}

# left_out PART: WHY
left_out() {
    skipped=$((skipped + 1))
    note "skipped: $*"
}

broken() {
    failed=$((failed + 1))
    note "FAILED: $*"
}

finish() {
    status=$?
    [ "$status" -eq 0 ] || broken "$doing"
    printf '\n%s' "$notes"
    echo "$(basename "$0"): $(seconds) s"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ] || exit 1
}

build() { # PRESET [OPTION...]
    step "building ($1)"
    rm -f "build/$1/junit.xml" # of an earlier build
    cmake --preset "$1"
    cmake --build --preset "$@" -j "$jobs"
}

# Runs a command. Its output is shown and kept in the file $output; $status is its exit status.
recorded() { # COMMAND...
    output=$(mktemp)
    status=0
    { "$@" 2>&1 || echo $? >"$output.status"; } | tee "$output"
    [ ! -f "$output.status" ] || status=$(cat "$output.status")
    rm -f "$output.status"
}

# One test. Status 77: the machine lacks something that the test needs, which its last line names.
check() { # NAME COMMAND...
    step "$1"
    shift
    recorded "$@"
    case $status in
    0) passed=$((passed + 1)) ;;
    77) left_out "$doing: $(tail -n 1 "$output" | sed 's/^skipped: //')" ;;
    *) broken "$doing" ;;
    esac
    rm -f "$output"
}

# Runs the tests of a preset, which is built.
run_tests() { # PRESET [OPTION of ctest...]
    tested=$1
    shift
    rm -f "build/$tested/junit.xml"
    ctest --test-dir "build/$tested" --output-on-failure --no-tests=error --repeat after-timeout:2 -j "$at_once" \
        --output-junit junit.xml "$@"
}

# Counts what run_tests ran.
count_tests() { # NAME PRESET STATUS
    if [ ! -f "build/$2/junit.xml" ]; then
        broken "$1: no test ran"
        return
    fi
    counted=$(awk -v part="$1" -f scripts/count-tests.awk "build/$2/junit.xml")
    lines=$(echo "$counted" | sed '$d')
    [ -z "$lines" ] || note "$lines"
    # shellcheck disable=SC2086 # counts PASSED FAILED SKIPPED
    set -- "$1" "$3" ${counted##*counts}
    passed=$((passed + $3)) failed=$((failed + $4)) skipped=$((skipped + $5))
    if [ "$2" -ne 0 ] && [ "$4" -eq 0 ]; then
        broken "$1: ctest ended with status $2"
    fi
}

# The tests of a preset.
suite() { # NAME PRESET [OPTION of ctest...]
    step "$1"
    shift
    status=0
    run_tests "$@" || status=$?
    count_tests "$doing" "$1" "$status"
}

# A run that counts its own tests: its counts and notes become this run's. Status 124 and 137: `timeout` ended it.
counted_run() { # NAME COMMAND...
    name=$1
    shift
    recorded "$@"
    lines=$(grep -E '^(skipped|FAILED): ' "$output" | sed "s/: /: $name: /" || true)
    [ -z "$lines" ] || note "$lines"
    counted=$(sed -n '$s/^\([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$output")
    rm -f "$output"
    # shellcheck disable=SC2086 # PASSED FAILED SKIPPED, or nothing
    set -- ${counted:-0 0 0}
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    case $status in
    0) ;;
    124 | 137) broken "$name: it took too long and was ended" ;;
    *) [ "$2" -gt 0 ] || broken "$name: it ended with status $status" ;;
    esac
}
