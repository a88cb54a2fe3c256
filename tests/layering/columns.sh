#!/bin/sh
# No line of a script, a style sheet, a build file or a manual page is longer than 132 columns. columns.sh SOURCE_DIR
# clang-format bounds the C sources (format.cmake); tables of Markdown may be wider.
export LC_ALL=C.UTF-8
cd "$1" || exit 2
long=$(find . \( -name .git -o -name build -o -name node_modules -o -name goldens \) -prune -o -type f \
    \( -name '*.js' -o -name '*.css' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name CMakeLists.txt -o -name '*.awk' \
    -o -name '*.zsh' -o -name '*.yml' -o -name '*.service' -o -name '*.supp' -o -name '*.map' -o -name '*.man' -o -name '*.5' \
    -o -name Dockerfile -o ! -name '*.*' -perm -u+x \) -exec grep -HnE '^.{133,}$' {} +)
[ -z "$long" ] || {
    echo "longer than 132 columns (break them):"
    echo "$long" | cut -c 1-160
    exit 1
}
