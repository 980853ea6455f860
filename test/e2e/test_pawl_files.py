#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl log, snapshot, history and at: the files of servers, whole and damaged, only looked at."""
import glob
import hashlib
import json
import os
import resource
import shutil
import struct
import subprocess
import zlib

import daemon
from pawl_program import NO, NO_NODE, OK, PAWL, SYSTEM, USAGE, TestCase

DAMAGED = 118
VECTORS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "vectors", "datadir")
HEADER = 16


def sums(folder):
    """What every file below a folder holds, and when it was changed last."""
    found = {}
    for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
        if os.path.isfile(path):
            with open(path, "rb") as file:
                found[path] = (hashlib.sha1(file.read()).hexdigest(), os.stat(path).st_mtime_ns)
    return found


def records(path):
    """[(offset, end, zxid)] of a sound log."""
    with open(path, "rb") as file:
        data = file.read()
    at, found = HEADER, []
    while at + 12 <= len(data):
        length = struct.unpack_from(">i", data, at + 8)[0]
        if length == 0:
            break
        found.append((at, at + 13 + length, struct.unpack_from(">q", data, at + 24)[0]))
        at += 13 + length
    return found


class FilesCase(TestCase):
    """No server: pawl must not need one."""

    def setUp(self):
        daemon.TestCase.setUp(self)
        self.env = dict(os.environ, HOME=self.dir, TZ="UTC", PAWL_SERVER="localhost:1")
        self.before = sums(VECTORS)
        self.addCleanup(lambda: self.assertEqual(sums(VECTORS), self.before))

    def copy(self, name, change=None, into=None):
        """A log of the vectors, changed by change(bytearray)."""
        with open(os.path.join(VECTORS, name), "rb") as file:
            data = bytearray(file.read())
        if change is not None:
            change(data)
        path = os.path.join(self.dir, into or os.path.basename(name))
        with open(path, "wb") as file:
            file.write(data)
        return path

    def json_lines(self, *args, **kwargs):
        return [json.loads(line) for line in self.ok("-j", *args, **kwargs).splitlines()]

    def damaged(self, *args):
        """(what it prints, what it reports)"""
        status, out, errors = self.pawl(*args)
        self.assertEqual(status, DAMAGED, (args, out, errors))
        return out, errors


LOG = "standalone/version-2/log.1"


class Log(FilesCase):
    def vector(self, name):
        return os.path.join(VECTORS, name)

    def test_what_is_in_it(self):
        """The vectors come with a list of their transactions, which another program made."""
        for folder in sorted(glob.glob(os.path.join(VECTORS, "*", "txns.txt"))):
            with open(folder) as file:
                expected = [dict(f.split("=", 1) for f in line.split() if "=" in f)
                            for line in file if line.startswith("zxid=")]
            got = self.json_lines("log", os.path.dirname(folder))
            self.assertEqual([t["zxid"] for t in got], [t["zxid"] for t in expected], folder)
            for ours, theirs in zip(got, expected):
                self.assertEqual(ours["type"], theirs["type"], ours)
                self.assertEqual((ours["session"], str(ours["cxid"]), str(ours["time"])),
                                 (theirs["session"], theirs["cxid"], theirs["time"]))
                if theirs.get("digest", "").startswith("2/"):
                    self.assertEqual("2/" + ours["digest"], theirs["digest"])

    def test_lines(self):
        lines = self.ok("log", self.vector(LOG)).splitlines()
        self.assertEqual(lines[1], "2026-11-15 02:30:41.724 0x2 session 0x1000015a80d0000 cxid 0x1 "
                                   "create /app, 4 bytes, world:anyone:cdrwa")
        self.assertIn("    delete /app/seq-0000000003", lines)
        self.assertIn("create /app, 'root', world", self.ok("log", "-d", self.vector(LOG)))

    def zxids(self, *args):
        return [t["zxid"] for t in self.json_lines("log", *args, self.vector(LOG))]

    def test_filters(self):
        self.assertEqual(self.zxids("-z", "0x3..0x5"), ["0x3", "0x4", "0x5"])
        self.assertEqual(self.zxids("-z", "..2"), ["0x1", "0x2"])
        self.assertEqual(self.zxids("-z", "0x29.."), ["0x29", "0x2a"])
        self.assertEqual(self.zxids("-p", "/app/cfg"), ["0x3", "0x4", "0x5", "0x18", "0x1e"])
        self.assertEqual(self.zxids("-p", "/app/eph-B"), ["0xc", "0xe"], "its session deletes it")
        self.assertEqual(self.zxids("-S", "0x1000015a80d0001"), ["0xb", "0xc", "0xd", "0xe"])
        self.assertEqual(self.zxids("-t", "2026-11-15 02:30:42..2026-11-15T02:30:44Z"),
                         ["0x28", "0x29"])
        self.assertEqual(self.zxids("-t", "@1794709841.709"), ["0x1"])
        self.assertEqual(self.zxids("-t", "2026-11-16"), [])

    def test_a_verdict_on_a_range(self):
        """Nothing behind its end counts, nor what is wrong there."""
        verdict = self.json_lines("log", "-c", "-z", "..0x5", self.vector(LOG))[0]
        places = records(self.vector(LOG))
        self.assertEqual((verdict["transactions"], verdict["first"], verdict["last"], verdict["bytes"]),
                         (5, "0x1", "0x5", places[4][1] - places[0][0]))
        start, end, _zxid = places[5]

        def leave_out(data):
            del data[start:end]
        path = self.copy(LOG, leave_out)
        self.assertEqual(self.json_lines("log", "-c", "-z", "..0x5", path)[0]["state"], "whole")
        self.damaged("log", "-c", "-z", "..0x7", path)

    def test_filters_that_are_none(self):
        for args in (["-z", "x"], ["-z", "5..3"], ["-z", ""], ["-z", "0x"], ["-t", "yesterday"],
                     ["-t", "2026-13-01"], ["-S", "me"], ["-p", "app"], ["-t", "2026-11-15 25:00"],
                     ["-c", "-u"], ["-R"], ["-i", "new"], ["-z", "-1"]):
            self.fails(USAGE, "log", *args, self.vector(LOG))

    def test_whole(self):
        for folder in ("standalone", "ensemble-member", "trunc-before", "trunc-after",
                       "snap-sync-stale-log"):
            self.assertIn(": whole, ", self.ok("log", "-c", self.vector(folder)))
        verdict = self.json_lines("log", "-u", self.vector(LOG))[0]
        self.assertEqual((verdict["state"], verdict["transactions"], verdict["first"], verdict["last"]),
                         ("whole", 42, "0x1", "0x2a"))
        self.assertEqual(sum(verdict["types"].values()), 42)
        self.assertEqual(verdict["sessions"], 3)

    def test_not_there(self):
        self.assertIn("No such file", self.fails(SYSTEM, "log", "nowhere"))
        self.assertIn("no log in it", self.fails(SYSTEM, "log", self.dir))

    def test_other_names_and_folders(self):
        path = self.copy(LOG, into="some name")
        self.assertEqual(len(self.json_lines("log", path)), 42)
        self.assertEqual(len(self.json_lines("log", path, self.vector("standalone"))), 84)

    def test_a_flipped_bit_anywhere(self):
        """Each is found, with its place; what is before it is shown, and what is behind it counted."""
        path = self.vector(LOG)
        places = records(path)
        for number, (start, end, _zxid) in enumerate(places):
            if number % 5 != 0 and number != len(places) - 1:
                continue
            at = (start + end) // 2

            def flip(data):
                data[at] ^= 0x10

            out, errors = self.damaged("log", self.copy(LOG, flip))
            self.assertIn("damaged at offset %d: " % start, errors)
            self.assertEqual(len([line for line in out.splitlines() if line[0] != " "]), number)
            last = "the last good transaction before it is %#x" % number if number else "no good transaction"
            self.assertIn(last, errors)
            if number < len(places) - 1:
                self.assertIn("%d sound ones, %#x to 0x2a" % (len(places) - number - 1, number + 2), errors)

    def test_a_torn_end(self):
        start, end, zxid = records(self.vector(LOG))[-1]
        for cut in (start + 8, start + 12, (start + end) // 2, end - 1):
            def tear(data):
                del data[cut:]
            status, out, errors = self.pawl("log", "-c", self.copy(LOG, tear))
            self.assertEqual((status, out.split(", ")[0].split(": ")[1]), (OK, "torn"))
            self.assertIn("ends at offset %d in an unfinished write" % start, errors)
            self.assertIn("%#x" % (zxid - 1), errors)

    def test_zeroed_sectors(self):
        def zero(data):
            data[512:1536] = bytes(1024)
        out, errors = self.damaged("-j", "log", "-c", self.copy(LOG, zero))
        verdict = json.loads(out)
        self.assertEqual(verdict["state"], "damaged")
        inside = [r for r in records(self.vector(LOG)) if r[1] > 512][0]
        self.assertEqual(verdict["offset"], inside[0])
        self.assertIn("sound ones, ", errors)

    def test_impossible_lengths(self):
        start = records(self.vector(LOG))[3][0]
        for length in (0x7fffffff, -1, -2147483648, 100 << 20):
            def stretch(data):
                struct.pack_into(">i", data, start + 8, length)
            _out, errors = self.damaged("log", "-c", self.copy(LOG, stretch))
            self.assertIn("damaged at offset %d: the record's length is impossible" % start, errors)

    def test_empty_and_foreign_files(self):
        def becomes(content):
            def change(data):
                data[:] = content
            return self.copy(LOG, change)

        status, out, errors = self.pawl("log", "-c", becomes(b""))
        self.assertEqual(status, OK)
        self.assertIn(": torn, 0 transactions", out)
        self.assertIn("the file is empty", errors)
        self.assertEqual(self.pawl("log", "-c", becomes(bytes(4096)))[0], OK)
        for content in (b"ZKLG", b"not a log at all, is it", b"\x7fELF" + bytes(100)):
            self.damaged("log", "-c", becomes(content))
        self.assertEqual(self.pawl("log", "-c", self.vector("standalone/version-2/snapshot.0"))[0], DAMAGED)

    def test_a_missing_transaction(self):
        start, end, _zxid = records(self.vector(LOG))[10]
        def leave_out(data):
            del data[start:end]
        out, errors = self.damaged("log", "-c", self.copy(LOG, leave_out))
        self.assertIn(": incomplete, 41 ", out)
        self.assertIn("at offset %d it goes on with transaction 0xc, and those after 0xa are missing" % start,
                      errors)

    def test_a_missing_transaction_and_a_torn_end(self):
        start, end, _zxid = records(self.vector(LOG))[10]

        def tear(data):
            del data[records(self.vector(LOG))[-1][1] - 1:]
            del data[start:end]
        self.assertIn("those after 0xa are missing", self.damaged("log", "-c", self.copy(LOG, tear))[1])

    def test_compare(self):
        same = self.copy(LOG)
        self.assertEqual(self.ok("log", "-C", same, self.vector(LOG)), "")
        _s, end, _z = records(same)[20]

        def cut(data):
            del data[end:]
        status, out, errors = self.pawl("log", "-C", self.copy(LOG, cut, "shorter"), self.vector(LOG))
        self.assertEqual((status, errors), (NO, ""))
        self.assertEqual(len([line for line in out.splitlines() if line.startswith("- 2026")]), 21)
        start = records(same)[3][0]

        def change(data):
            length = struct.unpack_from(">i", data, start + 8)[0]
            data[start + 12 + 8 + 3] ^= 1  # the cxid
            struct.pack_into(">q", data, start, zlib.adler32(data[start + 12:start + 12 + length]))
        status, out, _errors = self.pawl("log", "-C", self.copy(LOG, change, "changed"), self.vector(LOG))
        self.assertEqual((status, [line[0] for line in out.splitlines()]), (NO, ["!", "!"]))

    def test_repair(self):
        start = records(self.vector(LOG))[10][0]

        def flip(data):
            data[start + 20] ^= 1
        bad = self.copy(LOG, flip, "bad")
        before = sums(self.dir)
        new = os.path.join(self.dir, "log.good")
        status, out, errors = self.pawl("log", "-R", "-i", new, bad)
        self.assertEqual((status, out), (OK, "%s: 10 transactions, 0x1 to 0xa\n" % new))
        self.assertIn("damaged at offset %d" % start, errors)
        self.assertEqual({k: v for k, v in sums(self.dir).items() if k != new}, before)
        self.assertIn(": whole, 10 ", self.ok("log", "-c", new))
        with open(new, "rb") as repaired, open(self.vector(LOG), "rb") as whole:
            self.assertEqual(repaired.read(), whole.read()[:start])
        self.assertIn("exists already", self.fails(SYSTEM, "log", "-R", "-i", new, bad))
        self.assertIn("folder", self.fails(USAGE, "log", "-R", "-i", "x", self.vector("standalone")))
        self.ok("log", "-R", "-i", "chopped", "-z", "..0x5", self.vector(LOG))
        self.assertIn(": whole, 5 ", self.ok("log", "-c", "chopped"))

    def test_a_repaired_log_is_as_secret(self):
        path = self.copy(LOG)
        for mode in 0o600, 0o640, 0o644:
            os.chmod(path, mode)
            self.ok("log", "-R", "-i", "new%o" % mode, path)
            self.assertEqual(os.stat(os.path.join(self.dir, "new%o" % mode)).st_mode & 0o7777, mode)

    def test_a_repair_on_a_full_disk(self):
        for limit in 0, 1000:
            done = subprocess.run([PAWL, "log", "-R", "-i", "new", self.vector(LOG)], capture_output=True, env=self.env,
                                  cwd=self.dir, restore_signals=False,  # Python ignores SIGXFSZ
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
            self.assertEqual((done.returncode, done.stdout), (SYSTEM, b""))
            self.assertEqual(done.stderr, b"pawl log: new: File too large; it is removed\n")
            self.assertFalse(os.path.exists(os.path.join(self.dir, "new")))


SNAPSHOT = "standalone-snapshot/version-2/snapshot.2a"


class Snapshot(FilesCase):
    def vector(self, name):
        return os.path.join(VECTORS, name)

    def test_what_is_in_it(self):
        self.assertIn("whole, transaction 0x2a, 22 nodes, 1 sessions, digest agrees",
                      self.ok("snapshot", "-c", self.vector(SNAPSHOT)))
        nodes = {n["path"]: n for n in self.json_lines("snapshot", self.vector(SNAPSHOT))}
        self.assertEqual(len(nodes), 22)
        self.assertEqual(nodes["/app"]["data"], "final")
        self.assertEqual(nodes["/m/e"]["stat"]["ephemeral_owner"], "0x1000015a80d0000")
        self.assertEqual(self.ok("snapshot", "-e", self.vector(SNAPSHOT)), "0x1000015a80d0000 40000ms 2\n")
        for other in ("compressed/gz/version-2/snapshot.2a.gz", "compressed/snappy/version-2/snapshot.2a.snappy"):
            self.assertEqual(self.ok("snapshot", "-C", self.vector(other), self.vector(SNAPSHOT)), "")

    def test_filters(self):
        self.assertEqual(self.ok("snapshot", "-p", "/m", self.vector(SNAPSHOT)), "/m\n/m/e\n/m/ttl\n")
        self.assertEqual(self.ok("snapshot", "-z", "0x2a", "-d", self.vector(SNAPSHOT)), "/app 'final'\n")
        self.assertEqual(self.ok("snapshot", "-S", "0x1000015a80d0000", self.vector(SNAPSHOT)),
                         "/app/eph-A\n/m/e\n")
        self.fails(NO_NODE, "snapshot", "-p", "/no", self.vector(SNAPSHOT))

    def test_what_differs(self):
        status, out, _errors = self.pawl("snapshot", "-C", self.vector(SNAPSHOT), "-p", "/app",
                                         self.vector("standalone/version-2/snapshot.0"))
        self.assertEqual(status, NO)
        self.assertEqual(out.splitlines()[:2], ["+ /app", "+ /app/cfg"])

    def test_every_damaged_byte_is_found(self):
        with open(self.vector(SNAPSHOT), "rb") as file:
            size = len(file.read())
        for at in list(range(0, 24)) + list(range(24, size, 97)) + [size - 6, size - 14]:
            def flip(data):
                data[at] ^= 0x40
            if at in range(4, 16):
                continue  # version and database id, which nobody looks at: see the seal
            _out, errors = self.damaged("snapshot", "-c", self.copy(SNAPSHOT, flip))
            self.assertRegex(errors, r"the snapshot of transaction 0x2a is damaged: .* at offset \d+")

    def test_cut_and_empty_and_huge(self):
        for keep in (0, 3, 16, 200, 1000):
            def cut(data):
                del data[keep:]
            self.assertIn("cut short", self.damaged("snapshot", "-c", self.copy(SNAPSHOT, cut))[1])

        def stretch(data):
            struct.pack_into(">i", data, 16, 0x7fffffff)
        self.damaged("snapshot", "-c", self.copy(SNAPSHOT, stretch))
        self.damaged("snapshot", "-c", self.copy("compressed/gz/version-2/snapshot.2a.gz",
                                                 lambda data: data.__setitem__(slice(60, 70), bytes(10))))


class Past(FilesCase):
    """history and at."""

    def folder(self, name):
        return os.path.join(VECTORS, name)

    def test_history(self):
        lines = self.ok("history", "-d", "-D", self.folder("standalone"), "/app/cfg").splitlines()
        self.assertEqual([line.split(" cxid ")[1].split(" ", 1)[1] for line in lines],
                         ["create2 /app/cfg, 'v0', world:anyone:cdrwa", "setData /app/cfg, 'v1', version 1",
                          "setData /app/cfg, '', version 2",
                          "setACL /app/cfg, version 1, digest:bob:fyVmFCwVbTJYrznoSu1koqYEYF0=:cdrwa,ip:127.0.0.1:r",
                          "check /app/cfg, version 3"])
        got = self.json_lines("history", "-D", self.folder("standalone"), "/app/eph-B")
        self.assertEqual([(t["zxid"], t["type"]) for t in got], [("0xc", "create"), ("0xe", "delete")])
        self.assertIn("know nothing of it",
                      self.fails(NO_NODE, "history", "-D", self.folder("standalone"), "/none"))
        self.fails(USAGE, "history", "/app")
        self.fails(USAGE, "history", "-D", self.folder("standalone"), "app")

    def test_history_before_the_logs(self):
        out = self.ok("history", "-d", "-D", self.folder("standalone-snapshot"), "/app")
        self.assertRegex(out, r"^snapshot 0x2a has /app, created by 0x2, version 2 of 0x2a, 'final'\n$")

    def test_history_with_a_hole(self):
        """What was in it may have been of this node."""
        shutil.copytree(self.folder("standalone"), self.dir + "/d")
        path = self.dir + "/d/version-2/log.1"
        start, end, _zxid = records(path)[10]
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data[:start] + data[end:])
        out, errors = self.damaged("history", "-D", "d", "/app/cfg")
        self.assertEqual(len(out.splitlines()), 5)
        self.assertIn("%s: at offset %d it goes on with transaction 0xc, and those after 0xa are missing" %
                      ("d/version-2/log.1", start), errors)

    def test_history_that_a_snapshot_bridges(self):
        """A member that was sent a snapshot has not what was before it; also if the logs are elsewhere."""
        self.ok("history", "-D", self.folder("snap-sync-stale-log"), "-R", "/")
        for folder, prefix in ("d", "snapshot"), ("l", "log"):
            os.makedirs("%s/%s/version-2" % (self.dir, folder))
            for path in glob.glob(self.folder("snap-sync-stale-log") + "/version-2/%s.*" % prefix):
                shutil.copy(path, "%s/%s/version-2/" % (self.dir, folder))
        self.ok("history", "-D", "d", "-L", "l", "-R", "/")

    def test_at_every_moment(self):
        """What a reader of the log would expect of each node that it writes."""
        data = {}
        for txn in self.json_lines("log", self.folder("standalone")):
            for op in txn.get("operations", [txn]):
                if op["type"] in ("create", "create2", "setData") and "data" in op:
                    data[op["path"]] = op["data"]
                    if txn["type"] != "multi" and data[op["path"]] is not None:
                        self.assertEqual(self.ok("at", "-D", self.folder("standalone"), txn["zxid"], "get",
                                                 op["path"]), op["data"], txn)

    def test_at_a_time(self):
        folder = self.folder("standalone")
        self.assertEqual(self.ok("at", "-D", folder, "2026-11-15T02:30:45Z", "get", "/app"), "r2")
        self.assertEqual(self.ok("at", "-D", folder, "end", "get", "/app"), "final")
        self.assertEqual(self.ok("at", "-D", folder, "0x3", "ls", "/app"), "cfg\n")
        self.assertEqual(self.ok("at", "-D", folder, "0x3", "ls", "-R", "/app"), "/app\n/app/cfg\n")
        self.fails(NO_NODE, "at", "-D", folder, "0x1", "get", "/app")
        self.fails(NO, "at", "-D", folder, "2020-01-01", "get", "/app")
        self.fails(USAGE, "at", "-D", folder, "then", "get", "/app")
        self.fails(USAGE, "at", "-D", folder, "end", "rm", "/app")

    def test_at_diff(self):
        status, out, _errors = self.pawl("at", "-D", self.folder("standalone"), "0x3", "diff", "/app/cfg", "0x4")
        self.assertEqual((status, out), (NO, "! /app/cfg (data, stat)\n"))
        self.assertEqual(self.ok("at", "-D", self.folder("standalone"), "0x3", "diff", "/", "0x3"), "")

    def test_damage_before_the_moment(self):
        shutil.copytree(self.folder("standalone"), self.dir + "/d")
        path = self.dir + "/d/version-2/log.1"
        start = records(path)[10][0]
        with open(path, "r+b") as file:
            file.seek(start + 20)
            file.write(b"\xff")
        before = sums(self.dir)
        self.assertEqual(self.ok("at", "-D", "d", "0x4", "get", "/app/cfg"), "v1")
        status, _out, errors = self.pawl("history", "-D", "d", "/app")
        self.assertEqual(status, DAMAGED)
        self.assertIn("damaged at offset %d" % start, errors)
        self.assertEqual(sums(self.dir), before)


class OfAServer(TestCase):
    """Files that pawld has just written, while it runs and after it was killed."""

    def test_a_running_server(self):
        data = os.path.join(self.dir, "d")
        server = self.start(data=data)
        self.use_port(server.port)
        self.ok("create", "/a", "1")
        for i in range(2, 30):
            self.ok("set", "/a", i)
        before = self.ok("log", "-c", data)
        self.assertIn(": whole, ", before)
        self.assertEqual(self.ok("at", "-D", data, "end", "get", "/a"), "29")
        self.assertEqual(len(self.ok("history", "-D", data, "/a").splitlines()), 29)
        server.kill9()
        self.assertEqual(self.ok("at", "-D", data, "end", "get", "/a"), "29")


if __name__ == "__main__":
    daemon.main()
