#!/bin/sh
# What shells propose for a command line. The same lines are put to every shell that is there; one that is not is said.
#   completions.sh MANUAL-FOLDER TEST-FOLDER
set -eu
manual=$1 here=$2
failed=0 shells=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/some" "$work/home"
cd "$work/some"
touch net.onnx net.so gemm.te tuned.db notes.txt data.npz mine.sched
mkdir inner

# The words that are there are proposed, those behind "not" are not.
cat >"$work/lines" <<'LINES'
tctune q|quantize|not tune zoo
tctune |tune db zoo|not stats --json
tctune db |stats merge prune verify export import|not tune
tctune db m|merge|not stats
tctune --mod|--model|not --help
tctune tune --tr|--trials|not --model
tctune doctor --|--threads --quick --json --help|not --model
tctune tune --mode |auto hot cold|not strict
tctune tune --accuracy s|strict|not fast
tctune tune --accuracy=s|strict|not fast
tctune quantize --weights-only |8 4|not 16
tctune run --opt-level |0 1 2 3|not 4
tctune tune --te |gemm.te|not --model
tctune --model |net.onnx net.so|not --te
tctune db merge --db |tuned.db|not --db
tctune db merge |tuned.db|not --db
tctune run --inputs |data.npz|not --model
tctune tune --start-from |none notes.txt|not auto
tctune bench --sched |mine.sched|not best
tctune build -o |notes.txt|not strict
tctune tune --threads ||not notes.txt --model
tctune tune |net.onnx gemm.te|not --model
tctune show |net.onnx net.so gemm.te|not --model
tctune compare |gemm.te|not --model
tctune tune --vers|--version|not --model
tctune --vers|--version|not --model
tctune worker ||not net.onnx
LINES

# Of files with a suffix these shells propose no others.
cat >"$work/strict" <<'LINES'
tctune tune --te ||not notes.txt tuned.db
tctune --model ||not notes.txt tuned.db
tctune db merge ||not net.onnx notes.txt
tctune tune ||not notes.txt net.so
LINES

check() { # SHELL FILE
    while IFS='|' read -r line has hasnot; do
        "$1_proposes" "$line" >"$work/proposed" 2>"$work/err" || { cat "$work/err"; failed=1; }
        for word in $has; do
            grep -qx -e "$word" "$work/proposed" ||
                { echo "$1: '$line' does not propose $word: $(tr '\n' ' ' <"$work/proposed")"; failed=1; }
        done
        for word in ${hasnot#not }; do
            ! grep -qx -e "$word" "$work/proposed" || { echo "$1: '$line' proposes $word"; failed=1; }
        done
    done <"$2"
}

bash_proposes() {
    bash --norc "$here/propose.bash" "$manual/tctune.bash" "$1"
}
zsh_proposes() {
    ZDOTDIR="$work/home" zsh -f "$here/propose.zsh" "$manual" "$1"
}
fish_proposes() {
    HOME="$work/home" fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$manual/tctune.fish" "$1" |
        cut -f1 | sed 's/^--[a-z-]*=//'
}

if command -v bash >/dev/null; then
    bash -n "$manual/tctune.bash"
    check bash "$work/lines"
    check bash "$work/strict"
    shells=$((shells + 1))
else
    echo "there is no bash here"
fi
if command -v zsh >/dev/null && ! zsh -fc 'zmodload zsh/zpty && zpty probe true' 2>/dev/null; then
    echo "zsh has no pseudo-terminal here, and was not tried"
elif command -v zsh >/dev/null; then
    zsh -n "$manual/_tctune"
    check zsh "$work/lines"
    check zsh "$work/strict"
    shells=$((shells + 1))
else
    echo "there is no zsh here (scripts/install-deps.sh)"
fi
if command -v fish >/dev/null; then
    fish -n "$manual/tctune.fish"
    check fish "$work/lines"
    shells=$((shells + 1))
else
    echo "there is no fish here (scripts/install-deps.sh)"
fi
echo "$shells shells"
[ "$shells" -gt 0 ] || exit 77
exit $failed
