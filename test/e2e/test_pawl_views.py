#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl as a window: locks --watch, ephemerals, sessions."""
import json
import os
import re
import signal
import socket
import time

import daemon
from daemon import wait_until
from lock_referee import Proxy
from patience import PATIENCE_SECONDS
from pawl_program import PAWL, REFUSED, SIGNAL, UNREACHABLE, USAGE, TestCase
from terminal import Terminal

CTRL_C = "\x03"
FRAME = re.compile(rb"\x1b\[H(.*?)\x1b\[J", re.DOTALL)  # from the corner to what is erased below
LEAVES = b"\x1b[?25h\x1b[?1049l"


def wait_for_frame(screen):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not FRAME.search(screen.raw) and time.monotonic() < deadline:
        screen.read_some(1)


class Locks(TestCase):
    def hold(self, path="/lock"):
        """A holder; it says when it holds, and ends with its input."""
        holder = self.begin("lock", path, "--", "sh", "-c", "echo held; exec sleep 1000")
        return holder

    def end(self, holder):
        holder.send_signal(signal.SIGTERM)
        holder.wait()

    def test_lines(self):
        first = self.hold()
        self.assertEqual(first.stdout.readline(), b"held\n")
        view = self.begin("locks", "--watch", "/lock")
        self.assertRegex(view.stdout.readline(), rb"^holds since .* token 0x")
        second = self.hold()
        self.assertRegex(view.stdout.readline(), rb"^waits since ")
        self.end(first)
        self.assertRegex(view.stdout.readline(), rb"^gone since ")
        self.assertRegex(view.stdout.readline(), rb"^holds since ")
        self.end(second)
        self.assertRegex(view.stdout.readline(), rb"^gone since ")
        view.send_signal(signal.SIGINT)
        self.assertEqual(view.wait(), SIGNAL + signal.SIGINT)

    def test_json(self):
        holder = self.hold()
        self.assertEqual(holder.stdout.readline(), b"held\n")
        view = self.begin("-j", "locks", "--watch", "/lock")
        self.assertEqual(json.loads(view.stdout.readline())["does"], "holds")
        self.end(holder)
        self.assertEqual(json.loads(view.stdout.readline())["does"], "gone")
        view.stdout.close()                    # nobody reads any more
        self.hold()
        self.assertEqual(view.wait(), SIGNAL + signal.SIGPIPE)

    def test_a_path_that_is_not_there_yet(self):
        view = self.begin("locks", "-w", "/later/lock")
        self.hold("/later/lock")
        self.assertRegex(view.stdout.readline(), rb"^(holds|waits) since ")

    def test_a_link_that_was_cut(self):
        proxy = Proxy(self.port)
        self.addCleanup(proxy.close)
        self.use_port(proxy.port)
        view = self.begin("-T", "60s", "locks", "-w", "/lock")
        self.use_port(self.port)
        holder = self.hold()
        self.assertRegex(view.stdout.readline(), rb"^holds since ")
        proxy.cut(False)
        self.end(holder)
        self.assertEqual(self.ok("locks", "/lock"), "")
        proxy.mend()
        self.assertRegex(view.stdout.readline(), rb"^gone since ")
        self.hold()
        self.assertRegex(view.stdout.readline(), rb"^holds since ")

    def test_a_screen(self):
        screen = Terminal([PAWL, "locks", "--watch", "/lock"], self.env, self.dir, rows=8, columns=100)
        self.addCleanup(screen.close)
        screen.expect("/lock  0 hold, 0 wait")
        holder = self.hold()
        screen.expect("/lock  1 hold, 0 wait")
        screen.expect("\nholds ")
        self.hold()
        screen.expect("/lock  1 hold, 1 wait")
        screen.expect("\nwaits ")
        self.end(holder)
        screen.expect("/lock  1 hold, 0 wait")
        for i in range(9):
            self.ok("create", "-p", "/lock/x-lock-%010d" % (i + 50), "bad \x1b]0;title\x07")
        screen.expect("and ")
        self.assertNotIn(b"\x1b]0;title", screen.raw)
        screen.keys(CTRL_C)
        self.assertEqual(screen.end(), SIGNAL + signal.SIGINT)
        self.assertTrue(screen.raw.endswith(b"\x1b[?25h\x1b[?1049l"), screen.raw[-60:])


    def test_as_many_rows_as_the_screen_has(self):
        """The title stays: no frame has more lines than fit above the last, and the rest is counted."""
        for n in range(3, 11):
            self.ok("create", "-p", "/lock/x-lock-%010d" % n, "somebody")
            screen = Terminal([PAWL, "locks", "--watch", "/lock"], self.env, self.dir, rows=8)
            self.addCleanup(screen.close)
            wait_for_frame(screen)
            frame = FRAME.search(screen.raw).group(1)
            n_shown, more = frame.count(b"somebody"), re.search(rb"and (\d+) more", frame)
            self.assertLessEqual(frame.count(b"\n"), 7)
            self.assertEqual(n_shown + (int(more.group(1)) if more else 0), n - 2)
            self.assertEqual(more is None, n_shown == n - 2)
            self.assertGreaterEqual(n_shown, min(n - 2, 4))
            screen.keys(CTRL_C)
            self.assertEqual(screen.end(), SIGNAL + signal.SIGINT)

    def test_an_error_outlives_the_screen(self):
        screen = Terminal([PAWL, "locks", "--watch", "no-path"], self.env, self.dir)
        self.addCleanup(screen.close)
        self.assertEqual(screen.end(), USAGE)
        self.assertRegex(screen.raw.rpartition(LEAVES)[2], rb"^pawl locks: no-path: ")


class Owners(TestCase):
    """Where those come from who hold and wait, and how long they last without another word."""

    server_options = ("-D4lw.commands.whitelist=*",)

    def test_of_a_server_that_tells(self):
        holder = self.begin("-T", "20s", "lock", "/lock", "--", "sh", "-c", "echo held; exec sleep 3600")
        self.assertEqual(holder.stdout.readline(), b"held\n")
        (shown,) = json.loads(self.ok("-j", "locks", "/lock"))
        self.assertRegex(shown["from"], r"^127\.0\.0\.1:[0-9]+$")
        self.assertEqual(shown["timeout_ms"], 20000)
        self.assertLessEqual(shown["left_ms"], 20000)
        self.assertGreaterEqual(shown["left_ms"], 0)
        self.assertRegex(self.ok("locks", "/lock"), " from 127.* timeout 20000ms left [0-9]+ms /lock/.* host=.* pid=[0-9]+ ")
        before = shown["left_ms"]  # while it is stopped the time runs down
        holder.send_signal(signal.SIGSTOP)
        wait_until(lambda: (json.loads(self.ok("-j", "locks", "/lock")) or [{"left_ms": -1}])[0]["left_ms"] < before - 1000,
                   "time to pass")

    def test_of_one_that_does_not(self):
        self.server = self.start(data=os.path.join(self.dir, "silent"))
        self.use_port(self.server.port)
        holder = self.begin("lock", "/lock", "--", "sh", "-c", "echo held; exec sleep 3600")
        self.assertEqual(holder.stdout.readline(), b"held\n")
        (shown,) = json.loads(self.ok("-j", "locks", "/lock"))
        self.assertNotIn("from", shown)

    def test_a_directory(self):
        self.env["PAWL_SERVER"] = "local:" + os.path.join(self.dir, "here")
        self.ok("lock", "/lock", "--", PAWL, "locks", "/lock")


class Sessions(TestCase):
    server_options = ("-D", "4lw.commands.whitelist=*")

    def test_ephemerals(self):
        holder = self.begin("create", "-e", "/e")
        self.assertEqual(holder.stdout.readline(), b"/e\n")
        self.ok("create", "/p")
        self.ok("create", "-c", "/container")
        self.assertRegex(self.ok("ephemerals"), r"^0x[0-9a-f]+ since \S+ \S+ /e\n$")
        found = json.loads(self.ok("-j", "ephemerals", "/"))
        self.assertEqual(found["path"], "/e")
        self.assertEqual(self.ok("ephemerals", "-o", found["session"]), self.ok("ephemerals"))
        self.assertEqual(self.ok("ephemerals", "-o", "0x1"), "")
        self.assertIn("no session", self.fails(USAGE, "ephemerals", "-o", "x"))

    def test_sessions(self):
        holder = self.begin("create", "-e", "/e")
        self.assertEqual(holder.stdout.readline(), b"/e\n")
        owner = json.loads(self.ok("-j", "ephemerals"))["session"]
        sessions = [json.loads(line) for line in self.ok("-j", "sessions").splitlines()]
        mine = [s for s in sessions if s["session"] == owner]
        self.assertEqual(len(mine), 1, sessions)
        self.assertEqual(mine[0]["timeout_ms"], 10000)
        self.assertRegex(self.ok("sessions"), r"(?m)^%s since .* server localhost:\d+ client \S+$" % owner)

    def test_top(self):
        self.ok("create", "/a")
        lines = self.ok("top", "--once").splitlines()
        self.assertRegex(lines[0], r"^server +state +conns ")
        self.assertRegex(lines[1], r"^localhost:\d+ +standalone +\d+ ")
        row = json.loads(self.ok("-j", "top", "-1"))
        self.assertEqual((row["state"], row["nodes"]), ("standalone", int(lines[1].split()[4])))
        both = "%s,localhost:%d" % (self.env["PAWL_SERVER"], self.port)
        self.assertEqual(len(self.ok("-s", both, "top", "-1").splitlines()), 3)
        goes_on = self.begin("-j", "top", "-i", "100ms")
        json.loads(goes_on.stdout.readline())
        self.assertIn("received_per_second", json.loads(goes_on.stdout.readline()))
        goes_on.send_signal(signal.SIGTERM)
        self.assertEqual(goes_on.wait(), SIGNAL + signal.SIGTERM)
        self.assertIn("100ms or more", self.fails(USAGE, "top", "-i", "0"))

    def test_top_on_a_screen(self):
        screen = Terminal([PAWL, "top", "-i", "100ms"], self.env, self.dir)
        self.addCleanup(screen.close)
        screen.expect("pawl top")
        screen.expect("standalone")
        screen.expect("pawl top")
        screen.keys(CTRL_C)
        self.assertEqual(screen.end(), SIGNAL + signal.SIGINT)

    def test_top_on_a_screen_with_a_server_that_is_down(self):
        down = socket.socket()
        self.addCleanup(down.close)
        down.bind(("127.0.0.1", 0))  # and does not listen
        server = "127.0.0.1:%d" % down.getsockname()[1]
        servers = "%s,%s" % (self.env["PAWL_SERVER"], server)
        said = b"pawl top: %s: Connection refused" % server.encode()
        screen = Terminal([PAWL, "-s", servers, "top", "-i", "1h"], self.env, self.dir)
        self.addCleanup(screen.close)
        wait_for_frame(screen)
        self.assertRegex(FRAME.search(screen.raw).group(1), rb"(?s)standalone.*" + said + rb"\x1b\[K\r+\n$")
        screen.keys(CTRL_C)
        self.assertEqual(screen.end(), SIGNAL + signal.SIGINT)
        self.assertEqual(screen.raw.rpartition(LEAVES)[2], said + b"\r\n")

    def test_top_on_a_screen_without_any_server(self):
        screen = Terminal([PAWL, "-s", self.nobody(), "top"], self.env, self.dir)
        self.addCleanup(screen.close)
        self.assertEqual(screen.end(), UNREACHABLE)
        self.assertRegex(screen.raw.rpartition(LEAVES)[2], rb"^pawl top: unix:.*No such file")

    def test_no_answers(self):
        self.fails(UNREACHABLE, "-j", "-s", self.nobody(), "-C", "1s", "top")
        self.fails(UNREACHABLE, "-s", self.nobody(), "-C", "1s", "sessions")


class Forbidden(TestCase):
    server_options = ("-D", "4lw.commands.whitelist=srvr")

    def test_sessions(self):
        self.assertIn("whitelist", self.fails(REFUSED, "-j", "top"))
        self.assertIn("whitelist", self.fails(REFUSED, "sessions"))


if __name__ == "__main__":
    daemon.main()
