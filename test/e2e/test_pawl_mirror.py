#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl mirror: one subtree made like another, on one server and on two."""
import json

import daemon
from interposer import Interposer
from pawl_program import CONFLICT, NO, OK, REFUSED, UNREACHABLE, USAGE, NO_NODE, TestCase


class Mirror(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/from/a/x", "1")
        self.ok("create", "/from/a-b", "2")
        self.ok("create", "/from/b", "3")

    def tree(self, path, *options):
        """{path below: (data, ACL)}"""
        lines = self.ok(*options, "export", path).splitlines()
        return {n["path"]: (n.get("data", n.get("data_base64")), json.dumps(n["acl"]))
                for n in map(json.loads, lines) if "ephemeral" not in n}

    def test_here(self):
        self.assertEqual(self.ok("mirror", "/from", "/to"), "+ /to\n+ /to/a\n+ /to/a/x\n+ /to/a-b\n+ /to/b\n"
                                                            "5 created, 0 changed, 0 removed, 0 equal\n")
        self.assertEqual(self.tree("/to"), self.tree("/from"))
        self.assertEqual(self.ok("mirror", "/from", "/to"), "0 created, 0 changed, 0 removed, 5 equal\n")
        self.ok("set", "/from/a/x", "new")
        self.ok("acl", "set", "/from/b", "world:anyone:cdra")
        self.ok("create", "/from/a/y")
        self.assertEqual(self.ok("mirror", "/from", "/to"), "! /to/a/x\n+ /to/a/y\n! /to/b (acl)\n"
                                                            "1 created, 2 changed, 0 removed, 3 equal\n")
        self.assertEqual(self.tree("/to"), self.tree("/from"))

    def test_what_is_only_there(self):
        self.ok("mirror", "/from", "/to")
        self.ok("create", "-p", "/to/old/below/it")
        out = self.ok("mirror", "/from", "/to")
        self.assertEqual(out, "0 created, 0 changed, 0 removed, 5 equal, 3 only there; --delete removes them\n")
        dry = self.ok("mirror", "-n", "-d", "/from", "/to")
        self.assertEqual(dry, "- /to/old/below/it\n- /to/old/below\n- /to/old\n"
                              "would be: 0 created, 0 changed, 3 removed, 5 equal\n")
        self.ok("get", "/to/old/below/it")
        self.assertEqual(self.ok("mirror", "--delete", "/from", "/to"), dry.replace("would be: ", ""))
        self.assertEqual(self.tree("/to"), self.tree("/from"))

    def test_acls_that_are_not_shown(self):
        """What it says to do about it helps."""
        self.ok("acl", "set", "/from/b", "digest:u:hash:cdrwa,world:anyone:r")
        errors = self.fails(REFUSED, "mirror", "/from", "/to")
        self.assertIn("/from/b: its ACL is shown to its administrators only; give credentials with --auth, "
                      "or leave ACLs out with -A\n", errors)
        self.assertIn("5 created", self.ok("mirror", "-A", "/from", "/to"))

    def test_a_dry_run_does_nothing(self):
        self.assertIn("would be: 5 created", self.ok("mirror", "-n", "/from", "/to"))
        self.assertEqual(self.pawl("exists", "/to")[0], NO)
        lines = [json.loads(line) for line in self.ok("-j", "mirror", "-n", "/from", "/to").splitlines()]
        self.assertEqual(lines[0], {"would_be": "created", "path": "/to"})
        self.assertEqual(lines[-1], {"dry_run": True, "created": 5, "changed": 0, "removed": 0, "equal": 0,
                                     "only_there": 0})

    def test_nodes_of_sessions_stay_where_they_are(self):
        self.ok("mirror", "/from", "/to")
        conn = self.server.connect()
        self.assertEqual(daemon.create(conn, "/from/mine", flags=daemon.EPHEMERAL), 0)
        self.ok("create", "/to/old")
        self.assertEqual(daemon.create(conn, "/to/old/mine", flags=daemon.EPHEMERAL), 0)
        self.assertEqual(self.ok("mirror", "-d", "/from", "/to"),
                         "0 created, 0 changed, 0 removed, 5 equal, 2 only there (of sessions)\n")
        self.ok("get", "/to/old/mine")
        self.assertEqual(daemon.create(conn, "/to/c", flags=daemon.EPHEMERAL), 0)
        self.ok("create", "/from/c")
        status, out, errors = self.pawl("mirror", "/from", "/to")
        self.assertEqual(status, CONFLICT)
        self.assertIn("/to/c is a session's there", errors)
        conn.close()

    def test_to_another_server(self):
        other = self.start(data=self.dir + "/other")
        self.ok("mirror", "-t", "localhost:%d" % other.port, "/")
        there = ("-s", "localhost:%d" % other.port)
        self.assertEqual(self.tree("/", *there), self.tree("/"))
        self.ok(*there, "rm", "-r", "/from/a")
        self.ok(*there, "create", "/extra")
        self.assertEqual(self.ok("mirror", "-d", "-t", "localhost:%d" % other.port, "/"),
                         "+ /from/a\n+ /from/a/x\n- /extra\n2 created, 0 changed, 1 removed, 4 equal\n")

    def test_one_in_the_other(self):
        for to in "/from/a", "/", "/from":
            self.assertIn("one in the other", self.fails(USAGE, "mirror", "/from", to))
        self.assertIn("one in the other", self.fails(USAGE, "mirror", "/from"))
        self.fails(NO_NODE, "mirror", "/none", "/to")

    def test_a_change_meanwhile_is_not_written_over(self):
        self.ok("mirror", "/from", "/to")
        self.ok("set", "/from/b", "ours")
        done = []

        def before(op, _frame):
            if op == 5 and not done:  # setData
                done.append(self.ok("set", "/to/b", "theirs"))
        between = Interposer(self.server.port, before)
        status, _out, errors = self.pawl("-s", "127.0.0.1:%d" % between.port, "mirror", "/from", "/to")
        between.close()
        self.assertEqual((status, len(done)), (CONFLICT, 1))
        self.assertIn("the same again goes on from there", errors)
        self.assertEqual(self.ok("get", "/to/b"), "theirs")
        self.assertEqual(self.ok("mirror", "/from", "/to"), "! /to/b\n0 created, 1 changed, 0 removed, 4 equal\n")

    def test_an_unreachable_server(self):
        self.assertIn("no session", self.fails(UNREACHABLE, "-C", "300ms", "mirror", "-t", "localhost:1", "/from"))


if __name__ == "__main__":
    daemon.main()
