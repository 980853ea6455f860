#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# first_steps.sh BUILD-FOLDER - start a server on a fresh directory, write through it, read back, go on from
# there. What it started and made is gone when it ends.
set -eu

build=$1
directory=$(mktemp -d "${TMPDIR:-/tmp}/pawl-run.XXXXXX")
pawld=

clean_up() {
    [ -z "$pawld" ] || kill "$pawld" 2>/dev/null || true
    rm -rf "$directory"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

echo "\$ pawld --data $directory/data --port 0"
mkfifo "$directory/port"
"$build/bin/pawld" --data "$directory/data" --port 0 >"$directory/port" 2>"$directory/log" &
pawld=$!
# The server prints its port when it is ready to serve, or closes the pipe when it is not.
if ! read -r port <"$directory/port"; then
    echo "pawld did not start; its log:" >&2
    cat "$directory/log" >&2
    exit 1
fi
echo "pawld serves on port $port"
echo
echo "\$ first_steps localhost:$port"
"$build/bin/first_steps" "localhost:$port"
echo
kill -TERM "$pawld"
wait "$pawld"
pawld=
echo "pawld stopped cleanly; its data were in ZooKeeper's own files:"
(cd "$directory/data" && find . -type f | sed 's|^\./|    |')

cat <<END

Go on:
  $build/bin/pawld --data ./data            a server of your own on port 2181, for every ZooKeeper client
  $build/bin/pawld /etc/zookeeper/conf/zoo.cfg    the same on the configuration and directory of an Apache ZooKeeper
  $build/bin/pawld --help                   what else it can be told
  examples/first_steps.c                    what just happened, in C
END
