#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# From a fresh clone to text: installs what is missing, builds examples/generate, fetches the model, writes.
# Arguments go to generate, e.g. scripts/generate.sh --prompt "Why is the sky blue?" --activation int8
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh build
cmake --preset example
cmake --build --preset example --parallel "$(getconf _NPROCESSORS_ONLN)"
scripts/fetch_model.sh
exec build/example/examples/generate "$@"
