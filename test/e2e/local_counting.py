#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Eight processes count in one local:DIR while its host is killed, again and again.

    local_counting.py --program BUILD/local_worker [--kills 20] [--workers 8] [--keep]

The host is found through DIR: it is whoever accepts on the socket there. After each kill -9 another
process must host, all others must count on, and a new worker takes the place of the dead one. Sessions
are longer than anything is waited for here: who noticed a dead host by its silence, or waited for a
dead holder's session, would be too late. In the end every count was made once: none lost, none twice. local_worker.c says what a
worker does and checks by itself.
"""
import argparse
import collections
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "lib"))

from patience import PATIENCE_SECONDS, wait_until  # noqa: E402

QUICK_SECONDS = 10  # for the quickest take-over of all, however busy the machine is
COUNTS_EACH = 5
LINE = re.compile(r"(\d+) (count|state|error) (.*)")


class Worker:
    """A process that counts; its output goes to a file, so that nothing of it is lost."""

    def __init__(self, program, shared, fence, log_path):
        self.log_path = log_path
        with open(log_path, "wb") as log:
            self.process = subprocess.Popen([program, shared, fence], stdin=subprocess.PIPE,
                                            stdout=log, stderr=subprocess.STDOUT)
        self.killed = False

    def lines(self):
        """(milliseconds, kind, detail) each; a last line that is not whole is left out."""
        with open(self.log_path, errors="replace") as f:
            text = f.read()
        whole = text[:text.rfind("\n") + 1].splitlines()
        found = [LINE.fullmatch(line) for line in whole]
        if not all(found):
            raise AssertionError("%s says: %s" % (self.log_path, text[-2000:]))
        return [(int(m[1]), m[2], m[3]) for m in found]

    def counts(self):
        return [int(detail) for _, kind, detail in self.lines() if kind == "count"]

    def check_alive(self):
        if self.process.poll() is not None:
            raise AssertionError("%s ended with %s:\n%s" % (
                self.log_path, self.process.returncode, open(self.log_path).read()[-2000:]))

    def kill9(self):
        self.killed = True
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.stdin.close()
        if self.process.wait(PATIENCE_SECONDS) != 0:
            self.check_alive()

    def outages(self):
        """How long each SUSPENDED lasted, in seconds."""
        lasted, since = [], None
        for ms, kind, detail in self.lines():
            if kind == "state" and detail == "SUSPENDED":
                since = ms
            elif kind == "state" and detail == "RECONNECTED" and since is not None:
                lasted.append((ms - since) / 1000)
                since = None
        return lasted


class Crowd:
    def __init__(self, program, n, folder):
        self.program, self.folder = program, folder
        self.shared = os.path.join(folder, "shared")
        self.alive, self.dead = [], []
        os.mkdir(self.shared)
        for _ in range(n):
            self.add()

    def add(self):
        number = len(self.alive) + len(self.dead)
        self.alive.append(Worker(self.program, self.shared, os.path.join(self.folder, "fence"),
                                 os.path.join(self.folder, "worker-%d.log" % number)))

    def host_pid(self):
        """Who accepts on the socket in DIR; None when nobody does."""
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(PATIENCE_SECONDS)
            try:
                s.connect(os.path.join(self.shared, "socket"))
            except OSError:
                return None
            credentials = s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        return struct.unpack("3i", credentials)[0]

    def wait_all_count(self, why):
        """Until every living worker has counted a few times more."""
        before = {w: len(w.counts()) for w in self.alive}

        def all_have():
            for w in self.alive:
                w.check_alive()
            return all(len(w.counts()) >= n + COUNTS_EACH for w, n in before.items())
        wait_until(all_have, "all to count on after " + why)

    def kill_host(self):
        """Gives the seconds until another process hosts."""
        pid = wait_until(self.host_pid, "a host")
        host = next(w for w in self.alive if w.process.pid == pid)
        self.alive.remove(host)
        self.dead.append(host)
        began = time.monotonic()
        host.kill9()
        wait_until(lambda: self.host_pid() not in (None, pid), "another host")
        return time.monotonic() - began

    def close(self):
        for w in self.alive:
            if w.process.poll() is None:
                w.process.kill()
            w.process.wait()


def check_counts(crowd, kills, final, version):
    workers = crowd.alive + crowd.dead
    told = collections.Counter(n for w in workers for n in w.counts())
    twice = [n for n, times in told.items() if times > 1]
    untold = [n for n in range(1, final + 1) if n not in told]
    assert not twice, "counted twice: %s" % twice
    assert max(told) <= final, "count %d was told and is lost: the counter is %d" % (
        max(told), final)
    # Killed between the server's answer and its own line: at most one per kill.
    assert len(untold) <= kills, "lost: %s" % untold
    assert version == final, "%d writes made %d" % (version, final)


def run(options, folder):
    crowd = Crowd(options.program, options.workers, folder)
    try:
        crowd.wait_all_count("the start")
        took = []
        for kill in range(options.kills):
            took.append(crowd.kill_host())
            crowd.add()
            crowd.wait_all_count("kill %d" % (kill + 1))
        for w in crowd.alive:
            w.stop()
    finally:
        crowd.close()
    text = subprocess.run([options.program, crowd.shared, "--read"], check=True, timeout=PATIENCE_SECONDS,
                          capture_output=True, text=True).stdout
    final, version = map(int, re.search(r"counter (\d+) version (\d+)", text).groups())
    check_counts(crowd, options.kills, final, version)
    assert min(took) < QUICK_SECONDS, "slow to take over: %s" % took
    outages = [o for w in crowd.alive + crowd.dead for o in w.outages()]
    print("%d counts by %d processes, %d kills; another host after %.2f s at most; "
          "suspended %.2f s at most" % (final, options.workers, options.kills, max(took),
                                        max(outages, default=0)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--keep", action="store_true", help="leave the folder behind")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pawl-local-")
    try:
        run(options, folder)
    except AssertionError as e:
        print("FAILED: %s" % e)
        return 1
    finally:
        if options.keep:
            print("left in %s" % folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
