#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The judges are judged, of histories and of Apache's logs: what they excuse, and that they excuse nothing
else."""
import itertools
import os
import shutil
import struct
import sys
import tempfile
import unittest

import apache_hole
from register_history import Answerer, History, Operation

OUR_LEADER = Answerer(1, False, "leader")
OUR_FOLLOWER = Answerer(2, False, "follower")
JAVA_LEADER = Answerer(3, True, "leader")
JAVA_FOLLOWER = Answerer(4, True, "follower")
JAVA_OBSERVER = Answerer(5, True, "observer")
OTHERS = (OUR_LEADER, OUR_FOLLOWER, JAVA_FOLLOWER, JAVA_OBSERVER)


class Story:
    """A register whose operations last a second each, one after the other unless told."""

    def __init__(self):
        self.history = History()
        self.clock = itertools.count()
        self.seen(0, b"", 0x100000001)

    def seen(self, version, data, zxid):
        self.history.saw("/r", data, {"version": version, "mzxid": zxid}, "somebody")

    def operation(self, client, version, data, answerer, is_write, begin=None, zxid=None):
        o = Operation(client, "/r", data if is_write else None)
        zxid = 0x100000001 + version if zxid is None else zxid
        self.history.began(o)
        self.seen(version, data, zxid)
        o.done(data, {"version": version, "mzxid": zxid}, answerer)
        o.begin = next(self.clock) if begin is None else begin
        o.end = next(self.clock)
        return o

    def write(self, client, version, answerer=OUR_FOLLOWER, **how):
        return self.operation(client, version, b"w%d" % version, answerer, True, **how)

    def read(self, client, version, answerer, **how):
        data = b"w%d" % version if version else b""
        return self.operation(client, version, data, answerer, False, **how)


class Judge(unittest.TestCase):
    def setUp(self):
        self.story = Story()

    def verdict(self, n_wrong, n_excused=0):
        wrong = self.story.history.verdict()
        self.assertEqual(len(wrong), n_wrong, wrong)
        self.assertEqual(self.story.history.n_excused, n_excused)
        return wrong

    def test_nothing_is_wrong_with_one_register(self):
        self.story.write(1, 1)
        self.story.read(2, 1, OUR_FOLLOWER)
        self.story.write(2, 2)
        self.story.read(1, 2, JAVA_LEADER)
        self.verdict(0)

    def test_a_stale_read_at_a_leader_of_apache_is_excused(self):
        self.story.write(1, 1)
        self.story.read(2, 0, JAVA_LEADER)
        self.verdict(0, n_excused=1)

    def test_and_at_nobody_else(self):
        for answerer in OTHERS:
            with self.subTest(repr(answerer)):
                self.story = Story()
                self.story.write(1, 1, answerer=JAVA_LEADER)
                self.story.read(2, 0, answerer)
                self.assertIn(repr(answerer), self.verdict(1)[0])

    def test_a_later_epoch_excuses_nobody_else_either(self):
        for answerer in OTHERS:
            with self.subTest(repr(answerer)):
                self.story = Story()
                self.story.write(1, 1, zxid=0x200000001)
                self.story.read(2, 0, answerer)
                self.verdict(1)

    def test_what_others_saw_is_no_excuse(self):
        self.story.write(1, 1)
        self.story.read(2, 0, JAVA_LEADER)
        self.story.read(3, 0, OUR_FOLLOWER)
        self.verdict(1, n_excused=1)

    def test_a_write_is_not_excused(self):
        self.story.write(1, 2, answerer=OUR_FOLLOWER)
        self.story.write(2, 1, answerer=JAVA_LEADER)
        self.verdict(1)

    def test_a_value_that_nobody_wrote_is_not_excused(self):
        self.story.read(2, 1, JAVA_LEADER)
        self.verdict(1)

    def test_another_value_of_a_version_is_not_excused(self):
        self.story.write(1, 1)
        self.story.operation(2, 1, b"other", JAVA_LEADER, False)
        self.verdict(1)

    def test_zxids_that_go_back_are_not_excused(self):
        self.story.write(1, 1, zxid=0x300000001)
        self.story.write(1, 2, answerer=JAVA_LEADER, zxid=0x200000001)
        self.verdict(1)

    def test_writes_of_a_client_out_of_order_are_not_excused(self):
        begin = -1
        self.story.write(1, 2, answerer=JAVA_LEADER, begin=begin)
        self.story.write(1, 1, answerer=JAVA_LEADER, begin=begin)
        self.verdict(1)


RECORDED = os.path.join(os.path.dirname(__file__), "../vectors/datadir/trunc-before")
LOG = "version-2/log.100000001"


class Member:
    def __init__(self, number, kind, data_dir, said=""):
        self.number, self.kind, self.data_dir, self.said = number, kind, data_dir, said

    def log_text(self):
        return self.said


class Hole(unittest.TestCase):
    """A recorded log of Apache's, without its third transaction."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copytree(RECORDED, self.folder, dirs_exist_ok=True)

    def leave_out(self, number):
        with open(os.path.join(self.folder, LOG), "r+b") as f:
            data = f.read()
            at = 16  # behind the header: checksum, length, transaction, end mark
            for _ in range(number):
                begin, at = at, at + 12 + struct.unpack_from(">i", data, at + 8)[0] + 1
            f.seek(begin)
            f.write(data[at:] + bytes(at - begin))

    def found(self, said, kind="a"):
        return apache_hole.find([Member(1, "p", "/nowhere", said), Member(2, kind, self.folder)])

    def test_a_transaction_that_it_said_to_have_is_its_fault(self):
        self.leave_out(3)
        for said in ("INFO - server 2 joins with zxid 0x100000003 and gets what it lacks",
                     "Synchronizing with Learner sid: 2 maxCommittedLog=0x5 peerLastZxid=0x100000003"):
            self.assertIn("said that it had 0x100000003, and its log goes from 0x100000002 to 0x100000004",
                          self.found(said))

    def test_one_that_it_was_not_sent_is_not(self):
        self.leave_out(3)
        for said in ("", "server 2 joins with zxid 0x100000002", "server 1 joins with zxid 0x100000003",
                     "server 2 joins with zxid 0x1000000031"):
            self.assertIsNone(self.found(said))

    def test_nor_is_ours_excused_or_a_log_without_a_hole(self):
        said = "server 2 joins with zxid 0x100000003"
        self.assertIsNone(self.found(said))
        self.leave_out(3)
        self.assertIsNone(self.found(said, kind="p"))

    def test_a_story_is_played_again_for_it_and_for_nothing_else(self):
        self.leave_out(3)
        for said, n_played in (("server 2 joins with zxid 0x100000003", apache_hole.TRIES), ("", 1)):
            members = [Member(1, "p", "/nowhere", said), Member(2, "a", self.folder)]
            played = []
            self.assertEqual(apache_hole.play(lambda: (played.append(1) or "wrong", members)), 1)
            self.assertEqual(len(played), n_played)
        self.assertEqual(apache_hole.play(lambda: (None, [])), 0)


if __name__ == "__main__":
    sys.exit(unittest.main())
