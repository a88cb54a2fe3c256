# Databases that cannot be used, folders that cannot be written, disks that are full.
. "$(dirname "$0")/check.sh"

tune() { # DATABASE
    "$TCTUNE" --te gemm.te --trials 4 --stop-at-roof 9 --threads 1 --db "$1"
}

# ---- databases ----
head -c 5000 /dev/zero | tr '\0' 'x' >text.db
refused 1 "text.db|not a tctune database|--db" tune text.db
ok tune good.db
refused 1 "not a file|--db" tune .
cp good.db newer.db
printf '\000\000\003\347' | dd of=newer.db bs=1 seek=60 conv=notrunc 2>dd.log # SQLite keeps user_version at byte 60: 999
rm dd.log
refused 1 "newer.db|newer tctune|Upgrade" tune newer.db
refused 1 "newer.db|newer tctune|Upgrade" "$TCTUNE" bench --te gemm.te --db newer.db
cp good.db corrupt.db
head -c 60000 /dev/zero | tr '\0' 'z' | dd of=corrupt.db bs=1 seek=4096 conv=notrunc 2>dd.log
rm dd.log
refused 1 "corrupt.db|damaged" tune corrupt.db
head -c 6000 good.db >cut.db
refused 1 "cut.db" tune cut.db
refused 1 "none.db|No such file" "$TCTUNE" bench --te gemm.te --db none.db
refused 1 "none.db|No such file" "$TCTUNE" export --db none.db --out new.json
for bad in newer.db:newer corrupt.db:damaged text.db:"not a tctune database" none.db:none.db; do
    refused 1 "${bad%%:*}|${bad#*:}" "$TCTUNE" db stats --db "${bad%%:*}"
    refused 1 "${bad%%:*}|${bad#*:}" "$TCTUNE" db verify --db "${bad%%:*}"
    refused 1 "${bad%%:*}|${bad#*:}" "$TCTUNE" db verify --rerun --db "${bad%%:*}"
    refused 1 "${bad%%:*}|${bad#*:}" "$TCTUNE" db prune --keep 1 --db "${bad%%:*}"
    refused 1 "${bad%%:*}" "$TCTUNE" db merge "${bad%%:*}" --db good.db
done
refused 1 "good.db|is the target of the merge" "$TCTUNE" db merge good.db --db good.db

# ---- folders ----
refused 1 "nowhere" tune nowhere/t.db
refused 1 "/proc/t.db" tune /proc/t.db
refused 1 "nowhere" "$TCTUNE" --te gemm.te --trials 4 --db new.db --out nowhere/k.so
refused 1 "/proc/k.so" "$TCTUNE" --te gemm.te --trials 4 --db new.db --out /proc/k.so
refused 1 "nowhere" "$TCTUNE" build --te gemm.te --out nowhere/k.so
refused 1 "nowhere" "$TCTUNE" run --model "$models/dense.onnx" --outputs nowhere/y.npz
refused 1 "nowhere" "$TCTUNE" zoo mlp --out nowhere/mlp.onnx
if [ "$(id -u)" -ne 0 ]; then
    mkdir closed
    chmod a-w closed
    refused 1 "closed" tune closed/t.db
    refused 1 "closed" "$TCTUNE" --te gemm.te --trials 4 --db new.db --out closed/k.so
    cp good.db closed.db
    chmod a-rwx closed.db
    refused 1 "closed.db|cannot be read" tune closed.db
    chmod u+rw closed.db
else
    echo "skipped: folders without write permission (the tests run as root, who may write anywhere)"
fi

# ---- pipes, where files are expected: nobody may ever write to them, or read ----
mkfifo pipe
for in in "run --model pipe" "bench --te pipe" "show --te gemm.te --sched pipe" "run --model $models/dense.onnx --inputs pipe" \
    "run --model $models/dense.onnx --check pipe" "tune --te gemm.te --trials 4 --db pipe" "db stats --db pipe" \
    "db import pipe --db good.db" "db merge pipe --db good.db" \
    "quantize pipe --dynamic --out q.onnx" "run --model $models/dense.onnx --outputs pipe" "build --te gemm.te --out pipe"; do
    # shellcheck disable=SC2086 # words of a command
    refused 1 "pipe" "$TCTUNE" $in
done
rm pipe

# ---- devices, and links to them: they have no end ----
ln -s /dev/zero endless
for device in /dev/zero endless; do
    for in in "run --model" "bench --te" "show --te gemm.te --sched" "run --model $models/dense.onnx --inputs" \
        "run --model $models/dense.onnx --check" "tune --te gemm.te --trials 4 --db" "db stats --db" "db import --db good.db" \
        "db merge --db good.db" "quantize --dynamic --out q.onnx" "show --model"; do
        # shellcheck disable=SC2086 # words of a command
        refused 1 "$device" "$TCTUNE" $in $device
    done
done
rm endless
cp -r "$models/cases/right" case
ln -sf /dev/zero case/test_data_set_0/input_0.pb
run 1 "$TCTUNE" verify case
says "input_0.pb': it is a device, a file was expected"
rm -r case
truncate -s 1T holes.te && {
    refused 1 "holes.te|more than" "$TCTUNE" bench --te holes.te
    refused 1 "holes.te" "$TCTUNE" run --model holes.te
    rm holes.te
}

# ---- devices in the places of libraries, which have a header beside them ----
for out in /dev/null /dev/stdout; do
    refused 1 "$out|written beside it|name a file" "$TCTUNE" build --te gemm.te --out $out
    refused 1 "$out|written beside it|name a file" "$TCTUNE" --te gemm.te --trials 4 --db new.db --out $out
    [ ! -e $out.h ] || fail "$out.h is there"
done
refused 2 "cannot be standard output" "$TCTUNE" build --te gemm.te --out -

ok sh -c 'cat gemm.te | "$1" show --te /dev/stdin --print workload' sh "$TCTUNE"
says "tensor"

# ---- full disks ----
limited() { # BLOCKS COMMAND...: files may not grow past so many blocks of 512 bytes
    (
        ulimit -f "$1"
        shift
        exec "$@"
    )
}
refused 1 "mlp.onnx" limited 64 "$TCTUNE" zoo mlp --out mlp.onnx
refused 1 "y.npz" limited 1 "$TCTUNE" run --model "$models/dense.onnx" --outputs y.npz

# Wherever a build runs out of room, it says so, and neither its results nor its scratch files stay.
cat >weights.te <<'TE'
tensor X[64, 1024] f32
tensor W[1024, 1024] f32 const
compute Y[i:64, j:1024] = sum(k:1024) X[i, k] * W[k, j]
output Y
TE
mkdir scratch
build() { # BLOCKS OUT
    TMPDIR=$work/scratch limited "$1" "$TCTUNE" build --te weights.te --threads 1 --out "$2"
    status=$?
    [ -z "$(ls -A scratch)" ] || fail "scratch files are left: $(ls scratch)"
    return $status
}
for out in k.so k.o k.c; do
    refused 1 "$work/scratch/|constants failed: File too large|free space there or set TMPDIR" build 6000 $out # of 8 K blocks
done
refused 1 "$work/scratch/|cannot write|size limit" build 2 k.so
ok build unlimited k.so
size=$(wc -c <k.so)
refused 1 "the linker|final link failed" build $((size / 512 - 8)) k.so # the weights fit, all together does not
refused 1 "constants failed" build 6000 k.so
ok "$TCTUNE" run --model k.so # as before
rm k.so k.h

# Killed while the linker works: no file stays, neither in the scratch folder nor in the place of the library. The linker's own
# folder stays for as long as the linker works, and then goes, too.
cat >killer <<'SH'
#!/bin/sh
kill -KILL $PPID
sleep 0.2
mktemp >models/kept
SH
chmod +x killer
before=$(ls)
for out in k.so k.o; do
    run 137 sh -c 'TMPDIR=scratch TCTUNE_LINKER=./killer "$1" build --te weights.te --threads 1 --out "$2"; exit $?' \
        sh "$TCTUNE" $out
    while [ -n "$(ls -A scratch)" ]; do
        sleep 0.01
    done
    grep -q "^\./scratch/tctune-" models/kept || fail "the linker's scratch files lie elsewhere: $(cat models/kept)"
    rm models/kept
    [ "$(ls)" = "$before" ] || fail "something is left: $(ls)"
done
rm killer

run 1 limited 16 "$TCTUNE" --te gemm.te --trials 4 --threads 1 --db small.db
grep -qF small.db err || fail "the message does not name the database"
grep -q "disk\|limit\|space" err || fail "the message does not say what is full"
rm -f small.db small.db-wal small.db-shm
if [ -w /dev/full ]; then
    status=0
    "$TCTUNE" bench --te gemm.te --repeats 3 --json >/dev/full 2>err || status=$?
    [ "$status" -eq 1 ] || fail "exit status $status for a report that could not be written"
    grep -q "standard output could not be written" err || fail "no message about standard output"
fi
status=0
{ "$TCTUNE" help && "$TCTUNE" show --te gemm.te || echo $? >status; } 2>err | head -n 1 >out
grep -q "usage" out || fail "a closed pipe"

# Room for the records that go, but not for the copy that gives their space back.
ok "$TCTUNE" --te gemm.te --trials 24 --threads 1 --deterministic-measure --db prune.db
ok "$TCTUNE" db export --db prune.db --out before.json
run 1 limited 16 "$TCTUNE" db prune --keep 2 --db prune.db
grep -qF prune.db err && grep -q "disk\|limit\|space\|output error" err || fail "the message does not say what is full"
ok "$TCTUNE" db verify --db prune.db
ok "$TCTUNE" db prune --keep 2 --db prune.db

# What was there before the disk was full is still there.
run 1 limited 16 "$TCTUNE" --te gemm.te --trials 4000 --threads 1 --stop-at-roof 9 --db good.db
ok "$TCTUNE" export --db good.db --out records.json
[ "$(wc -l <records.json)" -ge 4 ] || fail "records were lost"

echo "$checks checks"
