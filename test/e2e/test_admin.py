# SPDX-License-Identifier: Apache-2.0
"""The admin server: commands, health and metrics over HTTP, and those who mean it no good."""
import http.client
import json
import os
import re
import socket
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

    def test_what_is_not_there_is_named(self):
        _, port = self.start_admin()
        for name, method in (("snapshot", "GET"), ("restore", "POST")):
            status, text = fetch(port, "/commands/" + name, method, body=b"" if method == "POST" else None)
            self.assertEqual(status, 501)
            self.assertContains(json.loads(text)["error"], "is not in this version of pawld")

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
