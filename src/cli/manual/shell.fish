# The command that the line has until now: nothing, a family's name, or all of its words.
function __tctune_command
    set -l words (commandline -opc)
    if test (count $words) -lt 2
        string match -q -- '-*' (commandline -ct); and echo tune
    else if string match -q -- '-*' $words[2]
        echo tune
    else if contains -- $words[2] $__tctune_families; and test (count $words) -gt 2
        echo $words[2] $words[3]
    else
        echo $words[2]
    end
end

function __tctune_is
    test "$(__tctune_command)" = "$argv"
end

complete -c tctune -f
