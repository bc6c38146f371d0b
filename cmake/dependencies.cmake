# Everything comes from the system's packages (Debian, Homebrew); nothing is vendored.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_path(MINFER_XXHASH xxhash.h REQUIRED) # used as a header only
add_library(xxhash::xxhash INTERFACE IMPORTED)
target_include_directories(xxhash::xxhash SYSTEM INTERFACE ${MINFER_XXHASH})
if(MINFER_TESTS)
    find_package(GTest REQUIRED)
    include(GoogleTest)
endif()
