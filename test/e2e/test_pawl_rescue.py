# SPDX-License-Identifier: Apache-2.0
"""A quorum that is lost for good: `pawl ensemble rescue` says what may be missing, makes a new folder of the
member with the most, leaves the old ones, and lost members that come back do not bring the old state with them."""
import json
import os
import shutil
import subprocess

import daemon
from patience import wait_until
from test_members import Members as Places
from test_members import Place

PAWL = os.environ.get("PAWL") or os.path.join(os.path.dirname(daemon.PAWLD), "pawl")
OK, NO, USAGE, CONFLICT, REFUSED, DAMAGED = 0, 1, 2, 111, 112, 118
LEAP = 1000  # epochs


def rescue(*args):
    """(status, what it printed, what it complained of)"""
    done = subprocess.run([PAWL, "ensemble", "rescue"] + [str(a) for a in args],
                          capture_output=True, text=True, timeout=daemon.PATIENCE_SECONDS)
    return done.returncode, done.stdout, done.stderr


class Rescue(Places):
    def folder(self, number):
        return os.path.join(self.dir, "data%d" % number)

    def epoch(self, number, name="currentEpoch"):
        with open(os.path.join(self.folder(number), "version-2", name)) as f:
            return int(f.read())

    def lost(self):
        """Three members. The first was away when the last write was acknowledged; then all end."""
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertEqual(daemon.create(members[0].connect(), "/a", b"old"), 0)
        wait_until(lambda: all(daemon.get(m.connect(), "/a") == b"old" for m in members), "/a everywhere")
        members[0].stop()
        self.wait_modes(members[1:], "leader", "follower")
        self.assertEqual(daemon.create(members[1].connect(), "/b", b"only on 2 and 3"), 0)
        for m in members[1:]:
            m.stop()

    def replace(self, number, new):
        """That member's folder is a copy of the new one from now on; the old one is kept for later."""
        os.rename(self.folder(number), self.folder(number) + ".old")
        shutil.copytree(new, self.folder(number))

    def test_the_way_of_the_manual(self):
        self.lost()
        new = os.path.join(self.dir, "new")
        before = daemon.contents(self.folder(1))
        status, out, err = rescue("-n", 3, new, self.folder(1))
        self.assertEqual(status, NO)
        self.assertContains(out, "missing: whatever was acknowledged and is on the disks of lost members only",
                            "the most has: %s" % self.folder(1))
        self.assertContains(err, "nothing was written; with --yes it is")
        self.assertFalse(os.path.exists(new))

        status, out, err = rescue("-n", 3, "-y", new, self.folder(1))
        self.assertEqual((status, err), (OK, ""))
        self.assertEqual(daemon.contents(self.folder(1)), before)
        self.assertEqual(daemon.files(new, "log"), [])
        self.assertEqual(len(daemon.files(new, "snapshot")), 1)

        last_epoch = max(self.epoch(n, "acceptedEpoch") for n in (1, 2, 3))
        for n in (1, 2):  # the third is lost, and comes back later
            self.replace(n, new)
        members = [self.member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        conn = members[0].connect()
        self.assertEqual(daemon.get(conn, "/a"), b"old")
        self.assertIsNone(daemon.get(conn, "/b"))
        self.assertEqual(daemon.create(conn, "/c", b"new"), 0)
        self.assertGreater(self.epoch(1), last_epoch)

        third = self.member(3)  # with its old folder, which has more of the old history
        self.wait_modes(members + [third], "leader", "follower", "follower")
        self.assertNotEqual(self.mode(third), "leader")
        conn = third.connect()
        self.assertIsNone(daemon.get(conn, "/b"))
        self.assertEqual(daemon.get(conn, "/c"), b"new")

    def test_lost_members_that_come_back_by_themselves(self):
        """Two of the old three, with their old configuration, are a quorum of it, and nobody can keep them from serving
        each other. The new ensemble, of other numbers but for the survivor, takes no notice, and who has seen it is
        turned away by them."""
        self.lost()
        new = os.path.join(self.dir, "new")
        self.assertEqual(rescue("-n", 3, "-y", new, self.folder(1))[0], OK)
        self.replace(1, new)
        others = [Place(4), Place(5)]
        lines = [self.places[0].line()] + [p.line() for p in others]
        for p in others:
            shutil.copytree(new, self.folder(p.number))
        members = [self.member(1, lines=lines)]
        for p in others:
            d = daemon.Daemon(self.dir, self.config(p.number, lines=lines), port=None)
            d.port = p.client
            self.addCleanup(d.close)
            members.append(d)
        self.wait_modes(members, "leader", "follower", "follower")
        conn = members[0].connect()
        self.assertEqual(daemon.create(conn, "/c", b"new"), 0)
        seen = conn.call(daemon.z.EXISTS, {"path": "/c", "watch": False})[0].zxid

        old = [self.member(n) for n in (2, 3)]
        self.wait_modes(old, "leader", "follower")
        self.assertEqual(daemon.get(old[0].connect(), "/b"), b"only on 2 and 3")
        self.wait_modes(members, "leader", "follower", "follower")
        for m in members:
            conn = m.connect()
            self.assertEqual((daemon.get(conn, "/b"), daemon.get(conn, "/c")), (None, b"new"))
        with self.assertRaises(daemon.z.Closed):
            daemon.z.Conn(old[0].port).handshake(timeout_ms=10000, last_zxid=seen)
        old[0].wait_log("client must try another server")

    def test_the_one_with_the_most_is_chosen(self):
        self.lost()
        new = os.path.join(self.dir, "new")
        shutil.rmtree(self.folder(3))
        # 5 voters: the two that are left are no quorum.
        status, out, _ = rescue("-n", 5, "-y", new, self.folder(1), self.folder(2))
        self.assertEqual(status, OK)
        self.assertContains(out, "the most has: %s" % self.folder(2))
        d = self.start(data=new)
        self.assertEqual(daemon.get(d.connect(), "/b"), b"only on 2 and 3")

    def test_where_every_majority_had_one_of_them_nothing_is_missing(self):
        self.lost()
        status, out, _ = rescue("-n", 4, os.path.join(self.dir, "new"), self.folder(1), self.folder(2))
        self.assertEqual(status, NO)
        self.assertContains(out, "missing: nothing that was acknowledged")

    def test_a_quorum_needs_no_rescue(self):
        self.lost()
        new = os.path.join(self.dir, "new")
        status, _, err = rescue("-y", new, self.config(1), self.config(2))  # the files tell how many voters there are
        self.assertEqual(status, REFUSED)
        self.assertContains(err, "2 of 3 voters, which is a quorum")
        self.assertFalse(os.path.exists(new))

    def test_a_folder_that_is_damaged_counts_with_what_is_left(self):
        self.lost()
        log = os.path.join(self.folder(2), "version-2", daemon.files(self.folder(2), "log")[-1])
        with open(log, "r+b") as f:
            at = f.read().index(b"/b")
            f.seek(at)
            f.write(b"?")
        status, out, _ = rescue("-n", 3, os.path.join(self.dir, "new"), self.folder(1), self.folder(2))
        self.assertEqual(status, NO)
        self.assertContains(out, "%s: not whole: the transaction log" % self.folder(2), "missing: whatever")

    def test_bad_input(self):
        self.lost()
        new = os.path.join(self.dir, "new")
        self.assertEqual(rescue("-y", self.folder(3), self.folder(1))[0], CONFLICT)  # exists
        self.assertEqual(rescue("-y", new, os.path.join(self.dir, "nowhere"))[0], 117)
        self.assertEqual(rescue("-y", "-n", 0, new, self.folder(1))[0], USAGE)
        running = self.member(1)
        running.wait_log("looking for a leader")
        status, _, err = rescue("-n", 3, "-y", new, self.folder(1))
        self.assertEqual(status, CONFLICT)
        self.assertContains(err, "is in use by a server")
        self.assertFalse(os.path.exists(new))

    def test_as_json(self):
        self.lost()
        done = subprocess.run([PAWL, "--json", "ensemble", "rescue", "-n", "3", os.path.join(self.dir, "new"),
                               self.folder(1)], capture_output=True, text=True)
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(lines[0]["folder"], self.folder(1))
        self.assertTrue(lines[0]["whole"])
        self.assertEqual((lines[1]["chosen"], lines[1]["may_lack"]), (self.folder(1), True))
        self.assertEqual(lines[1]["epoch"], self.epoch(1, "acceptedEpoch") + LEAP)


if __name__ == "__main__":
    daemon.main()
