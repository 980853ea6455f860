# SPDX-License-Identifier: Apache-2.0
"""Three servers on loopback that agree: of ours alone, and mixed with Apache's.

A leader is elected, clients write through every server and read it back through every other, the
leader is killed, everybody comes back, and in the end all have the same tree.
"""
import argparse
import os
import shutil
import sys
import tempfile

import ensemble
import servers
import tree_dump
import zkwire as zk
from patience import wait_until

LOCAL = ("/zookeeper/config", "/zookeeper/quota")
SECONDS = 300
APACHE_SECONDS = 40.0  # less than a session
DIGEST_INTERVAL = 128  # zxids from one digest of `hash` to the next


def make(kinds, folder):
    """Members by their kinds, as "papP"."""
    return ensemble.make_members(kinds, folder, dict(ensemble.BASE_CONFIG, **tree_dump.SUPER_CONFIG))


def wait_settled(members):
    def settled():
        for m in members:
            if not m.running():
                raise m.error("member %d has ended" % m.number)
        return ensemble.all_serve(members)
    wait_until(settled, "a leader and its followers", SECONDS)


def leader_of(members):
    return wait_until(lambda: next((m for m in members if m.mode() == "leader"), None), "a leader",
                      SECONDS)


def create(conn, path, data=b"x"):
    reply, _ = conn.call(zk.CREATE, {"path": path, "data": data, "acl": zk.WORLD_ALL, "flags": 0})
    assert reply.err == 0, (path, reply)


def create_through(member, conn, path, data):
    """The connection to go on with. Apache's server leaves a client of its own without an answer now and
    then (3.8.0: the write is in all logs and committed): that is not held against ours."""
    if member.kind != "a":
        create(conn, path, data)
        return conn
    try:
        conn.set_timeout(APACHE_SECONDS)
        create(conn, path, data)
        conn.set_timeout(60.0)
        return conn
    except (zk.Closed, zk.Timeout):
        conn.close()
    conn = connect(member)
    reply, _ = conn.call(zk.EXISTS, {"path": path, "watch": False})
    assert reply.err == 0, (path, reply)
    return conn


def connect(member):
    conn = zk.Conn(member.port, timeout=60.0)
    conn.handshake(60000)
    return conn


def write_and_read(members, name):
    """Through each, and seen by each after a sync."""
    conns = [connect(m) for m in members]
    for i, m in enumerate(members):
        for k in range(50):
            conns[i] = create_through(m, conns[i], "/%s-%d-%d" % (name, i, k), b"d" * k)
    for conn in conns:
        reply, _ = conn.call(zk.SYNC, {"path": "/"})
        assert reply.err == 0, reply
        for i in range(len(members)):
            reply, _ = conn.call(zk.GET_DATA, {"path": "/%s-%d-49" % (name, i), "watch": False})
            assert reply.err == 0 and reply.body["data"] == b"d" * 49, reply
    for conn in conns:
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()


def same_trees(members):
    trees = [tree_dump.dump(m.port, LOCAL) for m in members]
    for m, tree in zip(members[1:], trees[1:]):
        lines = tree_dump.differences(trees[0], tree, LOCAL)
        if lines:
            raise RuntimeError("servers %d and %d differ: %s" % (
                members[0].number, m.number, "; ".join(lines[:5])))
    same_digests(members)
    return len(trees[0])


def same_digests(members):
    """Of each zxid that two members remember, one of all at least; and none of ours has found one that
    was wrong.

    Of what Apache's remember, only what came now counts. Its leader queues transactions for a member,
    then sends the tree, which has them already; the member applies them once more and notes the digest
    of a later tree at an earlier zxid."""
    settled = max(int(m.srvr()["Zxid"], 16) for m in members)
    pass_a_digest(members[0])
    known = {}
    for m in members:
        digests = wait_until(lambda: remembered_beyond(m, settled), "a digest after 0x%x" % settled,
                             SECONDS)
        for zxid, digest in digests.items():
            if m.kind == "p" or zxid > settled:
                other, number = known.setdefault(zxid, (digest, m.number))
                if other != digest:
                    raise RuntimeError("servers %d and %d have digests %s and %s at 0x%x" % (
                        number, m.number, other, digest, zxid))
        if m.kind == "p" and mntr(m)["zk_digest_mismatches_count"] != "0":
            raise m.error("server %d counts digests that do not match" % m.number)


def remembered_beyond(member, zxid):
    """All digests of a member, or None as long as it has none after `zxid`."""
    lines = servers.four_letter_word(member.port, "hash").splitlines()
    digests = {int(at, 16): digest for at, digest in (line.split(": ") for line in lines)}
    return digests if max(digests, default=0) > zxid else None


def pass_a_digest(member):
    """Transactions that change nothing, so many that all members note a digest."""
    conn = connect(member)
    for _ in range(DIGEST_INTERVAL):
        conn.send(zk.DELETE, {"path": "/that was never there", "version": -1})
    for _ in range(DIGEST_INTERVAL):
        reply = conn.recv()
        assert reply.err == zk.NO_NODE, reply
    conn.call(zk.CLOSE_SESSION, {})
    conn.close()


def mntr(member):
    text = servers.four_letter_word(member.port, "mntr")
    return dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)


def leader_knows_its_learners(members):
    """The leader's mntr, ours or Apache's, when all the others follow it."""
    known = mntr(leader_of(members))
    voters = [m for m in members if not m.is_observer]
    return known.get("zk_synced_followers") == str(len(voters) - 1) and \
        known["zk_learners"] == str(len(members) - 1) and \
        known["zk_quorum_size"] == str(len(voters))


def in_step(members):
    zxids = {m.srvr().get("Zxid") for m in members}
    return len(zxids) == 1 and None not in zxids


def story(kinds, folder):
    members = make(kinds, folder)
    try:
        for m in members:
            m.start(wait=False)
        wait_settled(members)
        wait_until(lambda: leader_knows_its_learners(members), "the leader's learners", SECONDS)
        write_and_read(members, "first")
        for round_number in range(len(members)):
            old = leader_of(members)
            old.kill9()
            rest = [m for m in members if m is not old]
            wait_settled(rest)
            write_and_read(rest, "without-%d-%d" % (old.number, round_number))
            old.start(wait=False)
            wait_settled(members)
            write_and_read(members, "with-%d-%d" % (old.number, round_number))
        lost = next(m for m in members if m.mode() == "follower")
        lost.kill9()
        shutil.rmtree(os.path.join(lost.data_dir, "version-2"))
        lost.start(wait=False)
        wait_settled(members)
        write_and_read(members, "last")
        wait_until(lambda: in_step(members), "all in step", SECONDS)
        n_nodes = same_trees(members)
        ensemble.end_all(members)
        print("pawld_ensemble: %s: passed, %d nodes" % (kinds, n_nodes))
    finally:
        for m in members:
            m.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", default=["ppp"], help="ppp, paa, app, ...")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="pawld-ensemble-")
    failed = False
    for kinds in options.kinds:
        try:
            story(kinds, os.path.join(folder, kinds))
        except Exception as e:  # whatever it was: the others are told, too
            failed = True
            print("pawld_ensemble: %s: FAILED: %s: %s" % (kinds, type(e).__name__, e))
    if failed:
        print("pawld_ensemble: logs in %s" % folder)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
