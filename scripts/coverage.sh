#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# coverage.sh BUILD-FOLDER - run the tests of a coverage build and print lines reached per file.
set -eu

build=$1
find "$build" -name '*.gcda' -delete
ctest --test-dir "$build" -LE 'interop|soak|bench' --output-on-failure -j"$(nproc)"
find "$PWD/$build" -path '*/pawl_*.dir/*' -name '*.gcda' | while read -r data; do
    (cd "$build" && gcov -n -r -s "$PWD/.." -o "$(dirname "$data")" "$data" 2>/dev/null)
done | awk -v root="$PWD/" '
    /^File / { name = $2; gsub(/\x27/, "", name); sub(root, "", name) }
    /^Lines executed:/ && name ~ /^src\// {
        split($0, part, /[:% ]/); n = $NF; seen = part[3] / 100 * n
        if (seen > best[name]) best[name] = seen
        lines[name] = n
    }
    END {
        for (name in lines) {
            printf "%6.1f%%  %5d lines  %s\n", 100 * best[name] / lines[name], lines[name], name | "sort -n"
            all += lines[name]; reached += best[name]
        }
        close("sort -n")
        if (all) printf "%6.1f%%  %5d lines  all of src/\n", 100 * reached / all, all
    }'
