#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl: transactions, export and import, differences, quotas, an editor, completions."""
import io
import json
import os
import select
import subprocess
import tarfile
import unittest

import pawl_program
from daemon import PATIENCE_SECONDS
from pawl_program import (CONFLICT, NO, NO_NODE, OK, PAWL, REFUSED, SYSTEM, USAGE, TestCase)
from terminal import Terminal

ME = ("-a", "digest:me:secret")
ODD_BYTES = bytes(range(256))


class Transactions(TestCase):
    def txn(self, text, *args):
        return self.ok(*args, "txn", stdin=text.encode())

    def refused(self, status, text):
        return self.fails(status, "txn", stdin=text.encode())

    def test_all_of_it(self):
        made = self.txn('# a comment\n\ncreate /t "a \\x22b\\x22\\n"\ncreate -s /t/n- \'as it is\\\'\n'
                        "check -v 0 /t\nset -v 0 /t two\nrm /t/n-0000000000\ncreate /t/none\n")
        self.assertEqual(made, "/t\n/t/n-0000000000\n/t/none\n")
        self.assertEqual(self.ok("get", "/t"), "two")
        self.assertEqual(self.ok("ls", "/t"), "none\n")
        self.assertIsNone(json.loads(self.ok("-j", "get", "/t/none"))["data"])
        self.txn('set /t "a \\x22b\\x22\\n"')
        self.assertEqual(self.ok("get", "/t"), 'a "b"\n')
        lines = self.txn("create /u\ndelete /u\n", "-j").splitlines()
        self.assertEqual([json.loads(line) for line in lines],
                         [{"op": "create", "path": "/u"}, {"op": "rm", "path": "/u"}])

    def test_from_a_file(self):
        self.ok("txn", self.file("operations", "create /f data"))
        self.assertEqual(self.ok("get", "/f"), "data")
        self.assertIn("No such file", self.fails(SYSTEM, "txn", os.path.join(self.dir, "none")))

    def test_or_nothing(self):
        self.ok("create", "/t", "x")
        for status, last, why in ((CONFLICT, "create /t", "line 3: /t: the node exists already"),
                                  (CONFLICT, "set -v 7 /t y", "line 3: /t: the version does not match"),
                                  (NO_NODE, "check /no", "line 3: /no: no such node"),
                                  (CONFLICT, "rm /t", "line 3: /t: the node has children"),
                                  (USAGE, "set /t", "line 3: usage: set [-v VERSION] PATH DATA"),
                                  (USAGE, "rename /t", "line 3: 'rename' is none of"),
                                  (USAGE, 'create /x "open', "line 3: a quote is not closed"),
                                  (USAGE, 'create /x "\\q"', "line 3: a quote is not closed, or an escape"),
                                  (USAGE, "create x", "line 3: x: bad arguments"),
                                  (USAGE, "create -c -s /x", "line 3: a container is not sequential"),
                                  (USAGE, "set -v new /t y", "line 3: --version: 'new' is no number")):
            self.assertIn(why, self.refused(status, "create /t/below\nset /t z\n%s\n" % last))
            self.assertEqual(self.ok("ls", "/t"), "")
            self.assertEqual(self.ok("get", "/t"), "x")
        self.assertIn("no operation in it", self.refused(USAGE, "\n# nothing\n"))
        self.assertIn("a NUL in it", self.refused(USAGE, "create /t\0"))


class ExportAndImport(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/a/b", 'text "with" \\ and \n lines')
        self.ok("create", "/t/bytes", "-", stdin=ODD_BYTES)
        self.ok("create", "/t/nul", "-", stdin=b"a\0b")
        self.ok("create", "/t/none")
        self.ok("create", "/t/empty", "")
        self.ok(*ME, "create", "-a", "auth::cdrwa,world:anyone:r", "/t/mine", "x")

    def test_there_and_back(self):
        exported = self.ok(*ME, "export", "/t")
        nodes = [json.loads(line) for line in exported.splitlines()]
        self.assertEqual([n["path"] for n in nodes],
                         ["/", "/a", "/a/b", "/bytes", "/empty", "/mine", "/none", "/nul"])
        self.assertEqual(self.ok("import", "/new", stdin=exported.encode()),
                         "8 made, 0 changed, 0 left as they were, 0 ephemeral left out\n")
        self.assertEqual(self.ok(*ME, "export", "/new"), exported)
        self.assertEqual(self.ok("get", "/new/bytes").encode("utf-8", "surrogateescape"), ODD_BYTES)
        self.ok("import", "-p", "/deep/er", self.file("exported", exported))
        self.assertEqual(self.ok("diff", "/t", "/deep/er"), "")

    def test_the_root(self):
        exported = self.ok(*ME, "export")
        self.assertNotIn("zookeeper", exported)
        here = "local:" + os.path.join(self.dir, "here")
        self.assertIn("8 made, 0 changed, 1 left", self.ok("-s", here, "import", "/", stdin=exported.encode()))
        self.assertEqual(self.ok("diff", "/t", "-t", here), "")

    def test_acls_that_are_not_shown(self):
        status, _, errors = self.pawl("export", "/t")
        self.assertEqual(status, REFUSED)
        self.assertIn("/t/mine: its ACL is shown to its administrators only", errors)
        exported = self.ok("export", "-A", "/t")
        self.assertNotIn("acl", exported)
        self.ok("import", "/new", stdin=exported.encode())
        self.assertEqual(self.ok("acl", "get", "/new/mine"), "world:anyone:cdrwa\n")

    def test_what_exists_already(self):
        exported = self.ok("export", "-A", "/t").encode()
        self.ok("create", "-p", "/new/a", "kept")
        self.assertIn("line 1: /new exists already; -k", self.fails(CONFLICT, "import", "/new", stdin=exported))
        self.assertEqual(self.ok("import", "-n", "-k", "/new", stdin=exported),
                         "would be: 6 made, 0 changed, 2 left as they were, 0 ephemeral left out\n")
        self.assertEqual(self.ok("ls", "/new"), "a\n")
        self.assertEqual(json.loads(self.ok("-j", "import", "-k", "/new", stdin=exported)),
                         {"made": 6, "changed": 0, "kept": 2, "ephemeral": 0})
        self.assertEqual(self.ok("get", "/new/a"), "kept")
        self.assertIn("0 made, 8 changed", self.ok("import", "-o", "/new", stdin=exported))
        self.assertEqual(self.ok("get", "/new/a"), "")

    def test_what_was_done_until_it_failed(self):
        status, out, errors = self.pawl("import", "/new", stdin=b'{"path":"/"}\n{"path":"/a"}\n{"path":"/b/c"}\n')
        self.assertEqual((status, out), (NO_NODE, ""))
        self.assertEqual(errors, "pawl import: line 3: /new/b/c: its parent does not exist; -p makes it\n"
                                 "pawl import: until then 2 made, 0 changed, 0 left as they were, "
                                 "0 ephemeral left out\n")

    def test_ephemeral_nodes(self):
        holder = self.begin("create", "-e", "/t/here")
        self.assertEqual(holder.stdout.readline(), b"/t/here\n")
        exported = self.ok("export", "-A", "/t")
        self.assertIn('{"path":"/here","data":null,"ephemeral":true}\n', exported)
        self.assertIn("8 made, 0 changed, 0 left as they were, 1 ephemeral left out",
                      self.ok("import", "/new", stdin=exported.encode()))
        self.assertEqual(self.pawl("exists", "/new/here")[0], NO)

    def test_bad_input(self):
        for line in ("nonsense", "[]", "{}", '{"path":"a"}', '{"path":"/a/../b"}', '{"path":"/a","data":1}',
                     '{"path":"/a","data_base64":"abc"}', '{"path":"/a","data_base64":"ab!="}',
                     '{"path":"/a","acl":1}', '{"path":"/a","acl":[{"scheme":"world"}]}'):
            self.assertRegex(self.fails(USAGE, "import", "/", stdin=line.encode()),
                             "^pawl import: line 1: .*; is this from pawl export\\?\n$")
        self.assertIn("not both", self.fails(USAGE, "import", "-k", "-o", "/"))
        self.assertIn("No such file", self.fails(SYSTEM, "import", "/", os.path.join(self.dir, "none")))
        self.assertIn("/no: no such node", self.fails(NO_NODE, "export", "/no"))
        self.assertIn("no: bad arguments", self.fails(USAGE, "import", "no"))
        with open("/dev/zero", "rb") as endless:
            self.assertEqual(self.begin("import", "/", stdin=endless, stderr=subprocess.DEVNULL).wait(), USAGE)
        self.assertEqual(self.ok("ls", "/"), "t\nzookeeper\n")


class Tar(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/a/b", "text")
        self.ok("set", "/t/a", "data of a node with children")
        self.ok("create", "/t/bytes", "-", stdin=ODD_BYTES)
        self.ok("create", "/t/none")
        self.ok("create", "/t/empty", "")
        self.ok("create", "/t/.data", "called like the file of data")
        self.ok(*ME, "create", "-a", "auth::cdrwa,world:anyone:r", "/t/mine", "x")

    def exported(self, *args):
        """As a file."""
        path = os.path.join(self.dir, "nodes.tar")
        with open(path, "wb") as file:
            subprocess.run([PAWL, *ME, "export", "-t", *args], stdout=file, env=self.env, check=True)
        return path

    def test_there_and_back(self):
        path = self.exported("/t")
        self.assertEqual(self.ok("import", "/new", path),
                         "8 made, 0 changed, 0 left as they were, 0 ephemeral left out\n")
        self.assertEqual(self.ok(*ME, "export", "/new"), self.ok(*ME, "export", "/t"))
        with open(path, "rb") as file:
            self.assertIn("8 made", self.ok("import", "--tar", "/again", stdin=file.read()))
        self.assertEqual(self.ok("diff", "/t", "/again"), "")

    def test_others_can_unpack_it(self):
        with tarfile.open(self.exported("/t")) as tar:
            self.assertEqual([m.name for m in tar],
                             [".", "./.data", ".data~", "a", "a/.data", "a/b", "bytes", "empty", "mine", "none"])
            self.assertEqual(tar.extractfile("bytes").read(), ODD_BYTES)
            self.assertEqual(tar.extractfile("a/.data").read(), b"data of a node with children")
            marks = json.loads(tar.getmember("mine").pax_headers["SCHILY.xattr.user.pawl.node"])
        self.assertEqual([a["scheme"] for a in marks["acl"]], ["digest", "world"])

    def test_what_others_have_packed(self):
        for form in (tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT):
            packed = io.BytesIO()
            long_name = "folder/" + "/".join(["x" * 40] * 3)
            with tarfile.open(fileobj=packed, mode="w", format=form) as tar:
                for name, data in (("./", None), ("folder", None), ("folder/file", b"data"), (long_name, b"long")):
                    info = tarfile.TarInfo(name)
                    info.type = tarfile.DIRTYPE if data is None else tarfile.REGTYPE
                    info.size = len(data or b"")
                    tar.addfile(info, io.BytesIO(data or b""))
            top = "/others%d" % form
            self.assertIn("4 made", self.ok("import", "-p", "-t", top, stdin=packed.getvalue()))
            self.assertEqual(self.ok("get", top + "/folder/file"), "data")
            self.assertEqual(self.ok("get", top + "/" + long_name), "long")

    def test_bad_ones(self):
        with open(self.exported("/t"), "rb") as file:
            whole = file.read()
        message = self.pawl("import", "-t", "/cut", stdin=whole[:-1024])
        self.assertEqual(message[0], USAGE)
        self.assertIn("it ends in the middle: it was cut off; is this from pawl export -t?", message[2])
        self.assertIn("until then 7 made", message[2])
        self.assertIn("it is no tar, or a damaged one", self.fails(USAGE, "import", "-t", "/bad", stdin=b"x" * 1024))
        self.assertIn("cut off", self.fails(USAGE, "import", "-t", "/bad"))
        link = io.BytesIO()
        with tarfile.open(fileobj=link, mode="w") as tar:
            info = tarfile.TarInfo("link")
            info.type, info.linkname = tarfile.SYMTYPE, "elsewhere"
            tar.addfile(info)
        self.assertIn("link: an entry that is neither a file nor a folder",
                      self.fails(USAGE, "import", "-t", "/bad", stdin=link.getvalue()))
        self.assertIn("exists already", self.fails(CONFLICT, "import", "-t", "/t", stdin=whole))


class Progress(TestCase):
    def test_on_a_terminal(self):
        ours, theirs = os.openpty()
        self.addCleanup(os.close, ours)
        process = self.begin("import", "/p", stdin=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        shown, n = b"", 0
        while b"nodes, " not in shown:  # it is drawn when some time has gone by
            process.stdin.write(b'{"path":"/%s"}\n' % (b"n%d" % n if n else b""))
            process.stdin.flush()
            n += 1
            while select.select([ours], [], [], 0)[0]:
                shown += os.read(ours, 4096)
        process.stdin.write(b'{"path":"/no/parent"}\n')
        process.stdin.close()
        try:
            while more := os.read(ours, 4096):
                shown += more
        except OSError:  # EIO: nobody has it open any more
            pass
        self.assertEqual(process.wait(), NO_NODE)
        self.assertRegex(shown.decode(), r"(?s)\r\x1b\[K\d+ nodes, \d+/s.*\r\x1b\[K(\x1b\[31m)?pawl import: line \d+: .* its parent")
        self.assertRegex(shown.decode(), r"until then %d made" % n)

    def test_nothing_into_a_file(self):
        self.ok("import", "/p", stdin=b"".join(b'{"path":"/%s"}\n' % (b"n%d" % n if n else b"") for n in range(300)))


class KindsOfNodes(TestCase):
    server_options = ("-D", "extendedTypesEnabled=true")

    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/t/plain")
        self.ok("create", "-c", "/t/container")
        self.ok("create", "-t", "1h", "/t/ttl")

    def next_number(self, path):
        return int(self.ok("create", "-s", path + "/next-").rsplit("-", 1)[1])

    def test_counters(self):
        self.ok("create", "/t/queue")
        for _ in range(3):
            self.ok("create", "-s", "/t/queue/n-", "x")
        self.ok("rm", "/t/queue/n-0000000001")
        exported = self.ok("export", "/t")
        self.assertIn('"sequence":3', exported)
        self.ok("import", "/new", stdin=exported.encode())
        self.assertEqual(self.ok("export", "/new"), exported)
        self.assertEqual(self.next_number("/new/queue"), 3)
        self.assertEqual(self.next_number("/new"), 4)
        self.ok("import", "-q", "0", "/without", stdin=exported.encode())
        self.assertEqual(self.next_number("/without/queue"), 2)
        self.ok("import", "-k", "/without", stdin=exported.encode())  # what is further is left
        self.assertEqual(self.next_number("/without/queue"), 3)

    def test_a_counter_that_is_far(self):
        line = b'{"path":"/","sequence":3000}\n'
        self.assertIn("1 made", self.ok("import", "/far", stdin=line))
        self.assertEqual(self.ok("ls", "/far"), "")
        self.assertEqual(self.next_number("/far"), 3000)
        status, out, errors = self.pawl("import", "-q", "100", "/short", stdin=line)
        self.assertEqual((status, out), (NO, ""))
        self.assertIn("its counter is 3000 short of the 3000 it had; -q 3000 -k raises it", errors)
        self.assertIn("until then 1 made", errors)
        self.ok("import", "-q", "3000", "-k", "/short", stdin=line)
        self.assertEqual(self.next_number("/short"), 3000)

    def test_a_node_where_nothing_may_be_made(self):
        line = (b'{"path":"/","sequence":5,"acl":[{"scheme":"world","id":"anyone","perms":"r"}]}\n')
        status, _out, errors = self.pawl("import", "/closed", stdin=line)
        self.assertEqual(status, REFUSED)
        self.assertIn("/closed/pawl-import: permission denied", errors)

    def test_types_from_files(self):
        if pawl_program.shared_server is not None:
            self.skipTest("needs its files")
        data = self.data
        lines = self.ok("at", "-D", data, "end", "export", "/t")
        nodes = {n["path"]: n for n in map(json.loads, lines.splitlines())}
        self.assertTrue(nodes["/container"]["container"])
        self.assertEqual(nodes["/ttl"]["ttl_ms"], 3600000)
        self.assertEqual(nodes["/"]["sequence"], 3)
        self.assertIn("4 made", self.ok("import", "/new", stdin=lines.encode()))
        again = self.ok("at", "-D", data, "end", "export", "/new")
        self.assertEqual(again, lines)
        self.assertIn("4 made", self.ok("import", "-P", "/plain", stdin=lines.encode()))
        self.assertNotIn("ttl_ms", self.ok("at", "-D", data, "end", "export", "-A", "/plain"))

    def test_bad_kinds(self):
        for line in ('"ttl_ms":0', '"ttl_ms":"5"', '"ttl_ms":5,"container":true', '"sequence":-1'):
            self.assertIn("; is this from pawl export?",
                          self.fails(USAGE, "import", "/bad", stdin=('{"path":"/",%s}' % line).encode()))


class Differences(TestCase):
    def test_two_subtrees(self):
        self.ok("create", "-p", "/a/x/below", "1")
        self.ok("create", "/a/x-y", "1")
        self.ok("create", "/a/z")
        self.ok("cp", "/a", "/b")
        self.assertEqual(self.ok("diff", "/a", "/b"), "")
        self.ok("set", "/b/z", "")  # no data are not empty data
        self.ok("rm", "/b/x-y")
        self.ok("create", "/b/x/above", "")
        self.assertEqual(self.pawl("diff", "/a", "/b"), (NO, "+ /x/above\n- /x-y\n! /z\n", ""))
        status, out, _ = self.pawl("-j", "diff", "/a", "/b")
        self.assertEqual((status, [json.loads(line)["difference"] for line in out.splitlines()]),
                         (NO, ["added", "removed", "changed"]))
        self.assertIn("with what?", self.fails(USAGE, "diff", "/a"))
        self.assertIn("/no: no such node", self.fails(NO_NODE, "diff", "/a", "/no"))

    def test_two_servers(self):
        other = "local:" + os.path.join(self.dir, "other")
        self.ok("create", "/a", "here")
        self.ok("-s", other, "create", "/a", "there")
        self.assertEqual(self.pawl("diff", "-t", other, "/a"), (NO, "! /\n", ""))
        self.ok("-s", other, "set", "/a", "here")
        self.assertEqual(self.ok("diff", "-t", other, "/a"), "")


class Quotas(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("create", "-p", "/q/a/b", "12345")

    def test_a_quota_from_its_creation_to_its_end(self):
        self.ok("quota", "set", "-n", "5", "-b", "100", "/q/a")
        self.assertEqual(self.ok("quota", "get", "/q/a"), "/q/a nodes=2 bytes=5 nodes_limit=5 bytes_limit=100\n")
        self.ok("create", "/q/a/c", "678")
        self.ok("quota", "set", "-N", "7", "/q/a")
        self.assertEqual(json.loads(self.ok("-j", "quota", "get")), {
            "path": "/q/a", "nodes": 3, "bytes": 8, "nodes_limit": 5, "bytes_limit": 100, "nodes_hard_limit": 7})
        self.ok("quota", "rm", "-n", "/q/a")
        self.assertEqual(self.ok("quota", "get"), "/q/a nodes=3 bytes=8 bytes_limit=100 nodes_hard_limit=7\n")
        self.ok("quota", "rm", "/q/a")
        self.assertEqual(self.ok("quota", "get"), "")
        self.assertEqual(self.ok("ls", "/zookeeper/quota"), "")
        self.assertIn("/q/a has no quota", self.fails(NO_NODE, "quota", "get", "/q/a"))
        self.assertIn("/q/a has no quota", self.fails(NO_NODE, "quota", "rm", "/q/a"))

    def test_the_names_of_zkcli(self):
        self.ok("setquota", "-n", "5", "/q")
        self.assertEqual(self.ok("listquota", "/q"), "/q nodes=3 bytes=5 nodes_limit=5\n")
        self.ok("delquota", "/q")

    def test_one_on_each_branch(self):
        self.ok("quota", "set", "-n", "5", "/q/a")
        for other in "/q", "/q/a/b":
            self.assertIn("%s: /q/a has a quota already" % other, self.fails(CONFLICT, "quota", "set", "-n", "5", other))

    def test_bad_input(self):
        self.assertIn("which limit?", self.fails(USAGE, "quota", "set", "/q"))
        self.assertIn("'0' is no number from 1", self.fails(USAGE, "quota", "set", "-n", "0", "/q"))
        self.assertIn("/no: no such node", self.fails(NO_NODE, "quota", "set", "-n", "1", "/no"))
        self.assertIn("the server's own", self.fails(USAGE, "quota", "set", "-n", "1", "/zookeeper"))
        self.assertIn("the chroot /q does not reach",
                      self.fails(USAGE, "-s", self.env["PAWL_SERVER"] + "/q", "quota", "get", "/a"))


class Editor(TestCase):
    def setUp(self):
        super().setUp()
        self.env.update(TMPDIR=self.dir, PAWL=PAWL)
        self.ok("create", "/e", "first\n")

    def drafts(self):
        return [os.path.join(self.dir, name) for name in os.listdir(self.dir) if name.startswith("pawl-")]

    def test_what_is_written_goes_back(self):
        self.ok("edit", "/e", env={"EDITOR": "sed -i s/first/second/"})
        self.assertEqual(self.ok("get", "/e"), "second\n")
        self.assertEqual(self.pawl("edit", "/e", env={"EDITOR": "true"}),
                         (OK, "", "pawl edit: /e: nothing was changed\n"))
        self.assertEqual(json.loads(self.ok("-j", "stat", "/e"))["version"], 1)
        self.assertEqual(self.drafts(), [])

    def test_somebody_else_was_faster(self):
        status, out, errors = self.pawl("edit", "/e", env={
            "VISUAL": "f() { $PAWL set /e theirs; echo mine > \"$1\"; }; f"})
        self.assertEqual((status, out), (CONFLICT, ""))
        self.assertRegex(errors, "(?s)somebody has changed it.*-theirs\n.*\\+mine\n.*what you have written is in ")
        self.assertEqual(self.ok("get", "/e"), "theirs")
        self.assertEqual([open(name).read() for name in self.drafts()], ["mine\n"])

    def test_an_editor_that_fails(self):
        status, _, errors = self.pawl("edit", "/e", env={"EDITOR": "false"})
        self.assertEqual(status, 126)
        self.assertIn("false has ended with 1, and nothing was written\n", errors)
        self.assertEqual(self.ok("get", "/e"), "first\n")
        self.assertEqual(self.drafts(), [])
        _, _, errors = self.pawl("edit", "/e", env={"EDITOR": "f() { echo typed > \"$1\"; false; }; f"})
        self.assertIn("what you have written is in ", errors)
        self.assertEqual([open(name).read() for name in self.drafts()], ["typed\n"])

    def test_a_terminal_obeys_nobody(self):
        """A conflict with data that are meant for a terminal."""
        env = dict(self.env, NO_COLOR="1", VISUAL="f() { $PAWL set /e \"$(printf '\\033[31mtheirs')\"; echo mine > \"$1\"; }; f")
        terminal = Terminal([PAWL, "edit", "/e"], env, self.dir)
        self.addCleanup(terminal.close)
        self.assertEqual(terminal.end(), CONFLICT)
        self.assertIn("-\\x1b[31mtheirs", terminal.text())
        self.assertNotIn(b"\x1b", terminal.raw)


class Others(TestCase):
    def test_reconfig_of_a_server_that_stands_alone(self):
        self.assertIn("say who is added", self.fails(USAGE, "reconfig"))
        self.assertIn("say who is added", self.fails(USAGE, "reconfig", "-add", "x", "-members", "y"))
        self.assertIn("is no version", self.fails(USAGE, "reconfig", "-r", "2", "-v", "x"))
        self.assertIn("has no line server.N=", self.fails(USAGE, "reconfig", "-f", self.file("none", "a=b\n")))
        self.assertIn("reconfiguration is disabled", self.fails(REFUSED, "reconfig", "-r", "2"))
        self.assertIn("reconfiguration is disabled", self.fails(REFUSED, "reconfig", "-s", "-add", "4=h:1:2;3"))

    @unittest.skipUnless(os.path.exists("/bin/bash"), "no bash")
    def test_completions(self):
        self.ok("create", "-p", "/folder/alpha")
        self.ok("create", "/folder/beta")
        script = self.file("completions", self.ok("completions", "bash"))
        for line, words in (("pawl quo", ["quota"]), ("pawl quota ", ["get", "set", "rm"]),
                            ("pawl quota set --hard-b", ["--hard-bytes"]), ("pawl ls --rec", ["--recursive"]),
                            ("pawl --json get /fol", ["/folder"]), ("pawl --ses", ["--session-timeout"]),
                            ("pawl -s %s ls /folder/" % self.env["PAWL_SERVER"], ["/folder/alpha", "/folder/beta"]),
                            ("pawl quota set /folder/b", ["/folder/beta"]), ("pawl locks ", ["why", "gc"]),
                            ("pawl locks /folder/al", ["/folder/alpha"])):
            done = subprocess.run(["/bin/bash", "-c", "source $1; COMP_LINE=$2 COMP_POINT=${#2}; _pawl; "
                                   "printf '%s\\n' \"${COMPREPLY[@]}\"", "bash", script, line],
                                  env=dict(self.env, PATH=os.path.dirname(PAWL) + ":/usr/bin:/bin"),
                                  capture_output=True, text=True, timeout=PATIENCE_SECONDS)
            self.assertEqual((done.stdout.split(), done.stderr), (words, ""), line)
        self.assertIn("not for 'tcsh'", self.fails(USAGE, "completions", "tcsh"))


if __name__ == "__main__":
    pawl_program.main()
