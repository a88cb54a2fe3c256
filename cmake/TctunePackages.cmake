# Debian packages: `cpack -G DEB` in the build folder of the preset `packages`, which installs to /usr.
#     libtctune0.2      the library, its worker, and the records that searches start from
#     libtctune-dev     headers, a CMake package, a pkg-config file
#     tctune            the command, manual pages, completions
#     python3-tctune    the Python package
#     tctune-doc        the documentation as HTML, where Doxygen and Sphinx are (scripts/install-deps.sh --docs)
set(TCTUNE_PACKAGE_VERSION ${PROJECT_VERSION} CACHE STRING "Version of the Debian packages")
set(TCTUNE_PACKAGE_CONTACT "tctune maintainers <maintainers@tctune.example>" CACHE STRING "Maintainer of the Debian packages")

# Debian's own folders for what has no place of its own in CMake: installed only when the packages are made.
set(TCTUNE_PYTHON_FOLDER "" CACHE STRING
    "Where the Python package is installed, as lib/python3/dist-packages; empty: not at all (pip does that)")
if(TCTUNE_PYTHON_FOLDER)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    set(declared ${PROJECT_BINARY_DIR}/package/_declared.py)
    file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/tctune/*.h)
    set(declare ${PROJECT_SOURCE_DIR}/python/tctune/_declare.py)
    add_custom_command(OUTPUT ${declared} COMMAND ${Python3_EXECUTABLE} ${declare} ${PROJECT_SOURCE_DIR}/include ${declared}
                       DEPENDS ${declare} ${headers} COMMENT "Writing what the headers declare, for Python" VERBATIM)
    add_custom_target(tctune_python ALL DEPENDS ${declared})
    configure_file(${CMAKE_CURRENT_LIST_DIR}/package/METADATA.in ${PROJECT_BINARY_DIR}/package/METADATA @ONLY)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/tctune DESTINATION ${TCTUNE_PYTHON_FOLDER} COMPONENT python
            FILES_MATCHING PATTERN "*.py" PATTERN "py.typed" PATTERN "__pycache__" EXCLUDE)
    install(FILES ${declared} DESTINATION ${TCTUNE_PYTHON_FOLDER}/tctune COMPONENT python)
    install(FILES ${PROJECT_BINARY_DIR}/package/METADATA
            DESTINATION ${TCTUNE_PYTHON_FOLDER}/tctune-${PROJECT_VERSION}.dist-info COMPONENT python)

    # Examples go to the package of what they use.
    set(doc ${CMAKE_INSTALL_DATAROOTDIR}/doc)
    file(GLOB c_examples ${PROJECT_SOURCE_DIR}/examples/*.c)
    file(GLOB python_examples ${PROJECT_SOURCE_DIR}/examples/*.py)
    install(FILES ${c_examples} DESTINATION ${doc}/libtctune-dev/examples COMPONENT development)
    install(FILES ${python_examples} DESTINATION ${doc}/python3-tctune/examples COMPONENT python)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples/ci ${PROJECT_SOURCE_DIR}/deploy DESTINATION ${doc}/tctune/examples
            USE_SOURCE_PERMISSIONS COMPONENT command)

    find_program(TCTUNE_DOXYGEN NAMES doxygen)
    mark_as_advanced(TCTUNE_DOXYGEN)
    set(modules /usr/lib/python3/dist-packages)
    if(TCTUNE_DOXYGEN AND EXISTS /usr/bin/sphinx-build AND EXISTS ${modules}/breathe AND EXISTS ${modules}/myst_parser)
        set(html ${PROJECT_BINARY_DIR}/html)
        file(GLOB_RECURSE pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/docs/*.md)
        add_custom_command(OUTPUT ${html}/html/index.html
                           COMMAND ${CMAKE_COMMAND} -E env TCTUNE=$<TARGET_FILE:tctune> DOCS_OUT=${html}
                                   ${PROJECT_SOURCE_DIR}/scripts/docs
                           DEPENDS tctune tctune_shared ${PROJECT_SOURCE_DIR}/scripts/docs ${pages}
                           COMMENT "Making HTML of the documentation" VERBATIM)
        add_custom_target(tctune_html ALL DEPENDS ${html}/html/index.html)
        install(DIRECTORY ${html}/html DESTINATION ${doc}/tctune COMPONENT documentation
                PATTERN ".doctrees" EXCLUDE PATTERN ".buildinfo" EXCLUDE)
    endif()
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tctune)
set(CPACK_PACKAGE_VERSION ${TCTUNE_PACKAGE_VERSION})
set(CPACK_PACKAGE_CONTACT ${TCTUNE_PACKAGE_CONTACT})
set(CPACK_PACKAGE_VENDOR tctune)
set(CPACK_DEBIAN_PACKAGE_SOURCE tctune)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_THREADS 0)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL library development command)
if(TCTUNE_PYTHON_FOLDER)
    list(APPEND CPACK_COMPONENTS_ALL python)
endif()
if(TARGET tctune_html)
    list(APPEND CPACK_COMPONENTS_ALL documentation)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(same "(= ${TCTUNE_PACKAGE_VERSION})")

# Its dependencies come from dpkg-shlibdeps by debian-project.cmake. CPack would add scripts that call ldconfig, but dpkg calls it
# already.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libtctune${TCTUNE_ABI})
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
# LLVM is opened when something is compiled; a board that only measures has none.
set(CPACK_DEBIAN_LIBRARY_PACKAGE_RECOMMENDS "libllvm19, gcc | c-compiler, libc6-dev | libc-dev")
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "auto-scheduler for tensor programs - shared library
tctune makes tensor programs fast on the CPU they run on. It takes ONNX
networks, or single kernels written as tensor expressions, searches for fast
schedules by measuring candidates on the machine itself, remembers every
measurement in a database, and builds libraries from the best of them.
.
This package contains the shared library, the program that tries candidates
out, and the records that searches start from.")
set(symbols ${PROJECT_BINARY_DIR}/package/control/symbols)
set(shlibs ${PROJECT_BINARY_DIR}/package/control/shlibs)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/package/triggers ${symbols} ${shlibs})
set(CPACK_TCTUNE_BUILD ${PROJECT_BINARY_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/package/debian-project.cmake)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libtctune-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libtctune${TCTUNE_ABI} ${same}, libdlpack-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "tctune ${same}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "auto-scheduler for tensor programs - development files
tctune makes tensor programs fast on the CPU they run on: it searches for
fast schedules of their kernels by measuring candidates.
.
This package contains the headers of libtctune, and what CMake and pkg-config
need. CMake's tctune_add_model() builds networks with a project; it needs the
command of the package tctune.")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME tctune)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
# What links a built model: the compiler knows where the system's libraries are, and libm is one for development.
set(CPACK_DEBIAN_COMMAND_PACKAGE_DEPENDS "libtctune${TCTUNE_ABI} ${same}, gcc | c-compiler, libc6-dev | libc-dev")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "auto-scheduler for tensor programs
tctune makes tensor programs fast on the CPU they run on. It takes a network
(an ONNX file), or a single kernel written as a tensor expression, searches
for fast schedules of its kernels by measuring candidates on the machine
itself, remembers every measurement in a database, and builds one shared
library with a C entry point from the best of them.
.
This package contains the command.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-tctune)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "libtctune${TCTUNE_ABI} (>= ${TCTUNE_PACKAGE_VERSION}), python3:any, python3-cffi, python3-numpy")
set(CPACK_DEBIAN_PYTHON_PACKAGE_SUGGESTS "python3-tqdm, python3-torch")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "auto-scheduler for tensor programs - Python package
tctune makes tensor programs fast on the CPU they run on: it searches for
fast schedules of their kernels by measuring candidates.
.
This package contains the Python package, which tunes, builds and runs
networks and kernels, on arrays of NumPy and whatever else knows DLPack.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_LIST_DIR}/package/python/postinst
                                              ${CMAKE_CURRENT_LIST_DIR}/package/python/prerm)

# Sphinx's scripts are those of libjs-sphinxdoc (debian-stage.cmake).
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_NAME tctune-doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_DEPENDS libjs-sphinxdoc)
set(CPACK_DEBIAN_DOCUMENTATION_DESCRIPTION "auto-scheduler for tensor programs - documentation
tctune makes tensor programs fast on the CPU they run on: it searches for
fast schedules of their kernels by measuring candidates.
.
This package contains tutorials, how-tos, explanations and the reference of
the command, the C API and the Python API, as HTML.")

# Which symbols came with which version, from the versions that they have in the library (src/api/tctune.map).
find_program(TCTUNE_GENSYMBOLS dpkg-gensymbols)
mark_as_advanced(TCTUNE_GENSYMBOLS)
if(TCTUNE_GENSYMBOLS AND TARGET tctune_shared AND TCTUNE_PYTHON_FOLDER)
    file(WRITE ${shlibs} "libtctune ${TCTUNE_ABI} libtctune${TCTUNE_ABI} (>= ${PROJECT_VERSION})\n")
    set(pattern ${PROJECT_BINARY_DIR}/package/libtctune.symbols)
    configure_file(${CMAKE_CURRENT_LIST_DIR}/package/libtctune.symbols.in ${pattern} @ONLY)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/package/debian)
    file(TOUCH ${PROJECT_BINARY_DIR}/package/debian/control)
    add_custom_command(OUTPUT ${symbols}
                       COMMAND ${TCTUNE_GENSYMBOLS} -plibtctune${TCTUNE_ABI} -v${PROJECT_VERSION} -e$<TARGET_FILE:tctune_shared>
                               -I${pattern} -O${symbols} -c4 -q
                       WORKING_DIRECTORY ${PROJECT_BINARY_DIR}/package DEPENDS tctune_shared ${pattern} VERBATIM)
    add_custom_target(tctune_symbols ALL DEPENDS ${symbols})
endif()

# Manual pages are compressed, and each package has its licence and its changes.
configure_file(${CMAKE_CURRENT_LIST_DIR}/package/copyright.in ${PROJECT_BINARY_DIR}/package/copyright @ONLY)
set(CPACK_TCTUNE_COPYRIGHT ${PROJECT_BINARY_DIR}/package/copyright)
set(CPACK_TCTUNE_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_TCTUNE_NAMES library=libtctune${TCTUNE_ABI} development=libtctune-dev command=tctune python=python3-tctune
    documentation=tctune-doc)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/package/debian-stage.cmake)
include(CPack)
