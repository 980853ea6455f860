#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# man3.sh FOLDER - makes the manual pages of section 3 from the comments of include/pawl.
#
# One page per header: client.h becomes pawl_client.3, adapters/epoll.h pawl_adapters_epoll.3, and
# pawl.h pawl.3. Every function gets a page of one line that leads to its header's, so that
# `man pawl_get` works. Needs nothing but a shell and awk.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$1
mkdir -p "$out"
rm -f "$out"/*.3
day=$(LC_ALL=C date -u ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"} '+%B %e, %Y' | tr -s ' ')

# pawl/adapters/epoll.h -> pawl_adapters_epoll
page_of() {
    case $1 in
    pawl.h) echo pawl ;;
    *) echo "pawl_${1%.h}" | tr / _ ;;
    esac
}

# "page header", in the order of the pages.
list=$(cd "$root/include/pawl" && find . -name '*.h' | sed 's|^\./||' | while read -r header; do
    echo "$(page_of "$header") $header"
done | LC_ALL=C sort)
pages=$(echo "$list" | cut -d ' ' -f 1 | tr '\n' ' ')
files=$(echo "$list" | sed "s|^[^ ]* |$root/include/pawl/|" | tr '\n' ' ')

echo "$list" | while read -r page header; do
    awk -v page="$page" -v header="$header" -v pages="$pages" -v files="$files" -v day="$day" \
        -v out="$out" -f "$root/docs/man3.awk" "$root/include/pawl/$header" >"$out/$page.3"
done
