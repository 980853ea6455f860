#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A holder whose server is cut off from the leader, and somebody who waits on the other side.

    stranded_holder.py --program BUILD/stranded_holder --broken BUILD/stranded_holder_broken [--local] ppp aaa ...

Each member is on a host of its own. The holder of a lock is on the host of a follower and knows no other server;
that host is cut off from the others. Its server goes on answering it for syncLimit ticks, which is far longer than
its session has: meanwhile the leader ends the session, and who waits is granted the lock. What the holder was
promised must have ended before that, by the clock that both share; the verdict does not depend on how long
anything takes. Beside them, cut off by the same cut, are a holder and one who waits with the rule of
src/client/certain.h broken (base/broken.h): what they were promised must overlap, or the test shows nothing.

The follower is of the other kind than the leader where there is one: paa is ours under a leader of Apache's, aap
is theirs under ours. With --local sessions are local until their first ephemeral node. Ends with 77 where there are no network namespaces.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import ensemble
import hosts
import pawld_ensemble as pe
import servers
import zkwire as zk
from patience import wait_until

SECONDS = 240
SESSION_MS = 6000
# A follower that is cut off stays one for 20 s.
CONFIG = {"tickTime": "1000", "syncLimit": "20", "minSessionTimeout": "2000"}
LOCAL = {"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"}


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Worker:
    """What a stranded_holder has said so far."""

    def __init__(self, host, program, members, path):
        self.granted = self.over = None
        self.until = 0
        self.process = subprocess.Popen(
            host.inside + [program, ",".join(m.address for m in members), str(SESSION_MS), path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            what, at = line.split()
            setattr(self, {"certain": "until"}.get(what, what), int(at))

    def is_granted(self):
        if self.process.poll() is not None:
            raise RuntimeError("a stranded_holder has ended with %d" % self.process.poll())
        return self.granted is not None

    def close(self):
        self.process.kill()
        self.process.wait()


class Pair:
    """Who holds a lock on the one side, and who waits for it on the other."""

    def __init__(self, story, program, path):
        self.story, self.path = story, path
        self.holder = story.work(story.stranded, program, [story.stranded], path)
        wait_until(self.holder.is_granted, "a holder", SECONDS)
        self.waiter = story.work(story.others[0], program, story.others, path)
        wait_until(self.has_queued, "one who waits", SECONDS)

    def has_queued(self):
        return len(self.story.children(self.path)) == 2

    def is_certain(self):
        """By its heartbeats, no longer by its handshake; and for a while, since the cut comes next."""
        return (self.holder.until > self.holder.granted + SESSION_MS * 1000 and
                self.holder.until > now_us() + SESSION_MS * 1000 // 6)

    def is_handed_over(self):
        return self.waiter.is_granted() and (self.holder.over or self.overlap_us() > 0)

    def overlap_us(self):
        return self.holder.until - self.waiter.granted


class Story:
    def __init__(self, options, kinds, folder):
        self.options, self.kinds = options, kinds
        self.net = hosts.Network(len(kinds))
        self.workers = []
        self.members = pe.make(kinds, folder)
        for m in self.members:
            host = self.net.host(m.number)
            m.port = m.fixed_port = servers.HostPort(host.address, m.port)
            m.command = self.on_host(host, m.command)
            m.config.update(CONFIG, **(LOCAL if options.local else {}))
        ensemble.tell_each_other(self.members)

    def on_host(self, host, command):
        return lambda: host.inside + command()

    def work(self, member, program, members, path):
        worker = Worker(self.net.host(member.number), program, members, path)
        self.workers.append(worker)
        return worker

    def children(self, path):
        reply, _ = self.conn.call(zk.GET_CHILDREN, {"path": path, "watch": False})
        return reply.body["children"]

    def begin(self):
        for m in self.members:
            m.start(wait=False)
        pe.wait_settled(self.members)
        leader = pe.leader_of(self.members)
        rest = [m for m in self.members if m is not leader]
        self.stranded = next((m for m in rest if m.kind != leader.kind), rest[0])
        self.others = [m for m in self.members if m is not self.stranded]
        self.conn = pe.connect(leader)
        return leader

    def cut_off(self):
        self.net.part([self.stranded.number], [m.number for m in self.others])
        return now_us()

    def tell(self, leader, cut_us, honest, broken):
        print("stranded_holder: %s: passed, %s follower of %s leader: granted %.1f s after the cut, %.1f s after the "
              "holder's time was over; with the rule broken they overlap by %.1f s or more" % (
                  self.kinds, self.stranded.kind, leader.kind, (honest.waiter.granted - cut_us) / 1e6,
                  -honest.overlap_us() / 1e6, broken.overlap_us() / 1e6))

    def play(self):
        leader = self.begin()
        honest = Pair(self, self.options.program, "/honest")
        broken = Pair(self, self.options.broken, "/broken")
        wait_until(lambda: honest.is_certain() and broken.is_certain(), "both to be certain", SECONDS)
        cut_us = self.cut_off()
        wait_until(lambda: honest.is_handed_over() and broken.is_handed_over(), "the locks to be granted", SECONDS)
        if honest.overlap_us() > 0:
            raise RuntimeError("the lock was granted %.3f s before the holder's time was over, %.3f s after the cut" % (
                honest.overlap_us() / 1e6, (honest.waiter.granted - cut_us) / 1e6))
        if broken.overlap_us() <= 0:
            raise RuntimeError("with the rule broken nothing overlaps: %.3f s" % (broken.overlap_us() / 1e6))
        self.tell(leader, cut_us, honest, broken)

    def close(self):
        for worker in self.workers:
            worker.close()
        for m in self.members:
            m.close()
        self.net.close()


def run(options, kinds, folder):
    """True if all was well."""
    story = Story(options, kinds, folder)
    try:
        story.play()
        return True
    except Exception as e:  # whatever it was: the logs are kept
        print("stranded_holder: %s: FAILED: %s: %s; logs in %s" % (kinds, type(e).__name__, e, folder))
        return False
    finally:
        story.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="stranded_holder")
    parser.add_argument("--broken", required=True, help="the same with the rule broken")
    parser.add_argument("--local", action="store_true", help="with local sessions")
    parser.add_argument("kinds", nargs="+", help="ppp, aaa, ...: p is pawld")
    options = parser.parse_args()
    hosts.enter_own_network()
    folder = tempfile.mkdtemp(prefix="stranded-holder-")
    passed = [run(options, kinds, os.path.join(folder, kinds)) for kinds in options.kinds]
    if all(passed):
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
