# Every source of ours is as .clang-format wants it; `clang-format-14 -i FILE` repairs one. In the public headers it also finds what
# clang-format makes of a comment that is too long for its line: the line stays too long, or the declaration before it is broken.
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources ${SOURCE_DIR}/src/*.[ch] ${SOURCE_DIR}/include/*.[ch] ${SOURCE_DIR}/tests/*.[ch])
execute_process(COMMAND ${FORMATTER} --dry-run --Werror --ferror-limit=1 ${sources} RESULT_VARIABLE rc ERROR_VARIABLE text
                WORKING_DIRECTORY ${SOURCE_DIR})
if(NOT rc EQUAL 0)
    string(REGEX MATCHALL "[^\n]*: error:" places "${text}")
    list(TRANSFORM places REPLACE ":[0-9]+:[0-9]+: error:" "")
    list(REMOVE_DUPLICATES places)
    list(JOIN places "\n    " places)
    message(FATAL_ERROR "not formatted (run clang-format-14 -i on them):\n    ${places}")
endif()
file(GLOB_RECURSE headers RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/include/*.h)
execute_process(COMMAND grep -nE "^.{133,}$|^ +(const |volatile )*[a-z_0-9]+( const)?( [*]+( ?const)?)?$" ${headers}
                WORKING_DIRECTORY ${SOURCE_DIR} RESULT_VARIABLE rc OUTPUT_VARIABLE lines)
if(NOT rc EQUAL 1)
    message(FATAL_ERROR "longer than 132 columns, or a type alone on its line (put the comment above the field):\n${lines}")
endif()
list(LENGTH sources count)
message("${count} files are formatted")
