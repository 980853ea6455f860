#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 and SIGSTOP in a loop on a running ensemble under load; a history checker decides.

    ensemble_kills.py [--kinds ppp] [--rounds 200] [--clients 4] [--seed N]

Clients write and read shared registers, create nodes of their own and hold an ephemeral node each,
with several requests under way, through whatever member they reach. Meanwhile the leader, a
follower, two members or all of them are killed or paused, and come back at once, after a while, or
are killed again while they recover. What must be so in the end: nothing acknowledged is missing,
writes and sync+read are linearizable per register, a session's zxids never go back, its writes
happen in its order, no session is lost, abandoned ones do end, and all members have the same tree.
What a leader of Apache's answers to a sync of its own client does not count (register_history.py).
"""
import argparse
import os
import random
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque

import apache_hole
import ensemble
import pawld_ensemble as pe
import servers
import tree_dump
import zkwire as zk
from patience import wait_until
from register_history import Answerer, History, Operation

REGISTERS = 5
SESSION_MS = 60000
GHOST_MS = 1000
SILENCE_SECONDS = (0.3, 1.0, 4.0)  # a member that says nothing so long is left for another
PROGRESS_SECONDS = 120             # until writes go on when a quorum is there
PROGRESS_WRITES = 20
ROUNDS = (("kill", "leader"), ("alone", "leader"), ("kill", "follower"), ("kill", "two"),
          ("pause", "leader"), ("kill", "all"), ("kill", "two followers"), ("pause", "follower"),
          ("pause", "two"), ("pause", "all"), ("kill", "observer"), ("pause", "observer"))
MODE = re.compile("^Mode: (.*)$", re.MULTILINE)
OURS = "-pawl"  # in the version that a server names


class Wrong(Exception):
    """The ensemble broke a promise."""


class Client(threading.Thread):
    def __init__(self, number, ports, seed, history):
        super().__init__(daemon=True, name="client %d" % number)
        self.number, self.ports, self.history = number, ports, history
        self.random = random.Random("%s/%d" % (seed, number))
        self.root = "/k/c%d" % number
        self.created = {}           # path: zxid, acknowledged
        self.under_way = deque()    # what to do with each answer
        self.next_id = self.n_done = 0
        self.session_id, self.passwd, self.last_zxid = 0, bytes(16), 0
        self.last_contact = time.monotonic()
        self.seen = {}              # key: version, by this session
        self.conn = self.answerer = None
        self.leave = self.gone = False
        self.error = None

    def run(self):
        try:
            while not self.gone:
                try:
                    self.connect()
                    self.load()
                    self.end_session()
                except (zk.Closed, zk.Timeout, OSError):
                    self.under_way.clear()
                    self.conn.close()
        except Exception as e:  # noqa: B902: whatever it is, the main thread reports it
            self.error = "%s, by %r: %s: %s" % (self.name, self.answerer, type(e).__name__, e)

    # -- connecting --

    def connect(self):
        deadline = time.monotonic() + PROGRESS_SECONDS
        while not self.try_connect():
            if time.monotonic() > deadline:
                raise Wrong("no connection for %d s" % PROGRESS_SECONDS)
            time.sleep(0.01)  # somebody else starts the servers

    def try_connect(self):
        i = self.random.randrange(len(self.ports))
        silence = self.random.choice(SILENCE_SECONDS)
        conn = None
        try:
            conn = zk.Conn(self.ports[i], timeout=silence)
            self.take_session(conn)
            self.answerer = self.ask_who(i, silence)
        except (zk.Closed, zk.Timeout, OSError):
            if conn:
                conn.close()
            return False
        if self.conn:  # answers are recognised by session and xid: no number is used twice
            conn.next_xid = self.conn.next_xid
        self.conn = conn
        return True

    def take_session(self, conn):
        began = time.monotonic()
        answer = conn.handshake(SESSION_MS, self.session_id, self.passwd, self.last_zxid)
        if answer["timeOut"] == 0 or self.session_id not in (0, answer["sessionId"]):
            raise Wrong("session 0x%x was not taken back, %.1f s after the last answer" % (
                self.session_id, began - self.last_contact))
        if self.session_id == 0:
            self.session_id, self.passwd = answer["sessionId"], answer["passwd"]

    def ask_who(self, i, silence):
        """Asked after the handshake: whatever is answered over that connection later is of the same role."""
        text = servers.four_letter_word(self.ports[i], "srvr", timeout=silence)
        mode = MODE.search(text)
        if not mode:  # it has just left its role, and closes its connections
            raise zk.Closed()
        return Answerer(i + 1, OURS not in text, mode.group(1))

    # -- load --

    def load(self):
        self.make_place()
        while not self.leave:
            window = self.random.choice((1, 4, 32))
            for _ in range(self.random.randrange(1, 100)):
                while len(self.under_way) < window:
                    self.random.choice((self.write, self.write, self.read, self.create))()
                self.receive()
        while self.under_way:
            self.receive()

    def end_session(self):
        """Its ephemeral node was there to the last, and goes with it."""
        self.make_place()
        del self.created[self.root + "/e"]
        self.gone = True
        self.conn.call(zk.CLOSE_SESSION, {})
        self.conn.close()

    def make_place(self):
        """Its folder and its ephemeral node; when it comes back, they must be there."""
        known = self.root + "/e" in self.created
        for path, flags in ((self.root, 0), (self.root + "/e", 1)):
            if not known:
                self.send(zk.CREATE, {"path": path, "data": b"", "acl": zk.WORLD_ALL,
                                      "flags": flags}, self.may_exist)
        while self.under_way:
            self.receive()
        self.send(zk.SYNC, {"path": "/"}, lambda reply: self.check(reply))
        self.send(zk.EXISTS, {"path": self.root + "/e", "watch": False}, self.must_own)
        while self.under_way:
            self.receive()

    def may_exist(self, reply):
        if reply.err not in (0, -110):
            raise Wrong("%r" % (reply,))

    def must_own(self, reply):
        self.check(reply)
        stat = reply.body["stat"]
        if stat["ephemeralOwner"] != self.session_id:
            raise Wrong("its ephemeral node is of 0x%x" % stat["ephemeralOwner"])
        known = self.created.setdefault(self.root + "/e", stat["czxid"])
        if known != stat["czxid"]:
            raise Wrong("its ephemeral node of 0x%x has become one of 0x%x" % (known,
                                                                             stat["czxid"]))

    def send(self, op, fields, answered):
        self.under_way.append(answered)
        self.conn.send(op, fields)

    def receive(self):
        reply = self.conn.recv()
        if reply.zxid < self.last_zxid:
            raise Wrong("zxid goes back from 0x%x to 0x%x" % (self.last_zxid, reply.zxid))
        self.last_zxid = max(self.last_zxid, reply.zxid)
        self.last_contact = time.monotonic()
        self.under_way.popleft()(reply)
        self.n_done += 1

    def check(self, reply):
        if reply.err == -118:  # a request of before: this connection is not the session's any more
            raise zk.Closed()
        if reply.err != 0:
            raise Wrong("%r" % (reply,))

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def key(self):
        return "/k/r%d" % self.random.randrange(REGISTERS)

    def write(self):
        o = Operation(self.number, self.key(), b"%d.%d" % (self.number, self.new_id()))
        self.history.began(o)
        self.send(zk.SET_DATA, {"path": o.key, "data": o.data, "version": -1},
                  lambda reply: self.finish(o, reply, o.data))

    def read(self):
        """Behind a sync, or without: then it only must not go back for this session."""
        key = self.key()
        if self.random.random() < 0.5:
            o = Operation(self.number, key)
            self.history.began(o)
            self.send(zk.SYNC, {"path": key}, self.check)
        else:
            o = None
        self.send(zk.GET_DATA, {"path": key, "watch": False},
                  lambda reply: self.finish(o, reply, None, key))

    def finish(self, o, reply, data, key=None):
        self.check(reply)
        key = o.key if o else key
        stat = reply.body["stat"]
        data = reply.body["data"] if data is None else data
        if stat["version"] < self.seen.get(key, 0):
            raise Wrong("%s goes back from version %d to %d" % (key, self.seen[key],
                                                                stat["version"]))
        self.seen[key] = stat["version"]
        self.history.saw(key, data, stat, self.name)
        if o:
            o.done(data, stat, self.answerer)

    def create(self):
        path = "%s/n%d" % (self.root, self.new_id())

        def made(reply):
            self.check(reply)
            self.created[path] = reply.zxid
        self.send(zk.CREATE, {"path": path, "data": b"", "acl": zk.WORLD_ALL, "flags": 0}, made)


class Story:
    name = "ensemble_kills"

    def __init__(self, options, folder):
        self.options = options
        self.random = random.Random(options.seed)
        self.members = self.make_members(folder)
        ours = [m for m in self.members if m.kind == "p"]
        for m in ours:  # often new files, and sometimes somebody is too far behind for a DIFF
            m.config.update(snapCount=str(self.random.choice((50, 300, 2000))), commitLogCount="50")
        self.history = History()
        self.ghosts = []
        ports = [m.port for m in self.members]
        self.clients = [self.make_client(i, ports) for i in range(options.clients)]

    def make_client(self, number, ports):
        return Client(number, ports, self.options.seed, self.history)

    def make_members(self, folder):
        return pe.make(self.options.kinds, folder)

    # -- the load's own --

    def begin(self):
        for m in self.members:
            m.start(wait=False)
        pe.wait_settled(self.members)
        conn = pe.connect(self.members[0])
        pe.create(conn, "/k", b"")
        pe.create(conn, "/ghosts", b"")
        for i in range(REGISTERS):
            pe.create(conn, "/k/r%d" % i, b"")
        conn.close()
        for c in self.clients:
            c.start()

    def n_done(self):
        return sum(c.n_done for c in self.clients)

    def complain(self):
        """Whatever is wrong already ends the story."""
        for c in self.clients:
            if c.error:
                raise Wrong(c.error)
        if self.history.wrong:
            raise Wrong("; ".join(self.history.wrong[:3]))
        for m in self.members:
            if m.process.poll() not in (None, -signal.SIGKILL):
                raise m.error("ended by itself with %s" % m.process.poll())

    def wait_progress(self, each=False, clients=None):
        clients = clients or self.clients
        before = [c.n_done for c in clients]

        def gone_on():
            self.complain()
            grown = [c.n_done - n for c, n in zip(clients, before)]
            return min(grown) > 0 if each else sum(grown) >= PROGRESS_WRITES
        wait_until(gone_on, "writes to go on", PROGRESS_SECONDS)

    # -- faults --

    def leave_ghost(self, member):
        """A session that never comes back."""
        try:
            conn = zk.Conn(member.port, timeout=1.0)
            conn.handshake(GHOST_MS)
            path = "/ghosts/%d" % len(self.ghosts)
            reply, _ = conn.call(zk.CREATE, {"path": path, "data": b"", "acl": zk.WORLD_ALL,
                                             "flags": 1})
            self.ghosts.append(path)
            conn.close()
        except (zk.Closed, zk.Timeout, OSError):
            pass

    def leader(self):
        def lead():
            self.complain()
            return next((m for m in self.members if m.mode() == "leader"), None)
        return wait_until(lead, "a leader", PROGRESS_SECONDS)

    def pick(self, who):
        leader = self.leader()
        observers = [m for m in self.members if m.is_observer]
        rest = [m for m in self.members if m is not leader and not m.is_observer]
        self.random.shuffle(rest)
        if who == "leader":
            return [leader]
        if who == "follower":
            return rest[:1]
        if who == "two":
            return [leader, rest[0]]
        if who == "two followers":
            return rest[:2]
        if who == "observer":
            return observers[:1]
        return list(self.members)

    def rest_of(self, picked):
        return [m for m in self.members if m not in picked]

    def is_quorum(self, members):
        voters = [m for m in self.members if not m.is_observer]
        return 2 * sum(m in voters for m in members) > len(voters)

    def pass_time(self, rest):
        """Faults come whenever they do: at once, when the others have noticed, after some answers."""
        what = self.random.choice(("nothing", "notice", "answers"))
        if what == "notice" and rest:
            self.wait_for(lambda: all(m.mode() == "" for m in rest if not m.paused) or
                          any(m.mode() == "leader" for m in rest), "the others to notice")
        elif what == "answers" and self.is_quorum(rest):
            self.wait_progress()

    def kill(self, picked):
        for m in picked:
            m.kill9()
        self.pass_time(self.rest_of(picked))
        for m in picked:
            m.start(wait=False)
        if self.random.random() < 0.25:  # again, while they recover
            again = self.random.choice(picked)
            again.kill9()
            again.start(wait=False)

    def stop_for_a_while(self, members, is_stopped):
        for m in members:
            m.signal(signal.SIGSTOP if is_stopped else signal.SIGCONT)
            m.paused = is_stopped

    def pause(self, picked):
        self.stop_for_a_while(picked, True)
        self.pass_time(self.rest_of(picked))
        self.stop_for_a_while(picked, False)

    def alone(self, picked):
        """It dies with proposals that the others have not read, if they ever do."""
        rest = self.rest_of(picked)
        self.stop_for_a_while(rest, True)
        self.wait_for(lambda: self.has_proposed(picked[0]), "a proposal")
        for m in picked:
            m.kill9()
        self.stop_for_a_while(rest, False)
        self.wait_progress()
        for m in picked:
            m.start(wait=False)

    def has_proposed(self, leader):
        """Or leads no more, since nobody answers it."""
        return leader.mode() != "leader" or int(pe.mntr(leader)["zk_outstanding_requests"]) > 0

    def rounds(self):
        """Without an observer there is nothing to do to it. A follower of Apache's that is stopped and
        reads a dead leader's proposal may lead with it in its tree and not in what it sends to others."""
        rounds = [r for r in ROUNDS if r[1] != "observer" or any(m.is_observer for m in self.members)]
        if any(m.kind == "a" for m in self.members):
            rounds = [r for r in rounds if r[0] != "alone"]
        return rounds

    def round(self, number):
        rounds = self.rounds()
        how, who = rounds[number % len(rounds)]
        picked = self.pick(who)
        if self.options.verbose:
            print("%.1f round %d: %s %s %s" % (time.monotonic(), number, how, who,
                                              [m.number for m in picked]), flush=True)
        self.leave_ghost(self.random.choice(self.members))
        getattr(self, how)(picked)
        self.wait_progress()
        if self.random.random() < 0.5:
            self.wait_settled()

    def wait_settled(self):
        def settled():
            self.complain()
            return ensemble.all_serve(self.members)
        wait_until(settled, "a leader and its followers", PROGRESS_SECONDS)

    # -- the end --

    def finish(self):
        self.wait_settled()
        self.wait_progress(each=True)
        for c in self.clients:
            c.leave = True
        for c in self.clients:
            c.join(PROGRESS_SECONDS)
            if c.is_alive():
                raise Wrong("%s waits for an answer" % c.name)
        self.complain()
        self.wait_settled()
        self.wait_for(self.ghosts_gone, "the sessions left behind to end")
        self.wait_for(lambda: pe.in_step(self.members), "all in step")
        self.judge(self.wait_for(lambda: tree_dump.dump(self.members[0].port, pe.LOCAL), "a tree"))
        return self.wait_for(lambda: pe.same_trees(self.members), "all trees")

    def wait_for(self, condition, what):
        """A member that was paused may notice only now that it has to find its leader again, and
        closes its connections: it is asked once more."""
        def is_so():
            self.complain()
            try:
                return condition()
            except (zk.Closed, zk.Timeout, OSError):
                return False
        return wait_until(is_so, what, PROGRESS_SECONDS)

    def ghosts_gone(self):
        conn = pe.connect(self.leader())
        reply, _ = conn.call(zk.GET_CHILDREN, {"path": "/ghosts", "watch": False})
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()
        return reply.body["children"] == [] and all(
            pe.mntr(m).get("zk_ephemerals_count") == "0" for m in self.members)

    def judge(self, tree):
        for i in range(REGISTERS):
            node = tree["/k/r%d" % i]
            self.history.saw("/k/r%d" % i, node["data"], node, "in the end")
            newest = max((o.version or 0 for o in self.history.operations["/k/r%d" % i]), default=0)
            if node["version"] < newest:
                raise Wrong("/k/r%d ends at version %d and was at %d" % (i, node["version"],
                                                                        newest))
        for c in self.clients:
            for path, zxid in c.created.items():
                if path not in tree or tree[path]["czxid"] != zxid:
                    raise Wrong("%s of 0x%x is lost: %r" % (path, zxid, tree.get(path)))
        wrong = self.history.verdict()
        if wrong:
            raise Wrong("%d, first: %s" % (len(wrong), "; ".join(wrong[:5])))

    def excused(self):
        n = self.history.n_excused
        return ", %d stale reads behind a sync at a leader of Apache's" % n if n else ""

    def play(self):
        try:
            self.begin()
            for number in range(self.options.rounds):
                self.round(number)
            nodes = self.finish()
            print("%s: %s: passed, seed %d, %d rounds, %d answers, %d nodes%s" % (
                self.name, self.options.kinds, self.options.seed, self.options.rounds, self.n_done(), nodes,
                self.excused()))
        finally:
            for m in self.members:
                m.close()


def tell(story_class, options, name):
    """Plays it: the exit code. The logs of what failed are kept."""
    def story():
        folder = tempfile.mkdtemp(prefix=name.replace("_", "-") + "-")
        told = story_class(options, folder)
        try:
            told.play()
        except Exception as e:  # whatever it was
            return "%s: %s: FAILED, seed %d: %s: %s; logs in %s" % (
                name, options.kinds, options.seed, type(e).__name__, e, folder), told.members
        shutil.rmtree(folder, ignore_errors=True)
        return None, told.members
    return apache_hole.play(story)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--kinds", default="ppp", help="ppp, ppppp, paa, ...: p is pawld")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    return tell(Story, options, "ensemble_kills")


if __name__ == "__main__":
    sys.exit(main())
