# Kernels have names in whatever reads a library's symbols; debuggers find the line of the program that code is from, and who called
# it; and neither changes the code.
. "$(dirname "$0")/check.sh"

text_of() { # FILE OUT: the bytes of its code
    objcopy -O binary --only-section=.text "$1" "$2"
}

# ---- names and code ----
TCTUNE_CACHE=$work/cache
export TCTUNE_CACHE
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name net -o plain.so
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name net -o cached.so
[ ! -e plain.tir ] || fail "a listing that nobody asked for"
mkdir lines
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name net -o lines/net.so --debug-info
[ -s lines/net.tir ] || fail "no listing"
grep -q "^# k0_gemm: .*default schedule" lines/net.tir || fail "the listing does not say which kernel it is of"
grep -q "^# compute " lines/net.tir || fail "the listing does not say what is computed"
if command -v nm >/dev/null && command -v objcopy >/dev/null; then
    for library in plain.so cached.so lines/net.so; do
        nm "$library" >symbols
        for name in k0_gemm k0_gemm.body k0_gemm.par1 k0_gemm.par1.body net_driver; do
            grep -q " t $name\$" symbols || fail "$library has no symbol '$name'"
        done
        text_of "$library" "code-$(basename "$library")"
    done
    cmp code-plain.so code-cached.so || fail "the cache changes code"
    cmp code-plain.so code-net.so || fail "line tables change code"
fi

# ---- objects and sources ----
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 -o object.o --debug-info
[ -s object.tir ] || fail "no listing beside an object"
refused 2 "--debug-info|-g" "$TCTUNE" build --te gemm.te --untuned -o source.c --debug-info
mkdir taken.tir
refused 1 "taken.tir" "$TCTUNE" build --te gemm.te --untuned -o taken.so --debug-info

# ---- gdb ----
if ! command -v gdb >/dev/null; then
    echo "no gdb: what debuggers find was not tried"
    exit 77
fi
debug() { # COMMAND...: of gdb, on a run of the library
    set -- -ex 'set breakpoint pending on' -ex 'set disable-randomization off' -ex 'set debuginfod enabled off' "$@"
    timeout 120 gdb -batch -nx -iex 'set auto-load off' "$@" --args "$TCTUNE" run --model lines/net.so >out 2>&1 || fail "gdb"
}
debug -ex run
if ! grep -q "exited normally" out; then
    echo "gdb cannot run programs here: $(tail -n 1 out)"
    exit 77
fi
line=$(awk '/ reduce \{$/ { inside = 1 } inside && / = fma/ { print NR; exit }' lines/net.tir)
[ -n "$line" ] || fail "no sum in the listing"
debug -ex "break net.tir:$line" -ex run -ex bt
says "hit Breakpoint 1, k0_gemm.par1.body () at net.tir:$line" "$(sed "${line}q;d" lines/net.tir)" "in k0_gemm.par1 ()"
# The first thread's way goes through all of the library to who called it; the others' ends in their runtime.
debug -ex "break net.tir:$line" -ex run -ex 'thread apply 1 bt'
says "in k0_gemm.body ()" "in k0_gemm ()" "in net_driver ()" "in net_context_run ()"
debug -ex "break k0_gemm.body" -ex run -ex bt
says "k0_gemm.body () at net.tir:" "in k0_gemm () at net.tir:" "in net_context_run ()"
echo "$checks checks"
