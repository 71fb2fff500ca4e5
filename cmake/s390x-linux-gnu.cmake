# SPDX-License-Identifier: Apache-2.0
# Builds for IBM Z Linux, a big-endian machine, on another one, by Debian's cross compiler; programs run on qemu-s390x.
# scripts/test_other_targets.sh uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_CXX_COMPILER s390x-linux-gnu-g++)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(EDGEQ_QEMU qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/emulated_target.cmake)
