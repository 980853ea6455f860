#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The folder of a server that stands alone becomes a member's, and a member's that of a server alone.

    member_folders.py STEPS...

STEPS are kinds in turn, "pap": a server alone of the first kind, member 1 of an ensemble of the second
kind, whose other members begin with nothing, a server alone of the third, and so on. Each finds the tree
and the session of the one before, writes, and is stopped or killed.
"""
import argparse
import glob
import os
import shutil
import sys
import tempfile

import pawld_ensemble as pe
import servers
import tree_dump
import zkwire as zk
from patience import wait_until

NAMES = {"a": "apache", "p": "pawld"}
SESSION_MS = 600000  # it has to outlast elections and starts on a busy machine
SECONDS = 120
CONFIG = dict(tree_dump.SUPER_CONFIG, maxSessionTimeout=str(SESSION_MS))


class Folder:
    def __init__(self, folder):
        self.folder = folder
        self.dir = os.path.join(folder, "1")
        self.tree = None
        self.session = ()
        self.step = 0

    def use(self, port):
        """The session goes on, and owns what it owned; then it writes."""
        conn = zk.Conn(port, timeout=60.0)
        answer = conn.handshake(SESSION_MS, *self.session)
        assert answer["timeOut"] > 0, "the session of the one before is not known"
        self.session = (conn.session_id, conn.passwd)
        for i in range(20):
            pe.create(conn, "/n%d-%d" % (self.step, i), b"d" * i)
        reply, _ = conn.call(zk.CREATE, {"path": "/e%d" % self.step, "data": b"", "acl": zk.WORLD_ALL,
                                         "flags": 1})
        assert reply.err == 0, reply
        reply, _ = conn.call(zk.EXISTS, {"path": "/e0", "watch": False})
        assert reply.body["stat"]["ephemeralOwner"] == conn.session_id, reply
        conn.close()

    def compare(self, port):
        if self.tree is not None:
            lines = tree_dump.differences(self.tree, tree_dump.dump(port, pe.LOCAL), pe.LOCAL)
            assert not lines, "; ".join(lines[:5])

    def alone(self, kind):
        with servers.make(NAMES[kind], dir=self.dir, config=CONFIG) as server:
            self.compare(server.port)
            self.use(server.port)
            self.tree = tree_dump.dump(server.port, pe.LOCAL)
            self.stop([server])

    def member(self, kind):
        """The others have nothing, so whoever leads has this folder's history; unless two of those are
        a quorum before it comes, so the third is started last."""
        for number in (2, 3):
            shutil.rmtree(os.path.join(self.folder, str(number)), ignore_errors=True)
        members = pe.make(kind + "pp", self.folder)
        try:
            for m in members[:2]:
                m.start(wait=False)
            pe.wait_settled(members[:2])
            members[2].start(wait=False)
            pe.wait_settled(members)
            for m in members:
                self.compare(m.port)
            self.use(members[1].port)
            wait_until(lambda: pe.in_step(members), "all in step", SECONDS)
            pe.same_trees(members)
            self.tree = tree_dump.dump(members[0].port, pe.LOCAL)
            wait_until(self.is_logged, "the last write on the disk of member 1", SECONDS)
            self.stop(members)
        finally:
            for m in members:
                m.close()

    def is_logged(self):
        """What was acknowledged is on the disks of a quorum, which may be the other two: a leader's own
        may be behind, and who is killed takes the rest along."""
        path = b"/e%d" % self.step  # the last that was written
        wanted = len(path).to_bytes(4, "big") + path
        return any(wanted in open(name, "rb").read()
                   for name in glob.glob(os.path.join(self.dir, "**", "log.*"), recursive=True))

    def stop(self, running):
        for server in running:
            if self.step % 2:
                server.kill9()
            else:
                server.stop()

    def play(self, steps):
        for self.step, kind in enumerate(steps):
            (self.member if self.step % 2 else self.alone)(kind)
        print("member_folders: %s: passed, %d nodes" % (steps, len(self.tree)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("steps", nargs="+")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="member-folders-")
    for steps in options.steps:
        try:
            Folder(os.path.join(folder, steps)).play(steps)
        except Exception as e:  # whatever it was: the logs are kept
            print("member_folders: %s: FAILED: %s: %s; logs in %s" % (steps, type(e).__name__, e, folder))
            return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
