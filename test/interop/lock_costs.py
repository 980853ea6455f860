#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What recipes cost: the requests and events that go over the wire, counted by a proxy.

    lock_costs.py --program BUILD/recipe_peer --server pawld [--server apache]

Once the parent nodes are there, an acquire that nobody contends is one create and one listing, sent
together; a release is one delete; and a release with eight that wait wakes exactly one of them.
Not counted: whoever holds something for longer looks at its own node once, to be told when somebody
deletes it.
"""
import argparse
import collections
import socket
import sys
import threading

import peers
import servers
import zkwire
from patience import PATIENCE_SECONDS

SESSION_MS = 60000
LONG_MS = PATIENCE_SECONDS * 1000
TOGETHER_SECONDS = 30  # for what is not sent together to be seen as that
WAITERS = 8
PING, CLOSE = 11, -11


class Connection:
    def __init__(self):
        self.session = None  # its id, when the server has said it
        self.asked = {}      # xid: what
        self.made = set()    # the paths of its protected nodes
        self.looked = set()  # those of them that it looked at, each for one watch


def text_at(body, at):
    """Whatever stands there; not every request has a path."""
    return body[at + 4:at + 4 + int.from_bytes(body[at:at + 4], "big", signed=True)].decode(errors="replace")


def is_own(name, path, connection):
    """A look at its own node; or the end of that watch, when the node was given back meanwhile."""
    if name == "getData" and path in connection.made:
        connection.looked.add(path)
        return True
    if name == "removeWatches" and path in connection.looked:
        connection.looked.remove(path)
        return True
    return False


class CountingProxy:
    """Hands on whole packets, and writes down what each was, with the session's id: ">create2",
    "<create2", "!event". A look at a node that the connection itself has made is ">own"."""

    def __init__(self, port):
        self.to = port
        self.lock = threading.Condition()
        self.log = []
        self.connections = []
        self.hold_replies_until = None  # there are so many requests in the log
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            far = socket.create_connection(("127.0.0.1", self.to))
            connection = Connection()
            self.connections.append(connection)
            for source, sink, note in ((near, far, self.request), (far, near, self.reply)):
                source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self.pump, args=(source, sink, note, connection),
                                 daemon=True).start()

    def pump(self, source, sink, note, connection):
        first = True
        try:
            stream = source.makefile("rb")
            while True:
                head = stream.read(4)
                body = stream.read(int.from_bytes(head, "big")) if len(head) == 4 else b""
                if not body:
                    break
                with self.lock:
                    if not first:
                        note(body, connection)
                    elif note == self.reply:  # the end of the handshake
                        connection.session = int.from_bytes(body[8:16], "big", signed=True)
                    self.lock.notify_all()
                first = False
                sink.sendall(head + body)
        except OSError:
            pass
        sink.close()

    def request(self, body, connection):
        xid = int.from_bytes(body[:4], "big", signed=True)
        op = int.from_bytes(body[4:8], "big", signed=True)
        if op in (PING, CLOSE):
            return
        name = zkwire.op_name(op)
        if is_own(name, text_at(body, 8), connection):
            name = "own"
        connection.asked[xid] = name
        self.log.append((connection.session, ">" + name))

    def reply(self, body, connection):
        xid, err = (int.from_bytes(part, "big", signed=True) for part in (body[:4], body[12:16]))
        if xid == -1:
            self.log.append((connection.session, "!event"))
        elif xid in connection.asked:
            if self.hold_replies_until is not None:
                self.lock.wait_for(lambda: len(requests(self.log)) >= self.hold_replies_until,
                                   TOGETHER_SECONDS)
            name = connection.asked.pop(xid)
            if name == "create2" and err == 0 and "/_c_" in text_at(body, 16):
                connection.made.add(text_at(body, 16))
            self.log.append((connection.session, "<" + name))

    def start_count(self, hold_replies_until=None):
        with self.lock:
            self.log.clear()
            self.hold_replies_until = hold_replies_until

    def wait_log(self, line):
        with self.lock:
            assert self.lock.wait_for(lambda: line in self.log, PATIENCE_SECONDS), (line, self.log)

    def is_settled(self, answers):
        seen = collections.Counter(text[1:] for _, text in self.log if text[0] == "<")
        return not answers - seen and not any(c.asked for c in self.connections)

    def counted(self, answers=()):
        """The log, when all of these answers are in it and nobody waits for another."""
        answers = collections.Counter(answers)
        with self.lock:
            assert self.lock.wait_for(lambda: self.is_settled(answers), PATIENCE_SECONDS), self.log
            return list(self.log)

    def close(self):
        self.listener.close()


def requests(log, session=None):
    """Without looks at nodes of one's own: whoever holds something longer watches it, once."""
    return [text[1:] for who, text in log
            if text[0] == ">" and text != ">own" and session in (None, who)]


def uncontended(proxy, peer, path):
    """The second time: the parents are there, and the connection is."""
    session = int(peer.ask("c0", "connect"))
    peer.ask("c0", "mutex-acquire", path, LONG_MS)
    peer.ask("c0", "mutex-release", path)
    proxy.start_count(hold_replies_until=2)
    assert peer.ask("c0", "mutex-acquire", path, LONG_MS) == "yes"
    log = [text for _, text in proxy.counted(["create2", "getChildren2"]) if not text.endswith("own")]
    assert log[:2] == [">create2", ">getChildren2"] and sorted(log[2:]) == [
        "<create2", "<getChildren2"], log
    proxy.start_count()
    peer.ask("c0", "mutex-release", path)
    release = requests(proxy.counted(["delete"]), session)
    assert release == ["delete"], release
    return "acquire: create2 + getChildren2, sent together; release: delete"


def hand_over(proxy, peer, path):
    """Eight wait, each behind the one ahead; one release is one event, and one looks again."""
    names = ["h"] + ["w%d" % i for i in range(WAITERS)]
    sessions = [int(peer.ask(name, "connect")) for name in names]
    assert peer.ask("h", "mutex-acquire", path, LONG_MS) == "yes"
    answers = [None]
    for name, session in list(zip(names, sessions))[1:]:
        proxy.start_count()
        answers.append(peer.tell(name, "mutex-acquire", path, LONG_MS))
        proxy.wait_log((session, "<getData"))
        queued = requests(proxy.counted(), session)
        assert queued == ["create2", "getChildren2", "getData"], queued
    for i in range(WAITERS):
        proxy.start_count()
        peer.ask(names[i], "mutex-release", path)
        assert answers[i + 1].get() == "yes"
        log = proxy.counted(["delete", "getChildren2"])
        assert requests(log, sessions[i]) == ["delete"], log
        assert requests(log, sessions[i + 1]) == ["getChildren2"], log
        assert len(requests(log)) == 2, log
        told = [who for who, text in log if text == "!event" and who != sessions[i]]
        assert told == [sessions[i + 1]], (told, log)
        assert all(answer.waits() for answer in answers[i + 2:])
    peer.ask(names[-1], "mutex-release", path)
    return "%d waiters: a release is 1 event to 1 of them; delete, and its getChildren2" % WAITERS


# What is taken and given back; the requests of both together, since some go in the background; and
# how many Curator makes.
TABLE = (
    ("read lock", ("rw-acquire", "/cost/rw", "read", LONG_MS), ("rw-release", "/cost/rw", "read"),
     "create2 delete getChildren2", 3),
    ("write lock", ("rw-acquire", "/cost/rw", "write", LONG_MS),
     ("rw-release", "/cost/rw", "write"), "create2 delete getChildren2", 3),
    ("semaphore", ("sem-acquire", "/cost/sem", 2, LONG_MS), ("sem-return", "/cost/sem"),
     "create2 create2 delete delete getChildren2 getChildren2", 7),
    ("barrier", ("barrier-set", "/cost/barrier"), ("barrier-remove", "/cost/barrier"),
     "create2 delete", 2),
    ("atomic add", ("atomic-add", "/cost/atomic", 1), None, "getData setData", 2),
)


def table(proxy, peer):
    rows = []
    for name, take, give, expected, curator in TABLE:
        for answers in (["delete"] * expected.count("delete"), expected.split()):
            proxy.start_count()  # the second time counts: the parents are there
            peer.ask("t", *take)
            if give:
                peer.ask("t", *give)
            made = requests(proxy.counted(answers))
        assert sorted(made) == expected.split() and len(made) <= curator, (name, made)
        rows.append("%s: %s (Curator: %d requests)" % (name, " + ".join(made), curator))
    return rows


def run(kind, program):
    with servers.make(kind) as server:
        proxy, referee = CountingProxy(server.port), peers.Referee()
        peer = peers.Peer("c", [program, "127.0.0.1:%d" % proxy.port, str(SESSION_MS),
                                str(referee.port)]).wait_ready()
        try:
            for line in [uncontended(proxy, peer, "/cost/lock"),
                         hand_over(proxy, peer, "/cost/queue")] + table(proxy, peer):
                print("%s: %s" % (kind, line), flush=True)
            peer.end()
        finally:
            peer.close()
            proxy.close()
            referee.close()
        server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--program", required=True)
    parser.add_argument("--server", choices=sorted(servers.KINDS), action="append", required=True)
    options = parser.parse_args()
    for kind in options.server:
        run(kind, options.program)
    return 0


if __name__ == "__main__":
    sys.exit(main())
