# Networks whose sizes vary: what is assumed of them, run and timed at sizes that are asked for, and over their range.
. "$(dirname "$0")/check.sh"

# ---- what is assumed is said, once, and not where it is given ----
ok "$TCTUNE" build --model "$models/symbolic.onnx" --untuned --threads 1 -o s.so
[ "$(grep -c 'sizes assumed: batch=1..16; give others with --shape' err)" -eq 1 ] || fail "build does not say what it assumes"
ok "$TCTUNE" show --model s.so
says "x  f32[batch,48]" "batch = 1..16, assumed"
ok "$TCTUNE" build --model "$models/joined.onnx" --untuned --threads 1 --shape past=0..8 --shape sequence=2..6:2 -o j.so --json
grep -q 'sizes assumed: total=.*past.*; give others' err || fail "build does not say what a size is made of"
[ "$(json out kernels.0.variants)" -eq 1 ] || fail "build does not say how many programs serve a kernel"
ok "$TCTUNE" show --model j.so
says "p  f32[past,48]" "past = 0..8" "sequence = 2..6 in steps of 2" "total = " "2..14"
! grep -q 'past = 0..8, assumed\|y.shape' out || fail "show lists what was given as assumed, or sizes as outputs"
ok "$TCTUNE" run --model "$models/symbolic.onnx" --untuned --shape batch=1..3
! grep -q assumed err || fail "what was given is called assumed"

# ---- one size ----
ok "$TCTUNE" run --model s.so
says "y: f32[16,40]"
ok "$TCTUNE" run --model s.so --at batch=5
says "y: f32[5,40]"
ok "$TCTUNE" run --model "$models/symbolic.onnx" --untuned --at batch=3
says "y: f32[3,40]"
ok "$TCTUNE" run --model j.so --at past=3 # the others: 2, and what follows
says "y: f32[5,48]"
ok "$TCTUNE" run --model j.so --at past=0 --at sequence=6
says "y: f32[6,48]"
ok "$TCTUNE" run --model j.so --at past=1 --at sequence=4 --at total=5
says "y: f32[5,48]"
ok "$TCTUNE" run --model j.so
says "y: f32[14,48]"
ok "$TCTUNE" bench --model j.so --at past=3 --at sequence=4 --repeats 3
says "j.so sequence=4 past=3 total=7: median"
! grep -q 'GFLOP/s, ' out || fail "operations of the largest sizes are called those of a smaller one"
ok "$TCTUNE" bench --model s.so --at batch=5 --repeats 3 --json
[ "$(json out sizes.batch)" -eq 5 ] || fail "bench --json does not say the size"
[ "$(json out gflops)" = null ] || fail "a rate is told for a size whose operations are not counted"
ok "$TCTUNE" bench --model s.so --inputs "$models/x.npz" --repeats 3 --json
[ "$(json out sizes.batch)" -eq 8 ] || fail "bench does not say the size of given inputs"

# ---- the range ----
ok "$TCTUNE" bench --model s.so --repeats 3
says "s.so over batch" " 11 " " 16 " "##"
ok "$TCTUNE" bench --model j.so --repeats 3 --json
[ "$(json out curves.0.over)" = sequence ] || fail "the first curve is not that of the first size"
[ "$(json out curves.0.points.2.sizes.total)" -eq 7 ] || fail "a size that others make does not follow them"
[ "$(json out curves.1.points.0.sizes.past)" -eq 0 ] || fail "the curve does not begin at the least size"
[ "$(json out curves.1.points.6.sizes.past)" -eq 8 ] || fail "the curve does not end at the largest size"
[ "$(json out curves.1.points.6.repeats)" -eq 3 ] || fail "the curve does not say how often it was timed"

# ---- a size that another must divide ----
ok "$TCTUNE" build --model "$models/divided.onnx" --untuned --threads 1 --shape n=3..12 --shape parts=2..4 -o d.so
ok "$TCTUNE" show --model d.so
says "n is a multiple of parts, for node 'divide' (Reshape): the number of elements of 'x'"
ok "$TCTUNE" run --model d.so --at n=12 --at parts=3
says "y: f32[3,4]"
ok "$TCTUNE" run --model d.so --at parts=4 # the least that goes with it
says "y: f32[4,1]"
ok "$TCTUNE" run --model d.so
says "y: f32[4,3]"
ok "$TCTUNE" bench --model d.so --repeats 3
says "d.so over n" "d.so over parts"
refused 2 'n is 7|multiple of parts, which is 2' "$TCTUNE" run --model d.so --at n=7 --at parts=2

# ---- windows that are larger than what they move over ----
ok "$TCTUNE" build --model "$models/windows.onnx" --untuned --threads 1 --shape n=1..16 -o w.so
ok "$TCTUNE" run --model w.so --at n=7
says "y: f32[1,2,1]"
for source in w.so "$models/windows.onnx --untuned --shape n=1..16"; do
    refused 2 "node 'wide' (LpPool): dimension 2 of 'h', |is 2 (n is 5)|at least 3; the next larger n that fits is 7" \
        "$TCTUNE" run --model $source --at n=5
done
refused 1 "node 'wide' (LpPool)|the window has 3 elements, but dimension 2 of 'h' has 2; give at least 3 there" \
    "$TCTUNE" run --model "$models/windows.onnx" --untuned --shape n=5

# ---- sizes that must be equal, of which none makes the other ----
ok "$TCTUNE" build --model "$models/equal.onnx" --untuned --threads 1 --shape n=1..16 --shape m=1..16 -o e.so
ok "$TCTUNE" show --model e.so
says "n = 2..15" "m = 2..10" "n * 2 is m * 3, for node 'meet' (Add): dimension 0 of 'xx' and dimension 0 of 'ttt'"
ok "$TCTUNE" run --model e.so --at n=9
says "y: f32[18]"
ok "$TCTUNE" run --model e.so
says "y: f32[30]"
ok "$TCTUNE" bench --model e.so --repeats 3
says "e.so over m" " 6   4 " "15  10 "
refused 2 "node 'meet'|n * 2 is 14 (n is 7)|m * 3 is 12 (m is 4)" "$TCTUNE" run --model e.so --at n=7 --at m=4

# ---- a picture of it: one point for each of the table's ----
cp s.so 'a&b<c.so'
ok "$TCTUNE" bench --model 'a&b<c.so' --repeats 3 --plot one.svg
points=$(grep -c '##*$' out)
[ "$(grep -c '<circle' one.svg)" -eq "$points" ] || fail "the picture has not the $points points of the table"
grep -q '>a&amp;b&lt;c.so over batch<' one.svg || fail "the picture does not say what it is of, or breaks at a name"
grep -q '<title>batch=16: ' one.svg || fail "no point of the picture says its size"
[ "$(head -c 4 one.svg)" = '<svg' ] && [ "$(tail -n 1 one.svg)" = '</svg>' ] || fail "the picture is no SVG"
! grep -q 'nan\|inf\|"-' one.svg || fail "something in the picture has no place"
ok "$TCTUNE" bench --model j.so --repeats 3 --plot two.svg --json
[ "$(grep -c '<polyline' two.svg)" -eq 2 ] || fail "there is not a curve for each size"
grep -q '>j.so over past, sequence = 2<' two.svg || fail "a curve does not say what the other sizes are"
grep -q '>0</text>' two.svg || fail "a size of 0 is not on the axis"
! grep -q 'nan\|inf' two.svg || fail "a size of 0 has no place"
ok "$TCTUNE" bench --model s.so --repeats 3 --at batch=3 --plot at.svg
grep -q '>s.so batch=3<' at.svg && grep -q '<rect x=' at.svg || fail "the kernels at one size are not drawn"
refused 1 'no/x.svg' "$TCTUNE" bench --model s.so --plot no/x.svg
[ ! -e x.svg ] || fail "a refused picture was written"

# ---- a cache that grows in place: the same outputs, in a buffer of its own ----
ok "$TCTUNE" build --model "$models/cache.onnx" --untuned --threads 1 --shape past=0..8 --shape sequence=1..4 --in-place-cache \
    -o c.so
grep -q 'inputs\[1\].* p .*one buffer with outputs\[0\]' c.h || fail "the header does not say which input and output are one buffer"
ok "$TCTUNE" run --model "$models/cache.onnx" --untuned --shape past=0..8 --shape sequence=1..4 --at past=3 --at sequence=2 \
    --outputs copied.npz
for source in c.so "$models/cache.onnx --untuned --shape past=0..8 --shape sequence=1..4 --in-place-cache"; do
    ok "$TCTUNE" run --model $source --at past=3 --at sequence=2 --check copied.npz --rtol 0 --atol 0
done
ok "$TCTUNE" bench --model c.so --repeats 3
says "c.so over sequence" "c.so over past"
ok "$TCTUNE" build --model "$models/buffer.onnx" --untuned --threads 1 --in-place-cache -o g.so
grep -q 'outputs\[0\].*\[1,1,6,4\]  key  (one buffer with inputs\[1\]' g.h || fail "the header does not say that key is old_key"
ok "$TCTUNE" run --model "$models/buffer.onnx" --untuned --inputs "$models/buffer.npz" --outputs copied.npz
for source in g.so "$models/buffer.onnx --untuned --in-place-cache"; do
    ok "$TCTUNE" run --model $source --inputs "$models/buffer.npz" --check copied.npz --rtol 0 --atol 1e-6
    refused 1 "'attend'|total_sequence_length|6" "$TCTUNE" run --model $source --inputs "$models/longer.npz"
done
refused 1 "no cache can grow in place|--in-place-cache" "$TCTUNE" build --model "$models/symbolic.onnx" --untuned --in-place-cache \
    -o none.so
refused 2 "c.so|give --in-place-cache to" "$TCTUNE" bench --model c.so --in-place-cache
refused 2 "goes with --model" "$TCTUNE" build --te "$models/none.te" --in-place-cache -o none.so

# ---- what is refused ----
for command in run bench; do
    refused 2 "--at bitch=3|has no size 'bitch'; did you mean batch?|batch = 1..16" "$TCTUNE" $command --model s.so --at bitch=3
    refused 2 '--at batch=many|expected NAME=SIZE' "$TCTUNE" $command --model s.so --at batch=many
    refused 2 '--at batch=17|from 1 to 16' "$TCTUNE" $command --model s.so --at batch=17
    refused 2 '--at batch=0|from 1 to 16' "$TCTUNE" $command --model s.so --at batch=0
    refused 2 'given once' "$TCTUNE" $command --model s.so --at batch=3 --at batch=3
    refused 2 'sequence=3|in steps of 2' "$TCTUNE" $command --model j.so --at sequence=3
    refused 2 "size 'total' is 9|past|which is 5|sequence is 4" "$TCTUNE" $command --model j.so --at past=1 --at sequence=4 \
        --at total=9
    refused 2 'no size of the network varies' "$TCTUNE" $command --model "$models/dense.onnx" --untuned --at batch=3
    refused 2 '--at|--inputs|exclude' "$TCTUNE" $command --model s.so --at batch=3 --inputs "$models/x.npz"
done

echo "$checks checks"
