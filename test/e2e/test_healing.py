# SPDX-License-Identifier: Apache-2.0
"""A member whose disk has lost something: it says what, counts for nothing, fetches everything from the
others, and is a member like any other again. With damage on a majority nobody leads."""
import os
import shutil
import signal

import daemon
from daemon import PATIENCE_SECONDS, run
from patience import wait_until
from test_members import Members as Places

DATA_FOLDER_STATUS = 3
HEADER_BYTES = 16
SECTOR_BYTES = 512
BAD_SECTOR = os.environ.get("BAD_SECTOR_SO") or os.path.join(
    os.path.dirname(os.path.dirname(daemon.PAWLD)), "test", "e2e", "libbad_sector.so")
N_NODES = 40  # of 100 bytes each: several sectors of a log


class Healing(Places):
    def version_2(self, number, name=""):
        return os.path.join(self.dir, "data%d" % number, "version-2", name)

    def newest(self, number, prefix):
        return self.version_2(number, daemon.files(os.path.join(self.dir, "data%d" % number), prefix)[-1])

    def log_with(self, number, path):
        """The log in which that node was made."""
        folder = os.path.join(self.dir, "data%d" % number)
        for name in daemon.files(folder, "log"):
            with open(self.version_2(number, name), "rb") as f:
                if path.encode() in f.read():
                    return self.version_2(number, name)
        raise AssertionError("%s is in no log of %d" % (path, number))

    def nodes(self, conn):
        return [c for c in daemon.children(conn, "/") if c != "zookeeper"]

    def with_nodes(self, *more, numbers=(1, 2, 3)):
        """Members, all with the same nodes, and stopped again."""
        members = [self.member(n, *more) for n in numbers]
        self.wait_modes(members, *["leader"] + ["follower"] * (len(numbers) - 1))
        conn = members[0].connect()
        for i in range(N_NODES):
            self.assertEqual(daemon.create(conn, "/n%02d" % i, b"d" * 100), 0)
        count = "Node count: %d" % (N_NODES + 5)
        wait_until(lambda: all(count in m.word("srvr") for m in members), "all nodes everywhere")
        for m in members:
            m.stop()
        return members

    def flip(self, path, offset=None):
        with open(path, "r+b") as f:
            written = f.read().rstrip(b"\0")
            offset = offset or len(written) // 2
            f.seek(offset)
            f.write(bytes([written[offset] ^ 0x10]))
        return offset

    def healed(self, number, member, members):
        """It is there with all nodes, what it had is kept, and a start finds nothing to heal."""
        self.wait_modes(members, *["leader"] + ["follower"] * (len(members) - 1))
        self.assertEqual(len(self.nodes(member.connect())), N_NODES)
        self.assertFalse(os.path.exists(self.version_2(number, "pawl.damaged")))
        self.assertTrue([n for n in os.listdir(self.version_2(number)) if n.startswith("replaced.")])
        member.stop()
        again = self.member(number)
        self.wait_modes([m for m in members if m is not member] + [again],
                        *["leader"] + ["follower"] * (len(members) - 1))
        self.assertNotIn("damaged", again.log())
        self.assertEqual(len(self.nodes(again.connect())), N_NODES)

    def heals(self, damage, *said, more=()):
        """The third would be elected, if it counted: it has the largest number."""
        self.with_nodes(*more)
        damage()
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertNotEqual(self.mode(members[2]), "leader")
        self.assertContains(members[2].log(), "the data of this server is damaged: ", *said)
        self.assertContains(members[2].log(), "votes for nobody", "sends its whole tree")
        self.healed(3, members[2], members)


class Minority(Healing):
    def test_a_flipped_bit_in_a_log(self):
        self.heals(lambda: self.flip(self.log_with(3, "/n20")), "is damaged at offset",
                   "The last good transaction before it is 0x", "were acknowledged")

    def test_a_log_that_is_missing(self):
        self.heals(lambda: os.unlink(self.log_with(3, "/n20")), "were acknowledged (version-2/pawl.durable)")

    def test_a_log_of_which_the_middle_is_missing(self):
        def tear():
            path = self.log_with(3, "/n20")
            with open(path, "r+b") as f:
                middle = f.read().index(b"/n20") // SECTOR_BYTES * SECTOR_BYTES
                f.seek(middle)
                f.write(bytes(2 * SECTOR_BYTES))
        self.heals(tear, "version-2/log.", "at offset", "were acknowledged")

    def test_a_log_that_ends_too_early(self):
        def cut():
            path = self.log_with(3, "/n20")
            with open(path, "rb") as f:
                os.truncate(path, f.read().index(b"/n20"))
        self.heals(cut, "version-2/log.", "were acknowledged")

    def test_a_sector_that_cannot_be_read(self):
        if not os.path.exists(BAD_SECTOR):
            self.skipTest("no %s" % BAD_SECTOR)
        self.with_nodes()
        log = self.log_with(3, "/n20")
        with open(log, "rb") as f:
            at = f.read().index(b"/n20")
        env = {"LD_PRELOAD": BAD_SECTOR, "ASAN_OPTIONS": "verify_asan_link_order=0",
               "BAD_SECTOR": "%s:%d" % (os.path.basename(log), at)}
        members = [self.member(1), self.member(2), self.member(3, env=env)]
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertContains(members[2].log(), "the data of this server is damaged: cannot read", log, "at offset",
                            "Input/output error", "sends its whole tree")
        self.healed(3, members[2], members)

    def test_snapshots_that_are_damaged(self):
        def flip_all():
            folder = os.path.join(self.dir, "data3")
            for name in daemon.files(folder, "snapshot"):
                self.flip(self.version_2(3, name))
        self.heals(flip_all, "snapshots in version-2 can be read, the newest being snapshot.")

    def test_everything_but_its_promises_is_gone(self):
        def remove():
            for name in os.listdir(self.version_2(3)):
                if name.startswith(("log.", "snapshot.", "pawl.durable")):
                    os.unlink(self.version_2(3, name))
        self.with_nodes()
        remove()
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertContains(members[2].log(), "neither a snapshot nor a log", "acceptedEpoch")
        self.assertEqual(len(self.nodes(members[2].connect())), N_NODES)

    def test_a_leader_that_is_there_already(self):
        """And what was written when the damaged one was away."""
        self.with_nodes()
        members = [self.member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(daemon.delete(members[0].connect(), "/n39"), 0)
        self.assertEqual(daemon.create(members[1].connect(), "/m39", b"x"), 0)
        self.flip(self.log_with(3, "/n20"))
        members.append(self.member(3))
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertIn("m39", self.nodes(members[2].connect()))
        self.healed(3, members[2], members)

    def test_who_is_damaged_is_not_part_of_a_majority(self):
        """The last write is on the disks of two, of which one loses it: the third must not lead without
        the second, however many the two of them are."""
        self.with_nodes()
        members = [self.member(n) for n in (1, 2)]
        self.wait_modes(members, "leader", "follower")
        self.assertEqual(daemon.set_data(members[0].connect(), "/n00", b"new"), 0)
        for m in members:
            m.stop()
        self.flip(self.log_with(2, "/n20"))
        second, third = self.member(2), self.member(3)
        second.wait_log("this server has lost a part of its history, and votes for nobody")
        third.wait_log("looking for a leader")
        # A round is over, and another one begins: without the rule somebody had been elected by then.
        second.process.send_signal(signal.SIGTERM)
        self.assertEqual(second.process.wait(PATIENCE_SECONDS), 0)
        second = self.member(2)
        second.wait_log("votes for nobody")
        self.assertNotIn("is elected", second.log() + third.log())
        first = self.member(1)
        self.wait_modes([first, second, third], "leader", "follower", "follower")
        for m in (first, second, third):
            self.assertEqual(daemon.get(m.connect(), "/n00"), b"new")

    def test_the_mark_counts_also_when_the_files_can_be_read_again(self):
        """A disk of two minds: what was found once is enough."""
        self.with_nodes()
        path = self.log_with(3, "/n20")
        shutil.copy(path, self.dir)
        self.flip(path)
        third = self.member(3)
        third.wait_log("the data of this server is damaged")
        third.stop()
        shutil.copy(os.path.join(self.dir, os.path.basename(path)), path)
        members = [self.member(n) for n in (1, 2, 3)]
        self.wait_modes(members, "leader", "follower", "follower")
        self.assertContains(members[2].log(), "votes for nobody", "sends its whole tree")
        self.healed(3, members[2], members)


class Majority(Healing):
    def test_nobody_leads(self):
        """Until enough of them are as they were: here by a backup of the file."""
        self.with_nodes()
        path = self.log_with(2, "/n20")
        shutil.copy(path, self.dir)
        for n in (2, 3):
            self.flip(self.log_with(n, "/n20"))
        members = [self.member(n) for n in (1, 2, 3)]
        for m in members[1:]:
            m.wait_log("votes for nobody")
        members[0].wait_log("looking for a leader")
        for m in members[1:]:  # each has been heard by now
            m.stop()
        members[1], members[2] = self.member(2), self.member(3)
        for m in members[1:]:
            m.wait_log("votes for nobody")
        self.assertNotIn("is elected", "".join(m.log() for m in members))
        self.assertEqual([self.mode(m) for m in members], ["", "", ""])
        members[1].stop()
        os.unlink(self.version_2(2, "pawl.damaged"))
        shutil.copy(os.path.join(self.dir, os.path.basename(path)), path)
        members[1] = self.member(2)
        self.wait_modes(members, "leader", "follower", "follower")
        for m in members:
            self.assertEqual(len(self.nodes(m.connect())), N_NODES)


class Refused(Healing):
    def test_who_has_lost_its_promise_as_well(self):
        """It might follow a leader from before, who does not know of what it acknowledged since."""
        self.with_nodes()
        self.flip(self.log_with(3, "/n20"))
        os.unlink(self.version_2(3, "acceptedEpoch"))
        before = daemon.contents(os.path.join(self.dir, "data3"))
        code, _, err = run(self.config(3))
        self.assertEqual(code, DATA_FOLDER_STATUS)
        self.assertContains(err, "acceptedEpoch", "is missing", "is damaged at offset", "Nothing was changed")
        self.assertEqual(daemon.contents(os.path.join(self.dir, "data3")), before)

    def test_who_stands_alone_is_as_strict_as_ever(self):
        self.with_nodes()
        self.flip(self.log_with(3, "/n20"))
        alone = self.file("alone.cfg", "dataDir=%s\n" % os.path.join(self.dir, "data3"))
        code, _, err = run(alone, "--port", "0")
        self.assertEqual(code, DATA_FOLDER_STATUS)
        self.assertContains(err, "is damaged at offset", "--accept-loss")
        third = self.member(3)
        third.wait_log("votes for nobody")
        third.stop()
        shutil.copytree(self.version_2(3), os.path.join(self.dir, "whole"))
        for name in os.listdir(self.version_2(3)):
            if name.startswith(("log.", "pawl.durable")):
                os.unlink(self.version_2(3, name))  # what is left could be read, but the mark tells
        code, _, err = run(alone, "--port", "0")
        self.assertEqual(code, DATA_FOLDER_STATUS)
        self.assertContains(err, "version-2/pawl.damaged", "remove that file")
        shutil.rmtree(self.version_2(3))
        os.rename(os.path.join(self.dir, "whole"), self.version_2(3))
        d = daemon.Daemon(self.dir, alone, "--accept-loss")
        self.addCleanup(d.close)
        self.assertLess(len(self.nodes(d.connect())), N_NODES)
        self.assertFalse(os.path.exists(self.version_2(3, "pawl.damaged")))

    def test_a_server_that_stood_alone_and_is_to_be_a_member(self):
        """The others have nothing of what it lost."""
        self.start().stop()
        d = self.start()
        conn = d.connect()
        for i in range(N_NODES):
            daemon.create(conn, "/n%02d" % i, b"d" * 100)
        d.stop()
        shutil.copytree(self.data, os.path.join(self.dir, "data1"))
        self.flip(self.log_with(1, "/n20"))
        code, _, err = run(self.config(1))
        self.assertEqual(code, DATA_FOLDER_STATUS)
        self.assertContains(err, "is damaged at offset", "acceptedEpoch")


if __name__ == "__main__":
    daemon.main()
