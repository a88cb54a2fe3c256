# The vendors' libraries, each as one imported target `tctune::<name>`; all are Debian packages (scripts/install-deps.sh).
# Vendor includes are SYSTEM includes: their warnings are not ours.
include_guard()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(OpenMP COMPONENTS C)
if(NOT OpenMP_C_FOUND)
    message(FATAL_ERROR
            "${CMAKE_C_COMPILER} has no OpenMP; GCC brings it, Clang needs a package of its own (libomp-19-dev for clang-19)")
endif()
find_package(SQLite3 REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(libzip REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(libb2 REQUIRED IMPORTED_TARGET libb2)
pkg_check_modules(libseccomp REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(libnats REQUIRED IMPORTED_TARGET libnats)

# Declares tctune::<name> from a header and a library. The header is looked for in HINTS_INCLUDE, the library in HINTS_LIB.
function(tctune_find_vendor name header library package)
    cmake_parse_arguments(arg "" "" "INCLUDE_HINTS;LIB_HINTS" ${ARGN})
    string(TOUPPER ${name} upper)
    find_path(TCTUNE_${upper}_INCLUDE ${header} HINTS ${arg_INCLUDE_HINTS})
    find_library(TCTUNE_${upper}_LIBRARY NAMES ${library} HINTS ${arg_LIB_HINTS})
    if(NOT TCTUNE_${upper}_INCLUDE OR NOT TCTUNE_${upper}_LIBRARY)
        message(FATAL_ERROR "${name}: ${header} or lib${library} not found; install the package ${package} "
                            "(scripts/install-deps.sh names every package that is needed)")
    endif()
    mark_as_advanced(TCTUNE_${upper}_INCLUDE TCTUNE_${upper}_LIBRARY)
    add_library(tctune_vendor_${name} INTERFACE)
    target_include_directories(tctune_vendor_${name} SYSTEM INTERFACE ${TCTUNE_${upper}_INCLUDE})
    target_link_libraries(tctune_vendor_${name} INTERFACE ${TCTUNE_${upper}_LIBRARY})
    add_library(tctune::${name} ALIAS tctune_vendor_${name})
endfunction()

# LLVM 19 by path rather than by its CMake package: that one insists on development files of libraries we never touch.
# Nothing is linked with the shared library, which is opened by its name when it is first needed (src/codegen/llvm).
set(TCTUNE_LLVM_ROOT /usr/lib/llvm-19 CACHE PATH "Root of an LLVM 19 installation")
tctune_find_vendor(llvm llvm-c/Core.h LLVM-19 llvm-19-dev INCLUDE_HINTS ${TCTUNE_LLVM_ROOT}/include
                   LIB_HINTS ${TCTUNE_LLVM_ROOT}/lib)
file(STRINGS ${TCTUNE_LLVM_INCLUDE}/llvm/Config/llvm-config.h llvm_major REGEX "define LLVM_VERSION_MAJOR 19$")
if(NOT llvm_major)
    message(FATAL_ERROR "LLVM 19 is needed, but ${TCTUNE_LLVM_INCLUDE} is another version; set TCTUNE_LLVM_ROOT")
endif()

set_property(TARGET tctune_vendor_llvm PROPERTY INTERFACE_LINK_LIBRARIES)
execute_process(COMMAND ${CMAKE_READELF} -d ${TCTUNE_LLVM_LIBRARY} OUTPUT_VARIABLE llvm_dynamic ERROR_QUIET)
if(NOT llvm_dynamic MATCHES "\\(SONAME\\)[^[]*\\[([^]]+)\\]")
    message(FATAL_ERROR
            "${CMAKE_READELF} finds no name (SONAME) in ${TCTUNE_LLVM_LIBRARY}; set TCTUNE_LLVM_LIBRARY to LLVM's shared library")
endif()
set(TCTUNE_LLVM_SONAME ${CMAKE_MATCH_1})
# An LLVM of one's own, which the loader does not find by that name, is opened where it is.
set(TCTUNE_LLVM_FILE ${TCTUNE_LLVM_SONAME})
if(NOT CMAKE_CROSSCOMPILING AND NOT EXISTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/${TCTUNE_LLVM_SONAME})
    set(TCTUNE_LLVM_FILE ${TCTUNE_LLVM_LIBRARY})
endif()
if(TCTUNE_WHEEL)
    set(TCTUNE_LLVM_FILE libtctune-llvm.so) # TctuneWheel.cmake
endif()

tctune_find_vendor(xgboost xgboost/c_api.h xgboost libxgboost-dev)

foreach(pair "sqlite3=SQLite::SQLite3" "jansson=PkgConfig::jansson" "protobuf_c=PkgConfig::protobuf_c"
             "zip=PkgConfig::libzip" "b2=PkgConfig::libb2" "seccomp=PkgConfig::libseccomp" "nats=PkgConfig::libnats"
             "openmp=OpenMP::OpenMP_C")
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 name)
    list(GET pair 1 target)
    add_library(tctune_vendor_${name} INTERFACE)
    target_link_libraries(tctune_vendor_${name} INTERFACE ${target})
    add_library(tctune::${name} ALIAS tctune_vendor_${name})
endforeach()

if(TCTUNE_BUILD_TESTS)
    pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()

# D3 draws the page of `tctune report`. These are the modules that the page uses; each stands behind the modules that it needs.
# Debian's libjs-d3 is version 3 of 2016, and all of version 5 in one file (node-d3) is twice as large as these.
set(TCTUNE_D3_FILES)
foreach(module array path format time time-format collection color interpolate scale selection shape axis)
    string(MAKE_C_IDENTIFIER TCTUNE_D3_${module} variable)
    find_file(${variable} d3-${module}.min.js PATHS /usr/share/nodejs/d3-${module}/dist NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH)
    mark_as_advanced(${variable})
    if(NOT ${variable})
        message(FATAL_ERROR "D3: d3-${module}.min.js not found; install the package node-d3-${module} "
                            "(scripts/install-deps.sh names every package that is needed), "
                            "or name the file with -D ${variable}=FILE")
    endif()
    list(APPEND TCTUNE_D3_FILES ${${variable}})
endforeach()

# graph generates its reader from the schema that Debian's libonnx-dev ships.
find_program(TCTUNE_PROTOC_C NAMES protoc-c)
find_path(TCTUNE_ONNX_PROTO_DIR onnx/onnx.proto)
