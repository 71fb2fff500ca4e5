# SPDX-License-Identifier: Apache-2.0
# A mistake must be refused with the sentence that the source expects, and its correct twin must compile.
# Arguments: compiler, include folder, work folder, source. The source says "// expect: REGEX" and holds the mistake
# under EDGEQ_MISTAKE.
export LC_ALL=C  # plain quotes
compiler=$1
include=$2
source=$4
expected=$(sed -n 's|^// expect: ||p' "$source")
test -n "$expected" || { echo "$source: no line '// expect:'"; exit 1; }
compile() { "$compiler" -std=c++20 -O2 -fsyntax-only -I "$include" "$@" "$source" 2>&1; }

output=$(compile) || { echo "$output"; echo "FAILED: the correct twin does not compile"; exit 1; }
if output=$(compile -DEDGEQ_MISTAKE); then
  echo "FAILED: the mistake compiles"
  exit 1
fi
if ! echo "$output" | grep -Eq "$expected"; then
  echo "$output"
  echo "FAILED: nothing says: $expected"
  exit 1
fi
echo "$output" | grep -Em1 "$expected"
