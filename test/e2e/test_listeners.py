#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Where clients connect: addresses, IPv6, a Unix socket, several at once, and how many may."""
import os
import socket
import stat

import daemon
from daemon import AnyConn, connect_unix, has_ipv6, opened, run, z


def own_address():
    """An address of this machine besides the loopback one, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))  # nothing is sent
        except OSError:
            return None
        address = s.getsockname()[0]
        return None if address.startswith("127.") else address


def reaches(address, port):
    try:
        with socket.create_connection((address, port), timeout=5):
            return True
    except OSError:
        return False


class Addresses(daemon.TestCase):
    def talk(self, conn, path):
        self.assertEqual(daemon.create(conn, path, b"data"), 0)
        self.assertEqual(daemon.get(conn, path), b"data")

    def test_all_addresses_by_default(self):
        d = self.start()
        self.assertTrue(reaches("127.0.0.1", d.port))
        self.assertTrue(reaches("127.0.0.2", d.port))
        if has_ipv6():
            self.talk(opened(AnyConn(socket.create_connection(("::1", d.port)))), "/six")
        self.talk(d.connect(), "/four")
        d.stop()

    def start_apart(self, address, other):
        """A server at one address only, whose port nobody else has at the other."""
        for _ in range(20):
            d = self.start("-DclientPortAddress=" + address)
            s = socket.socket()
            self.addCleanup(s.close)
            try:
                s.bind((other, d.port))  # and does not listen
                return d
            except OSError:
                d.stop()
        self.fail("%s is always taken together with %s" % (other, address))

    def test_one_address_only(self):
        d = self.start_apart("127.0.0.2", "127.0.0.1")
        self.assertTrue(reaches("127.0.0.2", d.port))
        self.assertFalse(reaches("127.0.0.1", d.port))
        if own_address():
            self.assertFalse(reaches(own_address(), d.port))
        d.stop()

    def test_a_name(self):
        d = self.start_apart("localhost", "127.0.0.2")
        self.assertTrue(reaches("127.0.0.1", d.port))  # though localhost is ::1 as well
        self.assertFalse(reaches("127.0.0.2", d.port))
        d.stop()

    def test_ipv6(self):
        if not has_ipv6():
            self.skipTest("this machine has no IPv6")
        for text in ("::1", "[::1]"):
            d = self.start_file("dataDir=%s\nclientPort=0\nclientPortAddress=%s\n"
                                % (self.data, text), port=None)
            d.port = int(d.process.stdout.readline())
            conn = opened(AnyConn(socket.create_connection(("::1", d.port))))
            self.talk(conn, "/six" + str(len(text)))
            self.assertFalse(reaches("127.0.0.1", d.port))
            d.stop()

    def test_ipv6_and_ipv4_addresses_count_apart_for_acls(self):
        if not has_ipv6():
            self.skipTest("this machine has no IPv6")
        d = self.start()
        four = d.connect()
        acl = [z.acl(31, "ip", "127.0.0.1")]
        fields = {"path": "/mine", "data": b"", "acl": acl, "flags": 0}
        self.assertEqual(four.call(z.CREATE, fields)[0].err, 0)
        self.assertEqual(daemon.set_data(four, "/mine", b"x"), 0)
        six = opened(AnyConn(socket.create_connection(("::1", d.port))))
        self.assertEqual(daemon.set_data(six, "/mine", b"y"), z.NO_AUTH)
        d.stop()


class UnixSocket(daemon.TestCase):
    def setUp(self):
        super().setUp()
        self.path = os.path.join(self.dir, "client.sock")

    def test_beside_the_port(self):
        d = self.start("-DclientUnixSocket=" + self.path)
        over_unix = opened(AnyConn(connect_unix(self.path)))
        over_tcp = d.connect()
        over_unix.call(z.EXISTS, {"path": "/a", "watch": True})
        self.assertEqual(daemon.create(over_tcp, "/a", b"1"), 0)
        event = over_unix.recv()
        self.assertEqual((event.type, event.path), (1, "/a"))
        self.assertEqual(daemon.get(over_unix, "/a"), b"1")
        self.assertIn("Mode: standalone",
                      daemon.four_letter_word(connect_unix(self.path), "srvr"))
        d.stop()
        self.assertFalse(os.path.exists(self.path))

    def test_instead_of_the_port(self):
        d = self.start_file("dataDir=%s\nclientUnixSocket=%s\n" % (self.data, self.path),
                            port=None)
        d.wait_log("binding to socket")
        self.assertEqual(daemon.create(opened(AnyConn(connect_unix(self.path))), "/a"), 0)
        self.assertNotIn("binding to port", d.log())
        d.stop()

    def test_one_that_a_killed_server_left_is_replaced(self):
        d = self.start("-DclientUnixSocket=" + self.path)
        d.process.kill()
        d.process.wait()
        self.assertTrue(stat.S_ISSOCK(os.stat(self.path).st_mode))
        d = self.start("-DclientUnixSocket=" + self.path)
        opened(AnyConn(connect_unix(self.path)))
        d.stop()

    def test_one_in_use_is_left_alone(self):
        d = self.start("-DclientUnixSocket=" + self.path)
        code, _, err = run("--data", self.data + "2", "--port", "0",
                           "-DclientUnixSocket=" + self.path)
        self.assertEqual(code, 1)
        self.assertContains(err, self.path, "another process listens there")
        opened(AnyConn(connect_unix(self.path)))
        d.stop()

    def test_a_file_of_that_name_is_not_removed(self):
        self.file("client.sock", "precious")
        code, _, err = run("--data", self.data, "--port", "0", "-DclientUnixSocket=" + self.path)
        self.assertEqual(code, 1)
        self.assertContains(err, self.path, "taken by something else")
        with open(self.path) as f:
            self.assertEqual(f.read(), "precious")

    def test_a_folder_that_is_missing_and_a_path_too_long(self):
        path = os.path.join(self.dir, "no/such/client.sock")
        code, _, err = run("--data", self.data, "--port", "0", "-DclientUnixSocket=" + path)
        self.assertEqual(code, 1)
        self.assertContains(err, path, "No such file or directory")
        code, _, err = run("--data", self.data, "--port", "0", "-DclientUnixSocket=/" + "x" * 200)
        self.assertEqual(code, 2)
        self.assertIn("107 bytes", err)


class HowMany(daemon.TestCase):
    def refused(self, d, connect=None):
        """True when a new connection is closed without a word."""
        try:
            conn = z.Conn(d.port) if connect is None else AnyConn(connect())
            conn.handshake()
        except (z.Closed, OSError):
            return True
        conn.close()
        return False

    def test_connections_per_address(self):
        d = self.start("-DmaxClientCnxns=3", "-D4lw.commands.whitelist=*",
                       "-DclientUnixSocket=" + os.path.join(self.dir, "s"))
        conns = [d.connect() for _ in range(3)]
        for _ in range(5):
            self.assertTrue(self.refused(d))
        self.assertIn("Too many connections from /127.0.0.1 - max is 3", d.log())
        self.assertEqual(d.log().count("Too many connections"), 1)  # said once
        # another address, and the Unix socket, have a count of their own
        other = socket.create_connection(("127.0.0.1", d.port), source_address=("127.0.0.2", 0))
        opened(AnyConn(other))
        opened(AnyConn(connect_unix(os.path.join(self.dir, "s"))))
        conns.pop().close()
        daemon.wait_until(lambda: not self.refused(d), "a place")
        for conn in conns:
            self.assertEqual(daemon.get(conn, "/"), b"")
        d.stop()

    def test_connections_in_all(self):
        d = self.start("-DmaxCnxns=4", "-DmaxClientCnxns=0")
        conns = [d.connect() for _ in range(4)]
        self.assertTrue(self.refused(d))
        self.assertTrue(self.refused(d, lambda: socket.create_connection(
            ("127.0.0.1", d.port), source_address=("127.0.0.2", 0))))
        conns.pop().close()
        daemon.wait_until(lambda: not self.refused(d), "a place")
        d.stop()

    def test_sixty_per_address_by_default(self):
        d = self.start()
        conns = [d.connect() for _ in range(60)]
        self.assertTrue(self.refused(d))
        self.assertEqual(len(conns), 60)
        d.stop()

    def test_no_limit(self):
        d = self.start("-DmaxClientCnxns=0")
        conns = [d.connect() for _ in range(300)]
        for conn in conns:
            self.assertEqual(daemon.get(conn, "/"), b"")
        d.stop()

    def test_out_of_descriptors_the_others_are_served(self):
        import resource

        def few_files():
            resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))  # for thirty, and some of those

        d = self.start("-DmaxClientCnxns=0", preexec=few_files)
        conns = []
        for _ in range(30):
            conns.append(d.connect())
        waiting = [socket.create_connection(("127.0.0.1", d.port)) for _ in range(100)]
        d.wait_log("no file descriptor left for a new connection")
        for i, conn in enumerate(conns):
            self.assertEqual(daemon.create(conn, "/n%d" % i), 0)
        for s in waiting:
            s.close()
        self.assertEqual(daemon.get(d.connect(), "/n1"), b"")  # and then new ones are again
        d.stop()


if __name__ == "__main__":
    daemon.main()
