# SPDX-License-Identifier: Apache-2.0
# A part of the engine is a folder and a target of its own. Its headers are included as "PART/header.hpp", and a part can
# include only its own headers and those of the parts that it links: what the compiler searches is not the tree of the
# engine but one folder for each part, which holds a link to that part and nothing else.

# slowpath_headers(PART): the target slowpath_PART_headers, which shows the headers of the current folder.
function(slowpath_headers part)
    set(shown ${PROJECT_BINARY_DIR}/headers/${part})
    file(MAKE_DIRECTORY ${shown})
    file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${shown}/${part} SYMBOLIC)
    add_library(slowpath_${part}_headers INTERFACE)
    target_include_directories(slowpath_${part}_headers INTERFACE ${shown})
endfunction()

# slowpath_part(PART SOURCE...): the static library slowpath_PART.
function(slowpath_part part)
    slowpath_headers(${part})
    add_library(slowpath_${part} STATIC ${ARGN})
    target_link_libraries(slowpath_${part} PUBLIC slowpath_${part}_headers)
endfunction()
