# SPDX-License-Identifier: Apache-2.0
# Installs the headers and a relocatable CMake package. Nothing in it depends on the architecture, so it lies in
# share/ and one copy serves cross builds too.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_folder ${CMAKE_INSTALL_DATADIR}/cmake/edgeq)

# Both places are spelled out rather than taken from CMAKE_INSTALL_INCLUDEDIR: the exported targets name them.
install(DIRECTORY include/edgeq DESTINATION include)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# An export set for each target: the package loads a component only when it is asked for.
foreach(target IN ITEMS edgeq edgeq_highway edgeq_xsimd edgeq_checkpoint)
  install(TARGETS ${target} EXPORT ${target}_targets)
  install(EXPORT ${target}_targets NAMESPACE edgeq:: DESTINATION ${package_folder} FILE ${target}_targets.cmake)
endforeach()

configure_package_config_file(cmake/edgeqConfig.cmake.in edgeqConfig.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(edgeqConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
install(FILES cmake/kernels.cmake ${CMAKE_CURRENT_BINARY_DIR}/edgeqConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/edgeqConfigVersion.cmake
        DESTINATION ${package_folder})
