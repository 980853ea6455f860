#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Folders that cannot be served: each has its clear message and status 3, and stays as it is."""
import os
import socket
import struct
import subprocess

import daemon
from daemon import contents, files, run

NOBODY = 65534


class FolderTest(daemon.TestCase):
    def refused(self, *args, data=None, said=(), **kwargs):
        """Starts on `data`, which is to fail with 3; gives what was said."""
        data = data or self.data
        before = contents(self.dir)
        code, out, err = run("--data", data, "--port", "0", *args, **kwargs)
        self.assertEqual((code, out), (3, ""), err)
        self.assertEqual(contents(self.dir), before)
        self.assertContains(err, *said)
        self.assertIn("Unable to access datadir", err)
        return err


class Unusable(FolderTest):
    def test_a_file_is_not_a_folder(self):
        path = self.file("file", "x")
        self.refused(data=path, said=(path, "Not a directory"))
        self.refused(data=path + "/below", said=(path, "Not a directory"))

    def test_a_missing_folder_is_made_unless_forbidden(self):
        deep = os.path.join(self.dir, "a/b/c")
        self.refused("-Dzookeeper.datadir.autocreate=false", data=deep,
                     said=(deep, "No such file", "datadir.autocreate"))
        self.start(data=deep).stop()
        self.assertTrue(os.path.isdir(os.path.join(deep, "version-2")))

    def test_version_2_is_not_made_either(self):
        os.mkdir(self.data)
        self.refused("-Ddatadir.autocreate=false", said=(self.data, "version-2"))

    def test_version_2_itself_is_the_wrong_folder(self):
        self.start().stop()
        self.refused(data=os.path.join(self.data, "version-2"),
                     said=("snapshot.0", "give the folder above it"))

    def test_the_tree_of_a_member_that_has_diverged_is_served_only_when_somebody_says_so(self):
        d = self.start()
        mark = os.path.join(self.data, "version-2", "pawl.diverged")
        with open(mark, "w") as f:
            f.write("the tree differed after transaction 0x100000007 (delete on /a)\n")
        d.connect()
        d.stop()
        self.refused(said=("version-2/pawl.diverged", "0x100000007 (delete on /a)",
                           "another member", "remove that file"))
        os.unlink(mark)
        self.start().stop()

    def test_a_mark_without_a_tree_is_nobodys(self):
        self.start().stop()
        mark = os.path.join(self.data, "version-2", "pawl.diverged")
        with open(mark, "w"):
            pass
        self.start().stop()
        self.assertFalse(os.path.exists(mark))

    def test_logs_are_not_left_behind_when_they_get_a_folder_of_their_own(self):
        d = self.start()
        d.connect()
        d.stop()
        logs = os.path.join(self.dir, "logs")
        os.mkdir(logs)
        self.refused("-DdataLogDir=" + logs, said=("log.1", "move the logs there"))

    def test_two_servers_do_not_share_a_folder(self):
        d = self.start()
        conn = d.connect()
        self.assertEqual(daemon.create(conn, "/a", b"1"), 0)
        self.refused(said=(self.data, "in use by another server", str(d.process.pid)))
        self.assertEqual(daemon.set_data(conn, "/a", b"2"), 0)  # the first one is not disturbed
        d.stop()
        d = self.start()
        self.assertEqual(daemon.get(d.connect(), "/a"), b"2")
        d.stop()

    def test_two_servers_do_not_share_a_folder_for_logs(self):
        logs = os.path.join(self.dir, "logs")
        d = self.start("-DdataLogDir=" + logs)
        other = os.path.join(self.dir, "other")
        os.makedirs(os.path.join(other, "version-2"))
        self.refused("-DdataLogDir=" + logs, data=other,
                     said=(logs, "in use by another server", str(d.process.pid)))
        d.stop()

    def test_a_killed_server_leaves_no_lock(self):
        d = self.start()
        d.process.kill()
        d.process.wait()
        self.start().stop()

    def test_folders_that_may_not_be_written(self):
        def become_nobody():
            os.setgid(NOBODY)
            os.setuid(NOBODY)

        as_root = os.getuid() == 0
        os.chmod(self.dir, 0o755)
        if as_root:
            try:
                run("--version", preexec_fn=become_nobody)
            except PermissionError:
                self.skipTest("another user cannot run %s" % daemon.PAWLD)
        for mode, said in ((0o555, "cannot create the lock file"), (0o000, "Permission denied")):
            os.makedirs(os.path.join(self.data, "version-2"), exist_ok=True)
            os.chmod(self.data, mode)
            if as_root:
                before = contents(self.dir)
                code, _, err = run("--data", self.data, "--port", "0", preexec_fn=become_nobody)
                self.assertEqual(contents(self.dir), before)
            else:
                code, _, err = run("--data", self.data, "--port", "0")
            self.assertEqual(code, 3)
            self.assertContains(err, self.data, said, "Permission denied")
            os.chmod(self.data, 0o755)

    def test_files_of_another_kind_are_left_alone(self):
        self.start().stop()
        for name in ("notes.txt", "version-2/log.txt", "version-2/snapshot.zzz",
                     "version-2/log.100000000000000000000000", "version-2/.hidden"):
            self.file(os.path.join("data", name), "mine")
        before = contents(self.data)
        d = self.start()
        d.stop()
        after = contents(self.data)
        for name in before:
            self.assertEqual(after[name], before[name])


class Damaged(FolderTest):
    """A folder with a snapshot, and two logs behind it; then something happens to its files."""

    def setUp(self):
        super().setUp()
        for base, snap_count in ((0, 40), (500, 100000), (1000, 100000)):
            d = self.start("-DsnapCount=%d" % snap_count, "-DpreAllocSize=64")
            conn = d.connect()
            for i in range(60):
                self.assertEqual(daemon.create(conn, "/n%d" % (base + i), b"x" * 50), 0)
            if base == 0:
                d.wait_log("Snapshot taken")
            d.stop()

    def path(self, name):
        return os.path.join(self.data, "version-2", name)

    def flip(self, name, offset):
        with open(self.path(name), "r+b") as f:
            f.seek(offset)
            byte = f.read(1)[0]
            f.seek(offset)
            f.write(bytes([byte ^ 0x40]))

    def records(self, name):
        """(offset, length, zxid) of each record of a log."""
        with open(self.path(name), "rb") as f:
            data = f.read()
        found, at = [], 16
        while at + 12 <= len(data):
            length = struct.unpack_from(">i", data, at + 8)[0]
            if length <= 0:
                break
            found.append((at, length, struct.unpack_from(">q", data, at + 12 + 12)[0]))
            at += 8 + 4 + length + 1
        return found

    def test_a_flipped_bit_in_the_middle_of_a_log(self):
        log = files(self.data, "log")[-1]
        offset, _, zxid = self.records(log)[20]
        self.flip(log, offset + 30)
        err = self.refused(said=(log, "damaged at offset %d" % offset, "0x%x" % (zxid - 1),
                                 "Nothing was changed", "Restore", "--accept-loss"))
        self.assertIn("Unable to load database on disk", err)

    def test_what_the_message_advises_works(self):
        log = files(self.data, "log")[-1]
        offset, _, zxid = self.records(log)[20]
        self.flip(log, offset + 30)
        self.refused()
        d = self.start("--accept-loss")
        self.assertContains(d.log(), "accepted", "0x%x" % (zxid - 1))
        conn = d.connect()
        self.assertEqual(daemon.get(conn, "/n0"), b"x" * 50)
        self.assertLess(len(daemon.children(conn, "/")), 181)
        self.assertIn("Zxid: 0x%x" % zxid, d.word("srvr"))  # zxid - 1, and the new session's
        d.stop()
        self.assertTrue(os.path.exists(self.path("aside.%s.%d" % (log, offset))))
        self.start().stop()  # once was enough

    def middle_log(self):
        """A log that is needed, and is not the last."""
        return files(self.data, "log")[-2]

    def test_a_flipped_bit_in_a_log_before_the_last(self):
        log = self.middle_log()
        offset = self.records(log)[1][0]
        self.flip(log, offset + 30)
        self.refused(said=(log, "damaged at offset %d" % offset, "Nothing was changed"))

    def test_zeroes_in_a_log_before_the_last(self):
        log = self.middle_log()
        offset, length, _ = self.records(log)[1]
        with open(self.path(log), "r+b") as f:
            f.seek(offset)
            f.write(bytes(12 + length))
        self.refused(said=(log, "damaged at offset %d" % offset, "Nothing was changed"))

    def test_a_log_without_its_header(self):
        log = files(self.data, "log")[-1]
        self.flip(log, 1)
        self.refused(said=(log, "offset 0"))

    def end_of(self, log):
        offset, length, zxid = self.records(log)[-1]
        return offset + 8 + 4 + length + 1, zxid

    def tear(self, log):
        """The first half of one more record, as a crash leaves it."""
        offset, length, _ = self.records(log)[-1]
        end, zxid = self.end_of(log)
        with open(self.path(log), "r+b") as f:
            f.seek(offset)
            half = f.read(12 + length // 2)
            f.seek(end)
            f.write(half)
        return end, half, zxid

    def test_a_torn_tail_is_cut_kept_and_said(self):
        log = files(self.data, "log")[-1]
        end, half, zxid = self.tear(log)
        d = self.start()
        self.assertContains(d.log(), log, "offset %d" % end, "cut off", "0x%x" % zxid)
        self.assertEqual(daemon.get(d.connect(), "/n1059"), b"x" * 50)
        d.stop()
        with open(self.path("aside.%s.%d" % (log, end)), "rb") as f:
            self.assertEqual(f.read(), half.rstrip(b"\0"))

    def test_an_acknowledged_record_is_no_torn_tail(self):
        log = files(self.data, "log")[-1]
        offset, length, zxid = self.records(log)[-1]
        for cut in (offset + 12 + length // 2, offset):
            os.truncate(self.path(log), cut)
            self.refused(said=(log, "0x%x were acknowledged" % zxid, "--accept-loss"))

    def test_zeroes_in_the_middle_of_a_killed_servers_log(self):
        d = self.start()
        conn = d.connect()
        for i in range(200):
            self.assertEqual(daemon.create(conn, "/z%d" % i, b"x" * 50), 0)
        d.process.kill()
        d.process.wait()
        log = files(self.data, "log")[-1]
        with open(self.path(log), "r+b") as f:
            f.seek(8192)
            f.write(bytes(512))
        self.refused(said=(log, "Nothing was changed"))
        os.unlink(self.path("pawl.durable"))
        self.refused(said=(log, "sound records follow", "Nothing was changed"))

    def test_a_log_before_the_last_zeroed_from_a_record_on(self):
        log = self.middle_log()
        offset, _, zxid = self.records(log)[5]
        size = os.path.getsize(self.path(log))
        os.truncate(self.path(log), offset)
        os.truncate(self.path(log), size)
        self.refused(said=("0x%x" % (zxid - 1), "are in no log", "Nothing was changed"))

    def test_a_log_before_the_last_is_gone(self):
        os.unlink(self.path(self.middle_log()))
        self.refused(said=("are in no log", "Nothing was changed"))

    def test_the_last_log_is_gone(self):
        log = files(self.data, "log")[-1]
        zxid = self.end_of(log)[1]
        os.unlink(self.path(log))
        self.refused(said=("0x%x were acknowledged" % zxid,))

    def test_with_the_port_taken_nothing_changes(self):
        self.tear(files(self.data, "log")[-1])
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]
            for data in (self.data, os.path.join(self.dir, "new")):
                before = contents(self.dir)
                code, _, err = run("--data", data, "-DclientPortAddress=127.0.0.1",
                                   "--port", str(port))
                self.assertEqual(code, 1, err)
                self.assertIn("cannot listen on", err)
                self.assertEqual(contents(self.dir), before)

    def test_a_file_that_another_program_writes(self):
        self.tear(files(self.data, "log")[-1])
        writer = subprocess.Popen(["sleep", "1000"],
                                  stdout=open(self.path(files(self.data, "log")[-1]), "r+b"))
        try:
            self.refused(said=("in use by another server", str(writer.pid), "sleep"))
        finally:
            writer.kill()
            writer.wait()
        self.start().stop()

    def test_an_idle_server_of_apaches(self):
        """It has no file open as long as nobody writes; its command line gives it away."""
        config = self.file("zoo.cfg", "tickTime=2000\ndataDir=%s\nclientPort=1\n" % self.data)
        for args in ((config,), ("2181", self.data)):
            server = subprocess.Popen(
                ["sh", "-c", "read line", "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                 *args], stdin=subprocess.PIPE)
            try:
                self.refused(said=("in use by another server", str(server.pid)))
            finally:
                server.kill()
                server.wait()
                server.stdin.close()
        self.start().stop()

    def test_a_damaged_snapshot_with_an_older_one_and_all_logs(self):
        snapshots = files(self.data, "snapshot")
        self.assertGreater(len(snapshots), 1)
        self.flip(snapshots[-1], 200)
        d = self.start()
        self.assertContains(d.log(), snapshots[-1], "damaged", "trying an older one")
        conn = d.connect()
        self.assertEqual(len(daemon.children(conn, "/")), 181)
        d.stop()

    def test_no_snapshot_that_can_be_read(self):
        for name in files(self.data, "snapshot"):
            self.flip(name, 200 if os.path.getsize(self.path(name)) > 200 else 40)
        self.refused(said=(files(self.data, "snapshot")[-1], "Nothing was changed", "Restore"))

    def test_a_damaged_snapshot_whose_logs_are_gone(self):
        snapshots = files(self.data, "snapshot")
        self.flip(snapshots[-1], 200)
        for name in files(self.data, "log"):
            os.unlink(self.path(name))
        self.refused(said=(snapshots[-1], "Nothing was changed"))

    def test_logs_whose_snapshots_are_gone(self):
        for name in files(self.data, "snapshot"):
            os.unlink(self.path(name))
        self.refused(said=("snapshot",))
        d = self.start("-Dsnapshot.trust.empty=true")
        conn = d.connect()
        self.assertEqual(daemon.get(conn, "/n1059"), b"x" * 50)
        d.stop()


if __name__ == "__main__":
    daemon.main()
