#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kazoo's Lock (Python) and ours, with the marker PAWL_MARKER_KAZOO, on one path.

    kazoo_lock.py --program BUILD/recipe_peer --server pawld [--server apache]

kazoo recognises the nodes whose names end with "__lock__" and ten digits, whatever is before, so it
queues with ours (_c_UUID-__lock__SEQ) as with its own (UUID__lock__SEQ). The data of a node is the
contender's identifier to kazoo; ours is any UTF-8 text.
"""
import argparse
import sys
import threading
import time

from kazoo.client import KazooClient

import peers
import servers

SESSION_MS = 8000  # who is killed is waited for so long; who is only slow must not be lost
ROUNDS = 20
LONG_MS = 120000
MARKER = "__lock__"


class Stage:
    def __init__(self, server, program):
        self.server, self.program = server, program
        self.referee = peers.Referee()
        self.clients, self.peers = [], []
        self.c = self.new_c("c")
        self.zk = self.connect()

    def new_c(self, name):
        self.peers.append(peers.Peer(name, [self.program, self.server.address, str(SESSION_MS),
                                            str(self.referee.port)]))
        return self.peers[-1].wait_ready()

    def connect(self):
        client = KazooClient(self.server.address, timeout=SESSION_MS / 1000)
        client.start()
        self.clients.append(client)
        return client

    def wait_children(self, path, n):
        peers.wait_until(lambda: self.zk.exists(path) and len(self.zk.get_children(path)) == n,
                         "%d children of %s" % (n, path))

    def close(self):
        for peer in self.peers:
            peer.close()
        for client in self.clients:
            client.stop()
            client.close()
        self.referee.close()


class Waiter(threading.Thread):
    """Acquires a kazoo lock in a thread, and holds it until told."""

    def __init__(self, lock):
        super().__init__(daemon=True)
        self.lock, self.held, self.enough = lock, threading.Event(), threading.Event()
        self.start()

    def run(self):
        self.lock.acquire(timeout=LONG_MS / 1000)
        self.held.set()
        self.enough.wait(LONG_MS / 1000)
        self.lock.release()

    def has(self):
        assert self.held.wait(LONG_MS / 1000), "kazoo did not get the lock"

    def release(self):
        self.enough.set()
        self.join()


def python_rounds(stage, client, path, name, failures):
    try:
        lock = client.Lock(path, name)
        for _ in range(ROUNDS):
            lock.acquire(timeout=LONG_MS / 1000)
            verdict = stage.referee.judge(["enter", path, "write", name])
            count = int(client.get(path + "-count")[0])
            client.set(path + "-count", b"%d" % (count + 1))
            verdict = (verdict, stage.referee.judge(["leave", path, "write", name]))
            lock.release()
            assert verdict == ("ok", "ok"), verdict
    except Exception as error:  # told by the main thread
        failures.append("%s: %r" % (name, error))


def contention(stage):
    path, failures = "/k/mutex", []
    stage.zk.create(path + "-count", b"0", makepath=True)
    answers = [stage.c.tell("c%d" % i, "mutex-rounds", path, ROUNDS, MARKER) for i in range(3)]
    threads = [threading.Thread(target=python_rounds,
                                args=(stage, stage.connect(), path, "p%d" % i, failures))
               for i in range(3)]
    for thread in threads:
        thread.start()
    for answer in answers:
        answer.get()
    for thread in threads:
        thread.join()
    assert not failures, failures
    names = ["%s%d" % (side, i) for side in "cp" for i in range(3)]
    stage.referee.check(path, names, ROUNDS)
    count = int(stage.zk.get(path + "-count")[0])
    assert count == len(names) * ROUNDS, count
    assert stage.zk.get_children(path) == []
    return "%d entries of 6 contenders" % count


def queue_order(stage):
    """Python, C, Python, C: served in this order; each side sees the other's contenders."""
    path = "/k/order"
    first = Waiter(stage.connect().Lock(path, "first \N{GREEK SMALL LETTER ALPHA}"))
    stage.wait_children(path, 1)
    second = stage.c.tell("c0", "mutex-acquire", path, LONG_MS, MARKER)
    stage.wait_children(path, 2)
    third = Waiter(stage.connect().Lock(path))  # no identifier: empty data
    stage.wait_children(path, 3)
    fourth = stage.c.tell("c1", "mutex-acquire", path, LONG_MS, MARKER)
    stage.wait_children(path, 4)
    first.has()

    seen = stage.zk.Lock(path).contenders()
    assert len(seen) == 4 and seen[0] == "first \N{GREEK SMALL LETTER ALPHA}", seen
    assert " pid=" in seen[1] and seen[2] == "" and " pid=" in seen[3], seen
    ours = [name.rsplit("/", 1)[1] for name in
            stage.c.ask("c9", "mutex-participants", path).split()]
    assert ours == sorted(stage.zk.get_children(path), key=lambda name: name[-10:]), ours

    first.release()
    assert second.get() == "yes" and not third.held.is_set() and fourth.waits()
    stage.c.ask("c0", "mutex-release", path)
    third.has()
    assert fourth.waits()
    third.release()
    assert fourth.get() == "yes"
    stage.c.ask("c1", "mutex-release", path)
    stage.wait_children(path, 0)
    return "p c p c"


def tries(stage):
    """A try of one fails while the other holds, and leaves nothing behind."""
    path = "/k/tries"
    lock = stage.connect().Lock(path, "p")
    assert stage.c.ask("c0", "mutex-acquire", path, LONG_MS, MARKER) == "yes"
    assert lock.acquire(blocking=False) is False
    stage.c.ask("c0", "mutex-release", path)
    assert lock.acquire(blocking=False) is True
    assert stage.c.ask("c0", "mutex-acquire", path, 0, MARKER) == "no"
    assert stage.c.ask("c0", "mutex-acquire", path, 200, MARKER) == "no"
    stage.wait_children(path, 1)
    lock.release()
    stage.wait_children(path, 0)


def deaths(stage):
    """A holder that is killed, on either side, makes room for the other."""
    path = "/k/deaths"
    victim = stage.new_c("victim")
    assert victim.ask("v", "mutex-acquire", path, LONG_MS, MARKER) == "yes"
    waiter = Waiter(stage.connect().Lock(path, "heir"))
    stage.wait_children(path, 2)
    victim.kill9()
    waiter.has()
    heir = stage.c.tell("c0", "mutex-acquire", path, LONG_MS, MARKER)
    stage.wait_children(path, 2)
    waiter.lock.client.stop()  # its session ends with the lock held
    assert heir.get() == "yes"
    stage.c.ask("c0", "mutex-release", path)
    stage.wait_children(path, 0)


STORIES = (contention, queue_order, tries, deaths)


def run(kind, program):
    with servers.make(kind, config={"tickTime": "500"}) as server:
        stage = Stage(server, program)
        try:
            for story in STORIES:
                began = time.monotonic()
                said = story(stage)
                print("%s: %s: %s (%.1f s)" % (
                    kind, story.__name__.replace("_", " "), said or "held",
                    time.monotonic() - began), flush=True)
            stage.c.end()
        finally:
            stage.close()
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--server", choices=sorted(servers.KINDS), action="append", required=True)
    options = parser.parse_args()
    for kind in options.server:
        run(kind, options.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
