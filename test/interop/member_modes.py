# SPDX-License-Identifier: Apache-2.0
"""What a member does besides serving as usual, the same of ours and of Apache's, also mixed:
read-only service while there is no leader, sessions that one member only knows, a leader that takes
no clients.

Each story goes through every member, whatever kind it is, and expects the same of all.
"""
import argparse
import os
import shutil
import sys
import tempfile

import pawld_ensemble as pe
import servers
import zkwire as zk
from patience import wait_until

NOT_READ_ONLY, EPHEMERAL_ON_LOCAL, NO_NODE, SESSION_EXPIRED = -119, -120, -101, -112
EPHEMERAL = 1


def create(conn, path, flags=0):
    return conn.call(zk.CREATE, {"path": path, "data": b"x", "acl": zk.WORLD_ALL, "flags": flags})[0]


def word(member, name):
    try:
        return servers.four_letter_word(member.port, name, timeout=10)
    except OSError:
        return ""


def connect(member, timeout_ms=10000, **how):
    conn = zk.Conn(member.port, timeout=60.0)
    return conn, conn.handshake(timeout_ms, **how)


def is_turned_away(member, **how):
    """Closed without a word, as who should try another server is."""
    conn = zk.Conn(member.port, timeout=60.0)
    try:
        conn.handshake(10000, **how)
    except zk.Closed:
        return True
    finally:
        conn.close()
    return False


def expect(member, what, got, wanted):
    if got != wanted:
        raise RuntimeError("server %d: %s: %r, not %r" % (member.number, what, got, wanted))


class Members:
    def __init__(self, kinds, folder, settings):
        self.all = pe.make(kinds, folder)
        for m in self.all:
            m.config.update(settings)

    def __enter__(self):
        for m in self.all:
            m.start(wait=False)
        pe.wait_settled(self.all)
        return self.all

    def __exit__(self, *exc):
        for m in self.all:
            m.close()


# ---- read-only ----

def reads_only(member):
    """What a reader finds at a member that has no leader."""
    conn, answer = connect(member, read_only=True)
    expect(member, "readOnly", answer["readOnly"], True)
    expect(member, "the server in the session id", answer["sessionId"] >> 56, member.number)
    reply, _ = conn.call(zk.GET_DATA, {"path": "/before", "watch": True})
    expect(member, "get", (reply.err, reply.body["data"]), (0, b"x"))
    for op, fields in ((zk.SYNC, {"path": "/"}),
                       (zk.DELETE, {"path": "/before", "version": -1}),
                       (zk.SET_DATA, {"path": "/before", "data": b"", "version": -1})):
        expect(member, op, conn.call(op, fields)[0].err, NOT_READ_ONLY)
    expect(member, "create", create(conn, "/x").err, NOT_READ_ONLY)
    again, answer = connect(member, read_only=True, session_id=conn.session_id, passwd=conn.passwd)
    expect(member, "resumed", answer["sessionId"], conn.session_id)
    again.call(zk.CLOSE_SESSION, {})
    again.close()
    conn.close()


def read_only_words(member):
    lines = word(member, "srvr").splitlines()
    expect(member, "srvr", lines[1], "READ-ONLY mode; serving only read-only clients")
    expect(member, "Mode", [x for x in lines if x.startswith("Mode")], ["Mode: read-only"])
    expect(member, "stat", word(member, "stat").splitlines()[1], lines[1])
    known = dict(x.split("\t", 1) for x in word(member, "mntr").splitlines())
    expect(member, "mntr", (known["zk_server_state"], "zk_peer_state" in known),
           ("read-only", False))
    expect(member, "conf", word(member, "conf").splitlines()[-1], "peerType=0")


def read_only_story(kinds, folder):
    settings = {"readonlymode.enabled": "true", "localSessionsEnabled": "true",
                "localSessionsUpgradingEnabled": "true"}
    with Members(kinds, folder, settings) as members:
        conn, answer = connect(members[0], timeout_ms=600000)  # nobody sends its pings
        expect(members[0], "readOnly", answer["readOnly"], False)
        expect(members[0], "create", create(conn, "/before").err, 0)
        expect(members[0], "create -e", create(conn, "/mine", EPHEMERAL).err, 0)  # everybody's now
        for alone in members:
            expect(alone, "isro", word(alone, "isro"), "rw")
            others = [m for m in members if m is not alone]
            for m in others:
                m.kill9()
            wait_until(lambda: word(alone, "isro") == "ro", "read-only service of %d" %
                       alone.number, pe.SECONDS)
            if not is_turned_away(alone, read_only=False) or \
                    not is_turned_away(alone, read_only=None):
                raise RuntimeError("server %d takes who would write" % alone.number)
            if not is_turned_away(alone, read_only=True, session_id=conn.session_id,
                                  passwd=conn.passwd):
                raise RuntimeError("server %d resumes a session of the ensemble" % alone.number)
            reads_only(alone)
            read_only_words(alone)
            reader, _ = connect(alone, read_only=True)
            for m in others:
                m.start(wait=False)
            reader.wait_closed()  # there is a leader
            pe.wait_settled(members)
            back, answer = connect(alone, read_only=True)
            expect(alone, "readOnly", answer["readOnly"], False)
            expect(alone, "create", create(back, "/after-%d" % alone.number).err, 0)
            back.close()
        pe.same_trees(members)


# ---- local sessions ----

def mntr_sessions(member):
    known = pe.mntr(member)
    return int(known["zk_local_sessions"]), int(known["zk_global_sessions"])


def local_on(member, others):
    """A session that stays local: it writes, has nothing ephemeral, and is known nowhere else."""
    n_global = mntr_sessions(member)[1]
    conn, _ = connect(member)
    expect(member, "sessions", mntr_sessions(member), (1, n_global))
    expect(member, "create", create(conn, "/local-%d" % member.number).err, 0)
    for other in others:
        _, answer = connect(other, session_id=conn.session_id, passwd=conn.passwd)
        expect(other, "a local session of %d" % member.number, answer["sessionId"], 0)
    dump = word(member, "dump").splitlines()
    expect(member, "dump", dump[1].split(":")[0].split("/")[1:], ["(1)"])
    expect(member, "dump", dump[1].startswith("Local Session Sets ("), True)
    expect(member, "dump", sum(x.startswith("Global Session") for x in dump), 1)
    expect(member, "close", conn.call(zk.CLOSE_SESSION, {})[0].err, 0)
    conn.close()
    expect(member, "sessions", mntr_sessions(member), (0, n_global))


def refused_on(member):
    conn, _ = connect(member)
    expect(member, "create -e", create(conn, "/e", EPHEMERAL).err, EPHEMERAL_ON_LOCAL)
    expect(member, "exists", conn.call(zk.EXISTS, {"path": "/e", "watch": False})[0].err, NO_NODE)
    expect(member, "create", create(conn, "/after-%d" % member.number).err, 0)
    conn.call(zk.CLOSE_SESSION, {})
    conn.close()


def upgraded_on(member, others):
    """With its first ephemeral node a session is everybody's."""
    n_global = mntr_sessions(member)[1]
    conn, _ = connect(member)
    create(conn, "/first-%d" % member.number)  # before it Apache's followers have no zxid
    before = int(member.srvr()["Zxid"], 16)
    expect(member, "create -e", create(conn, "/e", EPHEMERAL).err, 0)
    expect(member, "Zxid", int(member.srvr()["Zxid"], 16), before + 2)
    expect(member, "sessions", mntr_sessions(member), (0, n_global + 1))
    at = conn
    for other in others:
        at, answer = connect(other, session_id=conn.session_id, passwd=conn.passwd)
        expect(other, "the session", answer["sessionId"], conn.session_id)
    at.call(zk.CLOSE_SESSION, {})
    at.close()
    wait_until(lambda: mntr_sessions(member) == (0, n_global), "its end", pe.SECONDS)


def expires_on(member):
    conn = zk.Conn(member.port, timeout=60.0)
    conn.handshake(4000)  # long enough to be counted
    expect(member, "sessions", mntr_sessions(member)[0], 1)
    conn.wait_closed()
    wait_until(lambda: mntr_sessions(member)[0] == 0, "its end", pe.SECONDS)


def local_story(kinds, folder):
    with Members(kinds, folder, {"localSessionsEnabled": "true"}) as members:
        for m in members:
            local_on(m, [o for o in members if o is not m])
            refused_on(m)
            expires_on(m)
        pe.same_trees(members)


def upgrade_story(kinds, folder):
    settings = {"localSessionsEnabled": "true", "localSessionsUpgradingEnabled": "true"}
    with Members(kinds, folder, settings) as members:
        for m in members:
            upgraded_on(m, [o for o in members if o is not m])
        pe.same_trees(members)


# ---- leaderServes=no ----

def leader_story(kinds, folder):
    """The leader of three takes no clients, and says of itself that it does not serve."""
    members = Members(kinds, folder, {"leaderServes": "no"})
    try:
        for m in members.all:
            m.start(wait=False)
        wait_until(lambda: sorted(m.mode() for m in members.all) == ["", "follower", "follower"],
                   "two followers", pe.SECONDS)
        leader = next(m for m in members.all if m.mode() == "")
        expect(leader, "srvr", word(leader, "srvr"),
               "This ZooKeeper instance is not currently serving requests\n")
        expect(leader, "isro", word(leader, "isro"), "null")
        expect(leader, "turns clients away", is_turned_away(leader), True)
        conn = pe.connect(next(m for m in members.all if m is not leader))
        expect(leader, "create elsewhere", create(conn, "/a").err, 0)
        conn.close()
    finally:
        members.__exit__()


STORIES = {"read-only": read_only_story, "local": local_story, "upgrade": upgrade_story,
           "leader-serves": leader_story}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("kinds", nargs="*", default=["ppp"], help="ppp, paa, app, ...")
    parser.add_argument("--story", choices=sorted(STORIES), action="append")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="member-modes-")
    failed = False
    for name in options.story or sorted(STORIES):
        for kinds in options.kinds:
            try:
                STORIES[name](kinds, os.path.join(folder, name, kinds))
                print("member_modes: %s of %s: passed" % (name, kinds), flush=True)
            except Exception as e:  # whatever it was: the others are told, too
                failed = True
                print("member_modes: %s of %s: FAILED: %s: %s" % (name, kinds, type(e).__name__, e),
                      flush=True)
    if failed:
        print("member_modes: logs in %s" % folder)
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
