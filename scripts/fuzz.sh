#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh BUILD-FOLDER SECONDS [TARGET...] - run each fuzz target for some time.
#
# What it learns stays in BUILD-FOLDER/corpus; an input that breaks something is left in
# BUILD-FOLDER/crashes, and is run again by: BUILD-FOLDER/bin/fuzz-TARGET FILE
set -eu

build=$1
seconds=$2
shift 2

if [ $# = 0 ]; then
    set -- $(ls test/fuzz/fuzz_*.c | sed 's|.*/fuzz_||; s|\.c$||')
fi
"$build/bin/fuzz-seeds" test/vectors conf "$build/seeds"
mkdir -p "$build/crashes"
failed=
for target in "$@"; do
    mkdir -p "$build/corpus/$target"
    known=
    [ ! -d "test/fuzz/corpus/$target" ] || known=test/fuzz/corpus/$target
    echo "== $target, $seconds s"
    "$build/bin/fuzz-$target" -max_total_time="$seconds" -max_len=65536 -timeout=10 \
        -print_final_stats=1 -artifact_prefix="$build/crashes/$target-" \
        "$build/corpus/$target" "$build/seeds/$target" $known >"$build/fuzz-$target.log" 2>&1 ||
        { failed="$failed $target"; tail -40 "$build/fuzz-$target.log"; }
    grep -E 'stat::(number_of_executed_units|peak_rss_mb)' "$build/fuzz-$target.log" || true
done
if [ -n "$failed" ]; then
    echo "Broken:$failed; the inputs are in $build/crashes"
    exit 1
fi
echo "Nothing found in: $*"
