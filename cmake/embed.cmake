# Puts files into a program.

# minfer_embed(NAME FILE file SYMBOL symbol)
# A library NAME, linked like any other, that holds the bytes of FILE (which a custom command may make):
#   extern "C" const unsigned char symbol[];   // 16-byte aligned; a zero byte follows, for text
#   extern "C" const size_t symbol_size;       // in bytes, without that zero
function(minfer_embed name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "FILE;SYMBOL" "")
    if(NOT arg_FILE OR NOT arg_SYMBOL)
        message(FATAL_ERROR "minfer_embed(${name}): FILE and SYMBOL are needed")
    endif()
    cmake_path(ABSOLUTE_PATH arg_FILE BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.S)
    add_custom_command(OUTPUT ${source}
        COMMAND ${CMAKE_COMMAND} -DFILE=${arg_FILE} -DSYMBOL=${arg_SYMBOL} -DOUT=${source}
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake
        DEPENDS ${arg_FILE} ${PROJECT_SOURCE_DIR}/cmake/embed_file.cmake
        COMMENT "Embedding ${arg_FILE}"
        VERBATIM)
    add_library(${name} STATIC ${source})
endfunction()

# minfer_flatten_metal(OUT SOURCES file... [INCLUDES folder...])
# Makes OUT, one Metal source without includes of ours, when something needs it (tools/flatten_metal.py).
function(minfer_flatten_metal out)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;INCLUDES")
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
    cmake_path(ABSOLUTE_PATH out BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set(sources "")
    foreach(file ${arg_SOURCES})
        cmake_path(ABSOLUTE_PATH file)
        list(APPEND sources ${file})
    endforeach()
    set(flags "")
    foreach(folder ${arg_INCLUDES})
        cmake_path(ABSOLUTE_PATH folder)
        list(APPEND flags -I ${folder})
    endforeach()
    add_custom_command(OUTPUT ${out}
        COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/flatten_metal.py -o ${out}
            --root ${PROJECT_SOURCE_DIR} --depfile ${out}.d ${flags} ${sources}
        DEPENDS ${sources} ${PROJECT_SOURCE_DIR}/tools/flatten_metal.py
        DEPFILE ${out}.d
        COMMENT "Joining Metal sources into ${out}"
        VERBATIM)
endfunction()
