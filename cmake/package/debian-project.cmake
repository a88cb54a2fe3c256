# Read by cpack before it makes packages: dpkg-shlibdeps finds what the library depends on. It is asked about the installed files,
# which look for libraries in the system's folders alone.
find_program(shlibdeps dpkg-shlibdeps REQUIRED)
set(scratch ${CPACK_TCTUNE_BUILD}/package)
file(REMOVE_RECURSE ${scratch}/library)
file(MAKE_DIRECTORY ${scratch}/debian)
file(TOUCH ${scratch}/debian/control)
execute_process(COMMAND ${CMAKE_COMMAND} --install ${CPACK_TCTUNE_BUILD} --component library --prefix ${scratch}/library
                OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE files ${scratch}/library/libtctune.so.*.*.* ${scratch}/library/tctune-worker)
execute_process(COMMAND ${shlibdeps} -O ${files} WORKING_DIRECTORY ${scratch}
                OUTPUT_VARIABLE found RESULT_VARIABLE failed ERROR_VARIABLE why OUTPUT_STRIP_TRAILING_WHITESPACE)
if(failed OR NOT found MATCHES "^shlibs:Depends=(.+)$")
    message(FATAL_ERROR "dpkg-shlibdeps of ${files}: ${why}")
endif()
set(CPACK_DEBIAN_LIBRARY_PACKAGE_DEPENDS ${CMAKE_MATCH_1})
