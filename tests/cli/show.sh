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
