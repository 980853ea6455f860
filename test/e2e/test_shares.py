#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One client and the others: what each may take, and what none may be blamed for."""
import signal
import time

import daemon
from daemon import create, get, set_data, wait_until, z

MEGABYTE = 1 << 20


def create_many(conn, paths, at_once=500):
    for at in range(0, len(paths), at_once):
        ops = [(z.CREATE, {"path": p, "data": b"", "acl": daemon.OPEN_ACL, "flags": 0})
               for p in paths[at:at + at_once]]
        assert conn.call(z.MULTI, {"ops": ops})[0].err == 0


def resident_bytes(pid):
    with open("/proc/%d/status" % pid) as f:
        for line in f:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")


class Shares(daemon.TestCase):
    def served_meanwhile(self, greedy, polite):
        """Pings of the polite one that are answered between two looks at what the greedy one got."""
        n_asked = 3000
        n_bytes = n_asked * (4 + 16 + 4)
        greedy.sock.setblocking(True)
        greedy.sock.sendall(b"".join(
            z.enc_request(i + 1, z.GET_ALL_CHILDREN_NUMBER, {"path": "/" + "ab"[i % 2]})
            for i in range(n_asked)))
        greedy.sock.setblocking(False)
        n_served = 0
        while n_bytes > 0:
            self.assertEqual(polite.call(z.PING)[0].err, 0)
            n_served += 1
            try:
                n_bytes -= len(greedy.sock.recv(n_bytes))
            except BlockingIOError:
                pass
        return n_served

    def test_a_greedy_client_leaves_the_others_their_share(self):
        d = self.start()
        greedy, polite = d.connect(), d.connect()
        create_many(polite, ["/a", "/b"])
        create_many(polite, ["/%s/%d" % (top, i) for top in "ab" for i in range(10000)])
        # It takes thousands of turns; a busy machine may let us see few of them, but not each time.
        wait_until(lambda: self.served_meanwhile(greedy, polite) > 50, "a share of the turns")
        d.stop()

    def test_answers_that_nobody_reads_do_not_fill_the_memory(self):
        d = self.start()
        conn, other = d.connect(), d.connect()
        self.assertEqual(create(other, "/large", b"x" * (MEGABYTE - 100)), 0)
        read = {"ops": [(z.GET_DATA, {"path": "/large", "watch": False})] * 20}
        with conn.one_write():
            conn.send(z.SET_DATA, {"path": "/", "data": b"", "version": -1})
            for _ in range(400):
                conn.send(z.MULTI_READ, read)
            conn.send(z.SET_DATA, {"path": "/", "data": b"last", "version": -1})
        self.assertEqual(conn.recv().err, 0)
        # They ask for eight gigabytes.
        for _ in range(20):
            self.assertEqual(set_data(other, "/", b"y"), 0)
        self.assertLess(resident_bytes(d.process.pid), 1024 * MEGABYTE)
        for _ in range(30):  # and they go on as they are read
            self.assertEqual(len(conn.recv_frame()), 20 * (9 + 4 + MEGABYTE - 100 + 68) + 16 + 9)
        self.assertLess(resident_bytes(d.process.pid), 1024 * MEGABYTE)
        self.assertEqual(get(other, "/"), b"y")
        d.stop()

    def test_a_long_listing_may_be_read_slowly(self):
        d = self.start("-DtickTime=200")
        other = d.connect()
        create_many(other, ["/list"])
        create_many(other, ["/list/%04d" % i + "n" * 3996 for i in range(9000)], at_once=200)
        conn = z.Conn(d.port, rcvbuf=65536)
        conn.handshake(timeout_ms=3000)
        conn.sock.sendall(z.enc_request(1, z.GET_CHILDREN, {"path": "/list", "watch": False}))
        n = 0
        size = 16 + 4 + 9000 * 4004
        while n < size + 4:
            part = conn.sock.recv(65536)
            self.assertTrue(part, "cut off after %d of %d bytes" % (n, size))
            n += len(part)
            time.sleep(0.006)
        self.assertEqual(n, size + 4)
        self.assertEqual(conn.call(z.PING)[0].err, 0)  # the session is still there
        d.stop()


class Away(daemon.TestCase):
    def test_a_server_that_was_stopped_blames_nobody(self):
        d = self.start("-DtickTime=200")
        here = d.connect(timeout_ms=3000)
        gone = d.connect(timeout_ms=3000)
        for conn, path in ((here, "/here"), (gone, "/gone")):
            self.assertEqual(create(conn, path, b"", daemon.EPHEMERAL), 0)
        d.signal(signal.SIGSTOP)
        gone.close()
        again = z.Conn(d.port)
        again.send_connect(timeout_ms=3000, session_id=gone.session_id, passwd=gone.passwd)
        for _ in range(8):
            here.send(z.PING)
            time.sleep(0.5)
        d.signal(signal.SIGCONT)
        for _ in range(8):
            self.assertEqual(here.recv().err, 0)
        self.assertEqual(again.recv_connect()["sessionId"], gone.session_id)
        self.assertEqual(get(again, "/gone"), b"")
        self.assertEqual(get(here, "/here"), b"")
        self.assertNotIn("Expiring", d.log())
        d.stop()


if __name__ == "__main__":
    daemon.main()
