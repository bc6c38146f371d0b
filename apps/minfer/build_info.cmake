# Run at every build (cmake -P): writes OUTPUT from INPUT, and only when the commit has changed.
set(MINFER_COMMIT "")
find_program(git git)
if(git)
    execute_process(COMMAND ${git} rev-parse --short=9 HEAD WORKING_DIRECTORY ${SOURCE_DIR}
                    OUTPUT_VARIABLE MINFER_COMMIT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(NOT MINFER_COMMIT)
    set(MINFER_COMMIT "unknown")
endif()
configure_file(${INPUT} ${OUTPUT} @ONLY)
