# Prints what zsh's completion proposes for LINE, one a line: propose.zsh FOLDER LINE. Another zsh, on a terminal of its own,
# completes LINE and lists what it found. The completions are read once, and kept in $ZDOTDIR for the next line.
zmodload zsh/zpty
zpty shell zsh -f -i
run() { zpty -w shell "$1" }
# Reads until a line that holds the mark.
until_mark() {
    local line all=
    while zpty -r shell line; do
        all+=$line
        [[ $line == *"$1"* ]] && break
    done
    print -r -- $all
}
run "PS1= PS2= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; unset zle_bracketed_paste; stty -echo; fpath=(${(q)1} \$fpath)"
run 'autoload -Uz compinit; compinit -u -C; zstyle ":completion:*" completer _complete'
run 'zstyle ":completion:*" list-grouped false; zstyle ":completion:*" verbose false; zstyle ":completion:*" insert-tab false'
# The words are caught where they are handed to the shell.
run 'compadd() {
    local -a found
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)* ]]; then builtin compadd "$@"; return; fi
    builtin compadd -O found "$@"
    print -rl -- $found >>$proposed
    builtin compadd "$@"
}'
run "proposed=\$(mktemp); complete-and-end() { zle complete-word; print -r -- MARK-\$proposed-MARK; zle kill-whole-line }"
run 'zle -N complete-and-end; bindkey "^I" complete-and-end; print READY-"$((1+1))"'
until_mark READY-2 >/dev/null
zpty -w -n shell "$2"$'\t'
all=$(until_mark MARK-)
file=${${all##*MARK-}%%-MARK*}
[[ -s $file ]] && sort -u $file | sed 's/^--\([a-z-]*\)=$/--\1/'
rm -f $file
zpty -d shell
