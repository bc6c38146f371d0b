# Flags of softmetal's own code, and one line per library and test program.
set(SOFTMETAL_ROOT ${CMAKE_CURRENT_LIST_DIR}/..)
cmake_path(NORMAL_PATH SOFTMETAL_ROOT)

add_library(softmetal_flags INTERFACE)
target_compile_features(softmetal_flags INTERFACE cxx_std_23)
target_compile_options(softmetal_flags INTERFACE
    -ffp-contract=off
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
        -Wthread-safety -Wno-gnu-statement-expression -Wno-missing-designated-field-initializers
        -Werror>)
# Headers are named from the folder above: "softmetal/exec/abi.h".
cmake_path(GET SOFTMETAL_ROOT PARENT_PATH SOFTMETAL_PARENT)
cmake_path(GET SOFTMETAL_PARENT PARENT_PATH SOFTMETAL_PARENT)
target_include_directories(softmetal_flags INTERFACE ${SOFTMETAL_PARENT})

# softmetal_library(NAME SOURCES file... [DEPS target...])
function(softmetal_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_library(softmetal_${name} STATIC ${arg_SOURCES})
    target_link_libraries(softmetal_${name} PUBLIC softmetal_flags ${arg_DEPS})
endfunction()

# softmetal_test(NAME SOURCES file... [DEPS target...])
# All tests of a folder are one program; each TEST is one ctest entry.
function(softmetal_test name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE softmetal_flags ${arg_DEPS} GTest::gtest_main GTest::gmock)
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60)
endfunction()

if(SOFTMETAL_TESTS)
    find_package(GTest REQUIRED)
    include(GoogleTest)
endif()
