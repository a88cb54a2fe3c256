# Options that are wrong, and help that is everywhere.
. "$(dirname "$0")/check.sh"

ok "$TCTUNE" --version
says tctune LLVM
ok "$TCTUNE" --help
says tune build run verify bench show zoo "db stats" "MODEL.onnx|KERNEL.te --trials N" "tctune --version"
for command in tune build run verify bench show zoo export import; do
    ok "$TCTUNE" $command --help
    says "usage: tctune $command" help: --help examples:
    case $command in
    export | import | zoo) ;;
    *) says --json ;; # every command that reports has it
    esac
    ok "$TCTUNE" help $command
    says "usage: tctune $command"
done
for command in stats merge prune verify export import; do
    ok "$TCTUNE" db $command --help
    says "usage: tctune db $command" help: --help examples:
    ok "$TCTUNE" help db $command
    says "usage: tctune db $command"
done
ok "$TCTUNE" db --help
says "db stats" "db merge" "db prune" "db verify" "db export" "db import"
run 2 "$TCTUNE"
run 2 "$TCTUNE" db
refused 2 "there is no command 'db soup'|stats, merge" "$TCTUNE" db soup
refused 2 "--keep|--drop-failures" "$TCTUNE" db prune --db new.db
refused 2 "--keep|not 0" "$TCTUNE" db prune --db new.db --keep 0
refused 2 "FILE.db" "$TCTUNE" db merge --db new.db
refused 2 "--db|is missing" "$TCTUNE" db merge old.db

# A name that is mistyped: what it may have meant, in a line.
refused 2 "there is no command 'tuna'; did you mean tune" "$TCTUNE" tuna
refused 2 "there is no command 'buld'; did you mean build?" "$TCTUNE" help buld
refused 2 "there is no command 'db stast'; did you mean stats?" "$TCTUNE" db stast
refused 2 "--accuracy needs strict, default or fast, not 'fasst'; did you mean fast?" "$TCTUNE" run gemm.te --accuracy fasst
refused 2 "has no option --trails; did you mean --trials?" "$TCTUNE" tune gemm.te --trails 5
[ "$(wc -c <err)" -lt 200 ] || fail "the message on --trails is long"
refused 2 "--target|'zen4'|did you mean znver4?" "$TCTUNE" show gemm.te --target zen4
refused 2 "no part 'sched'; did you mean schedule?" "$TCTUNE" show gemm.te --print sched
refused 2 "no lowering pass 'unrol'; did you mean unroll?" "$TCTUNE" show gemm.te --dump unrol
refused 2 "no graph pass 'simplifi'; did you mean simplify?" "$TCTUNE" show "$models/dense.onnx" --disable-pass simplifi
refused 2 "there is no phase 'descend'; did you mean descent?" "$TCTUNE" tune gemm.te --trials 4 --db new.db --phases descend
refused 2 "no network 'bert-tny'; did you mean bert-tiny?" "$TCTUNE" zoo bert-tny
refused 2 "'bst'|did you mean best?" "$TCTUNE" compare gemm.te bst default
echo "spilt Y.i 4" >wrong.sched
refused 1 "no primitive \`spilt\`; did you mean split?" "$TCTUNE" show gemm.te --sched wrong.sched
echo "vectorize Y.jj" >wrong.sched
refused 1 "no loop \`jj\`; did you mean j?" "$TCTUNE" show gemm.te --sched wrong.sched
rm wrong.sched
refused 2 "has no option --zzzzzzzz
" "$TCTUNE" tune gemm.te --zzzzzzzz 5
refused 2 "no option -t|two dashes" "$TCTUNE" tune gemm.te -t 5

# The beginning of a name is enough where no other name begins so.
ok "$TCTUNE" sh gemm.te --print workload --thr 1
says "tensor " "compute "
ok "$TCTUNE" doc --help
refused 2 "b can mean build or bench" "$TCTUNE" b gemm.te
refused 2 "t can mean tune or trace" "$TCTUNE" t gemm.te
refused 2 "--d can mean --db, --disable-pass or --dump-graph" "$TCTUNE" run gemm.te --d x
refused 2 "--t can mean |--trials|: type more of it" "$TCTUNE" tune gemm.te --t 5
ok "$TCTUNE" db st --help
says "usage: tctune db stats"
ok "$TCTUNE" fl s --help
says "usage: tctune fleet status"
ok "$TCTUNE" help q
says "usage: tctune quantize"

# A model or a kernel needs no option, by its suffix or by how it begins.
cp "$models/dense.onnx" network
cp gemm.te kernel
for file in gemm.te kernel; do
    ok "$TCTUNE" show $file --print workload
    says "compute "
done
for file in "$models/dense.onnx" network; do
    ok "$TCTUNE" show "$file" --print workload
    says "max("
done
ok "$TCTUNE" build kernel -o plain.so
cp plain.so library
for file in plain.so library; do
    ok "$TCTUNE" show $file
    says "made by"
done
ok "$TCTUNE" gemm.te --trials 2 --threads 1 --deterministic-measure --db named.db
rm network kernel plain.* library named.db
refused 2 "'other.te'|one kernel at a time" "$TCTUNE" show gemm.te other.te
refused 2 "exclude each other" "$TCTUNE" show gemm.te "$models/dense.onnx"
refused 2 "is neither a model|nor a kernel" "$TCTUNE" show "$0"
refused 2 "'soup'|no file of this name" "$TCTUNE" show soup
refused 2 "'extra'|takes options only" "$TCTUNE" db stats extra

# Help is as wide as the terminal, between 40 and 120 columns; without one it has 80.
width() { # the longest line of help, but for examples, which stay whole
    sed '/^examples:/,$d' out | awk '{ if (length($0) > most) most = length($0) } END { print most }'
}
for columns in 60 100 120; do
    COLUMNS=$columns ok "$TCTUNE" tune --help
    [ "$(width)" -le $columns ] && [ "$(width)" -gt $((columns - 10)) ] || fail "help of $(width) columns, not $columns"
done
COLUMNS=400 ok "$TCTUNE" tune --help
[ "$(width)" -le 120 ] || fail "help of $(width) columns"
(unset COLUMNS; ok "$TCTUNE" tune --help; [ "$(width)" -le 80 ] || fail "help of $(width) columns without a terminal")
(unset COLUMNS; ok script -qec "stty cols 67; '$TCTUNE' tune --help" terminal)
tr -d '\r' <out >plain && mv plain out && rm terminal
[ "$(width)" -le 67 ] && [ "$(width)" -gt 57 ] || fail "help of $(width) columns on a terminal of 67"
says "usage: tctune tune MODEL.onnx|KERNEL.te" "model and kernel:" "budget:" "machine:" "results:" "for experts:" "-o, --out FILE" \
    "--version" "examples:"
ok "$TCTUNE" build --version
says "tctune " LLVM

refused 2 "--trails|--trials" "$TCTUNE" --te gemm.te --trails 5
refused 2 "--trials|is missing" "$TCTUNE" --te gemm.te
refused 2 "--accuracy|strict, default or fast|soon" "$TCTUNE" --te gemm.te --trials 5 --accuracy soon
refused 2 "--minutes|more than 0" "$TCTUNE" --te gemm.te --minutes 0 --db new.db
refused 2 "--stop-at-roof|more than 0" "$TCTUNE" --te gemm.te --trials 5 --stop-at-roof 0 --db new.db
refused 2 "--trials|not 0" "$TCTUNE" --te gemm.te --trials 0 --db new.db
refused 2 "--trials|-5" "$TCTUNE" --te gemm.te --trials -5 --db new.db
refused 2 "--trials|'many'" "$TCTUNE" --te gemm.te --trials many
refused 2 "--trials|'5x'" "$TCTUNE" --te gemm.te --trials 5x
refused 2 "--trials needs a value" "$TCTUNE" --te gemm.te --trials
refused 2 "--trials is given twice" "$TCTUNE" --te gemm.te --trials 5 --trials 6
refused 2 "--threads|not 0" "$TCTUNE" --te gemm.te --trials 5 --threads 0
refused 2 "--seed|'-1'" "$TCTUNE" --te gemm.te --trials 5 --seed -1
refused 2 "--json takes no value" "$TCTUNE" --te gemm.te --trials 5 --json=yes
refused 2 "--target|pentium9" "$TCTUNE" --te gemm.te --trials 5 --target pentium9 --db new.db
refused 2 "--model|--te" "$TCTUNE" --trials 5
refused 2 "exclude each other" "$TCTUNE" --trials 5 --te gemm.te --model "$models/dense.onnx"
refused 1 "--shape X|gemm.te|its sizes are fixed" "$TCTUNE" --trials 5 --te gemm.te --shape X=1 --db new.db
refused 2 "'extra'" "$TCTUNE" --te gemm.te --trials 5 extra
refused 2 "--rtol|'tight'" "$TCTUNE" run --model "$models/dense.onnx" --rtol tight
refused 2 "--rtol|-1" "$TCTUNE" run --model "$models/dense.onnx" --rtol -1
refused 2 "there is no part 'soup'|workload" "$TCTUNE" show --te gemm.te --print soup
refused 2 "there is no lowering pass 'soup'" "$TCTUNE" show --te gemm.te --dump soup
refused 2 "there is no network 'bart'|bert-base" "$TCTUNE" zoo bart
refused 2 "--out" "$TCTUNE" zoo mlp bert-tiny --out one.onnx
refused 2 "DIR..." "$TCTUNE" verify
refused 2 "--out|is missing" "$TCTUNE" build --model "$models/dense.onnx"
refused 2 "--sched|--te" "$TCTUNE" bench --model "$models/dense.onnx" --sched x.sched
refused 2 "does not run on this machine|tctune build" "$TCTUNE" --te gemm.te --trials 5 --db new.db \
    --target "llvm -mtriple=riscv64-linux-gnu"

# Graph passes.
refused 2 "--disable-pass|'tidy'|channels_last" "$TCTUNE" run --model "$models/dense.onnx" --disable-pass tidy
refused 2 "--dump-graph|'tidy'|simplify" "$TCTUNE" show --model "$models/dense.onnx" --dump-graph tidy
refused 2 "--opt-level|'4'" "$TCTUNE" run --model "$models/dense.onnx" --opt-level 4
refused 2 "--opt-level|.te" "$TCTUNE" run --te gemm.te --opt-level 1
ok "$TCTUNE" run --model "$models/dense.onnx" --opt-level 0 --seed 1
ok "$TCTUNE" run --model "$models/dense.onnx" --seed 1 --disable-pass channels_last --disable-pass simplify

echo "$checks checks"
