# SPDX-License-Identifier: Apache-2.0
# Every public header compiles on its own, without warnings, exceptions, RTTI or instruction-set flags.
# Arguments: compiler, include folder.
compiler=$1
include=$2
failed=0
json=yes
"$compiler" -std=c++20 -fsyntax-only -include nlohmann/json.hpp -x c++ /dev/null 2>/dev/null || json=
for header in $(cd "$include" && find edgeq -name '*.hpp' | sort); do
  case $header in
    edgeq/import/json.hpp | edgeq/import/safetensors* | edgeq/import/quantization_config*)
      [ "$json" ] || { echo "skipped without nlohmann::json: $header"; continue; } ;;
  esac
  "$compiler" -std=c++20 -O0 -fsyntax-only -Wall -Wextra -Wpedantic -Wconversion -Werror -fno-exceptions -fno-rtti \
    -I "$include" -include "$header" -x c++ /dev/null || { echo "FAILED: $header"; failed=1; }
done
exit $failed
