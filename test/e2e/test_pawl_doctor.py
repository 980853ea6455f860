#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl doctor: it finds what is wrong, says what to do, and changes nothing."""
import json
import os
import re
import shutil
import socket
import struct
import threading
import time

import daemon
from pawl_program import NO, OK, USAGE, TestCase
from test_pawl_files import VECTORS, records, sums

# What is so on this machine is not what these tests are about.
OF_THE_MACHINE = ("clock", "memory", "limits")


class OtherClock:
    """A server that knows no more than what a doctor asks it, by a clock that is not ours."""

    def __init__(self, test, ahead_ms, has_cons=True):
        self.ahead_ms, self.has_cons, self.since_ms = ahead_ms, has_cons, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.name = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        test.addCleanup(self.stop)

    def stop(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.listener.close()

    def now_ms(self):
        return int(time.time() * 1000) + self.ahead_ms

    def serve(self):
        talks = []
        while True:
            try:
                conn = self.listener.accept()[0]
            except OSError:
                break
            talks.append(threading.Thread(target=self.talk, args=(conn, self.now_ms())))
            talks[-1].start()
        for talk in talks:
            talk.join()

    def talk(self, conn, since_ms):
        with conn, conn.makefile("rwb", buffering=0) as file:
            first = file.read(4)
            if first.isalpha():
                file.write(self.word(first.decode()).encode())
                return
            self.since_ms = since_ms
            file.read(struct.unpack(">i", first)[0])
            file.write(struct.pack(">iiiqi16xb", 37, 0, 10000, 7, 16, 0))
            while len(header := file.read(12)) == 12:
                length, xid, op = struct.unpack(">iii", header)
                if length > 8:
                    file.read(length - 8)
                stat = b""
                if op in (1, 15):
                    path = b"/probe"
                    stat = struct.pack(">i", len(path)) + path
                    stat += struct.pack(">qqqqiiiqiiq", 2, 2, self.now_ms(), self.now_ms(), 0, 0, 0, 7, 0, 0, 2)
                file.write(struct.pack(">iiqi", 16 + len(stat), xid, 1, 0) + stat)
                if op == -11:
                    return

    def word(self, word):
        if word == "srvr":
            return ("Latency min/avg/max: 0/0.0/0\nOutstanding: 0\nZxid: 0x1\nMode: standalone\nNode count: 5\n")
        if word == "cons" and self.has_cons:
            return (" /127.0.0.1:5[1](queued=0,recved=1,sent=1,sid=0x7,lop=SESS,est=%d,to=10000)\n"
                    " /127.0.0.1:6[1](queued=0,recved=1,sent=1,sid=0x8,lop=SESS,est=5,to=10000)\n" % self.since_ms)
        if word == "mntr":
            return "zk_uptime\t1000\nzk_stale_sessions_expired\t0\n"
        return "%s is not executed because it is not in the whitelist.\n" % word


class Doctor(TestCase):
    server_options = ("-D", "4lw.commands.whitelist=mntr,cons")

    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.dir, "vector")
        shutil.copytree(os.path.join(VECTORS, "standalone"), self.data)

    def findings(self, *args):
        """[(finding, where, what)], of what is not the machine's and not the disk's."""
        status, out, _errors = self.pawl("-j", "doctor", "-q", *args)
        lines = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(status, NO if lines[-1]["wrong"] + lines[-1]["risks"] else OK)
        return [(f["finding"], f["where"], f["what"]) for f in lines[:-1]
                if f["where"] not in OF_THE_MACHINE and "of the disk" not in f["what"]]

    def test_a_good_folder(self):
        before = sums(self.data)
        self.assertEqual(self.findings("-D", self.data), [])
        good = self.findings("-v", "-D", self.data)
        self.assertIn(("good", self.data, "22 nodes up to zxid 0x2a, 42 transactions replayed"), good)
        self.pawl("doctor", "-D", self.data)  # the disk is measured
        self.assertEqual(sums(self.data), before)
        self.assertEqual(sorted(os.listdir(self.data)), sorted(os.listdir(os.path.join(VECTORS, "standalone"))))

    def test_a_damaged_log(self):
        path = os.path.join(self.data, "version-2", "log.1")
        start = records(path)[10][0]
        with open(path, "r+b") as file:
            file.seek(start + 20)
            file.write(b"\xff")
        (found,) = self.findings("-D", self.data)
        self.assertEqual(found[:2], ("wrong", self.data))
        self.assertIn("damaged at offset %d" % start, found[2])

    def test_what_a_member_has_noted(self):
        for kind in ("damaged", "diverged"):
            path = self.file("vector/version-2/pawl.%s" % kind, "log.1 at offset 7\n")
            self.assertEqual(self.findings("-D", self.data),
                             [("wrong", self.data, "version-2/pawl.%s: log.1 at offset 7" % kind)])
            os.unlink(path)

    def test_a_folder_that_is_not_there(self):
        self.assertEqual([f[0] for f in self.findings("-D", self.dir + "/none")], ["wrong"])

    def test_a_folder_that_is_none(self):
        ((kind, where, what),) = self.findings("-D", self.file("file", ""))
        self.assertEqual((kind, where, what), ("wrong", self.dir + "/file", "it cannot be opened"))

    def test_long_data_that_the_server_allows(self):
        data = self.dir + "/long"
        keys = "dataDir=%s\nclientPort=0\njute.maxbuffer=9000000\n" % data
        server = self.start_file(keys)
        conn = server.connect(timeout_ms=10000)
        self.assertEqual(daemon.create(conn, "/long", b"x" * 3000000), 0)
        server.stop()
        path = self.file("zoo.cfg", keys + "autopurge.purgeInterval=1\n")
        self.assertEqual([f for f in self.findings("-c", path) if f[1] == data], [])
        self.assertEqual(self.findings("-D", data, "-m", 9000000), [])
        self.assertEqual([f[:2] for f in self.findings("-D", data)], [("wrong", data)])

    def test_a_configuration(self):
        path = self.file("zoo.cfg", "dataDir=%s\nclientPort=%d\nforceSync=no\nclientPrt=1\ninitLimit=5\nsyncLimit=2\n"
                         "server.1=127.0.0.1:1:2\nserver.2=no.such.host.invalid:1:2\n" % (self.data, self.port))
        self.file("vector/myid", "1\n")
        text = "\n".join("%s %s" % (f[0], f[2]) for f in self.findings("-c", path))
        self.assertContains(text, "wrong writes are acknowledged before they are on disk",
                            "risk old logs and snapshots are never removed",
                            "wrong the name no.such.host.invalid does not resolve",
                            "risk 2 voters go on without 0 of them, as 1 do", "clientPrt")

    def test_a_bad_configuration(self):
        found = self.findings("-c", self.file("bad.cfg", "clientPort=x\n"))
        self.assertIn("wrong", [f[0] for f in found])

    def test_servers(self):
        self.assertEqual(self.findings(), [])
        self.assertIn(("good", "localhost:%d" % self.port, "it serves as standalone"), self.findings("-v"))
        self.use_port(1)
        ((kind, _where, what),) = self.findings()
        self.assertEqual(kind, "wrong")
        self.assertIn("no answer", what)

    def test_servers_that_disagree(self):
        other = self.start(data=self.dir + "/other")
        self.env["PAWL_SERVER"] = "localhost:%d,localhost:%d" % (self.port, other.port)
        self.assertIn("2 of them stand alone, and have data of their own", [f[2] for f in self.findings()])

    def clock_ahead(self, findings, name):
        """What was said of a server's clock: by how much it is ahead, and how surely."""
        (text,) = [what for kind, where, what in findings if where == name and "clock" in what and kind == "risk"]
        number, side, about = re.fullmatch(r"its clock is (\d+) ms (ahead of|behind) this machine's, "
                                           r"give or take (\d+) ms", text).groups()
        return int(number) * (1 if side == "ahead of" else -1), int(about)

    def test_clocks(self):
        self.assertRegex("\n".join(f[2] for f in self.findings("-v")), "its clock is like this machine's: [+-]")
        ahead, behind = OtherClock(self, 60000), OtherClock(self, -90000)
        self.env["PAWL_SERVER"] = ahead.name + "," + behind.name
        found = self.findings()
        for server, right in ((ahead, 60000), (behind, -90000)):
            value, about = self.clock_ahead(found, server.name)
            self.assertLessEqual(abs(value - right), about + 1)
        apart = re.search(r"their clocks are (\d+) ms apart", "\n".join(f[2] for f in found))
        self.assertLessEqual(int(apart.group(1)), 150000)
        self.assertGreater(int(apart.group(1)), 75000)

    def test_a_clock_that_takes_a_node(self):
        server = OtherClock(self, 60000, has_cons=False)
        self.env["PAWL_SERVER"] = server.name
        self.assertIn("its clock cannot be looked at: ", "\n".join(f[2] for f in self.findings()))
        value, about = self.clock_ahead(self.findings("--clock-node", "/probe"), server.name)
        self.assertLessEqual(abs(value - 60000), about + 1)
        self.use_port(self.port)
        self.assertEqual(self.findings("--clock-node", "/probe"), [])
        self.assertEqual(self.ok("ls", "/"), "zookeeper\n")

    def test_as_text(self):
        _status, out, _errors = self.pawl("doctor", "-q", "-v", "-D", self.data)
        self.assertRegex(out, r"(?m)^good   .*: 22 nodes up to zxid 0x2a")
        self.assertRegex(out, r"\n\d+ things looked at: \d+ wrong, \d+ risky\n$")

    def test_bad_options(self):
        self.fails(USAGE, "doctor", "-c", "x", "-D", "y")
        self.fails(USAGE, "doctor", "-L", "y")
        self.fails(USAGE, "doctor", "-m", "5")
        self.fails(USAGE, "doctor", "-D", "y", "-m", "x")


if __name__ == "__main__":
    daemon.main()
