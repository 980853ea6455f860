#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The same random requests to two servers, whose answers and watch events must be the same.

    differential.py --seed N --ops N [--servers apache,pawld]

Several raw connections take turns. After every change each of the others sends a ping, so that all
events of the change have arrived before the next step, and the order of what each connection
received can be compared. On a difference the last steps, both answers and the command line that
replays it are printed; exit code 1.

Compared: every field of every answer and event. Session ids are compared as "the n-th session",
lists of children as sets. Times cannot be equal; instead every zxid must have one time on each server
(ctime belongs to czxid, mtime to mzxid).

Where a 3.9 server answers otherwise than Apache 3.8.0, and only there, the two are brought
together; between servers of the same kind none of this applies. [n] marks the place in the code, here or in
diff_generator.py.
 [1] exists needs READ since 3.9.2 (Debian's 3.8.0 has the event filter of that fix, not this part):
     where a getData just before was refused, NOAUTH must answer what 3.8.0 answers with a Stat.
 [2] watch modes coexist on one path since 3.9; recursive watches live in the data table only;
     removal of types 1 and 2 means the standard mode only. Not generated.
 [3] the zxid in the header of an event: -1 before 3.9, then that of the transaction. Each side is
     held to its rule.
 [4] removal types 4 and 5 are new in 3.9. Not generated.
 [5] create2 inside a multi: result type 1 without a Stat in 3.8.0, type 15 with one later.
 [6] a flag outside 0..6 of create, create2 or createContainer inside a multi: refuses the whole
     request (-5) since 3.8.2, before the op failed (-8) in the list of results.
 [7] check, deleteContainer and createSession as requests of their own. Not generated.
 [8] a single write that cannot be decoded takes a zxid in 3.8.0, none in 3.9: later zxids are
     compared less the ones so taken.
 [9] inside a multi 3.8.0 takes the kind of node from the flags alone, later versions take
     createContainer from the opcode. Not generated.
[10] checkWatches of 3.8.0 says yes when any connection at all watches the path, and stumbles over
     a path that is not absolute; later versions look at the asker's own watches.
[11] a resume with a wrong password closes the live connection of that session on Apache's server,
     and leaves it alone on pawld: a stranger must not be able to cut a client off.
[12] the order in which the ephemeral nodes of a closing session go is a hash set's in Java: the
     events of a closeSession are compared as a multiset.
[13] characters above U+FFFF leave a Java server as two surrogates of three bytes, which is not
     UTF-8; pawld sends what it was sent. Not generated.
[14] a multi that fails as a whole while it is being prepared takes a zxid, which Java's reply does
     not show yet and pawld's does.
[15] setWatches2 to pawld tells what persistent and recursive watches missed; Java's answer is what
     is left when that is taken out. What it must be: diff_missed.py.
"""
import argparse
import bisect
import itertools
import sys
import time

import diff_generator as gen
import diff_missed
import servers
import zkwire as zk

N_SLOTS = 4
SHOWN_STEPS = 12
ANSWER_SECONDS = 60.0
PROFILE = {"apache": "3.8", "pawld": "3.9"}


class Difference(Exception):
    pass


# -- one server and its connections ---------------------------------------------------------------

class Side:
    def __init__(self, kind, config):
        self.kind, self.profile = kind, PROFILE[kind]
        self.server = servers.make(kind, config=config)
        self.conns = {}          # slot -> connection
        self.sessions = {}       # label -> (id, password)
        self.labels = {0: "none"}  # session id -> label
        self.extra_zxids = []    # taken for undecodable writes, see [8]
        self.times = {}          # zxid -> time
        self.last_zxid = 0
        self.witness = None
        self.n_told_again = 0

    def start(self):
        self.server.start()
        self.witness = diff_missed.Witness(self.server.port, ANSWER_SECONDS)
        self.labels[self.witness.conn.session_id] = "the witness"

    def close(self, keep=False):
        for conn in self.conns.values():
            conn.close()
        if self.witness is not None:
            self.witness.close()
        self.server.keep = keep
        self.server.close()

    # -- zxids --

    def canon(self, zxid):
        """A zxid as if [8] took none."""
        return zxid - bisect.bisect_right(self.extra_zxids, zxid) if zxid > 0 else zxid

    def actual(self, zxid):
        """The other way round, for a zxid that is to be sent."""
        for extra in self.extra_zxids:
            zxid += 1 if zxid >= extra else 0
        return zxid

    # -- sending --

    def send(self, slot, requests):
        conn = self.conns[slot]
        out = []
        for request in requests:
            fields, body = request.fields, request.body
            if "relativeZxid" in fields and body is None:
                fields = dict(fields, relativeZxid=self.actual(fields["relativeZxid"]))
            xid = request.xid if request.xid is not None else conn.take_xid(request.op)
            conn.expect(xid, request.op)
            out.append(zk.enc_request(xid, request.op, fields, body))
        conn.send_raw(b"".join(out))

    def ping_others(self, slot):
        for other, conn in self.conns.items():
            if other != slot:
                conn.send(zk.PING)

    # -- receiving --

    def collect(self, slot, requests):
        """All that came on the slot until the last answer, or until the server closed."""
        conn, messages, n_replies = self.conns[slot], [], 0
        must_close = requests[-1].closes
        try:
            while must_close or n_replies < len(requests):
                message = conn.recv()
                if isinstance(message, zk.Reply):
                    message = self.reply(message, requests[n_replies])
                    n_replies += 1
                else:
                    message = event(message)
                messages.append(message)
        except zk.Closed:
            messages.append({"kind": "closed"})
            self.forget(slot)
        return messages

    def collect_pings(self, slot):
        """What the other slots received up to the answer to their ping."""
        received = {}
        for other in sorted(self.conns):
            if other != slot:
                received[other] = self.collect(other, [gen.Request(zk.PING)])
        return received

    def forget(self, slot):
        conn = self.conns.pop(slot)
        conn.close()

    # -- making answers comparable --

    def reply(self, reply, request):
        if (self.profile == "3.8" and request.truncated and request.op in gen.SINGLE_WRITES
                and reply.err == zk.MARSHALLING and reply.zxid > self.last_zxid):
            self.extra_zxids.append(reply.zxid)  # [8]
        self.last_zxid = max(self.last_zxid, reply.zxid)
        body = self.body(reply.body) if reply.body is not None else None
        return {"kind": "reply", "op": zk.op_name(reply.op), "xid": reply.xid,
                "zxid": self.canon(reply.zxid), "err": reply.err, "body": body}

    def body(self, value):
        """A copy of an answer's body in which all that may differ is replaced."""
        if isinstance(value, dict):
            if "czxid" in value:
                return self.stat(value)
            copy = {key: self.body(item) for key, item in value.items()}
            for key in ("children", "ephemerals"):
                if copy.get(key) is not None:
                    copy[key] = sorted(copy[key])
            if "clients" in copy:
                copy["clients"].sort(key=lambda c: (c["authScheme"], c["user"]))
            if "acl" in copy:
                copy["acl"] = order_expanded(copy["acl"])
            return copy
        if isinstance(value, list):
            return [self.body(item) for item in value]
        return value

    def stat(self, stat):
        self.check_time(stat["czxid"], stat["ctime"], stat)
        self.check_time(stat["mzxid"], stat["mtime"], stat)
        copy = {key: value for key, value in stat.items() if key not in ("ctime", "mtime")}
        for key in ("czxid", "mzxid", "pzxid"):
            copy[key] = self.canon(stat[key])
        owner = stat["ephemeralOwner"]
        copy["ephemeralOwner"] = self.labels.get(owner, "unknown session %x" % owner)
        return copy

    def check_time(self, zxid, ms, stat):
        known = self.times.setdefault(zxid, ms)
        if known != ms or (zxid == 0) != (ms == 0):
            raise Difference("%s: zxid %d has the time %d and the time %d: %r"
                             % (self.kind, zxid, known, ms, stat))


def event(e):
    return {"kind": "event", "type": e.type, "state": e.state, "path": e.path, "zxid": e.zxid}


def order_expanded(entries):
    """Sorts neighbours with scheme digest and equal perms: `auth` puts in all ids of a connection,
    in no defined order."""
    if entries is None:
        return None
    out = []
    for (scheme, _), run in itertools.groupby(entries, lambda e: (e["id"]["scheme"], e["perms"])):
        out += sorted(run, key=lambda e: e["id"]["id"]) if scheme == "digest" else run
    return out


# -- steps on both sides --------------------------------------------------------------------------

class Runner:
    def __init__(self, seed, kinds):
        config = {"extendedTypesEnabled": "true", "enforceQuota": "true", "forceSync": "no",
                  # Nothing may expire by itself while the test looks elsewhere.
                  "minSessionTimeout": "120000", "maxSessionTimeout": "600000",
                  "znode.container.checkIntervalMs": "3600000",
                  "reconfigEnabled": "true" if seed % 2 else "false",
                  "DigestAuthenticationProvider.superDigest": gen.SUPER_DIGEST}
        self.sides = [Side(kind, config) for kind in kinds]
        self.generator = gen.Generator(seed, N_SLOTS)
        self.history = []
        self.n_ops = 0
        self.n_sessions = 0
        self.last_error = 0
        self.counts = {}

    def run(self, n_ops):
        for side in self.sides:
            side.start()
        while self.n_ops < n_ops:
            step = self.generator.resolve(self.generator.next_step(), self.last_error)
            if step is not None:
                self.history = (self.history + [step])[-SHOWN_STEPS:]
                self.play(step)

    def play(self, step):
        self.before = [side.last_zxid for side in self.sides]
        if isinstance(step, gen.Drop):
            for side in self.sides:
                side.forget(step.slot)
            self.generator.slots[step.slot].up = False
        elif isinstance(step, gen.Connect):
            self.play_connect(step)
        else:
            self.play_requests(step)

    def play_requests(self, step):
        self.n_ops += len(step.requests)
        for side in self.sides:
            side.send(step.slot, step.requests)
        answers = [{step.slot: side.collect(step.slot, step.requests)} for side in self.sides]
        if any(request.op in gen.WRITES for request in step.requests):
            for side in self.sides:
                side.ping_others(step.slot)
            for side, received in zip(self.sides, answers):
                received.update(side.collect_pings(step.slot))
        self.take_out_again(step, answers)
        for side, before, received in zip(self.sides, self.before, answers):
            check_event_zxids(side, before, received, step)
        self.bring_together(step, answers)
        if any(request.op == zk.CLOSE_SESSION for request in step.requests):
            answers = [{slot: sort_events(messages) for slot, messages in received.items()}
                       for received in answers]  # [12]
        self.compare(answers)
        self.learn(step, answers[0])

    def take_out_again(self, step, answers):
        slot = self.generator.slots[step.slot]
        for side, received in zip(self.sides, answers):
            if side.profile == "3.9":  # [15]
                received[step.slot] = diff_missed.take_out(side, step.requests, received[step.slot],
                                                           not slot.watched)
        ops = {request.op for request in step.requests}
        slot.watched = slot.watched or bool(ops & {zk.ADD_WATCH, zk.SET_WATCHES2})
        if ops & gen.WRITES:
            for side in self.sides:
                side.witness.look()

    def compare(self, answers):
        if answers[0] != answers[1]:
            raise Difference(describe(self.sides, answers))

    def learn(self, step, received):
        slot = self.generator.slots[step.slot]
        replies = [m for m in received[step.slot] if m["kind"] == "reply"]
        for request, reply in zip(step.requests, replies):
            self.count(request, reply)
            self.last_error = reply["err"]
            self.generator.learn(request, reply)
            slot.seen_zxid = max(slot.seen_zxid, reply["zxid"])
        for index, messages in received.items():
            self.count_events(messages)
            if messages and messages[-1]["kind"] == "closed":
                self.generator.slots[index].up = False
        if step.requests[-1].op == zk.CLOSE_SESSION and self.generator.rng.random() < 0.5:
            slot.session = None  # otherwise the next step tries to resume a closed session

    def count(self, request, reply):
        key = (zk.op_name(request.op), reply["err"])
        self.counts[key] = self.counts.get(key, 0) + 1
        for result in (reply["body"] or {}).get("results", []):
            key = ("  result in " + zk.op_name(request.op), result["err"])
            self.counts[key] = self.counts.get(key, 0) + 1

    def count_events(self, messages):
        for message in messages:
            if message["kind"] == "event":
                key = ("event", message["type"])
                self.counts[key] = self.counts.get(key, 0) + 1

    # -- sessions --

    def play_connect(self, step):
        slot = self.generator.slots[step.slot]
        old = [side.conns.get(step.slot) for side in self.sides]
        fresh = [zk.Conn(side.server.port, ANSWER_SECONDS) for side in self.sides]
        answers = [connect(side, conn, step, slot) for side, conn in zip(self.sides, fresh)]
        if answers[0] != answers[1]:
            raise Difference(describe(self.sides, answers))
        if answers[0]["valid"]:
            self.connected(step, slot, old, fresh)
        else:
            for conn in fresh:
                conn.close()
            self.check_old(step)

    def connected(self, step, slot, old, fresh):
        for side, old_conn, conn in zip(self.sides, old, fresh):
            if old_conn is not None:
                close_rest(side, old_conn)
            side.conns[step.slot] = conn
        if step.kind == "resume":
            label = slot.session
        else:
            self.n_sessions += 1
            label = "session %d" % self.n_sessions
        for side, conn in zip(self.sides, fresh):
            side.sessions[label] = (conn.session_id, conn.passwd)
            side.labels[conn.session_id] = label
        self.generator.connected(slot, label)

    def check_old(self, step):
        """A refused attempt may have closed the connection the session had."""
        ping = [gen.Request(zk.PING)]
        answers = []
        for side in self.sides:
            received = {}
            if step.slot in side.conns:
                try:
                    side.send(step.slot, ping)
                    received[step.slot] = side.collect(step.slot, ping)
                except zk.Closed:
                    side.forget(step.slot)
                    received[step.slot] = [{"kind": "closed"}]
            answers.append(received)
        if self.sides[0].kind == self.sides[1].kind:
            self.compare(answers)
        if any(step.slot not in side.conns for side in self.sides):  # [11]
            for side in self.sides:
                if step.slot in side.conns:
                    side.forget(step.slot)
        slot = self.generator.slots[step.slot]
        slot.up = step.slot in self.sides[0].conns

    # -- known differences --

    def bring_together(self, step, answers):
        a, b = self.sides
        if a.profile == b.profile:
            return
        old, new = (0, 1) if a.profile < b.profile else (1, 0)
        replies = [[m for m in received[step.slot] if m["kind"] == "reply"]
                   for received in answers]
        for i, request in enumerate(step.requests):
            if i < len(replies[old]) and i < len(replies[new]):
                bring_together(request, replies[old][i], replies[new][i])


def sort_events(messages):
    """Each run of events without a reply in between in one order."""
    result = []
    for is_event, run in itertools.groupby(messages, lambda m: m["kind"] == "event"):
        result += sorted(run, key=repr) if is_event else list(run)
    return result


def bring_together(request, old, new):
    """Changes `new` to what a 3.8.0 server answers where the list above says so."""
    if request.op == zk.EXISTS and request.probed_no_auth:
        if new["err"] == zk.NO_AUTH and new["body"] is None and old["err"] == 0:
            new["err"], new["body"] = 0, old["body"]  # [1]
    if request.op == zk.CHECK_WATCHES:
        path = request.fields["path"]
        absolute = path is not None and path[:1] in ("/", b"/")
        if not absolute or (new["err"] == zk.NO_WATCHER and old["err"] == 0):
            new["err"] = old["err"]  # [10]
    if request.op == zk.MULTI and old["err"] == new["err"] == zk.MARSHALLING:
        new["zxid"] = max(new["zxid"] - 1, old["zxid"])  # [14]
    if request.op != zk.MULTI or request.truncated:
        return
    if any(op in gen.CREATES and op != zk.CREATE_TTL and not 0 <= fields["flags"] <= 6
           for op, fields in request.fields["ops"]):
        failed = old["body"] and any(r["err"] != 0 for r in old["body"]["results"])
        if new["err"] == zk.MARSHALLING and failed:
            new["err"], new["body"] = old["err"], old["body"]  # [6]
    elif new["body"] and old["body"]:
        for (op, _), result, theirs in zip(request.fields["ops"], new["body"]["results"],
                                           old["body"]["results"]):
            # A container or a TTL that was asked for by its flags is answered as such by both.
            if op == zk.CREATE2 and (result["type"], theirs["type"]) == (zk.CREATE2, zk.CREATE):
                if result["body"].pop("stat")["czxid"] == new["zxid"]:
                    result["type"] = zk.CREATE  # [5]


def check_event_zxids(side, before, received, step):
    """[3], each side by its own rule; then the zxid is taken out of the comparison."""
    catches_up = any(r.op in (zk.SET_WATCHES, zk.SET_WATCHES2) for r in step.requests)
    for messages in received.values():
        last = before
        for message in messages:
            if message["kind"] != "event":
                continue
            zxid = message.pop("zxid")
            if side.profile == "3.8" or (catches_up and zxid == -1):
                good = zxid == -1
            else:
                good = before < zxid <= side.last_zxid and zxid >= last
                last = zxid
            if not good:
                raise Difference("%s: zxid %d in the header of %r; zxids of this step: %d to %d"
                                 % (side.kind, zxid, message, before + 1, side.last_zxid))


def connect(side, conn, step, slot):
    """Plays a handshake; returns what is to be compared."""
    options = dict(step.options)
    if "last_zxid" in options:
        options["last_zxid"] = side.actual(options["last_zxid"])
    if step.kind in ("resume", "bad-password"):
        options["session_id"], options["passwd"] = side.sessions[slot.session]
    if step.kind == "bad-password":
        options["passwd"] = bytes(16)
    if step.kind == "unknown":
        options["session_id"], options["passwd"] = 0x123456789, bytes(16)
    try:
        answer = conn.handshake(**options)
    except zk.Closed:
        return {"valid": False, "answer": None}
    same = answer["sessionId"] == options.get("session_id", 0)
    valid = answer["timeOut"] > 0
    shown = {key: value for key, value in answer.items() if key not in ("sessionId", "passwd")}
    if valid:
        shown["passwd"] = len(answer["passwd"])
        shown["kept"] = same and (step.kind != "resume" or answer["passwd"] == options["passwd"])
    else:
        shown.update(sessionId=answer["sessionId"], passwd=answer["passwd"],
                     rest=conn.wait_closed())
    return {"valid": valid, "answer": shown}


def close_rest(side, conn):
    """The connection a resumed session had before must be closed without a word."""
    try:
        rest = conn.wait_closed()
    except zk.Timeout:
        rest = b"still open"
    if rest:
        raise Difference("%s: the old connection of a resumed session: %r" % (side.kind, rest))
    conn.close()


# -- telling --------------------------------------------------------------------------------------

def describe(sides, answers):
    """The messages of every slot up to the first one that differs, the equal ones shortened."""
    if not all(isinstance(v, list) for received in answers for v in received.values()):
        return "\n".join("%s: %s" % (side.kind, a) for side, a in zip(sides, answers))
    lines = []
    for slot in sorted(set(answers[0]) | set(answers[1])):
        a, b = (received.get(slot, []) for received in answers)
        for i in range(max(len(a), len(b))):
            left, right = (m[i] if i < len(m) else "nothing" for m in (a, b))
            if left != right:
                lines += ["slot %d, message %d:" % (slot, i), "  %-7s %s" % (sides[0].kind, left),
                          "  %-7s %s" % (sides[1].kind, right)]
                break
            lines.append("slot %d, message %d: both %.150s" % (slot, i, left))
    return "\n".join(lines)


def summary(counts):
    by_op = {}
    for (name, err), n in sorted(counts.items()):
        by_op.setdefault(name, []).append("%d x%d" % (err, n))
    return "\n".join("  %-22s %s" % (name, "  ".join(parts)) for name, parts in by_op.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=None, help="default: from the clock")
    parser.add_argument("--ops", type=int, default=3000, help="requests to send (%(default)s)")
    parser.add_argument("--servers", default="apache,pawld", help="two of: apache, pawld")
    parser.add_argument("--verbose", action="store_true", help="count the answers by kind")
    args = parser.parse_args()
    seed = args.seed if args.seed is not None else int(time.time()) % 1000000
    kinds = args.servers.split(",")
    if len(kinds) != 2:
        parser.error("--servers takes two names")
    print("differential: seed %d, %d ops, %s" % (seed, args.ops, args.servers), flush=True)
    return run(seed, args.ops, kinds, args.verbose)


def run(seed, n_ops, kinds, verbose):
    started = time.monotonic()
    runner = Runner(seed, kinds)
    failed = False
    try:
        runner.run(n_ops)
        print("equal: %d requests, %d sessions, zxid %d, %d events told again, %.1f s" % (
            runner.n_ops, runner.n_sessions, runner.sides[0].last_zxid,
            runner.sides[1].n_told_again, time.monotonic() - started))
        if verbose:
            print(summary(runner.counts))
    except (Difference, diff_missed.Wrong, zk.Closed, zk.Timeout, zk.Malformed, OSError) as e:
        failed = True
        print("DIFFERENCE after %d requests. Last steps:" % runner.n_ops)
        for step in runner.history:
            print("  ", step)
        print(str(e) or repr(e))
        for side in runner.sides:
            alive = "runs" if side.server.running() else "DIED"
            print("%s %s, folder kept: %s" % (side.kind, alive, side.server.dir))
        print("replay: %s --seed %d --ops %d --servers %s" % (sys.argv[0], seed, runner.n_ops,
                                                            ",".join(kinds)))
    finally:
        for side in runner.sides:
            side.close(keep=failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
