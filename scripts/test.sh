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
count() { tr '\n\t' '  ' <"$report" | sed -n "s/.*<testsuite [^>]* $1=\"\([0-9]*\)\".*/\1/p"; }
total=$(count tests) failed=$(count failures) skipped=$(count skipped)
[ "$skipped" = 0 ] || echo "$skipped skipped on this machine, by name above"
echo "$((total - failed - skipped)) passed, $failed failed"
exit "$status"
