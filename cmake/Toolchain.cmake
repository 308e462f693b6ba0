# Compiler settings that hold for every target of the project; third-party headers are system headers.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Assertions are ours and stay on in every build, so NDEBUG only silences third-party headers.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g1 -DFRESHET_DEBUG")

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      ${CCACHE})
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

add_library(freshet_flags INTERFACE)
add_library(freshet::flags ALIAS freshet_flags)
target_compile_options(freshet_flags INTERFACE
    -pthread -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Wno-missing-field-initializers)
# g++ 12 reports impossible overflows and uninitialised reads inside its own library at -O2.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(freshet_flags INTERFACE
      -Wno-error=maybe-uninitialized -Wno-error=stringop-overflow -Wno-error=array-bounds
      -Wno-error=restrict -Wno-error=stringop-overread -Wno-error=free-nonheap-object
      -Wno-error=dangling-pointer)
endif()

if(FRESHET_SANITIZE)
  # Instrumented code is several times slower, so it is optimised a little more than a debug build; the
  # warnings that g++ draws from instrumented code are not about what was written.
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  target_compile_options(freshet_flags INTERFACE -Wno-error)
endif()
if(FRESHET_SANITIZE STREQUAL "address")
  # Checks of each access for null and for its size are left out: they make the code larger, and
  # AddressSanitizer stops at such an access, too.
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=null,object-size,vptr
      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_compile_definitions(_GLIBCXX_ASSERTIONS FRESHET_DEBUG)
  add_link_options(-fsanitize=address,undefined)
elseif(FRESHET_SANITIZE STREQUAL "thread")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_compile_definitions(FRESHET_DEBUG)
  add_link_options(-fsanitize=thread)
endif()

find_package(Threads REQUIRED)
