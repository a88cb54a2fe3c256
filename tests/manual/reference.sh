#!/bin/sh
# docs/reference/options.md is what the tables of options say today, and has every option that a manual page has.
#   reference.sh MANUAL-FOLDER SOURCE-FOLDER
set -eu
page=$2/docs/reference/options.md
diff -u "$page" "$1/options.md" ||
    { echo "docs/reference/options.md is old: cmake --build build/release --target options_page renews it"; exit 1; }
for manual in "$1"/tctune-*.1; do
    command=$(basename "$manual" .1)
    sed -n 's/^\(\\fB\\-.\\fR, \)\?\\fB\\-\\-\([a-z\\-]*\)\\fR.*/\2/p' "$manual" | tr -d '\\' | while read -r option; do
        case $option in help | version) continue ;; esac
        sed -n "/^## $(echo "$command" | tr - ' ')\$/,/^## /p" "$page" | grep -q -e "\`--$option[ \`]" ||
            { echo "$command --$option is not on the page"; exit 1; }
    done
done
