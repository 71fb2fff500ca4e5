# SPDX-License-Identifier: Apache-2.0
# Every public header compiles on its own, without warnings, exceptions, RTTI or instruction-set flags.
# Arguments: compiler, include folder.
compiler=$1
include=$2
failed=0
for header in $(cd "$include" && find edgeq -name '*.hpp' | sort); do
  "$compiler" -std=c++20 -O0 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror -fno-exceptions -fno-rtti \
    -I "$include" -include "$header" -x c++ /dev/null || { echo "FAILED: $header"; failed=1; }
done
exit $failed
