#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# ctest.sh JOBS LABELS-LEFT-OUT BUILD-FOLDER... - one run, and one summary, over several builds.
set -eu

jobs=$1
left_out=$2
shift 2

mkdir -p build/all-tests
for folder in "$@"; do
    echo "subdirs(\"$PWD/$folder\")"
done >build/all-tests/CTestTestfile.cmake

export TSAN_OPTIONS="suppressions=$PWD/test/tsan.supp"

# The thread sanitizer of gcc 12 cannot live with as much address randomisation as newer kernels
# do by default; where it may be turned off for one program, it is.
run=
if setarch -R true 2>/dev/null; then
    run="setarch -R"
fi
exec $run ctest --test-dir build/all-tests -LE "$left_out" -j"$jobs" --output-on-failure
