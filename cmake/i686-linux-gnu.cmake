# SPDX-License-Identifier: Apache-2.0
# Builds for 32-bit x86 Linux on another machine, by Debian's cross compiler. Programs run as they are on x86-64, with the
# cross compiler's libraries, and elsewhere on qemu-i386 (in version 7.2 programs of many threads hang). Floats are those of
# SSE2, as edgeq needs them. scripts/test_other_targets.sh uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(CMAKE_CXX_COMPILER i686-linux-gnu-g++)
set(CMAKE_C_COMPILER i686-linux-gnu-gcc)
set(CMAKE_CXX_FLAGS_INIT "-msse2 -mfpmath=sse")
set(EDGEQ_QEMU qemu-i386)
include(${CMAKE_CURRENT_LIST_DIR}/emulated_target.cmake)
if(CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL x86_64)
  set(CMAKE_CROSSCOMPILING_EMULATOR
      "/usr/i686-linux-gnu/lib/ld-linux.so.2;--library-path;/usr/i686-linux-gnu/lib")
endif()
