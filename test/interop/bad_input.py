#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input: what a client must not do, done to a live server.

    bad_input.py --server apache|pawld [test ...]

Each test expects the answer Apache's server gives (both servers are run with the same tests) or a
closed connection, and that another client, the witness, is served on. At the end memory and the
number of log lines must have stayed within bounds; those, and the treatment of clients that never
read, are asked of pawld only: Apache's server has no such bounds.
"""
import argparse
import os
import random
import resource
import select
import socket
import struct
import sys
import time

import servers
import zkwire as zk
from patience import PATIENCE_SECONDS, wait_until

MAX_BUFFER = 0xFFFFF
ANSWER_SECONDS = 60.0
SESSIONLESS_MS = 60000  # nobody is to be closed for its slowness
HASTY_MS = 2000         # except where that is the point
SESSION_MS = 600000
HALF_OPEN = 5000
WATCHES = 100000
RSS_GROWTH_KB = 300 * 1024
LOG_LINES = 2000

SAMPLE_ACL = zk.WORLD_ALL
PATH = {"path": "/t/x"}
SAMPLES = {  # a good request of every kind that has a body
    zk.CREATE: dict(PATH, data=b"d", acl=SAMPLE_ACL, flags=0),
    zk.CREATE2: dict(PATH, data=b"d", acl=SAMPLE_ACL, flags=0),
    zk.CREATE_CONTAINER: dict(PATH, data=b"d", acl=SAMPLE_ACL, flags=4),
    zk.CREATE_TTL: dict(PATH, data=b"d", acl=SAMPLE_ACL, flags=5, ttl=1000),
    zk.DELETE: dict(PATH, version=-1),
    zk.EXISTS: dict(PATH, watch=False),
    zk.GET_DATA: dict(PATH, watch=False),
    zk.SET_DATA: dict(PATH, data=b"d", version=-1),
    zk.GET_ACL: PATH,
    zk.SET_ACL: dict(PATH, acl=SAMPLE_ACL, version=-1),
    zk.GET_CHILDREN: dict(PATH, watch=False),
    zk.GET_CHILDREN2: dict(PATH, watch=False),
    zk.SYNC: PATH,
    zk.CHECK_WATCHES: dict(PATH, type=3),
    zk.REMOVE_WATCHES: dict(PATH, type=3),
    zk.SET_WATCHES: dict(relativeZxid=0, data=["/a"], exist=["/b"], child=["/c"]),
    zk.SET_WATCHES2: dict(relativeZxid=0, data=["/a"], exist=[], child=[], persistent=["/b"],
                          recursive=["/c"]),
    zk.ADD_WATCH: dict(PATH, mode=0),
    zk.GET_EPHEMERALS: PATH,
    zk.GET_ALL_CHILDREN_NUMBER: PATH,
    zk.MULTI: dict(ops=[(zk.CHECK, dict(PATH, version=-1)), (zk.DELETE, dict(PATH, version=-1))]),
    zk.MULTI_READ: dict(ops=[(zk.GET_DATA, dict(PATH, watch=False))]),
}


class Failure(Exception):
    pass


def expect(condition, text, *args):
    if not condition:
        raise Failure(text % args)


class Ground:
    """The server under test and the witness."""

    def __init__(self, kind, sessionless_ms=SESSIONLESS_MS):
        self.kind = kind
        self.server = servers.make(kind, config={
            "extendedTypesEnabled": "true", "forceSync": "no",
            "maxSessionTimeout": str(SESSION_MS),
            "nio.sessionlessCnxnTimeout": str(sessionless_ms)})
        self.server.start()
        self.port = self.server.port
        self.witness = self.session(timeout_ms=SESSION_MS)
        for path in ("/t", "/witness"):
            self.witness.call(zk.CREATE, dict(path=path, data=b"", acl=zk.WORLD_ALL, flags=0))
        self.beats = 0
        self.start_rss_kb = self.server.rss_kb()

    @property
    def is_pawl(self):
        return self.kind == "pawld"

    def conn(self, **kwargs):
        return zk.Conn(self.port, timeout=ANSWER_SECONDS, **kwargs)

    def session(self, rcvbuf=None, **kwargs):
        conn = self.conn(rcvbuf=rcvbuf)
        answer = conn.handshake(**kwargs)
        expect(answer["timeOut"] > 0, "no session: %r", answer)
        return conn

    def check_witness(self):
        """Another client is served: a write, and the read that shows it."""
        self.beats += 1
        data = b"%d" % self.beats
        reply, _ = self.witness.call(zk.SET_DATA, dict(path="/witness", data=data, version=-1))
        expect(reply.err == 0, "witness cannot write: %r", reply)
        reply, _ = self.witness.call(zk.GET_DATA, dict(path="/witness", watch=False))
        expect(reply.body["data"] == data, "witness reads %r", reply)

    def n_server_fds(self):
        return len(os.listdir("/proc/%d/fd" % self.server.pid))


def expect_closed(conn, what):
    try:
        rest = conn.wait_closed()
    except zk.Timeout:
        raise Failure("%s: not closed" % what) from None
    expect(rest == b"", "%s: closed after %s", what, rest.hex())
    conn.close()


def expect_alive(conn, what):
    try:
        reply, _ = conn.call(zk.PING)
    except (zk.Closed, zk.Timeout, zk.Malformed) as e:
        raise Failure("%s: the connection is unusable afterwards (%r)" % (what, e)) from None
    expect(reply.err == 0, "%s: ping answered %r", what, reply)


def try_send(conn, data):
    """The server may have closed already; that is for the caller to see."""
    try:
        conn.send_raw(data)
    except zk.Closed:
        pass


# -- framing --------------------------------------------------------------------------------------

def test_garbage(ground):
    rng = random.Random(1)
    for i in range(300):
        conn = ground.conn()
        first = rng.choice([rng.randrange(0x00100000, 0x60000000), rng.randrange(-2**31, 0)])
        try_send(conn, struct.pack(">i", first) + rng.randbytes(rng.randrange(1, 200)))
        expect_closed(conn, "garbage %d" % i)


def test_lengths(ground):
    for length in (-1, -2**31, MAX_BUFFER + 1, 2**31 - 1):
        for shaken in (False, True):
            conn = ground.session() if shaken else ground.conn()
            conn.send_raw(struct.pack(">i", length))
            expect_closed(conn, "length %d, handshake %s" % (length, shaken))


def test_short_frames(ground):
    for n in range(8):
        conn = ground.session()
        conn.send_raw(zk.frame(bytes(n)))
        expect_closed(conn, "frame of %d bytes" % n)


def test_largest_frame(ground):
    conn = ground.session()
    fields = dict(path="/t/big", data=b"", acl=zk.WORLD_ALL, flags=0)
    room = MAX_BUFFER - 8 - len(zk.enc_body(zk.CREATE, fields))
    fields["data"] = bytes(room)
    reply, _ = conn.call(zk.CREATE, fields)
    expect(reply.err == 0, "frame of jute.maxbuffer: %r", reply)
    reply, _ = conn.call(zk.DELETE, dict(path="/t/big", version=-1))
    expect(reply.err == 0, "delete: %r", reply)
    fields["data"] = bytes(room + 1)
    try_send(conn, zk.enc_request(9, zk.CREATE, fields))
    expect_closed(conn, "frame of jute.maxbuffer + 1")


def test_short_handshakes(ground):
    good = zk.enc_record("ConnectRequest", dict(protocolVersion=0, lastZxidSeen=0, timeOut=30000,
                                                sessionId=0, passwd=bytes(16)))
    for cut in range(len(good)):
        conn = ground.conn()
        conn.send_raw(zk.frame(good[:cut]))
        expect_closed(conn, "ConnectRequest cut at %d" % cut)
    for length in (-2, 2**31 - 1, 17):
        conn = ground.conn()
        conn.send_raw(zk.frame(good[:24] + struct.pack(">i", length) + bytes(16)))
        expect_closed(conn, "password of length %d" % length)


def test_requests_before_handshake(ground):
    for op, fields in SAMPLES.items():
        conn = ground.conn()
        conn.send_raw(zk.enc_request(1, op, fields))
        try:
            data = conn.recv_frame()
            expect(len(data) in (36, 37), "%s first: answered %s", zk.op_name(op), data.hex())
        except zk.Closed:
            pass
        except zk.Timeout:
            raise Failure("%s first: neither answered nor closed" % zk.op_name(op)) from None
        conn.close()


def test_requests_behind_handshake(ground):
    """Legal, if impatient: requests sent before the ConnectResponse came."""
    conn = ground.conn()
    conn.send_connect()
    for _ in range(100):
        conn.send(zk.GET_DATA, dict(path="/t", watch=False))
    expect(conn.recv_connect()["timeOut"] > 0, "no session")
    for _ in range(100):
        expect(conn.recv().err == 0, "getData failed")
    conn.close()


def test_resets(ground):
    """Half a frame, then a reset instead of an orderly close."""
    for i in range(500):
        conn = ground.session() if i % 2 else ground.conn()
        conn.send_raw(struct.pack(">i", 1000) + bytes(i))
        conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        conn.close()


# -- records --------------------------------------------------------------------------------------

def test_truncated_records(ground):
    conn = ground.session()
    for op, fields in SAMPLES.items():
        body = zk.enc_body(op, fields)
        for cut in range(len(body)):
            reply, _ = conn.call(op, body=body[:cut])
            expect(reply.err == zk.MARSHALLING, "%s cut at %d: %r", zk.op_name(op), cut, reply)
    expect_alive(conn, "truncated records")
    conn.close()


def test_truncated_auth(ground):
    for op, fields in ((zk.AUTH, dict(type=0, scheme="digest", auth=b"a:b")),
                       (zk.SASL, dict(token=b"abc"))):
        body = zk.enc_body(op, fields)
        for cut in range(len(body)):
            conn = ground.session()
            conn.send(op, body=body[:cut])
            expect_closed(conn, "%s cut at %d" % (zk.op_name(op), cut))


def test_lying_lengths(ground):
    """Counts and lengths inside a record that the frame does not hold."""
    conn = ground.session()
    path = zk.enc_str("/t/x")
    lies = [struct.pack(">i", n) for n in (2**31 - 1, 0x10000000, 100000, -2, -2**31)]
    for lie in lies:
        check_error(conn, zk.CREATE, lie + b"/t/x", "string")
        check_error(conn, zk.CREATE, path + lie + b"data", "buffer")
        check_error(conn, zk.SET_DATA, path + lie + b"data", "buffer")
        check_error(conn, zk.GET_DATA, lie + b"/t\0", "string")
    for lie in lies[:3]:
        check_error(conn, zk.CREATE, path + zk.enc_buf(b"") + lie + bytes(12), "vector")
        check_error(conn, zk.SET_ACL, path + lie + bytes(12), "vector")
        check_error(conn, zk.SET_WATCHES, bytes(8) + lie + bytes(8), "vector")
    for lie in lies[3:]:  # a negative count other than -1 reads as an empty vector
        body = path + zk.enc_buf(b"") + lie + struct.pack(">i", 0)
        reply, _ = conn.call(zk.CREATE, body=body)
        expect(reply.err == -114, "create with ACL count %s: %r", lie.hex(), reply)
    expect_alive(conn, "lying lengths")
    conn.close()


def check_error(conn, op, body, what, err=zk.MARSHALLING):
    reply, _ = conn.call(op, body=body)
    expect(reply.err == err, "%s, %s %s: %r", zk.op_name(op), what, body.hex(), reply)


def test_nulls(ground):
    """null where a value belongs."""
    conn = ground.session()
    for op in (zk.CREATE, zk.CREATE2, zk.CREATE_CONTAINER, zk.CREATE_TTL, zk.DELETE, zk.SET_DATA,
               zk.SET_ACL, zk.EXISTS, zk.GET_DATA, zk.GET_CHILDREN, zk.GET_CHILDREN2, zk.GET_ACL):
        reply, _ = conn.call(op, dict(SAMPLES[op], path=None))
        want = NULL_PATH_ERRORS.get(op, zk.MARSHALLING)
        expect(reply.err == want, "%s of a null path: %r", zk.op_name(op), reply)
    for key in ("data", "exist", "child", "persistent", "recursive"):
        reply, _ = conn.call(zk.SET_WATCHES2, dict(SAMPLES[zk.SET_WATCHES2], **{key: None}))
        expect(reply.err == zk.MARSHALLING, "setWatches2, %s null: %r", key, reply)
    for acl, want in ((None, -114), ([zk.acl(31, None, "x")], -114),
                      ([zk.acl(31, "world", None)], zk.MARSHALLING)):
        reply, _ = conn.call(zk.CREATE, dict(path="/t/n", data=None, acl=acl, flags=0))
        expect(reply.err == want, "create with ACL %r: %r", acl, reply)
    expect_alive(conn, "nulls")
    conn.close()


NULL_PATH_ERRORS = {zk.SET_DATA: zk.BAD_ARGUMENTS, zk.SET_ACL: zk.BAD_ARGUMENTS}


def test_paths_and_acls(ground):
    conn = ground.session()
    for path in ("t", "", "/t/", "//t", "/t/.", "/t/..", "/t/\x01", "/t/\x00", b"/t/\xff"):
        reply, _ = conn.call(zk.CREATE, dict(path=path, data=b"", acl=zk.WORLD_ALL, flags=0))
        expect(reply.err == zk.BAD_ARGUMENTS, "create %r: %r", path, reply)
    for entry in (("world", "x"), ("nope", "x"), ("super", "x"), ("digest", "x"), ("ip", "1.2.3"),
                  ("ip", "1.2.3.4/33"), ("ip", "1.2.3.4/-1"), ("auth", "")):
        reply, _ = conn.call(zk.CREATE, dict(path="/t/a", data=b"", flags=0,
                                             acl=[zk.acl(31, *entry)]))
        expect(reply.err == -114, "create with ACL %s:%s: %r", entry[0], entry[1], reply)
    for op, field, values in ((zk.CREATE, "flags", (7, -1, 2**31 - 1)),
                              (zk.CREATE_TTL, "ttl", (0, -1, 2**40, -2**63))):
        for value in values:
            reply, _ = conn.call(op, dict(SAMPLES[op], **{field: value}))
            expect(reply.err == zk.BAD_ARGUMENTS, "%s %s=%d: %r", zk.op_name(op), field, value,
                   reply)
    expect_alive(conn, "paths and ACLs")
    conn.close()


def test_odd_multis(ground):
    conn = ground.session()
    end = struct.pack(">ibi", -1, 1, -1)
    for kind in (zk.SET_ACL, zk.EXISTS, zk.MULTI, zk.DELETE_CONTAINER, zk.PING, 99, -11):
        body = struct.pack(">ibi", kind, 0, -1) + zk.enc_str("/t") + bytes(8) + end
        check_error(conn, zk.MULTI, body, "multi with op %d" % kind)
        check_error(conn, zk.MULTI_READ, body, "multiRead with op %d" % kind)
    delete = zk.enc_record("PathVersion", dict(path="/t/none", version=-1))
    many = (struct.pack(">ibi", zk.DELETE, 0, -1) + delete) * 30000
    reply, _ = conn.call(zk.MULTI, body=many + end)
    expect(reply.err == 0 and len(reply.body["results"]) == 30000, "multi of 30000: %.200r", reply)
    expect_alive(conn, "odd multis")
    conn.close()


def test_unknown_opcodes(ground):
    ops = [-1, 0, 10, 23, 99, 108, 2**31 - 1, -2**31]
    if ground.is_pawl:  # opcodes that only mean something inside or between servers
        ops += [zk.CHECK, zk.DELETE_CONTAINER, zk.CREATE_SESSION]
    for op in ops:
        conn = ground.session()
        conn.send(op, body=bytes(16))
        reply = conn.recv()
        expect((reply.err, reply.zxid) == (zk.UNIMPLEMENTED, -1), "opcode %d: %r", op, reply)
        expect_closed(conn, "opcode %d" % op)


def test_auth_failures(ground):
    for i in range(300):
        conn = ground.session()
        conn.send(zk.AUTH, dict(type=0, scheme="nope%d" % i, auth=b"x"))
        expect(conn.recv().err == zk.AUTH_FAILED, "auth with an unknown scheme")
        expect_closed(conn, "failed auth")
    for _ in range(300):
        conn = ground.conn()
        answer = conn.handshake(session_id=0x1234, passwd=bytes(16))
        expect(answer["timeOut"] == 0, "unknown session: %r", answer)
        expect_closed(conn, "unknown session")


# -- slow, silent and greedy clients --------------------------------------------------------------

def test_slow_clients(ground):
    """Twenty clients that send a byte at a time are answered all the same."""
    conns = [ground.conn() for _ in range(20)]
    body = zk.enc_record("ConnectRequest", dict(protocolVersion=0, lastZxidSeen=0, timeOut=30000,
                                                sessionId=0, passwd=bytes(16))) + b"\0"
    stream = zk.frame(body) + zk.enc_request(1, zk.GET_DATA, dict(path="/t", watch=False))
    for i in range(len(stream)):
        for conn in conns:
            conn.send_raw(stream[i:i + 1])
        if i % 10 == 0:
            ground.check_witness()
        time.sleep(0.01)  # the slowness is the point here
    for conn in conns:
        conn.expect(1, zk.GET_DATA)
        expect(conn.recv_connect()["timeOut"] > 0, "slow client got no session")
        expect(conn.recv().err == 0, "slow client got no data")
        conn.close()


def test_never_reads(ground):
    """Asks for far more than it reads. The server must not buffer it all, and must drop it."""
    if not ground.is_pawl:
        return "Apache's server buffers without bound"
    size = 256 * 1024
    ground.witness.call(zk.CREATE, dict(path="/t/heavy", data=bytes(size), acl=zk.WORLD_ALL,
                                        flags=0))
    conns = [ground.session(rcvbuf=4096, timeout_ms=4000) for _ in range(8)]
    request = zk.enc_request(1, zk.GET_DATA, dict(path="/t/heavy", watch=False)) * 50
    for conn in conns:
        conn.sock.setblocking(False)
    before, peak = ground.server.rss_kb(), 0
    open_conns, deadline = set(conns), time.monotonic() + PATIENCE_SECONDS
    while open_conns and time.monotonic() < deadline:
        open_conns = {conn for conn in open_conns if push(conn, request)}
        peak = max(peak, ground.server.rss_kb())
        ground.check_witness()
    for conn in conns:
        conn.close()
    ground.witness.call(zk.DELETE, dict(path="/t/heavy", version=-1))
    expect(peak - before < RSS_GROWTH_KB, "memory grew by %d KB", peak - before)
    expect(not open_conns, "%d clients that never read were not dropped in %d s",
           len(open_conns), PATIENCE_SECONDS)


def push(conn, data):
    """Sends what goes; False once the server has closed. Never reads."""
    try:
        conn.sock.send(data)
    except BlockingIOError:
        pass
    except OSError:
        return False
    poll = select.poll()
    poll.register(conn.sock, select.POLLRDHUP)
    events = poll.poll(0)
    return not events


def test_event_backlog(ground):
    """A watcher that never reads its events."""
    if not ground.is_pawl:
        return "Apache's server buffers without bound"
    conn = ground.session(rcvbuf=4096, timeout_ms=SESSION_MS)
    path = "/t/" + "e" * 4000
    ground.witness.call(zk.CREATE, dict(path=path, data=b"", acl=zk.WORLD_ALL, flags=0))
    conn.call(zk.ADD_WATCH, dict(path=path, mode=0))
    before = ground.server.rss_kb()
    for _ in range(400):
        for _ in range(250):
            ground.witness.send(zk.SET_DATA, dict(path=path, data=b"", version=-1))
        for _ in range(250):
            ground.witness.recv()
    grown = ground.server.rss_kb() - before
    conn.close()
    ground.witness.call(zk.DELETE, dict(path=path, version=-1))
    expect(grown < RSS_GROWTH_KB, "400 MB of events not read: memory grew by %d KB", grown)


def test_half_open(ground):
    """Thousands of connections that say nothing, or only a beginning."""
    hasty = Ground(ground.kind, HASTY_MS)
    try:
        half_open(hasty)
    finally:
        hasty.server.close()


def half_open(ground):
    raise_fd_limit(HALF_OPEN + 1000)
    fds, before = ground.n_server_fds(), ground.server.rss_kb()
    socks = []
    try:
        for i in range(HALF_OPEN):
            sock = socket.create_connection(("127.0.0.1", ground.port), timeout=ANSWER_SECONDS)
            if i % 2:
                begin(sock, b"\0\0\0"[:1 + i % 3])
            socks.append(sock)
            if i % 500 == 0:
                ground.check_witness()
        ground.check_witness()
        grown = ground.server.rss_kb() - before
        if ground.is_pawl:
            expect(grown < 100 * 1024, "%d half-open connections cost %d KB", HALF_OPEN, grown)
        wait_until(lambda: ground.n_server_fds() <= fds + 10,
                   "connections without a handshake to be closed")
        for sock in socks[::100]:
            expect(is_closed(sock), "a connection without a handshake looks open")
    finally:
        for sock in socks:
            sock.close()


def begin(sock, data):
    try:
        sock.send(data)
    except ConnectionError:  # its time may be over already
        pass


def is_closed(sock):
    try:
        return sock.recv(1) == b""
    except ConnectionError:
        return True
    except socket.timeout:
        return False


def raise_fd_limit(n):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < n:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(n, hard), hard))


def test_watch_flood(ground):
    """Very many watches of one client, then they go with the connection."""
    before = ground.server.rss_kb()
    conn = ground.session(timeout_ms=SESSION_MS)
    for start in range(0, WATCHES, 1000):
        for i in range(start, start + 1000):
            conn.send(zk.EXISTS, dict(path="/t/w%d" % i, watch=True))
        for _ in range(1000):
            expect(conn.recv().err == zk.NO_NODE, "exists")
    expect(total_watches(ground) >= WATCHES, "watches were not set")
    ground.check_witness()
    grown = ground.server.rss_kb() - before
    if ground.is_pawl:
        expect(grown < 100 * 1024, "%d watches cost %d KB", WATCHES, grown)
    conn.close()
    wait_until(lambda: total_watches(ground) == 0, "watches to go with their connection")


def total_watches(ground):
    text = servers.four_letter_word(ground.port, "wchs")
    return int(text.split("Total watches:")[1])


def test_watch_flood_one_path(ground):
    """One change, a thousand watchers."""
    conns = [ground.session(timeout_ms=SESSION_MS) for _ in range(1000)]
    for conn in conns:
        conn.send(zk.GET_DATA, dict(path="/t", watch=True))
    for conn in conns:
        expect(conn.recv().err == 0, "getData")
    ground.witness.call(zk.SET_DATA, dict(path="/t", data=b"", version=-1))
    for conn in conns:
        event = conn.recv()
        expect(isinstance(event, zk.Event) and event.type == 3, "event expected, got %r", event)
        conn.send(zk.CLOSE_SESSION)
    for conn in conns:
        expect(conn.recv().err == 0, "closeSession")
        conn.close()


TESTS = [value for name, value in sorted(globals().items()) if name.startswith("test_")]


# -- running --------------------------------------------------------------------------------------

def run_test(ground, test):
    """None, or what went wrong."""
    try:
        reason = test(ground)
        ground.check_witness()
        print("ok    %s%s" % (test.__name__, " (left out: %s)" % reason if reason else ""),
              flush=True)
        return None
    except Failure as e:
        text = str(e)
    except (zk.Closed, zk.Timeout, zk.Malformed, OSError) as e:
        text = repr(e)
    print("FAIL  %s: %s" % (test.__name__, text), flush=True)
    return text


def check_bounds(ground):
    grown = ground.server.rss_kb() - ground.start_rss_kb
    lines = ground.server.log_text().count("\n")
    print("memory %d KB at the start, %+d KB at the end; %d log lines" % (
        ground.start_rss_kb, grown, lines))
    if not ground.is_pawl:
        return True
    good = grown < RSS_GROWTH_KB and lines < LOG_LINES
    if not good:
        print("FAIL  bounds: memory may grow by %d KB, the log may have %d lines"
              % (RSS_GROWTH_KB, LOG_LINES))
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), default="pawld")
    parser.add_argument("tests", nargs="*", help="names of tests; default: all")
    args = parser.parse_args()
    chosen = [t for t in TESTS if not args.tests or t.__name__ in args.tests]
    raise_fd_limit(HALF_OPEN + 1000)  # before the server starts: it inherits the limit
    failures = 0
    ground = Ground(args.server)
    try:
        for test in chosen:
            failures += run_test(ground, test) is not None
            if not ground.server.running():
                print("FAIL  the server died; its log ends with:\n%s"
                      % ground.server.log_text()[-3000:])
                return 1
        failures += not check_bounds(ground)
    finally:
        ground.server.close()
    print("%s: %d tests, %d failed" % (args.server, len(chosen), failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
