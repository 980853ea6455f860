#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# soak.sh BUILD-FOLDER SECONDS - the randomised tests in turn, each time with another seed, until
# the time is over. Stops at the first failure; its command line replays it.
set -eu

build=$(cd "$1" && pwd)
seconds=$2
PAWLD=$build/bin/pawld
export PAWLD
end=$(($(date +%s) + seconds))
seed=${SOAK_SEED:-$(date +%s)}
rounds=0

turn() {
    echo "+ PAWLD=$PAWLD $*"
    "$@"
}

# Once, and whole: a hundred thousand acquires and as many locks opened and closed.
turn /usr/bin/python3 test/e2e/cycles.py --program "$build/test/e2e/cycles" --factor 100

while [ "$(date +%s)" -lt "$end" ]; do
    turn /usr/bin/python3 test/interop/differential.py --seed "$seed" --ops 5000
    turn /usr/bin/python3 test/interop/kill9.py --server pawld --rounds 20 --seed "$seed" --then-apache
    turn /usr/bin/python3 test/interop/folders.py --server pawld --seed "$seed"
    for kind in lock write mutex latch; do
        turn /usr/bin/python3 test/e2e/lock_referee.py --program "$build/test/e2e/lock_worker" \
            --kind "$kind" --rounds 3 --seed "$seed"
    done
    turn "$build/bin/pawl-client-sim" --seed "$seed" --seeds 50
    turn "$build/bin/pawl-recipe-sim" --seed "$((seed * 10000))" --seeds 5000
    turn "$build/bin/pawl-recipe-sim" --ensemble --seed "$((seed * 10000))" --seeds 5000
    turn "$build/bin/pawl-sim" --seeds "$((seed * 100000))..$((seed * 100000 + 19999))"
    for replay in "$build"/bin/replay-*; do
        turn "$replay" "$build/test/fuzz/seeds/${replay##*/replay-}" -n 50000 -s "$seed"
    done
    seed=$((seed + 1))
    rounds=$((rounds + 1))
done
echo "$rounds rounds, the last with seed $((seed - 1)), nothing found"
