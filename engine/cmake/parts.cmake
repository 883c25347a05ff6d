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

# slowpath_compiled_together(PART [SOURCE...]): eight sources of it are compiled as one, since the headers of the C++
# library take most of the time and a user's first command waits for the whole engine; not the sources that are named,
# which have names of their own that others have as well. Not for parts whose clock, calls or loops are measured: a
# compiler that sees the callee inlines it.
function(slowpath_compiled_together part)
    set_target_properties(slowpath_${part} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    if(ARGN)
        set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
endfunction()

# slowpath_tables(PART): parameters() and metrics() of the part's namespace, as PART.toml beside its code states them.
function(slowpath_tables part)
    set(file ${CMAKE_CURRENT_SOURCE_DIR}/${part}.toml)
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${part}_tables.cpp)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} text)
    file(CONFIGURE OUTPUT ${source} @ONLY CONTENT [[
#include "experiment/tables.hpp"

namespace slowpath::@part@ {
namespace {

const Tables& tables() {
    static const Tables made = read_tables(R"toml(@text@)toml");
    return made;
}

}  // namespace

std::span<const Parameter> parameters() {
    return tables().parameters;
}

std::span<const Metric> metrics() {
    return tables().metrics;
}

}  // namespace slowpath::@part@
]])
    target_sources(slowpath_${part} PRIVATE ${source})
endfunction()
