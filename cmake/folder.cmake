# How a folder becomes a target, and a folder of tests a test program.

# Flags of every file of ours. No contraction: a fused multiply-add rounds once where the integer rule rounds twice.
add_library(ww_flags INTERFACE)
target_include_directories(ww_flags INTERFACE ${CMAKE_SOURCE_DIR})
# g++ 12 reports std::optional and std::variant as maybe uninitialized where they are not (GCC bug 80635).
target_compile_options(ww_flags INTERFACE -Wall -Wextra -Werror -Wno-maybe-uninitialized -ffp-contract=off)

# ww_folder(NAME DEPENDS ww_core ...): a static library of all sources of this folder, but not of its subfolders.
function(ww_folder name)
  cmake_parse_arguments(ARG "RECURSE" "" "DEPENDS" ${ARGN})
  if(ARG_RECURSE)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  endif()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX POSITION_INDEPENDENT_CODE ON)
  target_link_libraries(${name} PUBLIC ww_flags ${ARG_DEPENDS})
endfunction()

# ww_tests(NAME DEPENDS ww_core ... [LABELS ...]): one GoogleTest program of all sources of this folder.
function(ww_tests name)
  cmake_parse_arguments(ARG "" "" "DEPENDS;LABELS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE ww_flags ${ARG_DEPENDS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE WARPWRIGHT_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  set(properties TIMEOUT 600)
  if(ARG_LABELS)
    list(APPEND properties LABELS ${ARG_LABELS})
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES ${properties})
endfunction()
