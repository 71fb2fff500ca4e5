# SPDX-License-Identifier: Apache-2.0
# Builds for 64-bit Arm Linux on another machine, by Debian's cross compiler, with Debian's arm64 packages (dpkg
# --add-architecture arm64; libgtest-dev:arm64, libhwy-dev:arm64); programs run on qemu-aarch64. With
# -DEDGEQ_CROSS_CLANG=19 Clang of that version compiles, on the same libraries. A test's environment QEMU_CPU chooses the
# processor.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(EDGEQ_CROSS_CLANG "" CACHE STRING "The version of Clang to compile with; GCC if empty")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES EDGEQ_CROSS_CLANG)
if(EDGEQ_CROSS_CLANG)
  set(CMAKE_CXX_COMPILER clang++-${EDGEQ_CROSS_CLANG})
  set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
else()
  set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
endif()

# The arm64 packages lie beside the machine's own, which must not be found.
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu /)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_SYSTEM_IGNORE_PATH /usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/cmake)
find_program(EDGEQ_QEMU_AARCH64 qemu-aarch64)
set(CMAKE_CROSSCOMPILING_EMULATOR "${EDGEQ_QEMU_AARCH64}")
