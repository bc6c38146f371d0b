# In place of dependencies.cmake where the system's packages are for another system than the one that
# is built for: what Debian's packages hold as headers. /usr/include itself would bring the wrong C
# library, so each library is seen through a folder with one link to its folder or header.
find_package(Threads REQUIRED)

function(minfer_headers target name)
    if(NOT EXISTS /usr/include/${name})
        message(FATAL_ERROR "there is no /usr/include/${name}: run ./test.sh once, which installs what is missing")
    endif()
    set(place ${CMAKE_BINARY_DIR}/headers/${name})
    file(MAKE_DIRECTORY ${place})
    file(CREATE_LINK /usr/include/${name} ${place}/${name} SYMBOLIC)
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} SYSTEM INTERFACE ${place})
endfunction()

# Header-only, fmt would be compiled again for every file, which doubles the time of the build.
minfer_headers(minfer_fmt_headers fmt)
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fmt_library.cpp CONTENT [[
#include <fmt/format-inl.h>
template fmt::detail::thousands_sep_result<char> fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref);
template char fmt::detail::decimal_point_impl(fmt::detail::locale_ref);
]] @ONLY)
add_library(minfer_fmt STATIC ${CMAKE_BINARY_DIR}/fmt_library.cpp)
target_link_libraries(minfer_fmt PUBLIC minfer_fmt_headers)
add_library(fmt::fmt ALIAS minfer_fmt)

minfer_headers(nlohmann_json::nlohmann_json nlohmann)
minfer_headers(CLI11::CLI11 CLI)
minfer_headers(xxhash::xxhash xxhash.h)
