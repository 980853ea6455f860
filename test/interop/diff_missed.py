# SPDX-License-Identifier: Apache-2.0
"""What differential.py expects of pawld at setWatches2: the events that persistent and recursive
watches missed, which Apache's server does not send ([15] in its list).

A witness watches everything from the start on, with the rights of the superuser. What is told again to a
client that comes back must be of that: later than what the client says it has seen, at or below
what it watches, in order; and all of it where no ACL hides anything and the client had no watch
on this connection before.
"""
import diff_generator as gen
import zkwire as zk

CREATED, DELETED, CHILDREN = 1, 2, 4


class Wrong(Exception):
    pass


class Witness:
    def __init__(self, port, seconds):
        self.conn = zk.Conn(port, seconds)
        self.conn.handshake(timeout_ms=600000)
        self.conn.send(zk.AUTH, {"type": 0, "scheme": "digest", "auth": b"super:pw"})
        self.conn.send(zk.ADD_WATCH, {"path": "/", "mode": 1})
        self.events = []
        for _ in range(2):
            self.wait_for_reply()

    def wait_for_reply(self):
        while True:
            message = self.conn.recv()
            if isinstance(message, zk.Reply):
                return
            self.events.append((message.zxid, message.type, message.path))

    def look(self):
        """Everything that has happened by now has been seen afterwards."""
        self.conn.send(zk.PING)
        self.wait_for_reply()

    def close(self):
        self.conn.close()


def concerns(fields, kind, path):
    """Whether the watches that stay in a setWatches2 are told of this."""
    if path in fields["persistent"]:
        return True
    return kind != CHILDREN and any(
        top == "/" or path == top or path.startswith(top + "/")
        for top in fields["recursive"] if isinstance(top, str))


def told_of(events, after, fields):
    """What the witness has seen, as this client is told of it."""
    told = []
    for zxid, kind, path in events:
        if zxid <= after:
            continue
        if concerns(fields, kind, path):
            told.append((zxid, kind, path))
        parent = path.rpartition("/")[0] or "/"
        if kind in (CREATED, DELETED) and parent in fields["persistent"]:
            told.append((zxid, CHILDREN, parent))
    return told


def take_out(side, requests, messages, is_first):
    """`messages` without what was told again, which is looked at. `is_first`: the connection had no
    watch before."""
    rest, gap, i = [], [], 0
    for message in messages:
        if message["kind"] == "event":
            gap.append(message)
            continue
        request = requests[i] if i < len(requests) else None
        i += 1
        if request is not None and request.op == zk.SET_WATCHES2 and not request.truncated:
            again = [m for m in gap if m["zxid"] >= 0]
            gap = [m for m in gap if m["zxid"] < 0]
            if message.get("err") == 0:
                check(side, request, again, is_first and len(requests) == 1)
        rest += gap + [message]
        gap = []
    return rest + gap


def check(side, request, again, is_whole):
    fields = request.fields
    after = side.actual(fields["relativeZxid"])
    got = [(m["zxid"], m["type"], m["path"]) for m in again]
    side.witness.look()
    due = told_of(side.witness.events, after, fields)
    side.n_told_again += len(got)
    remaining = iter(due)
    if not all(one in remaining for one in got):
        raise Wrong("%s told again %r, of which the witness has %r" % (side.kind, got, due))
    missing = [one for one in due if one not in got and gen.is_open(one[2])]
    if is_whole and missing:
        raise Wrong("%s did not tell again %r" % (side.kind, missing))
