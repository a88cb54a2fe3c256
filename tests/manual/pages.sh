#!/bin/sh
# The manual pages: they have no faults; a command's page has every option of its --help; a format's page names everything that the
# format has.
#   pages.sh COMMAND MANUAL-FOLDER SOURCE-FOLDER
set -eu
tctune=$1 manual=$2 source=$3
failed=0 checks=0
fail() {
    echo "$*"
    failed=1
}

lint() {
    if command -v mandoc >/dev/null; then
        mandoc -T lint -W warning "$1" | grep -v 'missing date' || true
    elif command -v man >/dev/null; then
        LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -l "$1" 2>&1 >/dev/null
    else
        echo "skipped: neither mandoc nor man is there (scripts/install-deps.sh)"
        exit 0
    fi
}

# All words of a page, without what sets their font.
words() {
    sed 's/\\f[A-Z]/ /g; s/\\-/-/g' "$1" | tr -c 'a-zA-Z0-9_-' '\n'
}

# lacks PAGE SAYING: every word of the file asked must be one of the page's.
lacks() {
    words "$1" >"$TMPDIR/words"
    missing=$(grep -vxF -f "$TMPDIR/words" "$TMPDIR/asked" | tr '\n' ' ')
    [ -z "$missing" ] || fail "$1 $2 $missing"
    checks=$((checks + $(wc -l <"$TMPDIR/asked")))
}

for page in "$manual"/*.1 "$source"/docs/man/*.5; do
    faults=$(lint "$page")
    case $faults in
    skipped*) echo "$faults"; exit 77 ;;
    ?*) fail "$faults" ;;
    esac
    checks=$((checks + 1))
done

commands=$("$tctune" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
[ "$(echo "$commands" | wc -l)" -gt 15 ] || fail "tctune --help lists these commands only: $commands"
echo "$commands" >"$TMPDIR/commands"
while read -r command; do
    page=$manual/tctune-$(echo "$command" | tr ' ' -).1
    [ -f "$page" ] || { fail "tctune $command has no page"; continue; }
    # shellcheck disable=SC2086 # "db stats" is two words
    "$tctune" $command --help | sed -n 's/^  \(-[a-z], \)\?\(--[a-z-]*\).*/\2/p' >"$TMPDIR/asked"
    lacks "$page" "has no"
done <"$TMPDIR/commands"
[ $checks -gt 100 ] || fail "there are $checks pages and options only"

# named PAGE WORD...
named() {
    page=$source/docs/man/$1
    shift
    [ $# -gt 5 ] || fail "what $page has to name was not found"
    printf '%s\n' "$@" >"$TMPDIR/asked"
    lacks "$page" "says nothing of"
}
# shellcheck disable=SC2046 # lists of words
{
    named tctune-sched.5 \
        $(sed -n 's/^\(SAMPLED\|PRIM\)([A-Z_]*, "\([a-z_]*\)".*/\2/p' "$source/src/schedule_primitives/primitives.def")
    named tctune-te.5 $(sed -n '/VECTOR/!s/^OP([A-Z]*, "\([a-z]\{1,\}\)".*/\1/p' "$source/src/te/ops.def" | grep -vx cast) \
        $(sed -n 's/^REDUCER([A-Z]*, "\([a-z]*\)".*/\1/p' "$source/src/te/reducers.def")
    named tctune-records.5 $(sed -n 's/^    FIELD("\([a-z_]*\)".*/\1/p' "$source/src/measure/records/record.c") \
        $(sed -n '/never stored/!s/^ERR([A-Z_]*, "\([a-z_]*\)".*/\1/p' "$source/src/measure/records/errors.def") \
        $(sed -n 's/^MODE([A-Z_]*, "\([a-z-]*\)".*/\1/p' "$source/src/measure/records/modes.def")
}
echo "$checks checks"
exit $failed
