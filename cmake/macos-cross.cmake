# Toolchain: arm64 macOS from Linux on x86-64, with zig's clang, libc++ and libSystem stub in place of
# Apple's SDK (tools/build_for_macos.sh). What is built cannot be run here.
set(CMAKE_SYSTEM_NAME Darwin)
set(CMAKE_SYSTEM_PROCESSOR arm64)

set(MINFER_MACOS_VERSION 14.0 CACHE STRING "the oldest macOS that the program starts on")
set(MINFER_ZIG "" CACHE FILEPATH "zig, as softmetal/tools/fetch_zig.sh prints it")
# ccache takes a compiler for one program: "zig c++" becomes a file. An unchanged file is left alone,
# because ccache knows a compiler by its time. Projects in which CMake tries the compiler share it.
set(MINFER_ZIG_TOOLS ${CMAKE_BINARY_DIR}/zig CACHE PATH "where the compiler's programs are written")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MINFER_ZIG_TOOLS)
function(minfer_zig_tool name command)
    set(place ${MINFER_ZIG_TOOLS}/${name})
    file(CONFIGURE OUTPUT ${place} CONTENT "#!/bin/sh\nexec '${MINFER_ZIG}' ${command} \"$@\"\n" @ONLY)
    file(CHMOD ${place} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE)
endfunction()
get_property(trying GLOBAL PROPERTY IN_TRY_COMPILE)
if(NOT trying)
    minfer_zig_tool(clang "cc -target aarch64-macos.${MINFER_MACOS_VERSION}")
    minfer_zig_tool(clang++ "c++ -target aarch64-macos.${MINFER_MACOS_VERSION}")
    minfer_zig_tool(ar ar)
    minfer_zig_tool(ranlib ranlib)
endif()
set(CMAKE_C_COMPILER ${MINFER_ZIG_TOOLS}/clang)
set(CMAKE_CXX_COMPILER ${MINFER_ZIG_TOOLS}/clang++)
set(CMAKE_ASM_COMPILER ${MINFER_ZIG_TOOLS}/clang)
set(CMAKE_AR ${MINFER_ZIG_TOOLS}/ar CACHE FILEPATH "")
set(CMAKE_RANLIB ${MINFER_ZIG_TOOLS}/ranlib CACHE FILEPATH "")
set(CMAKE_INSTALL_NAME_TOOL ${CMAKE_COMMAND} CACHE FILEPATH "asked for, not used: nothing is installed")

# In the SDK's place: headers that zig lacks (Apple's own win where it has them), and what the
# frameworks export, as far as we call it.
set(softmetal ${CMAKE_CURRENT_LIST_DIR}/../softmetal)
cmake_path(NORMAL_PATH softmetal)
set(CMAKE_CXX_FLAGS_INIT "-idirafter ${softmetal}/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-F ${softmetal}/cmake/macos -L ${softmetal}/cmake/macos/lib")

# Debian's libraries are for another system: only what needs no linking is used.
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(MINFER_DEPENDENCIES ${CMAKE_CURRENT_LIST_DIR}/dependencies_header_only.cmake
    CACHE FILEPATH "finds the libraries that minfer is built with")
