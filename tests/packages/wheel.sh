# What a user of the wheel does first, in a folder of its own: a network is tuned, built, timed and run by the command, and again
# from Python.
#   wheel.sh VERSION
set -eu
cd /tmp/job
fail() {
    echo "job: $*"
    exit 1
}
tctune --version | grep -F "$1" || fail "the command says another version than $1"
[ "$(python3 -m tctune --version)" = "$(tctune --version)" ] || fail "python3 -m tctune is another command"
if tctune no-such-command >refused 2>&1; then fail "an unknown command was taken"; fi
tctune zoo bert-tiny mlp >/dev/null
tctune --model bert-tiny.onnx --trials 32 --db tuning.db --out model.so >report 2>progress || { cat progress; fail "no search"; }
grep -q '^model.so is built' report || { cat report; fail "no library"; }
[ "$(grep -c 'measured [0-9]* in this run: 0 valid' report)" = 0 ] || { cat report; fail "no candidate was valid"; }
tctune bench --model model.so --repeats 5 | grep '^model.so: median'
tctune run --model model.so --seed 1 --outputs ours.npz >/dev/null

python3 -B - <<'END'
import tctune

tctune.tune("mlp.onnx", trials=12, threads=1, db="tuning.db")
with tctune.Database("tuning.db") as db:
    assert db.records(verified=True), "nothing was measured"
place = tctune._ffi._candidates()[0]
assert place == tctune._place.LIBRARY, f"the library is {place}, not the wheel's own"
END
python3 -B job.py
for left in /tmp/*; do
    [ "$left" = /tmp/job ] || fail "$left is left in /tmp"
done
