# tctune db: what a database holds, and what is done with whole ones.
. "$(dirname "$0")/check.sh"

tune() { # DATABASE TRIALS [OPTIONS...]
    db=$1
    trials=$2
    shift 2
    ok "$TCTUNE" --te gemm.te --trials "$trials" --threads 1 --batch 4 --stop-at-roof 9 --db "$db.all" "$@"
    ok "$TCTUNE" export --db "$db.all" --out all.json # without the comparison at the end
    grep -v '"mode":"in-graph"' all.json >searched.json
    ok "$TCTUNE" import searched.json --db "$db"
}

# ---- stats ----
tune a.db 8
tune b.db 8 --seed 1
ok "$TCTUNE" db stats --db a.db
says workload GFLOP/s "8 records of 1 workloads" "p0[48, 64] p1[64, 80]" hot "target" schema
ok "$TCTUNE" db stats --db a.db --json
[ "$(json out records)" -eq 8 ] || fail "not 8 records"
[ "$(json out summaries.0.records)" -eq 8 ] || fail "not 8 records of the kernel"
[ "$(json out summaries.0.mode)" = hot ] || fail "the mode"
best=$(json out summaries.0.best_ms)
for key in hash workload target threads valid verified best best_rounds first_ms last_ms; do
    json out summaries.0.$key >/dev/null
done

# ---- readers leave no file beside the database ----
alone() { # DATABASE
    [ ! -e "$1-wal" ] && [ ! -e "$1-shm" ] || fail "a reader left a file beside $1"
}
ok "$TCTUNE" show --te gemm.te --db a.db
alone a.db
ok "$TCTUNE" build --te gemm.te --db a.db --threads 1 --out gemm.so
alone a.db
ok "$TCTUNE" bench --te gemm.te --db a.db --threads 1 --repeats 3
alone a.db

# ---- merge ----
ok "$TCTUNE" db merge a.db b.db --db all.db
says "a.db: 8 records added to all.db, 0 were there" "b.db: 8 records added"
ok "$TCTUNE" db merge b.db a.db --db all.db
says "b.db: 0 records added to all.db, 8 were there" "a.db: 0 records added"
ok "$TCTUNE" db stats --db all.db --json
[ "$(json out records)" -eq 16 ] || fail "not 16 records"
refused 1 "none.db|no such file" "$TCTUNE" db merge a.db none.db --db fresh.db

# ---- export and import: as before, and under db ----
ok "$TCTUNE" db export --db all.db --out all.json
[ "$(wc -l <all.json)" -eq 16 ] || fail "not 16 lines"
ok "$TCTUNE" db import all.json --db copy.db
says "16 records added"
ok "$TCTUNE" import all.json --db copy.db
says "0 records added"
sed 's/,"mode":"hot","rounds":[0-9]*//' all.json >old.json # as older versions wrote them
! grep -q '"mode"' old.json || fail "the field is still there"
ok "$TCTUNE" db import old.json --db old.db
says "16 records added"
{ cat all.json; printf '\0'; cat all.json; } >zero.json
refused 1 "zero.json:17: found a zero byte" "$TCTUNE" db import zero.json --db refused.db
sed '3s/"when_ms":[0-9]*/"when_ms":-1/' all.json >bad.json
refused 1 "bad.json:3" "$TCTUNE" db import bad.json --db refused.db
[ ! -e refused.db ] || fail "a file that was refused made a database"

# ---- verify ----
ok "$TCTUNE" db verify --db all.db
says "1 workloads, 1 targets, 16 records" "16 traces replay" "0 of these now make another program"
ok "$TCTUNE" db verify --rerun --db all.db
says "measured again" "1 measured again, 0 failed, 0 skipped" recorded

# ---- a program that failed once is used no more, whoever saw it fail ----
ok "$TCTUNE" bench --te gemm.te --db copy.db --threads 1 --repeats 3 --json
bad=$(json out kernels.0.record)
sed -n "${bad}p" all.json | sed 's/"error":"ok"/"error":"wrong_result"/; s/"times":\[[^]]*\]/"times":[]/; s/"median":[^,]*,//
    s/"verified":true/"verified":false/; s/"mode":"hot"/"mode":"cold"/; s/"when_ms":[0-9]*/"when_ms":1/' >failure.json
ok "$TCTUNE" import failure.json --db copy.db
says "1 records added"
ok "$TCTUNE" build --te gemm.te --db copy.db --threads 1 --out gemm.so --json
[ "$(json out kernels.0.source)" = record ] || fail "the other records are not used"
[ "$(json out kernels.0.record)" != "$bad" ] || fail "a model is built from a program that gave a wrong result"
ok "$TCTUNE" --te gemm.te --trials 17 --stop-at-roof 9 --threads 1 --db copy.db --json
[ "$(json out unreliable)" -eq 0 ] || fail "what was known to be no good was run again"

# ---- prune ----
ok "$TCTUNE" db prune --keep 1 --db a.db
says "a.db: 7 records"
ok "$TCTUNE" db stats --db a.db --json
[ "$(json out records)" -eq 1 ] || fail "not 1 record"
[ "$(json out summaries.0.best_ms)" = "$best" ] || fail "the best was removed"
ok "$TCTUNE" db prune --drop-failures --db a.db
says "a.db: 0 records"
ok "$TCTUNE" bench --te gemm.te --db a.db --threads 1 --repeats 3
says record
refused 1 "none.db|no such database" "$TCTUNE" db prune --keep 1 --db none.db

echo "$checks checks"
