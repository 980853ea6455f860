#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# static_programs.sh BUILD - `make static`: the two files serve and are served in a root that has nothing else.
set -eu

build=$1
[ -x "$build/static/pawl" ] || { echo "skipped: make static has not been run"; exit 77; }
if ! chroot / true 2>/dev/null; then
    echo "skipped: may not chroot"
    exit 77
fi
root=$(mktemp -d "${TMPDIR:-/tmp}/pawl-static.XXXXXX")
pawld=
clean_up() {
    if [ -n "$pawld" ]; then
        kill "$pawld" 2>/dev/null || true
        wait "$pawld" || true # or it would write into what is being removed
    fi
    rm -rf "$root"
}
trap clean_up EXIT
trap 'exit 1' HUP INT TERM

# expect OUTPUT ARGUMENT... - pawl with these arguments prints that, and nothing else.
expect() {
    expected=$1
    shift
    printed=$(chroot "$root" /pawl -C 120s "$@") || { echo "pawl $*: status $?"; cat "$root/log"; exit 1; }
    [ "$printed" = "$expected" ] || { echo "pawl $* prints '$printed' instead of '$expected'"; exit 1; }
}

mkdir "$root/tmp"
cp "$build/static/pawld" "$build/static/pawl" "$root/"
mkfifo "$root/port"
chroot "$root" /pawld --data /data --port 0 >"$root/port" 2>"$root/log" &
pawld=$!
# The port comes when it serves; the end of the file, when it has ended instead.
read -r port <"$root/port" || { cat "$root/log"; exit 1; }
expect /a -s "127.0.0.1:$port" create /a "no library"
expect "no library" -s "127.0.0.1:$port" get /a
expect 1 -s "127.0.0.1:$port" counter add /n
expect 2 -s "127.0.0.1:$port" counter add /n
expect /b -s local:/tmp/l create /b "no server"
expect "no server" -s local:/tmp/l get /b
kill "$pawld"
status=0
wait "$pawld" || status=$?
pawld=
[ "$status" = 0 ] || { echo "pawld ended with $status"; cat "$root/log"; exit 1; }
echo "static programs: good"
