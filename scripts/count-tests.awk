# Reads what `ctest --output-junit` wrote; `part` is the name of the run. Prints one line for each failed test, with what its output
# says of the error; one for each test that was left out, and for each part of a test that says `skipped: WHY`; then
# `counts PASSED FAILED SKIPPED`.
function plain(s) {
    gsub(/&quot;/, "\"", s)
    gsub(/&apos;/, "'", s)
    gsub(/&lt;/, "<", s)
    gsub(/&gt;/, ">", s)
    gsub(/&amp;/, "\\&", s)
    return s
}

function left_out(why) {
    skipped++
    print "skipped: " part ": " name ": " plain(why)
}

/<testcase / {
    match($0, /name="[^"]*"/)
    name = substr($0, RSTART + 6, RLENGTH - 7)
    match($0, /status="[^"]*"/)
    status = substr($0, RSTART + 8, RLENGTH - 9)
    reasons = said = 0
    why = last = ""
}

# A test that could not be started has not been skipped on purpose.
/<skipped / && status == "notrun" && !/SKIP_/ {
    status = "fail"
}

{
    line = $0
    sub(/^[ \t]*<system-out>/, "", line)
    sub(/<\/system-out>.*/, "", line)
}

# The first three lines that name an error.
line ~ /ERROR|[Ee]rror|FAILED:|Sanitizer|Assertion/ && said < 3 {
    said++
    why = why ": " plain(line)
}

line ~ /[^ \t]/ && line !~ /^[ \t]*<\/?(testcase|properties|property|failure|skipped)/ {
    last = plain(line)
}

line ~ /^skipped: / {
    reasons++
    left_out(substr(line, 10))
}

/<\/testcase>/ {
    if (status == "run")
        passed++
    else if (status == "notrun" || status == "disabled")
        reasons || left_out("it says no reason")
    else {
        failed++
        print substr("FAILED: " part ": " name (why != "" ? why : ": " (last != "" ? last : "it printed nothing")), 1, 600)
    }
}

END {
    print "counts", passed + 0, failed + 0, skipped + 0
}
