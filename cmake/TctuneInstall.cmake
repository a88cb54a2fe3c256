# What `cmake --install` puts in place beside the command and libtctune: public headers, a CMake package, a pkg-config file.
#     find_package(tctune)            tctune::tctune, and tctune_add_model() of package/TctuneAddModel.cmake
#     pkg-config --cflags --libs tctune
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tctune)
install(TARGETS tctune RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS tctune_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tctune-worker RUNTIME DESTINATION ${CMAKE_INSTALL_LIBDIR}/tctune)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tctune DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tuning_logs DESTINATION ${CMAKE_INSTALL_DATADIR}/tctune)

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/package/tctuneConfig.cmake.in ${PROJECT_BINARY_DIR}/package/tctuneConfig.cmake
                              INSTALL_DESTINATION ${package_dir}
                              PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/package/tctuneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/package/tctuneConfig.cmake ${PROJECT_BINARY_DIR}/package/tctuneConfigVersion.cmake
              ${CMAKE_CURRENT_LIST_DIR}/package/TctuneAddModel.cmake
        DESTINATION ${package_dir})

configure_file(${CMAKE_CURRENT_LIST_DIR}/package/tctune.pc.in ${PROJECT_BINARY_DIR}/package/tctune.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/package/tctune.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
