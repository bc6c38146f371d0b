# What a builder may choose, and the flags every target of ours is compiled with.
option(MINFER_TESTS "build the tests" ON)
option(MINFER_BENCH "build the timed programs in bench/" OFF)
option(MINFER_METAL "build softmetal, the Metal API in software" ON)
option(MINFER_FUZZ "build the libFuzzer entry points" OFF)
set(MINFER_SANITIZE "" CACHE STRING "sanitizers for all of our code, e.g. address,undefined")
set(MINFER_DEPENDENCIES ${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake
    CACHE FILEPATH "finds the libraries that minfer is built with")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "minfer is built with clang (found ${CMAKE_CXX_COMPILER_ID}); use a preset: cmake --preset release")
endif()

find_program(MINFER_CCACHE ccache)
if(MINFER_CCACHE)
    # The sloppiness lets objects built on a precompiled header be cached.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${MINFER_CCACHE})
endif()

# -ffp-contract=off: a result must not depend on which instructions the compiler happened to
# fuse; where we want a fused multiply-add we write it.
add_library(minfer_flags INTERFACE)
target_compile_options(minfer_flags INTERFACE
    -ffp-contract=off -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Wimplicit-fallthrough
    -Wthread-safety -Wno-gnu-statement-expression -Wno-missing-designated-field-initializers
    -Werror)
target_include_directories(minfer_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)

# Assertions on the standard library's own preconditions stay on in debug builds.
target_compile_definitions(minfer_flags INTERFACE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)

if(MINFER_SANITIZE)
    add_compile_options(-fsanitize=${MINFER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
    add_link_options(-fsanitize=${MINFER_SANITIZE})
endif()

# The fuzzers are steered by the coverage of the libraries, not only of their own file.
if(MINFER_FUZZ)
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()
