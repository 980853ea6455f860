#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A server alone at the end of its epoch: a snapshot is given a name near the end, and the server writes past it.

pawld goes on with the first zxid of the next epoch under a client that stays connected, warns, and its
directory is read again by pawld and by Apache's server.
"""
import glob
import os
import sys

import servers
import zkwire as zk

BEGIN = 0x1fffffff0
N_WRITES = 30


def put_near_the_end(data_dir):
    """The tree of a fresh server, as of another zxid: its snapshot's name says which."""
    files = glob.glob(os.path.join(data_dir, "version-2", "*"))
    snapshot = max(f for f in files if "snapshot." in f)
    os.rename(snapshot, os.path.join(data_dir, "version-2", "snapshot.%x" % BEGIN))
    for file in files:
        if "log." in file:
            os.unlink(file)


def write(port):
    """zxids of so many creates over one connection."""
    conn, zxids = zk.Conn(port), []
    conn.handshake(timeout_ms=30000)
    for i in range(N_WRITES):
        conn.send(zk.CREATE, {"path": "/n%d" % i, "data": b"", "acl": zk.WORLD_ALL, "flags": 0})
        reply = conn.recv()
        assert reply.err == 0, reply
        zxids.append(reply.zxid)
    conn.close()
    return zxids


def children(port):
    conn = zk.Conn(port)
    conn.handshake(timeout_ms=30000)
    conn.send(zk.GET_CHILDREN, {"path": "/", "watch": False})
    names = conn.recv().body["children"]
    conn.close()
    return sorted(name for name in names if name.startswith("n"))


def main():
    with servers.make("pawld") as server:
        server.end()
        put_near_the_end(server.data_dir)
        server.start()
        zxids = write(server.port)
        expected = [BEGIN + 2 + i for i in range(N_WRITES)]  # behind the session's
        expected = [z if z <= 0x1fffffffe else z - 0x1fffffffe + 0x200000000 for z in expected]
        assert zxids == expected, [hex(z) for z in zxids]
        assert "transactions are left in epoch 1" in server.log_text(), server.log_text()
        server.end()
        server.start()
        names = children(server.port)
        assert len(names) == N_WRITES, names
        server.end()
        with servers.make("apache", dir=server.dir) as apache:
            assert children(apache.port) == names
            apache.end()
    print("from 0x%x to 0x%x, and read again by both servers" % (zxids[0], zxids[-1]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
