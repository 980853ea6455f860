#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The command line and the configuration file: what pawld takes, and what it says to what it does
not."""
import json
import os
import re
import socket

import daemon
from daemon import run

# As Apache ships it.
SAMPLE = """# The number of milliseconds of each tick
tickTime=2000
# The number of ticks that the initial
# synchronization phase can take
initLimit=10
# The number of ticks that can pass between
# sending a request and getting an acknowledgement
syncLimit=5
# the directory where the snapshot is stored.
# do not use /tmp for storage, /tmp here is just
# example sakes.
dataDir={data}
# the port at which the clients will connect
clientPort=0
# the maximum number of client connections.
# increase this if you need to handle more clients
#maxClientCnxns=60
#autopurge.snapRetainCount=3
#autopurge.purgeInterval=1

## Metrics Providers
#
# https://prometheus.io Metrics Exporter
#metricsProvider.className=org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider
#metricsProvider.httpHost=0.0.0.0
#metricsProvider.httpPort=7000
#metricsProvider.exportJvmInfo=true
"""

# As the official container writes it, and as a distribution of Kafka does.
CONTAINER = """dataDir={data}
dataLogDir={data}/log
tickTime=2000
initLimit=5
syncLimit=2
autopurge.snapRetainCount=3
autopurge.purgeInterval=0
maxClientCnxns=60
standaloneEnabled=true
admin.enableServer=true
server.1=localhost:2888:3888;0
"""
KAFKA = """dataDir={data}
clientPort = 0
# disable the per-ip limit on the number of connections since this is a non-production config
maxClientCnxns = 0
admin.enableServer = false
# admin.serverPort=8080
4lw.commands.whitelist = *
"""
DEBIAN = """# http://hadoop.apache.org/zookeeper/docs/current/zookeeperAdmin.html

tickTime=2000
initLimit=10
syncLimit=5
dataDir={data}
# Place the dataLogDir to a separate physical disc for better performance
# dataLogDir=/disk2/zookeeper
clientPort=0
#server.1=zookeeper1:2888:3888
# To avoid seeks ZooKeeper allocates space in the transaction log file in
# blocks of preAllocSize kilobytes. The default block size is 64M.
#preAllocSize=65536
# Leader accepts client connections. Default value is "yes".
leaderServes=yes
"""


class CommandLine(daemon.TestCase):
    def test_help_and_version_are_for_the_asking(self):
        for option in ("--help", "-h"):
            code, out, err = run(option)
            self.assertEqual((code, err), (0, ""))
            self.assertContains(out, "usage: pawld", "--data", "--check", "Exit status")
        code, out, err = run("--version")
        self.assertEqual((code, err), (0, ""))
        self.assertRegex(out, r"^pawld \d+\.\d+\.\d+ \(speaks ZooKeeper 3\.\d+\.\d+\)\n$")
        code, out, err = run("--help-keys")
        self.assertEqual((code, err), (0, ""))
        self.assertContains(out, "clientPort", "jute.maxbuffer", "autopurge.purgeInterval")

    def test_bad_options_are_status_2_and_say_where_help_is(self):
        for args, said in (((), "a configuration file or --data DIR is needed"),
                           (("--bogus",), "--bogus"),
                           (("--data",), "--data"),
                           (("a.cfg", "b.cfg"), "one configuration file at most")):
            code, out, err = run(*args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertContains(err, said, "pawld --help")

    def test_bad_values_of_options_are_status_2(self):
        for args, said in ((("--port", "70000"), "70000"), (("--port", "abc"), "abc"),
                           (("--port", "-2"), "-2"), (("--log-level", "loud"), "loud"),
                           (("-DtickTime=soon",), "soon"), (("-D", "tickTime"), "tickTime")):
            code, out, err = run("--data", self.data, *args)
            self.assertEqual((code, out), (2, ""), args)
            self.assertContains(err, said, "Invalid config")
            self.assertFalse(os.path.exists(self.data))

    def test_a_folder_and_port_0_need_no_file(self):
        d = self.start()
        self.assertGreater(d.port, 0)
        self.assertContains(d.word("srvr"), "Mode: standalone")
        self.assertContains(d.log(), ":%d" % d.port)
        d.stop()
        self.assertEqual(d.process.stdout.read(), b"")

    def test_check_opens_nothing(self):
        code, out, err = run("--check", "--data", self.data, "--port", "0", "-DclientPortAddress=127.0.0.1")
        self.assertEqual((code, err), (0, ""))
        self.assertContains(out, "dataDir=" + self.data, "clientPort=0")
        self.assertFalse(os.path.exists(self.data))

    def test_check_finds_what_a_start_would(self):
        path = self.file("zoo.cfg", "dataDir=%s\nclientPort=x\n" % self.data)
        code, out, err = run("--check", path)
        self.assertEqual((code, out), (2, ""))
        self.assertContains(err, path + ":2: clientPort")

    def test_a_missing_file_is_one_message(self):
        code, out, err = run(os.path.join(self.dir, "none.cfg"))
        self.assertEqual(code, 2)
        self.assertContains(err, "none.cfg: cannot be read: No such file or directory")
        self.assertNotIn("dataDir", err)

    def test_a_port_in_use_is_status_1(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            port = s.getsockname()[1]
            code, out, err = run("--data", self.data, "--port", port,
                                 "-DclientPortAddress=127.0.0.1")
        self.assertEqual((code, out), (1, ""))
        self.assertContains(err, "127.0.0.1:%d" % port, "in use")

    def test_an_address_of_another_machine_is_status_1(self):
        code, out, err = run("--data", self.data, "--port", 0, "-DclientPortAddress=192.0.2.1")
        self.assertEqual((code, out), (1, ""))
        self.assertContains(err, "192.0.2.1")


class Properties(daemon.TestCase):
    def limit(self, *args, **kwargs):
        """jute.maxbuffer as it is in effect."""
        code, out, err = run("--check", "--data", self.data, "--port", "0", *args, **kwargs)
        self.assertEqual(code, 0, err)
        found = re.search(r"^jute\.maxbuffer=(.*)$", out, re.MULTILINE)
        return found and found[1]

    def test_all_forms_of_d(self):
        self.assertIsNone(self.limit())
        for form in (["-Djute.maxbuffer=4096"], ["-D", "jute.maxbuffer=4096"],
                     ["-Dzookeeper.jute.maxbuffer=4096"], ["-Djute.maxbuffer=1",
                                                           "-Djute.maxbuffer=4096"]):
            self.assertEqual(self.limit(*form), "4096", form)

    def test_d_takes_effect(self):
        d = self.start("-Dzookeeper.maxSessionTimeout=1500", "-DminSessionTimeout=1000")
        self.assertEqual(daemon.z.Conn(d.port).handshake(timeout_ms=90000)["timeOut"], 1500)
        self.assertEqual(daemon.z.Conn(d.port).handshake(timeout_ms=10)["timeOut"], 1000)
        d.stop()

    def test_file_wins_over_d_and_options_win_over_the_file(self):
        path = self.file("zoo.cfg", "dataDir=%s\nclientPort=1\njute.maxbuffer=2048\n"
                         "log.level=warn\n" % self.data)
        code, out, err = run("--check", "-Djute.maxbuffer=4096", "--port", "0", "--log-level",
                             "debug", path)
        self.assertEqual(code, 0)
        self.assertContains(out, "jute.maxbuffer=2048", "clientPort=0", "log.level=debug")
        self.assertContains(err, "jute.maxbuffer", "clientPort")  # which one has no effect

    def test_a_property_of_java_works_in_the_file(self):
        for line in ("maxCnxns=3", "zookeeper.maxCnxns=3"):
            path = self.file("zoo.cfg", "dataDir=%s\nclientPort=0\n%s\n" % (self.data, line))
            code, out, _ = run("--check", path)
            self.assertEqual(code, 0)
            self.assertContains(out, "maxCnxns=3")


class FilesOfTheField(daemon.TestCase):
    def test_they_serve_without_a_change(self):
        for name, text in (("sample", SAMPLE), ("container", CONTAINER), ("kafka", KAFKA),
                           ("debian", DEBIAN)):
            with self.subTest(name):
                data = os.path.join(self.dir, name)
                d = self.start_file(text.format(data=data), port=None)
                d.port = int(d.process.stdout.readline())
                conn = d.connect()
                self.assertEqual(daemon.create(conn, "/a", b"b"), 0)
                self.assertNotIn("unknown key", d.log())
                self.assertNotIn("ERROR", d.log())
                d.stop()

    def test_the_port_of_the_only_server_line_counts(self):
        text = "dataDir=%s\nserver.1=localhost:2888:3888;127.0.0.1:0\n" % self.data
        d = self.start_file(text, port=None)
        d.wait_log("binding to port 127.0.0.1:")
        d.stop()
        self.file("data/myid", "1\n")
        d = self.start_file(text, port=None)
        d.wait_log("binding to port 127.0.0.1:")
        d.stop()
        d = self.start_file(text.replace(":0", ":1"), port=0)  # the option wins
        self.assertGreater(d.port, 1)
        d.stop()

    def test_windows_line_ends_and_continuations(self):
        path = self.file("zoo.cfg", "dataDir : %s\r\nclientPort\t0\r\n! a comment\r\n"
                         "4lw.commands.whitelist=stat, \\\r\n    ruok\r\n" % self.data)
        d = daemon.Daemon(self.dir, path)
        self.addCleanup(d.close)
        self.assertEqual(d.word("ruok"), "imok")
        d.stop()

    def test_an_unknown_key_is_a_warning_with_the_nearest_one(self):
        path = self.file("zoo.cfg", "dataDir=%s\nclientPort=0\ntickTIme=2000\n"
                         "autopurge.purgeinterval=1\ncompletely.made.up=1\n" % self.data)
        d = daemon.Daemon(self.dir, path)
        self.addCleanup(d.close)
        self.assertContains(d.log(),
                            path + ":3: tickTIme: unknown key, ignored; the nearest known one is "
                            "tickTime",
                            path + ":4: autopurge.purgeinterval: unknown key",
                            "nearest known one is autopurge.purgeInterval",
                            path + ":5: completely.made.up: unknown key, ignored")
        d.stop()

    def test_a_key_of_the_java_server_is_named_once(self):
        d = self.start_file("dataDir=%s\nserverCnxnFactory=x.Netty\njvm.pause.monitor=true\n"
                            % self.data)
        for key in ("serverCnxnFactory", "jvm.pause.monitor"):
            self.assertEqual(len(re.findall(key, d.log())), 1, d.log())
        d.stop()

    def test_bad_values_stop_the_start_all_at_once_with_file_and_line(self):
        path = self.file("zoo.cfg", "# first line\ndataDir=%s\nclientPort=0\nsnapCount=10k\n"
                         "forceSync=maybe\ntickTime=\n\nmaxClientCnxns=1e3\n" % self.data)
        code, out, err = run(path)
        self.assertEqual((code, out), (2, ""))
        self.assertContains(err, path + ":4: snapCount", path + ":5: forceSync",
                            path + ":6: tickTime", path + ":8: maxClientCnxns", "allowed")
        self.assertFalse(os.path.exists(self.data))

    def test_what_cannot_be_served_is_refused(self):
        for line, said in (("secureClientPort=0", "ssl.keyStore.location"),
                           ("server.1=a:1:2\nserver.2=b:1:2\nserver.3=c:1:2\ninitLimit=5\n"
                            "syncLimit=2", "myid file is missing")):
            path = self.file("zoo.cfg", "dataDir=%s\nclientPort=0\n%s\n" % (self.data, line))
            code, _, err = run(path)
            self.assertEqual(code, 2)
            self.assertContains(err, said)


class Log(daemon.TestCase):
    def test_lines_are_text_with_time_and_level(self):
        d = self.start()
        d.stop()
        for line in d.log().splitlines():
            self.assertRegex(line, r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \[myid:1\] - "
                                   r"(ERROR|WARN |INFO |DEBUG) - \S")

    def test_json_lines_parse_whatever_is_in_them(self):
        strange = os.path.join(self.dir, "q\"uo\\te\n\x01\u00e9\udcff")
        d = self.start("--json", "-Dunknown\"key=1", data=strange)
        d.connect()
        d.stop()
        lines = [json.loads(line) for line in d.log().splitlines()]
        self.assertGreater(len(lines), 2)
        for line in lines:
            self.assertEqual(sorted(line), ["level", "message", "time"])
            self.assertIn(line["level"], ("ERROR", "WARN", "INFO", "DEBUG"))
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        self.assertTrue(any("q\"uo\\te\n\x01\u00e9\ufffd" in line["message"] for line in lines))

    def test_errors_of_the_start_are_json_too(self):
        _, _, err = run("--json", "--data", self.data, "--port", "x")
        self.assertTrue(all(json.loads(line)["level"] == "ERROR" for line in err.splitlines()))
        self.assertContains(err, "clientPort")

    def test_the_level_is_kept_to(self):
        d = self.start("--log-level", "warn")
        d.connect()
        d.stop()
        self.assertEqual(d.log(), "")


class Life(daemon.TestCase):
    def test_the_log_tells_version_configuration_who_may_connect_and_the_end(self):
        d = self.start_file("dataDir=%s\ntickTime=1500\n"
                            "DigestAuthenticationProvider.superDigest=super:hush\n" % self.data,
                            "-DmaxClientCnxns=7")
        d.stop()
        log = d.log()
        self.assertContains(log, "pawld ", "speaks ZooKeeper ", "configuration: tickTime=1500 (",
                            "zoo.cfg:2)", "configuration: maxClientCnxns=7 (command line)",
                            "authentication: none is asked for", "there is a super user",
                            "ready: clients connect to port %d of all addresses" % d.port)
        self.assertNotIn("hush", log)
        self.assertTrue(log.rstrip().endswith("stopped"), log)

    def test_what_is_set_is_told_instead(self):
        d = self.start("-DclientPortAddress=127.0.0.1", "-Denforce.auth.enabled=true",
                       "-Denforce.auth.schemes=digest, ip", "-DskipACL=yes")
        d.stop()
        self.assertContains(d.log(), "a session needs one of the schemes digest, ip", "skipACL=yes, no permission",
                            "ready: clients connect to 127.0.0.1, port %d" % d.port)

    def test_a_start_that_fails_is_the_end_too(self):
        code, _, err = run("--data", "/proc/nowhere", "--port", "0")
        self.assertEqual(code, 3)
        self.assertIn("stopped, with exit status 3", err)


if __name__ == "__main__":
    daemon.main()
