# SPDX-License-Identifier: Apache-2.0
# The components: edgeq::highway, edgeq::xsimd and edgeq::checkpoint. Each target always exists, so that the installed package
# offers it wherever its library is; its public name exists where the library is found.

# Kernels on Google Highway. Its dispatch needs a translation unit of its own, so the component brings a source
# that is compiled once into every target that links it.
add_library(edgeq_highway INTERFACE)
set_target_properties(edgeq_highway PROPERTIES EXPORT_NAME highway)
target_sources(edgeq_highway INTERFACE
               $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include/edgeq/highway/kernels.cc>
               $<INSTALL_INTERFACE:include/edgeq/highway/kernels.cc>)
target_compile_definitions(edgeq_highway INTERFACE EDGEQ_HAS_HIGHWAY=1)
target_link_libraries(edgeq_highway INTERFACE edgeq hwy::hwy)
if(NOT TARGET hwy::hwy)
  find_package(hwy 1.0.3 CONFIG QUIET)
endif()
if(TARGET hwy::hwy)
  add_library(edgeq::highway ALIAS edgeq_highway)
endif()

# Epilogues on xsimd, of which only the headers are needed: Debian 12's target also links xtl, which it does not
# ship.
add_library(edgeq_xsimd INTERFACE)
set_target_properties(edgeq_xsimd PROPERTIES EXPORT_NAME xsimd)
target_compile_definitions(edgeq_xsimd INTERFACE EDGEQ_HAS_XSIMD=1)
target_include_directories(edgeq_xsimd SYSTEM INTERFACE $<TARGET_PROPERTY:xsimd,INTERFACE_INCLUDE_DIRECTORIES>)
target_link_libraries(edgeq_xsimd INTERFACE edgeq)
if(NOT TARGET xsimd)
  find_package(xsimd CONFIG QUIET)
endif()
if(TARGET xsimd)
  add_library(edgeq::xsimd ALIAS edgeq_xsimd)
endif()

# Readers of checkpoints whose containers hold JSON, and what needs xxHash's header: checksums of packed files.
add_library(edgeq_checkpoint INTERFACE)
set_target_properties(edgeq_checkpoint PROPERTIES EXPORT_NAME checkpoint)
target_link_libraries(edgeq_checkpoint INTERFACE edgeq nlohmann_json::nlohmann_json)
if(NOT TARGET nlohmann_json::nlohmann_json)
  find_package(nlohmann_json 3.9 CONFIG QUIET)
endif()
find_path(EDGEQ_XXHASH_INCLUDE_DIR xxhash.h)
mark_as_advanced(EDGEQ_XXHASH_INCLUDE_DIR)
if(TARGET nlohmann_json::nlohmann_json AND EDGEQ_XXHASH_INCLUDE_DIR)
  target_include_directories(edgeq_checkpoint SYSTEM INTERFACE $<BUILD_INTERFACE:${EDGEQ_XXHASH_INCLUDE_DIR}>)
  add_library(edgeq::checkpoint ALIAS edgeq_checkpoint)
endif()
