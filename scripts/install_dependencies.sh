#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the system packages that are missing of those that the examples ("build"), the examples, tests and benches
# ("all"), test_other_targets.sh ("targets") or test_arm.sh ("arm") need.
set -eu

purpose=${1:-all}

debian_build="g++ cmake make pkg-config libcli11-dev nlohmann-json3-dev libxxhash-dev libeigen3-dev libutf8proc-dev libhwy-dev libxsimd-dev python3 python3-pip"
debian_tests="libgtest-dev libbenchmark-dev clang qemu-user binutils"
debian_arm="g++-aarch64-linux-gnu libgtest-dev:arm64 libhwy-dev:arm64"
debian_targets="g++-s390x-linux-gnu g++-i686-linux-gnu googletest qemu-user"
homebrew_build="cmake pkg-config cli11 nlohmann-json xxhash eigen utf8proc highway xsimd python3"
homebrew_tests="googletest google-benchmark"

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

if command -v apt-get >/dev/null; then
  wanted=$debian_build
  case $purpose in
    all) wanted="$wanted $debian_tests" ;;
    targets) wanted="cmake make nlohmann-json3-dev libxxhash-dev $debian_targets" ;;
    arm)
      wanted="cmake make nlohmann-json3-dev libxxhash-dev qemu-user $debian_arm"
      dpkg --print-foreign-architectures | grep -q '^arm64$' || as_root dpkg --add-architecture arm64
      ;;
  esac
  missing=
  for package in $wanted; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'install ok installed' || missing="$missing $package"
  done
  if [ -n "$missing" ]; then
    echo "installing:$missing"
    as_root apt-get update -qq
    # shellcheck disable=SC2086  # a list of words
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
  fi
elif command -v brew >/dev/null; then
  wanted=$homebrew_build
  [ "$purpose" = build ] || wanted="$wanted $homebrew_tests"
  # shellcheck disable=SC2086
  brew install --quiet $wanted
else
  echo "install_dependencies.sh knows Debian, Ubuntu and Homebrew; elsewhere install: $debian_build" >&2
fi
