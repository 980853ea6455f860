# SPDX-License-Identifier: Apache-2.0
"""Logs and snapshots are read again while a server runs: damage is found before a start needs them, and what is in
memory takes its place."""
import os
import re
import threading

import daemon
from patience import wait_until
from test_members import Members as Places

OFTEN = ("-Dscrub.interval=100ms", "-Dscrub.bytesPerSecond=1000000000", "-D4lw.commands.whitelist=*")
ROUND = r"scrubbing: \d+ bytes of logs and snapshots read in \d+ ms, %d files damaged"
N_NODES = 40


def counter(d, name):
    return int(re.search(r"^zk_pawl_%s\t(\d+)$" % name, d.word("mntr"), re.M)[1])


def flip(path, near):
    """A bit of the record that has this in it."""
    with open(path, "r+b") as f:
        at = f.read().index(near)
        f.seek(at)
        f.write(bytes([near[0] ^ 1]))


class Scrubbing(Places):
    def make_nodes(self, conn, prefix="n"):
        for i in range(N_NODES):
            self.assertEqual(daemon.create(conn, "/%s%02d" % (prefix, i), b"d" * 100), 0)

    def newest(self, prefix, folder=None):
        folder = folder or self.data
        return os.path.join(folder, "version-2", daemon.files(folder, prefix)[-1])

    def asides(self):
        return [n for n in os.listdir(os.path.join(self.data, "version-2")) if n.startswith("aside.")]

    def restarted(self, d, n_nodes):
        """Killed, and as if nothing had been."""
        d.kill9()
        d = self.start(*OFTEN)
        names = daemon.children(d.connect(), "/")
        self.assertEqual(len([c for c in names if c != "zookeeper"]), n_nodes)
        self.assertNotIn("damaged at offset", d.log())
        return d

    def test_nothing_is_found_where_nothing_is_wrong(self):
        """Also while logs are written, rolled and purged."""
        d = self.start(*OFTEN, "-DsnapCount=20", "-Dautopurge.purgeInterval=200ms")
        done = threading.Event()

        def write():
            conn, i = d.connect(), 0
            while not done.is_set():
                daemon.set_data(conn, "/n00", b"%d" % i)
                i += 1
        self.make_nodes(d.connect())
        writer = threading.Thread(target=write)
        writer.start()
        try:
            wait_until(lambda: counter(d, "scrub_rounds") >= 5, "five rounds")
        finally:
            done.set()
            writer.join()
        self.assertEqual(counter(d, "scrub_damages"), 0)
        self.assertGreater(counter(d, "scrub_bytes"), 0)
        d.wait_log(ROUND % 0)
        self.restarted(d, N_NODES)

    def test_a_log_that_is_being_written(self):
        d = self.start(*OFTEN)
        conn = d.connect()
        self.make_nodes(conn)
        flip(self.newest("log"), b"/n20")
        d.wait_log(r"scrubbing: the transaction log version-2/log\.\S+ is damaged at offset \d+: the checksum of a record")
        wait_until(lambda: counter(d, "scrub_damages") >= 1, "the metric")
        d.wait_log("Snapshot taken")
        self.assertEqual(daemon.create(conn, "/more", b""), 0)  # another log begins
        d.wait_log(r"is kept as aside\.log")
        d.wait_log(ROUND % 0)
        self.restarted(d, N_NODES + 1)

    def test_an_older_log(self):
        d = self.start(*OFTEN, "-DsnapCount=20")
        self.make_nodes(d.connect())
        self.assertGreater(len(daemon.files(self.data, "log")), 1)
        flip(os.path.join(self.data, "version-2", daemon.files(self.data, "log")[0]), b"/n00")
        d.wait_log(r"is kept as aside\.log")
        d.wait_log(ROUND % 0)
        self.restarted(d, N_NODES)

    def test_a_snapshot(self):
        d = self.start(*OFTEN)
        self.make_nodes(d.connect())
        flip(self.newest("snapshot"), b"/zookeeper")
        d.wait_log(r"scrubbing: version-2/snapshot\.0 is damaged: the checksum does not match")
        d.wait_log(r"is kept as aside\.snapshot")
        self.assertTrue(self.asides())
        self.restarted(d, N_NODES)

    def test_it_can_be_left_out(self):
        d = self.start("-Dscrub.interval=0", "-D4lw.commands.whitelist=*")
        self.make_nodes(d.connect())
        flip(self.newest("log"), b"/n20")
        self.assertEqual(counter(d, "scrub_rounds"), 0)

    def test_members(self):
        """A leader's damaged log is not what others are brought up to date from."""
        more = ("scrub.interval=100ms", "scrub.bytesPerSecond=1000000000")
        members = [self.member(n, *more) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        away = next(i for i, m in enumerate(members) if self.mode(m) == "follower")
        leader = next(i for i, m in enumerate(members) if self.mode(m) == "leader")
        members[away].stop()
        conn = members[leader].connect()
        self.make_nodes(conn)
        flip(self.newest("log", os.path.join(self.dir, "data%d" % (leader + 1))), b"/n20")
        members[leader].wait_log("scrubbing: .*is damaged at offset")
        members[leader].wait_log("Snapshot taken")
        self.assertEqual(daemon.create(conn, "/more", b""), 0)
        members[leader].wait_log(r"is kept as aside\.log")
        self.assertEqual(self.mode(members[leader]), "leader")
        members[away] = self.member(away + 1, *more)
        self.wait_modes(members, "leader", "follower", "follower")
        names = daemon.children(members[away].connect(), "/")
        self.assertEqual(len(names), N_NODES + 2)
        for m in members:
            m.stop()
        members = [self.member(n, *more) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        for m in members:
            self.assertNotIn("votes for nobody", m.log())
            self.assertEqual(len(daemon.children(m.connect(), "/")), N_NODES + 2)


if __name__ == "__main__":
    daemon.main()
