# SPDX-License-Identifier: Apache-2.0
"""The snapshot that a leader of Apache's sends to a learner becomes a folder that pawld serves.

A learner is played against a running ensemble: OBSERVERINFO, ACKEPOCH with a last zxid that no log
has, and the answer is SNAP with the stream behind it. What snapshot_peer makes of the stream must
be the leader's tree. The stream that it makes of that folder again must be read back, too.
"""
import argparse
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

import ensemble
import servers
import tree_dump
import zkwire as zk

LEARNER_ID = 77
SIGNATURE = b"\0\0\0\nBenWasHere"
OBSERVERINFO, LEADERINFO, ACKEPOCH, SNAP = 16, 17, 18, 15
# Written anew by each server for itself, or counted by it.
LOCAL = ("/zookeeper/config", "/zookeeper/quota")


def packet(kind, zxid, data=None):
    body = struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">iq", kind, zxid) + body + struct.pack(">i", -1)


def read_exactly(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(n - len(data))
        if not part:
            raise RuntimeError("the leader hung up after %d of %d bytes" % (len(data), n))
        data += part
    return data


def read_packet(sock):
    kind, zxid, length = struct.unpack(">iqi", read_exactly(sock, 16))
    data = read_exactly(sock, length) if length > 0 else b""
    assert read_exactly(sock, 4) == b"\xff\xff\xff\xff", "authinfo"
    return kind, zxid, data


def fetch_snapshot(leader):
    """(zxid, stream) as the leader sends it to somebody who has nothing in common with it."""
    with socket.create_connection(("127.0.0.1", leader.ports[0]), 30) as sock:
        info = struct.pack(">qiq", LEARNER_ID, 0x10000, 0)
        sock.sendall(packet(OBSERVERINFO, 0, info))
        kind, zxid, _ = read_packet(sock)
        assert kind == LEADERINFO, kind
        unheard_of = ((zxid >> 32) + 5) << 32
        sock.sendall(packet(ACKEPOCH, unheard_of, struct.pack(">i", -1)))
        kind, zxid, _ = read_packet(sock)
        assert kind == SNAP, "SNAP was expected, %d came" % kind
        stream = b""
        while SIGNATURE not in stream[-len(SIGNATURE) - 65536:]:
            part = sock.recv(65536)
            if not part:
                raise RuntimeError("the leader hung up within the snapshot")
            stream += part
    return zxid, stream  # with whatever packets came behind it


def fill(port):
    """Nodes of every kind; returns the session that owns the ephemeral ones."""
    conn = tree_dump.connect_super(port)
    acl = [zk.acl(31, "digest", "user:hash"), zk.acl(1, "world", "anyone")]
    for path, data, flags, entries in (
            ("/null", None, 0, zk.WORLD_ALL), ("/empty", b"", 0, zk.WORLD_ALL),
            ("/large", bytes(range(256)) * 1000, 0, acl), ("/eph", b"e", 1, zk.WORLD_ALL),
            ("/large/seq-", b"s", 2, acl), ("/container", b"c", 4, zk.WORLD_ALL)):
        op = zk.CREATE_CONTAINER if flags == 4 else zk.CREATE
        reply, _ = conn.call(op, {"path": path, "data": data, "acl": entries, "flags": flags})
        assert reply.err == 0, (path, reply)
    for i in range(3000):
        conn.send(zk.CREATE, {"path": "/n%d" % i, "data": b"x" * (i % 700), "acl": zk.WORLD_ALL,
                              "flags": 0})
    for i in range(3000):
        assert conn.recv().err == 0
    return conn


def peer(program, arguments, data=b""):
    done = subprocess.run([program] + arguments, input=data, capture_output=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.decode())
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True, help="snapshot_peer")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="snap-stream-")
    try:
        with ensemble.Ensemble(config=dict(tree_dump.SUPER_CONFIG)) as java:
            leader = java.wait_leader()
            session = fill(leader.port)
            zxid, stream = fetch_snapshot(leader)
            received = os.path.join(folder, "received")
            done = peer(options.program, ["receive", received, "%x" % zxid], stream)
            print("snap_stream: 0x%x, %d bytes: %s" % (zxid, len(stream), done.stdout.decode().strip()))
            with servers.make("pawld",
                              config=dict(tree_dump.SUPER_CONFIG, dataDir=received)) as pawld:
                wanted = tree_dump.dump(leader.port, LOCAL)
                got = tree_dump.dump(pawld.port, LOCAL)
            lines = tree_dump.differences(wanted, got, LOCAL)
            session.close()
        if lines:
            print("\n".join(lines[:20]))
            return 1
        again = peer(options.program, ["send", received]).stdout
        peer(options.program, ["receive", os.path.join(folder, "again"), "%x" % zxid], again)
        print("snap_stream: passed, %d nodes" % len(wanted))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
