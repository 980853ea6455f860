# SPDX-License-Identifier: Apache-2.0
"""Whether what clients saw of registers could have been one register each: linearizability, made
easy by versions.

Every write has data of its own and says which version it made, every read says which version it
saw. So the order of all writes of a register is known, and only two questions are left: is there one
answer to "what is version v", and does anything contradict the clock.
"""
import threading
import time
from collections import defaultdict


class Operation:
    """A write, or a read that came behind a sync. Without `end` it is not known whether it happened."""

    def __init__(self, client, key, data=None):
        self.client, self.key, self.data = client, key, data
        self.is_write = data is not None
        self.begin, self.end = time.monotonic(), None
        self.version = self.zxid = None
        self.epoch = None  # of the server that answered

    def done(self, data, stat, epoch):
        self.end = time.monotonic()
        self.data, self.version, self.zxid = data, stat["version"], stat["mzxid"]
        self.epoch = epoch

    def __repr__(self):
        return "%s of %s=%s by client %d, version %s, zxid %s" % (
            "write" if self.is_write else "read", self.key, self.data, self.client, self.version,
            None if self.zxid is None else hex(self.zxid))


class History:
    def __init__(self):
        self.lenient_epochs = set()          # whose leader answers syncs although it is none any more
        self.n_excused = 0
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
                if self.is_excused(o, newest):
                    self.n_excused += 1
                    continue
                self.wrong.append("%r came before %r, which had ended when it began" % (o, newest))

    def is_excused(self, o, newest):
        """A sync that was answered by the leader of an epoch after a later epoch had begun: a leader of
        Apache's that wakes up does so, from memory. Nothing else is."""
        return (not o.is_write and o.epoch in self.lenient_epochs and
                newest.zxid >> 32 > o.epoch)

    def judge_clients(self, known):
        """A client's writes happen in its order, also those whose answers were lost."""
        last = {}
        for o in known:
            if o.is_write:
                before = last.get(o.client)
                if before and before.version >= o.version:
                    self.wrong.append("%r came before %r, which was sent first" % (o, before))
                last[o.client] = o
