#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# deb.sh OUT - builds the Debian packages, source and binary, in OUT, and asks lintian what it thinks of them.
#
# What is built is a copy of the sources: those that git knows of, or, without git, all but what was built.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
version=$(cd "$root" && dpkg-parsechangelog -S Version)
upstream=${version%-*}
copy=$out/pawl-$upstream

# What an earlier run has left, and nothing else: the root that test/deb/clean_root.py has made is here, too, and maybe one in use.
rm -rf "$out"/pawl-[0-9]* "$out"/*.deb "$out"/*.dsc "$out"/*.changes "$out"/*.buildinfo "$out"/pawl_*.tar.*
mkdir -p "$copy"

# Files instead of pipes, of which sh would tell only how the last part ended.
lists=$(mktemp -d)
trap 'rm -rf "$lists"' EXIT
(
    cd "$root"
    if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
        # git still knows of a file that was deleted and not yet committed so.
        git ls-files -co --exclude-standard -z >"$lists/known"
        git ls-files -d -z >"$lists/deleted"
        LC_ALL=C sort -z -u -o "$lists/known" "$lists/known"
        LC_ALL=C sort -z -u -o "$lists/deleted" "$lists/deleted"
        LC_ALL=C comm -z -23 "$lists/known" "$lists/deleted" >"$lists/present"
    else
        find . -path './build*' -prune -o -type f -print0 >"$lists/present"
    fi
    tar --null --files-from="$lists/present" -cf "$lists/sources.tar"
)
tar -C "$copy" -xf "$lists/sources.tar"

(cd "$out" && tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$(cd "$root" && dpkg-parsechangelog -S Timestamp)" \
    --exclude="pawl-$upstream/debian" -czf "pawl_$upstream.orig.tar.gz" "pawl-$upstream")
cd "$copy"
dpkg-buildpackage -us -uc -j"${JOBS:-$(nproc)}"
cd "$out"
rm -rf "$copy"

if command -v lintian >/dev/null; then
    # They are not uploaded to Debian, where the first upload closes a bug.
    lintian --fail-on error,warning --allow-root --suppress-tags initial-upload-closes-no-bugs "pawl_${version}_$(dpkg --print-architecture).changes"
    echo "lintian: clean"
else
    echo "lintian is not installed: the packages were not looked at"
fi
ls "$out"/*.deb
