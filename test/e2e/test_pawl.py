#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl: the tree from a shell. What it prints, what it exits with, what it says to bad input."""
import json
import os
import signal
import subprocess

import daemon
from daemon import wait_until
from pawl_program import (CONFLICT, LOST, NO, NO_NODE, OK, PAWL, REFUSED, SIGNAL, SYSTEM, UNREACHABLE,
                          USAGE, TestCase, unread_bytes)

EVERY_BYTE = bytes(range(256))


class Tree(TestCase):
    def test_a_node_from_its_creation_to_its_end(self):
        self.assertEqual(self.ok("create", "-p", "/a/b", "first"), "/a/b\n")
        self.assertEqual(self.ok("get", "/a/b"), "first")
        self.ok("set", "/a/b", "second")
        self.assertEqual(self.ok("get", "/a/b"), "second")
        self.assertContains(self.ok("stat", "/a/b"), "dataVersion = 1\n", "dataLength = 6\n")
        self.assertEqual(self.ok("ls", "/a"), "b\n")
        self.assertEqual(self.ok("ls", "-R", "/a"), "/a\n/a/b\n")
        self.assertEqual(self.ok("tree", "/a"), "/a\n  b\n")
        self.assertEqual(self.ok("count", "/a"), "1\n")
        self.ok("exists", "/a/b")
        self.assertIn("has children; -r", self.fails(CONFLICT, "rm", "/a"))
        self.ok("rm", "-r", "/a")
        self.assertEqual(self.pawl("exists", "/a"), (NO, "", ""))
        self.ok("rm", "-f", "/a")

    def test_any_bytes_go_in_and_out_as_they_are(self):
        self.ok("create", "/bytes", "-", stdin=EVERY_BYTE)
        out = self.ok("get", "/bytes")
        self.assertEqual(out.encode("utf-8", "surrogateescape"), EVERY_BYTE)
        self.assertIn("data_base64", json.loads(self.ok("--json", "get", "/bytes")))
        self.ok("create", "/none")
        self.assertIsNone(json.loads(self.ok("--json", "get", "/none"))["data"])
        self.ok("create", "/empty", "")
        self.assertEqual(json.loads(self.ok("--json", "get", "/empty"))["data"], "")

    def test_kinds_of_nodes(self):
        self.assertEqual(self.ok("create", "-s", "/n-"), "/n-0000000000\n")
        self.ok("create", "-c", "/container")
        status, _, errors = self.pawl("create", "-t", "1h", "/ttl")
        self.assertIn((status, errors.strip()), [
            (OK, ""), (REFUSED, "pawl create: /ttl: the server does not implement this operation")])
        self.assertIn("neither", self.fails(USAGE, "create", "-c", "-e", "/x"))
        self.assertIn("no TTL", self.fails(USAGE, "create", "-t", "1s", "-e", "/x"))

    def test_an_ephemeral_node_lives_as_long_as_the_command(self):
        holder = self.begin("create", "-e", "/here")
        self.assertEqual(holder.stdout.readline(), b"/here\n")
        self.ok("exists", "/here")
        holder.send_signal(signal.SIGTERM)
        self.assertEqual(holder.wait(), SIGNAL + signal.SIGTERM)
        self.assertEqual(self.pawl("exists", "/here")[0], NO)  # at once: its session was closed

    def test_an_ephemeral_node_that_goes_ends_the_command(self):
        holder = self.begin("-T", "1s", "create", "-e", "/here", stderr=subprocess.PIPE)
        self.assertEqual(holder.stdout.readline(), b"/here\n")
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.pawl("exists", "/here")[0] == NO, "the end of its session")
        holder.send_signal(signal.SIGCONT)
        self.assertEqual(holder.wait(), LOST)
        self.assertRegex(holder.stderr.read(), rb"^pawl create: /here: session 0x\w+ has ended.*\n$")
        holder.stderr.close()

    def test_data_that_look_like_an_option(self):
        self.ok("create", "/dash", "-1")
        self.ok("set", "-v", "0", "/dash", "--", "-x")
        self.assertEqual(self.ok("get", "/dash"), "-x")

    def test_data_from_standard_input(self):
        self.ok("create", "/in")
        waits = self.begin("set", "/in", "-", stdin=subprocess.PIPE)
        waits.stdin.write(b"half")
        waits.stdin.flush()
        wait_until(lambda: not unread_bytes(waits.stdin), "the first half to be read")
        waits.terminate()
        self.assertEqual(waits.wait(), SIGNAL + signal.SIGTERM)
        waits.stdin.close()
        with open("/dev/zero", "rb") as endless:
            self.assertEqual(self.begin("set", "/in", "-", stdin=endless).wait(), USAGE)
        self.assertEqual(self.ok("get", "/in"), "")

    def test_versions_are_checked(self):
        self.ok("create", "/v", "0")
        self.ok("set", "-v", "0", "/v", "1")
        self.assertIn("changed", self.fails(CONFLICT, "set", "-v", "0", "/v", "2"))
        self.assertIn("changed", self.fails(CONFLICT, "rm", "-v", "0", "/v"))
        self.assertEqual(self.ok("get", "/v"), "1")

    def test_acls(self):
        self.ok("--auth", "digest:me:secret", "create", "-a", "auth::cdrwa", "/mine", "x")
        self.assertIn("--auth", self.fails(REFUSED, "get", "/mine"))
        self.assertEqual(self.ok("-a", "digest:me:secret", "get", "/mine"), "x")
        self.ok("-a", "digest:me:secret", "acl", "set", "/mine", "world:anyone:r,ip:127.0.0.1:cdrwa")
        self.assertEqual(self.ok("getAcl", "/mine"), "world:anyone:r\nip:127.0.0.1:cdrwa\n")
        self.assertIn("'nonsense'", self.fails(USAGE, "acl", "set", "/mine", "nonsense"))
        self.assertIn("ip:127.0.0.1\n", self.ok("whoami"))

    def test_the_names_of_zkcli(self):
        self.ok("create", "/z", "data", "world:anyone:cdrwa")
        self.ok("create", "/z/y", "data")
        self.assertEqual(self.ok("-server", self.env["PAWL_SERVER"], "getAllChildrenNumber", "/z"), "1\n")
        self.ok("delete", "/z/y")
        self.ok("create", "/z/y", "data")
        self.ok("deleteall", "/z")
        self.ok("sync", "/")

    def test_what_is_printed_can_be_read_by_programs(self):
        self.ok("create", "/j", 'quotes " and \\ and \n lines')
        node = json.loads(self.ok("--json", "get", "/j"))
        self.assertEqual(node["data"], 'quotes " and \\ and \n lines')
        self.assertEqual(node["stat"]["version"], 0)
        self.assertIn("j", json.loads(self.ok("-j", "ls", "/"))["children"])
        self.assertIn("/j", json.loads(self.ok("-j", "ls", "-R", "/")))
        self.assertEqual(json.loads(self.ok("-j", "exists", "/j")), {"exists": True})
        self.assertEqual(json.loads(self.ok("-j", "acl", "get", "/j")),
                         [{"scheme": "world", "id": "anyone", "perms": "cdrwa"}])

    def test_changes_as_they_happen(self):
        watcher = self.begin("watch", "-n", "3", "/")
        self.assertEqual(watcher.stdout.readline(), b"WATCHING /\n")
        self.ok("create", "/seen", "")
        self.ok("set", "/seen", "x")
        self.ok("rm", "/seen")
        self.assertEqual(watcher.stdout.read(), b"CREATED /seen\nCHANGED /seen\nDELETED /seen\n")
        self.assertEqual(watcher.wait(), OK)
        watcher = self.begin("watch", "-1", "-n", "1", "/")
        self.assertEqual(watcher.stdout.readline(), b"WATCHING /\n")
        self.ok("create", "-p", "/top/below")
        self.assertEqual(watcher.stdout.read(), b"CHILDREN /\n")

    def test_who_reads_no_more_ends_it(self):
        watcher = self.begin("watch", "/", stderr=subprocess.DEVNULL)
        self.assertEqual(watcher.stdout.readline(), b"WATCHING /\n")
        watcher.stdout.close()
        self.ok("create", "/seen")
        self.assertEqual(watcher.wait(), SIGNAL + signal.SIGPIPE)

    def test_a_tree_that_is_deep(self):
        path = "/d" * 300
        self.ok("create", "-p", path)
        self.assertTrue(self.ok("ls", "-R", "/d").endswith("\n" + path + "\n"))
        self.assertEqual(self.ok("tree", "/d").splitlines()[-1], "  " * 299 + "d")
        self.assertEqual(len(json.loads(self.ok("-j", "ls", "-R", "/d"))), 300)

    def test_what_others_write_cannot_forge_lines(self):
        self.ok("create", "-p", "/l/_c_x-lock-0000000000", "a\nholds\x1b[2J")
        shown = self.ok("locks", "/l")
        self.assertTrue(shown.endswith(" a\\x0aholds\\x1b[2J\n"), shown)
        self.assertEqual(shown.count("\n"), 1)


class BadInput(TestCase):
    def test_the_command_line(self):
        self.assertIn("is 'get' meant?", self.fails(USAGE, "gett", "/a"))
        self.assertIn("is --recursive meant?", self.fails(USAGE, "ls", "--recursiv"))
        self.assertIn("usage: pawl get [-s] [-w] [-b | -x] PATH", self.fails(USAGE, "get"))
        self.assertIn("usage:", self.fails(USAGE, "get", "/a", "/b"))
        self.assertIn("needs a value", self.fails(USAGE, "set", "/a", "x", "-v"))
        self.assertIn("is no number", self.fails(USAGE, "set", "-v", "one", "/a", "x"))
        self.assertIn("is no duration", self.fails(USAGE, "-C", "10", "ls"))
        self.assertIn("/a//b: bad arguments", self.fails(USAGE, "get", "/a//b"))
        self.assertIn("SCHEME:AUTH", self.fails(USAGE, "-a", "digest", "ls"))
        self.assertContains(self.pawl()[1], "usage:", "lock")
        for command in ("lock", "get", "acl get", "watch"):
            self.assertIn("usage: pawl [OPTIONS] " + command, self.ok(*command.split(), "--help"))

    def test_what_is_meant(self):
        for words, meant in ((["crate", "/a"], "'create'"), (["barier", "raise", "/a"], "'barrier'"),
                             (["barrier", "rise", "/a"], "'barrier raise'"), (["setacl", "/a"], "'setAcl'"),
                             (["acl", "gte", "/a"], "'acl get'"), (["semap", "/a"], "'semaphore'"),
                             (["rm", "--recursief", "/a"], "--recursive"), (["--sever", "a", "ls"], "--server")):
            self.assertIn("is %s meant?" % meant, self.fails(USAGE, *words))
        self.assertNotIn("meant", self.fails(USAGE, "nonsense"))
        self.assertIn("raise, lift, wait or meet", self.fails(USAGE, "barrier", "nonsense"))

    def test_bad_numbers_need_no_server(self):
        self.env["PAWL_SERVER"] = self.nobody()
        for words in (["counter", "add", "/c", "x"], ["counter", "set", "/c", ""],
                      ["counter", "add", "-b", "33", "/c"], ["counter", "add", "-b", "32", "/c", "2147483648"],
                      ["counter", "set", "-i", "1.5", "/c", "1"], ["counter", "get", "-b", "x", "/c"],
                      ["barrier", "meet", "/b", "0"], ["barrier", "meet", "-w", "1", "/b", "2"],
                      ["barrier", "wait", "-w", "soon", "/b"], ["queue", "take", "-w", "x", "/q"],
                      ["service", "register", "-p", "65536", "/s", "web"],
                      ["service", "watch", "-n", "0", "/s", "web"]):
            self.assertRegex(self.fails(USAGE, *words), "is no (number|duration)|32 or 64")

    def test_missing_nodes(self):
        for command in (["get", "/no"], ["ls", "/no"], ["ls", "-R", "/no"],
                        ["-j", "ls", "-R", "/no"], ["tree", "/no"], ["set", "/no", "x"], ["rm", "/no"],
                        ["stat", "/no"], ["acl", "get", "/no"]):
            self.assertIn("/no: no such node", self.fails(NO_NODE, *command))
        self.assertIn("-p makes it", self.fails(NO_NODE, "create", "/no/child"))
        self.assertIn("exists already", self.fails(CONFLICT, "create", "/zookeeper"))

    def test_servers(self):
        self.assertIn("no session with", self.fails(UNREACHABLE, "-s", self.nobody(), "-C", "200ms", "ls"))
        self.assertIn("port is not a number", self.fails(USAGE, "-s", "a:99999", "ls"))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            done = subprocess.run([PAWL, "ls", "/"], stdout=full, stderr=subprocess.PIPE, env=self.env)
        self.assertEqual(done.returncode, SYSTEM)
        self.assertIn(b"standard output", done.stderr)


class Settings(TestCase):
    def write_config(self, text):
        folder = os.path.join(self.dir, ".config", "pawl")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "pawl.conf"), "w") as f:
            f.write(text)

    def test_the_file_the_environment_and_the_option(self):
        here = self.env.pop("PAWL_SERVER")
        elsewhere = "local:" + os.path.join(self.dir, "elsewhere")
        self.ok("-s", here, "create", "/here", "")
        self.write_config("server = %s\nsession-timeout = 5s\n" % here)
        self.ok("exists", "/here")
        self.assertEqual(self.pawl("exists", "/here", env={"PAWL_SERVER": elsewhere})[0], NO)
        self.env["PAWL_SERVER"] = elsewhere
        self.ok("-s", here, "exists", "/here")

    def test_a_file_that_is_wrong(self):
        self.write_config("server = a:1\nsessiontimeout = 5s\n")
        self.assertIn("pawl.conf:2: there is no setting 'sessiontimeout'", self.fails(USAGE, "ls"))
        self.write_config("connect-timeout = soon\n")
        self.assertIn("pawl.conf:1: connect-timeout: 'soon' is no duration", self.fails(USAGE, "ls"))

    def test_a_file_that_cannot_be_read(self):
        self.write_config("connect-timeout = soon\nauth = digest:a:b\nnonsense = 1\n")
        self.assertIn("'soon' is no duration", self.fails(USAGE, "ls"))
        self.write_config("#" * (2 << 20))
        self.assertIn("larger than", self.fails(SYSTEM, "ls"))
        name = os.path.join(self.dir, ".config", "pawl", "pawl.conf")
        os.unlink(name)
        os.mkdir(name)
        self.assertIn("no file of settings", self.fails(SYSTEM, "ls"))

    def test_without_a_server(self):
        self.env["PAWL_SERVER"] = "local:" + os.path.join(self.dir, "here")
        self.ok("create", "/a", "kept")
        self.assertEqual(self.ok("get", "/a"), "kept")


if __name__ == "__main__":
    daemon.main()
