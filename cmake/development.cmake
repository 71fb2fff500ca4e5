# SPDX-License-Identifier: Apache-2.0
# For edgeq's own tests, examples and benchmarks: build type, warnings, system packages, and a summary that says
# what is built, what is not, and why.

get_property(is_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(PROJECT_IS_TOP_LEVEL AND NOT is_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release unless given" FORCE)
endif()
set(CMAKE_CXX_EXTENSIONS OFF)
list(APPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

# Every program here links it.
add_library(edgeq_development INTERFACE)
target_link_libraries(edgeq_development INTERFACE edgeq)
# GCC 12 sees overlaps that are not there where std::string adds a literal (its bug 105651).
target_compile_options(edgeq_development INTERFACE -Wall -Wextra -Wpedantic -Wconversion
                                                   $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

# edgeq_report(PART STATE): a line of the summary.
function(edgeq_report part state)
  set_property(GLOBAL APPEND PROPERTY edgeq_summary "${part}: ${state}")
endfunction()

# edgeq_need(RESULT PART PACKAGE TARGET DEBIAN): finds a system package for a part of the build. RESULT is
# whether it is there; if not, the summary says that the part is off and what to install.
function(edgeq_need result part package target debian)
  if(NOT TARGET ${target})
    find_package(${package} QUIET)
  endif()
  if(TARGET ${target})
    set(${result} TRUE PARENT_SCOPE)
  else()
    edgeq_report("${part}" "OFF: ${package} not found (Debian: ${debian})")
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

function(edgeq_print_summary)
  message(STATUS "edgeq ${PROJECT_VERSION}, ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, "
                 "${CMAKE_BUILD_TYPE} ${CMAKE_CXX_FLAGS}")
  get_property(lines GLOBAL PROPERTY edgeq_summary)
  foreach(line IN LISTS lines)
    message(STATUS "  ${line}")
  endforeach()
endfunction()

if(TARGET edgeq::highway)
  edgeq_report("edgeq::highway" "on")
else()
  edgeq_report("edgeq::highway" "OFF: hwy 1.0.3 or newer not found (Debian: libhwy-dev)")
endif()
if(TARGET edgeq::xsimd)
  edgeq_report("edgeq::xsimd" "on")
else()
  edgeq_report("edgeq::xsimd" "OFF: xsimd not found (Debian: libxsimd-dev)")
endif()
if(TARGET edgeq::checkpoint)
  edgeq_report("edgeq::checkpoint" "on")
else()
  edgeq_report("edgeq::checkpoint" "OFF: nlohmann::json 3.9 or newer not found (Debian: nlohmann-json3-dev)")
endif()
