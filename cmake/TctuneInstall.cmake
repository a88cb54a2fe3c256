# What `cmake --install` puts in place beside the command and libtctune: public headers, a CMake package, a pkg-config file, manual
# pages and completions for shells.
#     find_package(tctune)            tctune::tctune, and tctune_add_model() of package/TctuneAddModel.cmake
#     pkg-config --cflags --libs tctune
# The components are the packages of TctunePackages.cmake.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tctune)
install(TARGETS tctune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT command)
install(TARGETS tctune_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS tctune-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/tctune COMPONENT library)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tctune DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tuning_logs DESTINATION ${CMAKE_INSTALL_DATADIR}/tctune COMPONENT library
        FILES_MATCHING PATTERN "*.jsonl")

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/tctuneConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/package/tctuneConfig.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tctuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tctuneConfig.cmake ${PROJECT_BINARY_DIR}/package/tctuneConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/package/TctuneAddModel.cmake
        DESTINATION ${package_dir} COMPONENT development)

configure_file(${CMAKE_CURRENT_LIST_DIR}/package/tctune.pc.in ${PROJECT_BINARY_DIR}/package/tctune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tctune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)

set(TCTUNE_ZSH_COMPLETIONS ${CMAKE_INSTALL_DATADIR}/zsh/site-functions CACHE STRING "Where completions for zsh are installed")
file(GLOB formats ${PROJECT_SOURCE_DIR}/docs/man/*.5)
install(DIRECTORY ${PROJECT_BINARY_DIR}/manual/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command
        FILES_MATCHING PATTERN "*.1")
install(FILES ${formats} DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT command)
install(FILES ${PROJECT_BINARY_DIR}/manual/tctune.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
        RENAME tctune COMPONENT command)
install(FILES ${PROJECT_BINARY_DIR}/manual/_tctune DESTINATION ${TCTUNE_ZSH_COMPLETIONS} COMPONENT command)
install(FILES ${PROJECT_BINARY_DIR}/manual/tctune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
        COMPONENT command)
