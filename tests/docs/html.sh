#!/bin/sh
# Makes the documentation as HTML, in a folder of its own: every function and type of the headers is documented, and neither Doxygen
# nor Sphinx has anything to complain of.
#   html.sh SOURCE-FOLDER FOLDER
set -eu
rm -rf "$2"
DOCS_OUT=$2 "$1/scripts/docs"
for page in index tutorial/1-first-model reference/c-api reference/options; do
    [ -s "$2/html/$page.html" ] || { echo "there is no page $page"; exit 1; }
done
grep -q -e "--require-complete" "$2/html/reference/options.html" || { echo "the page of options lacks an option"; exit 1; }
for name in tctune_build tctune_build_options require_complete; do
    grep -q "$name" "$2/html/reference/c-api.html" || { echo "the page of the C API lacks $name"; exit 1; }
done
