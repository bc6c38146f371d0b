# One line per library, test or program; include arrows are checked by tools/check_layers.py.

# minfer_library(NAME SOURCES file... [DEPS target...])
function(minfer_library name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_library(minfer_${name} STATIC ${arg_SOURCES})
    target_link_libraries(minfer_${name} PUBLIC minfer_flags ${arg_DEPS})
endfunction()

# minfer_program(NAME SOURCES file... [DEPS target...])
function(minfer_program name)
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE minfer_flags ${arg_DEPS})
endfunction()

# minfer_test(NAME SOURCES file... [DEPS target...] [LABELS label...] [METAL])
# All tests of a folder are one program; each TEST is one ctest entry. METAL: the tests see metal-cpp.
function(minfer_test name)
    cmake_parse_arguments(arg "METAL" "" "SOURCES;DEPS;LABELS" ${ARGN})
    add_executable(${name} ${arg_SOURCES})
    target_link_libraries(${name} PRIVATE minfer_test_support ${arg_DEPS} GTest::gtest_main)
    if(arg_METAL) # blocks, which the precompiled header knows nothing of
        target_link_libraries(${name} PRIVATE $<IF:$<BOOL:${APPLE}>,metal_cpp_headers,softmetal>)
    else()
        target_precompile_headers(${name} REUSE_FROM minfer_test_headers)
    endif()
    gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 PROPERTIES LABELS "${arg_LABELS}")
endfunction()

# minfer_fuzzer(NAME SOURCES file... [DEPS target...])
# With MINFER_FUZZ a libFuzzer program; its seed corpus lies in tests/fuzz/corpus/NAME.
function(minfer_fuzzer name)
    if(NOT MINFER_FUZZ)
        return()
    endif()
    cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
    add_executable(fuzz_${name} ${arg_SOURCES})
    target_link_libraries(fuzz_${name} PRIVATE minfer_flags minfer_test_support ${arg_DEPS})
    target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
    target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
endfunction()
