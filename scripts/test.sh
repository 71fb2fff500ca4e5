#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Builds and runs every test that this machine can run; the last line is "N passed, N failed".
set -eu
cd "$(dirname "$0")/.."

scripts/install_dependencies.sh all
scripts/fetch_model.sh || echo "without the model: tests of the real model are skipped"
cmake --preset default
cmake --build --preset default --parallel "$(getconf _NPROCESSORS_ONLN)"

report=$(mktemp)
trap 'rm -f "$report"' EXIT
status=0
ctest --preset default --output-junit "$report" || status=$?
scripts/report_tests.sh "$report"
exit "$status"
