# examples/ci: the script that a CI job runs, without a base, with a base, and with a faster base. The workflow runs that script.
. "$(dirname "$0")/check.sh"
examples=$SOURCE/examples/ci
PATH=$(dirname "$TCTUNE"):$PATH
export PATH MODEL=mlp.onnx DB=t.db BASE=base.json THREADS=1 REPEATS=11
ok "$TCTUNE" zoo mlp
ok "$TCTUNE" tune --model mlp.onnx --trials 8 --threads 1 --db t.db

ok "$examples/no-slower.sh"
says "base.json was made"
[ "$(json base.json threads)" -eq 1 ] || fail "the base is of other threads"
ok "$examples/no-slower.sh"
says "nothing is slower"
[ "$(json verdict.json kernels_not_compared)" -eq 0 ] || fail "something was not compared"

# A base that cannot be compared: another number of threads.
run 1 env THREADS=2 "$examples/no-slower.sh"
grep -q "could not be compared" err || fail "it is not said"
# One that is faster beyond doubt: the status of bench is passed on. A command of that name stands in for a slower network.
mkdir fake
printf '#!/bin/sh\n[ "$1" = doctor ] || exit 3\n' >fake/tctune
chmod +x fake/tctune
run 3 env PATH="$PWD/fake:$PATH" "$examples/no-slower.sh"
grep -q "slower than in base.json" err || fail "it is not said"

# The workflow runs it, with variables that it reads.
grep -q "run: .*/examples/ci/no-slower.sh" "$examples/workflow.yml" || fail "the workflow runs something else"
for name in $(sed -n '/^    env:/,/^    steps:/s/^      \([A-Z]*\):.*/\1/p' "$examples/workflow.yml"); do
    grep -q "\${$name:-" "$examples/no-slower.sh" || fail "the script does not read $name"
    checks=$((checks + 1))
done

echo "$checks checks"
