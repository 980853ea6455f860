#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man1.sh PAWL FOLDER - makes a manual page for each command of pawl: `man pawl-lock`.
#
# Usage and options are what `pawl COMMAND --help` prints, the rest is what pawl.1 has about the
# command, and its exit statuses. Needs nothing but pawl, a shell and awk.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
pawl=$1
out=$2
mkdir -p "$out"
rm -f "$out"/*.1
day=$(LC_ALL=C date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} '+%B %e, %Y' | tr -s ' ')

# Names may have two words; two blanks end them.
"$pawl" --help | sed -n '/^commands:/,/^$/s/^  \(.*[^ ]\)   *[^ ].*$/\1/p' | sed 's/  .*//' >"$out/names"
while read -r name; do
    page=pawl-$(echo "$name" | tr ' ' -)
    # shellcheck disable=SC2086 # two words are two arguments
    "$pawl" $name --help </dev/null >"$out/help"
    awk -v name="$name" -v page="$page" -v day="$day" -f "$root/docs/man1.awk" "$out/help" "$root/docs/pawl.1" >"$out/$page.1"
done <"$out/names"
rm -f "$out/names" "$out/help"
