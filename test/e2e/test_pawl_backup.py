#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl backup, backup verify and restore: of servers that run, stop, purge and lose their disks."""
import glob
import json
import os
import resource
import shutil
import signal
import subprocess
import threading

import daemon
from daemon import create, get, set_data
from patience import PATIENCE_SECONDS, wait_until
from pawl_program import CONFLICT, NO, OK, PAWL, SYSTEM, USAGE, TestCase
from test_pawl_files import DAMAGED, records, sums


class BackupCase(TestCase):
    # Snapshots often: they come and go while a test runs.
    server_options = ("-DsnapCount=40", "-Dautopurge.snapRetainCount=3")

    def setUp(self):
        super().setUp()
        self.conn = self.server.connect()
        self.backup = os.path.join(self.dir, "backup")

    def write(self, n, prefix="/n", data=b"x" * 100):
        """Nodes that were not there before; the last zxid."""
        for _ in range(n):
            self.count = getattr(self, "count", 0) + 1
            self.assertEqual(create(self.conn, "%s%d" % (prefix, self.count), data), 0)
        return self.zxid()

    def zxid(self):
        """Of the last transaction, as a session sees it that changes nothing."""
        return self.conn.call(daemon.z.SET_DATA, {"path": "/", "data": b"", "version": -1})[0].zxid

    def make(self, *args):
        return json.loads(self.ok("-j", "backup", "-D", self.data, *args, self.backup))

    def verify(self, folder=None):
        return json.loads(self.ok("-j", "backup", "verify", folder or self.backup))

    def spoilt(self, status=DAMAGED, folder=None):
        """What verify reports."""
        got, _out, errors = self.pawl("backup", "verify", folder or self.backup)
        self.assertEqual(got, status, errors)
        return errors

    def list_zxid(self):
        with open(os.path.join(self.backup, "pawl.backup")) as file:
            word = file.read().split()[4]
        return -1 if word == "-" else int(word, 16)

    def serve(self, folder):
        """A connection to a server on that folder."""
        server = self.start(data=folder)
        return server.connect()

    def names(self, prefix, folder=None):
        return daemon.files(folder or self.backup, prefix)


class Making(BackupCase):
    def test_a_server_that_runs(self):
        last = self.write(10)
        made = self.make()
        self.assertGreaterEqual(int(made["zxid"], 16), last)
        checked = self.verify()
        self.assertEqual((checked["zxid"], checked["state"]), (made["zxid"], "whole"))
        restored = os.path.join(self.dir, "restored")
        self.assertIn("as of " + made["zxid"], self.ok("restore", self.backup, restored))
        conn = self.serve(restored)
        self.assertEqual(get(conn, "/n10"), b"x" * 100)

    def test_what_is_new_is_added(self):
        self.write(5)
        first = self.make()
        size = os.path.getsize(os.path.join(self.backup, "version-2", self.names("log")[0]))
        self.write(5)
        second = self.make()
        self.assertGreaterEqual(second["transactions"], 5)
        self.assertEqual(second["files"], first["files"])
        self.assertGreater(os.path.getsize(os.path.join(self.backup, "version-2", self.names("log")[0])),
                           size)
        self.assertEqual(self.make()["transactions"], 0)
        self.verify()

    def test_an_archive_gets_newer_snapshots(self):
        """So that a restore need not read all logs there are."""
        self.write(5)
        self.make()
        for _ in range(3):
            self.write(50, data=b"y" * 20000)
            self.make()
        self.assertGreater(len(self.names("snapshot")), 1)
        self.verify()

    def test_a_stream(self):
        last = self.write(60)
        done = subprocess.run([PAWL, "backup", "-D", self.data, "-"], capture_output=True,
                              timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, OK, done.stderr)
        os.mkdir(self.backup)
        subprocess.run(["tar", "x", "-C", self.backup], input=done.stdout, check=True)
        self.assertGreaterEqual(int(self.verify()["zxid"], 16), last)
        os.unlink(os.path.join(self.backup, "pawl.backup"))
        self.assertIn("is no backup", self.spoilt(NO))

    def test_a_stream_that_nobody_takes(self):
        self.write(3)
        with open("/dev/full", "w") as full:
            done = subprocess.run([PAWL, "backup", "-D", self.data, "-"], stdout=full,
                                  stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS)
        self.assertEqual(done.returncode, SYSTEM, done.stderr)

    def test_logs_of_their_own_folder(self):
        self.server.stop()
        logs = os.path.join(self.dir, "logs")
        self.data = os.path.join(self.dir, "data2")
        self.server = self.start("-DdataLogDir=" + logs)
        self.conn = self.server.connect()
        last = self.write(10)
        self.assertGreaterEqual(int(self.make("-L", logs)["zxid"], 16), last)
        self.verify()

    def test_where_it_may_not_go(self):
        self.write(1)
        os.mkdir(self.backup)
        self.file("backup/thesis.txt", "x")
        self.assertIn("neither empty nor a backup", self.fails(CONFLICT, "backup", "-D", self.data, self.backup))
        self.assertEqual(set(os.listdir(self.backup)), {"thesis.txt", "pawl.lock"})
        self.fails(SYSTEM, "backup", "-D", self.data, self.data)  # locked by the server itself
        self.fails(USAGE, "backup", self.backup)
        self.fails(USAGE, "backup", "-D", self.data, "-f", "-")
        self.fails(SYSTEM, "backup", "-D", os.path.join(self.dir, "nothing"), os.path.join(self.dir, "b"))
        self.fails(NO, "backup", "verify", self.data)

    def test_nobody_else_may_read_it(self):
        self.write(1)
        self.make()
        self.assertEqual(os.stat(self.backup).st_mode & 0o77, 0)


class Following(BackupCase):
    def follow(self):
        return self.begin("-j", "backup", "-D", self.data, "--follow", "--every", "50ms", self.backup)

    def wait_for(self, zxid):
        path = os.path.join(self.backup, "pawl.backup")
        wait_until(lambda: os.path.exists(path) and self.list_zxid() >= zxid,
                   "the archive to have 0x%x" % zxid)

    def test_it_goes_on(self):
        follower = self.follow()
        for _ in range(3):
            self.wait_for(self.write(30))
        line = json.loads(follower.stdout.readline())
        self.assertEqual(line["backup"], self.backup)
        follower.send_signal(signal.SIGTERM)
        self.assertEqual(follower.wait(PATIENCE_SECONDS), OK)
        self.verify()

    def test_killed_and_begun_again(self):
        """Whatever it leaves, the next one goes on from what the list has."""
        for _ in range(4):
            follower = self.follow()
            self.wait_for(self.write(20, data=b"z" * 5000))
            self.write(20)
            follower.kill()
            follower.wait()
            self.verify()
        last = self.write(1)
        self.make()
        self.assertGreaterEqual(int(self.verify()["zxid"], 16), last)

    def test_two_at_once(self):
        self.follow()
        self.wait_for(self.write(1))
        self.fails(SYSTEM, "backup", "-D", self.data, self.backup)

    def test_the_server_is_killed_and_comes_back(self):
        self.follow()
        last = self.write(30)
        self.wait_for(last)
        self.server.kill9()
        self.server = self.start(*self.server_options)
        self.conn = self.server.connect()
        last = self.write(30)
        self.wait_for(last)
        self.verify()

    def test_under_load(self):
        """Nothing that is being written is taken for damage."""
        follower = self.follow()
        for i in range(20):
            for j in range(20):
                self.conn.send(daemon.z.CREATE, {"path": "/load%d-%d" % (i, j), "data": b"q" * 3000 * (j % 3),
                                                 "acl": daemon.OPEN_ACL, "flags": 0})
            for j in range(20):
                self.assertEqual(self.conn.recv().err, 0)
        self.wait_for(self.zxid())
        self.assertIsNone(follower.poll())
        self.verify()


class Histories(BackupCase):
    def test_logs_that_were_purged_too_early(self):
        self.write(10)
        self.make()
        first = self.verify()
        self.write(200)
        self.server.stop()
        snapshots = self.names("snapshot", self.data)
        logs = self.names("log", self.data)
        newest = int(snapshots[-1].split(".")[1], 16)
        for name in logs:  # those that the newest snapshot does not need
            later = [n for n in logs if int(n.split(".")[1], 16) <= newest + 1]
            if name != later[-1] and int(name.split(".")[1], 16) < newest:
                os.unlink(os.path.join(self.data, "version-2", name))
        status, _out, errors = self.pawl("backup", "-D", self.data, self.backup)
        self.assertEqual(status, OK, errors)
        self.assertIn("are gone already; a snapshot takes their place", errors)
        self.assertGreater(int(self.verify()["zxid"], 16), newest - 1)
        within = self.fails(NO, "restore", "-a", hex(int(first["zxid"], 16) + 50), self.backup,
                            os.path.join(self.dir, "r"))
        self.assertIn("the last before it is " + first["zxid"], within)

    def test_purged_while_it_is_copied(self):
        """A server takes its oldest files away at any time."""
        stop = threading.Event()

        def purge():
            while not stop.is_set():
                for prefix in ("snapshot", "log"):
                    for name in self.names(prefix, self.data)[:-3]:
                        os.unlink(os.path.join(self.data, "version-2", name))
        self.write(10)
        self.make()
        thread = threading.Thread(target=purge)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        for _ in range(8):
            last = self.write(60)
            status, out, errors = self.pawl("-j", "backup", "-D", self.data, self.backup)
            self.assertEqual(status, OK, errors)
            self.assertGreaterEqual(int(json.loads(out)["zxid"], 16), last)
        self.verify()

    def test_what_the_server_has_dropped_is_cut(self):
        """As a member does that had more than its ensemble agreed upon."""
        self.write(10)
        self.server.stop()
        earlier = os.path.join(self.dir, "earlier")
        shutil.copytree(self.data, earlier)
        self.server = self.start()  # takes no snapshot of what it will have dropped
        self.conn = self.server.connect()
        self.write(10, "/lost")
        self.make()
        self.server.stop()
        shutil.rmtree(self.data)
        shutil.move(earlier, self.data)
        self.server = self.start()  # takes no snapshot of what it will have dropped
        self.conn = self.server.connect()
        last = self.write(3, "/instead")
        status, _out, errors = self.pawl("backup", "-D", self.data, self.backup)
        self.assertEqual(status, OK, errors)
        self.assertIn("the server has dropped what it had behind", errors)
        self.assertGreaterEqual(int(self.verify()["zxid"], 16), last)
        restored = os.path.join(self.dir, "restored")
        self.ok("restore", self.backup, restored)
        names = daemon.children(self.serve(restored), "/")
        self.assertIn("n1", names)
        self.assertFalse([n for n in names if n.startswith("lost")], names)
        self.assertTrue([n for n in names if n.startswith("instead")], names)
        self.assertTrue(glob.glob(os.path.join(self.backup, "version-2", "cut.*")))

    def test_another_server(self):
        self.write(3)
        self.make()
        other = self.start(data=os.path.join(self.dir, "other"))
        conn = other.connect()
        for i in range(20):
            create(conn, "/other%d" % i)
        before = daemon.contents(self.backup)
        self.data = os.path.join(self.dir, "other")
        self.assertIn("another history", self.fails(CONFLICT, "backup", "-D", self.data, self.backup))
        self.assertEqual(daemon.contents(self.backup), before)

    def test_a_damaged_snapshot_is_not_copied(self):
        self.write(100)
        wait_until(lambda: len(self.names("snapshot", self.data)) > 1, "a second snapshot")
        self.server.stop()
        newest = os.path.join(self.data, "version-2", self.names("snapshot", self.data)[-1])
        with open(newest, "r+b") as file:
            file.seek(200)
            byte = file.read(1)
            file.seek(200)
            file.write(bytes([byte[0] ^ 1]))
        status, _out, errors = self.pawl("backup", "-D", self.data, self.backup)
        self.assertEqual(status, OK, errors)
        self.assertIn("it is damaged", errors)
        self.assertNotIn(os.path.basename(newest), self.names("snapshot"))
        self.verify()

    def test_a_damaged_log(self):
        self.write(10)
        self.server.stop()
        log = os.path.join(self.data, "version-2", self.names("log", self.data)[-1])
        start, _end, zxid = records(log)[5]
        with open(log, "r+b") as file:
            file.seek(start + 30)
            file.write(b"\xff\xff\xff")
        status, _out, errors = self.pawl("backup", "-D", self.data, self.backup)
        self.assertEqual(status, DAMAGED, errors)
        self.assertIn("damaged at offset %d" % start, errors)
        self.assertEqual(self.list_zxid(), zxid - 1, "what is good before it is kept")


class FullDisk(BackupCase):
    def limited(self, limit):
        """A disk that takes files of so many bytes."""
        def less():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.run([PAWL, "backup", "-D", self.data, self.backup], capture_output=True,
                              text=True, timeout=PATIENCE_SECONDS, preexec_fn=less, env=self.env)

    def test_in_the_middle_of_the_first(self):
        self.write(30, data=b"f" * 3000)
        done = self.limited(50000)
        self.assertEqual(done.returncode, SYSTEM, done)
        self.assertIn("write", done.stderr)
        self.assertNotEqual(self.pawl("backup", "verify", self.backup)[0], OK)
        self.make()
        self.verify()

    def test_in_the_middle_of_a_later_one(self):
        self.write(10)
        made = self.make()
        self.write(30, data=b"f" * 3000)
        done = self.limited(50000)
        self.assertEqual(done.returncode, SYSTEM, done)
        status, out, errors = self.pawl("-j", "backup", "verify", self.backup)
        self.assertEqual((status, json.loads(out)["zxid"]), (OK, made["zxid"]), errors)
        last = self.write(1)
        self.assertGreaterEqual(int(self.make()["zxid"], 16), last)
        self.verify()


class Verifying(BackupCase):
    def setUp(self):
        super().setUp()
        self.write(30)
        self.make()
        self.log = os.path.join(self.backup, "version-2", self.names("log")[-1])
        self.snapshot = os.path.join(self.backup, "version-2", self.names("snapshot")[-1])

    def change(self, path, at, data=None):
        with open(path, "r+b") as file:
            if data is None:
                file.truncate(at)
            else:
                file.seek(at)
                file.write(data)

    def test_nothing_of_it_is_changed(self):
        before = sums(self.backup)
        self.verify()
        self.assertEqual(sums(self.backup), before)

    def test_a_bit(self):
        with open(self.log, "rb") as file:
            data = file.read()
        for at in (2, 20, len(data) // 2, len(data) - 1):
            self.change(self.log, at, bytes([data[at] ^ 1]))
            self.assertIn("it was changed", self.spoilt())
            self.change(self.log, at, data[at:at + 1])
        self.verify()

    def test_the_last_record_is_missing(self):
        """Nothing in a log tells that it went on."""
        self.change(self.log, records(self.log)[-1][0])
        self.assertIn("shorter than", self.spoilt())
        self.assertIn("shorter than", self.fails(DAMAGED, "backup", "-D", self.data, self.backup))

    def test_a_file_is_missing(self):
        for path in (self.snapshot, self.log):
            os.rename(path, path + "x")
            self.spoilt()
            os.rename(path + "x", path)
        self.verify()

    def test_the_snapshot(self):
        self.change(self.snapshot, 100, b"\x55")
        self.assertIn("it was changed", self.spoilt())

    def test_the_list(self):
        path = os.path.join(self.backup, "pawl.backup")
        with open(path, "rb") as file:
            text = file.read()
        for wrong in (b"", text[:-1], text[:30], text.replace(b"zxid 0x", b"zxid 0x1"),
                      text.replace(b"log.", b"../log."), b"\0" * 4096, text + text):
            with open(path, "wb") as file:
                file.write(wrong)
            self.assertIn("pawl.backup", self.spoilt())
            self.fails(DAMAGED, "backup", "-D", self.data, self.backup)
        with open(path, "wb") as file:
            file.write(text)
        self.verify()

    def test_what_an_interrupted_one_has_left(self):
        """Bytes behind what the list has: verify passes over a torn end, the next backup cuts it."""
        with open(self.log, "ab") as file:
            file.write(b"\0" * 20 + b"half")
        with open(os.path.join(self.backup, "version-2", "tmp.snapshot.ff"), "w") as file:
            file.write("half")
        last = self.write(3)
        self.assertGreaterEqual(int(self.make()["zxid"], 16), last)
        self.verify()
        self.assertFalse(glob.glob(os.path.join(self.backup, "version-2", "tmp*")))


class Restoring(BackupCase):
    def setUp(self):
        super().setUp()
        self.write(5)
        self.make()
        self.moments = []
        for i in range(60):
            set_data(self.conn, "/n1", b"%d" % i)
            self.moments.append(self.zxid())
        self.make()
        self.into = os.path.join(self.dir, "restored")

    def test_at_a_zxid(self):
        for i in (0, 30, 59):
            into = "%s%d" % (self.into, i)
            done = json.loads(self.ok("-j", "restore", "-a", hex(self.moments[i]), self.backup, into))
            self.assertEqual(int(done["zxid"], 16), self.moments[i])
            self.assertEqual(get(self.serve(into), "/n1"), b"%d" % i)

    def test_at_a_time(self):
        times = {t["zxid"]: t["time"] for t in
                 (json.loads(line) for line in self.ok("-j", "log", self.backup).splitlines())}
        at = times[hex(self.moments[40])]
        done = json.loads(self.ok("-j", "restore", "-a", "@%d.%03d" % divmod(at, 1000), self.backup, self.into))
        self.assertGreaterEqual(int(done["zxid"], 16), self.moments[40])
        self.assertEqual(times[done["zxid"]], at)

    def test_a_moment_that_was_not(self):
        self.fails(NO, "restore", "-a", "2001-01-01", self.backup, self.into)
        self.fails(NO, "restore", "-a", hex(self.moments[-1] + 1000), self.backup, self.into)
        self.fails(USAGE, "restore", "-a", "yesterday", self.backup, self.into)
        self.assertFalse(os.path.exists(os.path.join(self.into, "version-2")))

    def test_never_over_data(self):
        self.ok("restore", self.backup, self.into)
        before = daemon.contents(self.into)
        self.assertIn("--replace", self.fails(CONFLICT, "restore", self.backup, self.into))
        self.assertEqual(daemon.contents(self.into), before)
        done = json.loads(self.ok("-j", "restore", "-r", "-a", hex(self.moments[7]), self.backup, self.into))
        self.assertTrue(os.listdir(os.path.join(self.into, done["replaced"])))
        self.assertEqual(get(self.serve(self.into), "/n1"), b"7")

    def test_never_over_a_server_that_runs(self):
        before = set(os.listdir(self.data))
        self.fails(SYSTEM, "restore", "-r", self.backup, self.data)
        self.assertEqual(set(os.listdir(self.data)), before)

    def test_in_place_of_a_server(self):
        """With a folder of its own for the logs: those from afterwards must not be played."""
        logs = os.path.join(self.dir, "logs")
        place = os.path.join(self.dir, "place")
        server = self.start("-DdataLogDir=" + logs, data=place)
        conn = server.connect()
        create(conn, "/later")
        server.stop()
        self.fails(CONFLICT, "restore", "-L", logs, self.backup, place)
        self.ok("restore", "-r", "-L", logs, self.backup, place)
        server = self.start("-DdataLogDir=" + logs, data=place)
        names = daemon.children(server.connect(), "/")
        self.assertIn("n5", names)
        self.assertNotIn("later", names)

    def test_a_subtree_into_a_server_that_runs(self):
        self.write(1, "/config")
        path = "/config%d" % self.count
        self.make()
        daemon.delete(self.conn, path)
        text = self.ok("at", "-D", self.backup, "end", "export", path)
        self.ok("import", path, stdin=text.encode())
        self.assertEqual(get(self.conn, path), b"x" * 100)

    def test_disk_full(self):
        def less():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
        done = subprocess.run([PAWL, "restore", self.backup, self.into], capture_output=True, text=True,
                              timeout=PATIENCE_SECONDS, preexec_fn=less, env=self.env)
        self.assertEqual(done.returncode, SYSTEM, done)
        self.assertEqual(set(os.listdir(self.into)) - {"pawl.lock"}, set())
        self.ok("restore", self.backup, self.into)


if __name__ == "__main__":
    daemon.main()
