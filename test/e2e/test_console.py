#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The console's API, as curl sees it: on `pawl console` and on pawld's admin port."""
import base64
import hashlib
import re
import signal
import socket

import daemon
from console_api import Api, console_port
from daemon import create
from patience import wait_until
from pawl_program import SIGNAL, TestCase
import zkwire as z


class Console(TestCase):
    server_options = ("-D4lw.commands.whitelist=*",)

    def setUp(self):
        super().setUp()
        self.start_console()

    def start_console(self, *args):
        self.console = self.begin("console", "-p", "0", *args)
        self.api = Api(console_port(self.console))

    def close_root(self):
        """From now on only bob writes at /, whose password is secret."""
        self.ok("acl", "set", "/", "digest:%s:cdrwa,world:anyone:r" % self.digest("bob", "secret"))

    @staticmethod
    def digest(user, password):
        return user + ":" + base64.b64encode(hashlib.sha1(("%s:%s" % (user, password)).encode()).digest()).decode()


class Reading(Console):
    def test_it_ends_with_a_signal_and_leaves_no_session(self):
        self.assertEqual(self.api.get("children", path="/").status, 200)
        self.console.send_signal(signal.SIGTERM)
        self.assertEqual(self.console.wait(), SIGNAL + signal.SIGTERM)
        wait_until(lambda: "Connections: 1\n" in self.server.word("srvr"), "only the one that asks")

    def test_the_page_and_its_files(self):
        for path, kind in (("/", "text/html"), ("/console", "text/html"), ("/console/app.js", "text/javascript"),
                           ("/console/style.css", "text/css"), ("/console/icon.svg", "image/svg+xml")):
            answer = self.api.ask("GET", path)
            self.assertEqual((answer.status, answer.headers["Content-Type"].split(";")[0]), (200, kind))
            policy = answer.headers["Content-Security-Policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        self.assertEqual(self.api.ask("POST", "/console", body=b"x").status, 405)
        for path in ("/console/../api.c", "/console/%2e%2e/x", "/etc/passwd", "/console/app.js/", "/consol", "//"):
            self.assertEqual(self.api.ask("GET", path).status, 404, path)

    def test_a_node(self):
        self.ok("create", "/n", "some data")
        node = self.api.get("node", path="/n").json
        self.assertEqual(base64.b64decode(node["data"]), b"some data")
        self.assertEqual(node["stat"]["data_length"], 9)
        self.assertEqual(node["acl"], [{"scheme": "world", "id": "anyone", "perms": "cdrwa"}])
        gone = self.api.get("node", path="/not there")
        self.assertEqual((gone.status, gone.json["code"]), (404, "NO_NODE"))

    def test_a_node_that_may_not_be_read(self):
        self.ok("create", "/closed", "secret")
        self.ok("acl", "set", "/closed", "digest:%s:cdrwa" % self.digest("bob", "secret"))
        answer = self.api.get("node", path="/closed")
        self.assertEqual((answer.status, answer.json["code"]), (403, "NO_AUTH"))
        self.assertNotIn("secret", answer.text)
        self.assertEqual(self.api.login(node="/closed").status, 200)
        self.assertEqual(self.api.data("/closed"), b"secret")

    def test_pages_of_children(self):
        self.ok("create", "/f")
        c = self.server.connect()
        for i in range(25):
            create(c, "/f/%02d" % i)
        first = self.api.get("children", path="/f", limit=10).json
        self.assertEqual((first["names"], first["n_found"]), (["%02d" % i for i in range(10)], 25))
        last = self.api.get("children", path="/f", limit=10, offset=20).json
        self.assertEqual(last["names"], ["20", "21", "22", "23", "24"])
        some = self.api.get("children", path="/f", filter="1", offset=3, limit=2).json
        self.assertEqual((some["names"], some["n_found"], some["n_children"]), (["12", "13"], 12, 25))
        for bad in ({"limit": 0}, {"limit": "10001"}, {"offset": "-1"}, {"offset": "x"}, {"offset": "9" * 30}):
            self.assertEqual(self.api.get("children", path="/f", **bad).status, 400, bad)

    def test_search_by_name_and_content(self):
        self.ok("create", "-p", "/s/one/two", "alpha")
        self.ok("create", "/s/TWO", "beta")
        found = self.api.get("search", path="/s", name="two").json
        self.assertEqual((found["found"], found["next"], found["n_looked_at"]), (["/s/TWO", "/s/one/two"], None, 4))
        self.assertEqual(self.api.get("search", path="/s", content="bet").json["found"], ["/s/TWO"])
        self.assertEqual(self.api.get("search", path="/s", name="two", content="bet").json["found"], ["/s/TWO"])
        self.assertEqual(self.api.get("search", path="/s").status, 400)
        self.assertEqual(self.api.get("search", path="/s", name="x", after="/other").status, 400)

    def test_a_search_is_gone_on_with(self):
        """Whatever node it was ended at, nothing is left out and nothing comes twice."""
        self.ok("create", "-p", "/w/b/x", "")
        for path in ("/w/a", "/w/b/y", "/w/b-c", "/w/c", "/w/c/z", "/w/cc"):
            self.ok("create", path)
        whole = self.api.get("search", path="/w", name="").status
        self.assertEqual(whole, 200)
        everything = self.api.get("search", path="/w", name="").json["found"]
        self.assertEqual(everything, ["/w", "/w/a", "/w/b", "/w/b/x", "/w/b/y", "/w/b-c", "/w/c", "/w/c/z", "/w/cc"])
        for i, path in enumerate(everything):
            self.assertEqual(self.api.get("search", path="/w", name="", after=path).json["found"], everything[i + 1:], path)
        self.assertEqual(self.api.get("search", path="/w", name="", after="/w/b/gone/deep").json["found"], everything[3:])

    def test_sessions_watches_configuration_quotas(self):
        c = self.server.connect()
        create(c, "/mine", flags=daemon.EPHEMERAL)
        self.assertEqual(c.call(z.GET_DATA, {"path": "/mine", "watch": True})[0].err, 0)
        sessions = self.api.get("sessions").json
        mine = "0x%x" % c.session_id
        self.assertEqual(sessions["unanswered"], [])
        self.assertEqual(sessions["ephemerals"], {mine: ["/mine"]})
        self.assertIn(mine, [s["session"] for s in sessions["sessions"]])
        watches = self.api.get("watches").json["watches"]
        self.assertEqual([(w["path"], w["sessions"]) for w in watches], [("/mine", [mine])])
        self.ok("create", "/q")
        self.ok("quota", "set", "-n", "5", "/q")
        quota, = self.api.get("quotas").json["quotas"]
        self.assertEqual(quota["path"], "/q")
        self.assertIn("count=5", quota["limits"])
        values = self.api.get("configuration").json["members"][0]["values"]
        self.assertEqual(values["clientPort"], str(self.server.port))

    def test_the_overview(self):
        member, = self.api.get("overview").json["members"]
        self.assertEqual((member["mode"], member["error"]), ("standalone", None))
        self.assertIn("zk_znode_count", member["mntr"])
        self.stop_server()
        def is_seen():
            member, = self.api.get("overview").json["members"]
            return member["error"] == "no answer in time"
        wait_until(is_seen, "a member that does not answer")


class Locks(Console):
    def hold(self, path):
        holder = self.begin("-T", "60s", "lock", path, "--", "sh", "-c", "echo held; exec sleep 3600")
        self.assertEqual(holder.stdout.readline(), b"held\n")

    def test_found_by_their_names(self):
        self.hold("/deep/down/job")
        self.begin("-T", "60s", "lock", "/deep/down/job", "--", "true")
        self.ok("queue", "put", "/q", "item")
        kazoo = "/k/0123456789abcdef0123456789abcdef__lock__0000000000"
        self.ok("create", "-p", kazoo)

        def found():
            answer = self.api.get("locks", path="/").json
            by_path = {r["path"]: r for r in answer["recipes"]}
            return by_path.get("/deep/down/job", {}).get("n_waiters") == 1 and (answer, by_path)
        answer, by_path = wait_until(found, "a holder and a waiter")
        holder, waiter = by_path["/deep/down/job"]["places"]
        self.assertEqual([holder["holds"], waiter["holds"]], [True, False])
        self.assertRegex(waiter["why"], "^0x.* waits since .* for 0x.*, which holds it$")
        self.assertEqual(waiter["behind"], holder["session"])
        self.assertEqual(by_path["/q"]["kind"], "queue")
        self.assertEqual((by_path["/k"]["kind"], by_path["/k"]["places"][0]["orphan"]), ("lock", True))
        self.assertEqual([(e["from"], e["to"], e["lock"], e["circle"]) for e in answer["edges"]],
                         [(waiter["session"], holder["session"], "/deep/down/job", False)])
        self.assertEqual(self.api.login().status, 200)
        self.assertEqual(self.api.post("orphan", path=holder["path"]).status, 409)
        self.assertEqual(self.api.post("orphan", path="/deep").status, 400)
        self.assertEqual(self.api.post("orphan", path=kazoo).status, 200)
        self.fails(110, "get", kazoo)
        self.assertEqual(self.api.post("revoke", path=holder["path"]).status, 200)
        self.assertEqual(self.api.data(holder["path"]), b"__REVOKE__")


class Changes(Console):
    def setUp(self):
        super().setUp()
        self.ok("create", "/n", "one")

    def test_nothing_without_a_login(self):
        for answer in (self.api.post("node", path="/new", text="x"), self.api.put("node", path="/n", text="x", version=0),
                       self.api.delete(path="/n", version=0), self.api.put("acl", path="/n", version=0, acl=[]),
                       self.api.post("revoke", path="/n"), self.api.post("logout")):
            self.assertEqual((answer.status, answer.json["code"]), (401, "LOGIN"))
        self.assertEqual(self.ok("get", "/n"), "one")

    def test_nothing_without_the_token(self):
        self.assertEqual(self.api.login().status, 200)
        self.api.csrf, token = "0" * 64, self.api.csrf
        answer = self.api.put("node", path="/n", text="x", version=0)
        self.assertEqual((answer.status, answer.json["code"]), (403, "CSRF"))
        self.api.csrf = None
        self.assertEqual(self.api.put("node", path="/n", text="x", version=0).status, 403)
        self.assertEqual(self.ok("get", "/n"), "one")
        self.api.csrf = token
        self.assertEqual(self.api.put("node", path="/n", text="x", version=0).status, 200)

    def test_making_changing_deleting(self):
        self.api.login()
        self.assertEqual(self.api.post("node", path="/new", text="a").status, 201)
        self.assertEqual(self.api.post("node", path="/new", text="a").status, 409)
        made = self.api.post("node", path="/new/s-", data=base64.b64encode(b"\0\1").decode(), mode="sequential")
        self.assertEqual(made.json["path"], "/new/s-0000000000")
        self.assertEqual(self.api.data("/new/s-0000000000"), b"\0\1")
        self.assertEqual(self.api.put("node", path="/new", text="b", version=0).json["stat"]["version"], 1)
        late = self.api.put("node", path="/new", text="c", version=0)
        self.assertEqual((late.status, late.json["code"]), (409, "BAD_VERSION"))
        self.assertEqual(self.api.delete(path="/new", version=1).json["code"], "NOT_EMPTY")
        self.assertEqual(self.api.delete(path="/new", version=1, children="true").status, 200)
        self.assertEqual(self.api.get("node", path="/new").status, 404)

    def test_bad_bodies_change_nothing(self):
        self.api.login()
        put = lambda body, **headers: self.api.ask("PUT", "/api/v1/node", body, headers)
        good = b'{"path": "/n", "text": "x", "version": 0}'
        self.assertEqual(put(good, **{"Content-Type": "text/plain"}).status, 415)
        as_json = {"Content-Type": "application/json"}
        for body in (b"", b"{", b"[]", b"null", b'{"path": "/n", "path": "/n"}', b"[" * 100000, b'{"a":' * 3000,
                     b'{"path": "/n", "text": "x"}', b'{"path": "/n", "text": "x", "version": -1}',
                     b'{"path": "/n", "text": "x", "version": "0"}', b'{"path": "/n", "text": 1, "version": 0}',
                     b'{"path": "/n", "text": "x", "data": "eA==", "version": 0}', b'{"path": "/n", "data": "%", "version": 0}',
                     b'{"path": "n", "text": "x", "version": 0}', b'{"path": "/n/../n", "text": "x", "version": 0}',
                     b'{"path": "/n\\u0000", "text": "x", "version": 0}', b'{"path": "/n/", "text": "x", "version": 0}',
                     b'{"path": "/n", "text": "\xff\xfe", "version": 0}', good + good):
            answer = put(body, **as_json)
            self.assertEqual(answer.status, 400, (body[:60], answer))
        self.assertEqual(put(b" " * (3 << 20) + good, **as_json).status, 413)
        for path in ("", "n", "/n/", "/./n", "//n", "/n/..", "/n\n", "/\x7f"):
            self.assertEqual(self.api.get("node", path=path).status, 400, path)
        self.assertEqual(self.api.ask("GET", "/api/v1/node?path=/n%00/x").status, 400)
        self.assertEqual(self.api.post("node", path="/e", text="", mode="ephemeral").status, 400)
        for acl in ([], "x", [{}], [{"scheme": "world", "id": "anyone", "perms": ""}], [{"scheme": "world", "id": "anyone", "perms": "x"}],
                    [{"scheme": "world", "id": "anyone", "perms": "r"}] * 65):
            self.assertEqual(self.api.put("acl", path="/n", version=0, acl=acl).status, 400, acl)
        self.assertEqual(self.ok("get", "/n"), "one")
        self.assertEqual(put(good, **as_json).status, 200)

    def test_methods_and_names(self):
        for method, name, status in (("DELETE", "children", 405), ("POST", "overview", 405), ("GET", "login", 405),
                                     ("PATCH", "node", 405), ("GET", "nothing", 404), ("GET", "", 404),
                                     ("GET", "../node", 404), ("GET", "node/", 404)):
            self.assertEqual(self.api.ask(method, "/api/v1/" + name).status, status, (method, name))

    def test_pages_of_other_sites(self):
        self.api.login()
        own = "127.0.0.1:%d" % self.api.port
        for headers in ({"Host": "evil.example"}, {"Host": "evil.example:%d" % self.api.port},
                        {"Host": own, "Origin": "http://evil.example"}, {"Host": own, "Origin": "null"},
                        {"Host": own, "Sec-Fetch-Site": "cross-site"}, {"Host": own, "Sec-Fetch-Site": "same-site"},
                        {"Host": own, "Origin": "http://127.0.0.1:1"}):
            self.assertEqual(self.api.get("node", headers=headers, path="/n").status, 403, headers)
            changed = self.api.ask("PUT", "/api/v1/node", {"path": "/n", "text": "x", "version": 0}, headers)
            self.assertEqual(changed.status, 403, headers)
        self.assertEqual(self.ok("get", "/n"), "one")
        fine = {"Host": own, "Origin": "http://" + own, "Sec-Fetch-Site": "same-origin"}
        self.assertEqual(self.api.get("node", headers=fine, path="/n").status, 200)


class Logins(Console):
    def test_the_cookie(self):
        cookie = self.api.login().headers["Set-Cookie"]
        for part in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(part, cookie)
        self.assertEqual(self.api.get("session").json["user"], "bob")
        answer = self.api.post("logout")
        self.assertEqual((answer.status, answer.json["user"]), (200, None))
        self.assertEqual(self.api.get("session").json["user"], None)

    def test_a_wrong_password_and_too_many_of_them(self):
        self.close_root()
        wrong = self.api.login(password="wrong")
        self.assertEqual((wrong.status, wrong.json["code"]), (403, "AUTH_FAILED"))
        self.assertNotIn("Set-Cookie", wrong.headers)
        self.assertEqual(self.api.login().status, 200)
        self.assertEqual(self.api.post("node", path="/of-bob", text="x").status, 201)
        self.assertEqual(self.pawl("create", "/of-nobody")[0], 112)
        for _ in range(4):
            self.assertEqual(self.api.login(password="guess").status, 403)
        self.assertEqual(self.api.login(password="guess").status, 429)
        self.assertEqual(self.api.login().status, 429)  # whoever it is: the next minute

    def test_what_is_no_login(self):
        for body in ({}, {"user": "bob"}, {"user": "", "password": "x"}, {"user": "a:b", "password": "x"},
                     {"user": "b\n", "password": "x"}, {"user": "b" * 200, "password": "x"},
                     {"user": "bob", "password": "x", "node": "no/path"}, {"user": ["bob"], "password": "x"}):
            self.assertEqual(self.api.post("login", **body).status, 400, body)
        self.assertEqual(self.api.login(node="/not/there").status, 404)

    def test_nothing_is_shown_to_others_before_they_log_in(self):
        self.console.kill()
        self.start_console("-a", "0.0.0.0")
        self.assertEqual(self.api.get("session").json["login_needed"], True)
        for name, args in (("overview", {}), ("node", {"path": "/"}), ("children", {"path": "/"}), ("sessions", {}),
                           ("locks", {"path": "/"}), ("configuration", {})):
            self.assertEqual(self.api.get(name, **args).status, 401, name)
        self.assertEqual(self.api.login().status, 200)
        self.assertEqual(self.api.get("node", path="/").status, 200)


class Strangers(Console):
    """Nobody who means it no good keeps others from being served."""

    def test_slow_and_broken_requests(self):
        held = []
        for data in (b"GET /api/v1/session HT", b"POST /api/v1/login HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{", b"\0" * 100,
                     b"GET " + b"/" * 40000 + b" HTTP/1.1\r\n\r\n", b"POST /api/v1/login HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n",
                     b"GET /api/v1/session HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n"):
            for _ in range(3):
                s = socket.create_connection(("127.0.0.1", self.api.port))
                held.append(s)
                self.addCleanup(s.close)
                try:
                    s.sendall(data)
                except ConnectionError:
                    pass  # it did not want to hear all of it
        self.assertEqual(self.api.get("session").status, 200)
        self.assertEqual(self.api.get("children", path="/").status, 200)

    def test_a_server_that_does_not_answer(self):
        self.console.kill()
        self.env["PAWL_SERVER"] = self.nobody()
        self.console = self.begin("--connect-timeout", "300ms", "console", "-p", "0")
        self.api = Api(console_port(self.console))
        answer = self.api.get("node", path="/")
        self.assertEqual(answer.status, 503)
        self.assertEqual(self.api.login().status, 503)
        member, = self.api.get("overview").json["members"]
        self.assertIsNotNone(member["error"])


class OnPawld(daemon.TestCase):
    """The same on the admin port."""

    def setUp(self):
        super().setUp()
        self.server = self.start("-Dadmin.enableServer=true", "-Dadmin.serverPort=0", *self.options())
        self.server.wait_log(r"admin server at http://127\.0\.0\.1:(\d+)")
        self.api = Api(int(re.search(r"admin server at http://127\.0\.0\.1:(\d+)", self.server.log())[1]))

    def options(self):
        return ("-Dadmin.console=false",) if "off" in self.id() else ()

    def test_what_it_shows_and_changes(self):
        c = self.server.connect()
        create(c, "/mine", flags=daemon.EPHEMERAL)
        self.assertEqual(self.api.ask("GET", "/console").status, 200)
        member, = self.api.get("overview").json["members"]
        self.assertEqual(member["mode"], "standalone")
        sessions = self.api.get("sessions").json  # no word is on its whitelist
        self.assertEqual((sessions["unanswered"], sessions["ephemerals"]), ([], {"0x%x" % c.session_id: ["/mine"]}))
        self.assertEqual(self.api.get("configuration").json["unanswered"], [])
        self.assertEqual(self.api.login().status, 200)
        self.assertEqual(self.api.post("node", path="/made", text="x" * 100000).status, 201)
        self.assertEqual(self.api.data("/made"), b"x" * 100000)
        self.assertEqual(self.api.ask("GET", "/commands/ruok").status, 200)
        self.assertRegex(self.server.log(), r"console: bob at 127\.0\.0\.1 creates /made: done")
        self.server.stop()

    def test_off(self):
        self.assertEqual(self.api.ask("GET", "/console").status, 404)
        self.assertEqual(self.api.get("session").status, 404)

    def test_it_ends_quickly_with_a_page_open(self):
        self.assertEqual(self.api.login().status, 200)
        self.assertEqual(self.api.get("children", path="/").status, 200)
        held = socket.create_connection(("127.0.0.1", self.api.port))
        self.addCleanup(held.close)
        held.sendall(b"GET /api/v1/overview HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.server.stop()


if __name__ == "__main__":
    daemon.main()
