# Names that a terminal would act on, and names that are not UTF-8. tests/campaign/names draws many more.
. "$(dirname "$0")/check.sh"
export LC_ALL=C

plain() { # of what the last command printed
    ! grep -q "$(printf '[\001-\010\013-\037\177]')" out err || fail "a control character reaches the terminal"
}

# ---- paths are bytes ----
odd=$(printf 'a\377\033[2Jb')
shown='a\xff\x1b[2Jb'
ok "$TCTUNE" --te gemm.te --trials 2 --stop-at-roof 9 --threads 1 --db "$odd.db"
plain
ok "$TCTUNE" db stats --db "$odd.db"
plain
grep -qF "$shown.db: " out || fail "the database is not named"
ok "$TCTUNE" db stats --db "$odd.db" --json
plain
[ "$(json out db)" = 'a\xff'"$(printf '\033')[2Jb.db" ] || fail "the document does not name the database"
ok "$TCTUNE" build --te gemm.te --threads 1 --db "$odd.db" -o "$odd.so"
plain
grep -qF "$shown.so is built" out || fail "the library is not named"
ok "$TCTUNE" show "./$odd.so" --json
plain
[ "$(json out inputs.0.name)" = X ] || fail "the library lacks its inputs"
ok "$TCTUNE" run "./$odd.so"
plain
refused 1 "none$shown.onnx" "$TCTUNE" show "none$odd.onnx"
plain
refused 2 "$shown" "$TCTUNE" "$odd"
plain
refused 2 "$shown" "$TCTUNE" show --te gemm.te --target "$odd"
plain

# ---- what others send ----
hostile=${SHARED:-}/cases/hostile
if [ -d "$hostile/terminal-escapes" ]; then
    cp "$hostile"/terminal-escapes/* "$hostile"/invalid-utf8/* .
    for model in esc_in esc_op ff; do
        for command in show build run; do
            "$TCTUNE" "$command" $model.onnx -o x.so >out 2>err || [ $? -le 2 ] || fail "$command $model.onnx ends by a signal"
            plain
        done
    done
    refused 1 "ff.onnx|graph.node.input|byte 15 of the file, is 0xff|UTF-8" "$TCTUNE" show ff.onnx
    "$TCTUNE" show ./esc.so >out 2>err || [ $? -eq 1 ] || fail "show of esc.so ends by a signal"
    plain
    for command in "db stats" "db verify"; do
        # shellcheck disable=SC2086 # two words
        "$TCTUNE" $command --db esc.db >out 2>err || [ $? -eq 1 ] || fail "$command of esc.db ends by a signal"
        plain
    done
fi

echo "$checks checks"
