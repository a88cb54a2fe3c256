# The words behind the first argument that begin with it.
_tctune_words() {
    mapfile -t COMPREPLY < <(compgen -W "${*:2}" -- "$1")
}

# What a value can be that begins with the first argument: words, FILE, DIR, files with a suffix and folders on the way to them.
_tctune_complete() {
    local current=$1 kind
    local -a found words
    shift
    for kind in "$@"; do
        case $kind in
        FILE) mapfile -t -O ${#found[@]} found < <(compgen -f -- "$current") ;;
        DIR) mapfile -t -O ${#found[@]} found < <(compgen -d -- "$current") ;;
        .*) mapfile -t -O ${#found[@]} found < <(compgen -f -X "!*$kind" -- "$current") ;;
        *) words+=("$kind") ;;
        esac
        [[ $kind != .* ]] || mapfile -t -O ${#found[@]} found < <(compgen -d -- "$current")
    done
    _tctune_words "$current" "${words[@]}"
    ((${#found[@]})) || return
    compopt -o filenames 2>/dev/null
    mapfile -t found < <(printf '%s\n' "${found[@]}" | sort -u)
    COMPREPLY+=("${found[@]}")
}

_tctune() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} kinds first=2
    COMPREPLY=()
    if [[ $current == = ]]; then # --option=
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    [[ $previous != -o ]] || previous=--out
    if ((COMP_CWORD == 1)) && [[ $current != -* ]]; then
        _tctune_words "$current" "$(_tctune_commands)" help
        return
    elif [[ $command == help ]]; then
        ((COMP_CWORD > 2)) || _tctune_words "$current" "$(_tctune_commands)"
        return
    elif [[ -n $(_tctune_commands "$command") ]]; then
        if ((COMP_CWORD == 2)); then
            _tctune_words "$current" "$(_tctune_commands "$command")"
            return
        fi
        command="$command ${COMP_WORDS[2]}" first=3
    elif [[ $command == -* ]]; then
        command=tune first=1
    fi
    if ((COMP_CWORD > first)) && kinds=$(_tctune_values "$command $previous"); then
        :
    elif [[ $current == -* ]] || ! kinds=$(_tctune_values "$command"); then
        _tctune_words "$current" "$(_tctune_options "$command")"
        return
    fi
    local -a list
    read -ra list <<<"$kinds"
    _tctune_complete "$current" "${list[@]}"
} &&
    complete -F _tctune tctune
