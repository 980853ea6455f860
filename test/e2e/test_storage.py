#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is on disk while a server runs: snapshots, log files and their purge, and a disk that runs
full."""
import os
import resource
import shutil
import subprocess

import daemon
from daemon import files, wait_until, z


class Files(daemon.TestCase):
    def write(self, conn, n, size=100):
        for i in range(n):
            self.assertEqual(daemon.set_data(conn, "/", bytes([i % 256]) * size), 0)

    def write_snapshots(self, conn, n, snap_count):
        """Writes until there are `n` more snapshots; the last byte written. One that is still being
        taken puts the next one off for another `snap_count`, so each is waited for, writing."""
        last = 0
        for _ in range(n):
            before, i = len(files(self.data, "snapshot")), 0

            def one_more():
                nonlocal i, last
                i, last = i + 1, i % 256
                self.assertEqual(daemon.set_data(conn, "/", bytes([last]) * 100), 0)
                return i >= snap_count and len(files(self.data, "snapshot")) > before

            wait_until(one_more, "a snapshot")
        return last

    def test_snapshots_and_logs_by_snap_count(self):
        d = self.start("-DsnapCount=50", "-DpreAllocSize=64")
        conn = d.connect()
        last = self.write_snapshots(conn, 6, 50)
        snapshots, logs = files(self.data, "snapshot"), files(self.data, "log")
        self.assertGreaterEqual(len(logs), 5)
        # a snapshot after at least half of snapCount transactions, and at most all of it
        zxids = [int(name.split(".")[1], 16) for name in snapshots]
        for before, after in zip(zxids, zxids[1:]):
            self.assertGreater(after - before, 20)
        # every log file goes on where the one before ended
        for log in logs:
            with open(os.path.join(self.data, "version-2", log), "rb") as f:
                self.assertEqual(f.read(4), b"ZKLG")
        d.stop()
        d = self.start()
        self.assertEqual(daemon.get(d.connect(), "/"), bytes([last]) * 100)
        d.stop()

    def test_a_log_file_is_limited_in_size(self):
        d = self.start("-DtxnLogSizeLimitInKb=64", "-DpreAllocSize=16", "-DsnapCount=1000000")
        conn = d.connect()
        self.write(conn, 100, 4000)
        d.stop()
        logs = files(self.data, "log")
        self.assertGreaterEqual(len(logs), 5)
        for log in logs:
            size = os.path.getsize(os.path.join(self.data, "version-2", log))
            self.assertLess(size, (64 + 16 + 8) * 1024)
        d = self.start()
        self.assertEqual(daemon.get(d.connect(), "/"), bytes([99]) * 4000)
        d.stop()

    def test_files_grow_by_pre_alloc_size(self):
        d = self.start("-DpreAllocSize=256")
        self.write(d.connect(), 3)
        log = os.path.join(self.data, "version-2", files(self.data, "log")[-1])
        self.assertEqual(os.path.getsize(log), 16 + 256 * 1024)  # the header comes on top
        d.stop()

    def test_old_files_are_purged(self):
        d = self.start("-DsnapCount=20", "-DpreAllocSize=64")
        last = self.write_snapshots(d.connect(), 6, 20)
        d.stop()
        before = files(self.data, "snapshot")
        d = self.start("-Dautopurge.purgeInterval=1", "-Dautopurge.snapRetainCount=3",
                       "-DsnapCount=100000")
        d.wait_log("Purge task completed")
        self.assertEqual(files(self.data, "snapshot"), before[-3:])
        oldest = int(before[-3].split(".")[1], 16)
        logs = [int(name.split(".")[1], 16) for name in files(self.data, "log")]
        self.assertLessEqual(logs[0], oldest + 1)  # what the oldest snapshot needs is there
        self.assertTrue(all(zxid > oldest for zxid in logs[1:]))
        self.assertEqual(daemon.get(d.connect(), "/"), bytes([last]) * 100)
        d.stop()
        d = self.start()
        self.assertEqual(daemon.get(d.connect(), "/"), bytes([last]) * 100)
        d.stop()

    def test_snapshots_and_logs_in_two_folders(self):
        logs = os.path.join(self.dir, "logs")
        args = ("-DdataLogDir=" + logs, "-DsnapCount=50", "-DpreAllocSize=64")
        d = self.start(*args)
        self.write(d.connect(), 200)
        d.wait_log("Snapshot taken")
        d.stop()
        self.assertEqual(files(self.data, "log"), [])
        self.assertEqual(files(logs, "snapshot"), [])
        self.assertTrue(files(self.data, "snapshot") and files(logs, "log"))
        d = self.start(*args)
        self.assertEqual(daemon.get(d.connect(), "/"), bytes([199]) * 100)
        d.stop()

    def test_compressed_snapshots(self):
        for method, suffix in (("gz", ".gz"), ("snappy", ".snappy")):
            data = os.path.join(self.dir, method)
            args = ("-Dsnapshot.compression.method=" + method, "-DsnapCount=50")
            d = self.start(*args, data=data)
            self.write(d.connect(), 200)
            d.wait_log("Snapshot taken")
            d.stop()
            self.assertTrue(files(data, "snapshot")[-1].endswith(suffix))
            d = self.start(data=data)
            self.assertEqual(daemon.get(d.connect(), "/"), bytes([199]) * 100)
            d.stop()


class LimitedFiles(daemon.TestCase):
    """`ulimit -f`, which every user can set."""

    def test_a_log_over_the_limit_stops_the_server_with_a_clear_error(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (300 * 1024, 300 * 1024))

        d = self.start("-DpreAllocSize=64", "-DsnapCount=1000000", preexec=limit)
        conn = d.connect()
        n = 0
        with self.assertRaises(z.Closed):
            while n < 1000:
                self.assertEqual(daemon.create(conn, "/n%d" % n, b"x" * 1000), 0)
                n += 1
        self.assertEqual(d.wait(), 1)
        self.assertContains(d.log(), "the transaction log cannot be written", self.data,
                            "File too large")
        d = self.start()
        names = set(daemon.children(d.connect(), "/"))
        self.assertEqual([i for i in range(n) if "n%d" % i not in names], [])
        d.stop()


class FullDisk(daemon.TestCase):
    """On a small file system of its own."""

    def setUp(self):
        super().setUp()
        self.data = os.path.join(self.dir, "small")
        os.mkdir(self.data)
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", self.data]
        done = subprocess.run(mount, capture_output=True, text=True) if os.getuid() == 0 else None
        if done is None or done.returncode != 0:
            self.skipTest("a small file system cannot be mounted here: %s"
                          % ("not root" if done is None else done.stderr.strip()))
        self.addCleanup(subprocess.run, ["umount", "-l", self.data])

    def fill_until_it_stops(self, d):
        """Creates nodes; gives how many were acknowledged when the connection ended."""
        conn = d.connect()
        n = 0
        try:
            while n < 100000:
                self.assertEqual(daemon.create(conn, "/n%d" % n, b"x" * 1000), 0)
                n += 1
        except z.Closed:
            return n
        self.fail("the disk does not run full")

    def check(self, n):
        d = self.start("-DpreAllocSize=64")
        names = set(daemon.children(d.connect(), "/"))
        self.assertEqual([i for i in range(n) if "n%d" % i not in names], [])
        self.assertLessEqual(len(names), n + 2)  # "zookeeper", and one that was not acknowledged
        d.stop()

    def test_the_log_does_not_fit(self):
        ballast = os.path.join(self.data, "ballast")
        with open(ballast, "wb") as f:
            f.write(bytes(300 * 1024))
        d = self.start("-DpreAllocSize=64", "-DsnapCount=1000000")
        n = self.fill_until_it_stops(d)
        self.assertEqual(d.wait(), 1)
        self.assertContains(d.log(), "the transaction log cannot be written", self.data,
                            "No space left on device")
        self.assertGreater(n, 100)
        os.unlink(ballast)
        self.check(n)

    def test_a_start_on_a_full_disk(self):
        ballast = os.path.join(self.data, "ballast")
        with open(ballast, "wb", buffering=0) as f:
            f.write(bytes(100 * 1024))
            d = self.start("-DpreAllocSize=64", "-DsnapCount=1000000")
            n = self.fill_until_it_stops(d)
            d.wait()
            with self.assertRaises(OSError):
                while True:
                    f.write(bytes(1024))
        before = daemon.contents(self.data)
        d = self.start("-DpreAllocSize=64", wait=False)
        # It may start, as reading needs no space; then it is the first write that fails.
        if d.process.stdout.readline():
            d.port = int(d.log().split("binding to port *:")[1].split("\n")[0])
            with self.assertRaises(z.Closed):
                d.connect()
            self.assertEqual(d.wait(), 1)
        else:
            self.assertEqual(d.wait(), 3)
        self.assertIn("No space left on device", d.log())
        for name, what in before.items():
            if name.startswith("version-2/snapshot"):
                self.assertEqual(daemon.contents(self.data)[name], what)
        os.unlink(ballast)
        self.check(n)

    def test_a_snapshot_does_not_fit(self):
        logs = os.path.join(self.dir, "logs")
        d = self.start("-DpreAllocSize=64", "-DsnapCount=2000", "-DdataLogDir=" + logs)
        n = self.fill_until_it_stops(d)
        self.assertEqual(d.wait(), 10)
        self.assertContains(d.log(), "a snapshot cannot be written", "No space left on device",
                            "nothing is lost")
        self.assertEqual([name for name in os.listdir(os.path.join(self.data, "version-2"))
                          if "tmp" in name], [])
        big = os.path.join(self.dir, "big")
        shutil.copytree(self.data, big)
        d = self.start("-DdataLogDir=" + logs, data=big)
        names = set(daemon.children(d.connect(), "/"))
        self.assertEqual([i for i in range(n) if "n%d" % i not in names], [])
        d.stop()


if __name__ == "__main__":
    daemon.main()
