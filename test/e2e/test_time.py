#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What time does: sessions that expire, nodes with a time to live, empty containers.

On a busy machine everything may be late, so these tests hold the server to what must not be early,
and to what must come in the end. How late is too late is tested in simulated time
(test/component/test_member.c). Watches are set before what they wait for, and what has to reach the
server within a time leaves in one write with what started it."""
import time

import daemon
from daemon import create, get, wait_until, z

CREATED, DELETED, PERSISTENT_WATCH = 1, 2, 0

# Sessions may be short, and those of onlookers long all the same.
SHORT_TICKS = ("-DtickTime=200", "-DmaxSessionTimeout=600000")


def watch(conn, path):
    """From now on conn hears all about this node."""
    assert conn.call(z.ADD_WATCH, {"path": path, "mode": PERSISTENT_WATCH})[0].err == 0


def heard(conn, kind, path):
    """Waits for this event, and no other; when it came."""
    event = conn.recv()
    assert isinstance(event, z.Event) and (event.type, event.path) == (kind, path), event
    return time.monotonic()


def make_ephemeral(port, path, timeout_ms):
    """A new session and its node, in one write: it cannot expire in between."""
    conn = z.Conn(port)
    with conn.one_write():
        conn.send_connect(timeout_ms)
        conn.send(z.CREATE, {"path": path, "data": b"", "acl": daemon.OPEN_ACL,
                             "flags": daemon.EPHEMERAL})
    granted = conn.recv_connect()["timeOut"]
    assert granted == timeout_ms, granted
    assert conn.recv().err == 0
    return conn


class Sessions(daemon.TestCase):
    def test_a_silent_session_expires_after_its_timeout(self):
        d = self.start(*SHORT_TICKS)
        watcher = d.connect(timeout_ms=600000)
        for timeout in (0.4, 1.0, 1.7):
            path = "/e%.1f" % timeout
            watch(watcher, path)
            asked = time.monotonic()
            silent = make_ephemeral(d.port, path, int(timeout * 1000))
            heard(watcher, CREATED, path)
            self.assertGreaterEqual(heard(watcher, DELETED, path) - asked, timeout)
            silent.wait_closed()  # the server closes the connection of an expired session
            self.assertIn("Expiring session 0x%x, timeout of %dms exceeded"
                          % (silent.session_id & (1 << 64) - 1, timeout * 1000), d.log())
        d.stop()

    def pinged_in_time(self, d, timeout):
        """Pings for three timeouts. False: we were too slow ourselves, and nothing is shown."""
        conn = make_ephemeral(d.port, "/e", int(timeout * 1000))
        began = last = time.monotonic()
        try:
            while last < began + 3 * timeout:
                self.assertEqual(conn.call(z.PING)[0].err, 0)
                before, last = last, time.monotonic()
                if last - before > timeout:
                    return False
            conn.close()
            again = z.Conn(d.port)
            answer = again.handshake(timeout_ms=int(timeout * 1000), session_id=conn.session_id,
                                     passwd=conn.passwd)
        except z.Closed:
            self.assertGreater(time.monotonic() - last, timeout)
            return False
        if time.monotonic() - last > timeout:
            return False
        self.assertEqual(answer["sessionId"], conn.session_id)
        self.assertEqual(get(again, "/e"), b"")
        return True

    def test_pings_keep_a_session_alive_and_a_lost_connection_does_not_end_it(self):
        d = self.start(*SHORT_TICKS)
        watcher = d.connect(timeout_ms=600000)
        wait_until(lambda: get(watcher, "/e") is None and self.pinged_in_time(d, 2.0),
                   "a moment in which this test gets to run")
        d.stop()

    def test_sessions_of_before_a_restart_expire_too(self):
        d = self.start(*SHORT_TICKS)
        conn = make_ephemeral(d.port, "/e", 4000)
        d.process.kill()
        d.process.wait()
        d = self.start(*SHORT_TICKS)
        watcher = d.connect(timeout_ms=600000)
        wait_until(lambda: get(watcher, "/e") is None, "the end of the old session")
        late = z.Conn(d.port)
        answer = late.handshake(session_id=conn.session_id, passwd=conn.passwd)
        self.assertEqual((answer["sessionId"], answer["timeOut"]), (0, 0))
        d.stop()

    def test_a_thousand_expire_together(self):
        d = self.start(*SHORT_TICKS, "-DmaxClientCnxns=0")
        conns = [make_ephemeral(d.port, "/e%d" % i, 1000) for i in range(1000)]
        watcher = d.connect(timeout_ms=600000)
        wait_until(lambda: daemon.children(watcher, "/") == ["zookeeper"], "the end of all")
        for conn in conns:
            conn.wait_closed()
        d.stop()

    def test_connections_without_a_session_are_closed(self):
        d = self.start("-Dnio.sessionlessCnxnTimeout=500")
        began = time.monotonic()
        conn = z.Conn(d.port)
        conn.wait_closed()
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        d.stop()


class Reaping(daemon.TestCase):
    def start_reaper(self, interval_ms, *args):
        return self.start("-Dznode.container.checkIntervalMs=%d" % interval_ms,
                          "-DextendedTypesEnabled=true", *args)

    def watched(self, conn, path, create_it):
        """Makes a node under a watch that stays; when that was asked for."""
        watch(conn, path)
        began = time.monotonic()
        reply, events = create_it()
        self.assertEqual(reply.err, 0)
        if not events:
            heard(conn, CREATED, path)
        return began

    def make_ttl(self, conn, path, ttl_ms):
        fields = {"path": path, "data": b"", "acl": daemon.OPEN_ACL, "flags": daemon.TTL,
                  "ttl": ttl_ms}
        return self.watched(conn, path, lambda: conn.call(z.CREATE_TTL, fields))

    def rounds(self, conn, n):
        """The reaper has gone round at least `n` times: each removes a container made for it."""
        for i in range(n):
            path = "/round%d" % i
            self.assertEqual(create(conn, path, b"", daemon.CONTAINER), 0)
            self.assertEqual(create(conn, path + "/child"), 0)
            self.assertEqual(daemon.delete(conn, path + "/child"), 0)
            wait_until(lambda p=path: get(conn, p) is None, "a round of the reaper")

    def test_a_node_with_a_time_to_live(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/long", b"", daemon.TTL, ttl=3600000), 0)
        began = self.make_ttl(conn, "/ttl", 600)
        took = heard(conn, DELETED, "/ttl") - began
        self.assertGreaterEqual(took, 0.59)  # the server counts whole milliseconds
        self.assertEqual(get(conn, "/long"), b"")
        d.stop()

    def test_a_child_postpones_it(self):
        d = self.start_reaper(100)
        conn = d.connect()
        with conn.one_write():  # a node and its child
            conn.send(z.CREATE_TTL, {"path": "/due", "data": b"", "acl": daemon.OPEN_ACL,
                                     "flags": daemon.TTL, "ttl": 500})
            conn.send(z.CREATE, {"path": "/due/child", "data": b"", "acl": daemon.OPEN_ACL,
                                 "flags": daemon.PERSISTENT})
        self.assertEqual([conn.recv().err, conn.recv().err], [0, 0])
        self.make_ttl(conn, "/after", 600)  # is gone when the other one's time is over, too
        heard(conn, DELETED, "/after")
        self.assertEqual(get(conn, "/due"), b"")
        self.assertEqual(daemon.delete(conn, "/due/child"), 0)
        wait_until(lambda: get(conn, "/due") is None, "the end of a childless node")
        d.stop()

    def test_a_change_postpones_it(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/set", b"", daemon.TTL, ttl=1200), 0)
        began = time.monotonic()
        for i in range(5):
            asked = time.monotonic()
            if daemon.set_data(conn, "/set", b"%d" % i) != 0:
                break  # we were too slow ourselves; what comes below holds all the same
            began = asked
            self.rounds(conn, 1)
        wait_until(lambda: get(conn, "/set") is None, "the end of a node that nobody changes")
        self.assertGreaterEqual(time.monotonic() - began, 1.19)
        d.stop()

    def test_it_survives_a_restart(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/ttl", b"", daemon.TTL, ttl=700), 0)
        d.stop()
        d = self.start_reaper(100)
        conn = d.connect()
        wait_until(lambda: get(conn, "/ttl") is None, "the end of a node of before")
        d.stop()

    def test_without_extended_types_there_is_no_time_to_live(self):
        d = self.start()
        self.assertEqual(create(d.connect(), "/ttl", b"", daemon.TTL, ttl=600), z.UNIMPLEMENTED)
        d.stop()

    def test_a_container_goes_with_its_last_child(self):
        d = self.start_reaper(200)
        conn = d.connect()
        self.assertEqual(create(conn, "/box", b"", daemon.CONTAINER), 0)
        self.rounds(conn, 3)
        self.assertEqual(get(conn, "/box"), b"")  # one that never had a child stays
        self.assertEqual(create(conn, "/box/a"), 0)
        self.rounds(conn, 2)
        self.assertEqual(get(conn, "/box"), b"")
        self.assertEqual(daemon.delete(conn, "/box/a"), 0)
        wait_until(lambda: get(conn, "/box") is None, "the end of an empty container")
        d.stop()

    def test_one_that_never_had_a_child_goes_when_told(self):
        d = self.start_reaper(100, "-Dznode.container.maxNeverUsedIntervalMs=500")
        conn = d.connect()
        fields = {"path": "/box", "data": b"", "acl": daemon.OPEN_ACL, "flags": daemon.CONTAINER}
        began = self.watched(conn, "/box", lambda: conn.call(z.CREATE_CONTAINER, fields))
        self.assertGreaterEqual(heard(conn, DELETED, "/box") - began, 0.49)
        d.stop()


if __name__ == "__main__":
    daemon.main()
