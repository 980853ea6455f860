#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Data folders change hands between Apache ZooKeeper and pawld, again and again.

    folders.py --server pawld|apache [--quick] [--seed N]

One folder is served by both servers in turn. Each writes every kind of transaction, then stops or is
killed; the next one must show the very same tree (data, ACLs, all fields of Stat), take back the
session that owns the ephemeral nodes, and agree with the digests in the log. Java writes gzip and
snappy snapshots on the way; at times all but the newest snapshot is taken away, so that it must be
good. Then the recorded folders of test/vectors/datadir are served and compared with their tree.txt.
With --server apache both sides are Apache's: the check of this test itself.
"""
import argparse
import glob
import os
import random
import re
import shutil
import sys
import tempfile
import time

import servers
import tree_dump
import zkwire as zk
from patience import PATIENCE_SECONDS

VECTORS = os.path.join(servers.REPO, "test", "vectors", "datadir")
SESSION_MS = 100000
BOB = "bob:bobpw"
GONE = "/gone"  # holds what the server removes by itself: empty containers, old TTL nodes
RANDOM_REQUESTS = 400

CONFIG = {"extendedTypesEnabled": "true", "maxSessionTimeout": str(2 * SESSION_MS),
          "tickTime": "500", **tree_dump.SUPER_CONFIG}


class Wrong(Exception):
    """The two servers disagree."""


def acl_of(*entries):
    return [zk.acl(perms, scheme, id) for perms, scheme, id in entries]


ACLS = (
    zk.WORLD_ALL,
    acl_of((31, "digest", zk.digest_id(BOB)), (1, "world", "anyone")),
    acl_of((31, "ip", "127.0.0.1"), (3, "ip", "10.0.0.0/8")),
    acl_of((1, "world", "anyone"), (31, "digest", "eve:" + "A" * 27 + "=")),
    acl_of((31, "auth", "")),
)


def create(path, data=b"", flags=0, acl=zk.WORLD_ALL, op=zk.CREATE):
    return op, {"path": path, "data": data, "acl": acl, "flags": flags}


def create_ttl(path, ttl, flags=5):
    return zk.CREATE_TTL, {"path": path, "data": b"t", "acl": zk.WORLD_ALL, "flags": flags,
                           "ttl": ttl}


class Writer:
    """Writes during one leg. `holder` is the session that outlives all legs."""

    def __init__(self, port, leg, seed, session):
        self.port = port
        self.random = random.Random("%d/%d" % (seed, leg))
        self.leg = leg
        self.holder = zk.Conn(port, timeout=60.0)
        self.take_session(session)
        self.call(zk.AUTH, {"type": 0, "scheme": "digest", "auth": BOB.encode()})
        self.paths = []

    def take_session(self, session):
        """In two pieces, as the C client sends it: a server must not rely on whole frames."""
        whole, pieces = self.holder.send_raw, []
        self.holder.send_raw = pieces.append
        self.holder.send_connect(SESSION_MS, *session)
        self.holder.send_raw = whole
        self.holder.send_raw(pieces[0][:4])
        time.sleep(0.05)  # so that they are two for the server as well
        self.holder.send_raw(pieces[0][4:])
        answer = self.holder.recv_connect()
        if answer["timeOut"] == 0:
            raise Wrong("the session of the other server is not known")
        if session and answer["sessionId"] != session[0]:
            raise Wrong("another session than the one asked for")

    def session(self):
        return self.holder.session_id, self.holder.passwd

    def call(self, op, fields, error=0):
        reply, _ = self.holder.call(op, fields)
        if reply.err != error:
            raise Wrong("%s %r: %r" % (zk.op_name(op), fields, reply))
        return reply.body

    # -- every kind of transaction once -----------------------------------------------------------

    def every_kind(self):
        top = "/leg%d" % self.leg
        self.call(*create(top, b"top"))
        self.call(*create(top + "/null", None))
        self.call(*create(top + "/big", b"b" * 70000, op=zk.CREATE2))
        self.call(*create(top + "/eph", b"e", flags=1))
        self.call(*create(top + "/s-", b"s", flags=2))
        self.call(*create(top + "/es-", b"es", flags=3, op=zk.CREATE2))
        self.call(*create(top + "/\u00fcn\u00ef", "\u4e2d".encode()))
        self.call(*create(top + "/box", b"", flags=4, op=zk.CREATE_CONTAINER))
        self.call(*create(top + "/box/in", b""))
        self.call(*create_ttl(top + "/ttl", 3600000))
        self.call(*create_ttl(top + "/ttl-", 7200000, flags=6))
        self.call(zk.SET_DATA, {"path": top + "/null", "data": b"now set", "version": 0})
        self.call(zk.SET_DATA, {"path": top + "/null", "data": None, "version": -1})
        self.call(zk.DELETE, {"path": top + "/s-%010d" % 3, "version": 0})
        for i, acl in enumerate(ACLS):
            self.call(*create("%s/acl%d" % (top, i), b"", acl=acl))
        self.call(zk.SET_ACL, {"path": top + "/acl0", "acl": ACLS[1], "version": 0})
        self.errors(top)
        self.multis(top)
        self.quota(top)
        self.closed_session(top)
        self.doomed()

    def errors(self, top):
        """Refused requests are transactions too."""
        self.call(*create(top), error=-110)
        self.call(*create(top + "/none/x"), error=-101)
        self.call(*create(top + "/eph/x"), error=-108)
        self.call(zk.SET_DATA, {"path": top, "data": b"", "version": 9}, error=-103)
        self.call(zk.DELETE, {"path": top, "version": -1}, error=-111)
        self.call(zk.SET_ACL, {"path": top, "acl": [], "version": -1}, error=-114)

    def multis(self, top):
        m = top + "/m"
        self.multi([create(m), create(m + "/e", b"e", flags=1), create(m + "/s", b"", flags=2),
                    create(m + "/box", b"", flags=4, op=zk.CREATE_CONTAINER),
                    create_ttl(m + "/ttl", 7200000),
                    (zk.SET_DATA, {"path": m, "data": b"m", "version": 0}),
                    (zk.CHECK, {"path": m, "version": 1}),
                    (zk.DELETE, {"path": m + "/e", "version": -1})])
        self.multi([create(m + "/never"), (zk.CHECK, {"path": m, "version": 7}), create(m + "/x")],
                   fails=True)
        self.multi([])

    def multi(self, ops, fails=False):
        body = self.call(zk.MULTI, {"ops": ops})
        failed = any(r["type"] == zk.ERROR for r in body["results"])
        if failed != fails:
            raise Wrong("multi %r: %r" % (ops, body))

    def quota(self, top):
        quota = "/zookeeper/quota" + top
        self.call(*create(top + "/q", b"qq"))
        conn = tree_dump.connect_super(self.port)
        for path, data in ((quota, b""), (quota + "/q", b""),
                           (quota + "/q/zookeeper_limits", b"count=10,bytes=1000"),
                           (quota + "/q/zookeeper_stats", b"count=0,bytes=0")):
            reply, _ = conn.call(*create(path, data))
            assert reply.err == 0, reply
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()
        self.call(*create(top + "/q/a", b"12345"))
        self.call(*create(top + "/q/b", b"1"))
        self.call(zk.SET_DATA, {"path": top + "/q/a", "data": b"123", "version": -1})
        self.call(zk.DELETE, {"path": top + "/q/b", "version": -1})

    def closed_session(self, top):
        """One session closes by itself, another is left to expire."""
        conn = zk.Conn(self.port, timeout=60.0)
        conn.handshake(SESSION_MS)
        for path, flags in (("/bye", 1), ("/bye-", 3)):
            assert conn.call(*create(top + path, b"", flags))[0].err == 0
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()
        lost = zk.Conn(self.port, timeout=60.0)
        with lost.one_write():  # it cannot expire in between
            lost.send_connect(1000)
            lost.send(*create(top + "/lost", b"", 1))
        assert lost.recv_connect()["timeOut"] > 0
        assert lost.recv().err == 0
        lost.close()

    def doomed(self):
        """What a later leg, with the cleaning turned on, has to remove."""
        reply, _ = self.holder.call(*create(GONE))
        assert reply.err in (0, -110), reply
        self.call(*create("%s/box%d" % (GONE, self.leg), b"", flags=4, op=zk.CREATE_CONTAINER))
        self.call(*create("%s/box%d/x" % (GONE, self.leg)))
        self.call(zk.DELETE, {"path": "%s/box%d/x" % (GONE, self.leg), "version": -1})
        self.call(*create_ttl("%s/ttl%d" % (GONE, self.leg), 100))

    # -- and many more at random ------------------------------------------------------------------

    def at_random(self, n):
        """Pipelined requests, some of which fail: the answers do not matter here."""
        top = "/rnd%d" % self.leg
        self.call(*create(top))
        self.paths = [top]
        for i in range(n):
            self.holder.send(*self.random_request(i))
            if len(self.holder.pending) > 50:
                self.holder.recv()
        while self.holder.pending:
            self.holder.recv()

    def random_request(self, i):
        rng = self.random
        if rng.randrange(8) == 0:
            ops = [self.random_single(rng.choice(self.paths), "%d-%d" % (i, j))
                   for j in range(rng.randrange(4))]
            return zk.MULTI, {"ops": [(op, f) for op, f in ops if op != zk.SET_ACL]}
        op, fields = self.random_single(rng.choice(self.paths), str(i))
        path = fields["path"]
        if op in (zk.CREATE, zk.CREATE2) and fields["flags"] == 0 and path.count("/") < 8:
            self.paths.append(path)
        if op == zk.DELETE and path in self.paths:
            self.paths.remove(path)
        return op, fields

    def random_single(self, path, name):
        rng = self.random
        kind = rng.randrange(10)
        if kind < 5:
            acl = rng.choice(ACLS) if rng.random() < 0.3 else zk.WORLD_ALL
            data = bytes(rng.randrange(256) for _ in range(rng.randrange(60)))
            return create("%s/n%s" % (path, name), data, rng.choice((0, 0, 0, 1, 2, 3)), acl,
                          op=rng.choice((zk.CREATE, zk.CREATE2)))
        if kind < 8:
            version = rng.choice((-1, -1, 0, 1))
            return zk.SET_DATA, {"path": path, "data": name.encode(), "version": version}
        if kind < 9:
            recent = self.paths[1:][-5:] or ["/none"]
            return zk.DELETE, {"path": rng.choice(recent), "version": -1}
        return zk.SET_ACL, {"path": path, "acl": rng.choice(ACLS[:3]), "version": -1}

    def wait_until_expired(self):
        """The session left behind goes by itself; its node with it."""
        self.wait_gone("/leg%d/lost" % self.leg)

    def wait_gone(self, path):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.holder.call(zk.EXISTS, {"path": path, "watch": False})[0].err == 0:
            if time.monotonic() > deadline:
                raise Wrong("%s is still there" % path)
            time.sleep(0.05)  # removed by the server's own clock

    def wait_cleaned(self):
        """All empty containers and old TTL nodes go."""
        children = self.call(zk.GET_CHILDREN, {"path": GONE, "watch": False})["children"]
        for name in children:
            self.wait_gone(GONE + "/" + name)


# -- the relay ----------------------------------------------------------------------------------------

class Leg:
    def __init__(self, side, stop, config=None, only_newest=False, clean=False):
        self.side = side              # "java" or "ours"
        self.stop = stop              # "stop" or "kill"
        self.config = config or {}
        self.only_newest = only_newest  # before it starts, all but the newest snapshot is removed
        self.clean = clean            # containers and TTL nodes are cleaned during this leg


LEGS = [
    Leg("java", "stop"),
    Leg("ours", "stop"),
    Leg("java", "kill", {"snapshot.compression.method": "gz"}),
    Leg("ours", "kill", {"snapCount": "150"}),
    Leg("java", "stop", {"snapCount": "150"}, only_newest=True, clean=True),
    Leg("ours", "stop", {"snapCount": "150"}, only_newest=True, clean=True),
    Leg("java", "kill", {"snapshot.compression.method": "snappy", "snapCount": "150"},
        only_newest=True),
    Leg("ours", "kill", only_newest=True),
    Leg("ours", "stop"),
    Leg("java", "stop"),
]
QUICK_LEGS = LEGS[:6]


class Relay:
    def __init__(self, options, folder):
        self.options = options
        self.folder = folder
        self.tree = None
        self.session = ()
        self.hashes = {}
        self.n_compared = 0

    def run(self, legs):
        for number, leg in enumerate(legs):
            began = time.monotonic()
            self.one_leg(number, leg)
            print("folders: leg %d, %s: %d nodes the same, then %s, %.1f s" % (
                number, self.kind(leg), len(self.tree), leg.stop, time.monotonic() - began),
                flush=True)

    def kind(self, leg):
        return "apache" if leg.side == "java" else self.options.server

    def one_leg(self, number, leg):
        if leg.only_newest:
            keep_newest_snapshot(os.path.join(self.folder, "data"))
        config = {**CONFIG, **leg.config}
        if leg.clean:
            config["znode.container.checkIntervalMs"] = "300"
        with servers.make(self.kind(leg), dir=self.folder, config=config) as server:
            if self.tree is not None:
                self.compare(server, leg)
            before = newest_snapshot(server.data_dir)
            writer = Writer(server.port, number, self.options.seed, self.session)
            writer.every_kind()
            writer.at_random(RANDOM_REQUESTS)
            writer.wait_until_expired()
            if leg.clean:
                writer.wait_cleaned()
            self.session = writer.session()
            self.tree = tree_dump.dump(server.port)
            self.check_digests(server, number)
            if "snapCount" in leg.config and newest_snapshot(server.data_dir) <= before:
                raise Wrong("%s took no snapshot, snapCount is %s" % (
                    server.name, leg.config["snapCount"]))
            self.end(server, leg)
            writer.holder.close()

    def compare(self, server, leg):
        leave_out = [GONE] if leg.clean else []
        found = tree_dump.dump(server.port, leave_out)
        lines = tree_dump.differences(self.tree, found, leave_out)
        if lines:
            raise Wrong("%s shows another tree than the server before it (%d differences):\n  %s"
                        % (server.name, len(lines), "\n  ".join(lines[:25])))

    def check_digests(self, server, number):
        """Digests found in the log must be those computed, and `hash` the same as it ever was."""
        mntr = servers.four_letter_word(server.port, "mntr")
        if "zk_digest_mismatches_count\t0\n" not in mntr:
            raise Wrong("%s counts digest mismatches: %s" % (
                server.name, re.findall("zk_digest_mismatches_count.*", mntr)))
        if "Digests are not matching" in server.log_text():
            raise Wrong("%s: digests are not matching" % server.name)
        lines = servers.four_letter_word(server.port, "hash").splitlines()
        if not lines:
            raise Wrong("%s has no digests to show" % server.name)
        for line in lines:
            zxid, digest = line.split(": ")
            before, leg = self.hashes.setdefault(zxid, (digest, number))
            if before != digest:
                raise Wrong("digest at 0x%s: %s says %s, in leg %d it was %s" % (
                    zxid, server.name, digest, leg, before))
            self.n_compared += leg != number

    def end(self, server, leg):
        if leg.stop == "kill":
            server.kill9()
        else:
            server.end()


def zxid_of(path):
    return int(os.path.basename(path).split(".")[1], 16)


def newest_snapshot(data_dir):
    return max(map(zxid_of, glob.glob(data_dir + "/version-2/snapshot.*")), default=-1)


def keep_newest_snapshot(data_dir):
    """Removes the older snapshots and the logs they would need, as a purge does."""
    snapshots = sorted(glob.glob(data_dir + "/version-2/snapshot.*"), key=zxid_of)
    logs = sorted(glob.glob(data_dir + "/version-2/log.*"), key=zxid_of)
    newest = zxid_of(snapshots[-1])
    for path in snapshots[:-1]:
        os.unlink(path)
    for path, following in zip(logs, logs[1:]):
        if zxid_of(following) <= newest:
            os.unlink(path)


# -- the recorded folders -----------------------------------------------------------------------------

def recorded_folders():
    """(folder, tree.txt) of every recorded folder whose tree is known."""
    for tree in sorted(glob.glob(VECTORS + "/*/tree.txt")):
        folder = os.path.dirname(tree)
        if os.path.isdir(folder + "/version-2"):
            yield folder, tree
        else:
            for inner in sorted(glob.glob(folder + "/*/version-2")):
                yield os.path.dirname(inner), tree


def serve_recorded(kind, folder, tree_file):
    scratch = tempfile.mkdtemp(prefix="folders-")
    try:
        shutil.copytree(folder, scratch + "/data")
        with servers.make(kind, dir=scratch, config=CONFIG) as server:
            wanted = tree_dump.read_tree_file(tree_file)
            found = tree_dump.dump(server.port)
            # A member of an ensemble stamps this one when it starts: tree.txt shows that member's.
            found["/zookeeper/config"]["mtime"] = wanted["/zookeeper/config"]["mtime"]
            lines = tree_dump.differences(wanted, found)
            if lines:
                raise Wrong("%s serves %s with another tree:\n  %s" % (
                    kind, os.path.relpath(folder, VECTORS), "\n  ".join(lines[:25])))
            print("folders: %s on recorded %s: %d nodes as recorded" % (
                kind, os.path.relpath(folder, VECTORS), len(wanted)), flush=True)
    finally:
        shutil.rmtree(scratch)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), required=True)
    parser.add_argument("--quick", action="store_true", help="fewer legs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", action="store_true", help="leave the data folder behind")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="folders-")
    try:
        for recorded, tree in recorded_folders():
            serve_recorded(options.server, recorded, tree)
        relay = Relay(options, folder)
        relay.run(QUICK_LEGS if options.quick else LEGS)
        print("folders: passed (%d digests of `hash` found again by the next server)" %
              relay.n_compared)
    except (Wrong, zk.Closed, zk.Timeout, RuntimeError) as e:
        print("folders: FAILED (--seed %d): %s: %s" % (options.seed, type(e).__name__, e))
        return 1
    finally:
        if options.keep:
            print("folders: data left in %s" % folder)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
