#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three of Apache's servers become pawld one at a time on the same folders, and Apache's again.

    rolling_replacement.py --program BUILD/recipe_peer [--kill]

Meanwhile clients write and read as in ensemble_kills.py, libpawl and kazoo hold a lock each and wait for
the other's, and so do libpawl and Java Curator. Nobody is restarted but the servers. In the end nothing acknowledged is
missing, no session was lost, each lock still has its first holder and goes to the one that waits.
"""
import argparse
import logging
import os
import sys
import tempfile

from kazoo.client import KazooClient

import curator_check
import curator_recipes
import ensemble
import ensemble_kills as kills
import kazoo_lock
import peers

SESSION_MS = 40000
LONG_MS = 600000


class Locks:
    """/lock/ours is held by libpawl and wanted by kazoo, /lock/theirs the other way round; /lock/pawl is
    held by libpawl and wanted by Curator, /lock/curator the other way round."""

    PATHS = ("/lock/ours", "/lock/theirs", "/lock/pawl", "/lock/curator")

    def __init__(self, program, class_path, addresses):
        self.referee = peers.Referee()
        arguments = [addresses, str(SESSION_MS), str(self.referee.port)]
        self.java = peers.Peer("Curator", ["java", "-Xmx64m", "-XX:+UseSerialGC",
                                           "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-cp",
                                           class_path, "CuratorPeer"] + arguments)
        self.peer = peers.Peer("libpawl", [program] + arguments)
        for peer in (self.java, self.peer):
            peer.wait_ready()
        self.curators = (((self.peer, "c"), (self.java, "j"), "/lock/pawl"),
                         ((self.java, "k"), (self.peer, "d"), "/lock/curator"))
        self.kazoo = KazooClient(addresses, timeout=SESSION_MS / 1000)
        self.kazoo.start()
        self.lost = []
        self.kazoo.add_listener(lambda state: self.lost.append(state) if state == "LOST" else None)

    def take(self):
        assert self.peer.ask("a", "mutex-acquire", "/lock/ours", LONG_MS, kazoo_lock.MARKER) == "yes"
        self.theirs = self.kazoo.Lock("/lock/theirs")
        assert self.theirs.acquire()
        self.kazoo_waits = kazoo_lock.Waiter(self.kazoo.Lock("/lock/ours"))
        self.peer_waits = self.peer.tell("b", "mutex-acquire", "/lock/theirs", LONG_MS,
                                         kazoo_lock.MARKER)
        self.waiters = []
        for (holder, actor), (other, other_actor), path in self.curators:
            assert holder.ask(actor, "mutex-acquire", path, LONG_MS) == "yes"
            self.waiters.append(other.tell(other_actor, "mutex-acquire", path, LONG_MS))
        for path in self.PATHS:
            peers.wait_until(lambda: len(self.kazoo.get_children(path)) == 2, "both at " + path)
        self.queues = self.look()

    def look(self):
        return [sorted(self.kazoo.retry(self.kazoo.get_children, path), key=lambda n: n[-10:])
                for path in self.PATHS]

    def check(self):
        """Nobody has moved."""
        assert self.look() == self.queues, (self.look(), self.queues)
        assert self.peer_waits.waits() and not self.kazoo_waits.held.is_set(), "a lock held twice"
        assert all(waiter.waits() for waiter in self.waiters), "a lock held twice"
        assert not self.lost, "kazoo's session was lost"

    def give(self):
        self.peer.ask("a", "mutex-release", "/lock/ours")
        self.kazoo_waits.has()
        self.kazoo_waits.release()
        self.theirs.release()
        assert self.peer_waits.get() == "yes"
        self.peer.ask("b", "mutex-release", "/lock/theirs")
        for ((holder, actor), (other, other_actor), path), waiter in zip(self.curators, self.waiters):
            holder.ask(actor, "mutex-release", path)
            assert waiter.get() == "yes"
            other.ask(other_actor, "mutex-release", path)

    def close(self):
        self.peer.close()
        self.java.close()
        self.kazoo.stop()
        self.kazoo.close()
        self.referee.close()


class Story(kills.Story):
    def replace(self, old, kind):
        """The other kind of server on the same folder, ports and configuration."""
        if self.options.kill:
            old.kill9()
        else:
            old.stop()
        folder = os.path.dirname(old.dir)
        new = ensemble.MEMBERS[kind](old.number, folder, {})
        new.config, new.ports = old.config, old.ports
        new.port = new.fixed_port = old.port
        self.members[old.number - 1] = new
        new.start(wait=False)

    def next_to_go(self, kind):
        """Followers first, as an operator would; the leader last."""
        old = [m for m in self.members if m.kind != kind]
        return sorted(old, key=lambda m: m.mode() == "leader")[0]

    def replace_all(self, kind, locks):
        for _ in self.members:
            self.replace(self.next_to_go(kind), kind)
            self.wait_settled()
            self.wait_progress(each=True)
            locks.check()

    def play(self):
        locks = None
        try:
            self.begin()
            locks = Locks(self.options.program, self.options.class_path,
                          ",".join(m.address for m in self.members))
            locks.take()
            for kind in self.options.then:
                self.replace_all(kind, locks)
            locks.give()
            locks.close()
            locks = None
            nodes = self.finish()
            print("rolling_replacement: passed, %d answers, %d nodes" % (self.n_done(), nodes))
        finally:
            if locks:
                locks.close()
            for m in self.members:
                m.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="recipe_peer")
    parser.add_argument("--kill", action="store_true", help="kill -9 instead of SIGTERM")
    parser.add_argument("--kinds", default="aaa")
    parser.add_argument("--then", default="pa", help="what all become, one after the other")
    parser.add_argument("--clients", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    logging.disable(logging.WARNING)  # kazoo's lines about every connection that ends
    if curator_check.missing():
        print("skipped: no %s" % curator_check.missing())
        return curator_check.SKIP
    with tempfile.TemporaryDirectory() as classes:
        options.class_path = curator_recipes.compile_peer(classes)
        return kills.tell(Story, options, "rolling_replacement")


if __name__ == "__main__":
    sys.exit(main())
