# What `tctune show` prints of kernels, and how: the parts that are asked for, and a pager where a person reads it.
. "$(dirname "$0")/check.sh"

# ---- parts ----
ok "$TCTUNE" show --te gemm.te --threads 1
says "# ---- schedule" "# ---- loop nest" "# --print all shows every stage"
! grep -q "# ---- \(workload\|LLVM\|assembly\)" out || fail "more than schedule and loop nest by default"
ok "$TCTUNE" show --te gemm.te --threads 1 --print nest
! grep -q "# ----\|# --print" out || fail "a single part does not come bare"
ok "$TCTUNE" show --te gemm.te --threads 1 --print all --json
for part in workload schedule stages nest tir ir raw-ir asm; do
    json out $part >/dev/null
done
refused 2 "there is no part 'soup'|workload, schedule, stages, nest, tir, ir, raw-ir, asm and all" \
    "$TCTUNE" show --te gemm.te --print nest,soup

# ---- which kernel: by its number, its name, or a node of the model ----
ok "$TCTUNE" zoo bert-tiny --out bert.onnx
ok "$TCTUNE" show --model bert.onnx --threads 1 --json
"$JSON" out kernels >kernels
i=0
: >names
while "$JSON" out kernels.$i.name >>names 2>/dev/null; do
    i=$((i + 1))
done
[ "$(sort -u names | wc -l)" -eq $i ] || fail "two kernels have one name: $(sort names | uniq -d)"
twins=$(sed 's/#[0-9]*$//' names | sort | uniq -d | head -n 1)
[ -n "$twins" ] || fail "no two kernels of the network have the same operators and results"
refused 2 "'$twins' is the name of several kernels of bert.onnx|$twins#1|$twins#2" "$TCTUNE" show --model bert.onnx \
    --kernel "$twins"
ok "$TCTUNE" show --model bert.onnx --threads 1 --kernel "$twins#2" --print workload --json
second=$("$JSON" out hash)
node=$("$JSON" out nodes.1)
ok "$TCTUNE" show --model bert.onnx --threads 1 --kernel "$node" --print workload --json
[ "$("$JSON" out hash)" = "$second" ] || fail "the node $node names another kernel than the one it is part of"
[ "$("$JSON" out kernel)" = "$twins#2" ] || fail "the kernel's name is $("$JSON" out kernel)"
refused 2 "bert.onnx has no kernel 'nothing'|tctune show" "$TCTUNE" show --model bert.onnx --kernel nothing
refused 2 "has no kernel '99'|from 0 to $((i - 1))" "$TCTUNE" show --model bert.onnx --kernel 99
# Records know a kernel by its workload: the name that the network gives it is no part of that.
ok "$TCTUNE" show --model bert.onnx --kernel "$twins#2" --print workload
cp out twin.te
ok "$TCTUNE" show --te twin.te --threads 1 --print workload --json
[ "$("$JSON" out hash)" = "$second" ] || fail "the workload by itself has another hash"

# The same names and nodes in what is built, timed and traced.
ok "$TCTUNE" build --model bert.onnx --threads 1 --untuned --out bert.so --json
for k in 4 7; do
    [ "$("$JSON" out kernels.$k.name)" = "$(sed -n $((k + 1))p names)" ] ||
        fail "build calls kernel $k $("$JSON" out kernels.$k.name)"
done
"$JSON" out kernels.4.nodes | grep -q '"layer.0.residual1/Add"' || fail "build does not tell the nodes of a kernel"
ok "$TCTUNE" bench --model bert.onnx --untuned --threads 1 --repeats 2 --json
"$JSON" out kernels.4.nodes | grep -q '"layer.0.residual1/Add"' || fail "bench does not tell the nodes of a kernel"
ok "$TCTUNE" trace --model bert.onnx --untuned --threads 1 --out trace.json
# A launch in a trace is made from its own nodes alone.
grep -o '"nodes": *\["layer.0.attention.output.product/MatMul", *"layer.0.attended/Add", *"layer.0.residual1/Add"\]' trace.json \
    >/dev/null ||
    fail "a trace does not tell the nodes of a launch"

ok "$TCTUNE" zoo mlp --out mlp.onnx
ok "$TCTUNE" tune --model mlp.onnx --trials 6 --threads 1 --deterministic-measure --db mlp.db
ok "$TCTUNE" report --model mlp.onnx --db mlp.db --threads 1 --quick --json
[ "$("$JSON" out kernels.0.nodes)" = '["fc1","act1"]' ] || fail "a report tells the nodes $("$JSON" out kernels.0.nodes)"

# ---- the pager: on a terminal alone ----
terminal() { # PAGER COMMAND...: the command on a terminal, without the carriage returns that this adds
    pager=$1
    shift
    ok env PAGER="$pager" script -qec "$*" /dev/null
    tr -d '\r' <out >plain && mv plain out
}
show="'$TCTUNE' show --te gemm.te --threads 1"
terminal "sed s/^/PAGED:/" "$show"
says "PAGED:# ---- schedule" "PAGED:# ---- loop nest" "PAGED:# --print all"
! grep -qv "^PAGED:" out || fail "the pager does not get all: $(grep -v -m 1 '^PAGED:' out)"
for none in "" cat; do
    terminal "$none" "$show"
    says "# ---- loop nest"
done
terminal "no-such-pager" "$show"
says "# ---- schedule" "# ---- loop nest"
terminal "head -n 1" "$show --print all" # who leaves the pager has seen enough
[ "$(wc -l <out)" -eq 1 ] || fail "head prints more than a line"
ok env PAGER="sed s/^/PAGED:/" "$TCTUNE" show --te gemm.te --threads 1
! grep -q "PAGED" out || fail "a pager gets what is no terminal's"
# Without $PAGER: less, with what it is told to do unless $LESS says otherwise.
mkdir bin
printf '#!/bin/sh\necho "less is told: $LESS"\ncat\n' >bin/less
chmod +x bin/less
ok env -u PAGER -u LESS PATH="$PWD/bin:$PATH" script -qec "$show" /dev/null
says "less is told: FRX" "# ---- loop nest"
ok env -u PAGER LESS=S PATH="$PWD/bin:$PATH" script -qec "$show" /dev/null
says "less is told: S"

echo "$checks checks"
