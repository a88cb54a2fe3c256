# The examples of every command's --help are typed as they stand, in a folder with the files that they name; budgets alone are
# smaller. Examples that need a fleet's server, test cases or calibration data are only parsed, by --help behind them.
. "$(dirname "$0")/check.sh"
PATH=$(dirname "$TCTUNE"):$PATH

ok tctune zoo mlp
ok tctune tune mlp.onnx --trials 8 -o mlp.so
ok tctune tune gemm.te --trials 4
ok tctune run mlp.onnx --outputs out.npz
ok tctune show gemm.te --print schedule
cp out mine.sched
ok tctune db export -o records.json
gzip -k records.json
mkdir tuned
for copy in old mine theirs tuned/a; do cp tctune.db $copy.db; done

tctune --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p' >commands
[ "$(wc -l <commands)" -gt 20 ] || fail "tctune --help lists $(wc -l <commands) commands"
ran=0
while read -r command; do
    # shellcheck disable=SC2086 # "db stats" is two words
    tctune $command --help | sed -n '/^examples:/,$s/^      //p' >examples
    [ "$(wc -l <examples)" -eq 2 ] || fail "tctune $command has $(wc -l <examples) examples"
    while read -r line; do
        case $line in
        *server:4222* | *"verify node"* | *batch.npz*) run 0 sh -c "$line --help" </dev/null ;;
        *explain*) run 0 sh -c "$line --seconds 5" </dev/null ;;
        *compare*) run 0 sh -c "$line --repeats 11" </dev/null ;;
        *) run 0 sh -c "$(echo "$line" | sed 's/--trials 200/--trials 10/; s/--minutes 1/--minutes 0.02/')" </dev/null &&
            ran=$((ran + 1)) ;;
        esac
        case $line in
        *"tctune $command "* | *"tctune $command" | *"tctune db "* | *"tctune show "*) ;;
        *) fail "an example of tctune $command is of another command: $line" ;;
        esac
    done <examples
done <commands
[ $ran -gt 30 ] || fail "only $ran examples ran"
echo "$checks checks"
