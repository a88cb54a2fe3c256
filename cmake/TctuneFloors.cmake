# Reads cmake/floors.txt. TCTUNE_FOLDERS: the folders of src/ from the lowest floor to the highest. TCTUNE_FLOOR_<folder>: the floor
# of each.
include_guard()

set(floors ${CMAKE_CURRENT_LIST_DIR}/floors.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${floors})
file(STRINGS ${floors} rows REGEX "^floor ")
set(TCTUNE_FOLDERS)
foreach(row IN LISTS rows)
    if(NOT row MATCHES "^floor +([0-9]+) +([a-z_/]+) +[a-z_/.]+$")
        message(FATAL_ERROR "${floors}: '${row}' is not 'floor N FOLDER FILE'")
    endif()
    list(APPEND TCTUNE_FOLDERS ${CMAKE_MATCH_2})
    set(TCTUNE_FLOOR_${CMAKE_MATCH_2} ${CMAKE_MATCH_1})
endforeach()

# Fails where `folder` would link a folder that is not below it.
function(tctune_check_floors folder)
    foreach(dep IN LISTS ARGN)
        if(DEFINED TCTUNE_FLOOR_${dep} AND NOT TCTUNE_FLOOR_${dep} LESS TCTUNE_FLOOR_${folder})
            message(FATAL_ERROR "src/${folder} (floor ${TCTUNE_FLOOR_${folder}}) may not link src/${dep} "
                                "(floor ${TCTUNE_FLOOR_${dep}}): only folders of a lower floor, see cmake/floors.txt")
        endif()
    endforeach()
endfunction()
