# With FRESHET_PCH the headers of the standard library that most files include are compiled once for all
# libraries, and with Catch2 once for all tests: a fifth of a clean build. Without it every file shows that it
# includes what it uses (the preset `lint` and the sanitizers build that way).
option(FRESHET_PCH "Compile the common headers once" ON)
if(FRESHET_SANITIZE)
  set(FRESHET_PCH OFF)
endif()
if(FRESHET_PCH)
  set(headers <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <compare> <concepts>
      <condition_variable> <cstdint> <cstring> <deque> <functional> <limits> <map> <memory> <mutex> <numeric>
      <optional> <set> <span> <string> <string_view> <tuple> <type_traits> <unordered_map> <utility> <variant>
      <vector>)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/pch.cc CONTENT "int main() {}\n")
  add_library(pch_libraries OBJECT EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch.cc)
  target_precompile_headers(pch_libraries PRIVATE ${headers})
  add_executable(pch_tests EXCLUDE_FROM_ALL ${CMAKE_BINARY_DIR}/pch.cc)
  target_precompile_headers(pch_tests PRIVATE ${headers} <catch2/catch.hpp>)
  target_compile_options(pch_tests PRIVATE $<$<CONFIG:Release>:-O1>)
  foreach(donor pch_libraries pch_tests)
    target_link_libraries(${donor} PRIVATE freshet::flags)
  endforeach()
endif()

# freshet_precompiled(target donor): has `target` use the headers compiled for `donor`.
function(freshet_precompiled target donor)
  if(FRESHET_PCH)
    target_precompile_headers(${target} REUSE_FROM ${donor})
  endif()
endfunction()

# freshet_module(name HEADERS … SOURCES … DEPENDS … PRIVATE_DEPENDS … LIBRARIES … PRIVATE_LIBRARIES …)
# defines the library of a module and checks its arrows. DEPENDS are modules of ours; LIBRARIES are
# third-party targets (PRIVATE_LIBRARIES do not reach the users of the module). ROOT is the folder that has
# include/ and src/ when it is not this one.
function(freshet_module name)
  cmake_parse_arguments(M "" "ROOT" "HEADERS;SOURCES;DEPENDS;PRIVATE_DEPENDS;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  foreach(dep IN LISTS M_DEPENDS M_PRIVATE_DEPENDS)
    if(NOT dep IN_LIST FRESHET_ARROWS_${name})
      message(FATAL_ERROR "layering: ${name} may not depend on ${dep} (see cmake/Layers.cmake)")
    endif()
  endforeach()
  if(NOT M_ROOT)
    set(M_ROOT .)
  endif()
  list(TRANSFORM M_DEPENDS PREPEND freshet::)
  list(TRANSFORM M_PRIVATE_DEPENDS PREPEND freshet::)
  if(M_SOURCES)
    add_library(${name} STATIC ${M_SOURCES})
    target_link_libraries(${name} PUBLIC ${M_DEPENDS} ${M_LIBRARIES}
        PRIVATE ${M_PRIVATE_DEPENDS} ${M_PRIVATE_LIBRARIES} $<BUILD_INTERFACE:freshet::flags>)
    target_compile_features(${name} PUBLIC cxx_std_20)  # so that users of the installed libraries get it too
    target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${M_ROOT}/include FILES ${M_HEADERS})
    target_include_directories(${name} PRIVATE ${M_ROOT}/src)
    freshet_precompiled(${name} pch_libraries)
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE ${M_DEPENDS} ${M_LIBRARIES})
    target_compile_features(${name} INTERFACE cxx_std_20)
    target_sources(${name} INTERFACE FILE_SET HEADERS BASE_DIRS ${M_ROOT}/include FILES ${M_HEADERS})
  endif()
  set_target_properties(${name} PROPERTIES OUTPUT_NAME freshet_${name})
  add_library(freshet::${name} ALIAS ${name})
  set_property(GLOBAL APPEND PROPERTY FRESHET_MODULES ${name})
endfunction()

# freshet_test(module [NAME target] LABELS … SOURCES … DEPENDS …): one Catch2 executable; LABELS (default
# "unit") become CTest labels. SIMULATED: it kills simulated processes, and with them what would have ended conversations
# that hold each other; leaks are not looked for there. TIMEOUT is in seconds. DEPENDS are modules of ours beside the
# module itself.
function(freshet_test module)
  if(NOT FRESHET_TESTS)
    return()
  endif()
  cmake_parse_arguments(T "SIMULATED" "NAME;TIMEOUT" "LABELS;SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  if(NOT T_NAME)
    set(T_NAME ${module}_test)
  endif()
  if(NOT T_LABELS)
    set(T_LABELS unit)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 300)
  endif()
  list(TRANSFORM T_DEPENDS PREPEND freshet::)
  add_executable(${T_NAME} ${T_SOURCES})
  target_link_libraries(${T_NAME} PRIVATE freshet::${module} ${T_DEPENDS} ${T_LIBRARIES}
      testing_main freshet::flags)
  target_include_directories(${T_NAME} PRIVATE src)
  # Tests instantiate many templates for few rows: -O1 compiles them sooner.
  target_compile_options(${T_NAME} PRIVATE $<$<CONFIG:Release>:-O1>)
  freshet_precompiled(${T_NAME} pch_tests)
  add_test(NAME ${T_NAME} COMMAND ${T_NAME})
  set_tests_properties(${T_NAME} PROPERTIES LABELS "${T_LABELS}" TIMEOUT ${T_TIMEOUT})
  freshet_sanitized(${T_NAME} ${T_TIMEOUT})
  if(FRESHET_SANITIZE AND T_SIMULATED)
    set_property(TEST ${T_NAME} APPEND PROPERTY ENVIRONMENT_MODIFICATION "ASAN_OPTIONS=path_list_append:detect_leaks=0")
  endif()
endfunction()

# freshet_sanitized(test seconds): under a sanitizer the test knows our suppressions and gets five times as long.
function(freshet_sanitized test seconds)
  if(FRESHET_SANITIZE)
    math(EXPR timeout "5 * ${seconds}")
    set_tests_properties(${test} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT_MODIFICATION
        "TSAN_OPTIONS=path_list_append:suppressions=${PROJECT_SOURCE_DIR}/tools/tsan.supp;LSAN_OPTIONS=path_list_append:suppressions=${PROJECT_SOURCE_DIR}/tools/lsan.supp")
  endif()
endfunction()

# freshet_bench(module NAME target SOURCES … DEPENDS …): a Google Benchmark executable.
function(freshet_bench module)
  if(NOT FRESHET_BENCH)
    return()
  endif()
  cmake_parse_arguments(B "" "NAME" "SOURCES;DEPENDS" ${ARGN})
  find_package(benchmark REQUIRED)
  list(TRANSFORM B_DEPENDS PREPEND freshet::)
  add_executable(${B_NAME} ${B_SOURCES})
  target_link_libraries(${B_NAME} PRIVATE freshet::${module} ${B_DEPENDS} benchmark::benchmark_main freshet::flags)
  add_test(NAME ${B_NAME} COMMAND ${B_NAME} --benchmark_min_time=0.001)
  set_tests_properties(${B_NAME} PROPERTIES LABELS bench TIMEOUT 300)
endfunction()
