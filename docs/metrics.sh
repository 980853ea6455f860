#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the tables of docs/metrics.md, from src/server/metrics.def.
#   docs/metrics.sh           replaces what stands between the two marks
#   docs/metrics.sh --check   fails when the page is not up to date
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
page=$root/docs/metrics.md
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The kind is what stands before the bracket, the name the first word in small letters behind it,
# the meaning the last string of the line.
awk '
    function title(kind) {
        if (kind == "GAUGE") { return "Gauges" }
        if (kind == "ROLE_GAUGE") { return "Gauges of TLS, and of a member of an ensemble" }
        if (kind == "COUNTER") { return "Counters" }
        if (kind == "BASIC") { return "Summaries" }
        if (kind == "FULL") { return "Summaries with percentiles" }
        return "By namespace"
    }
    /^(GAUGE|ROLE_GAUGE|COUNTER|BASIC|FULL|PER_NAMESPACE)\(/ {
        kind = $0; sub(/\(.*/, "", kind)
        name = $0; sub(/^[A-Z_]*\(/, "", name); sub(/^[A-Z0-9_]*, /, "", name)
        sub(/[,)].*/, "", name)
        help = $0; sub(/"\)$/, "", help); sub(/.*"/, "", help)
        if (kind != last) {
            printf "%s## %s\n\n| name | meaning |\n|---|---|\n", last == "" ? "" : "\n", title(kind)
            last = kind
        }
        printf "| `%s` | %s |\n", name, help
    }' "$root/src/server/metrics.def" >"$scratch/table"

awk -v table="$scratch/table" '
    /^<!-- metrics: end/ { inside = 0; print "" }
    !inside { print }
    /^<!-- metrics: begin/ {
        inside = 1
        print ""
        while ((getline line < table) > 0) { print line }
    }' "$page" >"$scratch/page"

if [ "${1:-}" = --check ]; then
    diff -u "$page" "$scratch/page" || {
        echo "docs/metrics.md is out of date: run docs/metrics.sh" >&2
        exit 1
    }
else
    cat "$scratch/page" >"$page"
fi
