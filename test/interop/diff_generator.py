# SPDX-License-Identifier: Apache-2.0
"""What differential.py sends: a seeded stream of requests over a few names, so that they collide.

The stream depends on the seed and on the answers seen so far (versions, names of sequential nodes),
never on the clock: the same seed against servers that answer alike gives the same stream.

What it leaves out, because Apache 3.8.0 is known to answer otherwise than 3.9 (the numbers are
those of the list in differential.py) or because the Java server breaks on it:
 - [1] `exists` with a watch on a node that may be protected, unless a getData was tried before;
 - [2] two watch modes on one path of one connection: each (connection, path) has one mode for life,
   and removal by kind (types 1, 2) is only tried where the mode is the standard one;
 - [4] removal types 4 and 5;
 - [7] check, deleteContainer and createSession as requests of their own;
 - createTTL with a non-TTL flag and a negative ttl (the Java server dies of it);
 - unparsable text in zookeeper_stats (the same);
 - a watch on a null path by addWatch or setWatches (taken, and then the Java server cannot close
   the connection);
 - [9] createContainer inside a multi with other flags than its own;
 - a null path inside a multi (Java then skips a zxid that no transaction has);
 - inside a burst what Java decides by the committed state, so that the outcome depends on how far
   its pipeline is: writes below a quota; setACL of a node that may become protected; children of a
   container made with an ephemeral flag; writes behind a multi that fails as a whole, because its
   pending changes are not undone.
"""
import random

import zkwire as zk

NAMES = ["x", "y", "z"]
OPEN_ROOTS = ["/a"]  # nodes here are never protected, see [1]
ROOTS = ["/a", "/a", "/b", "/c"]
SYSTEM_PATHS = ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"]
ODD_PATHS = [
    "", None, "a", "a/x", "//x", "/a/", "/a//x", "/a/.", "/a/..", "/a/./x", "/a/../x", "/a/...",
    "/a/.x", "/a/x.", "/a/b c", "/a/\x01", "/a/\x1f", "/a/\x7f", "/a/\x80", "/a/\xa0", "/a/\u00fc",
    "/a/\ue000", "/a/\uf900", "/a/\uffef", "/a/\ufff0", "/a/\uffff", "/a/x\x00y",
    b"/a/\xff", b"/a/\xc3\x28", b"/a/\xed\xa0\x80", b"/a/\xf0\x9f\x98", "/a/" + "n" * 300, "/" * 5,
]
CREDENTIALS = ["bob:pw", "eve:pw2", "bob:other", "super:pw"]
SUPER_DIGEST = zk.digest_id("super:pw")
LIMIT_TEXTS = [
    "count=5,bytes=1000", "count=-1,bytes=-1", "count=-1,bytes=-1=;byteHardLimit=12",
    "count=-1,bytes=-1=;countHardLimit=3", "count=2,bytes=5=;byteHardLimit=40;countHardLimit=5",
    "count=4", "bytes=10", "", "count=,bytes=", "nonsense", "count=1;bytes=x",
]
WRITES = {zk.CREATE, zk.CREATE2, zk.CREATE_CONTAINER, zk.CREATE_TTL, zk.DELETE, zk.SET_DATA,
          zk.SET_ACL, zk.MULTI, zk.RECONFIG, zk.CLOSE_SESSION}
SINGLE_WRITES = WRITES - {zk.MULTI, zk.CLOSE_SESSION}
CREATES = (zk.CREATE, zk.CREATE2, zk.CREATE_CONTAINER, zk.CREATE_TTL)


def show(value):
    """repr for people: ACLs in one word, long data cut."""
    if isinstance(value, dict) and "perms" in value:
        return "%s:%s:%s" % (value["id"]["scheme"], value["id"]["id"], value["perms"])
    if isinstance(value, dict):
        return " ".join("%s=%s" % (key, show(item)) for key, item in value.items())
    if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], dict):
        return "{%s %s}" % (zk.op_name(value[0]), show(value[1]))
    if isinstance(value, list):
        return "[%s]" % ", ".join(show(item) for item in value)
    if isinstance(value, (bytes, str)) and len(value) > 60:
        return "%r...(%d)" % (value[:10], len(value))
    return repr(value)


class Request:
    """One request. `body` (bytes) replaces the fields when it is malformed on purpose."""

    def __init__(self, op, fields=None, body=None, truncated=False, closes=False, xid=None):
        self.op, self.fields, self.body = op, fields or {}, body
        self.truncated, self.closes, self.xid = truncated, closes, xid
        self.probed_no_auth = False  # set when a getData just before got NOAUTH, see [1]

    def __repr__(self):
        shown = show(self.fields)
        if self.body is not None:
            shown = "body=%s (of %s)" % (self.body.hex(), shown)
        return "%s %s" % (zk.op_name(self.op), shown)


class Ask:
    """Send one request on a slot's connection and wait for the answer."""

    def __init__(self, slot, request):
        self.slot, self.requests = slot, [request]

    def __repr__(self):
        return "slot %d: %r" % (self.slot, self.requests[0])


class Burst(Ask):
    """Send several requests at once, then wait for all answers."""

    def __init__(self, slot, requests):
        self.slot, self.requests = slot, requests

    def __repr__(self):
        return "slot %d: burst of %d:\n      %s" % (
            self.slot, len(self.requests), "\n      ".join(repr(r) for r in self.requests))


class Connect:
    """kind: new, resume, bad-password, unknown, ahead."""

    def __init__(self, slot, kind, **options):
        self.slot, self.kind, self.options = slot, kind, options

    def __repr__(self):
        return "slot %d: connect %s %r" % (self.slot, self.kind, self.options)


class Drop:
    """The client closes its connection without closing the session."""

    def __init__(self, slot):
        self.slot = slot

    def __repr__(self):
        return "slot %d: drop the connection" % self.slot


class Slot:
    """A client as the generator sees it."""

    def __init__(self, index):
        self.index = index
        self.up = False
        self.session = None      # label of a session that may be resumed
        self.connection = 0      # serial number of the connection; watch modes hang on it
        self.seen_zxid = 0
        self.watched = False     # it may have watches that stay on this connection


class Generator:
    def __init__(self, seed, n_slots):
        self.seed = seed
        self.rng = random.Random(seed)
        self.slots = [Slot(i) for i in range(n_slots)]
        self.versions = {}
        self.made = []           # names of nodes made recently, sequential ones above all
        self.watched = []        # paths that got a watch recently, from any connection
        self.queue = []          # steps that must come next
        self.zxid = 0
        self.n_connections = 0

    # -- feedback ---------------------------------------------------------------------------------

    def connected(self, slot, session):
        self.n_connections += 1
        slot.up, slot.session, slot.connection = True, session, self.n_connections
        slot.watched = False

    def learn(self, request, reply):
        """Remembers what an answer (of the first server, zxids made comparable) told."""
        self.zxid = max(self.zxid, reply["zxid"])
        if reply["err"] != 0 or not reply["body"]:
            return
        path = request.fields.get("path")
        if request.op == zk.ADD_WATCH or request.fields.get("watch"):
            self.watched = (self.watched + [path])[-6:]
        if "stat" in reply["body"] and isinstance(path, str):
            self.versions[path] = reply["body"]["stat"]["version"]
        if request.op in CREATES and not touches(request, "/zookeeper"):
            self.made = (self.made + [reply["body"]["path"]])[-12:]

    # -- the stream -------------------------------------------------------------------------------

    def next_step(self):
        if self.queue:
            return self.queue.pop(0)
        slot = self.rng.choice(self.slots)
        if not slot.up:
            return self.connect_step(slot)
        roll = self.rng.random()
        if roll < 0.04:
            return self.session_step(slot)
        if roll < 0.08:
            return self.burst(slot)
        if roll < 0.11:
            return Ask(slot.index, self.quota_request())
        if roll < 0.115:
            return self.quota_story(slot)
        if roll < 0.13:
            return self.guarded_exists(slot)
        return Ask(slot.index, self.vary(self.request(slot)))

    def connect_step(self, slot):
        rng = self.rng
        options = {"timeout_ms": rng.choice([-1, 0, 4000, 200000, 200001, 10**9]),
                   "read_only": rng.choice([False, False, True, None]),
                   "version": rng.choice([0, 0, 7]),
                   "last_zxid": rng.choice([0, slot.seen_zxid])}
        if rng.random() < 0.05:
            return Connect(slot.index, "ahead", timeout_ms=30000, last_zxid=self.zxid + 10**6)
        if rng.random() < 0.05:
            return Connect(slot.index, "unknown", **options)
        if slot.session is not None and rng.random() < 0.8:
            if rng.random() < 0.7:
                self.queue.append(("set-watches", slot.index))
            return Connect(slot.index, "resume", **options)
        options["passwd"] = rng.choice([bytes(16), None, b""])
        return Connect(slot.index, "new", **options)

    def session_step(self, slot):
        rng, index = self.rng, slot.index
        kind = rng.choice(["drop", "drop", "drop", "resume-live", "close", "close-burst",
                           "bad-password", "unknown-op", "auth-failed", "sasl-null"])
        if kind == "drop":
            return Drop(index)
        if kind == "resume-live":
            return Connect(index, "resume", timeout_ms=30000)
        if kind == "bad-password":
            return Connect(index, "bad-password", timeout_ms=30000)
        if kind == "close":
            return Ask(index, Request(zk.CLOSE_SESSION, closes=True))
        if kind == "close-burst":
            before = [self.burst_request(slot) for _ in range(rng.randrange(1, 6))]
            return Burst(index, before + [Request(zk.CLOSE_SESSION, closes=True)])
        if kind == "unknown-op":
            op = rng.choice([0, 10, 23, 99, 108, 1000, -1, -2])
            return Ask(index, Request(op, body=b"", closes=True))
        if kind == "sasl-null":
            return Ask(index, Request(zk.SASL, {"token": None}, closes=True))
        scheme = rng.choice(["nope", "world", "sasl", "super", None])
        return Ask(index, Request(zk.AUTH, {"type": 0, "scheme": scheme, "auth": b"x"},
                                  closes=True))

    def burst(self, slot):
        n = self.rng.choice([2, 5, 10, 20, 40])
        return Burst(slot.index, [self.burst_request(slot) for _ in range(n)])

    def burst_request(self, slot):
        """Like any other, but answered in order and decided by the order of the requests alone."""
        while True:
            request = self.request(slot)
            if request.op in (zk.AUTH, zk.SASL) or touches(request, ("/q", "/zookeeper")):
                continue
            if request.op == zk.SET_ACL and not is_open(request.fields["path"]):
                continue
            if any(confuses_pipeline(op, fields) for op, fields in parts(request)):
                continue
            return request

    def guarded_exists(self, slot):
        """exists anywhere, after a getData that tells whether READ is granted."""
        path = self.path()
        watch = self.rng.random() < 0.5 and self.mode(slot, path) == "standard"
        self.queue.append(("exists", slot.index, path, watch))
        return Ask(slot.index, Request(zk.GET_DATA, {"path": path, "watch": False}))

    def resolve(self, step, last_error):
        """Turns the queued intentions into steps; they need to know the answer before."""
        if isinstance(step, Ask) and not self.slots[step.slot].up:
            return None  # queued before the connection went away
        if not isinstance(step, tuple):
            return step
        slot = self.slots[step[1]]
        if not slot.up:
            return None
        if step[0] == "set-watches":
            return Ask(slot.index, self.set_watches(slot))
        no_auth = last_error == zk.NO_AUTH
        request = Request(zk.EXISTS, {"path": step[2], "watch": step[3] and not no_auth})
        request.probed_no_auth = no_auth
        return Ask(slot.index, request)

    # -- pieces -----------------------------------------------------------------------------------

    def path(self):
        rng, roll = self.rng, self.rng.random()
        if roll < 0.04:
            return rng.choice(SYSTEM_PATHS)
        if roll < 0.12 and self.made:
            return rng.choice(self.made)
        if roll < 0.18:
            return rng.choice(["/q", "/q/x", "/q/y", "/q/x/z"])
        path = rng.choice(ROOTS)
        for _ in range(rng.choice([0, 1, 1, 1, 2])):
            path += "/" + rng.choice(NAMES)
        return path

    def any_path(self):
        return self.rng.choice(ODD_PATHS) if self.rng.random() < 0.05 else self.path()

    def watch_path(self):
        path = self.any_path()
        return "/a" if path is None else path

    def version(self, path):
        roll = self.rng.random()
        if roll < 0.6:
            return -1
        if roll < 0.85:
            return self.versions.get(path, 0)
        return self.rng.choice([0, 1, 5, -2, 2**31 - 1])

    def data(self):
        rng = self.rng
        return rng.choice([None, b"", b"a", b"bb", b"ccc", bytes(10),
                           bytes([rng.randrange(256)]) * rng.choice([1, 5, 3000])])

    def acl(self, path):
        """A list that leaves open what must stay open."""
        rng = self.rng
        roll = rng.random()
        if roll < 0.04:
            return rng.choice(BAD_ACLS)
        if is_open(path) or roll < 0.6:
            return rng.choice([zk.WORLD_ALL, zk.WORLD_ALL, zk.WORLD_ALL * 2,
                               zk.WORLD_ALL + [zk.acl(1, "ip", "10.0.0.0/8")]])
        return [self.acl_entry() for _ in range(rng.choice([1, 1, 2, 3]))]

    def acl_entry(self):
        rng = self.rng
        scheme, id = rng.choice([
            ("world", "anyone"), ("world", "anyone"), ("auth", ""), ("auth", None),
            ("digest", zk.digest_id("bob:pw")), ("digest", zk.digest_id("eve:pw2")),
            ("digest", "u\u00fc:x"), ("digest", "a:b:"),
            ("ip", "127.0.0.1"), ("ip", "127.0.0.0/8"), ("ip", "0.0.0.0/0"), ("ip", "10.1.2.3/24")])
        return zk.acl(rng.choice([1, 2, 4, 8, 16, 31, 31, 31, 0, 255, 5, 12]), scheme, id)

    def mode(self, slot, path):
        """The only watch mode this connection uses on this path, see [2]."""
        rng = random.Random("%s/%d/%r" % (self.seed, slot.connection, path))
        return rng.choice(["standard", "standard", "standard", "persistent", "recursive"])

    # -- requests ---------------------------------------------------------------------------------

    def vary(self, request):
        """Now and then cuts a request short or adds bytes behind it."""
        roll = self.rng.random()
        body = zk.enc_body(request.op, request.fields)
        if roll < 0.01 and body:
            cut = self.rng.randrange(len(body))
            closes = request.op in (zk.AUTH, zk.SASL)
            return Request(request.op, request.fields, body[:cut], truncated=True, closes=closes)
        # setWatches carries a zxid, which is each server's own when it is sent by its fields.
        if roll < 0.03 and request.op not in (zk.SET_WATCHES, zk.SET_WATCHES2):
            return Request(request.op, request.fields, body + b"\x00\x01\x02", xid=request.xid)
        return request

    def request(self, slot):
        make = self.rng.choices(MAKERS, MAKER_WEIGHTS)[0]
        return make(self, slot)

    def create_request(self, op, path):
        rng = self.rng
        flags = rng.choice([0, 0, 0, 0, 1, 1, 2, 3])
        if op == zk.CREATE_CONTAINER:
            flags = rng.choice([4, 4, 4, 0, 1, 2])
        if rng.random() < 0.03:
            flags = rng.choice([4, 5, 6, 7, -1, 100])
        fields = {"path": path, "data": self.data(), "acl": self.acl(path), "flags": flags}
        if op == zk.CREATE_TTL:
            fields["ttl"] = rng.choice([1, 3600000, 2**40 - 1])
            if rng.random() < 0.1:
                fields["ttl"] = rng.choice([2**40, 0, -1, -2**63, 2**63 - 1])
            fields["flags"] = rng.choice([5, 5, 6])
            if fields["ttl"] > 0 and rng.random() < 0.05:
                fields["flags"] = rng.choice([0, 1, 4, 9])
        return Request(op, fields)

    def make_create(self, slot):
        op = self.rng.choice([zk.CREATE, zk.CREATE, zk.CREATE2, zk.CREATE_CONTAINER,
                              zk.CREATE_TTL])
        return self.create_request(op, self.any_path())

    def make_delete(self, slot):
        path = self.any_path()
        if self.made and self.rng.random() < 0.3:
            path = self.made[-1 - self.rng.randrange(min(4, len(self.made)))]
        return Request(zk.DELETE, {"path": path, "version": self.version(path)})

    def make_set_data(self, slot):
        path = self.any_path()
        return Request(zk.SET_DATA, {"path": path, "data": self.data(),
                                     "version": self.version(path)})

    def make_read(self, slot):
        """Reads with and without a watch; exists only where nothing is protected, see [1]."""
        op = self.rng.choice([zk.GET_DATA, zk.GET_DATA, zk.GET_CHILDREN, zk.GET_CHILDREN2,
                              zk.EXISTS])
        path = self.any_path()
        if op == zk.EXISTS and not is_open(path):
            op = zk.GET_DATA
        watch = self.rng.random() < 0.6 and self.mode(slot, path) == "standard"
        return Request(op, {"path": path, "watch": watch})

    def make_set_acl(self, slot):
        path = self.any_path()
        acl = self.acl(path)
        if path in SYSTEM_PATHS:  # a protected root would end the fun
            acl = zk.WORLD_ALL
        version = self.rng.choice([-1, -1, -1, 0, 1, 2])
        return Request(zk.SET_ACL, {"path": path, "acl": acl, "version": version})

    def make_path_op(self, slot):
        op = self.rng.choice([zk.GET_ACL, zk.GET_ACL, zk.SYNC, zk.GET_ALL_CHILDREN_NUMBER,
                              zk.GET_EPHEMERALS])
        path = self.any_path()
        if op == zk.GET_EPHEMERALS:
            path = self.rng.choice([None, "", " ", "/", "/a", "/a/x", "/b", path])
        return Request(op, {"path": path})

    def make_small(self, slot):
        op = self.rng.choice([zk.PING, zk.WHO_AM_I, zk.WHO_AM_I])
        return Request(op)

    def make_auth(self, slot):
        if self.rng.random() < 0.1:
            return Request(zk.SASL, {"token": self.rng.choice([b"", b"x"])})
        scheme = self.rng.choice(["digest", "digest", "digest", "ip"])
        auth = self.rng.choice(CREDENTIALS + ["", "nocolon", "u:p:q"]).encode()
        return Request(zk.AUTH, {"type": 0, "scheme": scheme, "auth": auth})

    def make_multi(self, slot):
        ops = []
        for _ in range(self.rng.choice([0, 1, 2, 2, 3, 4, 6])):
            part = self.rng.choice([self.make_create, self.make_create, self.make_delete,
                                    self.make_set_data, self.make_check])(slot)
            if part.op == zk.CREATE_CONTAINER and 0 <= part.fields["flags"] <= 6:
                part.fields["flags"] = 4  # [9]
            if part.fields["path"] is None:
                part.fields["path"] = "/a/z"
            ops.append((part.op, part.fields))
        return Request(zk.MULTI, {"ops": ops})

    def make_check(self, slot):
        path = self.any_path()
        return Request(zk.CHECK, {"path": path, "version": self.version(path)})

    def make_multi_read(self, slot):
        ops = []
        for _ in range(self.rng.choice([0, 1, 2, 4])):
            op = self.rng.choice([zk.GET_DATA, zk.GET_CHILDREN])
            ops.append((op, {"path": self.any_path(), "watch": self.rng.random() < 0.3}))
        if self.rng.random() < 0.05:  # a write among reads, or reads among writes
            ops.append((zk.DELETE, {"path": "/a/x", "version": -1}))
        return Request(self.rng.choice([zk.MULTI_READ] * 9 + [zk.MULTI]), {"ops": ops})

    def make_add_watch(self, slot):
        path = self.watch_path()
        mode = {"standard": None, "persistent": 0, "recursive": 1}[self.mode(slot, path)]
        if mode is None:
            return Request(zk.GET_CHILDREN, {"path": path, "watch": True})
        if self.rng.random() < 0.03:
            mode = self.rng.choice([-1, 2, 7])
        return Request(zk.ADD_WATCH, {"path": path, "mode": mode})

    def make_remove_watch(self, slot):
        path = self.any_path()
        if self.watched and self.rng.random() < 0.6:
            path = self.rng.choice(self.watched)
        op = self.rng.choice([zk.CHECK_WATCHES, zk.REMOVE_WATCHES])
        kind = 3
        if self.mode(slot, path) == "standard":
            kind = self.rng.choice([1, 2, 3])
        if self.rng.random() < 0.03:
            kind = self.rng.choice([0, 6, -1])
        return Request(op, {"path": path, "type": kind})

    def set_watches(self, slot):
        rng = self.rng
        lists = {"data": [], "exist": [], "child": [], "persistent": [], "recursive": []}
        for _ in range(rng.randrange(12)):
            path = self.watch_path()
            mode = self.mode(slot, path)
            name = rng.choice(["data", "exist", "child"]) if mode == "standard" else mode
            lists[name].append(path)
        if rng.random() < 0.03:
            lists[rng.choice(sorted(lists))] = None
        back = rng.choice([0, 0, 1, 3, 10, 30, 100])
        fields = dict(lists, relativeZxid=max(0, self.zxid - back))
        op = rng.choice([zk.SET_WATCHES, zk.SET_WATCHES2, zk.SET_WATCHES2])
        xid = rng.choice([None, zk.XID_SET_WATCHES])
        return Request(op, fields, xid=xid)

    def make_reconfig(self, slot):
        members = self.rng.choice([None, "", "server.1=127.0.0.1:1:2;3", "nonsense"])
        return Request(zk.RECONFIG, {"joining": None, "leaving": self.rng.choice([None, "3"]),
                                     "members": members,
                                     "curConfigId": self.rng.choice([-1, 0, 7])})

    def quota_story(self, slot):
        """A hard quota set up in one go, then writes that come up against it."""
        base = "/zookeeper/quota/q"
        hard = [text for text in LIMIT_TEXTS if "Hard" in text]
        limits = self.rng.choice(hard).encode()
        for path, data in (("/q", b"n"), (base, b""), (base + "/zookeeper_limits", limits),
                           (base + "/zookeeper_stats", b"")):
            self.queue.append(Ask(slot.index, Request(zk.CREATE, {
                "path": path, "data": data, "acl": zk.WORLD_ALL, "flags": 0})))
        self.queue.append(Ask(slot.index, Request(zk.SET_DATA, {
            "path": base + "/zookeeper_limits", "data": limits, "version": -1})))
        for _ in range(8):
            path = self.rng.choice(["/q", "/q/x", "/q/y", "/q/z", "/q/x/z"])
            request = self.rng.choice([self.make_multi(slot), self.create_request(zk.CREATE, path),
                                       self.create_request(zk.CREATE2, path),
                                       Request(zk.SET_DATA, {"path": path, "data": self.data(),
                                                             "version": self.version(path)})])
            self.queue.append(Ask(slot.index, request))
        self.queue.append(Ask(slot.index, Request(zk.GET_DATA, {
            "path": base + "/zookeeper_stats", "watch": False})))
        return self.queue.pop(0)

    def quota_request(self):
        """Sets, changes and removes quotas on /q and /q/x, and looks at their accounts."""
        rng = self.rng
        target = rng.choice(["/q", "/q", "/q/x"])
        base = "/zookeeper/quota" + target
        limits, stats = base + "/zookeeper_limits", base + "/zookeeper_stats"
        text = rng.choice(LIMIT_TEXTS).encode()
        kind = rng.choice(["folder", "limits", "limits", "stats", "stats", "change", "read", "read",
                           "drop", "drop-stats", "node"])
        if kind == "drop":
            return Request(zk.DELETE, {"path": limits, "version": -1})
        if kind == "drop-stats":
            return Request(zk.DELETE, {"path": stats, "version": -1})
        if kind == "change":
            return Request(zk.SET_DATA, {"path": limits, "data": text, "version": -1})
        if kind == "read":
            return Request(zk.GET_DATA, {"path": rng.choice([limits, stats, stats]),
                                         "watch": False})
        path = {"folder": base, "limits": limits, "stats": stats, "node": target}[kind]
        data = text if kind == "limits" else b"count=0,bytes=0" if kind == "stats" else b"n"
        return Request(zk.CREATE, {"path": path, "data": data, "acl": zk.WORLD_ALL, "flags": 0})


BAD_ACLS = [
    None, [], [zk.acl(31, "world", "other")], [zk.acl(31, "world", None)],
    [zk.acl(31, None, "x")], [zk.acl(31, "super", "x")], [zk.acl(31, "nope", "x")],
    [zk.acl(31, "digest", "abc")], [zk.acl(31, "digest", "a:b:c")], [zk.acl(31, "digest", "a:")],
    [zk.acl(31, "ip", "1.2.3")], [zk.acl(31, "ip", "1.2.3.4/33")], [zk.acl(31, "ip", "x")],
    zk.WORLD_ALL + [zk.acl(31, "digest", "")],
]

MAKERS, MAKER_WEIGHTS = zip(*[
    (Generator.make_create, 20), (Generator.make_delete, 14), (Generator.make_set_data, 10),
    (Generator.make_read, 22), (Generator.make_set_acl, 4), (Generator.make_path_op, 6),
    (Generator.make_small, 2), (Generator.make_auth, 2), (Generator.make_multi, 8),
    (Generator.make_multi_read, 3), (Generator.make_add_watch, 5),
    (Generator.make_remove_watch, 4), (Generator.set_watches, 2), (Generator.make_reconfig, 0.5),
])


def is_open(path):
    """True for paths whose nodes carry no restricting ACL, ever."""
    if isinstance(path, bytes):
        path = path.decode("utf-8", "surrogateescape")
    if path is None or not path.startswith("/"):
        return True
    return any(path == root or path.startswith(root + "/") for root in OPEN_ROOTS)


def parts(request):
    """The operations of a request: those of a multi, or itself."""
    return request.fields.get("ops", [(request.op, request.fields)])


def touches(request, roots):
    """True if a request names a path under one of the roots."""
    return any(str(fields.get("path")).startswith(roots) for _, fields in parts(request))


def confuses_pipeline(op, fields):
    """True for a create that Java's pipeline sees otherwise than its tree, or that breaks multi."""
    if op not in CREATES:
        return False
    if op == zk.CREATE_CONTAINER and fields["flags"] in (1, 3):
        return True
    if op != zk.CREATE_TTL and fields["flags"] in (5, 6):
        return True
    return any(entry["id"]["id"] is None and entry["id"]["scheme"] != "auth"
               for entry in fields["acl"] or [])
