#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What time does: sessions that expire, nodes with a time to live, empty containers."""
import time

import daemon
from daemon import create, get, wait_until, z

# What a busy machine may add to any of these times; never subtracted.
SLACK = 1.0


def event_at(conn):
    """When the next event comes."""
    conn.set_timeout(daemon.WAIT_SECONDS)
    event = conn.recv()
    assert isinstance(event, z.Event), event
    return time.monotonic(), event


class Sessions(daemon.TestCase):
    def test_a_silent_session_expires_within_its_timeout_and_a_tick(self):
        tick = 0.2
        d = self.start("-DtickTime=%d" % (tick * 1000))
        for timeout in (0.4, 1.0, 1.7):
            watcher = d.connect(timeout_ms=4000)
            silent = z.Conn(d.port)
            granted = silent.handshake(timeout_ms=int(timeout * 1000))["timeOut"] / 1000
            self.assertEqual(granted, timeout)
            asked = time.monotonic()
            self.assertEqual(create(silent, "/e", b"", daemon.EPHEMERAL), 0)
            heard = time.monotonic()  # by the server, between these two
            watcher.call(z.EXISTS, {"path": "/e", "watch": True})
            at, event = event_at(watcher)
            self.assertEqual((event.type, event.path), (2, "/e"))
            self.assertGreaterEqual(at - asked, timeout)
            self.assertLessEqual(at - heard, timeout + tick + SLACK)
            silent.wait_closed()  # the server closes the connection of an expired session
            self.assertIn("Expiring session 0x%x, timeout of %dms exceeded"
                          % (silent.session_id & (1 << 64) - 1, granted * 1000), d.log())
        d.stop()

    def test_pings_keep_a_session_alive_and_a_lost_connection_does_not_end_it(self):
        d = self.start("-DtickTime=200")
        conn = d.connect(timeout_ms=1000)
        self.assertEqual(create(conn, "/e", b"", daemon.EPHEMERAL), 0)
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            self.assertEqual(conn.call(z.PING)[0].err, 0)
            time.sleep(0.1)
        conn.close()
        again = z.Conn(d.port)
        answer = again.handshake(timeout_ms=1000, session_id=conn.session_id, passwd=conn.passwd)
        self.assertEqual(answer["sessionId"], conn.session_id)
        self.assertEqual(get(again, "/e"), b"")
        d.stop()

    def test_sessions_of_before_a_restart_expire_too(self):
        d = self.start("-DtickTime=200")
        conn = d.connect(timeout_ms=800)
        self.assertEqual(create(conn, "/e", b"", daemon.EPHEMERAL), 0)
        d.process.kill()
        d.process.wait()
        d = self.start("-DtickTime=200")
        watcher = d.connect(timeout_ms=4000)
        began = time.monotonic()
        self.assertEqual(get(watcher, "/e"), b"")
        watcher.call(z.EXISTS, {"path": "/e", "watch": True})
        at, event = event_at(watcher)
        self.assertEqual((event.type, event.path), (2, "/e"))
        self.assertLessEqual(at - began, 0.8 + 0.2 + SLACK)
        late = z.Conn(d.port)
        answer = late.handshake(session_id=conn.session_id, passwd=conn.passwd)
        self.assertEqual((answer["sessionId"], answer["timeOut"]), (0, 0))
        d.stop()

    def test_a_thousand_expire_together(self):
        d = self.start("-DtickTime=200", "-DmaxClientCnxns=0")
        conns = [d.connect(timeout_ms=1000) for _ in range(1000)]
        for i, conn in enumerate(conns):
            conn.send(z.CREATE, {"path": "/e%d" % i, "data": b"", "acl": daemon.OPEN_ACL,
                                 "flags": daemon.EPHEMERAL})
        for conn in conns:
            self.assertEqual(conn.recv().err, 0)
        watcher = d.connect(timeout_ms=4000)
        wait_until(lambda: daemon.children(watcher, "/") == ["zookeeper"], "the end of all")
        d.stop()

    def test_connections_without_a_session_are_closed(self):
        d = self.start("-Dnio.sessionlessCnxnTimeout=500")
        conn = z.Conn(d.port)
        conn.set_timeout(daemon.WAIT_SECONDS)
        began = time.monotonic()
        conn.wait_closed()
        self.assertGreaterEqual(time.monotonic() - began, 0.4)
        self.assertLessEqual(time.monotonic() - began, 0.5 + 0.5 + SLACK)
        d.stop()


class Reaping(daemon.TestCase):
    def start_reaper(self, interval_ms, *args):
        return self.start("-Dznode.container.checkIntervalMs=%d" % interval_ms,
                          "-DextendedTypesEnabled=true", *args)

    def deleted_after(self, conn, path, since=None):
        """Seconds from `since`, or from now, until the node is gone."""
        began = since or time.monotonic()
        conn.call(z.EXISTS, {"path": path, "watch": True})
        at, event = event_at(conn)
        self.assertEqual((event.type, event.path), (2, path))
        return at - began

    def test_a_node_with_a_time_to_live(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/long", b"", daemon.TTL, ttl=60000), 0)
        began = time.monotonic()
        self.assertEqual(create(conn, "/ttl", b"", daemon.TTL, ttl=600), 0)
        took = self.deleted_after(conn, "/ttl", began)
        self.assertGreaterEqual(took, 0.59)  # the server counts whole milliseconds
        self.assertLessEqual(took, 0.6 + 0.1 + SLACK)
        self.assertEqual(get(conn, "/long"), b"")
        d.stop()

    def test_a_child_and_a_change_postpone_it(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/ttl", b"", daemon.TTL, ttl=500), 0)
        self.assertEqual(create(conn, "/ttl/child"), 0)
        time.sleep(1.0)  # twice its time: a node with a child stays
        self.assertEqual(get(conn, "/ttl"), b"")
        self.assertEqual(daemon.delete(conn, "/ttl/child"), 0)
        self.assertLessEqual(self.deleted_after(conn, "/ttl"), 0.5 + 0.1 + SLACK)
        self.assertEqual(create(conn, "/set", b"", daemon.TTL, ttl=1200), 0)
        for i in range(5):
            time.sleep(0.4)
            began = time.monotonic()
            self.assertEqual(daemon.set_data(conn, "/set", b"%d" % i), 0)
        self.assertGreaterEqual(self.deleted_after(conn, "/set", began), 1.19)
        d.stop()

    def test_it_survives_a_restart(self):
        d = self.start_reaper(100)
        conn = d.connect()
        self.assertEqual(create(conn, "/ttl", b"", daemon.TTL, ttl=700), 0)
        d.stop()
        d = self.start_reaper(100)
        self.assertLessEqual(self.deleted_after(d.connect(), "/ttl"), 0.7 + 0.1 + SLACK)
        d.stop()

    def test_without_extended_types_there_is_no_time_to_live(self):
        d = self.start()
        self.assertEqual(create(d.connect(), "/ttl", b"", daemon.TTL, ttl=600), z.UNIMPLEMENTED)
        d.stop()

    def test_a_container_goes_with_its_last_child(self):
        d = self.start_reaper(200)
        conn = d.connect()
        self.assertEqual(create(conn, "/box", b"", daemon.CONTAINER), 0)
        time.sleep(0.6)  # three rounds: one that never had a child stays
        self.assertEqual(get(conn, "/box"), b"")
        self.assertEqual(create(conn, "/box/a"), 0)
        time.sleep(0.5)
        self.assertEqual(get(conn, "/box"), b"")
        self.assertEqual(daemon.delete(conn, "/box/a"), 0)
        self.assertLessEqual(self.deleted_after(conn, "/box"), 0.4 + SLACK)
        d.stop()

    def test_one_that_never_had_a_child_goes_when_told(self):
        d = self.start_reaper(100, "-Dznode.container.maxNeverUsedIntervalMs=500")
        conn = d.connect()
        began = time.monotonic()
        self.assertEqual(create(conn, "/box", b"", daemon.CONTAINER), 0)
        took = self.deleted_after(conn, "/box", began)
        self.assertGreaterEqual(took, 0.49)
        self.assertLessEqual(took, 0.5 + 0.1 + SLACK)
        d.stop()


if __name__ == "__main__":
    daemon.main()
