#!/bin/sh
# docs/reference/options.md is what the tables of options say today, and has every option that a manual page has.
# docs/reference/operators.md is what the table of operators says today, with the types of each. Every operator of the installed
# ONNX is on that page, or docs/reference/networks.md names it as out of scope.
#   reference.sh MANUAL-FOLDER SOURCE-FOLDER ONNX-FOLDER
set -eu
page=$2/docs/reference/options.md
diff -u "$page" "$1/options.md" ||
    { echo "docs/reference/options.md is old: cmake --build build/release --target options_page renews it"; exit 1; }
page=$2/docs/reference/operators.md
diff -u "$page" "$1/operators.md" ||
    { echo "docs/reference/operators.md is old: cmake --build build/release --target operators_page renews it"; exit 1; }
if grep -F '| ? |' "$page"; then
    echo "inference takes no sample of these operators: add a sample to src/graph/manual/samples.c"
    exit 1
fi
scope=$(sed -n '/^## Out of scope/,/^## V/p' "$2/docs/reference/networks.md")
cat "$3/onnx/defs/operator_sets.h" "$3/onnx/defs/operator_sets_preview.h" |
    sed -n 's/^.*class ONNX_\(PREVIEW_\)\?OPERATOR_SET_SCHEMA_CLASS_NAME([^)]*, \([A-Za-z0-9]*\)).*/\2/p' |
    sort -u | while read -r operator; do
    grep -q "^| $operator |" "$page" || echo "$scope" | grep -q -w "$operator" ||
        { echo "$operator of ONNX is neither in $page nor under 'Out of scope' in docs/reference/networks.md"; exit 1; }
done
page=$2/docs/reference/options.md
for manual in "$1"/tctune-*.1; do
    command=$(basename "$manual" .1)
    sed -n 's/^\(\\fB\\-.\\fR, \)\?\\fB\\-\\-\([a-z\\-]*\)\\fR.*/\2/p' "$manual" | tr -d '\\' | while read -r option; do
        case $option in help | version) continue ;; esac
        sed -n "/^## $(echo "$command" | tr - ' ')\$/,/^## /p" "$page" | grep -q -e "\`--$option[ \`]" ||
            { echo "$command --$option is not on the page"; exit 1; }
    done
done
