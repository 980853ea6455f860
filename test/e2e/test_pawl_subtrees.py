#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl: commands about whole subtrees, and what they do when somebody else is at work there."""
import fcntl
import json
import os
import signal
import socket
import subprocess

import daemon
from daemon import PATIENCE_SECONDS
from interposer import MULTI, Interposer
from pawl_program import (CONFLICT, NO, NO_NODE, OK, PAWL, REFUSED, SIGNAL, UNREACHABLE, USAGE,
                          TestCase)

ME = ("-a", "digest:me:secret")


class SubtreeCase(TestCase):
    def pawl_behind(self, before, *args):
        """To its end, with `before(op, frame)` run before each of its requests."""
        between = Interposer(self.server.port, before)
        try:
            return self.pawl("-s", "127.0.0.1:%d" % between.port, *args)
        finally:
            between.close()

    def pawl_while(self, op, change, *args):
        """To its end, with `change` called before its first request of this kind."""
        left = [change]

        def before(kind, _frame):
            if kind == op and left:
                left.pop()()

        done = self.pawl_behind(before, *args)
        self.assertEqual(left, [], "no such request")
        return done


class Closed(SubtreeCase):
    """A part of the tree is somebody else's."""

    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/a/x", "data of x")
        self.ok(*ME, "create", "-a", "auth::cdrwa", "/t/b", "my data")
        self.ok(*ME, "create", "-a", "auth::cdrwa", "/t/b/below", "my data")
        self.ok("create", "/t/c", "data of c")

    def refused(self, *args):
        """What it prints although it was refused something, which it reports in a line."""
        status, out, errors = self.pawl(*args)
        self.assertEqual(status, REFUSED, args)
        self.assertRegex(errors, r"^pawl \w+: /t/b: permission denied.*--auth.*\n$")
        return out

    def test_the_rest_is_walked(self):
        self.assertEqual(self.refused("ls", "-R", "/t"), "/t\n/t/a\n/t/a/x\n/t/b\n/t/c\n")
        self.assertEqual(self.refused("tree", "/t"), "/t\n  a\n    x\n  b\n  c\n")
        self.assertEqual(json.loads(self.refused("-j", "ls", "-R", "/t")),
                         ["/t", "/t/a", "/t/a/x", "/t/b", "/t/c"])
        self.assertEqual(self.refused("find", "-n", "[bcx]", "/t"), "/t/a/x\n/t/b\n/t/c\n")
        self.assertEqual(self.refused("grep", "data", "/t"), "/t/a/x:data of x\n/t/c:data of c\n")
        self.assertEqual(self.refused("grep", "no such", "/t"), "")
        self.assertRegex(self.refused("du", "/t"), r"^9\t2\t/t/a\n\d\t1\t/t/b\n9\t1\t/t/c\n\d+\t5\t/t\n$")

    def test_the_top_itself(self):
        for command in (["ls", "-R"], ["tree"], ["find"], ["grep", "x"], ["du"]):
            self.assertIn("/t/b: permission denied", self.fails(REFUSED, *command, "/t/b"))

    def test_nothing_is_copied_in_part(self):
        for command in "cp", "mv":
            self.assertIn("/t/b: permission denied", self.fails(REFUSED, command, "/t", "/new"))
            self.assertEqual(self.pawl("exists", "/new")[0], NO)

    def test_an_acl_that_is_not_shown_is_not_copied(self):
        self.ok(*ME, "acl", "set", "/t/b/below", "digest:me:abc=:cdrwa,world:anyone:r")
        self.ok(*ME, "acl", "set", "/t/b", "world:anyone:r,auth::cdrwa")
        self.assertIn("/t/b: its ACL is shown to its administrators only",
                      self.fails(REFUSED, "cp", "/t/b", "/new"))
        self.ok("cp", "-a", "world:anyone:cdrwa", "/t/b", "/new")
        self.assertEqual(self.ok("acl", "get", "/new/below"), "world:anyone:cdrwa\n")


class Vanished(SubtreeCase):
    def test_a_node_that_goes_is_passed_over(self):
        for command, shown in ((["ls", "-R"], "/t\n/t/a\n"), (["tree"], "/t\n  a\n"),
                               (["find"], "/t\n/t/a\n"), (["grep", "of"], "/t/a:data of a\n"),
                               (["du"], "9\t1\t/t/a\n9\t2\t/t\n"), (["-j", "ls", "-R"], '["/t","/t/a"]\n')):
            self.ok("create", "-p", "/t/a", "data of a")
            self.ok("create", "/t/b", "data of b")

            def before(op, frame):
                if b"/t/a" in frame and self.pawl("exists", "/t/b")[0] == OK:
                    self.ok("rm", "/t/b")  # it was in the list of children

            self.assertEqual(self.pawl_behind(before, *command, "/t"), (OK, shown, ""))
            self.ok("rm", "-r", "/t")


class Searching(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/lock-1", "one\ntwo\nthree")
        self.ok("create", "/t/lock-2", "a\x1bb two")
        self.ok("create", "/t/other", "")

    def test_find(self):
        self.assertEqual(self.ok("find", "/t", "-name", "lock-*"), "/t/lock-1\n/t/lock-2\n")
        self.assertEqual(self.ok("find", "/t", "-size", "+9"), "/t/lock-1\n")
        self.assertEqual(self.ok("find", "/t", "-size", "0"), "/t\n/t/other\n")
        self.assertEqual(self.ok("find", "/t", "-size", "-1", "-maxdepth", "0"), "/t\n")
        self.assertEqual(self.ok("find", "-n", "zookeeper"), "/zookeeper\n")
        found = json.loads(self.ok("-j", "find", "-s", "13", "/t"))
        self.assertEqual([(n["path"], n["stat"]["data_length"]) for n in found], [("/t/lock-1", 13)])
        self.assertEqual(json.loads(self.ok("-j", "find", "-n", "none", "/t")), [])
        self.assertIn("neither persistent", self.fails(USAGE, "find", "-t", "x"))
        self.assertIn("no number of bytes", self.fails(USAGE, "find", "-s", "1k"))
        self.assertIn("no id of a session", self.fails(USAGE, "find", "-o", "me"))
        self.assertIn("/no: no such node", self.fails(NO_NODE, "find", "/no"))

    def test_find_ephemeral_nodes_by_their_session(self):
        holder = self.begin("create", "-e", "/t/mine")
        self.assertEqual(holder.stdout.readline(), b"/t/mine\n")
        owner = json.loads(self.ok("-j", "stat", "/t/mine"))["ephemeral_owner"]
        self.assertEqual(self.ok("find", "/t", "-type", "e"), "/t/mine\n")
        self.assertEqual(self.ok("find", "/t", "-owner", owner), "/t/mine\n")
        self.assertEqual(self.ok("find", "/t", "-owner", "0x1"), "")
        self.assertNotIn("mine", self.ok("find", "/t", "-type", "persistent"))

    def test_grep(self):
        self.assertEqual(self.ok("grep", "t(w|hr)", "/t"),
                         "/t/lock-1:two\n/t/lock-1:three\n/t/lock-2:a\\x1bb two\n")
        self.assertEqual(self.ok("grep", "-l", "t", "/t"), "/t/lock-1\n/t/lock-2\n")
        self.assertEqual(self.ok("grep", "-i", "^TWO$", "/t"), "/t/lock-1:two\n")
        self.assertEqual(self.pawl("grep", "-F", "t(w|hr)", "/t"), (NO, "", ""))
        self.ok("set", "/t/other", "-", stdin=b"before\0t(w|hr)")
        self.assertEqual(self.ok("grep", "-F", "t(w|hr)", "/t"), "/t/other:before\\x00t(w|hr)\n")
        self.assertEqual([json.loads(line) for line in self.ok("-j", "grep", "o$", "/t").splitlines()],
                         [{"path": "/t/lock-1", "line": "two"}, {"path": "/t/lock-2", "line": "a\x1bb two"}])
        self.assertIn("-F takes it as it is", self.fails(USAGE, "grep", "(", "/t"))
        self.assertIn("/no: no such node", self.fails(NO_NODE, "grep", "x", "/no"))

    def test_du(self):
        self.ok("create", "/t/lock-1/below", "12345")
        self.assertEqual(self.ok("du", "/t"), "18\t2\t/t/lock-1\n7\t1\t/t/lock-2\n0\t1\t/t/other\n25\t5\t/t\n")
        self.assertEqual(self.ok("du", "-d", "0", "/t"), "25\t5\t/t\n")
        self.assertIn("5\t1\t/t/lock-1/below\n18\t2\t/t/lock-1\n", self.ok("du", "-d", "9", "/t"))
        self.assertEqual(json.loads(self.ok("-j", "du", "-d", "0", "/t")),
                         [{"path": "/t", "bytes": 25, "nodes": 5}])
        self.assertIn("/no: no such node", self.fails(NO_NODE, "du", "/no"))

    def test_who_reads_no_more_is_no_failure(self):
        for i in range(40):
            self.ok("create", "/t/%02d%s" % (i, "x" * 500))
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)  # not all of it has room in it
        lister = subprocess.Popen([PAWL, "ls", "-R", "/t"], stdout=writes, stderr=subprocess.PIPE, env=self.env)
        os.close(writes)
        os.read(reads, 1)
        os.close(reads)
        _, errors = lister.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((lister.returncode, errors), (SIGNAL + signal.SIGPIPE, b""))


class Copying(SubtreeCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/a/b", "data of b")
        self.ok("set", "/t/a", "data of a")
        self.ok("create", "/t/z", "")

    def assertTree(self, path, *names):
        self.assertEqual(self.ok("tree", path).split(), [path] + list(names))

    def assertUntouched(self):
        self.assertTree("/t", "a", "b", "z")
        self.assertEqual(self.pawl("exists", "/new")[0], NO)

    def test_a_copy_has_data_and_acls(self):
        self.ok(*ME, "create", "-a", "auth::cdrwa", "/t/mine", "secret")
        self.ok("create", "/t/none")
        self.ok(*ME, "cp", "/t", "/new")
        self.assertEqual(self.ok("get", "/new/a/b"), "data of b")
        self.assertEqual(json.loads(self.ok("-j", "get", "/new/z"))["data"], "")
        self.assertIsNone(json.loads(self.ok("-j", "get", "/new/none"))["data"])
        self.assertEqual(self.ok(*ME, "acl", "get", "/new/mine"), self.ok(*ME, "acl", "get", "/t/mine"))
        self.assertIn("permission denied", self.fails(REFUSED, "get", "/new/mine"))
        self.assertEqual(self.ok("ls", "/t").split(), ["a", "mine", "none", "z"])

    def test_a_node_that_is_moved_is_nowhere_else(self):
        self.ok("mv", "/t", "/new")
        self.assertTree("/new", "a", "b", "z")
        self.assertEqual(self.ok("get", "/new/a"), "data of a")
        self.assertEqual(self.pawl("exists", "/t")[0], NO)
        self.assertEqual(json.loads(self.ok("-j", "mv", "/new/a", "/a")), {"path": "/a", "nodes": 2})
        self.ok("mv", "/a/b", "/new/b")
        self.assertTree("/", "a", "new", "b", "z", "zookeeper", "config", "quota")

    def test_behind_a_chroot(self):
        self.ok("-s", self.env["PAWL_SERVER"] + "/t", "mv", "/a", "/new")
        self.assertTree("/t", "new", "b", "z")

    def test_what_cannot_be(self):
        for command in "cp", "mv":
            self.assertIn("/new/a: its parent does not exist", self.fails(NO_NODE, command, "/t", "/new/a"))
            self.assertIn("/t/z: the node exists already", self.fails(CONFLICT, command, "/t/a", "/t/z"))
            self.assertIn("inside itself", self.fails(USAGE, command, "/t", "/t/a/new"))
            self.assertIn("inside itself", self.fails(USAGE, command, "/", "/new"))
            self.assertIn("inside itself", self.fails(USAGE, command, "/t", "/t"))
            self.assertIn("new: bad arguments", self.fails(USAGE, command, "/t", "new"))
            self.assertIn("/no: no such node", self.fails(NO_NODE, command, "/no", "/new"))
            self.assertIn("usage: pawl " + command, self.fails(USAGE, command, "/t"))
            self.assertUntouched()

    def test_ephemeral_nodes_stay_where_they_are(self):
        holder = self.begin("create", "-e", "/t/here")
        self.assertEqual(holder.stdout.readline(), b"/t/here\n")
        for command in "cp", "mv":
            self.assertRegex(self.fails(REFUSED, command, "/t", "/new"), "/t/here belongs to session 0x")
        self.ok("cp", "-E", "/t", "/new")
        self.assertTree("/new", "a", "b", "z")

    def test_too_large_for_one_transaction(self):
        self.ok("create", "/t/big", "-", stdin=b"x" * 600000)
        self.ok("create", "/t/big/er", "-", stdin=b"x" * 600000)
        for command in "cp", "mv":
            self.assertRegex(self.fails(REFUSED, command, "/t", "/new"),
                             "/t: 6 nodes, 120.... bytes: more than the 1000000 .*the nodes below it one by one")
        self.ok("mv", "/t/big/er", "/t/bigger")
        self.assertEqual(len(self.ok("get", "/t/bigger")), 600000)

    def test_a_node_that_is_changed_meanwhile_is_not_lost(self):
        for command in "cp", "mv":
            for changed, change in (("/t/a/b", ["set", "/t/a/b", "newer"]), ("/t", ["set", "/t", "newer"])):
                status, out, errors = self.pawl_while(MULTI, lambda: self.ok(*change), command, "/t", "/new")
                self.assertEqual((status, out), (CONFLICT, ""))
                self.assertIn("%s: it was changed meanwhile, and nothing was" % changed, errors)
                self.assertUntouched()
                self.assertEqual(self.ok("get", changed), "newer")

    def test_a_node_that_comes_meanwhile_is_not_lost(self):
        status, out, errors = self.pawl_while(MULTI, lambda: self.ok("create", "/t/a/new"), "mv", "/t", "/new")
        self.assertEqual((status, out), (CONFLICT, ""))
        self.assertEqual(errors, "pawl mv: /t/a: a node was made below it meanwhile, and nothing was moved; "
                                 "try again\n")
        self.assertTree("/t", "a", "b", "new", "z")

    def test_a_node_that_goes_meanwhile_does_not_come_back(self):
        for command in "cp", "mv":
            self.ok("create", "/t/zz")
            status, out, errors = self.pawl_while(MULTI, lambda: self.ok("rm", "/t/zz"), command, "/t", "/new")
            self.assertEqual((status, out), (CONFLICT, ""))
            self.assertIn("/t/zz: it was removed meanwhile", errors)
            self.assertUntouched()


class Words(TestCase):
    server_options = ("-D4lw.commands.whitelist=ruok,srvr",)

    def test_each_server_is_asked(self):
        server = self.env["PAWL_SERVER"]
        nobody = "unix:" + os.path.join(self.dir, "nobody")
        self.assertEqual(self.ok("4lw", "ruok"), "imok\n")
        self.assertIn("Mode: standalone\n", self.ok("4lw", "srvr"))
        self.assertEqual(self.ok("-s", server + "," + server + "/chroot", "4lw", "ruok"),
                         "%s:\nimok\n%s:\nimok\n" % (server, server))
        self.assertEqual(json.loads(self.ok("-j", "4lw", "ruok")), {"server": server, "answer": "imok"})
        self.assertIn("mntr is not allowed there", self.fails(REFUSED, "4lw", "mntr"))
        self.assertIn("nobody: No such file", self.fails(UNREACHABLE, "-s", nobody, "4lw", "ruok"))

    def test_the_others_are_asked_when_one_is_not_there(self):
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # and does not listen
            closed = "127.0.0.1:%d" % nobody.getsockname()[1]
            status, out, errors = self.pawl("-s", closed + "," + self.env["PAWL_SERVER"], "4lw", "ruok")
        self.assertEqual((status, out), (UNREACHABLE, self.env["PAWL_SERVER"] + ":\nimok\n"))
        self.assertEqual(errors, "pawl 4lw: %s: Connection refused\n" % closed)

    def test_a_server_that_says_nothing(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            quiet = "127.0.0.1:%d" % silent.getsockname()[1]
            self.assertIn(quiet + ": no answer in time",
                          self.fails(UNREACHABLE, "-C", "200ms", "-s", quiet, "4lw", "ruok"))

    def test_bad_input(self):
        self.assertIn("an empty entry", self.fails(USAGE, "-s", "", "4lw", "ruok"))
        self.assertIn("an empty entry", self.fails(USAGE, "-s", ",", "4lw", "ruok"))
        self.assertIn("no word of four letters", self.fails(USAGE, "4lw", "status"))
        self.assertIn("usage: pawl 4lw WORD", self.fails(USAGE, "4lw"))
        self.assertIn("does it know this word?", self.fails(UNREACHABLE, "4lw", "nope"))

    def test_a_directory(self):
        here = "local:" + os.path.join(self.dir, "here")
        self.assertIn("Mode: standalone\n", self.ok("-s", here, "4lw", "srvr"))
        self.assertRegex(self.ok("-s", here, "sessions"), "^0x[0-9a-f]+ since .* timeout [0-9]+ms .* client ")
        self.assertIn(" standalone ", self.ok("-s", here, "top", "-1"))


if __name__ == "__main__":
    daemon.main()
