#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in a loop under load: what was acknowledged is there, the rest wholly or not at all.

    kill9.py --server pawld|apache [--rounds 100] [--clients 4] [--seed N] [--then-apache]

Several clients write with many requests under way. Each has a folder of its own, so it can tell
from a model what every answer must be. At a random moment the server is killed and started again on
the same folder and port, sometimes killed again while it recovers. Each client comes back with its
session and reads its folder: it must be the state after all acknowledged requests plus some first
part of those under way, since one client's requests are carried out in order. Multis are one request
there, so they are all or nothing. Ephemeral nodes, versions, child versions and sequence counters
are part of the state. Sessions that do not come back must expire, in spite of all the restarts.
"""
import argparse
import random
import sys
import threading
import time
from collections import deque

import servers
import zkwire as zk
from patience import PATIENCE_SECONDS

FOLDERS = ("n", "r", "q", "e")  # plain nodes, registers, sequence nodes, ephemeral nodes
REGISTERS = 8
MANY = 60  # a folder with more nodes than this is thinned out
SESSION_MS = 40000
GHOST_SESSION_MS = 4000
RECONNECT_SECONDS = 120


class Wrong(Exception):
    """The server broke a promise."""


class State:
    """A client's folder as it must be: nodes[path] = (data, version, is_ephemeral), and the number
    of children made and removed per folder."""

    def __init__(self):
        self.nodes = {}
        self.made = {f: 0 for f in FOLDERS}
        self.removed = {f: 0 for f in FOLDERS}

    def copy(self):
        other = State()
        other.nodes = dict(self.nodes)
        other.made, other.removed = dict(self.made), dict(self.removed)
        return other

    def create(self, path, data, ephemeral=False):
        self.nodes[path] = (data, 0, ephemeral)
        self.made[path.split("/")[3]] += 1

    def set(self, path, data):
        _, version, ephemeral = self.nodes[path]
        self.nodes[path] = (data, version + 1, ephemeral)

    def delete(self, path):
        del self.nodes[path]
        self.removed[path.split("/")[3]] += 1

    def names(self, folder):
        return [p for p in self.nodes if p.split("/")[3] == folder]

    def seen(self):
        """In the form in which Client.look reads it from a server."""
        return self.nodes, {f: (self.made[f] - self.removed[f], self.made[f] + self.removed[f])
                            for f in FOLDERS}


def create(path, data, flags=0):
    return zk.CREATE, {"path": path, "data": data, "acl": zk.WORLD_ALL, "flags": flags}


class Request:
    """One request, what it does to the state, and what its answer must be."""

    def __init__(self, op, fields, change, check):
        self.op, self.fields, self.change, self.check = op, fields, change, check


class Client(threading.Thread):
    def __init__(self, number, port, seed, may_knock):
        super().__init__(daemon=True, name="client %d" % number)
        self.may_knock = may_knock
        self.root = "/k/c%d" % number
        self.port = port
        self.random = random.Random("%d/%d" % (seed, number))
        self.acknowledged = State()  # what the server has confirmed
        self.sent = State()          # the same with all that is under way
        self.under_way = deque()
        self.n_acknowledged = 0
        self.next_id = 0
        self.session_id, self.passwd, self.last_zxid = 0, bytes(16), 0
        self.conn = None
        self.error = None
        self.verified = threading.Event()
        self.lost_answers = 0
        self.lost_but_done = 0
        self.leave = False

    # -- life ------------------------------------------------------------------------------------

    def run(self):
        try:
            self.connect()
            self.make_folders()
            self.verified.set()
            while not self.leave:
                try:
                    self.load()
                except zk.Closed:
                    self.come_back()
                    self.verified.set()
            self.drain()
        except Exception as e:  # noqa: B902: whatever it is, the main thread reports it
            self.error = "%s: %s: %s" % (self.name, type(e).__name__, e)
            self.verified.set()

    def connect(self):
        """Connects, with the session if there is one; insists while the server is down."""
        deadline = time.monotonic() + RECONNECT_SECONDS
        while True:
            self.may_knock.wait(RECONNECT_SECONDS)
            try:
                conn = zk.Conn(self.port, timeout=60.0)
                answer = conn.handshake(SESSION_MS, self.session_id, self.passwd, self.last_zxid)
                break
            except (zk.Closed, OSError) as e:
                if time.monotonic() > deadline:
                    raise Wrong("no connection for %d s (%r)" % (RECONNECT_SECONDS, e)) from None
                time.sleep(0.01)  # the server is being started by somebody else
        if answer["timeOut"] == 0 or self.session_id not in (0, answer["sessionId"]):
            raise Wrong("session 0x%x was not taken back" % self.session_id)
        self.conn = conn
        self.session_id, self.passwd = answer["sessionId"], answer["passwd"]

    def make_folders(self):
        for path in [self.root] + ["%s/%s" % (self.root, f) for f in FOLDERS]:
            self.must(*create(path, b""))
        for i in range(REGISTERS):
            self.submit(self.make_register(i))
        self.drain()

    def must(self, op, fields):
        reply, _ = self.conn.call(op, fields)
        if reply.err != 0:
            raise Wrong("%r: %r" % (fields, reply))
        return reply.body

    # -- load ------------------------------------------------------------------------------------

    def load(self):
        """Keeps a changing number of requests under way until the connection breaks."""
        while not self.leave:
            window = self.random.choice((1, 8, 64))
            for _ in range(self.random.randrange(1, 200)):
                while len(self.under_way) < window:
                    self.submit(self.random_request())
                self.receive()

    def submit(self, request):
        self.under_way.append(request)
        request.change(self.sent)
        self.conn.send(request.op, request.fields)

    def receive(self):
        reply = self.conn.recv()
        request = self.under_way.popleft()
        request.check(reply)
        if reply.zxid < self.last_zxid:
            raise Wrong("zxid goes back from 0x%x to 0x%x" % (self.last_zxid, reply.zxid))
        self.last_zxid = reply.zxid
        request.change(self.acknowledged)
        self.n_acknowledged += 1

    def drain(self):
        while self.under_way:
            self.receive()

    # -- requests --------------------------------------------------------------------------------

    def random_request(self):
        kinds = (self.make_node, self.make_node, self.make_sequence, self.make_ephemeral,
                 self.set_register, self.set_register, self.make_multi, self.make_multi,
                 self.make_bad_version, self.make_failing_multi)
        for folder in ("n", "q", "e"):
            if len(self.sent.names(folder)) > MANY:
                return self.remove_some(folder)
        return self.random.choice(kinds)()

    def new_id(self):
        self.next_id += 1
        return self.next_id

    def value(self):
        return b"%d:" % self.new_id() + b"x" * self.random.choice((0, 10, 100, 3000))

    def make_register(self, i):
        return self.plain_create("%s/r/%d" % (self.root, i), b"0")

    def make_node(self):
        return self.plain_create("%s/n/%d" % (self.root, self.new_id()), self.value())

    def make_ephemeral(self):
        return self.plain_create("%s/e/%d" % (self.root, self.new_id()), self.value(), flags=1)

    def plain_create(self, path, data, flags=0):
        return Request(*create(path, data, flags),
                       change=lambda s: s.create(path, data, flags == 1),
                       check=lambda r: expect(r.err == 0 and r.body["path"] == path, r, path))

    def sequence_name(self, state):
        return "%s/q/s%010d" % (self.root, state.made["q"])

    def make_sequence(self):
        data = self.value()
        path = self.sequence_name(self.sent)
        return Request(*create(self.root + "/q/s", data, flags=2),
                       change=lambda s: s.create(path, data),
                       check=lambda r: expect(r.err == 0 and r.body["path"] == path, r, path))

    def set_register(self):
        path = self.random.choice(self.sent.names("r"))
        data, version = self.value(), self.sent.nodes[path][1]
        wanted = self.random.choice((-1, version))
        return Request(zk.SET_DATA, {"path": path, "data": data, "version": wanted},
                       change=lambda s: s.set(path, data),
                       check=lambda r: expect(
                           r.err == 0 and r.body["stat"]["version"] == version + 1, r, path))

    def remove_some(self, folder):
        """A multi that removes several nodes of a folder."""
        doomed = self.random.sample(self.sent.names(folder), 20)
        ops = [(zk.DELETE, {"path": p, "version": self.sent.nodes[p][1]}) for p in doomed]

        def change(state):
            for path in doomed:
                state.delete(path)

        return Request(zk.MULTI, {"ops": ops}, change, lambda r: expect_multi(r, len(ops)))

    def make_multi(self):
        """Two nodes, a sequence node and a register, all at once."""
        number, data = self.new_id(), self.value()
        pair = ["%s/n/%d%s" % (self.root, number, end) for end in "ab"]
        register = self.random.choice(self.sent.names("r"))
        sequence = self.sequence_name(self.sent)
        ops = [create(pair[0], data), create(self.root + "/q/s", data, flags=2),
               (zk.SET_DATA, {"path": register, "data": data, "version": -1}),
               create(pair[1], data), (zk.CHECK, {"path": pair[0], "version": 0})]

        def change(state):
            for path in pair + [sequence]:
                state.create(path, data)
            state.set(register, data)

        return Request(zk.MULTI, {"ops": ops}, change, lambda r: expect_multi(r, len(ops)))

    def make_bad_version(self):
        path = self.random.choice(self.sent.names("r"))
        wrong = self.sent.nodes[path][1] + 7
        return Request(zk.SET_DATA, {"path": path, "data": b"never", "version": wrong},
                       change=lambda s: None,
                       check=lambda r: expect(r.err == zk.BAD_VERSION, r, path))

    def make_failing_multi(self):
        """Would make a node and set a register, but its last check does not hold."""
        register = self.random.choice(self.sent.names("r"))
        ops = [create("%s/n/never%d" % (self.root, self.new_id()), b"never"),
               (zk.SET_DATA, {"path": register, "data": b"never", "version": -1}),
               (zk.CHECK, {"path": self.root + "/none", "version": -1})]
        errors = [0, 0, zk.NO_NODE]
        return Request(zk.MULTI, {"ops": ops}, lambda s: None,
                       lambda r: expect(multi_errors(r) == errors, r, errors))

    # -- after a crash ---------------------------------------------------------------------------

    def come_back(self):
        self.conn.close()
        found = self.connect_and_look()
        state = self.acknowledged.copy()
        self.lost_answers += len(self.under_way)
        done = 0
        # A request that changes nothing looks the same done or not: the shortest match will do.
        while state.seen() != found:
            if not self.under_way:
                raise Wrong("the folder is in none of the possible states\n" +
                            describe(self.acknowledged, self.sent, found))
            self.under_way.popleft().change(state)
            done += 1
        self.lost_but_done += done
        self.under_way.clear()
        self.acknowledged, self.sent = state, state.copy()

    def connect_and_look(self):
        """The server may be killed while it is looked at: then once more."""
        while True:
            self.connect()
            try:
                return self.look(self.conn)
            except zk.Closed:
                self.conn.close()

    def look(self, conn):
        """Reads the whole folder: (nodes, {folder: (numChildren, cversion)})."""
        for folder in FOLDERS:
            conn.send(zk.GET_CHILDREN2, {"path": "%s/%s" % (self.root, folder), "watch": False})
        listed = [self.body_of(conn.recv()) for _ in FOLDERS]
        counts = {f: (body["stat"]["numChildren"], body["stat"]["cversion"])
                  for f, body in zip(FOLDERS, listed)}
        paths = ["%s/%s/%s" % (self.root, f, name)
                 for f, body in zip(FOLDERS, listed) for name in body["children"]]
        for path in paths:
            conn.send(zk.GET_DATA, {"path": path, "watch": False})
        nodes = {}
        for path in paths:
            body = self.body_of(conn.recv())
            owner = body["stat"]["ephemeralOwner"]
            if owner not in (0, self.session_id):
                raise Wrong("%s belongs to 0x%x" % (path, owner))
            nodes[path] = (body["data"], body["stat"]["version"], owner != 0)
        return nodes, counts

    def body_of(self, reply):
        expect(reply.err == 0, reply, self.root)
        return reply.body


def expect(condition, reply, about):
    if not condition:
        raise Wrong("%r, about %r" % (reply, about))


def multi_errors(reply):
    if reply.err != 0:
        return reply.err
    return [r["body"]["value"] if r["type"] == zk.ERROR else 0 for r in reply.body["results"]]


def expect_multi(reply, n):
    expect(multi_errors(reply) == [0] * n, reply, "multi of %d" % n)


def describe(acknowledged, sent, found):
    """What is odd about `found`, for a human."""
    nodes, counts = found
    lines = ["acknowledged but not there: %s" % sorted(
                 p for p in acknowledged.nodes if p not in nodes and p in sent.nodes)[:10],
             "there but never asked for: %s" % sorted(
                 p for p in nodes if p not in sent.nodes and p not in acknowledged.nodes)[:10]]
    older = [p for p in acknowledged.nodes if p in nodes
             and nodes[p][1] < acknowledged.nodes[p][1]]
    lines.append("older than acknowledged: %s" % sorted(older)[:10])
    lines.append("children (number, version): found %s, acknowledged %s, sent %s" % (
        counts, acknowledged.seen()[1], sent.seen()[1]))
    return "\n".join(lines)


class Ghosts:
    """Sessions that make an ephemeral node and are never heard of again."""

    def __init__(self, port):
        self.port = port
        self.paths = []

    def add(self):
        conn = zk.Conn(self.port, timeout=60.0)
        conn.handshake(GHOST_SESSION_MS)
        path = "/k/ghost%d" % len(self.paths)
        reply, _ = conn.call(*create(path, b"", flags=1))
        expect(reply.err == 0, reply, path)
        self.paths.append(path)
        conn.sock.close()

    def wait_until_gone(self):
        deadline = time.monotonic() + PATIENCE_SECONDS
        conn = zk.Conn(self.port, timeout=60.0)
        conn.handshake(SESSION_MS)
        for path in self.paths:
            while conn.call(zk.EXISTS, {"path": path, "watch": False})[0].err == 0:
                if time.monotonic() > deadline:
                    raise Wrong("%s outlives its session" % path)
                time.sleep(0.1)  # no watch: the point is that the node goes by itself
        conn.call(zk.CLOSE_SESSION, {})
        conn.close()


def wait_verified(clients):
    for client in clients:
        if not client.verified.wait(RECONNECT_SECONDS + 20):
            raise Wrong("%s does not come back" % client.name)
    for client in clients:
        if client.error:
            raise Wrong(client.error)


def crash(server, rng, clients, may_knock):
    """Kills the server and brings it back, through further kills during recovery at times."""
    for client in clients:
        client.verified.clear()
    if server.name == "apache":
        may_knock.clear()  # while it starts it takes connections that it then never answers
    if not server.running():
        raise Wrong("the server died by itself; its log ends with:\n" + server.log_text()[-3000:])
    server.kill9()
    while rng.random() < 0.15:
        server.start(wait=False)
        time.sleep(rng.random() * 0.1)
        server.kill9()
    server.start()
    may_knock.set()


def check_on_apache(folder, clients):
    """Apache's server must find the same in the folder, and agree with its digests."""
    with servers.ApacheServer(dir=folder, config=CONFIG) as apache:
        for client in clients:
            conn = zk.Conn(apache.port, timeout=60.0)
            answer = conn.handshake(SESSION_MS, client.session_id, client.passwd)
            if answer["timeOut"] == 0:
                raise Wrong("Apache's server does not know session 0x%x" % client.session_id)
            if client.look(conn) != client.acknowledged.seen():
                raise Wrong("Apache's server sees another %s" % client.root)
            conn.close()
        mntr = servers.four_letter_word(apache.port, "mntr")
        if "zk_digest_mismatches_count\t0" not in mntr:
            raise Wrong("Apache's server reports digest mismatches")
    print("kill9: Apache's server reads the folder the same, digests equal")


# Snapshots often, so that some kills meet one being written.
CONFIG = {"tickTime": "1000", "snapCount": "2000", "maxSessionTimeout": str(SESSION_MS)}


def run(options):
    rng = random.Random(options.seed)
    kwargs = {"config": CONFIG, "keep": options.keep}
    with servers.make(options.server, **kwargs) as server:
        root = zk.Conn(server.port)
        root.handshake(SESSION_MS)
        root.call(*create("/k", b""))
        root.call(zk.CLOSE_SESSION, {})
        server.fixed_port = server.port
        ghosts = Ghosts(server.port)
        may_knock = threading.Event()
        may_knock.set()
        clients = [Client(i, server.port, options.seed, may_knock) for i in range(options.clients)]
        for client in clients:
            client.start()
        wait_verified(clients)
        for i in range(options.rounds):
            if i % 10 == 0:
                ghosts.add()
            time.sleep(rng.random() * options.load_ms / 1000)  # the load is the point
            crash(server, rng, clients, may_knock)
            wait_verified(clients)
            if (i + 1) % 10 == 0:
                print("kill9: %d kills, %d requests acknowledged" % (
                    i + 1, sum(c.n_acknowledged for c in clients)), flush=True)
        finish(clients)
        ghosts.wait_until_gone()
        report(options, clients)
        server.end()
        if options.then_apache:
            check_on_apache(server.dir, clients)


def finish(clients):
    """Lets every client get its last answers and compare once more."""
    for client in clients:
        client.leave = True
    for client in clients:
        client.join(60)
        if client.error or client.is_alive():
            raise Wrong(client.error or client.name + " does not end")
        if client.look(client.conn) != client.acknowledged.seen():
            raise Wrong("%s: the last state differs" % client.name)
        client.conn.close()


def report(options, clients):
    lost = sum(c.lost_answers for c in clients)
    done = sum(c.lost_but_done for c in clients)
    acknowledged = sum(c.n_acknowledged for c in clients)
    print("kill9 on %s: %d kills, %d requests acknowledged and all there; of %d without an answer"
          " at least %d were carried out" % (options.server, options.rounds, acknowledged, lost,
                                             done))
    if acknowledged < 10 * options.rounds or lost == 0:
        raise Wrong("too little load for this to mean anything")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--server", choices=sorted(servers.KINDS), required=True)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--load-ms", type=int, default=400, help="at most so long between kills")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", action="store_true", help="leave the data folder behind")
    parser.add_argument("--then-apache", action="store_true",
                        help="at the end, Apache's server reads the folder too")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.randrange(1 << 31)
    print("kill9: seed %d" % options.seed, flush=True)
    try:
        run(options)
    except (Wrong, zk.Closed, zk.Timeout, RuntimeError) as e:
        print("kill9: FAILED (--seed %d): %s: %s" % (options.seed, type(e).__name__, e))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
