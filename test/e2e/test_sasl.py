#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""SASL for clients: who gets which name, what becomes of those who fail, which files are taken, and that no
password is ever shown."""
import os
import re
import signal
import subprocess
import urllib.request

import daemon  # finds what follows
import sasl_digest
from daemon import PATIENCE_SECONDS, run, z

AUTH_FAILED, INVALID_ACL, REQUIRES_SASL = -115, -114, -124
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
SECRETS = {"super": "geheim-super", "bob": "geheim bob's \"own\"", "alice": "geheim-alice"}


def jaas(users, section="Server"):
    lines = ['    user_%s="%s"' % (u, p.replace("\\", "\\\\").replace('"', '\\"')) for u, p in users.items()]
    return "%s {\n    %s required\n%s;\n};\n" % (section, MODULE, "\n".join(lines))


def ask(conn, token):
    return conn.call(z.SASL, {"token": token})[0]


def authenticate(conn, user, password=None, **kwargs):
    """The last answer; whoever fails gets that of its response."""
    challenge = ask(conn, b"").body["token"]
    response, shown = sasl_digest.response(challenge, user, SECRETS.get(user) if password is None else password, **kwargs)
    reply = ask(conn, response)
    if reply.err == 0 and reply.body["token"] is not None:
        assert reply.body["token"] == shown, reply
    return reply


def is_closed(conn):
    try:
        conn.sock.settimeout(PATIENCE_SECONDS)
        return conn.sock.recv(1) == b""
    except ConnectionError:
        return True


class Case(daemon.TestCase):
    def setUp(self):
        super().setUp()
        self.jaas = self.secret_file("jaas.conf", jaas(SECRETS))

    def secret_file(self, name, text):
        path = self.file(name, text)
        os.chmod(path, 0o600)
        return path

    def start_sasl(self, *args, **kwargs):
        return self.start("-Djava.security.auth.login.config=" + self.jaas, "-Dlog.level=debug", *args, **kwargs)

    def client(self, d, user=None, **kwargs):
        conn = d.connect()
        if user:
            reply = authenticate(conn, user, **kwargs)
            self.assertEqual(reply.err, 0)
            self.assertIsNotNone(reply.body["token"])
        return conn

    def create(self, conn, path, scheme, id):
        fields = {"path": path, "data": b"1", "acl": [z.acl(31, scheme, id)], "flags": 0}
        return conn.call(z.CREATE, fields)[0].err

    def read(self, conn, path):
        return conn.call(z.GET_DATA, {"path": path, "watch": False})[0].err


class Names(Case):
    def test_acls_and_super_users(self):
        d = self.start_sasl("-DsuperUser=alice")
        bob, alice, sup, nobody = (self.client(d, who) for who in ("bob", "alice", "super", None))
        self.assertEqual(self.create(nobody, "/bobs", "sasl", "bob"), 0)
        self.assertEqual(self.create(bob, "/auth", "auth", ""), 0)
        self.assertEqual(self.create(nobody, "/x", "sasl", "a@b@c"), INVALID_ACL)
        self.assertEqual(self.create(nobody, "/digest", "digest", "x:y"), 0)
        got = bob.call(z.GET_ACL, {"path": "/auth"})[0].body["acl"]
        self.assertEqual([(a["id"]["scheme"], a["id"]["id"]) for a in got], [("sasl", "bob")])
        for path in ("/bobs", "/auth"):
            self.assertEqual([self.read(c, path) for c in (bob, alice, sup, nobody)], [0, 0, 0, z.NO_AUTH])
        # The name super matches every id of sasl; a super user may do everything.
        self.assertEqual([self.read(c, "/digest") for c in (bob, alice, sup)], [z.NO_AUTH, 0, z.NO_AUTH])
        d.stop()

    def test_several_super_users_and_anybody(self):
        d = self.start_sasl("-DsuperUser.1=bob", "-DsuperUser.2=alice", "-DletAnySaslUserDoX=any",
                            "-DSASLAuthenticationProvider.superPassword=geheim-other")
        bob, alice, nobody = (self.client(d, who) for who in ("bob", "alice", None))
        sup = self.client(d, "super", password="geheim-other")
        self.assertEqual(self.create(nobody, "/digest", "digest", "x:y"), 0)
        self.assertEqual(self.create(nobody, "/any", "sasl", "any"), 0)
        self.assertEqual([self.read(c, "/digest") for c in (bob, alice, sup, nobody)], [0, 0, z.NO_AUTH, z.NO_AUTH])
        self.assertEqual([self.read(c, "/any") for c in (sup, nobody)], [0, z.NO_AUTH])
        d.stop()

    def test_nobody_is_another(self):
        """As whom one would like to act: only as oneself."""
        d = self.start_sasl()
        self.client(d, "bob", authzid="bob")
        conn = d.connect()
        self.assertEqual(authenticate(conn, "bob", authzid="super").err, AUTH_FAILED)
        self.assertTrue(is_closed(conn))
        conn = d.connect()
        self.assertEqual(authenticate(conn, "bob", realm="another").err, AUTH_FAILED)
        d.stop()


class Failures(Case):
    def test_the_wrong_are_closed(self):
        d = self.start_sasl()
        for user, password in (("bob", "geheim-guess"), ("eve", "geheim-guess"), ("bob", ""), ("", "x")):
            conn = d.connect()
            reply = authenticate(conn, user, password)
            self.assertEqual((reply.err, reply.body and reply.body["token"]), (AUTH_FAILED, None))
            self.assertTrue(is_closed(conn))
        conn = self.client(d, "bob")
        self.assertEqual(ask(conn, b"").err, AUTH_FAILED)  # once is enough
        self.assertTrue(is_closed(conn))
        for token in (b"x" * 70000, b"\0", b'nonce="', b"," * 5000):
            conn = d.connect()
            ask(conn, b"")
            self.assertEqual(ask(conn, token).err, AUTH_FAILED)
        self.client(d, "bob")
        d.stop()

    def test_who_may_stay(self):
        d = self.start_sasl("-DallowSaslFailedClients=true")
        conn = d.connect()
        reply = authenticate(conn, "bob", "geheim-guess")
        self.assertEqual((reply.err, reply.body["token"]), (0, None))
        self.assertEqual(self.create(conn, "/x", "auth", ""), INVALID_ACL)
        self.assertEqual(daemon.create(conn, "/x"), 0)
        d.stop()

    def test_who_must_authenticate(self):
        for n, keys in enumerate((["-DsessionRequireClientSASLAuth=true", "-DallowSaslFailedClients=true"],
                                  ["-Denforce.auth.enabled=true", "-Denforce.auth.schemes=sasl"])):
            d = self.start_sasl(*keys, data=self.data + str(n))
            conn = d.connect()
            self.assertEqual(self.read(conn, "/"), REQUIRES_SASL)
            self.assertTrue(is_closed(conn))
            conn = d.connect()
            self.assertEqual(authenticate(conn, "bob", "geheim-guess").err, REQUIRES_SASL)
            self.assertTrue(is_closed(conn))
            conn = d.connect()
            ask(conn, b"")  # half of it is nothing
            self.assertEqual(self.read(conn, "/"), REQUIRES_SASL)
            self.assertEqual(self.read(self.client(d, "bob"), "/"), 0)
            d.stop()

    def test_half_open_exchanges_end_with_their_links(self):
        d = self.start_sasl("-DmaxClientCnxns=0")
        conns = [d.connect() for _ in range(200)]
        for conn in conns:
            self.assertIn(b"nonce=", ask(conn, b"").body["token"])
        self.client(d, "bob")
        for conn in conns:
            conn.sock.close()
        d.stop()  # the sanitizers look for what is left


class Files(Case):
    def test_users_of_a_plain_file(self):
        users = self.secret_file("users", "# who may come\nbob:%s\neve:geheim-eve\n" % SECRETS["bob"])
        d = self.start("-Dsasl.userFile=" + users)
        self.client(d, "bob")
        self.client(d, "eve", password="geheim-eve")
        conn = d.connect()
        self.assertEqual(authenticate(conn, "alice").err, AUTH_FAILED)
        d.stop()

    def test_changes_are_noticed(self):
        users = self.secret_file("users", "bob:geheim-1\n")
        d = self.start("-Dsasl.userFile=" + users)
        before = self.client(d, "bob", password="geheim-1")
        self.secret_file("users", "geheim-2\n")
        d.wait_log("those from before stay: sasl.userFile: .*users: line 1 is not of the form NAME:PASSWORD")
        self.client(d, "bob", password="geheim-1")
        self.secret_file("users", "bob:geheim-3\neve:geheim-4\n")
        d.wait_log("2 users may authenticate")
        self.client(d, "bob", password="geheim-3")
        self.client(d, "eve", password="geheim-4")
        self.assertEqual(authenticate(d.connect(), "bob", "geheim-1").err, AUTH_FAILED)
        self.assertEqual(self.create(before, "/x", "auth", ""), 0)  # lives on
        self.assertNotIn("geheim", d.log())
        d.stop()

    def test_what_is_wrong_is_told_before_the_start(self):
        def check(*args):
            rc, out, err = run("--check", "--data", self.data, "--port", "0", *args)
            self.assertNotIn("geheim", out + err)
            return rc, out + err
        kerberos = self.secret_file("kerberos", jaas({"a": "geheim"}).replace("Digest", "Krb5"))
        bad = self.secret_file("bad", 'Server {\n  %s required\n  user_bob="geheim\n};\n' % MODULE)
        empty = self.secret_file("empty", jaas({"a": "geheim"}, "Other"))
        for args, said in (
                (["-Djava.security.auth.login.config=" + bad], "line 4: a '\"' is missing"),
                (["-Djava.security.auth.login.config=/no/such"], "/no/such: cannot be read"),
                (["-Djava.security.auth.login.config=" + kerberos], "this version has no Kerberos"),
                (["-DsessionRequireClientSASLAuth=true"], "no client could come: name the users"),
                (["-DsessionRequireClientSASLAuth=true", "-Djava.security.auth.login.config=" + empty],
                 "no client could come: name the users")):
            rc, text = check(*args)
            self.assertNotEqual(rc, 0, text)
            self.assertIn(said, text)
        os.chmod(self.jaas, 0o644)
        rc, text = check("-Djava.security.auth.login.config=" + self.jaas)
        self.assertEqual(rc, 0, text)
        self.assertIn("has passwords, and everybody may read it: chmod 0600", text)


class Members(Case):
    """interop/quorum_sasl.py lets them talk; here are their files."""

    def check(self, *lines):
        os.makedirs(self.data, exist_ok=True)
        self.file("data/myid", "1\n")
        members = ["server.%d=127.0.0.1:%d:%d" % (n, 10 + n, 20 + n) for n in (1, 2, 3)]
        text = "\n".join(["dataDir=" + self.data, "clientPort=0", "initLimit=5", "syncLimit=2"] + members + list(lines))
        rc, out, err = run("--check", self.file("zoo.cfg", text + "\n"))
        self.assertNotIn("geheim", out + err)
        return rc, out + err

    def test_what_is_wrong_is_told_before_the_start(self):
        on = "quorum.auth.enableSasl=true"
        login = self.secret_file("login", "zk:geheim\n")
        both = jaas({"zk": "geheim"}, "QuorumServer") + (
            'QuorumLearner { %s required username="zk" password="geheim"; };\n' % MODULE)
        good = self.secret_file("both", both)
        half = self.secret_file("half", jaas({"zk": "geheim"}, "QuorumServer"))
        wrong = self.secret_file("wrong", both.replace("username", "name"))
        kerberos = self.secret_file("kerberos", both.replace("DigestLoginModule", "Krb5LoginModule"))
        for lines, said in (([on], "there is neither a JAAS file"),
                            ([on, "quorum.auth.loginFile=/no/such"], "/no/such: cannot be read"),
                            ([on, "java.security.auth.login.config=" + half], "there is no section QuorumLearner"),
                            ([on, "java.security.auth.login.config=" + wrong], "has neither user_NAME nor username"),
                            ([on, "java.security.auth.login.config=" + kerberos], "no Kerberos between members")):
            rc, text = self.check(*lines)
            self.assertNotEqual(rc, 0, text)
            self.assertIn(said, text)
        for lines in ([on, "quorum.auth.loginFile=" + login], [on, "java.security.auth.login.config=" + good]):
            rc, text = self.check(*lines)
            self.assertEqual(rc, 0, text)
            self.assertIn("members without a password are let in until quorum.auth.serverRequireSasl", text)


class Pawl(Case):
    """The command line."""

    def pawl(self, d, *args, env=None, wait="60s"):
        command = [os.path.join(os.path.dirname(daemon.PAWLD), "pawl"), "-C", wait, "-s", "127.0.0.1:%d" % d.port]
        clean = {k: v for k, v in os.environ.items() if not k.startswith("PAWL_")}
        done = subprocess.run(command + list(args), capture_output=True, text=True, timeout=PATIENCE_SECONDS,
                              env=dict(clean, HOME=self.dir, XDG_CONFIG_HOME=self.dir, **(env or {})))
        self.assertNotIn("geheim", done.stdout + done.stderr)
        return done.returncode, done.stdout + done.stderr

    def test_where_it_knows_from(self):
        d = self.start_sasl("-DsessionRequireClientSASLAuth=true")
        bob = self.secret_file("bob", "bob:%s\n" % SECRETS["bob"])
        alice = self.secret_file("alice.conf", 'Client {\n %s required username="alice" password="geheim-alice";\n};\n' % MODULE)
        wrong = self.secret_file("wrong", "bob:geheim-guess\n")
        cases = ((["--sasl", bob], {}, "sasl:bob"), (["--jaas", alice], {}, "sasl:alice"),
                 ([], {"PAWL_SASL": bob}, "sasl:bob"), ([], {"PAWL_JAAS": alice}, "sasl:alice"),
                 (["--sasl", bob], {"PAWL_JAAS": alice}, "sasl:bob"), (["--jaas", alice], {"PAWL_SASL": wrong}, "sasl:alice"))
        for args, env, who in cases:
            code, said = self.pawl(d, *args, "whoami", env=env)
            self.assertEqual((code, who in said.splitlines()), (0, True), said)
        os.mkdir(os.path.join(self.dir, "pawl"))
        self.secret_file("pawl/pawl.conf", "sasl = %s\n" % bob)
        self.assertIn("sasl:bob", self.pawl(d, "whoami")[1])
        self.assertIn("sasl:alice", self.pawl(d, "whoami", env={"PAWL_JAAS": alice})[1])
        # A command that it runs is the same.
        code, said = self.pawl(d, "--jaas", alice, "lock", "/l", "--", os.path.join(os.path.dirname(daemon.PAWLD), "pawl"),
                               "whoami")
        self.assertIn("sasl:alice", said)
        code, said = self.pawl(d, "--sasl", wrong, "whoami", wait="2s")
        self.assertEqual(code, 113)
        self.assertContains(said, "SASL: the server does not accept our name and password", "--sasl, --jaas, PAWL_SASL")
        for args in (["--sasl", bob, "--jaas", alice], ["--sasl", "/no/such"]):
            self.assertEqual(self.pawl(d, *args, "whoami")[0], 2)
        d.stop()

    def test_a_server_without_sasl(self):
        d = self.start()
        bob = self.secret_file("bob", "bob:%s\n" % SECRETS["bob"])
        code, said = self.pawl(d, "--sasl", bob, "whoami", wait="2s")
        self.assertEqual(code, 113)
        self.assertIn("SASL: the server is not configured for it", said)
        d.stop()


class Secrets(Case):
    def test_no_password_is_shown(self):
        users = self.secret_file("users", "eve:geheim-eve\n")
        d = self.start_sasl("-Dsasl.userFile=" + users, "-D4lw.commands.whitelist=*",
                            "-DSASLAuthenticationProvider.superPassword=geheim-other",
                            "-Dadmin.enableServer=true", "-Dadmin.serverPort=0")
        d.wait_log(r"admin server at http://\S+")
        url = re.search(r"admin server at (http://\S+)", d.log())[1]
        self.client(d, "bob")
        authenticate(d.connect(), "bob", "geheim-guess")
        authenticate(d.connect(), "nobody", "geheim-guess")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("4 users may authenticate", 2)
        said = d.log()
        for word in ("conf", "cons", "dump", "envi", "mntr", "srvr", "stat", "wchs", "dirs"):
            said += d.word(word)
        for command in ("configuration", "connections", "environment", "monitor", "stats", "system_properties"):
            try:
                with urllib.request.urlopen(url + "/" + command, timeout=PATIENCE_SECONDS) as answer:
                    said += answer.read().decode()
            except urllib.error.HTTPError as error:
                said += error.read().decode()
        for secret in ("geheim", "response=", "nonce="):
            self.assertNotIn(secret, said)
        d.stop()


if __name__ == "__main__":
    daemon.main()
