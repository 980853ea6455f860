#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Three pawld on loopback, writers on each of them, and the leader killed with -9 in the middle.

Prints how long no write was answered, the new leader and its epoch, and the verdict: every
acknowledged write is there, and all three have the same tree. The exit code is 0 if so.
"""
import argparse
import os
import shutil
import sys
import tempfile
import threading
import time

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(REPO, "test", "interop"))

import pawld_ensemble as three  # noqa: E402
import zkwire as zk  # noqa: E402
from patience import wait_until  # noqa: E402

N_WRITERS = 9
LOAD_SECONDS = 2.0  # before the kill, and again behind it
SESSION_MS = 30000
TIMES = {"tickTime": "2000", "initLimit": "10", "syncLimit": "5"}  # as in the README's zoo.cfg
LOST = (zk.Closed, zk.Timeout, OSError)


class Writer(threading.Thread):
    """Creates /load-W-0, /load-W-1, ... one after the other; moves on with its session when a server
    is lost. A write whose answer was lost is neither counted nor repeated."""

    def __init__(self, number, members, stop):
        super().__init__(daemon=True)
        self.number, self.members, self.stop = number, members, stop
        self.at = number
        self.session = (0, bytes(16))
        self.acknowledged = []  # (when, path)
        self.n_unknown = self.n_sessions = 0
        self.failure = None

    def run(self):
        try:
            conn, k = None, 0
            while not self.stop.is_set():
                conn = conn or self.connect()
                if conn is not None:
                    conn = self.write(conn, "/load-%d-%d" % (self.number, k))
                    k += 1
        except Exception as e:  # reported by the verdict
            self.failure = "writer %d: %s: %s" % (self.number, type(e).__name__, e)

    def connect(self):
        """To the next server that serves; None if this one does not."""
        port = self.members[self.at % len(self.members)].port
        try:
            conn = zk.Conn(port, timeout=5.0)
            answer = conn.handshake(SESSION_MS, *self.session)
        except LOST:
            self.at += 1
            time.sleep(0.002)
            return None
        if answer["sessionId"] != self.session[0]:
            self.n_sessions += 1
        self.session = (answer["sessionId"], answer["passwd"])
        return conn

    def write(self, conn, path):
        try:
            three.create(conn, path)
        except LOST:
            self.n_unknown += 1
            self.at += 1
            return None
        self.acknowledged.append((time.monotonic(), path))
        return conn


def longest_gap(writers, since):
    times = sorted(when for w in writers for when, _ in w.acknowledged if when >= since)
    return max((b - a for a, b in zip([since] + times, times)), default=0)


def epoch_of(member):
    with open(os.path.join(member.data_dir, "version-2", "currentEpoch")) as f:
        return int(f.read())


def written_since(writers, when):
    return any(w.acknowledged and w.acknowledged[-1][0] > when for w in writers)


def faults_of(members, writers):
    """Lines of what is wrong in the end; none is what is hoped for."""
    faults = [w.failure for w in writers if w.failure]
    there = three.tree_dump.dump(members[0].port, three.LOCAL)
    lost = [path for w in writers for _, path in w.acknowledged if path not in there]
    if lost:
        faults.append("%d acknowledged writes are lost, %s is the first" % (len(lost), lost[0]))
    try:
        three.same_trees(members)
    except RuntimeError as e:
        faults.append(str(e))
    return faults


def story(folder):
    members = three.make("ppp", folder)
    stop = threading.Event()
    writers = [Writer(i, members, stop) for i in range(N_WRITERS)]
    try:
        return tell(members, writers, stop)
    finally:
        stop.set()
        for m in members:
            m.close()


def start(members):
    began = time.monotonic()
    for m in members:
        m.config.update(TIMES)
        m.start(wait=False)
    three.wait_settled(members)
    leader = three.leader_of(members)
    print("started     3 servers on ports %s in %d ms; server %d leads, epoch %d" % (
        ", ".join(str(m.port) for m in members), 1000 * (time.monotonic() - began), leader.number,
        epoch_of(leader)))
    return leader


def kill(leader, members, writers):
    """Returns the others when they write again; the gap lies behind the moment of the kill."""
    when = time.monotonic()
    leader.kill9()
    print("kill -9     server %d, the leader" % leader.number)
    rest = [m for m in members if m is not leader]
    three.wait_settled(rest)
    elected = three.leader_of(rest)
    wait_until(lambda: written_since(writers, when), "a write under the new leader")
    time.sleep(LOAD_SECONDS)
    print("gap         %.0f ms without an answered write; server %d leads now, epoch %d" % (
        1000 * longest_gap(writers, when), elected.number, epoch_of(elected)))


def tell(members, writers, stop):
    leader = start(members)
    for w in writers:
        w.start()
    time.sleep(LOAD_SECONDS)
    print("load        %d clients, %d writes in %.0f s" % (
        len(writers), sum(len(w.acknowledged) for w in writers), LOAD_SECONDS))
    kill(leader, members, writers)
    began = time.monotonic()
    leader.start(wait=False)
    three.wait_settled(members)
    print("rejoined    server %d follows, after %d ms" % (leader.number,
                                                         1000 * (time.monotonic() - began)))
    stop.set()
    for w in writers:
        w.join()
    wait_until(lambda: three.in_step(members), "all in step")
    faults = faults_of(members, writers)
    print("sessions    %d opened, %d still the same" % (
        len(writers), sum(w.n_sessions == 1 for w in writers)))
    print("verdict     %s" % ("FAILED: " + "; ".join(faults) if faults else (
        "passed: all of %d acknowledged writes are there (%d were under way at the kill and got no "
        "answer), three equal trees" % (sum(len(w.acknowledged) for w in writers),
                                        sum(w.n_unknown for w in writers)))))
    return not faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--pawld", help="the program; build/bin/pawld unless told")
    options = parser.parse_args()
    if options.pawld:
        os.environ["PAWLD"] = os.path.abspath(options.pawld)
    sys.stdout.reconfigure(line_buffering=True)
    folder = tempfile.mkdtemp(prefix="pawl-run-ensemble-")
    try:
        passed = story(folder)
    except Exception as e:  # the servers' logs may tell why
        print("verdict     FAILED: %s: %s" % (type(e).__name__, e))
        passed = False
    if passed:
        shutil.rmtree(folder, ignore_errors=True)
    else:
        print("logs        %s/*/server.log" % folder)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
