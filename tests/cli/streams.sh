# `-` as the name of a file, and standard output that cannot take what is printed.
. "$(dirname "$0")/check.sh"

ok "$TCTUNE" tune gemm.te --trials 4 --threads 1 --db t.db
ok "$TCTUNE" zoo mlp
zoo=mlp.onnx

# ---- outputs ----

# same FILE COMMAND...: with - for FILE the command writes the same to standard output, and all else to standard error.
same() {
    file=$1
    shift
    ok "$@" "$file"
    cp err before
    ok "$@" -
    cmp -s out "$file" || fail "standard output is not $file: $* -"
    [ ! -e ./- ] || fail "there is a file named -: $*"
}
same records.json "$TCTUNE" db export --db t.db -o
says workload
grep -q "records of t.db are in /dev/stdout" err || fail "the report of db export is not on standard error"
same zoo.onnx "$TCTUNE" zoo mlp -o
same out.npz "$TCTUNE" run "$zoo" --outputs
grep -q "output: f32" err || fail "the values are not on standard error"
same stats.svg "$TCTUNE" db stats --db t.db --plot
same w8.onnx "$TCTUNE" quantize "$zoo" --weights-only 8 -o
ok "$TCTUNE" report --db t.db --quick -o - # it tells when it was made
says "<html" "</html>"
ok "$TCTUNE" trace "$zoo" --threads 1 -o -
json out traceEvents >/dev/null
grep -q "open it in" err || fail "what trace says is not on standard error"
ok "$TCTUNE" bench "$zoo" --threads 1 --repeats 3 --plot -
says "<svg" "</svg>"
ok "$TCTUNE" tune "$zoo" --trials 2 --threads 1 --deterministic-measure --db new.db --plot=-
says "<svg" "</svg>"
rm new.db

# What a shell has appended to is neither replaced nor cut.
echo first >log
"$TCTUNE" db export --db t.db -o - >>log 2>err
[ "$(head -n 1 log)" = first ] && [ "$(tail -n +2 log)" = "$(cat records.json)" ] || fail "the log is not what was appended to it"
"$TCTUNE" db export --db t.db -o /dev/fd/3 3>>log 2>err >out
[ "$(wc -l <log)" -eq $((1 + 2 * $(wc -l <records.json))) ] || fail "a descriptor was not appended to"

refused 2 "--out cannot be standard output|M.so" "$TCTUNE" build gemm.te -o -
refused 2 "--out cannot be standard output" "$TCTUNE" tune gemm.te --trials 4 --db new.db --out=-
refused 2 "--db cannot be standard input" "$TCTUNE" db stats --db -
refused 2 "--model cannot be standard input" "$TCTUNE" show --model -
refused 2 "--inputs cannot be standard input" "$TCTUNE" run "$zoo" --inputs -
refused 1 "cannot write '/dev/stdout': it is not open for writing" sh -c '"$1" db export --db t.db -o - >&-' - "$TCTUNE"

# ---- inputs ----

piped() { # FILE COMMAND...: with standard input from a pipe
    file=$1
    shift
    cat "$file" | ok "$@"
}
piped gemm.te "$TCTUNE" show --te - --print workload
says "tensor " "compute "
ok "$TCTUNE" show gemm.te --threads 1 --print schedule
cp out mine.sched
piped mine.sched "$TCTUNE" show gemm.te --threads 1 --sched - --print schedule
[ "$(grep -v '^#' out)" = "$(grep -v '^#' mine.sched)" ] || fail "the schedule from standard input is another one"
piped mine.sched "$TCTUNE" compare gemm.te - default --threads 1 --repeats 11
piped records.json "$TCTUNE" db import - --db imported.db
says "/dev/stdin: $(wc -l <records.json) records added"
piped records.json "$TCTUNE" tune gemm.te --trials 2 --threads 1 --deterministic-measure --db new.db --start-from -
ok "$TCTUNE" bench "$zoo" --threads 1 --repeats 3 --json
cp out base.json
piped base.json "$TCTUNE" report --db t.db --quick --with - -o page.html
rm new.db
refused 2 "two options read standard input" "$TCTUNE" show --te - --sched -
refused 2 "'-'|--te -" "$TCTUNE" show -

# ---- a reader that left, and a full disk ----

# left COMMAND...: its standard output is a pipe that is already closed at the other end.
mkfifo gone
left() {
    { read -r _ <gone; status=0; "$@" 2>err || status=$?; echo $status >status; } | { exec <&-; echo >gone; }
    [ "$(cat status)" -eq 141 ] || fail "status $(cat status), not 141, of $* to a closed pipe"
    [ ! -s err ] || fail "something is said to a closed pipe: $*"
    checks=$((checks + 1))
}
left "$TCTUNE" --help
left "$TCTUNE" tune --help
left "$TCTUNE" help db
left "$TCTUNE" --version
left "$TCTUNE" zoo
left "$TCTUNE" show gemm.te
left "$TCTUNE" show gemm.te --json
left "$TCTUNE" db stats --db t.db
left "$TCTUNE" db export --db t.db -o -
left "$TCTUNE" zoo mlp -o -
full() {
    run 1 sh -c '"$@" >/dev/full' - "$@"
    grep -q "disk" err || fail "nothing is said of the full disk: $*"
}
full "$TCTUNE" --help
full "$TCTUNE" show gemm.te
full "$TCTUNE" db export --db t.db -o -
# A command that fails says so, whoever reads.
{ read -r _ <gone; status=0; "$TCTUNE" show missing.te 2>err || status=$?; echo $status >status; } | { exec <&-; echo >gone; }
[ "$(cat status)" -eq 1 ] && grep -q missing.te err || fail "status $(cat status) of a missing file"

echo "$checks checks"
