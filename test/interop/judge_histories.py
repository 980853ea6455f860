#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The judge of histories is judged: what it excuses, and that it finds everything else."""
import itertools
import sys
import unittest

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


if __name__ == "__main__":
    sys.exit(unittest.main())
