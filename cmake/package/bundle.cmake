# Run by `cmake --install`: copies what the programs, libtctune and LLVM's library load into PREFIX/lib, under the names that the
# loader looks for, and what Debian says of their licences into PREFIX/share/doc.
# Given: programs, library, llvm, llvm_name (TctuneWheel.cmake).
#
# Not copied: the C library, and the compiler's runtimes for C and C++. Each Linux with a C linker has them, a process must not load
# them twice, and they are compatible with older programs.
set(everywhere "^ld-linux" "^lib(c|m|dl|rt|pthread|resolv|util)\\.so" "^libgcc_s\\.so" "^libstdc\\+\\+\\.so")
file(GET_RUNTIME_DEPENDENCIES EXECUTABLES ${programs} LIBRARIES ${library} ${llvm}
     PRE_EXCLUDE_REGEXES ${everywhere} "^libtctune\\.so"
     RESOLVED_DEPENDENCIES_VAR found UNRESOLVED_DEPENDENCIES_VAR missing)
if(missing)
    message(FATAL_ERROR "the wheel needs libraries that the loader does not find: ${missing}")
endif()

find_program(DPKG_QUERY dpkg-query)

# What Debian's package of a library says of its licence.
function(put_licence library)
    if(NOT DPKG_QUERY)
        return()
    endif()
    execute_process(COMMAND ${DPKG_QUERY} -S "*/${library}" OUTPUT_VARIABLE packages ERROR_QUIET)
    string(REGEX MATCH "^[^:, ]+" package "${packages}")
    set(text /usr/share/doc/${package}/copyright)
    if(package AND EXISTS ${text})
        file(MAKE_DIRECTORY ${CMAKE_INSTALL_PREFIX}/share/doc/${package})
        file(REAL_PATH ${text} text)
        file(COPY_FILE ${text} ${CMAKE_INSTALL_PREFIX}/share/doc/${package}/copyright)
    endif()
endfunction()

function(put file name) # as NAME
    file(REAL_PATH ${file} real)
    file(COPY_FILE ${real} ${CMAKE_INSTALL_PREFIX}/lib/${name})
    get_filename_component(base ${real} NAME)
    put_licence(${base})
endfunction()

put(${llvm} ${llvm_name})
foreach(file IN LISTS found)
    get_filename_component(name ${file} NAME)
    put(${file} ${name})
endforeach()
