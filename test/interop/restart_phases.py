#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A learner that is cut off, or killed, in the middle of each packet of its synchronisation.

    restart_phases.py KINDS... [--only DIFF|TRUNC|SNAP|UNCUT|DIVERGED|DAMAGED]

The last of KINDS ("aap", "ppa", "aaP") is the learner. What it lacks is sent as DIFF, what it has too
much is cut by TRUNC, a folder with another history is replaced by SNAP; of each synchronisation every
packet is the last one once, torn in half. The learner goes on by itself or is killed with -9 and started
again, in turn. In the end all have the same tree and the same digests. Three more of pawld only. UNCUT: the leader
sends TRUNC, but the learner's log before that point is gone or damaged, so that it has to ask for SNAP.
DIVERGED: nothing is missing, but the learner is marked as one whose tree is not the others', and asks for SNAP.
DAMAGED: its log or its snapshots are damaged or missing, and it asks for SNAP.
"""
import argparse
import glob
import itertools
import os
import shutil
import sys
import tempfile

import ensemble
import pawld_ensemble as pe
import servers
import tree_dump
import zkwire as zk
from patience import wait_until
from quorum_proxy import QuorumProxy

SECONDS = 120
MORE_THAN_ANY_SYNC = 60  # packets
SESSION_MS = 60000
KINDS_OF_SYNC = ("DIFF", "TRUNC", "SNAP", "UNCUT", "DIVERGED", "DAMAGED")
EXPECTED = {"UNCUT": ("TRUNC", "SNAP"), "DIVERGED": ("SNAP",), "DAMAGED": ("SNAP",)}


def give_another_history(member):
    """Its folder becomes one of a server that stood alone."""
    shutil.rmtree(os.path.join(member.data_dir, "version-2"))
    kind = servers.ApacheServer if member.kind == "a" else servers.PawlServer
    alone = kind(dir=member.dir, config=tree_dump.SUPER_CONFIG)
    alone.start()
    conn = pe.connect(alone)
    for i in range(5):
        pe.create(conn, "/foreign%d" % i)
    conn.close()
    alone.kill9()


def files(member, prefix):
    """(zxid, path) of its logs or snapshots, oldest first."""
    paths = glob.glob(os.path.join(member.data_dir, "version-2", prefix + ".*"))
    return sorted((int(path.rsplit(".", 1)[1], 16), path) for path in paths)


def go_on_alone(member):
    """It writes what nobody else has, and takes a snapshot with some of it: the zxids of both."""
    alone = servers.PawlServer(dir=member.dir, config=dict(tree_dump.SUPER_CONFIG, snapCount="10"))
    alone.start()
    conn = pe.connect(alone)
    began = conn.call(zk.EXISTS, {"path": "/", "watch": False})[0].zxid
    numbers = itertools.count()

    def snapshots_since():  # one that is due while another is being written is left out
        pe.create(conn, "/only-here-%d" % next(numbers))
        return [zxid for zxid, _ in files(member, "snapshot") if zxid > began]
    newest = wait_until(snapshots_since, "a snapshot", SECONDS)[-1]
    conn.close()
    alone.kill9()
    return began, newest


def damage(path):
    """A bit in the middle of what is written of it."""
    with open(path, "r+b") as f:
        written = f.read().rstrip(b"\0")
        f.seek(len(written) // 2)
        f.write(bytes([written[len(written) // 2] ^ 1]))


class Phases:
    def __init__(self, kinds, folder):
        self.kinds = kinds
        self.members = pe.make(kinds, folder)
        self.rest, self.learner = self.members[:-1], self.members[-1]
        self.proxies = [QuorumProxy(m.ports[0]) for m in self.rest]  # the learner's way to each
        for m, proxy in zip(self.rest, self.proxies):
            self.put_between(proxy, self.learner, m)
        self.to_learner = QuorumProxy(self.learner.ports[0])  # when it leads itself
        for m in self.rest:
            self.put_between(self.to_learner, m, self.learner)
        self.n_written = self.n_damages = 0

    def put_between(self, proxy, dialler, listener):
        own = listener.ports
        listener.ports = (proxy.port, own[1])
        dialler.config["server.%d" % listener.number] = listener.entry()
        listener.ports = own

    # -- what it takes to need each kind of synchronisation --

    def write(self, member, n=3):
        conn = pe.connect(member)
        for _ in range(n):
            self.n_written += 1
            pe.create(conn, "/w%d" % self.n_written, b"d" * self.n_written)
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()

    def lack(self):
        """DIFF: the others have gone on."""
        self.learner.kill9()
        self.write(self.leader_of_the_rest())

    def follow(self):
        """It has the highest id, and may lead: then it steps back. One of the others dies, and it is needed
        for a quorum."""
        if self.learner.mode() == "leader":
            self.lack()
            self.learner.start(wait=False)
            pe.wait_settled(self.members)
        if not self.learner.is_observer:
            self.without_one()

    def leader_of_the_rest(self):
        def lead():
            return next((m for m in self.rest if m.mode() == "leader"), None)
        return wait_until(lead, "a leader among the others", SECONDS)

    def be_alone(self):
        """TRUNC: it was the leader, and wrote what nobody else has; since then nothing was written."""
        self.let_learner_lead()
        conn = zk.Conn(self.learner.port, timeout=60.0)
        conn.handshake(SESSION_MS)
        self.to_learner.swallows = True
        self.n_written += 1
        name = "/alone%d" % self.n_written
        conn.send(zk.CREATE, {"path": name, "data": b"", "acl": zk.WORLD_ALL, "flags": 0})
        wait_until(lambda: self.has_logged(name.encode()), "the log of the leader", SECONDS)
        self.learner.kill9()
        conn.close()
        pe.wait_settled(self.rest)  # the links are gone, and what they swallowed with them
        self.to_learner.swallows = False

    def let_learner_lead(self):
        """It has the highest id, so it is elected when all have the same history."""
        if self.learner.mode() == "leader":
            return
        wait_until(lambda: pe.in_step(self.members), "all in step", SECONDS)
        old = pe.leader_of(self.members)
        old.kill9()
        pe.wait_settled([m for m in self.members if m is not old])
        old.start(wait=False)
        pe.wait_settled(self.members)
        assert self.learner.mode() == "leader", "the learner was not elected"

    def has_logged(self, name):
        logs = glob.glob(os.path.join(self.learner.data_dir, "version-2", "log.*"))
        return any(name in open(log, "rb").read() for log in logs)

    def have_another_history(self):
        """SNAP: its folder is one of a server that stood alone."""
        self.learner.kill9()
        give_another_history(self.learner)
        self.write(self.leader_of_the_rest(), 1)

    def have_no_way_back(self):
        """UNCUT: since all were in step it has gone on alone, and its log up to there cannot be read."""
        self.learner.kill9()
        began, zxid = go_on_alone(self.learner)
        needed = max(begin for begin, _ in files(self.learner, "log") if begin <= zxid)
        assert needed > began, "the log was not rolled"
        for begin, path in files(self.learner, "log") + files(self.learner, "snapshot"):
            if begin >= needed:
                continue
            if self.n_written // 2 % 2:
                os.unlink(path)
            else:
                damage(path)

    def have_diverged(self):
        """DIVERGED: it has the same history, and a mark."""
        self.learner.kill9()
        with open(self.mark("diverged"), "w") as f:
            f.write("the tree differed\n")

    def be_damaged(self):
        """DAMAGED: in each way in turn, at something that it has acknowledged."""
        self.write(self.learner)
        self.learner.kill9()
        logs, snapshots = files(self.learner, "log"), files(self.learner, "snapshot")
        self.n_damages += 1
        if self.n_damages % 4 == 0:
            damage(logs[-1][1])
        elif self.n_damages % 4 == 1:
            os.unlink(logs[-1][1])
        elif self.n_damages % 4 == 2:
            with open(logs[-1][1], "r+b") as f:
                f.truncate(len(f.read().rstrip(b"\0")) // 2)
        else:
            for _, path in snapshots:
                damage(path)

    def mark(self, kind):
        return os.path.join(self.learner.data_dir, "version-2", "pawl." + kind)

    def without_one(self):
        """The learner is needed for a quorum, and is enough for it."""
        dead = next(m for m in self.rest if m.mode() == "follower")
        dead.kill9()
        self.write(self.learner)
        self.write(self.leader_of_the_rest())
        dead.start(wait=False)
        pe.wait_settled(self.members)

    # -- cutting --

    def every_phase(self, kind, prepare):
        for n in range(1, MORE_THAN_ANY_SYNC):
            prepare()
            for proxy in self.proxies:
                proxy.arm(n)
            self.learner.start(wait=False)
            wait_until(lambda: self.was_cut() or self.learner.mode(), "its synchronisation", SECONDS)
            was_cut, passed = self.was_cut(), self.passed()
            if was_cut and n % 2 == 0:
                self.learner.kill9()
                self.learner.start(wait=False)
            self.check(kind, n, passed)
            if not was_cut:
                if any(part not in passed for part in EXPECTED.get(kind, (kind,))):
                    raise RuntimeError("%s was expected: %s" % (kind, " ".join(passed)))
                print("restart_phases: %s: %s: cut in each of %d packets: %s" % (
                    self.kinds, kind, n - 1, " ".join(passed)), flush=True)
                return
        raise RuntimeError("no end of %s: %s" % (kind, " ".join(passed)))

    def was_cut(self):
        return any(proxy.was_cut.is_set() for proxy in self.proxies)

    def passed(self):
        return max((list(proxy.passed) for proxy in self.proxies), key=len)

    def check(self, kind, n, passed):
        for proxy in self.proxies:
            proxy.cut_at = None
        try:
            pe.wait_settled(self.members)
            self.write(self.learner, 1)
            wait_until(lambda: pe.in_step(self.members), "all in step", SECONDS)
            pe.same_trees(self.members)
            for mark in ("diverged", "damaged"):
                assert not os.path.exists(self.mark(mark)), "the mark pawl.%s is still there" % mark
        except Exception as e:
            raise RuntimeError("%s, cut in packet %d of %s: %r" % (kind, n, " ".join(passed), e)) from e

    def play(self, only):
        try:
            for m in self.members:
                m.start(wait=False)
            pe.wait_settled(self.members)
            self.write(self.rest[0])
            if only in (None, "DIFF"):
                self.follow()
                self.every_phase("DIFF", self.lack)
            if only in (None, "TRUNC") and not self.learner.is_observer:
                self.every_phase("TRUNC", self.be_alone)
            if only in (None, "SNAP"):
                self.every_phase("SNAP", self.have_another_history)
            if only in (None, "UNCUT") and self.learner.kind == "p":
                self.follow()
                self.every_phase("UNCUT", self.have_no_way_back)
            if only in (None, "DIVERGED") and self.learner.kind == "p":
                self.follow()
                self.every_phase("DIVERGED", self.have_diverged)
            if only in (None, "DAMAGED") and self.learner.kind == "p":
                self.follow()
                self.every_phase("DAMAGED", self.be_damaged)
            ensemble.end_all(self.members)
        finally:
            for m in self.members:
                m.close()
            for proxy in self.proxies + [self.to_learner]:
                proxy.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="+")
    parser.add_argument("--only", choices=KINDS_OF_SYNC)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="restart-phases-")
    for kinds in options.kinds:
        try:
            Phases(kinds, os.path.join(folder, kinds)).play(options.only)
        except Exception as e:  # whatever it was: the logs are kept
            print("restart_phases: %s: FAILED: %s: %s; logs in %s" % (kinds, type(e).__name__, e, folder))
            return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
