# The quickstart's main job with what the packages installed, in a folder of its own: a network is tuned, built, timed and run by
# the command, built and run by a C program, and from Python.
#   job.sh whole | again     again: what the whole one left is used with the version that is installed now
set -eu
cd /tmp/job
fail() {
    echo "job: $*"
    exit 1
}
tctune --version
[ -s /usr/share/man/man1/tctune-tune.1.gz ] || fail "there is no manual page"
if [ "$1" = whole ]; then
    tctune zoo bert-tiny mlp
    tctune --model bert-tiny.onnx --trials 32 --db tuning.db --out model.so >report 2>progress ||
        { cat progress; fail "no search"; }
    grep 'trials in' report || fail "no report"
    grep -q '^model.so is built' report || fail "no library"
    [ "$(grep -c 'measured [0-9]* in this run: 0 valid' report)" = 0 ] || fail "no candidate was valid"
    tctune --model mlp.onnx --trials 12 --db tuning.db >report 2>progress || { cat progress; fail "no search"; }
fi
tctune build --model bert-tiny.onnx --db tuning.db --require-complete -o again.so >/dev/null
tctune bench --model model.so --repeats 5 | grep '^model.so: median'
tctune run --model model.so --seed 1 --outputs ours.npz >/dev/null
tctune run --model again.so --seed 1 --check ours.npz >/dev/null || fail "two libraries of one model differ"

# Examples, files for fleets, and the documentation are where the packages say.
doc=/usr/share/doc
for file in tctune/examples/deploy/fleet-up tctune/examples/deploy/fleet-user tctune/examples/ci/no-slower.sh; do
    [ -x "$doc/$file" ] || fail "there is no program $file"
done
for file in tctune/examples/deploy/nats.conf tctune/examples/deploy/tctune-worker.service tctune/examples/ci/workflow.yml; do
    [ -s "$doc/$file" ] || fail "there is no $file"
done
for page in index tutorial/1-first-model reference/c-api reference/options; do
    grep -q '</html>' "$doc/tctune/html/$page.html" || fail "there is no page $page"
done
for script in "$doc"/tctune/html/_static/*.js; do
    [ -s "$script" ] || fail "$script leads nowhere"
done
python3 -B "$doc/python3-tctune/examples/tune.py" mlp.onnx 4 >/dev/null || fail "the example for Python does not run"
for example in "$doc"/libtctune-dev/examples/*.c; do
    cc "$example" -o example -ltctune || fail "$example does not compile"
done
MODEL=mlp.onnx DB=tuning.db BASE=base.json "$doc/tctune/examples/ci/no-slower.sh" >/dev/null ||
    fail "the example for CI does not run"

cc "$doc/libtctune-dev/examples/build_and_run.c" -o build_and_run -ltctune
./build_and_run mlp.onnx tuning.db | head -1
python3 -B job.py
# Everything was cleaned up but what was asked for.
for left in /tmp/*; do
    [ "$left" = /tmp/job ] || fail "$left is left in /tmp"
done
