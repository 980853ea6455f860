#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stopping, re-reading, and telling a supervisor."""
import os
import re
import select
import signal
import socket
import threading
import time

import daemon
from daemon import run, wait_until, z


class Load:
    """Clients that write and read as fast as they can, until the server goes."""

    def __init__(self, server, n_clients=8, n_outstanding=20):
        self.acknowledged = [0] * n_clients
        self.threads = [threading.Thread(target=self.run, args=(server, i, n_outstanding))
                        for i in range(n_clients)]
        for t in self.threads:
            t.start()

    def run(self, server, i, n_outstanding):
        try:
            conn = server.connect()
            n = 0
            for n in range(n_outstanding):
                conn.send(z.CREATE, self.node(i, n))
            while True:
                reply = conn.recv()
                assert reply.err == 0, reply
                self.acknowledged[i] += 1
                n += 1
                conn.send(z.CREATE, self.node(i, n))
        except (z.Closed, OSError):
            pass

    def node(self, i, n):
        return {"path": "/load-%d-%d" % (i, n), "data": b"x" * 100, "acl": daemon.OPEN_ACL,
                "flags": 0}

    def join(self):
        for t in self.threads:
            t.join()


class Stopping(daemon.TestCase):
    def ends_well(self, d, number=signal.SIGTERM):
        """It ends by itself, and well, whatever its clients do."""
        d.signal(number)
        self.assertEqual(d.wait(), 0, d.log())

    def test_term_and_int_stop_an_idle_server(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            d = self.start()
            self.ends_well(d, number)
            self.assertIn("signal %d: stopping" % number, d.log())

    def test_under_load_nothing_acknowledged_is_lost(self):
        d = self.start("-DsnapCount=2000", "-DpreAllocSize=1024")
        load = Load(d)
        wait_until(lambda: sum(load.acknowledged) > 3000, "load")
        self.ends_well(d)
        load.join()
        d = self.start()
        names = set(daemon.children(d.connect(), "/"))
        for i, n in enumerate(load.acknowledged):
            missing = [k for k in range(n) if "load-%d-%d" % (i, k) not in names]
            self.assertEqual(missing, [])
        # A clean stop leaves no torn tail; a slow disk is warned of as well.
        self.assertEqual([line for line in d.log().splitlines()
                          if "WARN" in line and "fsync" not in line], [])
        d.stop()

    def test_with_clients_that_never_read(self):
        d = self.start()
        setup = d.connect()
        daemon.create(setup, "/big", b"x" * 500000)
        deaf = [daemon.opened(z.Conn(d.port, rcvbuf=4096)) for _ in range(5)]
        for conn in deaf:
            for _ in range(50):
                conn.send(z.GET_DATA, {"path": "/big", "watch": False})
        self.ends_well(d)

    def test_with_half_open_connections(self):
        d = self.start("-DmaxClientCnxns=0")
        socks = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(200)]
        for s in socks[:100]:
            s.sendall(b"\x00\x00\x00\x2d\x00")
        d.connect()
        self.ends_well(d)

    def test_clients_see_the_end_and_find_their_session_again(self):
        d = self.start()
        conn = d.connect()
        self.assertEqual(daemon.create(conn, "/e", b"", daemon.EPHEMERAL), 0)
        self.ends_well(d)
        with self.assertRaises(z.Closed):
            conn.recv()
        d = self.start()
        again = z.Conn(d.port)
        answer = again.handshake(session_id=conn.session_id, passwd=conn.passwd)
        self.assertEqual(answer["sessionId"], conn.session_id)
        self.assertEqual(daemon.get(again, "/e"), b"")
        d.stop()

    def test_while_a_large_folder_is_being_read(self):
        d = self.start("-DsnapCount=1000000000")
        conn = d.connect()
        for batch in range(40):
            ops = [(z.CREATE, {"path": "/n%d" % (batch * 1000 + i), "data": b"x" * 100,
                               "acl": daemon.OPEN_ACL, "flags": 0}) for i in range(1000)]
            self.assertEqual(conn.call(z.MULTI, {"ops": ops})[0].err, 0)
        d.process.kill()
        d.process.wait()
        for delay in (0.0, 0.005, 0.02, 0.05):
            d = self.start(wait=False)
            time.sleep(delay)  # somewhere in the start: anywhere is good
            d.signal(signal.SIGTERM)
            self.assertIn(d.wait(), (0, -signal.SIGTERM))  # the latter before main() has begun
        d = self.start()
        self.assertEqual(len(daemon.children(d.connect(), "/")), 40001)
        d.stop()


class Hangup(daemon.TestCase):
    def hang_up(self, d, text, pattern="the configuration was re-read"):
        n = len(re.findall(pattern, d.log()))
        self.file("zoo.cfg", text)
        d.signal(signal.SIGHUP)
        d.wait_log(pattern, n + 1)

    def test_what_can_change_does(self):
        base = "dataDir=%s\nclientPort=0\n" % self.data
        d = self.start_file(base + "4lw.commands.whitelist=srvr\n", port=None)
        d.port = int(d.process.stdout.readline())
        first = d.connect()
        self.assertIn("not in the whitelist", d.word("ruok"))
        self.hang_up(d, base + "4lw.commands.whitelist=srvr,ruok\nmaxClientCnxns=1\n"
                     "maxSessionTimeout=9000\n")
        self.assertIn("4lw.commands.whitelist: changed, in effect from now on", d.log())
        self.assertIn("maxClientCnxns: changed, in effect from now on", d.log())
        with self.assertRaises((z.Closed, OSError)):
            d.connect()
        self.assertEqual(daemon.create(first, "/still", b""), 0)  # who is there, stays
        self.hang_up(d, base + "4lw.commands.whitelist=srvr,ruok\nmaxSessionTimeout=9000\n")
        self.assertEqual(d.word("ruok"), "imok")
        self.assertEqual(z.Conn(d.port).handshake(timeout_ms=60000)["timeOut"], 9000)
        d.stop()

    def test_the_level_of_the_log(self):
        base = "dataDir=%s\nclientPort=0\n" % self.data
        d = self.start_file(base + "log.level=error\n", port=None)
        d.port = int(d.process.stdout.readline())
        self.assertEqual(d.log(), "")
        self.hang_up(d, base + "log.level=info\n")
        d.stop()
        self.assertIn("signal 15: stopping", d.log())

    def test_what_cannot_change_is_said(self):
        base = "dataDir=%s\nclientPort=0\n" % self.data
        d = self.start_file(base, port=None)
        d.port = int(d.process.stdout.readline())
        self.hang_up(d, base + "tickTime=500\nnosuchkey=1\n")
        self.assertContains(d.log(), "tickTime: changed, takes effect with the next start",
                            "nosuchkey: unknown key")
        self.hang_up(d, base)
        d.stop()

    def test_a_broken_file_changes_nothing(self):
        base = "dataDir=%s\nclientPort=0\n4lw.commands.whitelist=ruok\n" % self.data
        d = self.start_file(base, port=None)
        d.port = int(d.process.stdout.readline())
        self.hang_up(d, base.replace("ruok", "stat") + "tickTime=x\n", "was not re-read")
        self.assertIn("zoo.cfg:4: tickTime", d.log())
        self.assertEqual(d.word("ruok"), "imok")
        os.unlink(os.path.join(self.dir, "zoo.cfg"))
        d.signal(signal.SIGHUP)
        d.wait_log("was not re-read", 2)
        self.assertEqual(d.word("ruok"), "imok")
        d.stop()

    def test_without_a_file_nothing_has_changed(self):
        d = self.start()
        d.signal(signal.SIGHUP)
        d.wait_log("nothing has changed")
        d.stop()

    def test_a_hundred_times_under_load(self):
        base = "dataDir=%s\nclientPort=0\n4lw.commands.whitelist=" % self.data
        d = self.start_file(base + "srvr", port=None)
        d.port = int(d.process.stdout.readline())
        load = Load(d, 2)
        for i in range(100):
            self.file("zoo.cfg", base + ("srvr,ruok" if i % 2 else "stat,srvr"))
            d.signal(signal.SIGHUP)
            self.assertIn("Mode:", d.word("srvr"))
        d.stop()
        load.join()


class Readiness(daemon.TestCase):
    def notices(self, address):
        """Starts a server with a supervisor at `address`, and stops it; gives what was heard."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.settimeout(daemon.PATIENCE_SECONDS)
            s.bind(address.replace("@", "\0", 1) if address[0] == "@" else address)
            d = self.start(env={"NOTIFY_SOCKET": address})
            ready = s.recv(100)
            self.assertIn("Mode:", d.word("srvr"))  # ready means: it serves
            d.stop()
            return [ready, s.recv(100)]

    def test_systemd_is_told(self):
        self.assertEqual(self.notices(os.path.join(self.dir, "notify")), [b"READY=1",
                                                                         b"STOPPING=1"])
        self.assertEqual(self.notices("@pawl-e2e-%d" % os.getpid()), [b"READY=1", b"STOPPING=1"])

    def test_a_start_that_fails_is_never_ready(self):
        path = os.path.join(self.dir, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            code, _, _ = run("--data", self.file("file", ""), "--port", "0",
                             env={"NOTIFY_SOCKET": path})
            self.assertEqual(code, 3)
            self.assertEqual(select.select([s], [], [], 0)[0], [])

    def test_a_supervisor_that_is_gone_does_no_harm(self):
        for address in (os.path.join(self.dir, "none"), "x" * 200, "@"):
            self.start(env={"NOTIFY_SOCKET": address}).stop()


if __name__ == "__main__":
    daemon.main()
