# tctune_library, tctune_test and tctune_shared_library: the only ways this project declares targets.
include_guard()

# The target of a folder of src/: tctune_graph_ir for graph/ir.
function(tctune_library_target out folder)
    string(REPLACE "/" "_" name ${folder})
    set(${out} tctune_${name} PARENT_SCOPE)
endfunction()

# Turns the names of DEPS into targets: a folder of src/ means its library, anything else is a target as it stands.
function(tctune_resolve_deps out)
    set(resolved)
    foreach(dep IN LISTS ARGN)
        if(dep IN_LIST TCTUNE_FOLDERS)
            tctune_library_target(target ${dep})
            list(APPEND resolved ${target})
        elseif(TARGET tctune::${dep})
            list(APPEND resolved tctune::${dep})
        else()
            list(APPEND resolved ${dep})
        endif()
    endforeach()
    set(${out} ${resolved} PARENT_SCOPE)
endfunction()

# tctune_library(<folder> SOURCES a.c ... [DEPS support te llvm ...] [INCLUDES dir ...] [DEFINES X=1 ...])
# makes the static library of a folder of src/ (or of a room in one: graph/ir). DEPS are folders of lower floors, or vendors
# (llvm, of which there are only the headers, xgboost sqlite3 b2 jansson protobuf_c zip seccomp nats openmp).
function(tctune_library folder)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS;INCLUDES;DEFINES" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tctune_library(${folder}): did not understand '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    tctune_library_target(target ${folder})
    tctune_check_floors(${folder} ${arg_DEPS})
    tctune_resolve_deps(deps ${arg_DEPS})
    add_library(${target} STATIC ${arg_SOURCES})
    target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_include_directories(${target} PRIVATE ${arg_INCLUDES})
    target_compile_definitions(${target} PRIVATE ${arg_DEFINES})
    target_link_libraries(${target} PUBLIC ${deps} m)
    set_property(GLOBAL APPEND PROPERTY TCTUNE_LIBRARIES ${target})
endfunction()

# tctune_test(<name> SOURCES a.c ... [DEPS ...] [ARGS ...] [LABELS unit] [ENV A=b ...] [DEFINES ...] [SERIAL])
# makes the program test_<name> and the CTest test <name>. It runs in the folder of its CMakeLists.txt, so inputs beside it are
# found by their plain names; TCTUNE_TEST_DIR and TCTUNE_TEST_TMP are that folder and one for scratch files. ARGS go to the program.
# Labels: tests with `unit` run under sanitizers; ./test.sh --full runs them in the release build, too. Tests with `release` spend
# their time in LLVM, in compilers or in waiting for measured kernels; tests with `slow` take long under sanitizers. Both run in the
# release build; ./test.sh --full runs them under sanitizers, too. Tests with `long` run in ./test.sh --full alone.
function(tctune_test name)
    cmake_parse_arguments(arg "SERIAL" "" "SOURCES;DEPS;ARGS;LABELS;ENV;DEFINES;INCLUDES" ${ARGN})
    if(arg_UNPARSED_ARGUMENTS OR NOT arg_SOURCES)
        message(FATAL_ERROR "tctune_test(${name}): needs SOURCES; did not understand '${arg_UNPARSED_ARGUMENTS}'")
    endif()
    if(NOT arg_LABELS)
        set(arg_LABELS unit)
    endif()
    string(REGEX REPLACE "^test_" "" name ${name})
    set(target test_${name})
    tctune_resolve_deps(deps ${arg_DEPS})
    add_executable(${target} ${arg_SOURCES})
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include
                                                 ${PROJECT_SOURCE_DIR}/tests ${arg_INCLUDES})
    set(tmp ${CMAKE_CURRENT_BINARY_DIR}/tmp)
    file(MAKE_DIRECTORY ${tmp})
    target_compile_definitions(${target} PRIVATE TCTUNE_TEST_DIR="${CMAKE_CURRENT_SOURCE_DIR}" TCTUNE_TEST_TMP="${tmp}"
                                                 TCTUNE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" ${arg_DEFINES})
    target_link_libraries(${target} PRIVATE ${deps} PkgConfig::cmocka m)
    if("unit" IN_LIST arg_LABELS)
        add_dependencies(unit_tests ${target})
    else()
        add_dependencies(other_tests ${target})
    endif()
    add_test(NAME ${name} COMMAND ${target} ${arg_ARGS} WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    tctune_test_properties(${name} LABELS ${arg_LABELS} ENV ${arg_ENV})
    if(arg_SERIAL)
        set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
endfunction()

# The thread sanitizer learns of OpenMP's barriers from Archer, which comes with LLVM's OpenMP, and must not look into that itself.
if(TCTUNE_SANITIZE MATCHES thread)
    set(TCTUNE_THREADS_ENV
        "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/tsan.supp:ignore_noninstrumented_modules=1:die_after_fork=0"
        "OMP_TOOL_LIBRARIES=${TCTUNE_LLVM_ROOT}/lib/libarcher.so")
endif()

# Properties that every test shares, also those made with add_test directly. Plain ./test.sh leaves out tests with the label `full`,
# which need large packages, and those with the label `long`; ./test.sh --full runs them too. The time limit ends tests that
# hang; it is so long that a busy machine does not reach it. Objects are kept by program and by build, so tests of one build share
# them; tests of the cache have folders of their own. No test reads the shares of the peak that reports print, so the peak is
# measured for half a millisecond. With 5 ms `tctune bench` of a small kernel takes a quarter more of CPU.
function(tctune_test_properties name)
    cmake_parse_arguments(arg "" "" "LABELS;ENV" ${ARGN})
    set(env "TCTUNE_CACHE=${PROJECT_BINARY_DIR}/objects" "TCTUNE_PEAK_SECONDS=0.0005" ${arg_ENV}
            "TMPDIR=${CMAKE_CURRENT_BINARY_DIR}/tmp" "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0"
            "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/cmake/lsan.supp:print_suppressions=0" ${TCTUNE_THREADS_ENV}
            "UBSAN_OPTIONS=print_stacktrace=1"
            "OMP_WAIT_POLICY=passive") # threads that spin while they wait take the core of the test beside theirs
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/tmp)
    set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}" ENVIRONMENT "${env}")
endfunction()

# A test that cannot be run here, so that it is counted as left out.
function(tctune_skipped_test name why)
    message(STATUS "tests: ${name} is left out: ${why}")
    add_test(NAME ${name} COMMAND ${CMAKE_COMMAND} -E echo "skipped: ${why}")
    tctune_test_properties(${name} ${ARGN})
    set_tests_properties(${name} PROPERTIES SKIP_REGULAR_EXPRESSION "^skipped: ")
endfunction()

# libtctune.so: the objects of all folders' libraries but the command's. It exports what is marked TCTUNE_API, each function with
# the version that it came with (src/api/tctune.map).
function(tctune_shared_library)
    get_property(libraries GLOBAL PROPERTY TCTUNE_LIBRARIES)
    list(REMOVE_ITEM libraries tctune_cli)
    if(NOT libraries)
        return()
    endif()
    add_library(tctune_shared SHARED)
    set_target_properties(tctune_shared PROPERTIES LINKER_LANGUAGE C)
    set_target_properties(tctune_shared PROPERTIES OUTPUT_NAME tctune VERSION ${PROJECT_VERSION} SOVERSION ${TCTUNE_ABI})
    target_include_directories(tctune_shared INTERFACE ${PROJECT_SOURCE_DIR}/include)
    set(map ${PROJECT_SOURCE_DIR}/src/api/tctune.map)
    # Closed, it would take OpenMP's runtime with it, in whose code its threads wait.
    target_link_options(tctune_shared PRIVATE -Wl,--version-script=${map} -Wl,-z,nodelete)
    if(NOT TCTUNE_SANITIZE MATCHES thread) # Clang gives the runtime of that to programs alone
        target_link_options(tctune_shared PRIVATE -Wl,--no-undefined)
    endif()
    set_target_properties(tctune_shared PROPERTIES LINK_DEPENDS ${map})
    add_dependencies(tctune_shared tctune-worker)
    foreach(library IN LISTS libraries)
        target_sources(tctune_shared PRIVATE $<TARGET_OBJECTS:${library}>)
        # Brings the vendors' libraries; the archive itself has nothing left to add.
        target_link_libraries(tctune_shared PRIVATE ${library})
    endforeach()
endfunction()
