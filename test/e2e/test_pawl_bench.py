#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl bench: what it counts, whom it asks, and that it leaves nothing behind."""
import json
import re
import signal
import subprocess

import daemon
from daemon import PATIENCE_SECONDS
from pawl_program import PAWL, REFUSED, SIGNAL, UNREACHABLE, USAGE, TestCase, shared_server

LOADS = ("reads", "writes", "mixed", "locks", "watches", "sessions")


class Bench(TestCase):
    def tearDown(self):
        if self.server.running():
            self.assertEqual([name for name in self.ok("ls", "/").split() if "bench" in name], [])
        super().tearDown()

    def test_so_many(self):
        for load in LOADS:
            result = json.loads(self.ok("-j", "bench", "-y", "-n", 50, "-c", 3, "-q", 2, "-k", 5, load))
            self.assertEqual((result["load"], result["done"], result["errors"]), (load, 50, 0))
            times = [result["microseconds"][p] for p in ("p50", "p90", "p99", "p99.9", "max")]
            self.assertEqual(times, sorted(times))
            self.assertGreater(times[0], 0)

    def test_as_text(self):
        out = self.ok("bench", "-y", "-d", "200ms", "mixed")
        self.assertRegex(out, r"^mixed \(get or set\): \d+ in \d\.\d s, \d+ per second, 4 clients with 8 in flight\n"
                              r"microseconds: mean \d+, p50 \d+, p90 \d+, p99 \d+, p99.9 \d+, max \d+\n"
                              r"(  up to +\d+[um]?s +\d+ #+\n)+$")

    def test_below_a_node(self):
        self.ok("create", "/mine")
        self.ok("bench", "-y", "-n", 10, "writes", "/mine")
        self.assertEqual(self.ok("ls", "/mine"), "")
        self.fails(110, "bench", "-y", "-n", 10, "writes", "/nowhere")

    def test_below_a_node_with_a_long_path(self):
        """Its own nodes have longer ones."""
        path = "/mine" + "/" + "x" * 400
        self.ok("create", "-p", path)
        for load in LOADS:
            result = json.loads(self.ok("-j", "bench", "-y", "-n", 20, "-c", 2, "-q", 2, "-k", 5, load, path))
            self.assertEqual((result["done"], result["errors"]), (20, 0))
            self.assertEqual(self.ok("ls", path), "")

    def test_bad_options(self):
        for args in (["nothing"], [], ["-c", "0", "reads"], ["-d", "0", "reads"], ["-n", "5", "-d", "1s", "reads"],
                     ["-m", "101", "mixed"], ["-q", "x", "reads"]):
            self.fails(USAGE, "bench", *args)

    def test_others_are_asked_for(self):
        """Without anybody else it runs at once; with somebody it asks, and only y is a yes."""
        if shared_server is None:
            self.ok("bench", "-n", 10, "reads")
        other = self.begin("watch", "/")
        self.wait_for_connections(2)
        for answer in b"", b"n\n", b"\n":
            status, out, errors = self.pawl("bench", "-n", 10, "reads", stdin=answer)
            self.assertEqual((status, out), (REFUSED, ""))
            self.assertIn("is in use: 1 other connection", errors)
        self.assertEqual(self.pawl("bench", "-n", 10, "reads", stdin=b"y\n")[0], 0)
        self.assertEqual(self.pawl("bench", "-y", "-n", 10, "reads")[0], 0)
        self.finish(other)

    def wait_for_connections(self, n):
        """With the one that asks."""
        daemon.wait_until(lambda: "Connections: %d\n" % n in self.server.word("srvr"), "its connection")

    def interrupted(self, number):
        """As soon as its clients are there."""
        process = subprocess.Popen([PAWL, "bench", "-y", "-d", "1h", "-c", "4", "writes"], env=self.env, cwd=self.dir,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.wait_for_connections(6)
        process.send_signal(number)
        _out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual((process.returncode, errors), (SIGNAL + number, b""))

    def test_an_interrupt_leaves_nothing(self):
        self.interrupted(signal.SIGINT)
        self.interrupted(signal.SIGTERM)

    def test_a_server_that_dies(self):
        process = subprocess.Popen([PAWL, "-C", "1s", "bench", "-y", "-d", "1h", "writes"], env=self.env, cwd=self.dir,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        daemon.wait_until(lambda: int(re.search(r"Sent: (\d+)", self.server.word("srvr"))[1]) > 1000,
                          "more answers than its preparations need")
        self.server.kill9()
        out, errors = process.communicate(timeout=PATIENCE_SECONDS)
        self.assertEqual(process.returncode, UNREACHABLE)
        self.assertIn(b"requests failed", errors)
        self.assertRegex(errors.decode(), r"/pawl-bench-\d{10} is left behind .*: pawl rm -r /pawl-bench-\d{10}\n")
        self.assertIn(b"writes (set): ", out)

    def test_no_server(self):
        self.use_port(1)
        self.fails(UNREACHABLE, "-C", "300ms", "bench", "reads")
        self.use_port(self.port)


if __name__ == "__main__":
    daemon.main()
