# deploy/fleet-up: certificates, users, a server and workers, and a search by them. TCTUNE: the command; DEPLOY: the folder;
# NATS_SERVER: the server's program.
set -eu

work=$(mktemp -d "${TMPDIR:-/tmp}/deploy-XXXXXX")
PATH=$(dirname "$TCTUNE"):$(dirname "$NATS_SERVER"):$PATH
up=
leave() {
    [ -z "$up" ] || kill -TERM "$up" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap leave EXIT
cd "$work"
fail() {
    echo "FAILED: $*" >&2
    for file in out up.log lab/nats.log; do
        [ ! -f "$file" ] || sed "s|^|  $file: |" "$file" >&2
    done
    exit 1
}

cat >gemm.te <<TE
tensor X[32, 64] f32
tensor W[64, 48] f32 const
compute Y[i:32, j:48] = sum(k:64) X[i, k] * W[k, j]
output Y
TE

# ---- keys that cannot sign ----
mkdir keys
cd keys
key=$("$TCTUNE" worker --print-key)
"$DEPLOY/fleet-user" worker good "$key" || fail "no user is made"
"$DEPLOY/fleet-user" tuner other || fail "no user is made"
"$DEPLOY/fleet-user" check good.nk || fail "a good key is refused"
seed=$(head -n 1 good.nk) public=$(tail -n 1 good.nk)
bad() { # TEXT SEED PUBLIC
    printf '%s\n%s\n' "$2" "$3" >bad.nk
    if "$DEPLOY/fleet-user" check bad.nk >../out 2>&1; then fail "a bad key is taken: $1"; fi
    grep -qF "fleet-user: bad.nk: $1" ../out || fail "it does not say: $1"
}
swap() { # TEXT: with another letter at the end
    case $1 in
    *A) echo "${1%?}B" ;;
    *) echo "${1%?}A" ;;
    esac
}
bad "there is no seed of a user in it" "" "$public"
bad "there is no public key of a user in it" "$seed" ""
bad "the seed is damaged: its checksum is wrong" "$(swap "$(echo "$seed" | cut -c 1-20)")$(echo "$seed" | cut -c 21-)" "$public"
bad "the seed is damaged: it has 50 characters" "$(echo "$seed" | cut -c 1-50)" "$public"
bad "the seed is damaged: it is not in base32" "$(echo "$seed" | cut -c 1-57)0" "$public"
bad "its seed is of an account, not of a user" "SA$(echo "$seed" | cut -c 3-)" "$public"
bad "the public key is damaged: its checksum is wrong" "$seed" \
    "$(swap "$(echo "$public" | cut -c 1-20)")$(echo "$public" | cut -c 21-)"
bad "its public key is not that of its seed" "$seed" "$(tail -n 1 other.nk)"
if "$DEPLOY/fleet-user" check none.nk >../out 2>&1; then fail "a key that is not there is taken"; fi
printf '%s\n%s\n' "$(swap "$(echo "$seed" | cut -c 1-20)")$(echo "$seed" | cut -c 21-)" "$public" >bad.nk
if "$TCTUNE" fleet status --nats nats://127.0.0.1:1 --nkey bad.nk >../out 2>&1; then fail "there is no server"; fi
grep -qF "bad.nk: the seed in it is damaged" ../out || fail "the command does not say what is wrong with its key"
cd ..

# Any free port may be taken by another before the server has it: then another one.
for port in 24222 25222 26222 27222; do
    "$DEPLOY/fleet-up" lab 2 "$port" >up.log 2>&1 &
    up=$!
    tries=0
    until [ "$(grep -c serves up.log)" -eq 2 ] || ! kill -0 "$up" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 1800 ] || fail "the workers do not come"
        sleep 0.1
    done
    ! kill -0 "$up" 2>/dev/null || break
done
kill -0 "$up" 2>/dev/null || fail "the fleet does not come up"

options=$(sed -n 's/^tune with: --fleet //p' up.log)
# shellcheck disable=SC2086 # an address and options
"$TCTUNE" tune --te gemm.te --trials 8 --batch 4 --deterministic-measure --start-from none --db x.db --fleet $options >out 2>&1 ||
    fail "the search"
"$TCTUNE" export --db x.db --out x.json >>out
[ "$(grep -c '"host":"w[12]@' x.json)" -eq 8 ] || fail "records do not name their workers"

# ---- who is not one of the users is not let in; nor is one who does not know the server's certificate ----
if "$TCTUNE" fleet status --nats "tls://127.0.0.1:$port" --tls-ca lab/fleet.crt >out 2>&1; then fail "anybody is let in"; fi
grep -q "does not let this user in" out || fail "it does not say that nobody is let in without a key"
if "$TCTUNE" fleet status --nats "tls://127.0.0.1:$port" --nkey lab/desk.nk >out 2>&1; then
    fail "an unknown certificate is taken"
fi

# ---- it ends with all that it began, and goes on with the same users ----
kill -TERM "$up"
wait "$up" || fail "exit status $? at the end"
up=
if "$TCTUNE" fleet status --nats "tls://127.0.0.1:$port" --nkey lab/desk.nk --tls-ca lab/fleet.crt >out 2>&1; then
    fail "the server is still there"
fi
head -n 1 lab/w1.nk >half && mv half lab/w1.nk
if "$DEPLOY/fleet-up" lab 1 "$port" >out 2>&1; then fail "a fleet comes up whose worker cannot sign"; fi
grep -qF "fleet-user: w1.nk: there is no public key of a user in it" out || fail "it does not say which key is bad"
