#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trees that are large, deep or bushy, and whatever may come between: servers that stop answering in
the middle, interrupts, kills, nodes that others add, and names that are no names."""
import json
import re
import signal
import socket
import subprocess
import threading

import held_answers
from daemon import wait_until
from pawl_program import (OK, NO, REFUSED, SIGNAL, TIMEOUT, UNKNOWN, PAWL, TestCase, main)
from terminal import Terminal

EXISTS, GET_DATA, SET_DATA, GET_ACL, GET_CHILDREN = 3, 4, 5, 6, 12


def wide():
    """More than is ever asked for at once, in one folder."""
    return [""] + ["/n%05d" % i for i in range(3000)]


def deep():
    return ["/d" * i for i in range(400)]


def bushy():
    """Half of the nodes have children."""
    found, ahead = [], [""]
    while ahead:
        path = ahead.pop()
        found.append(path)
        if len(path) < 20:
            ahead += [path + "/b", path + "/a"]
    return found


def lines_of(paths, data="x" * 150):
    return "".join(json.dumps({"path": path or "/", "data": data}) + "\n" for path in paths).encode()


class Shapes(TestCase):
    def test_there_and_back_and_away(self):
        for shape in (wide, deep, bushy):
            with self.subTest(shape=shape.__name__):
                top, n = "/" + shape.__name__, len(shape())
                made = "%d made, 0 changed, 0 left as they were, 0 ephemeral left out\n" % n
                self.assertEqual(self.ok("import", top, stdin=lines_of(shape())), made)
                exported = self.ok("export", top)
                self.assertEqual([json.loads(line)["path"] for line in exported.splitlines()],
                                 [path or "/" for path in sorted(shape(), key=lambda p: p.split("/"))])
                self.assertEqual(self.ok("import", "-p", "/new" + top, stdin=exported.encode()), made)
                self.assertEqual(self.ok("export", "/new" + top), exported)
                self.assertEqual(self.ok("diff", top, "/new" + top), "")
                self.assertEqual(self.ok("import", "-n", "-k", "/new" + top, stdin=exported.encode()),
                                 "would be: 0 made, 0 changed, %d left as they were, 0 ephemeral left out\n" % n)
                self.assertEqual(self.ok("count", top), "%d\n" % (n - 1))
                self.ok("rm", "-r", top)
                self.ok("rm", "-r", "/new")
                self.assertEqual(self.ok("ls", "/"), "zookeeper\n" if not self.chroot else "")

    def test_large_data(self):
        """No more of them are asked for at once than fit."""
        paths = [""] + ["/n%03d" % i for i in range(160)]
        self.ok("import", "/t", stdin=lines_of(paths, "y" * 400000))
        exporting = self.begin("-j", "export", "/t")
        self.assertEqual(exporting.stdout.read(1), b"{")
        with open("/proc/%d/status" % exporting.pid) as f:
            most_kb = int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))
        self.assertEqual(exporting.stdout.read().count(b"\n"), len(paths))
        self.assertLess(most_kb, 40000)

    def test_parents_that_are_missing(self):
        """In the middle of a window, and below each other."""
        paths = ["/a", "/b/c/d", "/b/c/d/e", "/b/c/f", "/g"]
        self.assertIn("5 made", self.ok("import", "-p", "/t", stdin=lines_of(paths)))
        self.assertEqual(self.ok("find", "-s", "150", "/t").split(), sorted("/t" + p for p in paths))


class Removing(TestCase):
    def setUp(self):
        super().setUp()
        self.ok("import", "/t", stdin=lines_of(bushy()))

    def test_what_others_have_closed(self):
        self.ok("create", "-p", "/t/a/a/secret/x")
        self.ok("-a", "digest:me:me", "acl", "set", "/t/a/a/secret", "auth::cdrwa")
        status, out, errors = self.pawl("rm", "-r", "/t")
        self.assertEqual((status, out), (REFUSED, ""))
        self.assertRegex(errors, "^pawl rm: /t/a/a/secret: .*\npawl rm: /t: until then [0-9]+ nodes were removed")
        self.assertEqual(self.ok("-a", "digest:me:me", "ls", "-R", "/t").split(),
                         ["/t", "/t/a", "/t/a/a", "/t/a/a/secret", "/t/a/a/secret/x"])

    def test_what_others_add_meanwhile(self):
        """As the first node is deleted there is a new one, below a node whose children were listed before."""
        self.ok("create", "/t/z")
        env = dict(self.env)
        relay = held_answers.HeldAnswers(
            self.port, held_answers.DELETE,
            lambda: subprocess.run([PAWL, "create", "-p", "/t/new/er"], env=env, check=True, stdout=subprocess.DEVNULL))
        self.addCleanup(relay.close)
        self.ok("rm", "-r", "/t", env={"PAWL_SERVER": "127.0.0.1:%d%s" % (relay.port, self.chroot)})
        self.assertEqual(self.pawl("exists", "/t")[0], NO)

    def test_an_interrupt(self):
        self.stop_server()
        # Whatever it is doing: it ends, and what is gone is not told to be there.
        removing = self.begin("rm", "-r", "/t", stderr=subprocess.PIPE)
        removing.send_signal(signal.SIGINT)
        self.assertIn(removing.wait(), (SIGNAL + signal.SIGINT, -signal.SIGINT))
        removing.stderr.close()


class Silence(TestCase):
    """A server that does not answer any more, in the middle of something."""

    def held(self, kind, *args):
        while True:
            relay = held_answers.HeldAnswers(self.port, kind, lambda: None)
            self.addCleanup(relay.close)
            env = {"PAWL_SERVER": "127.0.0.1:%d%s" % (relay.port, self.chroot)}
            found = self.pawl("-C", "1s", *args, env=env)
            if relay.has_held:  # else a busy machine has let it wait for its connection
                return found

    def test_a_read_cannot_have_happened(self):
        self.ok("create", "/a", "x")
        for kind, args in ((GET_DATA, ["get", "/a"]), (GET_CHILDREN, ["ls", "/a"]), (EXISTS, ["stat", "/a"]),
                           (GET_ACL, ["acl", "get", "/a"]), (GET_CHILDREN, ["ls", "-R", "/"]),
                           (GET_DATA, ["grep", "x", "/"]), (GET_ACL, ["export", "/a"])):
            with self.subTest(args=args):
                status, out, errors = self.held(kind, *args)
                self.assertEqual((status, out), (TIMEOUT, ""), errors)
                self.assertNotIn("may have happened", errors)
                self.assertEqual(errors.count("\n"), 1, errors)

    def test_a_write_may_have_happened(self):
        self.ok("create", "/a", "x")
        status, _, errors = self.held(SET_DATA, "set", "/a", "y")
        self.assertEqual(status, UNKNOWN)
        self.assertIn("it may have happened", errors)

    def begin_export(self, *options):
        """An export that waits for us to read on, with most of it still to come."""
        self.ok("import", "/t", stdin=lines_of(wide()))
        process = self.begin("-C", "5s", "export", *options, "/t", stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.assertTrue(process.stdout.read(1))
        return process

    def assert_not_whole(self, process, status):
        got = process.stdout.read()
        self.assertEqual(process.wait(), status)
        self.assertLess(got.count(b"\n"), len(wide()))
        self.assertRegex(process.stderr.read(), rb"pawl export: this is not the whole export: it ended after [0-9]+ node")

    def test_an_export(self):
        process = self.begin_export()
        self.stop_server()
        self.assert_not_whole(process, TIMEOUT)

    def test_an_interrupted_export(self):
        process = self.begin_export()
        self.stop_server()
        process.send_signal(signal.SIGINT)
        self.assert_not_whole(process, SIGNAL + signal.SIGINT)

    def test_a_tar_that_was_cut_off(self):
        process = self.begin_export("-t")
        self.stop_server()
        cut = b"." + process.stdout.read()
        self.assertEqual(process.wait(), TIMEOUT)
        self.server.signal(signal.SIGCONT)
        status, _, errors = self.pawl("import", "-t", "-k", "/t", stdin=cut)
        self.assertNotEqual(status, OK)
        self.assertIn("is this from pawl export -t?", errors)


class Resumed(TestCase):
    """An import that has ended too early, whatever the reason, goes on with -k."""

    def setUp(self):
        super().setUp()
        self.paths = wide()
        self.lines = lines_of(self.paths)
        self.half = self.lines.index(b"/n01500")

    def begin_import(self):
        """Fed with half of it, and having done some of that."""
        process = self.begin("import", "/t", stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdin.close)
        process.stdin.write(self.lines[:self.half])
        process.stdin.flush()
        wait_until(lambda: self.pawl("exists", "/t/n01000")[0] == OK, "a thousand nodes")
        return process

    def go_on(self):
        self.assertRegex(self.ok("import", "-k", "/t", stdin=self.lines), "^[0-9]+ made, 0 changed, [0-9]{4} left")
        self.assertEqual(self.ok("count", "/t"), "%d\n" % (len(self.paths) - 1))

    def test_killed(self):
        process = self.begin_import()
        process.kill()
        process.wait()
        self.go_on()

    def test_interrupted(self):
        process = self.begin_import()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(), SIGNAL + signal.SIGINT)
        self.assertRegex(process.stderr.read(), rb"pawl import: until then [0-9]{4} made")
        self.go_on()

    def test_without_answers(self):
        process = self.begin_import()
        self.stop_server()
        feeding = threading.Thread(target=self.feed, args=(process,))
        feeding.start()
        self.assertEqual(process.wait(), UNKNOWN)
        feeding.join()
        self.assertRegex(process.stderr.read(), rb"pawl import: line [0-9]+: /t/n[0-9]+: .*it may have happened\n"
                                                rb"pawl import: until then [0-9]{4} made.*, [0-9]+ sent and not answered\n")
        self.server.signal(signal.SIGCONT)
        self.go_on()

    def feed(self, process):
        try:
            process.stdin.write(self.lines[self.half:])
            process.stdin.flush()
        except BrokenPipeError:
            pass

    def test_a_bad_line(self):
        lines = self.lines[:self.half - 10] + b"\nnonsense\n"
        status, out, errors = self.pawl("import", "/t", stdin=lines)
        self.assertEqual((status, out), (2, ""))
        self.assertRegex(errors, "^pawl import: line 1[0-9]+: .*\npawl import: until then [0-9]{4} made")
        self.go_on()


class Liar:
    """A relay that changes the names of nodes in what a server says."""

    def __init__(self, port, honest, lie):
        assert len(honest) == len(lie)
        self.port_behind, self.honest, self.lie = port, honest, lie
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self.port_behind))
            # What the client says again of what it has heard is turned round.
            threading.Thread(target=self.pump, args=(client, server, self.lie, self.honest), daemon=True).start()
            threading.Thread(target=self.pump, args=(server, client, self.honest, self.lie), daemon=True).start()

    @staticmethod
    def pump(source, sink, old, new):
        """Whole frames: a name is never cut in two."""
        try:
            while True:
                frame = held_answers.read_frame(source)
                if not frame:
                    break
                sink.sendall(frame.replace(old, new))
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self):
        self.listener.close()


class Names(TestCase):
    """A server may say anything; a terminal obeys nothing of it."""

    LIES = (b"\x1b[31mRED\x1b[0m", b"\xc2\x9b31mRED\xc2\x9b0m", b"\x9b31mRED\x07\r\n..")
    HONEST = b"RED-0000000x"

    COMMANDS = (["ls", "/t"], ["ls", "-R", "/t"], ["tree", "/t"], ["find", "/t"], ["grep", ".", "/t"], ["du", "/t"],
                ["-j", "ls", "-R", "/t"], ["export", "/t"], ["diff", "/t", "/u"], ["locks", "/t"], ["locks", "why", "/t"],
                ["ephemerals", "/t"], ["queue", "ls", "/t"], ["service", "ls", "/t"], ["quota", "get"], ["acl", "get", "/s"],
                ["rm", "/t"], ["cp", "/t", "/t/x"], ["get", "/s"])

    def test_on_a_terminal(self):
        honest = self.HONEST.decode()
        self.ok("create", "-p", "/t/%s/%s" % (honest, honest), honest)
        self.ok("create", "-a", "world:anyone:r,digest:%s:x:r" % honest, "/s", honest)
        self.ok("create", "/u")
        self.ok("quota", "set", "-n", "100", "/t/" + honest)
        for lie in self.LIES:
            lie = lie.ljust(len(self.HONEST), b".")[:len(self.HONEST)]
            liar = Liar(self.port, self.HONEST, lie)
            self.addCleanup(liar.close)
            env = dict(self.env, PAWL_SERVER="127.0.0.1:%d%s" % (liar.port, self.chroot), NO_COLOR="1")
            for command in self.COMMANDS:
                with self.subTest(lie=lie, command=command):
                    terminal = Terminal([PAWL, "-C", "20s"] + command, env, self.dir)
                    self.addCleanup(terminal.close)
                    terminal.end()
                    said = terminal.raw.replace(b"\r\n", b"")
                    self.assertIsNone(re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|(?<![\x80-\xff])\x9b", said), said)


if __name__ == "__main__":
    main()
