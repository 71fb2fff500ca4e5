# SPDX-License-Identifier: Apache-2.0
# The headers, and kernels of them, compile for 64-bit Arm without warnings, exceptions or RTTI, whatever the command line
# asks for: a region must neither need more than it names nor refuse to inline what the command line made better.
# Arguments: gcc, clang or android; include folder, work folder, source of kernels.
#
# android is Clang's target with the headers of glibc and libstdc++ in place of the NDK's: it shows that nothing here
# depends on the macros and the ABI in which Android differs from Linux, not that its C library has what is called.
kind=$1
include=$2
work=$3
kernels=$4
gcc=aarch64-linux-gnu-g++
command -v $gcc >/dev/null || { echo "SKIPPED: $gcc not found (Debian: g++-aarch64-linux-gnu)"; exit 77; }
compiler=
if [ "$kind" = gcc ]; then
  compiler=$gcc
else
  for version in 22 21 20 19 18 17 16; do
    command -v clang++-$version >/dev/null && { compiler=clang++-$version; break; }
  done
  [ "$compiler" ] || { echo "SKIPPED: needs Clang 16 or newer (clang++-16 ...)"; exit 77; }
fi
case $kind in
  clang) compiler="$compiler --target=aarch64-linux-gnu" ;;
  android)
    headers=/usr/aarch64-linux-gnu/include
    standard=$(find $headers/c++ -mindepth 1 -maxdepth 1 | sort -V | tail -n 1)
    compiler="$compiler --target=aarch64-linux-android24 -nostdinc++ -isystem $standard"
    compiler="$compiler -isystem $standard/aarch64-linux-gnu -isystem $headers" ;;
esac

mkdir -p "$work"
json=yes
$compiler -std=c++20 -fsyntax-only -idirafter /usr/include -include nlohmann/json.hpp -x c++ /dev/null 2>/dev/null || json=
for header in $(cd "$include" && find edgeq -name '*.hpp' | sort); do
  case $header in
    edgeq/highway/* | edgeq/isa/highway.hpp | edgeq/packed/checksum.hpp | edgeq/packed/writer.hpp) ;;  # other libraries
    edgeq/import/json.hpp | edgeq/import/safetensors* | edgeq/import/quantization_config* | edgeq/import/checkpoint_linear.hpp)
      [ "$json" ] && echo "#include \"$header\"" ;;
    *) echo "#include \"$header\"" ;;
  esac
done > "$work/headers.cpp"
echo "$(wc -l < "$work/headers.cpp") headers, $compiler"

warnings="-Wall -Wextra -Wpedantic -Wconversion -Werror -fno-exceptions -fno-rtti"
# GCC's bug 105651; a deprecated function that libstdc++ 12 calls itself.
[ "$kind" = gcc ] && warnings="$warnings -Wno-restrict" || warnings="$warnings -Wno-deprecated-declarations"
failed=0
for flags in "" -march=armv8.6-a -march=armv9-a -march=armv8-a+crypto -mcpu=neoverse-n1 -mcpu=a64fx; do
  # shellcheck disable=SC2086  # lists of words
  $compiler -std=c++20 -O1 $flags $warnings -I "$include" -idirafter /usr/include -fsyntax-only "$work/headers.cpp" ||
    { echo "FAILED: headers with ${flags:-no flag}"; failed=1; }
  # Code, not syntax alone: the compiler inlines, or refuses to.
  # shellcheck disable=SC2086
  $compiler -std=c++20 -O1 $flags $warnings -I "$include" -idirafter /usr/include -c "$kernels" -o "$work/kernels.o" ||
    { echo "FAILED: kernels with ${flags:-no flag}"; failed=1; }
done
exit $failed
