# Read by cpack when the files of the packages lie in a folder for each component: compresses manual pages, and gives each package
# its licence and its changes.
find_program(gzip gzip REQUIRED)
# The same files give the same packages: the time of the last change, or what the environment says.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
    set(when $ENV{SOURCE_DATE_EPOCH})
else()
    execute_process(COMMAND git -C ${CPACK_TCTUNE_SOURCE} log -1 --format=%ct
                    OUTPUT_VARIABLE when ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT when)
        string(TIMESTAMP when %s)
    endif()
endif()
execute_process(COMMAND date -u -R -d @${when} OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
foreach(pair IN LISTS CPACK_TCTUNE_NAMES)
    string(REPLACE "=" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 package)
    set(root ${CPACK_TEMPORARY_DIRECTORY}/${component}/usr)
    if(NOT IS_DIRECTORY ${root})
        continue()
    endif()
    set(doc ${root}/share/doc/${package})
    # Scripts that Sphinx copies are those of libjs-sphinxdoc.
    file(GLOB scripts RELATIVE ${root}/share/doc/tctune/html/_static ${root}/share/doc/tctune/html/_static/*.js)
    foreach(script IN LISTS scripts)
        set(here ${root}/share/doc/tctune/html/_static/${script})
        if(EXISTS /usr/share/javascript/sphinxdoc/1.0/${script})
            file(REMOVE ${here})
            file(CREATE_LINK ../../../../javascript/sphinxdoc/1.0/${script} ${here} SYMBOLIC)
        endif()
    endforeach()
    file(COPY ${CPACK_TCTUNE_COPYRIGHT} DESTINATION ${doc} FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
    file(WRITE ${doc}/changelog
         "tctune (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n  * tctune ${CPACK_PACKAGE_VERSION}.\n\n"
         " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    file(GLOB plain ${root}/share/man/man*/*.[1-9] ${doc}/changelog)
    execute_process(COMMAND ${gzip} -9nf ${plain} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
