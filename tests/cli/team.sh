# Whose threads run a library: its own, or OpenMP's.
. "$(dirname "$0")/check.sh"

mkdir default own openmp
for team in default own openmp; do
    option="--team $team"
    [ $team != default ] || option=""
    for end in so o; do
        # shellcheck disable=SC2086 # no word, or two
        ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name net $option -o $team/net.$end
    done
    whose=$team
    [ $team != default ] || whose=own
    ok "$TCTUNE" show --model $team/net.so
    says "team     $whose"
    ok "$TCTUNE" show --model $team/net.so --json
    [ "$(json out team)" = $whose ] || fail "$team: the note has another team"
done
cmp -s default/net.so own/net.so || fail "the default is not the library's own team"

# ---- what a library needs ----
for team in own openmp; do
    ! grep -q "libgomp" $team/net.so || [ $team = openmp ] || fail "a library with threads of its own needs OpenMP's runtime"
    grep -q "libgomp" $team/net.so || [ $team = own ] || fail "a library with OpenMP's team does not need its runtime"
    checks=$((checks + 1))
done
grep -q OMP_STACKSIZE openmp/net.h || fail "the header does not say what sets the stacks of OpenMP's threads"
! grep -q OpenMP own/net.h || fail "the header speaks of OpenMP"

# ---- what is refused ----
refused 2 "--team needs own or openmp, not 'opnmp'; did you mean openmp?" "$TCTUNE" build gemm.te --untuned -o new.so --team opnmp
refused 2 "--team own goes with libraries and objects" "$TCTUNE" build gemm.te --untuned -o new.c --team own
mkdir source
ok "$TCTUNE" build --te gemm.te --untuned --threads 2 --name net --team openmp -o source/net.c
ok "$TCTUNE" build --te gemm.te --untuned --target neoverse-v1 --threads 2 --team openmp -o arm.o # for this no compiler is needed
# Another architecture's team is compiled: where no compiler is, the default is OpenMP's, and what was asked for is an error.
if "$TCTUNE" build --te gemm.te --untuned --target neoverse-v1 --threads 2 --team own -o arm.o >out 2>err; then
    ! grep -q GOMP_parallel arm.o || fail "the object calls OpenMP's runtime"
else
    grep -q "own team must be compiled.*no C compiler" err || fail "it is not said why there is no library"
fi

# ---- a program with an OpenMP loop: the same results, and one team or two ----
command -v cc >/dev/null || { echo "skipped: there is no C compiler, so no program used a library"; exit 77; }
cat >program.c <<'C'
#include <dirent.h>
#include <omp.h>
#include <stdio.h>
#include "net.h"

static float x[48 * 64], y[48 * 80];

static int threads(void) {
    int n = 0;
    DIR *d = opendir("/proc/self/task");
    for (struct dirent *e; d && (e = readdir(d));)
        n += e->d_name[0] != '.';
    if (d)
        closedir(d);
    return n;
}

int main(int argc, char **argv) {
    const void *in[] = {x};
    void *out[] = {y};
    int sum = 0;
    FILE *f = fopen("results", "wb");
#pragma omp parallel for num_threads(2) reduction(+ : sum)
    for (int i = 0; i < 48 * 64; i++) {
        x[i] = (float)(i % 7) - 3;
        sum += i % 7;
    }
    for (int i = 0; i < 10; i++)
        if (net_run(in, out))
            return 1;
    if (!f || fwrite(y, sizeof y, 1, f) != 1 || fclose(f))
        return 2;
    printf("sum %d\n", sum);
    fprintf(stderr, "%d threads\n", threads());
    return (void)argv, argc - 1;
}
C
for team in own openmp; do
    for end in so o; do
        cc -O1 -fopenmp -Wall -Werror -I$team program.c $team/net.$end -lm -o $team/with_$end
        ok env LD_LIBRARY_PATH=$team $team/with_$end
        says "sum 9213"
        n=$(sed 's/ threads//' err)
        if [ $team = openmp ]; then
            [ "$n" -eq 2 ] || fail "the loop and the library have $n threads, not one team of 2"
        elif [ "$(nproc)" -gt 1 ]; then
            [ "$n" -eq 3 ] || fail "the loop and the library have $n threads, not two teams of 2"
        fi
        [ -e want ] || cp results want
        cmp results want || fail "$team/net.$end computes something else"
    done
done

# Bound to places of one CPU each, the library has its threads still.
for bound in OMP_PROC_BIND=close OMP_PLACES=threads; do
    ok env "$bound" OMP_PROC_BIND=close LD_LIBRARY_PATH=own own/with_so
    [ "$(nproc)" -eq 1 ] || [ "$(sed 's/ threads//' err)" -eq 3 ] || fail "with $bound: $(cat err), not two teams of 2"
    cmp results want || fail "with $bound something else is computed"
done

# An object with threads of its own needs no OpenMP.
grep -v "omp" program.c >plain.c
cc -O1 -Wall -Werror -Iown plain.c own/net.o -lm -pthread -o plain
ok ./plain
cmp results want || fail "without OpenMP something else is computed"
echo "$checks checks"
