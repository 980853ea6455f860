# SPDX-License-Identifier: Apache-2.0
"""Whether what clients saw of registers could have been one register each: linearizability, made
easy by versions.

Every write has data of its own and says which version it made, every read says which version it
saw. So the order of all writes of a register is known, and only two questions are left: is there one
answer to "what is version v", and does anything contradict the clock.

One thing that contradicts it is Apache's and not ours: its leader (3.8.0) lets a sync of a client of its
own wait for no commit, so that the read behind it may be older than what others have been told, whether it
still leads or not. Such a read is counted, and found to be nothing worse. A sync of a follower's client
waits, and so does everybody's with pawld. (A leader of Apache's that was deposed answers the syncs of
those who still follow it, too; of three members nobody does.)
"""
import threading
import time
from collections import defaultdict


class Answerer:
    """Who is at the other end of a connection, and in which role: that stays, since servers close their
    clients' connections when it changes."""

    def __init__(self, member, is_apache, mode):
        self.member, self.is_apache, self.mode = member, is_apache, mode

    def is_leader_of_apache(self):
        return self.is_apache and self.mode == "leader"

    def __repr__(self):
        return "member %d, %s of %s" % (self.member, self.mode, "Apache's" if self.is_apache else "ours")


class Operation:
    """A write, or a read that came behind a sync. Without `end` it is not known whether it happened."""

    def __init__(self, client, key, data=None):
        self.client, self.key, self.data = client, key, data
        self.is_write = data is not None
        self.begin, self.end = time.monotonic(), None
        self.version = self.zxid = None
        self.answerer = None

    def done(self, data, stat, answerer):
        self.end = time.monotonic()
        self.data, self.version, self.zxid = data, stat["version"], stat["mzxid"]
        self.answerer = answerer

    def __repr__(self):
        return "%s of %s=%s by client %d, version %s, zxid %s, answered by %r" % (
            "write" if self.is_write else "read", self.key, self.data, self.client, self.version,
            None if self.zxid is None else hex(self.zxid), self.answerer)


class History:
    def __init__(self):
        self.n_excused = 0                   # stale reads behind a sync that a leader of Apache's answered
        self.lock = threading.Lock()
        self.operations = defaultdict(list)  # by key, each client's in its order
        self.seen = {}                       # (key, version): (data, zxid)
        self.wrong = []

    def began(self, operation):
        with self.lock:
            self.operations[operation.key].append(operation)

    def saw(self, key, data, stat, who):
        """Any answer that names a version: there is one truth about it."""
        what = (data, stat["mzxid"])
        with self.lock:
            known = self.seen.setdefault((key, stat["version"]), what)
        if known != what:
            self.wrong.append("%s: version %d of %s is %r and was %r" % (
                who, stat["version"], key, what, known))

    def verdict(self):
        """Lines about what cannot have been."""
        for key, operations in self.operations.items():
            self.judge(key, operations)
        return self.wrong

    def judge(self, key, operations):
        versions = {v: what for (k, v), what in self.seen.items() if k == key}
        self.resolve(key, operations, versions)
        self.judge_zxids(key, versions)
        known = [o for o in operations if o.version is not None]
        self.judge_writers(key, versions, known)
        self.judge_clock(known)
        self.judge_clients(known)

    def resolve(self, key, operations, versions):
        """Writes without an answer whose data was seen did happen."""
        by_data = {data: (v, zxid) for v, (data, zxid) in versions.items()}
        if len(by_data) != len(versions):
            self.wrong.append("%s: the same data as two versions" % key)
        for o in operations:
            if o.is_write and o.end is None and o.data in by_data:
                o.version, o.zxid = by_data[o.data]

    def judge_zxids(self, key, versions):
        ordered = sorted(versions)
        for a, b in zip(ordered, ordered[1:]):
            if versions[a][1] >= versions[b][1]:
                self.wrong.append("%s: versions %d and %d have zxids 0x%x and 0x%x" % (
                    key, a, b, versions[a][1], versions[b][1]))

    def judge_writers(self, key, versions, known):
        written = {o.data for o in known if o.is_write}
        for v, (data, _) in versions.items():
            if v > 0 and data not in written:
                self.wrong.append("%s: version %d is %r, which nobody wrote" % (key, v, data))

    def judge_clock(self, known):
        """Who began when another had ended sees at least that one's version."""
        ended = sorted((o for o in known if o.end is not None), key=lambda o: o.end)
        newest, i = None, 0
        for o in sorted(known, key=lambda o: o.begin):
            while i < len(ended) and ended[i].end < o.begin:
                if newest is None or ended[i].version > newest.version:
                    newest = ended[i]
                i += 1
            if newest and o.version < newest.version + (1 if o.is_write else 0):
                if self.is_excused(o):
                    self.n_excused += 1
                    continue
                self.wrong.append("%r came before %r, which had ended when it began" % (o, newest))

    def is_excused(self, o):
        return not o.is_write and o.answerer.is_leader_of_apache()

    def judge_clients(self, known):
        """A client's writes happen in its order, also those whose answers were lost."""
        last = {}
        for o in known:
            if o.is_write:
                before = last.get(o.client)
                if before and before.version >= o.version:
                    self.wrong.append("%r came before %r, which was sent first" % (o, before))
                last[o.client] = o
