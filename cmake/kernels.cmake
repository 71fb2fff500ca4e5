# SPDX-License-Identifier: Apache-2.0
# edgeq_add_kernels(TARGET [LINK LIBRARIES...] KERNELS "FORMAT: ACTIVATIONS..." ...)
#
# A static library of kernels, each compiled once: whatever links TARGET takes the kernels of these pairs from it, and
# its sources need not know. FORMAT and ACTIVATIONS are types as namespace edgeq sees them:
#
#   edgeq_add_kernels(my_kernels KERNELS "Int4<32>: DynamicInt8 DynamicInt16" "Bf16Weight: F32")
#   target_link_libraries(my_engine PRIVATE my_kernels)
#
# LINK is for components that change kernels (edgeq::highway): TARGET links them publicly.
function(edgeq_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 argument "" "" "LINK;KERNELS")
  if(argument_UNPARSED_ARGUMENTS OR NOT argument_KERNELS)
    message(FATAL_ERROR "edgeq_add_kernels(${target} [LINK ...] KERNELS ...): not understood: ${argument_UNPARSED_ARGUMENTS}")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target})
  set(header "#pragma once\n#include <edgeq/compiled_kernels.hpp>\nnamespace edgeq {\n")
  set(index 0)
  foreach(line IN LISTS argument_KERNELS)
    if(NOT line MATCHES "^(.+): +(.+)$")
      message(FATAL_ERROR "edgeq_add_kernels(${target}): \"${line}\" is not \"FORMAT: ACTIVATIONS...\"")
    endif()
    set(format "${CMAKE_MATCH_1}")
    string(REGEX REPLACE " +" ";" activations "${CMAKE_MATCH_2}")
    set(source "#include <edgeq/compiled_kernels.hpp>\nnamespace edgeq {\n")
    foreach(activation IN LISTS activations)
      string(APPEND header "EDGEQ_KERNELS_ELSEWHERE(${activation}, ${format})\n")
      string(APPEND source "EDGEQ_KERNELS_HERE(${activation}, ${format})\n")
    endforeach()
    # Written only when it changes, so that a new configuration compiles nothing again.
    file(CONFIGURE OUTPUT ${folder}/kernels_${index}.cpp CONTENT "${source}}\n" @ONLY)
    list(APPEND sources ${folder}/kernels_${index}.cpp)
    math(EXPR index "${index} + 1")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/kernels.hpp CONTENT "${header}}\n" @ONLY)

  add_library(${target} STATIC ${sources})
  target_link_libraries(${target} PUBLIC edgeq::edgeq ${argument_LINK})
  target_compile_options(${target} INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${folder}/kernels.hpp>")
endfunction()
