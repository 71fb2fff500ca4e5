#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Sums reports that ctest --output-junit wrote; the last line is "N passed, N failed". Usage: report_tests.sh REPORT...
set -eu

total=0 failed=0 skipped=0
for report in "$@"; do
  count() { tr '\n\t' '  ' <"$report" | sed -n "s/.*<testsuite [^>]* $1=\"\([0-9]*\)\".*/\1/p"; }
  total=$((total + $(count tests))) failed=$((failed + $(count failures))) skipped=$((skipped + $(count skipped)))
done
[ "$skipped" = 0 ] || echo "$skipped skipped on this machine, by name above"
echo "$((total - failed - skipped)) passed, $failed failed"
