#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes the table of keys into docs/pawld.8, from src/daemon/config_keys.def.
#   docs/keys.sh           replaces what stands between the two marks
#   docs/keys.sh --check   fails when the page is not up to date
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
page=$root/docs/pawld.8
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cat >"$scratch/keys.c" <<'END'
#include "daemon/config.h"

int main(void)
{
    config_print_keys(stdout, CONFIG_KEYS_MDOC);
    return 0;
}
END
# Only what prints is linked: what else the files of the configuration use is left out.
"${CC:-cc}" -std=c17 -ffunction-sections -fdata-sections -Wl,--gc-sections \
    -I"$root/src" -I"$root/include" -o "$scratch/keys" "$scratch/keys.c" \
    "$root"/src/daemon/config*.c "$root"/src/base/strbuf.c "$root"/src/base/memory.c \
    "$root"/src/base/logging.c "$root"/src/base/error.c "$root"/src/base/properties.c \
    "$root"/src/quorum/config*.c
"$scratch/keys" >"$scratch/table"

awk -v table="$scratch/table" '
    /^\.\\" keys: end/ { inside = 0 }
    !inside { print }
    /^\.\\" keys: begin/ {
        inside = 1
        while ((getline line < table) > 0) { print line }
    }' "$page" >"$scratch/page"

if [ "${1:-}" = --check ]; then
    diff -u "$page" "$scratch/page" || { echo "docs/pawld.8 is out of date: run docs/keys.sh" >&2; exit 1; }
else
    cat "$scratch/page" >"$page"
fi
