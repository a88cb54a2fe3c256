# Compiler settings that every target shares.
include_guard()

option(TCTUNE_BUILD_TESTS "Build the tests (needs cmocka)" ON)
option(TCTUNE_VERIFY "Run the verifier after every lowering pass" OFF)
option(TCTUNE_HOSTILE "Tiny arena chunks, colliding hash slots, verifier after every pass" OFF)
option(TCTUNE_WERROR "Warnings are errors (the presets say so)" OFF)
option(TCTUNE_CCACHE "Compile through ccache where it is installed" ON)
option(TCTUNE_FAST_LINK "Link with mold or gold where one of them is installed" ON)
set(TCTUNE_SANITIZE "" CACHE STRING "Value of -fsanitize=, e.g. address,undefined")

if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Debug, RelWithDebInfo, Release, MinSizeRel or None" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# Assertions stay on in every build: a violated invariant must never become a wrong kernel.
set(CMAKE_C_FLAGS_DEBUG "-Og -g")
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g1") # lines for stack traces and profiles; all of -g takes a fifth as long again to compile
set(CMAKE_C_FLAGS_RELEASE "-O3")
set(CMAKE_C_FLAGS_MINSIZEREL "-Os")

add_compile_definitions(_GNU_SOURCE TCTUNE_VERSION="${PROJECT_VERSION}")
add_compile_options(-Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -fno-omit-frame-pointer -fno-math-errno)
if(TCTUNE_WERROR)
    add_compile_options(-Werror)
endif()
if(TCTUNE_VERIFY OR TCTUNE_HOSTILE)
    add_compile_definitions(TCTUNE_VERIFY=1)
endif()
if(TCTUNE_HOSTILE)
    add_compile_definitions(TCTUNE_HOSTILE=1)
endif()
if(TCTUNE_SANITIZE)
    add_compile_definitions(TCTUNE_SANITIZED=1)
    add_compile_options(-fsanitize=${TCTUNE_SANITIZE} -g1) # lines for stack traces; all of -g takes half as long again to compile
    add_link_options(-fsanitize=${TCTUNE_SANITIZE})
    if(TCTUNE_SANITIZE MATCHES undefined)
        add_compile_options(-fno-sanitize-recover=undefined)
    endif()
    if(TCTUNE_SANITIZE MATCHES fuzzer)
        add_compile_options(-Wno-pass-failed) # its counters keep loops that ask for it from becoming vectors
    endif()
endif()

# There are a hundred test programs in each build, and each is linked with XGBoost and OpenMP.
if(TCTUNE_FAST_LINK)
    include(CheckLinkerFlag)
    foreach(linker mold gold)
        check_linker_flag(C -fuse-ld=${linker} TCTUNE_LINKS_WITH_${linker})
        if(TCTUNE_LINKS_WITH_${linker})
            add_link_options(-fuse-ld=${linker})
            break()
        endif()
    endforeach()
    # The linker reads the objects themselves, so archives hold neither copies of them nor tables of symbols. In the build with
    # sanitizers archives then take 4 s of CPU, not 32.
    if(TCTUNE_LINKS_WITH_mold)
        set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcTS <TARGET> <OBJECTS>")
        set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> qTS <TARGET> <OBJECTS>")
        set(CMAKE_C_ARCHIVE_FINISH "")
    endif()
endif()

if(TCTUNE_CCACHE)
    find_program(TCTUNE_CCACHE_PROGRAM ccache)
    if(TCTUNE_CCACHE_PROGRAM AND NOT CMAKE_C_COMPILER_LAUNCHER)
        set(CMAKE_C_COMPILER_LAUNCHER ${TCTUNE_CCACHE_PROGRAM})
    endif()
    mark_as_advanced(TCTUNE_CCACHE_PROGRAM)
endif()
