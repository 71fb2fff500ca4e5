# SPDX-License-Identifier: Apache-2.0
# Builds projects that use edgeq as its users do. Arguments: cmake, compiler, edgeq's source folder, work folder, case.
# The case "install" comes first: it installs edgeq and moves the prefix.
cmake=$1
compiler=$2
source=$3
work=$4
here=$source/tests/package
prefix=$work/moved/prefix
fetch=-DFETCHCONTENT_SOURCE_DIR_EDGEQ=$source
fail() { echo "FAILED: $*"; exit 1; }

# configure PROJECT BUILD OPTIONS...
configure() {
  project=$1
  build=$work/$2
  shift 2
  rm -rf "$build"
  "$cmake" -S "$project" -B "$build" -DCMAKE_CXX_COMPILER="$compiler" --no-warn-unused-cli \
    -DFETCHCONTENT_FULLY_DISCONNECTED=ON "$@"
}
build_and_run() {
  configure "$@" || fail "configure"
  "$cmake" --build "$build" || fail "build"
  "$build/consumer" || fail "the consumer returned $?"
}
# refused SENTENCE OPTIONS...: find_package must fail and say so.
refused() {
  sentence=$1
  shift
  output=$(configure "$here/consumer" refused -DCMAKE_PREFIX_PATH="$prefix" "$@" 2>&1) && fail "not refused: $*"
  echo "$output" | tr -s '\n ' ' ' | grep -F "$sentence" || { echo "$output"; fail "not said: $sentence"; }
}

case $5 in
  install)
    rm -rf "$work"
    configure "$source" edgeq -DEDGEQ_BUILD_TESTS=OFF -DEDGEQ_BUILD_EXAMPLES=OFF -DEDGEQ_BUILD_BENCH=OFF || fail "configure"
    "$cmake" --install "$build" --prefix "$work/prefix" || fail "install"
    mkdir "$work/moved" && mv "$work/prefix" "$work/moved/"
    ! grep -rnF "$source" "$prefix" || fail "the package names the source folder"
    ! grep -rnF "$work" "$prefix" || fail "the package names the folder where it was installed"
    ;;
  installed)
    build_and_run "$here/consumer" installed -DCMAKE_PREFIX_PATH="$prefix"
    ;;
  shared_kernels)
    build_and_run "$here/consumer" shared_kernels -DCMAKE_PREFIX_PATH="$prefix" -DCONSUMER_SHARES_KERNELS=ON
    kernels=$(nm "$build/CMakeFiles/consumer.dir/main.cpp.o" | grep multiply_on)
    echo "$kernels" | grep -q ' U ' || fail "the program does not ask the library for kernels"
    ! echo "$kernels" | grep -v ' U ' || fail "the program has kernels of its own"
    ;;
  baseline_flags)
    build_and_run "$here/consumer" baseline_flags -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_FLAGS=-march=x86-64
    ;;
  fetched)
    build_and_run "$here/consumer" fetched -DEDGEQ_FETCH=ON "$fetch"
    "$cmake" --install "$build" --prefix "$work/fetched_prefix" || fail "install"
    test "$(ls "$work/fetched_prefix")" = bin || fail "edgeq was installed with its host"
    ;;
  xsimd)
    build_and_run "$here/consumer" xsimd -DCMAKE_PREFIX_PATH="$prefix" -DEDGEQ_WANTED_COMPONENTS=xsimd
    ;;
  checkpoint)
    build_and_run "$here/consumer" checkpoint -DCMAKE_PREFIX_PATH="$prefix" -DEDGEQ_WANTED_COMPONENTS=checkpoint
    ;;
  highway)
    build_and_run "$here/with_highway" highway -DCMAKE_PREFIX_PATH="$prefix"
    ;;
  highway_fetched)
    build_and_run "$here/with_highway" highway_fetched -DEDGEQ_FETCH=ON "$fetch"
    ;;
  exporting)
    for shared in ON OFF; do
      configure "$here/exporting" exporting "$fetch" -DEDGEQ_INSTALL=$shared || fail "configure"
      "$cmake" --build "$build" || fail "build"
      "$cmake" --install "$build" --prefix "$work/sensor_$shared" || fail "install"
      build_and_run "$here/exporting_user" exporting_user -DCMAKE_PREFIX_PATH="$work/sensor_$shared"
    done
    ;;
  refusals)
    version=$(sed -n 's/^set(PACKAGE_VERSION "\(.*\)")/\1/p' "$prefix"/share/cmake/edgeq/edgeqConfigVersion.cmake)
    configure "$here/consumer" accepted -DCMAKE_PREFIX_PATH="$prefix" -DEDGEQ_WANTED_VERSION="$version" || fail "$version"
    refused "compatible with requested version \"99.0\"" -DEDGEQ_WANTED_VERSION=99.0
    refused "edgeq: there is no component magic, only highway, xsimd and checkpoint" -DEDGEQ_WANTED_COMPONENTS=magic
    refused "edgeq: component highway needs Google Highway 1.0.3 or newer (Debian: libhwy-dev)" \
      -DEDGEQ_WANTED_COMPONENTS=highway -DCMAKE_DISABLE_FIND_PACKAGE_hwy=ON
    refused "edgeq: component xsimd needs xsimd (Debian: libxsimd-dev)" \
      -DEDGEQ_WANTED_COMPONENTS=xsimd -DCMAKE_DISABLE_FIND_PACKAGE_xsimd=ON
    refused "edgeq: component checkpoint needs nlohmann::json 3.9 or newer (Debian: nlohmann-json3-dev)" \
      -DEDGEQ_WANTED_COMPONENTS=checkpoint -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON
    ;;
  *) fail "unknown case $5" ;;
esac
