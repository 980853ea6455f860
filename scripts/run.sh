#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# run.sh BUILD-FOLDER - ten processes share one lock, without a server to run; then what to try next.
set -eu

build=$1
echo "\$ order_numbers"
"$build/bin/order_numbers"

cat <<END

What just happened: ten processes queued 500 times for one lock, and each entry got a fencing token larger than all
before it. The first process hosted the lock service inside itself, in a folder that is gone now. The
source is examples/order_numbers.c.

Try next:
  $build/bin/order_numbers local:/tmp/shop 20 100     more workers, and a folder that stays
  $build/bin/pawl -s local:/tmp/shop lock /jobs/x -- date  a command under a lock
  $build/bin/pawld --data ./data &                    a server for every ZooKeeper client, on port 2181
  $build/bin/order_numbers localhost:2181             the same program on it, or on your ZooKeeper
  $build/bin/stock                                    a shop that must not sell more than it has
  $build/bin/election                                 a leader, and who takes over when it dies
  examples/                                           all of them to read, docs/recipes.md to look things up
END
