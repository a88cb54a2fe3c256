# --format: each command that prints tables prints them for people, as Markdown, as CSV, and its document as JSON.
. "$(dirname "$0")/check.sh"

ok "$TCTUNE" zoo mlp --out mlp.onnx
ok "$TCTUNE" tune --model mlp.onnx --trials 8 --threads 1 --db t.db --format csv
says "#,task,weight,trials,valid,best (ms),GFLOP/s,of peak (%),form,timed"
! grep -q "trials in\|records are in" out || fail "sentences stand among what programs read"

# Every line of Markdown is a row of a table, but those between two tables.
is_markdown() {
    ! grep -qv '^| .* |$\|^$' out || fail "no Markdown table: $(grep -v -m 1 '^| .* |$\|^$' out)"
    grep -q '^| --*:* |' out || fail "a Markdown table has no rule"
}

# Rows of a table have as many cells as its heading; commas in quotes are none of these.
is_csv() {
    awk '{ line = $0; gsub(/"[^"]*"/, "", line); n = gsub(/,/, "", line) }
        $0 == "" { columns = 0; next } !columns { columns = n + 1; next } n + 1 != columns { print; exit 1 }' out >row ||
        fail "a row has another number of cells than its heading: $(cat row)"
}

each() { # HEADING COMMAND...: in each format
    heading=$1
    shift
    ok "$TCTUNE" "$@" --format markdown
    is_markdown
    ok "$TCTUNE" "$@" --format csv
    is_csv
    says "$heading"
    ok "$TCTUNE" "$@" --format json
    cp out as.json
    "$JSON" as.json "" >/dev/null || fail "--format json is no JSON"
    ok "$TCTUNE" "$@" --json
    "$JSON" out "" >/dev/null || fail "--json is no JSON"
    ok "$TCTUNE" "$@" --format table
}

run="--model mlp.onnx --db t.db --threads 1"
# shellcheck disable=SC2086 # words of a command
{
    each "#,kernel,nodes,count,each (ms),total (ms),share (%),GFLOP/s,of peak (%),form,schedule" bench $run --repeats 2
    each "name,threads,median (ms),least (ms),most (ms),runs,GFLOP/s,of peak (%)" bench $run --repeats 2
    each "#,kernel,nodes,count,MFLOP,recorded (ms),when,trace,form,schedule" build $run --out m.so
    each "#,kernel,nodes,weight,MFLOP,schedule" show $run
    each "output,type,shape,values" run $run
}
each "#,kernel,runs,form,record,time (ms),workload,trace" show --model m.so
each "workload,target,threads,mode,records,valid,best (ms),GFLOP/s,age (s),failures,operands" db stats --db t.db
each "level,check,found,remedy" doctor --quick
each "name,threads,median (ms)" bench --te gemm.te --threads 1 --repeats 2
each "side,schedule,origin,median (ms),GFLOP/s,of the roof (%)" compare default default --te gemm.te --threads 1 --repeats 11
says "verdict"

# In CSV numbers are bare, and all nodes are named.
# shellcheck disable=SC2086
ok "$TCTUNE" bench $run --repeats 2 --format csv
grep -q '^0,Gemm+Relu f32\[512\],fc1;act1,1,0\.[0-9]*,0\.[0-9]*,[0-9.]*,[0-9.]*,[0-9.]*,direct,record [0-9]*$' out ||
    fail "CSV is not bare"
# shellcheck disable=SC2086
ok "$TCTUNE" bench $run --repeats 2
says "fc1 +1" "share" "GFLOP/s, "

refused 2 "--format needs table, markdown, csv or json, not 'xml'" "$TCTUNE" db stats --db t.db --format xml
refused 2 "or give --format json" "$TCTUNE" show --te gemm.te --format csv
echo "$checks checks"
