#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""election_mixed.py --program VOTER: our election among Apache's servers.

Two servers of Apache and ours as the third voter, with every id it can have. Ours has the election
port only, so nobody can follow it; who tries is seen at its quorum port.
"""
import argparse
import contextlib
import queue
import socket
import struct
import subprocess
import sys
import threading

from ensemble import Ensemble
from patience import wait_until

SECONDS = 300  # Java on a busy machine


class Voter:
    """Our server; `elected` waits for its next election's outcome: (leader, state, ms)."""

    def __init__(self, program, ensemble, number, zxid, epoch):
        config = ";".join("server.%d=%s" % (m.number, m.entry().replace(";", ","))
                          for m in ensemble.members)
        self.process = subprocess.Popen([program, str(number), hex(zxid), str(epoch)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()
        self.order(config + ";version=0")

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.split())

    def order(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def elected(self):
        word, leader, state, ms = self.lines.get(timeout=SECONDS)
        assert word == "elected", word
        return int(leader), state, int(ms)

    def stop(self):
        self.process.stdin.close()
        assert self.process.wait(SECONDS) == 0


class QuorumPort:
    """Where followers of ours come to. They are kept waiting: one that was hung up on would look for
    another leader."""

    def __init__(self, port):
        self.listener = socket.create_server(("127.0.0.1", port))
        self.listener.settimeout(SECONDS)
        self.links = []

    def follower(self):
        """The id of the next one: its FOLLOWERINFO has type 11, and the id as first field of its
        data."""
        link, _ = self.listener.accept()
        self.links.append(link)
        link.settimeout(SECONDS)
        data = b""
        while len(data) < 24:
            piece = link.recv(24 - len(data))
            assert piece, "a follower has hung up"
            data += piece
        assert struct.unpack(">i", data[:4]) == (11,), data
        return struct.unpack(">q", data[16:24])[0]

    def close(self):
        for link in self.links + [self.listener]:
            link.close()


def serving(members):
    return all(m.mode() in ("leader", "follower") for m in members)


def mixed(number):
    """An ensemble without its member `number`, which is to be ours, and the others."""
    e = Ensemble(config={"initLimit": "1000"})  # our followers wait for each other
    return e, e.members[number - 1], [m for m in e.members if m.number != number]


def start(members):
    for m in members:
        m.start(wait=False)


def joins_a_running_ensemble(program, number):
    e, _, java = mixed(number)
    with contextlib.closing(e):
        start(java)
        wait_until(lambda: serving(java), "the two servers to have a leader", SECONDS)
        leader = next(m for m in java if m.mode() == "leader")
        voter = Voter(program, e, number, 0, 0)
        outcome = voter.elected()
        assert outcome[:2] == (leader.number, "FOLLOWING"), outcome
        voter.order("synced 1")
        # Looks again, as if it had lost its leader; with more than the others have, in vain.
        voter.order("start 0x900000000 9")
        assert voter.elected()[:2] == (leader.number, "FOLLOWING")
        voter.stop()
        return outcome


def is_elected_for_what_it_has(program, number):
    e, us, java = mixed(number)
    with contextlib.closing(e), contextlib.closing(QuorumPort(us.ports[0])) as port:
        voter = Voter(program, e, number, 0x100000050, 1)
        start(java[:1])
        outcome = voter.elected()
        assert outcome[:2] == (number, "LEADING"), outcome
        assert port.follower() == java[0].number
        start(java[1:])
        assert port.follower() == java[1].number
        voter.stop()
        return outcome


def elects_with_one_other(program, number):
    """One of Apache's and ours have to do without the third."""
    e, us, java = mixed(number)
    with contextlib.closing(e), contextlib.closing(QuorumPort(us.ports[0])) as port:
        start(java[:1])
        voter = Voter(program, e, number, 0, 0)
        leader = max(number, java[0].number)
        outcome = voter.elected()
        assert outcome[:2] == (leader, "LEADING" if leader == number else "FOLLOWING"), outcome
        if leader == number:
            assert port.follower() == java[0].number
        voter.stop()
        return outcome


def asks_who_looked_before(program):
    """Apache's server does not repeat its vote when ours begins to look later in the same round with a
    worse one, but at its next interval: here that is too long to wait for. Ours has to ask."""
    e = Ensemble(config={"initLimit": "5", "fastleader.minNotificationInterval": str(2 * SECONDS * 1000),
                         "fastleader.maxNotificationInterval": str(2 * SECONDS * 1000)})
    java = e.members[1]
    with contextlib.closing(e):
        voter = Voter(program, e, 1, 0, 0)
        java.start(wait=False)
        assert voter.elected()[:2] == (2, "FOLLOWING")
        # Nobody comes to its quorum port, so it looks again, and ours tells whom it follows.
        wait_until(lambda: "n.sid:1, n.state:FOLLOWING, n.leader:2" in
                   java.log_text().rpartition("New election")[2], "the second election", SECONDS)
        voter.order("start 0 0")
        outcome = voter.elected()
        assert outcome[:2] == (2, "FOLLOWING"), outcome
        voter.stop()
        return outcome


def ours_alone(program):
    """Three of ours, started at once; then the leader is killed, and the other two look again."""
    e = Ensemble()
    with contextlib.closing(e):
        voters = {m.number: Voter(program, e, m.number, 0, 0) for m in e.members}
        cold = [v.elected() for v in voters.values()]
        leader = cold[0][0]  # 2, if 3 came late
        assert leader in (2, 3) and all(c[0] == leader for c in cold), cold
        voters.pop(leader).process.kill()
        for v in voters.values():
            v.order("synced 1")
            v.order("start 0x100000001 1")
        again = [v.elected() for v in voters.values()]
        assert all(a[0] == max(voters) for a in again), again
        for v in voters.values():
            v.stop()
    return max(ms for _, _, ms in cold), max(ms for _, _, ms in again)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    args = parser.parse_args()
    print("three of ours: %d ms, and %d ms after the leader was killed" % ours_alone(args.program))
    for number in (1, 2, 3):
        for test in (joins_a_running_ensemble, is_elected_for_what_it_has, elects_with_one_other):
            leader, state, ms = test(args.program, number)
            print("ours is %d, %s: %s, leader %d, %d ms"
                  % (number, test.__name__.replace("_", " "), state, leader, ms), flush=True)
    print("ours asks who looked before: leader %d, %s, %d ms" % asks_who_looked_before(args.program))
    return 0


if __name__ == "__main__":
    sys.exit(main())
