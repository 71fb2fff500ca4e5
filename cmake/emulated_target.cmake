# SPDX-License-Identifier: Apache-2.0
# What the toolchain files of targets without packages of their own share: libraries come from the cross compiler's
# folder, which the emulator sees as the root, headers of any machine from this one.
get_filename_component(root ${CMAKE_CXX_COMPILER} NAME)
string(REGEX REPLACE "-g\\+\\+$" "" root ${root})
set(CMAKE_FIND_ROOT_PATH /usr/${root} /)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_SYSTEM_IGNORE_PATH /usr/lib/x86_64-linux-gnu /usr/lib/x86_64-linux-gnu/cmake)
find_program(EDGEQ_EMULATOR ${EDGEQ_QEMU})
set(CMAKE_CROSSCOMPILING_EMULATOR "${EDGEQ_EMULATOR};-L;/usr/${root}")
