# What the completion of bash proposes for a line, one a line: propose.bash COMPLETION LINE. `=` is a word of its own there.
. "$1"
read -ra COMP_WORDS <<<"${2//=/ = }"
[[ $2 != *[\ =] ]] || COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_tctune
((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
