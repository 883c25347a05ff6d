# SPDX-License-Identifier: Apache-2.0
# No file but tests in C, which see the one public header of their library, includes by a path upwards. In: FOLDER.
file(GLOB_RECURSE sources ${FOLDER}/*.cpp ${FOLDER}/*.hpp ${FOLDER}/*.h)
list(LENGTH sources count)
if(count LESS 100)
    message(FATAL_ERROR "only ${count} files found in ${FOLDER}")
endif()
foreach(source ${sources})
    file(STRINGS ${source} lines REGEX "#include[ \t]*\"[^\"]*\\.\\./")
    if(lines)
        message(FATAL_ERROR "${source}: ${lines}")
    endif()
endforeach()
