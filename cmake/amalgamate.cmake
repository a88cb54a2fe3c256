# Joins the files FILES, in order, to one C source OUT that includes system headers only and begins with the line BEGIN.
# (cmake -DOUT=F -DFILES="A;B" [-DBEGIN=LINE] -P this)
set(text "${BEGIN}\n")
foreach(file IN LISTS FILES)
    file(READ "${file}" part)
    string(REGEX REPLACE "#include \"[^\n]*\n" "" part "${part}")
    string(APPEND text "${part}\n")
endforeach()
file(WRITE "${OUT}" "${text}")
