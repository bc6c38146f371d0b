# How softmetal is compiled, and one line per library and test program.

# Headers are named from the folder above: "softmetal/control.h". All that a program that links
# softmetal is compiled with, beside what metal-cpp asks for.
cmake_path(GET SOFTMETAL_ROOT PARENT_PATH SOFTMETAL_PARENT)
add_library(softmetal_headers INTERFACE)
target_include_directories(softmetal_headers INTERFACE ${SOFTMETAL_PARENT})

# For our own sources only: a program that links us keeps its own warnings and arithmetic.
add_library(softmetal_flags INTERFACE)
target_link_libraries(softmetal_flags INTERFACE softmetal_headers)
target_compile_features(softmetal_flags INTERFACE cxx_std_23)
target_compile_options(softmetal_flags INTERFACE
    -ffp-contract=off
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
        -Wthread-safety -Wno-gnu-statement-expression -Wno-missing-designated-field-initializers
        -Werror>)

# softmetal_library(NAME SOURCES file... [DEPS target...])
function(softmetal_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_library(softmetal_${name} STATIC ${arg_SOURCES})
    target_link_libraries(softmetal_${name} PUBLIC softmetal_headers ${arg_DEPS} PRIVATE softmetal_flags)
endfunction()

# softmetal_test(NAME SOURCES file... [DEPS target...])
# All tests of a folder are one program; each TEST is one ctest entry.
function(softmetal_test name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE softmetal_flags ${arg_DEPS} GTest::gtest_main GTest::gmock)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()
