#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""pawl ensemble init and pawl server: folders of members, and servers in the background."""
import json
import os
import resource
import signal
import subprocess
import unittest

import daemon
from patience import free_port, wait_until
from pawl_program import NO, OK, PAWL, REFUSED, SYSTEM, USAGE, TestCase


class ServerCase(TestCase):
    """Starts no server by itself."""

    def setUp(self):
        daemon.TestCase.setUp(self)
        self.env = dict(os.environ, HOME=self.dir)
        self.configs = []
        self.addCleanup(self.stop_all)

    def stop_all(self):
        for config in self.configs:
            self.pawl("server", "stop", "-c", config)

    def config(self, name="zoo.cfg", **more):
        """One server of its own."""
        keys = {"dataDir": os.path.join(self.dir, "d"), "clientPort": free_port(), **more}
        path = self.file(name, "".join("%s=%s\n" % pair for pair in keys.items()))
        self.configs.append(path)
        return path, keys["clientPort"]


class Server(ServerCase):
    def test_its_life(self):
        config, port = self.config()
        self.assertEqual(self.pawl("server", "status", "-c", config)[:2],
                         (NO, "Client port found: %d. Client address: localhost.\n"
                              "Error contacting service. It is probably not running.\n" % port))
        started = self.ok("server", "start", "-c", config)
        self.assertRegex(started, r"^Starting pawld \.\.\. STARTED as process \d+\n$")
        pid = int(started.split()[-1])
        self.assertEqual(open(os.path.join(self.dir, "d", "zookeeper_server.pid")).read(), str(pid))
        self.ok("-s", "localhost:%d" % port, "create", "/a")
        self.assertIn("Mode: standalone\n", self.ok("server", "status", "-c", config))
        self.assertEqual(json.loads(self.ok("-j", "server", "status", "-c", config)),
                         {"state": "serving", "mode": "standalone", "client_port": port, "process": pid})
        self.assertIn("already running as process %d" % pid, self.fails(NO, "server", "start", "-c", config))
        again = self.ok("server", "restart", "-c", config)
        self.assertIn("STOPPED process %d\n" % pid, again)
        self.assertNotEqual(int(again.split()[-1]), pid)
        self.ok("-s", "localhost:%d" % port, "get", "/a")
        self.assertIn("STOPPED", self.ok("server", "stop", "-c", config))
        self.assertIn("none to stop", self.ok("server", "stop", "-c", config))
        self.assertEqual(self.pawl("server", "status", "-c", config)[0], NO)

    def test_one_that_cannot_start(self):
        config, _port = self.config()
        other = self.start(data=os.path.join(self.dir, "d"))
        status, out, errors = self.pawl("server", "start", "-c", config)
        self.assertEqual((status, out), (SYSTEM, ""))
        self.assertIn("is in use by another server", errors)
        self.assertIn("it ended with status 3; more is in ", errors)
        other.stop()

    def test_a_port_that_somebody_else_answers_on(self):
        other = self.start()
        config, _port = self.config(clientPort=other.port)
        status, out, errors = self.pawl("server", "start", "-c", config)
        self.assertEqual((status, out), (SYSTEM, ""))
        self.assertContains(errors, "Address already in use", "it ended with status ")
        self.assertFalse(os.path.exists(os.path.join(self.dir, "d", "zookeeper_server.pid")))
        self.assertIn("Mode: standalone\n", other.word("srvr"))

    def test_bad_configurations(self):
        self.assertIn("nowhere.cfg", self.fails(USAGE, "server", "start", "-c", "nowhere.cfg"))
        path = self.file("bad.cfg", "dataDir=/tmp/x\nclientPort=abc\n")
        self.assertIn("clientPort", self.fails(USAGE, "server", "start", "-c", path))

    def test_a_number_that_is_somebody_else(self):
        """Of a server that was killed: the number may be anybody's by now."""
        config, _port = self.config()
        os.mkdir(os.path.join(self.dir, "d"))
        stranger = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(stranger.wait)
        self.addCleanup(stranger.kill)
        self.file("d/zookeeper_server.pid", str(stranger.pid))
        self.assertIn("none to stop", self.ok("server", "stop", "-c", config))
        self.assertIsNone(stranger.poll())
        for text in "", "x", "-1", "0", "1":
            self.file("d/zookeeper_server.pid", text)
            self.assertIn("none to stop", self.ok("server", "stop", "-c", config))

    def test_one_that_does_not_stop(self):
        config, _port = self.config()
        pid = int(self.ok("server", "start", "-c", config).split()[-1])
        os.kill(pid, signal.SIGSTOP)
        self.assertIn("still runs", self.fails(114, "server", "stop", "-w", "200ms", "-c", config))
        os.kill(pid, signal.SIGCONT)
        wait_until(lambda: not os.path.exists("/proc/%d" % pid), "its end")

    def test_a_number_that_cannot_be_read(self):
        config, _port = self.config()
        os.makedirs(os.path.join(self.dir, "d", "zookeeper_server.pid"))
        for command in "stop", "start", "restart":
            self.assertIn("zookeeper_server.pid: Is a directory", self.fails(SYSTEM, "server", command, "-c", config))

    @unittest.skipIf(os.geteuid() != 0, "two users are needed")
    def test_one_of_another_user(self):
        """It runs, and is nobody's to stop; its file stays."""
        config, _port = self.config()
        pid = int(self.ok("server", "start", "-c", config).split()[-1])
        for folder in self.dir, os.path.join(self.dir, "d"):
            os.chmod(folder, 0o777)
        nobody = 65534
        try:
            done = subprocess.run([PAWL, "server", "stop", "-c", config], capture_output=True, env=self.env,
                                  cwd=self.dir, user=nobody, group=nobody, extra_groups=[])
        except PermissionError:
            self.skipTest("the program is in a folder that others cannot enter")
        self.assertEqual((done.returncode, done.stdout), (REFUSED, b""))
        self.assertEqual(done.stderr.decode(), "pawl server stop: process %d: Operation not permitted\n" % pid)
        self.assertEqual(open(os.path.join(self.dir, "d", "zookeeper_server.pid")).read(), str(pid))
        self.assertIn("STOPPED process %d" % pid, self.ok("server", "stop", "-c", config))

    def test_print_cmd(self):
        config, _port = self.config()
        self.assertRegex(self.ok("server", "print-cmd", "-c", config),
                         r'^"[^"]*/pawld" "%s" >>"[^"]*/d/pawld.out" 2>&1 </dev/null\n$' % config)


class Ensemble(ServerCase):
    def ports(self):
        """Three runs of free ports; not surely free for long, so whoever uses them must not mind."""
        return ["-p", 20000 + free_port() % 5000, "-q", 30000 + free_port() % 5000, "-e", 40000 + free_port() % 5000]

    def test_three_members_serve(self):
        for _attempt in range(5):
            folder = os.path.join(self.dir, "e%d" % _attempt)
            members = [json.loads(line) for line in
                       self.ok("-j", "ensemble", "init", *self.ports(), folder, 3).splitlines()]
            self.configs = [os.path.join(m["folder"], "zoo.cfg") for m in members]
            started = [self.pawl("server", "start", "-c", config) for config in self.configs]
            if all(status == OK for status, _out, _errors in started):
                break
            self.stop_all()  # somebody else has one of the ports
        self.ok("-s", ",".join(m["client"] for m in members), "-C", "60s", "create", "/a")
        def modes():
            return sorted(str(json.loads(self.pawl("-j", "server", "status", "-c", config)[1])["mode"])
                          for config in self.configs)
        wait_until(lambda: modes() == ["follower", "follower", "leader"], "all three")

    def test_files(self):
        out = self.ok("ensemble", "init", "-p", 3000, "e", 3)
        self.assertIn("pawl server start -c %s/e/2/zoo.cfg\n" % self.dir, out)
        self.assertTrue(out.endswith("export PAWL_SERVER=127.0.0.1:3000,127.0.0.1:3001,127.0.0.1:3002\n"))
        text = open(os.path.join(self.dir, "e/2/zoo.cfg")).read()
        self.assertContains(text, "dataDir=%s/e/2/data\n" % self.dir, "server.2=127.0.0.1:2889:3889;3001\n")
        self.assertEqual(open(os.path.join(self.dir, "e/2/data/myid")).read(), "2\n")
        self.assertIn("File exists", self.fails(SYSTEM, "ensemble", "init", "e", 3))

    def test_all_or_nothing(self):
        os.makedirs(os.path.join(self.dir, "e", "2"))
        self.assertIn("e/2: File exists", self.fails(SYSTEM, "ensemble", "init", "e", 3))
        self.assertEqual(os.listdir(os.path.join(self.dir, "e")), ["2"])
        self.assertIn("e/2: File exists", self.fails(SYSTEM, "ensemble", "init", "e", "a", "b", "2"))
        self.assertEqual(os.listdir(os.path.join(self.dir, "e")), ["2"])

    def test_a_full_disk(self):
        """No file may have a byte."""
        done = subprocess.run([PAWL, "ensemble", "init", "new", "3"], capture_output=True, env=self.env, cwd=self.dir,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
                              restore_signals=False)  # Python ignores SIGXFSZ
        self.assertEqual((done.returncode, done.stdout), (SYSTEM, b""))
        self.assertIn(b"zoo.cfg: File too large\n", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "new")))

    def test_named_hosts(self):
        out = self.ok("ensemble", "init", "-D", "/srv/zk", "e", "a.example", "b.example", "::1")
        self.assertIn("e/b.example: copy zoo.cfg there, and myid to /srv/zk/myid\n", out)
        text = open(os.path.join(self.dir, "e/b.example/zoo.cfg")).read()
        self.assertContains(text, "dataDir=/srv/zk\n", "server.2=b.example:2888:3888;2181\n",
                            "server.3=[::1]:2888:3888;2181\n")
        self.assertEqual(open(os.path.join(self.dir, "e/b.example/myid")).read(), "2\n")

    def test_an_even_number(self):
        status, _out, errors = self.pawl("ensemble", "init", "e", 4)
        self.assertEqual((status, errors), (OK, "pawl ensemble init: 4 members go on without 1 of them, as 3 do\n"))

    def test_bad_words(self):
        for args in (["e", 0], ["e", 1000], ["e"], ["e", "a", "a"], ["e", "a b", "c"], ["e", "../x", "y"],
                     ["-p", 65535, "e", 3], ["-p", 2888, "e", 3], ["-q", 0, "e", 3]):
            self.fails(USAGE, "ensemble", "init", *args)


if __name__ == "__main__":
    daemon.main()
