#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A machine that runs short: of file descriptors, of a reader for the log."""
import os
import resource
import signal
import socket
import subprocess
import time

import daemon


WAIT_SECONDS = 120


def cpu_seconds(pid):
    with open("/proc/%d/stat" % pid) as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Descriptors(daemon.TestCase):
    LIMIT = 80

    def few_files(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))

    def crowd(self, d):
        """More connections than there are descriptors, the last of them not accepted."""
        crowd = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(self.LIMIT + 20)]
        d.wait_log("no file descriptor left for a new connection")
        return crowd

    def start_small(self, *args):
        return self.start("-DmaxClientCnxns=0", "-Dnio.sessionlessCnxnTimeout=1000000", *args,
                          preexec=self.few_files)

    def test_log_and_snapshots_have_descriptors_of_their_own(self):
        d = self.start_small("-DsnapCount=20", "-DpreAllocSize=4")
        conn = d.connect()
        crowd = self.crowd(d)
        for i in range(300):
            self.assertEqual(daemon.create(conn, "/n%d" % i), 0)
        daemon.wait_until(lambda: len(daemon.files(self.data, "snapshot")) > 2, "snapshots")
        for s in crowd:
            s.close()
        self.assertEqual(daemon.get(d.connect(), "/n0"), b"")  # accepted again
        d.stop()

    def test_waiting_costs_nothing_and_is_logged_once(self):
        d = self.start_small()
        crowd = self.crowd(d)
        before = cpu_seconds(d.process.pid)
        began = time.monotonic()
        while time.monotonic() < began + 2:  # there is no end of nothing to wait for
            time.sleep(0.1)
        self.assertLess(cpu_seconds(d.process.pid) - before, 1)
        self.assertEqual(d.log().count("no file descriptor left for a new connection"), 1)
        for s in crowd:
            s.close()
        d.stop()


class Log(daemon.TestCase):
    def start_unread(self, text, end):
        """A server whose log goes into a pipe."""
        path = self.file("zoo.cfg", "dataDir=%s\nclientPort=0\n%s" % (self.data, text))
        p = subprocess.Popen([daemon.PAWLD, path], stdout=subprocess.PIPE, stderr=end)
        self.addCleanup(p.stdout.close)
        self.addCleanup(p.wait)
        self.addCleanup(p.kill)
        return p

    def test_nobody_reads_it(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        p = self.start_unread("".join("unknown.key.number.%d=x\n" % i for i in range(3000)), writer)
        os.close(writer)
        port = int(p.stdout.readline())
        conn = daemon.opened(daemon.z.Conn(port))
        self.assertEqual(daemon.create(conn, "/a"), 0)
        self.assertGreater(len(os.read(reader, 1 << 20)), 0)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(WAIT_SECONDS), 0)
        text = b""
        while True:
            part = os.read(reader, 1 << 20)
            if not part:
                break
            text += part
        self.assertIn(b"log lines were dropped", text)

    def test_its_reader_is_gone(self):
        reader, writer = os.pipe()
        p = self.start_unread("", writer)
        os.close(writer)
        port = int(p.stdout.readline())
        os.close(reader)
        self.assertEqual(daemon.create(daemon.opened(daemon.z.Conn(port)), "/a"), 0)
        p.send_signal(signal.SIGTERM)
        self.assertEqual(p.wait(WAIT_SECONDS), 0)


if __name__ == "__main__":
    daemon.main()
