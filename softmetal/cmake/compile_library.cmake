# softmetal_compile_library(NAME OUT SOURCES file... [DEFINITIONS name[=value]...] [INCLUDES folder...]
#                           [STRICT] [FAST_MATH])
# Compiles MSL files with mslc into OUT, one .smlib; NAME is the custom target that has it built.
# Rebuilt when a source, or a header that one includes, or the compiler changes. Files that another
# build with the same SOFTMETAL_KERNEL_CACHE has compiled, or an earlier one, are not compiled again.
set(SOFTMETAL_KERNEL_CACHE "" CACHE PATH "folder for compiled kernels that builds share; empty: none")
function(softmetal_compile_library name out)
    cmake_parse_arguments(PARSE_ARGV 2 arg "STRICT;FAST_MATH" "" "SOURCES;DEFINITIONS;INCLUDES")
    cmake_path(ABSOLUTE_PATH out BASE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set(flags "")
    foreach(definition ${arg_DEFINITIONS})
        list(APPEND flags -D ${definition})
    endforeach()
    set(sources "")
    foreach(file ${arg_INCLUDES})
        cmake_path(ABSOLUTE_PATH file)
        list(APPEND flags -I ${file})
    endforeach()
    foreach(file ${arg_SOURCES})
        cmake_path(ABSOLUTE_PATH file)
        list(APPEND sources ${file})
    endforeach()
    if(arg_STRICT)
        list(APPEND flags --strict)
    endif()
    if(arg_FAST_MATH)
        list(APPEND flags --fast-math)
    endif()
    set(compiler mslc)
    if(SOFTMETAL_KERNEL_CACHE)
        set(compiler ${CMAKE_COMMAND} -E env "XDG_CACHE_HOME=${SOFTMETAL_KERNEL_CACHE}"
            $<TARGET_FILE:mslc> --cache)
    endif()
    add_custom_command(OUTPUT ${out}
        COMMAND ${compiler} ${flags} --depfile ${out}.d -o ${out} ${sources}
        DEPENDS ${sources} mslc softmetal_kernel_pass
        DEPFILE ${out}.d
        COMMENT "Compiling Metal library ${out}"
        VERBATIM)
    add_custom_target(${name} DEPENDS ${out})
    set_target_properties(${name} PROPERTIES SOFTMETAL_LIBRARY ${out})
endfunction()
