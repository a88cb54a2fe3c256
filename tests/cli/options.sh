# Options that are wrong, and help that is everywhere.
. "$(dirname "$0")/check.sh"

ok "$TCTUNE" --version
says tctune LLVM
ok "$TCTUNE" --help
says tune build run verify bench show zoo "db stats" "--model FILE.onnx --trials N"
for command in tune build run verify bench show zoo export import; do
    ok "$TCTUNE" $command --help
    says "usage: tctune $command" options: --help
    case $command in
    export | import | zoo) ;;
    *) says --json ;; # every command that reports has it
    esac
    ok "$TCTUNE" help $command
    says "usage: tctune $command"
done
for command in stats merge prune verify export import; do
    ok "$TCTUNE" db $command --help
    says "usage: tctune db $command" options: --help
    ok "$TCTUNE" help db $command
    says "usage: tctune db $command"
done
ok "$TCTUNE" db --help
says "db stats" "db merge" "db prune" "db verify" "db export" "db import"
run 2 "$TCTUNE"
run 2 "$TCTUNE" db
run 2 "$TCTUNE" db soup
grep -q "there is no command 'db soup'" err || fail "no word on db soup"
refused 2 "--keep|--drop-failures" "$TCTUNE" db prune --db new.db
refused 2 "--keep|not 0" "$TCTUNE" db prune --db new.db --keep 0
refused 2 "FILE.db" "$TCTUNE" db merge --db new.db
refused 2 "--db|is missing" "$TCTUNE" db merge old.db
refused 2 "there is no command 'tuna'|tune|bench" "$TCTUNE" tuna

refused 2 "--trails|--trials" "$TCTUNE" --te gemm.te --trails 5
refused 2 "--trials|is missing" "$TCTUNE" --te gemm.te
refused 2 "--accuracy|strict or fast|soon" "$TCTUNE" --te gemm.te --trials 5 --accuracy soon
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
refused 2 "there is no pass 'soup'|vectorize" "$TCTUNE" show --te gemm.te --dump soup
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
