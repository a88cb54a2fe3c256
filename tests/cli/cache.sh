# The cache folder. Objects are kept between commands and never matter to the result: a second build finds them; damage, --no-cache
# and a place that cannot be used mean compiling again; each time the library computes the same, bit for bit.
. "$(dirname "$0")/check.sh"
model=$models/dense.onnx
cache=$work/cache

build() { # OUT [OPTION...]: the library OUT.so, which computes what the first one does
    out=$1
    shift
    ok "$TCTUNE" build --model "$model" --untuned --name net --out "$out.so" "$@"
    ok "$TCTUNE" run --model "$out.so" --inputs "$models/x.npz" --check y.npz --rtol 0 --atol 0
}

objects() {
    find "$cache" -name '*.o' 2>/dev/null | wc -l
}

export TCTUNE_CACHE="$cache"
ok "$TCTUNE" build --model "$model" --untuned --name net --out first.so --no-cache
ok "$TCTUNE" run --model first.so --inputs "$models/x.npz" --outputs y.npz
[ "$(objects)" -eq 0 ] || fail "--no-cache kept objects"
build cold
kept=$(objects)
[ "$kept" -gt 0 ] || fail "nothing was kept"
build warm
[ "$(objects)" -eq "$kept" ] || fail "the second build compiled something"

for f in "$cache"/*.o; do
    echo damage >"$f"
done
build damaged

# Others could have put code there.
chmod 0777 "$cache"
build others
ok "$TCTUNE" bench --model "$model" --untuned --repeats 2
[ "$(grep -c "cache folder '$cache' is not used.*chmod go-w" err)" -eq 1 ] || fail "it is not said, or not once"
[ "$(objects)" -eq "$kept" ] || fail "a folder that others can write to was used"
chmod 0700 "$cache"

# What others can read is no secret: what was found right with it is found again. It lies beside the objects, and --no-cache
# needs it.
db=$work/t.db
said=" is not used: others can read or write it"
admissions() {
    /usr/bin/python3 -c \
        'import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute("SELECT count(*) FROM admissions").fetchone()[0])' "$db"
}
grown() { # COMMAND...: whether it admitted anything
    before=$(admissions)
    ok "$@"
    [ "$(admissions)" -gt "$before" ]
}
ok "$TCTUNE" tune --model "$model" --trials 8 --stop-at-roof 9 --db "$db"
! grown "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --db "$db" ||
    fail "what tuning found right was run in a worker again"
! grown "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --db "$db" --no-cache || fail "--no-cache has another secret"
chmod 0644 "$cache/.secret"
grown "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --db "$db" || fail "a secret that others can read was used"
[ "$(grep -c "$said" err)" -eq 1 ] || fail "it is not said, or not once"
rm "$cache/.secret"
grown "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --db "$db" || fail "what another secret sealed was believed"
! grown "$TCTUNE" run --model "$model" --inputs "$models/x.npz" --db "$db" || fail "no other secret was made"

export TCTUNE_CACHE=/proc/nowhere
build nowhere
touch "$work/file"
export TCTUNE_CACHE="$work/file"
build file
ok "$TCTUNE" bench --model "$model" --untuned --repeats 2
unset TCTUNE_CACHE
export XDG_CACHE_HOME="$work/xdg"
build xdg
[ -n "$(ls "$work/xdg/tctune")" ] || fail "\$XDG_CACHE_HOME/tctune holds nothing"
echo "$checks checks"
