# The ONNX project's test cases through the command, compiled: those of Debian's libonnx-testdata, and those in SHARED where that is
# there. tests/graph/ops runs all of them without a compiler; here each sixth is compiled, and all in ./test.sh --full.
# CASES: the package's folder; NOT_PASSED: the table of cases that do not pass.
. "$(dirname "$0")/check.sh"

[ -d "$CASES/node" ] || fail "there are no cases in '$CASES': install libonnx-testdata (scripts/install-deps.sh)"
every=6
[ -z "${TCTUNE_TEST_FULL:-}" ] || every=1
sed -n 's/^NOT_PASSED("\([^"]*\)".*/\1/p' "$NOT_PASSED" | sort >listed
[ -s listed ] || fail "no rows in $NOT_PASSED"

# chosen FOLDER: one case of so many, without those of the table.
chosen() {
    (cd "$1" && ls -d node/* simple/* pytorch-*/*) | sort | comm -23 - listed |
        awk -v every=$every -v root="$1" 'NR % every == 0 { print root "/" $0 }'
}

passes() { # FOLDER
    chosen "$1" >cases
    xargs "$TCTUNE" verify <cases >out 2>err || fail "status $?"
    says "$(wc -l <cases) passed, 0 failed, 0 skipped"
    checks=$((checks + 1))
    tail -n 1 out
}

passes "$CASES"

# Of the table: no case passes, and the command's status tells a failure from a refusal.
sed -n 's/^NOT_PASSED("\([^"]*\)", REFUSED.*/\1/p' "$NOT_PASSED" |
    awk -v every=$every -v root="$CASES" 'NR % every == 0 { print root "/" $0 }' >cases
xargs "$TCTUNE" verify <cases >out 2>err || fail "status $?"
says "0 passed, 0 failed, $(wc -l <cases) skipped"
sed -n 's/^NOT_PASSED("\([^"]*\)", WRONG.*/\1/p' "$NOT_PASSED" | awk -v root="$CASES" '{ print root "/" $0 }' >cases
! xargs "$TCTUNE" verify <cases >out 2>err || fail "status 0, although cases fail"
says "0 passed, $(wc -l <cases) failed, 0 skipped"

[ ! -d "$SHARED/onnx/node" ] || passes "$SHARED/onnx"
echo "$checks checks"
