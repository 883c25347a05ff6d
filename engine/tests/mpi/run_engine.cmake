# SPDX-License-Identifier: Apache-2.0
# Start the engine and look at its exit code and its words.
# In: COMMAND (words with | between them), CODE, optionally OUT and ERR (regular expressions), EMPTY (a folder to begin without).
if(EMPTY)
    file(REMOVE_RECURSE ${EMPTY})
endif()
string(REPLACE "|" ";" COMMAND "${COMMAND}")
execute_process(COMMAND ${COMMAND} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err TIMEOUT 850)
set(output "\nexit code: ${code}\nstdout:\n${out}\nstderr:\n${err}")
if(NOT "${code}" STREQUAL "${CODE}")
    message(FATAL_ERROR "exit code ${CODE} expected${output}")
endif()
if(OUT AND NOT out MATCHES "${OUT}")
    message(FATAL_ERROR "stdout should match ${OUT}${output}")
endif()
if(ERR AND NOT err MATCHES "${ERR}")
    message(FATAL_ERROR "stderr should match ${ERR}${output}")
endif()
