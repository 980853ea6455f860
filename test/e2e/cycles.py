#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Acquire and release, open and close, again and again, at constant memory on both sides.

    cycles.py --program BUILD/cycles [--factor 1] [--only WHAT]

The client (cycles.c) tells what it has in use on the way, the server's resident memory is looked at
at the same moments: from the second tenth on neither may grow. In the end, with the client's
connection still open, the server has no watch, no ephemeral node and no more nodes than at the
first look. With --factor 100 it is a hundred thousand cycles of the lock (scripts/soak.sh).
"""
import argparse
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "interop"))

import servers  # noqa: E402
from patience import PATIENCE_SECONDS, wait_until  # noqa: E402

# What, how many, for a factor of 1.
KINDS = (("acquire", 1000), ("lock", 1000), ("queue", 100), ("rwlock", 100), ("semaphore", 100),
         ("latch", 100), ("selector", 100), ("barrier", 100), ("count", 100), ("items", 100),
         ("cache", 100), ("group", 100), ("discovery", 100), ("client", 50))
HEAP_BYTES = 4096  # may be in use more: something under way at the moment of the look
CLIENT_KB = 1024
SERVER_KB = 4096
SANITIZED = bool(os.environ.get("PAWL_SANITIZE"))  # their memory grows by design


def numbers(server):
    """The server's own counts that must come back to what they were."""
    found = {}
    for line in servers.four_letter_word(server.port, "mntr").splitlines():
        key, _, value = line.partition("\t")
        found[key] = value
    return {key: int(found["zk_" + key])
            for key in ("watch_count", "ephemerals_count", "znode_count", "global_sessions")}


def is_clean(left):
    return (left["watch_count"], left["ephemerals_count"], left["global_sessions"]) == (0, 0, 1)


def run(server, program, what, n):
    began = time.monotonic()
    # What threads keep for themselves of freed memory would count as in use.
    environment = dict(os.environ, GLIBC_TUNABLES="glibc.malloc.tcache_count=0")
    process = subprocess.Popen([program, server.address, what, str(n)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True, env=environment)
    looks = []
    for _ in range(10):
        line = process.stdout.readline().split()
        assert line, "%s ended with %d" % (what, process.wait())
        done, heap, rss = map(int, line)
        looks.append((done, heap, rss, server.rss_kb()))
    # A release in the background may be under way still.
    wait_until(lambda: is_clean(numbers(server)), "nothing to be left of %s" % what)
    process.stdin.write("\n")
    process.stdin.close()
    assert process.wait(PATIENCE_SECONDS) == 0, what
    report(what, n, looks, time.monotonic() - began)
    return numbers(server)["znode_count"]


def report(what, n, looks, seconds):
    heap = looks[-1][1] - looks[1][1]
    client, server = (looks[-1][i] - looks[1][i] for i in (2, 3))
    print("%s: %d in %.1f s; the client's heap %+d bytes (%d in use), resident %+d kB of %d; the "
          "server %+d kB of %d; no watch, no ephemeral left" % (
              what, n, seconds, heap, looks[-1][1], client, looks[-1][2], server, looks[-1][3]),
          flush=True)
    if not SANITIZED:
        assert heap <= HEAP_BYTES, looks
        assert client <= CLIENT_KB and server <= SERVER_KB, looks


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--factor", type=int, default=1)
    parser.add_argument("--only")
    options = parser.parse_args()
    with servers.make("pawld") as server:
        for what, n in KINDS:
            if options.only in (None, what):
                run(server, options.program, what, 200)  # what it makes once is there
                before = numbers(server)["znode_count"]
                after = run(server, options.program, what, n * options.factor)
                # Fewer there may be: containers that stay empty for a minute go.
                assert after <= before, "%s left %d znodes" % (what, after - before)
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
