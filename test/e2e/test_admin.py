# SPDX-License-Identifier: Apache-2.0
"""The admin server: commands, health and metrics over HTTP, and those who mean it no good."""
import http.client
import json
import os
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import daemon
import zkwire as z
from daemon import PATIENCE_SECONDS, run
from patience import free_port, wait_until

ADMIN = ("-Dadmin.enableServer=true", "-Dadmin.serverPort=0")
PROMETHEUS = "org.apache.zookeeper.metrics.prometheus.PrometheusMetricsProvider"


def fetch(port, path, method="GET", headers=None, body=None):
    """(status, text), whatever the status is."""
    request = urllib.request.Request("http://127.0.0.1:%d%s" % (port, path), data=body, method=method,
                                     headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def command(port, name):
    status, text = fetch(port, "/commands/" + name)
    assert status == 200, (status, text)
    return json.loads(text)


def metric(text, name):
    return float(re.search(r"^%s (\S+)$" % re.escape(name), text, re.M)[1])


def raw(port, data, until_closed=True):
    """What comes back to these bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as s:
        try:
            s.sendall(data)
            parts = b""
            while part := s.recv(65536):
                parts += part
                if not until_closed and b"\r\n\r\n" in parts:
                    break
        except ConnectionError:
            pass
        return parts


class Admin(daemon.TestCase):
    def admin(self, d, what="admin server"):
        """The port that its log names."""
        d.wait_log(what + r" at http://127\.0\.0\.1:(\d+)")
        return int(re.search(what + r" at http://127\.0\.0\.1:(\d+)", d.log())[1])

    def start_admin(self, *args, **kwargs):
        d = self.start(*ADMIN, *args, **kwargs)
        return d, self.admin(d)


class Commands(Admin):
    def test_nobody_listens_unless_told_to(self):
        d = self.start()
        d.word("srvr")
        self.assertNotIn("admin server", d.log())
        self.assertNotIn("http://", d.log())

    def test_the_numbers_are_those_of_the_server_now(self):
        d, port = self.start_admin()
        c = d.connect()
        for i in range(3):
            self.assertEqual(daemon.create(c, "/n%d" % i), 0)
            self.assertEqual(command(port, "monitor")["znode_count"], 6 + i)
        self.assertEqual(daemon.create(c, "/e", flags=daemon.EPHEMERAL), 0)
        dump = command(port, "dump")
        [session] = dump["session_id_to_ephemeral_paths"]
        self.assertEqual(dump["session_id_to_ephemeral_paths"][session], ["/e"])
        self.assertEqual([ids for ids in dump["expiry_time_to_session_ids"].values()], [[int(session)]])
        [row] = command(port, "cons")["connections"]
        self.assertEqual(row["session_id"], int(session))
        self.assertEqual(command(port, "srvr")["server_stats"]["last_processed_zxid"],
                         row["last_zxid"])
        self.assertGreater(command(port, "lsnp")["timestamp"], 1600000000)

    def test_health_of_a_server_that_serves(self):
        _, port = self.start_admin()
        status, text = fetch(port, "/livez")
        self.assertEqual(status, 200)
        self.assertContains(text, "[+] loop", "alive\n")
        status, text = fetch(port, "/readyz")
        self.assertEqual(status, 200)
        self.assertContains(text, "[+] serving: as standalone", "\nready\n")

    def test_head_and_other_methods(self):
        _, port = self.start_admin()
        self.assertEqual(fetch(port, "/commands/ruok", "HEAD"), (200, ""))
        for method in ("PUT", "DELETE", "POST", "TRACE", "NONSENSE"):
            self.assertEqual(fetch(port, "/commands/ruok", method)[0], 405, method)
            self.assertEqual(fetch(port, "/livez", method)[0], 405, method)
        self.assertEqual(fetch(port, "/commands/shed_connections")[0], 405)
        for path in ("/", "/commandsx", "/command", "/..", "/commands/../livez", "//livez"):
            status, text = fetch(port, path)
            self.assertTrue(status == 404 or "Unknown command" in text, (path, status, text))
        self.assertContains(command(port, "a%22%5C%0Ab")["error"], 'Unknown command: a"\\\nb')

    def take(self, port, path="/commands/snapshot", method="GET", auth="ip"):
        """(status, headers, bytes)"""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        link.request(method, path, headers={"Authorization": auth} if auth else {})
        answer = link.getresponse()
        body = answer.read()
        link.close()
        return answer.status, answer.headers, body

    def test_a_snapshot(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0")
        c = d.connect()
        self.assertEqual(daemon.create(c, "/kept", b"x" * 100), 0)
        status, headers, body = self.take(port)
        zxid = int(headers["last_zxid"], 16)
        self.assertEqual((status, headers["Content-Type"], headers["snapshot_size"], headers["Content-Length"]),
                         (200, "application/octet-stream", str(len(body)), str(len(body))))
        self.assertGreaterEqual(zxid, 2)
        with open(os.path.join(self.data, "version-2", "snapshot.%x" % zxid), "rb") as file:
            self.assertEqual(file.read(), body, "the file also stays")
        other = os.path.join(self.dir, "other")
        os.makedirs(os.path.join(other, "version-2"))
        with open(os.path.join(other, "version-2", "snapshot.%x" % zxid), "wb") as file:
            file.write(body)
        self.assertEqual(daemon.get(self.start(data=other).connect(), "/kept"), b"x" * 100)
        self.assertEqual(daemon.create(c, "/later"), 0)
        status, headers, body = self.take(port, "/commands/snap?streaming=false")
        self.assertEqual((status, json.loads(body)), (200, {"command": "snapshot", "error": None}))
        self.assertGreater(int(headers["last_zxid"], 16), zxid)
        self.assertGreater(int(headers["snapshot_size"]), 100)
        self.assertEqual(self.take(port, method="HEAD")[0], 200)

    def test_a_snapshot_takes_permission_and_time(self):
        d, port = self.start_admin()
        status, _headers, body = self.take(port, auth=None)
        self.assertEqual((status, json.loads(body)["error"]), (401, "Auth info is missing for the command"))
        self.assertEqual(self.take(port, auth="kerberos x")[0], 401)
        self.assertEqual(self.take(port)[0], 200)
        status, headers, body = self.take(port)
        self.assertEqual((status, json.loads(body)), (429, {"command": "snapshot", "error": None}))
        self.assertLess(0, int(headers["Retry-After"]))
        self.assertLessEqual(int(headers["Retry-After"]), 300)
        c = d.connect()
        self.assertEqual(c.call(z.SET_ACL, {"path": "/", "acl": [z.acl(1, "world", "anyone")], "version": -1})[0].err, 0)
        self.assertEqual(self.take(port)[0], 403)

    def test_a_snapshot_that_is_not_allowed(self):
        _, port = self.start_admin("-Dadmin.snapshot.enabled=false")
        status, _headers, body = self.take(port)
        self.assertEqual((status, json.loads(body)), (503, {"command": "snapshot", "error": None}))

    def test_snapshots_under_load_are_whole(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0")
        stop = threading.Event()

        def write():
            c = d.connect()
            i = 0
            while not stop.is_set():
                daemon.create(c, "/a%d" % i, b"y" * 500)
                daemon.set_data(c, "/", b"%d" % i)
                i += 1
        thread = threading.Thread(target=write)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(stop.set)
        last = -1
        for i in range(5):
            status, headers, body = self.take(port)
            self.assertEqual(status, 200)
            self.assertGreaterEqual(int(headers["last_zxid"], 16), last)
            last = int(headers["last_zxid"], 16)
            folder = os.path.join(self.dir, "copy%d" % i)
            os.makedirs(os.path.join(folder, "version-2"))
            path = os.path.join(folder, "version-2", "snapshot.%x" % last)
            with open(path, "wb") as file:
                file.write(body)
            pawl = os.path.join(os.path.dirname(daemon.PAWLD), "pawl")
            done = subprocess.run([pawl, "snapshot", "-c", path], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("0x%x" % last, done.stdout)

    def test_who_reads_a_snapshot_slowly_delays_nobody(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0")
        c = d.connect()
        for i in range(64):
            daemon.create(c, "/large%d" % i, b"z" * 200000)
        slow = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) for _ in range(3)]
        for s in slow:
            self.addCleanup(s.close)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(b"GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: ip\r\n\r\n")
            self.assertIn(b"HTTP/1.1 ", s.recv(100))
        self.assertEqual(daemon.create(c, "/after"), 0)
        status, _headers, body = self.take(port)
        self.assertEqual(status, 200)
        self.assertGreater(len(body), 64 * 200000)

    def test_who_goes_away_while_it_is_taken(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0")
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as s:
                s.sendall(b"GET /commands/snapshot HTTP/1.1\r\nHost: localhost\r\nAuthorization: ip\r\n\r\n")
        wait_until(lambda: self.take(port)[0] == 200, "another snapshot")
        d.stop()

    def test_secrets_are_not_shown(self):
        d = self.start_file("dataDir=%s\nclientPort=0\nadmin.enableServer=true\nadmin.serverPort=0\n"
                            "DigestAuthenticationProvider.superDigest=super:HIDDEN=\n"
                            "ssl.keyStore.password=HIDDEN\n" % self.data)
        port = self.admin(d)
        text = command(port, "icfg")["initial_configuration"]
        self.assertContains(text, "clientPort=0\n", "ssl.keyStore.password=(not shown)\n")
        for name in ("icfg", "sysp", "conf", "env"):
            self.assertNotIn("HIDDEN", json.dumps(command(port, name)))
        self.assertNotIn("HIDDEN", fetch(port, "/metrics")[1])

    def test_sending_clients_away_takes_permission(self):
        d, port = self.start_admin()
        c = d.connect()
        body = b'{"percentage": 100}'

        def shed(**headers):
            status, text = fetch(port, "/commands/shed", "POST", headers, body)
            return status, json.loads(text)["error"]

        self.assertEqual(shed(), (401, "Auth info is missing for the command"))
        self.assertEqual(shed(Authorization="kerberos x"), (401, "Not authenticated"))
        # bob:secret
        mine = [z.acl(31, "digest", "bob:fyVmFCwVbTJYrznoSu1koqYEYF0=")]
        self.assertEqual(c.call(z.SET_ACL, {"path": "/", "acl": mine, "version": -1})[0].err, 0)
        self.assertEqual(shed(Authorization="digest bob:wrong"), (403, "Not authorized"))
        self.assertEqual(shed(Authorization="ip"), (403, "Not authorized"))
        self.assertEqual(command(port, "srvr")["server_stats"]["num_alive_client_connections"], 1)
        self.assertEqual(shed(Authorization="digest bob:secret"), (200, None))
        wait_until(lambda: command(port, "srvr")["server_stats"]["num_alive_client_connections"] == 0,
                   "the client to be gone")

    def test_pages_of_others_change_nothing(self):
        d, port = self.start_admin()
        d.connect()
        before = command(port, "mntr")["packets_received"]
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"},
                        {"Host": "evil.example"}, {"Host": "evil.example:%d" % port}):
            for name in ("srst", "crst", "stmk?traceMask=1"):
                self.assertEqual(fetch(port, "/commands/" + name, headers=headers)[0], 403, headers)
        self.assertEqual(fetch(port, "/metrics", headers={"Host": "evil.example"})[0], 403)
        self.assertEqual(fetch(port, "/livez", headers={"Host": "localhost:1"})[0], 200)
        self.assertEqual(command(port, "gtmk")["tracemask"], 306)
        self.assertEqual(command(port, "mntr")["packets_received"], before)
        command(port, "srst")
        self.assertEqual(command(port, "mntr")["packets_received"], 0)

    def test_a_port_that_is_taken_stops_nobody(self):
        with socket.socket() as taken:
            taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            taken.bind(("127.0.0.1", free_port()))
            taken.listen()
            port = taken.getsockname()[1]
            d = self.start("-Dadmin.enableServer=true", "-Dadmin.serverPort=%d" % port)
            self.assertEqual(daemon.create(d.connect(), "/a"), 0)
            self.assertContains(d.log(), "admin.serverPort: ", "the server goes on without it")
        self.assertEqual(self.admin(d), port)  # when it is free again
        self.assertEqual(fetch(port, "/readyz")[0], 200)

    def test_tls_that_is_not_there_is_refused(self):
        code, _, err = run("--data", self.data, "--port", "0", *ADMIN, "-Dadmin.forceHttps=true")
        self.assertEqual(code, 2)
        self.assertContains(err, "admin.forceHttps: this version has no HTTPS yet")
        code, _, err = run("--data", self.data, "--port", "0", "-DmetricsProvider.className=" + PROMETHEUS,
                           "-DmetricsProvider.httpsPort=1")
        self.assertEqual(code, 2)
        self.assertContains(err, "metricsProvider.httpsPort: this version has no HTTPS yet")

    def test_it_ends_with_the_server(self):
        d, port = self.start_admin()
        idle = socket.create_connection(("127.0.0.1", port))
        idle.sendall(b"GET /met")
        self.assertEqual(fetch(port, "/livez")[0], 200)
        d.stop()
        self.assertRaises(OSError, fetch, port, "/livez")

    def test_it_ends_while_many_ask(self):
        """Those who ask between its decision and its end are told, too."""
        for _ in range(6):
            d, port = self.start_admin()
            asking = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) for _ in range(50)]
            for s in asking:
                s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
            d.stop()
            for s in asking:
                s.close()


PAWL = os.path.join(os.path.dirname(daemon.PAWLD), "pawl")


class FromTheShell(Admin):
    """pawl shed, pawl backup --admin: what curl could do as well."""

    def pawl(self, *args):
        done = subprocess.run([PAWL] + [str(a) for a in args], capture_output=True, text=True, cwd=self.dir,
                              timeout=PATIENCE_SECONDS, env=dict(os.environ, HOME=self.dir))
        return done.returncode, done.stdout, done.stderr

    def ok(self, *args):
        status, out, errors = self.pawl(*args)
        self.assertEqual((status, errors), (0, ""), args)
        return out

    def test_a_backup_of_another_machine(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0", "-Dsnapshot.compression.method=gz")
        c = d.connect()
        daemon.create(c, "/one", b"1" * 1000)
        first = json.loads(self.ok("-j", "backup", "-A", "localhost:%d" % port, "backup"))
        again = json.loads(self.ok("-j", "backup", "-A", "http://127.0.0.1:%d" % port, "backup"))
        self.assertEqual(again["files"], first["files"], "nothing is new")
        daemon.create(c, "/two")
        second = json.loads(self.ok("-j", "backup", "-A", "127.0.0.1:%d" % port, "backup"))
        self.assertEqual(second["files"], 2)
        self.assertGreater(int(second["zxid"], 16), int(first["zxid"], 16))
        self.ok("backup", "verify", "backup")
        self.ok("restore", "-a", first["zxid"], "backup", "restored")
        restored = self.start(data=os.path.join(self.dir, "restored")).connect()
        self.assertEqual((daemon.get(restored, "/one"), daemon.get(restored, "/two")), (b"1" * 1000, None))

    def test_who_may_not(self):
        d, port = self.start_admin()
        place = "127.0.0.1:%d" % port
        c = d.connect()
        acl = [z.acl(31, "digest", z.digest_id("bob:secret"))]
        self.assertEqual(c.call(z.SET_ACL, {"path": "/", "acl": acl, "version": -1})[0].err, 0)
        for args in (("backup", "-A", place, "backup"), ("shed", place)):
            status, _out, errors = self.pawl(*args)
            self.assertEqual(status, 112, errors)
            self.assertIn("Not authorized", errors)
        self.ok("--auth", "digest:bob:secret", "backup", "-A", place, "backup")
        status, _out, errors = self.pawl("--auth", "digest:bob:secret", "backup", "-A", place, "backup")
        self.assertEqual(status, 112)
        self.assertIn("ask again in", errors)

    def test_clients_are_let_go_a_few_at_a_time(self):
        d, port = self.start_admin()
        conns = [d.connect() for _ in range(10)]
        out = self.ok("-j", "shed", "-P", "20", "-n", "2", "-e", "10ms", "127.0.0.1:%d" % port)
        self.assertEqual([json.loads(line)["connections_shed"] for line in out.splitlines()][0], 2)
        wait_until(lambda: command(port, "srvr")["server_stats"]["num_alive_client_connections"] <= 8,
                   "two of ten to be gone")
        self.assertEqual(len(conns), 10)

    def test_who_does_not_answer_as_an_admin_server(self):
        d, port = self.start_admin()
        nobody = socket.socket()  # has a port, and does not listen there
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))
        nowhere = "127.0.0.1:%d" % nobody.getsockname()[1]
        for status, args in ((2, ("shed", "nonsense")), (2, ("shed", "-P", "101", "127.0.0.1:%d" % port)),
                             (2, ("backup", "-A", "127.0.0.1:%d" % port, "-")),
                             (113, ("shed", nowhere)), (113, ("backup", "-A", nowhere, "b"))):
            got, _out, errors = self.pawl(*args)
            self.assertEqual(got, status, errors)
        got, _out, errors = self.pawl("shed", "127.0.0.1:%d" % d.port)
        self.assertIn(got, (112, 113), errors)

    def answering(self, answer):
        """The port of somebody who says that to whoever comes, and hangs up."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def serve():
            try:
                while True:
                    link, _ = server.accept()
                    with link:
                        link.recv(65536)
                        link.sendall(answer)
            except OSError:
                pass
        threading.Thread(target=serve, daemon=True).start()
        return server.getsockname()[1]

    def test_what_is_cut_off_is_no_backup(self):
        d, port = self.start_admin("-Dadmin.rateLimiterIntervalInMS=0")
        c = d.connect()
        daemon.create(c, "/n", b"n" * 3000)
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        link.request("GET", "/commands/snapshot", headers={"Authorization": "ip"})
        body = link.getresponse().read()
        link.close()
        head = b"HTTP/1.1 200 OK\r\nlast_zxid: 0x2\r\n"
        told = head + b"Content-Length: %d\r\n\r\n" % len(body)
        bad = bytearray(body)
        bad[500] ^= 4
        for answer, status in ((told + body[:1000], 113), (told, 113), (head, 113), (b"", 113),
                               (head + b"\r\n" + body[:1000], 118), (told + bytes(bad), 118),
                               (head + b"\r\n", 118), (b"HTTP/1.1 200 OK\r\n\r\n" + body, 112),
                               (b"rubbish\r\n\r\n", 112), (b"x" * 100000, 112)):
            got, out, errors = self.pawl("backup", "-A", "127.0.0.1:%d" % self.answering(answer), "backup")
            self.assertEqual((got, out), (status, ""), (answer[:60], errors))
            self.assertEqual(self.pawl("backup", "verify", "backup")[0], 1, "nothing is in it")
        self.ok("backup", "-A", "127.0.0.1:%d" % self.answering(told + body), "backup")
        self.ok("backup", "verify", "backup")


class Restore(Admin):
    LIMITS = ("-Dadmin.rateLimiterIntervalInMS=0",)

    def send(self, port, body, auth="ip", headers=None, path="/commands/restore"):
        """(status, JSON)"""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        link.request("POST", path, body, dict(headers or {}, **({"Authorization": auth} if auth else {})))
        answer = link.getresponse()
        text = answer.read()
        link.close()
        return answer.status, json.loads(text)

    def snapshot(self, port):
        """(zxid, bytes)"""
        link = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_SECONDS)
        link.request("GET", "/commands/snapshot", headers={"Authorization": "ip"})
        answer = link.getresponse()
        self.assertEqual(answer.status, 200)
        body = answer.read()
        link.close()
        return int(answer.headers["last_zxid"], 16), body

    def test_all_data_are_replaced(self):
        d, port = self.start_admin(*self.LIMITS)
        c = d.connect()
        for i in range(50):
            daemon.create(c, "/kept%d" % i, b"k" * 1000)
        zxid, body = self.snapshot(port)
        for i in range(50):
            daemon.create(c, "/lost%d" % i)
            daemon.delete(c, "/kept%d" % i)
        self.assertEqual(self.send(port, body), (200, {"last_zxid": zxid, "command": "restore", "error": None}))
        again = d.connect()
        names = daemon.children(again, "/")
        self.assertEqual(names, sorted(["kept%d" % i for i in range(50)] + ["zookeeper"]))
        self.assertEqual(daemon.create(again, "/afterwards"), 0)
        self.assertTrue([n for n in os.listdir(os.path.join(self.data, "version-2")) if n.startswith("replaced.")])
        self.assertEqual(self.send(port, body)[0], 200, "a second time")
        self.assertNotIn("afterwards", daemon.children(d.connect(), "/"))
        d.stop()
        self.assertEqual(daemon.children(self.start().connect(), "/"), names, "it is on disk")

    def test_the_session_in_it_lives_on(self):
        d, port = self.start_admin(*self.LIMITS)
        c = d.connect()
        daemon.create(c, "/mine", flags=daemon.EPHEMERAL)
        _zxid, body = self.snapshot(port)
        self.assertEqual(self.send(port, body)[0], 200)
        again = z.Conn(d.port)
        again.handshake(timeout_ms=daemon.LONG_SESSION_MS, session_id=c.session_id, passwd=c.passwd)
        self.assertEqual(again.session_id, c.session_id)
        self.assertEqual(daemon.get(again, "/mine"), b"")

    def test_what_is_no_snapshot_changes_nothing(self):
        d, port = self.start_admin(*self.LIMITS)
        c = d.connect()
        daemon.create(c, "/kept", b"k" * 3000)
        zxid, body = self.snapshot(port)
        daemon.create(c, "/later")
        bad = bytearray(body)
        bad[400] ^= 1
        before = [n for n in os.listdir(os.path.join(self.data, "version-2"))]
        for wrong in (b"", b"garbage", body[:-1], body[:500], bytes(bad), body[20:]):
            self.assertEqual(self.send(port, wrong), (500, {"command": "restore", "error": None}))
        self.assertEqual(daemon.get(c, "/later"), b"", "the client was not even disconnected")
        self.assertEqual([n for n in os.listdir(os.path.join(self.data, "version-2"))], before)
        self.assertGreaterEqual(zxid, 2)

    def test_permission_comes_before_the_body(self):
        d, port = self.start_admin()
        self.assertEqual(self.send(port, b"x", auth=None)[0], 401)
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as s:
            s.sendall(b"POST /commands/restore HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n")
            self.assertIn(b" 401 ", s.recv(1000), "and nothing of it has been sent")
        with self.assertRaises(ValueError):  # which is told as text
            self.send(port, b"x", headers={"Origin": "http://evil.example"})
        c = d.connect()
        c.call(z.SET_ACL, {"path": "/", "acl": [z.acl(1, "world", "anyone")], "version": -1})
        self.assertEqual(self.send(port, b"x")[0], 403)
        self.assertFalse([n for n in os.listdir(os.path.join(self.data, "version-2")) if "restore" in n])

    def test_not_too_often_and_not_if_switched_off(self):
        _, port = self.start_admin()
        self.assertEqual(self.send(port, b"x")[0], 500)
        self.assertEqual(self.send(port, b"x")[0], 429)
        _, port = self.start_admin("-Dadmin.restore.enabled=false", data=os.path.join(self.dir, "other"))
        self.assertEqual(self.send(port, b"x"), (503, {"command": "restore", "error": None}))

    def test_who_hangs_up_in_the_middle(self):
        d, port = self.start_admin(*self.LIMITS)
        c = d.connect()
        daemon.create(c, "/kept", b"k" * 100000)
        _zxid, body = self.snapshot(port)
        head = b"POST /commands/restore HTTP/1.1\r\nHost: localhost\r\nAuthorization: ip\r\nContent-Length: %d\r\n\r\n"
        for _ in range(10):
            with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_SECONDS) as s:
                s.sendall(head % len(body) + body[:len(body) // 2])
        wait_until(lambda: self.send(port, body)[0] == 200, "a restore")
        self.assertEqual(daemon.get(d.connect(), "/kept"), b"k" * 100000)

    def test_killed_at_any_time(self):
        """It has the old data or the new ones."""
        for i in range(6):
            data = os.path.join(self.dir, "data%d" % i)
            d, port = self.start_admin(*self.LIMITS, data=data)
            c = d.connect()
            daemon.create(c, "/old", b"o" * 1000)
            zxid, body = self.snapshot(port)
            daemon.create(c, "/new")

            def restore():
                try:
                    self.send(port, body)
                except (OSError, http.client.HTTPException):
                    pass
            thread = threading.Thread(target=restore)
            thread.start()
            if i % 2:
                d.wait_log("a snapshot comes in")
            if i % 3:
                d.wait_log("all data are replaced")
            d.kill9()
            thread.join()
            names = daemon.children(self.start(data=data).connect(), "/")
            self.assertIn(names, (["new", "old", "zookeeper"], ["old", "zookeeper"]))
            if i % 3:
                self.assertEqual(names, ["old", "zookeeper"])

    def test_the_console_goes_on_with_it(self):
        """It asks the server that has been opened again, not the one before."""
        d, port = self.start_admin(*self.LIMITS)
        daemon.create(d.connect(), "/kept")
        _zxid, body = self.snapshot(port)
        for _ in range(3):
            stop = threading.Event()
            threads = [threading.Thread(target=self.look, args=(port, stop)) for _ in range(2)]
            for t in threads:
                t.start()
            self.assertEqual(self.send(port, body)[0], 200)
            stop.set()
            for t in threads:
                t.join()
        wait_until(lambda: [m.get("mode") for m in json.loads(fetch(port, "/api/v1/overview")[1])["members"]]
                   == ["standalone"], "the console to show it")
        d.stop()

    @staticmethod
    def look(port, stop):
        while not stop.is_set():
            fetch(port, "/api/v1/overview")

    def test_others_ask_meanwhile(self):
        """Nobody is left without an answer when the server is opened again."""
        d, port = self.start_admin(*self.LIMITS)
        c = d.connect()
        for i in range(100):
            daemon.create(c, "/kept%d" % i, b"k" * 1000)
        _zxid, body = self.snapshot(port)
        stop = threading.Event()
        trouble = []

        def ask():
            while not stop.is_set():
                for path in ("/commands/srvr", "/metrics", "/livez", "/readyz", "/commands/snapshot?streaming=false"):
                    try:
                        fetch(port, path, headers={"Authorization": "ip"})
                    except Exception as error:  # whatever it is, it is to be seen
                        trouble.append((path, repr(error)))
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            for _ in range(5):
                self.assertEqual(self.send(port, body)[0], 200)
        finally:
            stop.set()
            for t in threads:
                t.join()
        self.assertEqual(trouble, [])
        self.assertEqual(len(daemon.children(d.connect(), "/")), 101)


class Alone(Admin):
    """A member that finds no others."""

    def test_why_it_is_not_ready(self):
        os.makedirs(self.data)
        with open(os.path.join(self.data, "myid"), "w") as f:
            f.write("1\n")
        lines = ["server.%d=127.0.0.1:%d:%d;127.0.0.1:%d" % (i, free_port(), free_port(), free_port())
                 for i in (1, 2, 3)]
        d = self.start_file("dataDir=%s\ntickTime=200\ninitLimit=5\nsyncLimit=5\nadmin.enableServer=true\n"
                            "admin.serverPort=0\n%s\n" % (self.data, "\n".join(lines)), port=None)
        port = self.admin(d)
        wait_until(lambda: "[-] serving: it looks for a leader" in fetch(port, "/readyz")[1], "a role")
        self.assertEqual(fetch(port, "/readyz")[0], 503)
        self.assertEqual(fetch(port, "/livez")[0], 200)
        self.assertEqual(command(port, "srvr"), {
            "command": "srvr", "error": "This ZooKeeper instance is not currently serving requests"})
        said = command(port, "mntr")
        self.assertEqual((said["server_state"], said["error"]), ("looking", None))
        text = fetch(port, "/metrics")[1]
        self.assertIsNone(re.search(r"^uptime ", text, re.M))
        self.assertEqual(metric(text, 'pawl_role{role="looking"}'), 1)


class Metrics(Admin):
    def test_one_port_for_them_alone(self):
        d = self.start("-DmetricsProvider.className=" + PROMETHEUS, "-DmetricsProvider.httpPort=0",
                       "-DmetricsProvider.httpHost=127.0.0.1")
        port = self.admin(d, "metrics")
        self.assertNotIn("admin server", d.log())
        c = d.connect()
        self.assertEqual(daemon.create(c, "/app", b"12345"), 0)
        status, text = fetch(port, "/metrics")
        self.assertEqual(status, 200)
        self.assertEqual(metric(text, "znode_count"), 6)
        self.assertEqual(metric(text, "updatelatency_count"), 2)
        self.assertEqual(metric(text, 'write_per_namespace_sum{key="app"}'), 9)
        self.assertGreater(metric(text, "process_resident_memory_bytes"), 1e6)
        self.assertGreater(metric(text, "process_start_time_seconds"), 1.6e9)
        for path in ("/livez", "/readyz", "/commands/ruok", "/"):
            self.assertEqual(fetch(port, path)[0], 404)

    def test_nothing_is_said_twice(self):
        d, port = self.start_admin()
        c = d.connect()
        for name in ("/a", "/b"):
            daemon.create(c, name)
        rows = [line.rsplit(" ", 1)[0] for line in fetch(port, "/metrics")[1].splitlines()]
        self.assertEqual(len(rows), len(set(rows)))

    def test_alert_rules_ask_for_what_there_is(self):
        with open(os.path.join(daemon.REPO, "conf/prometheus-alerts.yml")) as f:
            rules = re.findall(r"expr: (.*)", f.read())
        with open(os.path.join(daemon.REPO, "docs/metrics.md")) as f:
            known = set(re.findall(r"^\| `(\w+)`", f.read(), re.M))
        self.assertGreater(len(rules), 10)
        for rule in rules:
            bare = re.sub(r"\[\w+\]|\b(by|on) \([^)]*\)|\{[^}]*\}", "", rule)
            for name in re.findall(r"[a-z]\w+", bare):
                if name not in ("up", "or", "unless", "count", "increase", "rate"):
                    self.assertTrue({name, re.sub("_(sum|count)$", "", name)} & known, rule)
            # Others are scraped by the same Prometheus, and are up or not, too.
            self.assertNotRegex(rule, r"\bup\b(?!\{job=)")


class Enemies(Admin):
    def test_bad_requests_are_refused_and_the_server_serves_on(self):
        d, port = self.start_admin()
        for data in (b"\0\0\0\0\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff" * 100000,
                     b"GET /" + b"x" * 100000 + b" HTTP/1.1\r\nHost: a\r\n\r\n",
                     b"GET /livez HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n",
                     b"GET /livez HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100000 + b"\r\n\r\n",
                     b"POST /commands/shed HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n"):
            answer = raw(port, data)
            self.assertFalse(answer.startswith(b"HTTP/1.1 200"), data[:40])
        status, text = fetch(port, "/commands/shed", "POST", {"Authorization": "ip"}, b"x" * 100000)
        self.assertEqual((status, text), (413, "the body is too long\n"))
        for body in (b"", b"{", b"[]", b'{"percentage": 1e3}', b"[" * 1000):
            status, text = fetch(port, "/commands/shed", "POST", {"Authorization": "ip"}, body)
            self.assertEqual(status, 400, body)
            self.assertIsNotNone(json.loads(text)["error"])
        self.assertEqual(daemon.create(d.connect(), "/a"), 0)
        self.assertEqual(fetch(port, "/readyz")[0], 200)

    def test_names_of_nodes_stay_text(self):
        d, port = self.start_admin()
        c = d.connect()
        name = '/"}<script>\\\u00e4'
        self.assertEqual(daemon.create(c, name, flags=daemon.EPHEMERAL), 0)
        [[path]] = command(port, "dump")["session_id_to_ephemeral_paths"].values()
        self.assertEqual(path, name)

    def test_who_sends_a_byte_now_and_then_is_cut_off(self):
        d, port = self.start_admin("-Dadmin.idleTimeout=500")
        with socket.create_connection(("127.0.0.1", port), timeout=0.05) as s:
            s.sendall(b"GET /livez HTTP/1.1\r\nX: ")

            def is_closed():
                try:
                    s.sendall(b"y")
                    return s.recv(1) == b""
                except TimeoutError:
                    return False
                except ConnectionError:
                    return True
            wait_until(is_closed, "the slow one to be cut off")
        self.assertEqual(metric(fetch(port, "/metrics")[1], "pawl_admin_cut_off_total"), 1)

    def test_those_who_take_all_places_keep_nobody_out_for_long(self):
        d, port = self.start_admin("-Dadmin.idleTimeout=500")
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        wait_until(lambda: self.answers(port), "an answer in spite of 300 idle ones")
        for s in idle:
            s.close()

    def answers(self, port):
        try:
            return fetch(port, "/livez")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def test_a_flood_gets_its_share_and_no_more(self):
        """Clients write beside a flood of requests for long lists. The server's thread tells how much of its
        processor time went into them: a twentieth of what passed, and one answer more."""
        d, port = self.start_admin()
        watched = ["/watched/%06d" % i for i in range(20000)]
        watcher = d.connect()
        watcher.call(z.SET_WATCHES2, {"relativeZxid": 0, "data": [], "exist": [], "child": [], "persistent": [],
                                      "recursive": watched})
        self.assertEqual(command(port, "watch_summary")["num_total_watches"], len(watched))
        stop = threading.Event()
        counts = []
        floods = [threading.Thread(target=self.flood, args=(port, stop, counts)) for _ in range(12)]
        began = time.monotonic()  # before the server's, and its end behind the server's: no load makes it too short
        before = self.asked(port)
        for t in floods:
            t.start()
        try:
            c = d.connect()
            self.assertEqual(daemon.create(c, "/w"), 0)
            for i in range(300):
                self.assertEqual(daemon.set_data(c, "/w", b"%d" % i), 0)

            def enough():
                """So much that the one answer above the share is little of it."""
                now = self.asked(port)
                return now if sum(counts) > 200 and now[1] - before[1] > 5 * now[2] else None
            after = wait_until(enough, "enough of a flood")
            passed = time.monotonic() - began
        finally:
            stop.set()
            for t in floods:
                t.join()
        self.assertEqual(daemon.get(c, "/w"), b"299")
        self.assertLess(after[0], sum(counts))  # several have had the same answer
        spent, longest = after[1] - before[1], after[2]  # the pause of the last one was still to come
        self.assertLess((spent - longest) * 19, passed + 0.01, (spent, longest, passed, after, sum(counts)))

    def asked(self, port):
        """How often the server's thread was asked, how many seconds that took, and the longest."""
        text = fetch(port, "/metrics")[1]
        return [metric(text, "pawl_admin_asked_" + name) for name in ("total", "seconds_total", "longest_seconds")]

    def flood(self, port, stop, counts):
        names = ("watches", "watches_by_path", "monitor", "dump", "stats")
        while not stop.is_set():
            for name in names:
                try:
                    if fetch(port, "/commands/" + name, method="HEAD")[0] == 200:
                        counts.append(1)
                except (OSError, http.client.HTTPException):
                    pass

    def test_who_does_not_read_costs_others_nothing(self):
        d, port = self.start_admin()
        watcher = d.connect()
        for i in range(3000):
            watcher.call(z.EXISTS, {"path": "/watched/%0200d" % i, "watch": True})
        deaf = []
        for _ in range(20):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", port))
            s.sendall(b"GET /commands/watches HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
            deaf.append(s)
        self.assertEqual(len(command(port, "watches_by_path")["path_to_session_ids"]), 3000)
        self.assertEqual(daemon.create(d.connect(), "/a"), 0)
        for s in deaf:
            s.close()


if __name__ == "__main__":
    daemon.main()
