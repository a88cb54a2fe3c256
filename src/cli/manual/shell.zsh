# What a value can be: words, FILE, DIR, files with a suffix.
_tctune_values() {
    local kind ret=1
    local -a words_of suffixes
    for kind in "$@"; do
        case $kind in
        FILE) _files && ret=0 ;;
        DIR) _files -/ && ret=0 ;;
        .*) suffixes+=("$kind") ;;
        *) words_of+=("$kind") ;;
        esac
    done
    (( $#words_of )) && compadd -- $words_of && ret=0
    (( $#suffixes == 1 )) && _files -g "*$suffixes" && ret=0
    (( $#suffixes > 1 )) && _files -g "*(${(j:|:)suffixes})" && ret=0
    return ret
}

_tctune() {
    local command=$words[2]
    local -a commands
    if (( CURRENT == 2 )) && [[ $command != -* ]]; then
        _tctune_commands ''
        _describe -t commands command commands
        return
    elif [[ $command == -* ]]; then
        _tctune_arguments tune
        return
    fi
    shift words
    (( CURRENT-- ))
    _tctune_commands $command
    if (( $#commands && CURRENT == 2 )); then
        _describe -t commands command commands
        return
    elif (( $#commands )); then
        command="$command $words[2]"
        shift words
        (( CURRENT-- ))
    fi
    _tctune_arguments $command
}

_tctune "$@"
