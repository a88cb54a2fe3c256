# The part of a Python wheel that is no Python (setup.py builds it with the preset `wheel`): an install prefix inside the package,
# with the component `library` of TctuneInstall.cmake and the component `bundle`: the command, and copies of the libraries that the
# programs load.
option(TCTUNE_WHEEL "Install programs that find their libraries beside themselves, and these libraries too" OFF)
if(NOT TCTUNE_WHEEL)
    return()
endif()

# DT_RPATH, not DT_RUNPATH: the loader also searches DT_RPATH for the libraries of libraries. So the copies stay as the distribution
# made them.
function(tctune_finds target folder)
    set_target_properties(${target} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH ${folder})
    target_link_options(${target} PRIVATE -Wl,--disable-new-dtags)
endfunction()
tctune_finds(tctune_shared "\$ORIGIN")
tctune_finds(tctune-worker "\$ORIGIN/..")
tctune_finds(tctune "\$ORIGIN/../lib")
# A wheel has no links: the file has the name that programs look for.
set_target_properties(tctune_shared PROPERTIES VERSION ${TCTUNE_ABI})

# A program that opens LLVM's library by name gives it no DT_RPATH to find its own libraries with. This empty library is linked with
# LLVM's and gives it one.
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/llvm.c CONTENT "extern int tctune_llvm;\n")
add_library(tctune_llvm SHARED ${PROJECT_BINARY_DIR}/llvm.c)
set_target_properties(tctune_llvm PROPERTIES OUTPUT_NAME tctune-llvm)
target_link_options(tctune_llvm PRIVATE -Wl,--no-as-needed)
target_link_libraries(tctune_llvm PRIVATE ${TCTUNE_LLVM_LIBRARY})
tctune_finds(tctune_llvm "\$ORIGIN")
add_dependencies(tctune_shared tctune_llvm)

install(TARGETS tctune RUNTIME DESTINATION bin COMPONENT bundle)
install(TARGETS tctune_llvm LIBRARY DESTINATION lib COMPONENT bundle)
install(CODE "
    set(programs \"$<TARGET_FILE:tctune>\" \"$<TARGET_FILE:tctune-worker>\")
    set(library \"$<TARGET_FILE:tctune_shared>\")
    set(llvm \"${TCTUNE_LLVM_LIBRARY}\")
    set(llvm_name \"${TCTUNE_LLVM_SONAME}\")
    include(\"${CMAKE_CURRENT_LIST_DIR}/package/bundle.cmake\")" COMPONENT bundle)
