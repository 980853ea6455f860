#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawld, with the highest id, is elected by two of Apache's servers, brings each of them up to date and
serves: creates, sessions that move, syncs.

Each of Apache's servers in turn lacks some writes (DIFF) and has the folder of a server alone (SNAP). TRUNC
is in restart_phases.py, with one of Apache's that has led alone.
"""
import shutil
import sys
import tempfile

import pawld_ensemble as pe
import restart_phases
import zkwire as zk
from patience import wait_until

SESSION_MS = 120000


def gets(leader, member, words):
    """The leader's line about whoever joins, with what it gets."""
    line = "server %d joins with zxid" % member.number
    found = [text for text in leader.log_text().splitlines() if line in text]
    assert found and words in found[-1], (words, found[-1:])


def move(members):
    """A session and its ephemeral node, from each to each; a sync sees what was written elsewhere."""
    conn = zk.Conn(members[0].port)
    conn.handshake(SESSION_MS)
    reply, _ = conn.call(zk.CREATE, {"path": "/moves", "data": b"", "acl": zk.WORLD_ALL, "flags": 1})
    assert reply.err == 0, reply
    session = (conn.session_id, conn.passwd)
    for i, m in enumerate(members + members):
        conn.close()
        conn = zk.Conn(m.port)
        answer = conn.handshake(SESSION_MS, *session)
        assert answer["sessionId"] == session[0] and answer["timeOut"] > 0, answer
        other = pe.connect(members[i % 2])
        reply, _ = other.call(zk.SET_DATA, {"path": "/moves", "data": b"%d" % i, "version": i})
        assert reply.err == 0, reply
        assert conn.call(zk.SYNC, {"path": "/"})[0].err == 0
        reply, _ = conn.call(zk.GET_DATA, {"path": "/moves", "watch": False})
        assert reply.body["data"] == b"%d" % i, reply
        assert reply.body["stat"]["ephemeralOwner"] == session[0], reply
        other.call(zk.CLOSE_SESSION, {})
        other.close()
    conn.call(zk.CLOSE_SESSION, {})
    conn.close()


def lead(folder):
    members = pe.make("aap", folder)
    leader = members[2]
    try:
        for m in members:
            m.start(wait=False)
        pe.wait_settled(members)
        if leader.mode() != "leader":  # two were a quorum before it came
            old = pe.leader_of(members)
            old.kill9()
            pe.wait_settled([m for m in members if m is not old])
            old.start(wait=False)
            pe.wait_settled(members)
        assert leader.mode() == "leader", "another leads"
        pe.write_and_read(members, "first")
        for m in members[:2]:
            m.kill9()
            pe.write_and_read([leader], "lacked-by-%d" % m.number)
            m.start(wait=False)
            pe.wait_settled(members)
            gets(leader, m, "what it lacks")
            m.kill9()
            restart_phases.give_another_history(m)
            m.start(wait=False)
            pe.wait_settled(members)
            gets(leader, m, "the whole tree")
        assert leader.mode() == "leader", "another leads"
        move(members)
        wait_until(lambda: pe.in_step(members), "all in step")
        print("leader_of_java: passed, %d nodes" % pe.same_trees(members))
    finally:
        for m in members:
            m.close()


def main():
    folder = tempfile.mkdtemp(prefix="leader-of-java-")
    try:
        lead(folder)
    except Exception as e:  # whatever it was: the logs are kept
        print("leader_of_java: FAILED: %s: %s; logs in %s" % (type(e).__name__, e, folder))
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
