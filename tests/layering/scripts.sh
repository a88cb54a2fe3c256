#!/bin/sh
# Every file that says on its first line what runs it can be run by its name.
cd "$1" || exit 2
found=$(find . \( -name .git -o -name build -o -name node_modules \) -prune -o -type f ! -perm -u+x \
    -exec awk 'FNR == 1 && /^#!/ { print FILENAME } FNR == 1 { nextfile }' {} +) || exit 2
[ -z "$found" ] || {
    echo "not executable (chmod +x):"
    echo "$found"
    exit 1
}
